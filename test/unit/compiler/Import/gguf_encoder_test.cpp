// SPDX-License-Identifier: Apache-2.0
//
// Which encoders the GGUF importer takes, what it makes of their conventions,
// and the messages for those that it refuses.

#include "compiler/Import/GGUF/GgufEncoder.h"
#include "test/unit/compiler/Import/gguf_builder.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace {

using llmc::graph::Pooling;
using llmc::importer::EncoderModel;
using llmc::importer::ImportOptions;
using llmc::test::GgufBuilder;
using testing::HasSubstr;

/// 1 layer, hidden size 8, 2 heads, feed-forward 12, 16 tokens, 32 positions.
struct ToyEncoder {
  uint32_t kvHeads = 2, poolingType = 1;
  std::string leftOut;

  GgufBuilder file() const {
    GgufBuilder builder;
    builder.text("general.architecture", "bert")
        .number("bert.block_count", 1)
        .number("bert.context_length", 32)
        .number("bert.embedding_length", 8)
        .number("bert.feed_forward_length", 12)
        .number("bert.attention.head_count", 2)
        .number("bert.attention.head_count_kv", kvHeads)
        .number("bert.pooling_type", poolingType)
        .real("bert.attention.layer_norm_epsilon", 1e-12f);
    auto add = [&](const std::string &name, std::vector<uint64_t> shape) {
      if (name != leftOut)
        builder.ones(name, shape);
    };
    add("token_embd.weight", {8, 16});
    add("token_types.weight", {8, 2});
    add("position_embd.weight", {8, 32});
    auto addNorm = [&](const std::string &name) {
      add(name + ".weight", {8});
      add(name + ".bias", {8});
    };
    auto addLinear = [&](const std::string &name, uint64_t inputs,
                         uint64_t outputs) {
      add("blk.0." + name + ".weight", {inputs, outputs});
      add("blk.0." + name + ".bias", {outputs});
    };
    addNorm("token_embd_norm");
    for (const char *name : {"attn_q", "attn_k", "attn_v", "attn_output"})
      addLinear(name, 8, 8);
    addNorm("blk.0.attn_output_norm");
    addLinear("ffn_up", 8, 12);
    addLinear("ffn_down", 12, 8);
    addNorm("blk.0.layer_output_norm");
    return builder;
  }
};

llvm::Expected<EncoderModel> read(const GgufBuilder &builder,
                                  const ImportOptions &options = {}) {
  auto file = llvm::cantFail(llmc::gguf::GgufFile::parse(
      llvm::MemoryBuffer::getMemBufferCopy(builder.build()), "toy.gguf"));
  return llmc::gguf::readEncoder(*file, options);
}

std::string refusal(const GgufBuilder &builder,
                    const ImportOptions &options = {}) {
  auto model = read(builder, options);
  return model ? "" : llvm::toString(model.takeError());
}

TEST(GgufEncoderTest, SizesAndConventions) {
  EncoderModel model = llvm::cantFail(read(ToyEncoder().file()));
  EXPECT_EQ(model.headDim, 4);
  EXPECT_EQ(model.contextLength, 32);
  EXPECT_EQ(model.vocabularySize, 16);
  EXPECT_EQ(model.activation, llmc::importer::Activation::Gelu);
  // Row 0 of the two token types, where it begins.
  ASSERT_TRUE(model.tokenType);
  EXPECT_EQ(model.tokenType->shape.size(), 1u);
  EXPECT_EQ(model.tokenType->shape[0], 8);
  EXPECT_EQ(model.pooling, Pooling::Mean);
  EXPECT_FALSE(model.isNormalized);
  ASSERT_EQ(model.layers.size(), 1u);
  EXPECT_EQ(model.layers[0].outputNorm.bias->name,
            "blk.0.layer_output_norm.bias");
}

TEST(GgufEncoderTest, PoolingIsThatOfTheFileOrTheCaller) {
  ToyEncoder toy;
  for (auto [type, pooling] :
       {std::pair(2u, Pooling::First), std::pair(3u, Pooling::Last)}) {
    toy.poolingType = type;
    EXPECT_EQ(llvm::cantFail(read(toy.file())).pooling, pooling);
  }
  toy.poolingType = 0;
  EXPECT_FALSE(llvm::cantFail(read(toy.file())).pooling);
  toy.poolingType = 4;
  EXPECT_THAT(refusal(toy.file()),
              HasSubstr("'bert.pooling_type' is 4, supported are 0 (none)"));
  ImportOptions options;
  options.pooling = {Pooling::Last, true};
  EncoderModel model = llvm::cantFail(read(toy.file(), options));
  EXPECT_EQ(model.pooling, Pooling::Last);
  EXPECT_TRUE(model.isNormalized);
}

TEST(GgufEncoderTest, LongestTextMayBeAskedFor) {
  ImportOptions options;
  options.contextLength = 10;
  EXPECT_EQ(llvm::cantFail(read(ToyEncoder().file(), options)).contextLength,
            10);
  options.contextLength = 33;
  EXPECT_THAT(refusal(ToyEncoder().file(), options),
              HasSubstr("length is 33, allowed are 1 to 32"));
}

TEST(GgufEncoderTest, RefusesWhatItCannotCompute) {
  ToyEncoder toy;
  toy.kvHeads = 1;
  EXPECT_THAT(refusal(toy.file()), HasSubstr("'bert.attention.head_count' is 2 "
                                             "and"));
  GgufBuilder causal = ToyEncoder().file();
  causal.pair("bert.attention.causal", llmc::test::kBool, std::string(1, 1));
  EXPECT_THAT(refusal(causal), HasSubstr("'bert.attention.causal' is true"));
  for (const char *name : {"position_embd.weight", "token_embd_norm.bias",
                           "blk.0.attn_k.bias", "blk.0.ffn_up.weight"}) {
    toy = {};
    toy.leftOut = name;
    EXPECT_THAT(refusal(toy.file()),
                HasSubstr("tensor '" + std::string(name) + "' is missing"));
  }
  GgufBuilder unused = ToyEncoder().file();
  unused.ones("cls.weight", {8, 8});
  EXPECT_THAT(refusal(unused), HasSubstr("'cls.weight' is not used"));
}

} // namespace
