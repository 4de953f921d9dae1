// SPDX-License-Identifier: Apache-2.0
//
// Which 4-bit formats of Hugging Face directories are taken, what their weights
// become, and the messages for those that are refused.

#include "compiler/Import/HuggingFace/HfDecoder.h"
#include "test/unit/compiler/Import/toy_folder.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace {

using llmc::graph::Encoding;
using llmc::graph::PackingForm;
using llmc::importer::DecoderModel;
using llmc::importer::Weight;
using llmc::test::SafetensorsBuilder;
using llmc::test::TemporaryDirectory;
using llmc::test::ToyFolder;
using nlohmann::json;
using testing::HasSubstr;

/// A llama of hidden size 64 whose query of layer 0 is packed; its other
/// linears are plain.
struct QuantizedToy {
  QuantizedToy(const json &quantization) : toy("llama") {
    toy.config["num_hidden_layers"] = 1;
    toy.config["hidden_size"] = 64;
    toy.config["intermediate_size"] = 32;
    toy.config["num_attention_heads"] = 2;
    toy.config["num_key_value_heads"] = 2;
    toy.config["head_dim"] = 32;
    toy.config["quantization_config"] = quantization;
  }

  /// A tensor of the packed linear, every byte of it the same.
  QuantizedToy &part(const std::string &name, const std::string &dtype,
                     const std::vector<int64_t> &shape, char byte) {
    int64_t size = dtype == "F16" || dtype == "BF16" ? 2 : 4;
    for (int64_t extent : shape)
      size *= extent;
    builder.tensor(kLinear + name, dtype, shape,
                   std::string(static_cast<size_t>(size), byte));
    return *this;
  }
  /// The group of each column.
  QuantizedToy &order(const std::vector<int32_t> &groups) {
    builder.tensor(kLinear + "g_idx", "I32",
                   {static_cast<int64_t>(groups.size())},
                   std::string(reinterpret_cast<const char *>(groups.data()),
                               4 * groups.size()));
    return *this;
  }

  llvm::Expected<DecoderModel> read() {
    const std::string layer = "model.layers.0.";
    builder.numbers("model.embed_tokens.weight", {16, 64})
        .numbers("model.norm.weight", {64});
    for (const char *name : {"input_layernorm", "post_attention_layernorm"})
      builder.numbers(layer + name + ".weight", {64});
    for (const char *name : {"k_proj", "v_proj", "o_proj"})
      builder.numbers(layer + "self_attn." + name + ".weight", {64, 64});
    for (const char *name : {"gate_proj", "up_proj"})
      builder.numbers(layer + "mlp." + name + ".weight", {32, 64});
    builder.numbers(layer + "mlp.down_proj.weight", {64, 32});
    TemporaryDirectory directory;
    directory.write("config.json", toy.config.dump());
    directory.write("model.safetensors", builder.build());
    auto folder = llmc::huggingface::ModelFolder::open(directory.path());
    if (!folder)
      return folder.takeError();
    return llmc::huggingface::readDecoder(*folder, {});
  }
  Weight query() { return llvm::cantFail(read()).layers[0].query.weight; }
  std::string refusal() {
    auto model = read();
    return model ? "" : llvm::toString(model.takeError());
  }

  const std::string kLinear = "model.layers.0.self_attn.q_proj.";
  ToyFolder toy;
  SafetensorsBuilder builder;
};

const json kGptq = {{"quant_method", "gptq"}, {"bits", 4}, {"group_size", 32}};
const json kAwq = {{"quant_method", "awq"},
                   {"bits", 4},
                   {"group_size", 64},
                   {"zero_point", true},
                   {"version", "gemm"}};

json compressed(const json &weights) {
  return {{"quant_method", "compressed-tensors"},
          {"format", "pack-quantized"},
          {"config_groups",
           {{"group_0",
             {{"targets", {"Linear"}},
              {"input_activations", nullptr},
              {"weights", weights}}}}}};
}
const json kWeights = {{"num_bits", 4},
                       {"type", "int"},
                       {"symmetric", true},
                       {"group_size", 32},
                       {"strategy", "group"}};

QuantizedToy gptq(char zeros, const json &config = kGptq) {
  return std::move(QuantizedToy(config)
                       .part("qweight", "I32", {8, 64}, 0)
                       .part("qzeros", "I32", {2, 8}, zeros)
                       .part("scales", "F16", {2, 64}, 0x3c));
}

TEST(HfQuantization, GptqKeepsFourBits) {
  Weight query = gptq(0x34).query();
  EXPECT_EQ(query.encoding, Encoding::I4_G32_ASYM);
  ASSERT_TRUE(query.packed);
  EXPECT_EQ(query.packed->form, PackingForm::Gptq);
  EXPECT_EQ(query.packed->group, 32);
  EXPECT_EQ(query.packed->encoding, Encoding::F16);
  EXPECT_TRUE(query.packed->zeros);
}

TEST(HfQuantization, ZeroPointsOfEightNeedNoRoom) {
  Weight query = gptq(0x77).query(); // stored less 1
  EXPECT_EQ(query.encoding, Encoding::I4_G32);
  EXPECT_FALSE(query.packed->zeros);
  json second = kGptq;
  second["checkpoint_format"] = "gptq_v2";
  EXPECT_EQ(gptq('\x88', second).query().encoding, Encoding::I4_G32);
  EXPECT_EQ(gptq(0x77, second).query().encoding, Encoding::I4_G32_ASYM);
  EXPECT_EQ(gptq(0x77, second).query().packed->form, PackingForm::GptqV2);
}

TEST(HfQuantization, ColumnsInAnotherOrderAreRefused) {
  std::vector<int32_t> groups(64);
  std::fill(groups.begin() + 32, groups.end(), 1);
  EXPECT_EQ(gptq(0x77).order(groups).refusal(), "");
  std::swap(groups[0], groups[40]);
  EXPECT_THAT(gptq(0x77).order(groups).refusal(),
              HasSubstr("q_proj.g_idx' orders columns by activation"));
}

TEST(HfQuantization, BiasesOfZerosAreNoBiases) {
  EXPECT_EQ(gptq(0x77).part("bias", "F16", {64}, 0).refusal(), "");
  EXPECT_THAT(gptq(0x77).part("bias", "F16", {64}, 1).refusal(),
              HasSubstr("q_proj.bias' is not used"));
}

TEST(HfQuantization, AwqIsPackedByColumns) {
  QuantizedToy toy(kAwq);
  toy.part("qweight", "I32", {64, 8}, 0)
      .part("qzeros", "I32", {1, 8}, 1)
      .part("scales", "BF16", {1, 64}, 0x3c);
  Weight query = toy.query();
  // A group of all columns is a row's scale.
  EXPECT_EQ(query.encoding, Encoding::I4_CHANNEL_ASYM);
  EXPECT_EQ(query.packed->form, PackingForm::Awq);
  EXPECT_EQ(query.packed->encoding, Encoding::BF16);
}

TEST(HfQuantization, CompressedTensorsArePackedByRows) {
  QuantizedToy toy(compressed(kWeights));
  toy.part("weight_packed", "I32", {64, 8}, 0)
      .part("weight_scale", "F32", {64, 2}, 0x3c)
      .part("weight_shape", "I32", {2}, 0);
  Weight query = toy.query();
  EXPECT_EQ(query.encoding, Encoding::I4_G32);
  EXPECT_EQ(query.packed->form, PackingForm::Compressed);

  json channel = kWeights;
  channel["group_size"] = nullptr;
  channel["strategy"] = "channel";
  channel["symmetric"] = false;
  QuantizedToy rows(compressed(channel));
  rows.part("weight_packed", "I32", {64, 8}, 0)
      .part("weight_scale", "F16", {64, 1}, 0x3c)
      .part("weight_zero_point", "I32", {8, 1}, 1);
  EXPECT_EQ(rows.query().encoding, Encoding::I4_CHANNEL_ASYM);
}

TEST(HfQuantization, PartsOfAnotherShapeOrTypeAreNamed) {
  QuantizedToy toy(kGptq);
  EXPECT_THAT(toy.refusal(),
              HasSubstr("tensor 'model.layers.0.self_attn.q_proj.qweight' is "
                        "missing; config.json's quantization_config asks"));
  QuantizedToy shape(kGptq);
  shape.part("qweight", "I32", {64, 8}, 0);
  EXPECT_THAT(shape.refusal(),
              HasSubstr("q_proj.qweight' has shape [64, 8], config.json allows "
                        "[8, 64]"));
  QuantizedToy type(kGptq);
  type.part("qweight", "F32", {8, 64}, 0);
  EXPECT_THAT(type.refusal(), HasSubstr("has dtype F32, allowed are I32"));
}

TEST(HfQuantization, OtherFormatsAreRefusedByName) {
  auto refusalOf = [](json config, const char *field, const json &value) {
    config[field] = value;
    return QuantizedToy(config).refusal();
  };
  EXPECT_THAT(refusalOf(kGptq, "quant_method", "bitsandbytes"),
              HasSubstr("'quantization_config.quant_method' is "
                        "\"bitsandbytes\", allowed are gptq, awq, "
                        "compressed-tensors"));
  EXPECT_THAT(refusalOf(kGptq, "bits", 8),
              HasSubstr("'quantization_config.bits' is 8, allowed is 4"));
  EXPECT_THAT(refusalOf(kGptq, "checkpoint_format", "marlin"),
              HasSubstr("allowed are gptq and gptq_v2"));
  EXPECT_THAT(refusalOf(kGptq, "dynamic", {{"x", 1}}),
              HasSubstr("allowed is its absence"));
  EXPECT_THAT(refusalOf(kAwq, "version", "gemv"), HasSubstr("allowed is gemm"));
  EXPECT_THAT(refusalOf(kAwq, "group_size", 16),
              HasSubstr("has groups of 16 columns, which linear"));
  EXPECT_THAT(refusalOf(kAwq, "group_size", 128),
              HasSubstr("has groups of 128 columns, which linear"));
  EXPECT_THAT(refusalOf(compressed(kWeights), "format", "int-quantized"),
              HasSubstr("allowed is pack-quantized"));
  EXPECT_THAT(refusalOf(compressed(kWeights), "kv_cache_scheme", {{"a", 1}}),
              HasSubstr("kv_cache_scheme' is {\"a\":1}, allowed is its "
                        "absence"));
  EXPECT_THAT(refusalOf(compressed(kWeights), "config_groups", json::object()),
              HasSubstr("is an object of one group"));
  json weights = kWeights;
  weights["num_bits"] = 8;
  EXPECT_THAT(QuantizedToy(compressed(weights)).refusal(),
              HasSubstr("config_groups.group_0.weights.num_bits' is 8"));
}

} // namespace
