// SPDX-License-Identifier: Apache-2.0
//
// BERT and MPNet in Hugging Face directories: conventions, pooling as
// sentence-transformers' files say it, and messages for what is refused.

#include "compiler/Import/HuggingFace/HfEncoder.h"
#include "test/unit/compiler/Import/toy_folder.h"

#include "llvm/Support/FileSystem.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace {

using llmc::graph::Pooling;
using llmc::importer::EncoderModel;
using llmc::importer::ImportOptions;
using llmc::test::SafetensorsBuilder;
using llmc::test::TemporaryDirectory;
using nlohmann::json;
using testing::HasSubstr;

/// One layer, hidden size 8, 2 heads, feed-forward 12, 16 tokens, 10 positions;
/// all weights are 1 but the relative biases, which are 0, 1, 2, …
struct ToyEncoder {
  explicit ToyEncoder(const std::string &type) : type(type) {
    config = {{"model_type", type},
              {"num_hidden_layers", 1},
              {"hidden_size", 8},
              {"intermediate_size", 12},
              {"vocab_size", 16},
              {"num_attention_heads", 2},
              {"max_position_embeddings", 10}};
    if (type == "mpnet")
      config["relative_attention_num_buckets"] = 8;
  }

  void write(const TemporaryDirectory &folder) const {
    SafetensorsBuilder builder;
    builder.numbers(prefix + "embeddings.word_embeddings.weight", {16, 8})
        .numbers(prefix + "embeddings.position_embeddings.weight", {10, 8});
    if (type == "bert")
      builder.numbers(prefix + "embeddings.token_type_embeddings.weight",
                      {2, 8});
    addNorm(builder, "embeddings.LayerNorm");
    if (type == "mpnet")
      addRelativeBias(builder);
    std::string self = type == "bert" ? "attention.self." : "attention.attn.";
    std::vector<std::string> parts =
        type == "bert"
            ? std::vector<std::string>{self + "query", self + "key",
                                       self + "value", "attention.output.dense"}
            : std::vector<std::string>{self + "q", self + "k", self + "v",
                                       self + "o"};
    for (const std::string &part : parts)
      addLinear(builder, part, 8, 8);
    addLinear(builder, "intermediate.dense", 12, 8);
    addLinear(builder, "output.dense", 8, 12);
    addNorm(builder, type == "bert"
                         ? "encoder.layer.0.attention.output.LayerNorm"
                         : "encoder.layer.0.attention.LayerNorm");
    addNorm(builder, "encoder.layer.0.output.LayerNorm");
    for (const auto &[name, shape] : added)
      builder.numbers(name, shape);
    folder.write("config.json", config.dump());
    folder.write("model.safetensors", builder.build());
  }

  std::string type, prefix;
  json config;
  std::vector<std::pair<std::string, std::vector<int64_t>>> added;
  bool hasOldNames = false;

private:
  void addNorm(SafetensorsBuilder &builder, const std::string &name) const {
    builder.numbers(prefix + name + (hasOldNames ? ".gamma" : ".weight"), {8})
        .numbers(prefix + name + (hasOldNames ? ".beta" : ".bias"), {8});
  }
  void addLinear(SafetensorsBuilder &builder, const std::string &name,
                 int64_t outputs, int64_t inputs) const {
    std::string full = prefix + "encoder.layer.0." + name;
    builder.numbers(full + ".weight", {outputs, inputs})
        .numbers(full + ".bias", {outputs});
  }
  void addRelativeBias(SafetensorsBuilder &builder) const {
    std::vector<float> numbers(16);
    for (size_t i = 0; i < numbers.size(); ++i)
      numbers[i] = static_cast<float>(i);
    builder.tensor(
        prefix + "encoder.relative_attention_bias.weight", "F32", {8, 2},
        std::string(reinterpret_cast<const char *>(numbers.data()), 64));
  }
};

llvm::Expected<EncoderModel> readFolder(const TemporaryDirectory &directory,
                                        const ImportOptions &options) {
  auto folder = llmc::huggingface::ModelFolder::open(directory.path());
  if (!folder)
    return folder.takeError();
  EXPECT_TRUE(llmc::huggingface::isEncoder(*folder));
  return llmc::huggingface::readEncoder(*folder, options);
}

llvm::Expected<EncoderModel> read(const ToyEncoder &toy,
                                  const ImportOptions &options = {}) {
  TemporaryDirectory directory;
  toy.write(directory);
  return readFolder(directory, options);
}

std::string refusal(const ToyEncoder &toy, const ImportOptions &options = {}) {
  auto model = read(toy, options);
  return model ? "" : llvm::toString(model.takeError());
}

TEST(HfEncoder, BertHasTokenTypesAndPositionsFromTheFirstOn) {
  EncoderModel model = llvm::cantFail(read(ToyEncoder("bert")));
  EXPECT_EQ(model.architecture, "bert");
  EXPECT_EQ(model.headDim, 4);
  EXPECT_EQ(model.contextLength, 10);
  EXPECT_EQ(model.positions.shape[0], 10);
  EXPECT_FLOAT_EQ(model.normEpsilon, 1e-12f);
  EXPECT_EQ(model.activation, llmc::importer::Activation::Gelu);
  ASSERT_TRUE(model.tokenType);
  EXPECT_EQ(model.tokenType->shape.size(), 1u);
  EXPECT_EQ(model.tokenType->shape[0], 8);
  EXPECT_FALSE(model.relativeBias);
  EXPECT_EQ(model.layers[0].query.weight.name, "blk.0.attn_q.weight");
  EXPECT_EQ(model.layers[0].attentionNorm.gain.name,
            "blk.0.attn_output_norm.weight");
  EXPECT_EQ(model.layers[0].outputNorm.bias->name,
            "blk.0.layer_output_norm.bias");
}

TEST(HfEncoder, MpnetCountsPositionsFromBehindThePaddingIdOn) {
  EncoderModel model = llvm::cantFail(read(ToyEncoder("mpnet")));
  EncoderModel bert = llvm::cantFail(read(ToyEncoder("bert")));
  EXPECT_EQ(model.contextLength, 8);
  EXPECT_EQ(model.positions.shape[0], 8);
  // Two rows of eight floats behind the embedding.
  EXPECT_EQ(model.positions.offsetInBytes - model.embedding.offsetInBytes,
            (16 + 2) * 8 * 4);
  EXPECT_FALSE(model.tokenType);
  ToyEncoder toy("mpnet");
  EXPECT_THAT(refusal(toy, {9}), HasSubstr("is 9, allowed are 1 to 8"));
}

TEST(HfEncoder, MpnetsBiasesAreSpreadOverDistances) {
  EncoderModel model = llvm::cantFail(read(ToyEncoder("mpnet")));
  ASSERT_TRUE(model.relativeBias);
  EXPECT_EQ(model.relativeBias->file, 1);
  ASSERT_EQ(model.tables.size(), 1u);
  const std::vector<float> &table = model.tables[0];
  ASSERT_EQ(table.size(), (2 * 7 + 1) * 2u);
  EXPECT_EQ(model.relativeBias->shape[0], 30);
  // Bucket b has the biases 2b and 2b + 1. Of 8 buckets, 0 and 1 are distances
  // 0 and -1, 2 begins at -2; keys behind the row begin at 4.
  auto bias = [&](int64_t distance) { return table[2 * (distance + 7)]; };
  EXPECT_EQ(bias(0), 0);
  EXPECT_EQ(bias(-1), 2);
  EXPECT_EQ(bias(-2), 4);
  EXPECT_EQ(bias(1), 2 * 5);
  EXPECT_EQ(bias(2), 2 * 6);
}

TEST(HfEncoder, FilesOfModelsWithHeadsHaveAPrefix) {
  ToyEncoder toy("bert");
  toy.prefix = "bert.";
  toy.hasOldNames = true;
  toy.added = {{"cls.predictions.bias", {16}},
               {"bert.pooler.dense.weight", {8, 8}},
               {"bert.embeddings.position_ids", {1, 10}}};
  EXPECT_EQ(refusal(toy), "");
  toy.added = {{"bert.encoder.layer.1.output.dense.bias", {8}}};
  EXPECT_THAT(refusal(toy), HasSubstr("is not used by model type bert"));
}

TEST(HfEncoder, PoolingIsThatOfTheModules) {
  TemporaryDirectory directory;
  ToyEncoder("bert").write(directory);
  auto pooling = [&](const ImportOptions &options = {}) {
    return llvm::cantFail(readFolder(directory, options));
  };
  EXPECT_EQ(pooling().pooling, Pooling::Mean);
  EXPECT_FALSE(pooling().isNormalized);

  const std::string package = "sentence_transformers.models.";
  directory.write("modules.json",
                  json({{{"type", package + "Transformer"}, {"path", ""}},
                        {{"type", package + "Pooling"}, {"path", "1_Pooling"}},
                        {{"type", package + "Normalize"}, {"path", "2_N"}}})
                      .dump());
  llvm::sys::fs::create_directory(directory.path("1_Pooling"));
  auto write = [&](const json &config) {
    directory.write("1_Pooling/config.json", config.dump());
  };
  write(
      {{"pooling_mode_cls_token", true}, {"pooling_mode_mean_tokens", false}});
  EXPECT_EQ(pooling().pooling, Pooling::First);
  EXPECT_TRUE(pooling().isNormalized);
  write({{"pooling_mode", "lasttoken"}});
  EXPECT_EQ(pooling().pooling, Pooling::Last);
  ImportOptions options;
  options.pooling = {std::nullopt, false};
  EXPECT_FALSE(pooling(options).pooling);

  auto refused = [&] {
    auto model = readFolder(directory, {});
    return model ? "" : llvm::toString(model.takeError());
  };
  write({{"pooling_mode_cls_token", true}, {"pooling_mode_mean_tokens", true}});
  EXPECT_THAT(refused(), HasSubstr("'pooling_mode_mean_tokens' is true, "
                                   "allowed is one of cls, mean"));
  write({{"pooling_mode_max_tokens", true}});
  EXPECT_THAT(refused(), HasSubstr("'pooling_mode_max_tokens' is true"));
  directory.write("modules.json", json({{{"type", package + "Dense"}}}).dump());
  EXPECT_THAT(refused(), HasSubstr("modules.json: field 'type' is "
                                   "\"sentence_transformers.models.Dense\""));
  directory.write(
      "modules.json",
      json({{{"type", package + "Pooling"}, {"path", "../x"}}}).dump());
  EXPECT_THAT(refused(), HasSubstr("names of folders of the same folder"));
}

TEST(HfEncoder, FeaturesThatWouldChangeTheNumbersAreRefused) {
  auto refusalWith = [](const char *field, const json &value) {
    ToyEncoder toy("bert");
    toy.config[field] = value;
    return refusal(toy);
  };
  EXPECT_THAT(refusalWith("position_embedding_type", "relative_key"),
              HasSubstr("allowed is absolute"));
  EXPECT_THAT(refusalWith("is_decoder", true), HasSubstr("allowed is false"));
  EXPECT_THAT(refusalWith("hidden_act", "silu"),
              HasSubstr("'hidden_act' is \"silu\", allowed are gelu"));
  EXPECT_THAT(refusalWith("num_attention_heads", 3),
              HasSubstr("divisors of hidden_size, 8"));
  EXPECT_THAT(refusalWith("type_vocab_size", 3),
              HasSubstr("token_type_embeddings.weight' has shape [2, 8]"));
  ToyEncoder mpnet("mpnet");
  mpnet.config["max_position_embeddings"] = 2;
  EXPECT_THAT(refusal(mpnet), HasSubstr("allowed are numbers above 2"));
}

} // namespace
