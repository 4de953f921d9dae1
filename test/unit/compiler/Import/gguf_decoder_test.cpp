// SPDX-License-Identifier: Apache-2.0
//
// Which models the GGUF importer takes, what it makes of their conventions, and
// the messages for those that it refuses.

#include "compiler/Import/GGUF/GgufDecoder.h"
#include "test/unit/compiler/Import/toy_decoder.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include <cmath>

namespace {

using llmc::importer::DecoderModel;
using llmc::importer::ImportOptions;
using llmc::test::GgufBuilder;
using llmc::test::littleEndian;
using llmc::test::ToyDecoder;
using testing::HasSubstr;

llvm::Expected<DecoderModel> read(const GgufBuilder &builder,
                                  const ImportOptions &options = {}) {
  auto file = llvm::cantFail(llmc::gguf::GgufFile::parse(
      llvm::MemoryBuffer::getMemBufferCopy(builder.build()), "toy.gguf"));
  return llmc::gguf::readDecoder(*file, options);
}

DecoderModel accept(const GgufBuilder &builder,
                    const ImportOptions &options = {}) {
  return llvm::cantFail(read(builder, options));
}

std::string refusal(const GgufBuilder &builder,
                    const ImportOptions &options = {}) {
  auto model = read(builder, options);
  return model ? "" : llvm::toString(model.takeError());
}

//===----------------------------------------------------------------------===//
// Conventions
//===----------------------------------------------------------------------===//

TEST(GgufDecoderTest, RotaryPairsFollowTheArchitecture) {
  using llmc::graph::RotaryPairs;
  EXPECT_EQ(accept(ToyDecoder("llama").file()).rotary.pairs,
            RotaryPairs::Adjacent);
  EXPECT_EQ(accept(ToyDecoder("qwen2").file()).rotary.pairs, RotaryPairs::Half);
  EXPECT_EQ(accept(ToyDecoder("qwen3").file()).rotary.pairs, RotaryPairs::Half);
}

TEST(GgufDecoderTest, GemmaTwoHasCapsAndAWindowInEveryOtherLayer) {
  DecoderModel model = accept(ToyDecoder("gemma2").file());
  EXPECT_EQ(model.activation, llmc::importer::Activation::GeluTanh);
  EXPECT_FLOAT_EQ(model.embeddingScale, std::sqrt(8.0f));
  EXPECT_EQ(model.attentionSoftCap, 50.0f);
  EXPECT_EQ(model.logitSoftCap, 30.0f);
  EXPECT_EQ(model.layers[0].window, 16);
  EXPECT_EQ(model.layers[1].window, 0);
  EXPECT_EQ(model.windowRotary.base, model.rotary.base);
  EXPECT_EQ(model.layers[0].postAttentionNorm->name,
            "blk.0.post_attention_norm.weight");
  EXPECT_EQ(model.scoreDivisor, 4);

  GgufBuilder capped = ToyDecoder("gemma2").file();
  capped.real("gemma2.attn_logit_softcapping", 20.0f);
  EXPECT_EQ(accept(capped).attentionSoftCap, 20.0f);
}

TEST(GgufDecoderTest, GemmaThreeRotatesWindowsOtherwise) {
  GgufBuilder file = ToyDecoder("gemma3").file();
  file.real("gemma3.rope.freq_base", 1e6f)
      .real("gemma3.rope.scaling.factor", 8.0f);
  DecoderModel model = accept(file);
  EXPECT_EQ(model.rotary.base, 1e6f);
  EXPECT_EQ(model.rotary.positionScale, 0.125f);
  EXPECT_EQ(model.windowRotary.base, 1e4f);
  EXPECT_EQ(model.windowRotary.positionScale, 1.0f);
  EXPECT_EQ(model.attentionSoftCap, 0.0f);
  EXPECT_EQ(model.layers[1].window, 16);

  file.number("gemma3.attention.sliding_window_pattern", 2);
  EXPECT_EQ(accept(file).layers[1].window, 0);
}

TEST(GgufDecoderTest, GemmaNeedsTheLengthOfItsWindow) {
  ToyDecoder toy("gemma3");
  toy.keyLeftOut = "attention.sliding_window";
  EXPECT_THAT(refusal(toy.file()),
              HasSubstr("'gemma3.attention.sliding_window' is missing"));
}

TEST(GgufDecoderTest, Lfm2HasConvolutionsWhereThereAreNoKvHeads) {
  DecoderModel model = accept(ToyDecoder("lfm2").file());
  ASSERT_TRUE(model.layers[0].conv);
  EXPECT_EQ(model.layers[0].conv->in.weight.shape[0], 24);
  // One vector: a channel's three taps lie together in the file too.
  EXPECT_EQ(model.layers[0].conv->taps.shape.size(), 1u);
  EXPECT_EQ(model.layers[0].conv->taps.shape[0], 24);
  EXPECT_FALSE(model.layers[1].conv);
  EXPECT_EQ(model.layers[1].keyNorm->name, "blk.1.attn_k_norm.weight");
  EXPECT_EQ(model.numKvHeads, 1);
  EXPECT_EQ(model.outputNorm.name, "token_embd_norm.weight");
}

TEST(GgufDecoderTest, Qwen3MoeHasExpertsBehindOneAnother) {
  DecoderModel model = accept(ToyDecoder("qwen3moe").file());
  EXPECT_EQ(model.feedForwardSize, 12);
  ASSERT_TRUE(model.layers[1].experts);
  const llmc::importer::Experts &experts = *model.layers[1].experts;
  EXPECT_EQ(experts.numUsed, 2);
  EXPECT_TRUE(experts.isNormalized);
  EXPECT_EQ(experts.router.weight.shape[0], 3);
  EXPECT_EQ(experts.down.name, "blk.1.ffn_down_exps.weight");
  EXPECT_EQ(experts.down.outputs, 8);
  ASSERT_EQ(experts.down.parts.size(), 1u);
  EXPECT_THAT(experts.down.parts.front().shape, testing::ElementsAre(24, 12));
  EXPECT_TRUE(model.layers[1].queryNorm);
}

TEST(GgufDecoderTest, RefusesOtherWaysToChooseExperts) {
  auto with = [](const char *key, uint32_t value) {
    ToyDecoder toy("qwen3moe");
    toy.keyLeftOut = key;
    GgufBuilder file = toy.file();
    file.number("qwen3moe." + std::string(key), value);
    return refusal(file);
  };
  EXPECT_THAT(with("expert_used_count", 4),
              HasSubstr("'qwen3moe.expert_used_count' is 4, allowed are 1 to "
                        "3"));
  EXPECT_THAT(with("expert_count", 1025), HasSubstr("allowed are 1 to 1024"));
  EXPECT_THAT(with("expert_count", 2),
              HasSubstr("'blk.0.ffn_gate_inp.weight' has shape [3, 8]"));
  EXPECT_EQ(with("expert_gating_func", 1), "");
  EXPECT_THAT(with("expert_gating_func", 2),
              HasSubstr("'qwen3moe.expert_gating_func' is 2, allowed is 1 "
                        "(softmax)"));
  GgufBuilder file = ToyDecoder("qwen3moe").file();
  file.pair("qwen3moe.expert_weights_norm", llmc::test::kBool,
            std::string(1, '\0'));
  EXPECT_THAT(refusal(file), HasSubstr("'qwen3moe.expert_weights_norm' is "
                                       "false, allowed is true"));
}

TEST(GgufDecoderTest, RefusesKvHeadsThatDoNotFitTheLayers) {
  ToyDecoder toy("lfm2");
  toy.kvHeads = {0, 1, 1};
  EXPECT_THAT(refusal(toy.file()),
              HasSubstr("'lfm2.attention.head_count_kv' has 3 numbers, allowed "
                        "is one for each of the 2 layers"));
  toy.kvHeads = {2, 1};
  EXPECT_THAT(refusal(toy.file()),
              HasSubstr("'lfm2.attention.head_count_kv' has 1, allowed are 0 "
                        "and one number"));
  toy.kvHeads = {0, 0};
  EXPECT_THAT(refusal(toy.file()), HasSubstr("has no layer of attention"));
  toy.kvHeads = {0, 1};
  toy.leftOut = "blk.0.shortconv.conv.weight";
  EXPECT_THAT(refusal(toy.file()),
              HasSubstr("'blk.0.shortconv.conv.weight' is missing"));
}

TEST(GgufDecoderTest, AFileWithoutACausalMaskIsAnEncoder) {
  using llmc::graph::Pooling;
  const std::string no(1, '\0'), yes(1, '\1');
  auto encoder = [&](const std::string &architecture) {
    return ToyDecoder(architecture)
        .file()
        .pair(architecture + ".attention.causal", llmc::test::kBool, no);
  };
  EXPECT_FALSE(accept(ToyDecoder("lfm2").file().pair("lfm2.attention.causal",
                                                     llmc::test::kBool, yes))
                   .pooling);
  DecoderModel model = accept(encoder("lfm2").number("lfm2.pooling_type", 2));
  ASSERT_TRUE(model.pooling);
  EXPECT_EQ(model.pooling->mode, Pooling::First);
  EXPECT_FALSE(model.pooling->isNormalized);
  EXPECT_FALSE(accept(encoder("lfm2")).pooling->mode);
  ImportOptions options;
  options.pooling = {Pooling::Mean, true};
  model = accept(encoder("lfm2").number("lfm2.pooling_type", 2), options);
  EXPECT_EQ(model.pooling->mode, Pooling::Mean);
  EXPECT_TRUE(model.pooling->isNormalized);
  // Other architectures would be right with a causal mask only.
  EXPECT_THAT(refusal(encoder("llama")),
              HasSubstr("'llama.attention.causal' is false, allowed is true"));
  ToyDecoder even("lfm2");
  even.keyLeftOut = "shortconv.l_cache";
  EXPECT_THAT(
      refusal(even.file()
                  .number("lfm2.shortconv.l_cache", 4)
                  .pair("lfm2.attention.causal", llmc::test::kBool, no)),
      HasSubstr("'lfm2.shortconv.l_cache' is 4, allowed are odd"));
}

TEST(GgufDecoderTest, BiasesAndNormsAreThoseOfTheArchitecture) {
  DecoderModel llama = accept(ToyDecoder("llama").file());
  EXPECT_FALSE(llama.layers[0].query.bias);
  EXPECT_FALSE(llama.layers[0].queryNorm);
  EXPECT_TRUE(accept(ToyDecoder("qwen2").file()).layers[1].value.bias);
  DecoderModel qwen3 = accept(ToyDecoder("qwen3").file());
  EXPECT_EQ(qwen3.layers[1].keyNorm->name, "blk.1.attn_k_norm.weight");
  GgufBuilder withBias = ToyDecoder("llama").file();
  withBias.ones("blk.0.attn_output.bias", {8});
  EXPECT_TRUE(accept(withBias).layers[0].output.bias);
}

TEST(GgufDecoderTest, DefaultsOfAbsentMetadata) {
  DecoderModel model = accept(ToyDecoder("llama").file());
  EXPECT_EQ(model.headDim, 4); // embedding length / heads
  EXPECT_EQ(model.numKvHeads, 1);
  EXPECT_EQ(model.rotary.dim, 4);
  EXPECT_EQ(model.rotary.base, 10000);
  EXPECT_EQ(model.rotary.positionScale, 1);
  EXPECT_EQ(model.contextLength, 64);
  EXPECT_EQ(model.vocabularySize, 16);
  EXPECT_EQ(model.name, "toy");
}

TEST(GgufDecoderTest, HeadDimensionNeedNotBeHiddenOverHeads_B14) {
  ToyDecoder toy("qwen3");
  toy.headDim = 32;
  GgufBuilder file = toy.file();
  file.number("qwen3.attention.key_length", 32)
      .number("qwen3.attention.value_length", 32)
      .number("qwen3.rope.dimension_count", 16);
  DecoderModel model = accept(file);
  EXPECT_EQ(model.headDim, 32);
  EXPECT_EQ(model.rotary.dim, 16);
  EXPECT_EQ(model.layers[0].query.weight.shape[0], 64);
}

TEST(GgufDecoderTest, OutputMatrixIsTheEmbeddingWhenAbsent) {
  EXPECT_FALSE(accept(ToyDecoder("llama").file()).output);
  GgufBuilder untied = ToyDecoder("llama").file();
  untied.ones("output.weight", {8, 16});
  EXPECT_EQ(accept(untied).output->name, "output.weight");
}

TEST(GgufDecoderTest, ContextLengthIsBoundedByTheModel) {
  ToyDecoder toy("llama");
  EXPECT_EQ(accept(toy.file(), {16}).contextLength, 16);
  EXPECT_THAT(refusal(toy.file(), {65}),
              HasSubstr("requested context length is 65, allowed are 1 to 64"));
  toy.contextLength = 100000;
  EXPECT_EQ(accept(toy.file()).contextLength,
            llmc::importer::kDefaultContextLength);
  EXPECT_EQ(accept(toy.file(), {50000}).contextLength, 50000);
}

TEST(GgufDecoderTest, LinearRotaryScalingDividesPositions) {
  auto scaled = [](const std::string &type) {
    GgufBuilder file = ToyDecoder("llama").file();
    file.text("llama.rope.scaling.type", type)
        .real("llama.rope.scaling.factor", 4);
    return file;
  };
  EXPECT_EQ(accept(scaled("linear")).rotary.positionScale, 0.25f);
  EXPECT_EQ(accept(scaled("none")).rotary.positionScale, 1.0f);
  EXPECT_THAT(refusal(scaled("yarn")),
              HasSubstr("'llama.rope.scaling.type' is 'yarn', supported are "
                        "none, linear"));
  GgufBuilder legacy = ToyDecoder("llama").file();
  legacy.real("llama.rope.scale_linear", 2);
  EXPECT_EQ(accept(legacy).rotary.positionScale, 0.5f);
}

TEST(GgufDecoderTest, RotaryFactorsAreHonouredOrRefused_B12) {
  GgufBuilder llama = ToyDecoder("llama").file();
  llama.ones("rope_freqs.weight", {2});
  EXPECT_EQ(accept(llama).rotary.factors->shape[0], 2);
  GgufBuilder qwen2 = ToyDecoder("qwen2").file();
  qwen2.ones("rope_freqs.weight", {2});
  EXPECT_THAT(refusal(qwen2), HasSubstr("'rope_freqs.weight' is not used"));
}

//===----------------------------------------------------------------------===//
// Refusals
//===----------------------------------------------------------------------===//

TEST(GgufDecoderTest, RefusesUnknownArchitectures) {
  for (const char *name : {"gemma9", "LLAMA", ""})
    EXPECT_THAT(
        refusal(ToyDecoder(name).file()),
        HasSubstr("'general.architecture' is '" + std::string(name) +
                  "', supported are llama, qwen2, qwen3, qwen3moe, gemma2, "
                  "gemma3, lfm2, bert"));
  EXPECT_THAT(refusal(GgufBuilder()),
              HasSubstr("'general.architecture' is missing"));
}

TEST(GgufDecoderTest, RefusesTensorsThatItWouldNotUse_B14) {
  GgufBuilder file = ToyDecoder("qwen2").file();
  file.ones("blk.0.attn_q_norm.weight", {4});
  EXPECT_THAT(refusal(file),
              HasSubstr("tensor 'blk.0.attn_q_norm.weight' is not used by "
                        "architecture qwen2"));
  ToyDecoder shortened("llama");
  shortened.statedLayers = 1;
  EXPECT_THAT(refusal(shortened.file()),
              HasSubstr("tensor 'blk.1.attn_norm.weight' is not used"));
}

TEST(GgufDecoderTest, NamesEveryMissingTensor) {
  for (const char *architecture : {"llama", "qwen2", "qwen3", "qwen3moe"})
    for (const std::string &name : ToyDecoder(architecture).tensorNames()) {
      ToyDecoder toy(architecture);
      toy.leftOut = name;
      EXPECT_THAT(refusal(toy.file()),
                  HasSubstr("tensor '" + name + "' is missing"));
    }
}

TEST(GgufDecoderTest, NamesTensorsOfAWrongShape) {
  ToyDecoder toy("llama");
  toy.leftOut = "blk.1.ffn_up.weight";
  GgufBuilder file = toy.file();
  file.ones("blk.1.ffn_up.weight", {8, 13});
  EXPECT_THAT(refusal(file),
              HasSubstr("'blk.1.ffn_up.weight' has shape [13, 8], the metadata "
                        "allow [12, 8]"));
}

TEST(GgufDecoderTest, NamesMissingAndOddMetadata) {
  auto replaced = [](const std::string &key, auto &&replace) {
    ToyDecoder toy("llama");
    toy.keyLeftOut = key;
    GgufBuilder file = toy.file();
    replace(file, "llama." + key);
    return refusal(file);
  };
  auto nothing = [](GgufBuilder &, const std::string &) {};
  for (const char *key : {"block_count", "embedding_length",
                          "feed_forward_length", "attention.head_count",
                          "context_length", "attention.layer_norm_rms_epsilon"})
    EXPECT_THAT(replaced(key, nothing),
                HasSubstr("'llama." + std::string(key) + "' is missing"));
  auto number = [](uint32_t value) {
    return [value](GgufBuilder &file, const std::string &key) {
      file.number(key, value);
    };
  };
  EXPECT_THAT(replaced("block_count", number(0)),
              HasSubstr("'llama.block_count' is 0, allowed are 1 to 1024"));
  EXPECT_THAT(replaced("embedding_length", number(0xffffffff)),
              HasSubstr("allowed are 1 to 268435456"));
  EXPECT_THAT(replaced("attention.head_count_kv", number(3)),
              HasSubstr("allowed are divisors of"));
  EXPECT_THAT(replaced("attention.head_count", number(3)),
              HasSubstr("no multiple of the 3 heads"));
  EXPECT_THAT(replaced("attention.value_length", number(8)),
              HasSubstr("allowed is the length of keys, 4"));
  EXPECT_THAT(replaced("rope.dimension_count", number(6)),
              HasSubstr("allowed are even numbers up to 4"));
  EXPECT_THAT(replaced("expert_count", number(8)),
              HasSubstr("'llama.expert_count' is 8, allowed is 0"));
  EXPECT_THAT(replaced("vocab_size", number(17)),
              HasSubstr("'llama.vocab_size' is 17, but tensor "
                        "'token_embd.weight' has shape [16, 8]"));
  EXPECT_THAT(replaced("attention.layer_norm_rms_epsilon",
                       [](GgufBuilder &file, const std::string &key) {
                         file.real(key, 0);
                       }),
              HasSubstr("allowed are positive finite numbers"));
}

TEST(GgufDecoderTest, VocabularyMustMatchTheTokenizer) {
  std::string tokens = littleEndian<uint32_t>(8) + littleEndian<uint64_t>(2) +
                       llmc::test::ggufString("a") +
                       llmc::test::ggufString("b");
  GgufBuilder file = ToyDecoder("llama").file();
  file.pair("tokenizer.ggml.tokens", llmc::test::kArray, tokens);
  EXPECT_THAT(refusal(file), HasSubstr("'tokenizer.ggml.tokens' has 2 tokens"));
}

//===----------------------------------------------------------------------===//
// Damage
//===----------------------------------------------------------------------===//

llvm::Expected<DecoderModel> readBytes(llvm::StringRef bytes) {
  auto file = llmc::gguf::GgufFile::parse(
      llvm::MemoryBuffer::getMemBufferCopy(bytes), "toy.gguf");
  if (!file)
    return file.takeError();
  return llmc::gguf::readDecoder(**file, {});
}

TEST(GgufDecoderTest, EveryPrefixOfAModelIsRefused) {
  std::string bytes = ToyDecoder("qwen3").file().build();
  for (size_t length = 0; length < bytes.size() - 31; ++length) {
    auto model = readBytes(llvm::StringRef(bytes).take_front(length));
    ASSERT_FALSE(bool(model)) << length;
    EXPECT_THAT(llvm::toString(model.takeError()), HasSubstr("toy.gguf"));
  }
}

/// Loads or is refused with a message; the sanitizers watch over the rest.
TEST(GgufDecoderTest, DamagedBytesDoNoHarm) {
  const std::string bytes = ToyDecoder("qwen2").file().build();
  size_t header = bytes.find("blk.1.attn_v.bias") + 64;
  for (size_t place = 0; place < header; ++place)
    for (char value : {'\0', '\x01', '\x7f', '\xff'}) {
      std::string damaged = bytes;
      damaged[place] = value;
      auto model = readBytes(damaged);
      if (!model)
        EXPECT_THAT(llvm::toString(model.takeError()), HasSubstr("toy.gguf"));
    }
}

} // namespace
