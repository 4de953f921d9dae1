// SPDX-License-Identifier: Apache-2.0
//
// Which models the importer of Hugging Face directories takes, what it makes of
// their conventions, and the messages for those that it refuses.

#include "compiler/Import/HuggingFace/HfDecoder.h"
#include "compiler/Import/HuggingFace/RotaryConfig.h"
#include "test/unit/compiler/Import/toy_folder.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include <cmath>

namespace {

using llmc::graph::Encoding;
using llmc::graph::RotaryPairs;
using llmc::importer::DecoderModel;
using llmc::importer::ImportOptions;
using llmc::test::TemporaryDirectory;
using llmc::test::ToyFolder;
using nlohmann::json;
using testing::HasSubstr;

constexpr const char *kTypes[] = {"llama", "qwen2", "qwen3", "gemma2",
                                  "gemma3_text"};

llvm::Expected<DecoderModel> read(const ToyFolder &toy,
                                  const ImportOptions &options = {}) {
  TemporaryDirectory directory;
  toy.write(directory);
  auto folder = llmc::huggingface::ModelFolder::open(directory.path());
  if (!folder)
    return folder.takeError();
  return llmc::huggingface::readDecoder(*folder, options);
}

DecoderModel accept(const ToyFolder &toy, const ImportOptions &options = {}) {
  return llvm::cantFail(read(toy, options));
}

std::string refusal(const ToyFolder &toy, const ImportOptions &options = {}) {
  auto model = read(toy, options);
  return model ? "" : llvm::toString(model.takeError());
}

/// The message when a field of a type's config has this value.
std::string refusalWith(const char *type, const char *field, json value) {
  ToyFolder toy(type);
  toy.config[field] = std::move(value);
  return refusal(toy);
}

DecoderModel acceptWith(const char *type, const char *field, json value) {
  ToyFolder toy(type);
  toy.config[field] = std::move(value);
  return accept(toy);
}

//===----------------------------------------------------------------------===//
// Conventions
//===----------------------------------------------------------------------===//

TEST(HfDecoder, RotaryPairsAreHalvesInEveryType_B11) {
  for (const char *type : kTypes)
    EXPECT_EQ(accept(ToyFolder(type)).rotary.pairs, RotaryPairs::Half);
}

TEST(HfDecoder, WeightsHaveTheNamesOfGgufFiles) {
  DecoderModel model = accept(ToyFolder("gemma3_text"));
  EXPECT_EQ(model.architecture, "gemma3");
  EXPECT_EQ(model.embedding.name, "token_embd.weight");
  EXPECT_EQ(model.outputNorm.name, "output_norm.weight");
  const auto &layer = model.layers[1];
  EXPECT_EQ(layer.attentionNorm.name, "blk.1.attn_norm.weight");
  EXPECT_EQ(layer.query.weight.name, "blk.1.attn_q.weight");
  EXPECT_EQ(layer.output.weight.name, "blk.1.attn_output.weight");
  EXPECT_EQ(layer.queryNorm->name, "blk.1.attn_q_norm.weight");
  EXPECT_EQ(layer.postAttentionNorm->name, "blk.1.post_attention_norm.weight");
  EXPECT_EQ(layer.feedForwardNorm.name, "blk.1.ffn_norm.weight");
  EXPECT_EQ(layer.postFeedForwardNorm->name, "blk.1.post_ffw_norm.weight");
  EXPECT_EQ(accept(ToyFolder("llama")).layers[0].feedForwardNorm.name,
            "blk.0.ffn_norm.weight");
}

TEST(HfDecoder, GainsOfGemmaAreOnePlusTheWeight_B13) {
  DecoderModel gemma = accept(ToyFolder("gemma3_text"));
  EXPECT_EQ(gemma.outputNorm.addend, 1.0f);
  EXPECT_EQ(gemma.layers[0].attentionNorm.addend, 1.0f);
  EXPECT_EQ(gemma.layers[0].postFeedForwardNorm->addend, 1.0f);
  EXPECT_EQ(gemma.layers[0].keyNorm->addend, 1.0f);
  EXPECT_EQ(gemma.embedding.addend, 0.0f);
  EXPECT_FLOAT_EQ(gemma.embeddingScale, std::sqrt(8.0f));
  EXPECT_EQ(gemma.activation, llmc::importer::Activation::GeluTanh);
  EXPECT_EQ(accept(ToyFolder("qwen3")).outputNorm.addend, 0.0f);
}

TEST(HfDecoder, GemmaTwoHasCapsUnlessNull) {
  DecoderModel model = accept(ToyFolder("gemma2"));
  EXPECT_EQ(model.attentionSoftCap, 50.0f);
  EXPECT_EQ(model.logitSoftCap, 30.0f);
  EXPECT_EQ(model.scoreDivisor, 256);
  EXPECT_EQ(
      acceptWith("gemma2", "final_logit_softcapping", nullptr).logitSoftCap,
      0.0f);
  EXPECT_EQ(acceptWith("gemma2", "query_pre_attn_scalar", 144).scoreDivisor,
            144);
  EXPECT_EQ(accept(ToyFolder("gemma3_text")).logitSoftCap, 0.0f);
  EXPECT_EQ(
      acceptWith("gemma3_text", "attn_logit_softcapping", 20).attentionSoftCap,
      20.0f);
}

TEST(HfDecoder, WindowsFollowTheConfiguration) {
  DecoderModel gemma2 = accept(ToyFolder("gemma2"));
  EXPECT_EQ(gemma2.layers[0].window, 16);
  EXPECT_EQ(gemma2.layers[1].window, 0);
  EXPECT_EQ(accept(ToyFolder("gemma3_text")).layers[1].window, 16);
  EXPECT_EQ(
      acceptWith("gemma3_text", "sliding_window_pattern", 2).layers[1].window,
      0);
  DecoderModel listed = acceptWith("gemma3_text", "layer_types",
                                   {"full_attention", "sliding_attention"});
  EXPECT_EQ(listed.layers[0].window, 0);
  EXPECT_EQ(listed.layers[1].window, 16);

  ToyFolder qwen("qwen2");
  qwen.config["sliding_window"] = 32;
  qwen.config["max_window_layers"] = 1;
  EXPECT_EQ(accept(qwen).layers[1].window, 0); // use_sliding_window is absent
  qwen.config["use_sliding_window"] = true;
  EXPECT_EQ(accept(qwen).layers[0].window, 0);
  EXPECT_EQ(accept(qwen).layers[1].window, 32);
}

TEST(HfDecoder, BiasesAreThoseOfTypeAndConfiguration) {
  DecoderModel qwen2 = accept(ToyFolder("qwen2"));
  EXPECT_EQ(qwen2.layers[1].value.bias->name, "blk.1.attn_v.bias");
  EXPECT_FALSE(qwen2.layers[1].output.bias);
  EXPECT_FALSE(accept(ToyFolder("llama")).layers[0].query.bias);
  ToyFolder llama("llama");
  llama.config["attention_bias"] = true;
  for (const char *layer :
       {"model.layers.0.self_attn.", "model.layers.1.self_attn."})
    for (auto [name, size] : {std::pair("q_proj.bias", 8),
                              {"k_proj.bias", 4},
                              {"v_proj.bias", 4},
                              {"o_proj.bias", 8}})
      llama.added.push_back({layer + std::string(name), {size}});
  EXPECT_EQ(accept(llama).layers[0].output.bias->shape[0], 8);
}

TEST(HfDecoder, HeadDimensionNeedNotBeHiddenOverHeads_B14) {
  ToyFolder toy("qwen3");
  toy.config["hidden_size"] = 8;
  toy.config["num_attention_heads"] = 1;
  toy.config["head_dim"] = 4;
  EXPECT_THAT(refusal(toy), HasSubstr("'model.layers.0.self_attn.q_proj.weight'"
                                      " has shape [8, 8], config.json allows "
                                      "[4, 8]"));
  toy.config.erase("head_dim");
  EXPECT_THAT(refusal(toy), HasSubstr("config.json allows [128, 8]"));
  ToyFolder llama("llama");
  llama.config.erase("head_dim");
  EXPECT_EQ(accept(llama).headDim, 4);
  EXPECT_EQ(accept(llama).scoreDivisor, 4);
}

TEST(HfDecoder, EmbeddingIsTheOutputMatrixWhereTied_B28) {
  EXPECT_FALSE(accept(ToyFolder("llama")).output);
  ToyFolder toy("llama");
  toy.config["tie_word_embeddings"] = false;
  EXPECT_THAT(refusal(toy), HasSubstr("tensor 'lm_head.weight' is missing"));
  toy.added = {{"lm_head.weight", {16, 8}}};
  EXPECT_EQ(accept(toy).output->name, "output.weight");
  toy.config["tie_word_embeddings"] = true; // an equal copy
  EXPECT_FALSE(accept(toy).output);
  toy.added = {{"lm_head.weight", {16, 7}}};
  EXPECT_THAT(refusal(toy),
              HasSubstr("differs from 'model.embed_tokens.weight'"));
}

TEST(HfDecoder, ContextLengthIsBoundedByTheModel) {
  ToyFolder toy("llama");
  EXPECT_EQ(accept(toy).contextLength, 64);
  EXPECT_EQ(accept(toy, {16}).contextLength, 16);
  EXPECT_THAT(refusal(toy, {65}),
              HasSubstr("requested context length is 65, allowed are 1 to 64"));
  toy.config["max_position_embeddings"] = 100000;
  EXPECT_EQ(accept(toy).contextLength, llmc::importer::kDefaultContextLength);
}

/// An lfm2 whose first layer is a convolution, with its own names.
ToyFolder lfm2() {
  ToyFolder toy("lfm2");
  toy.config["layer_types"] = {"conv", "full_attention"};
  toy.config["block_auto_adjust_ff_dim"] = false;
  toy.config["norm_eps"] = 1e-4;
  return toy;
}

TEST(HfDecoder, Lfm2HasConvolutions) {
  DecoderModel model = accept(lfm2());
  ASSERT_TRUE(model.layers[0].conv);
  EXPECT_EQ(model.layers[0].conv->in.weight.shape[0], 24);
  EXPECT_EQ(model.layers[0].conv->taps.shape.size(), 1u);
  EXPECT_EQ(model.layers[0].conv->taps.shape[0], 24);
  EXPECT_FALSE(model.layers[1].conv);
  EXPECT_EQ(model.layers[1].queryNorm->name, "blk.1.attn_q_norm.weight");
  EXPECT_EQ(model.outputNorm.name, "token_embd_norm.weight");
  EXPECT_FLOAT_EQ(model.normEpsilon, 1e-4f);
  EXPECT_EQ(model.rotary.base, 1e6f);
  EXPECT_FALSE(model.output);
}

TEST(HfDecoder, Lfm2SaysTheSizeBeforeItIsMadeTwoThirds) {
  ToyFolder toy = lfm2();
  toy.config["block_auto_adjust_ff_dim"] = true;
  toy.config["block_ff_dim"] = 20; // 13, up to a multiple of 4 is 16
  toy.config["block_multiple_of"] = 4;
  EXPECT_THAT(refusal(toy), HasSubstr("feed_forward.w1.weight' has shape [12, "
                                      "8], config.json allows [16, 8]"));
  toy.config["block_ffn_dim_multiplier"] = 0.9; // 11.7
  EXPECT_EQ(accept(toy).feedForwardSize, 12);
}

TEST(HfDecoder, Lfm2RefusesWhatItHasNot) {
  ToyFolder toy = lfm2();
  toy.config["conv_bias"] = true;
  EXPECT_THAT(refusal(toy), HasSubstr("'conv_bias' is true, allowed is false"));
  toy = lfm2();
  toy.config["conv_L_cache"] = 10;
  EXPECT_THAT(refusal(toy), HasSubstr("whole numbers from 1 to 9"));
  toy = lfm2();
  toy.config["layer_types"] = {"conv", "sliding_attention"};
  EXPECT_THAT(refusal(toy), HasSubstr("allowed are full_attention and conv"));
  toy.config.erase("layer_types");
  EXPECT_THAT(refusal(toy), HasSubstr("'layer_types' is absent"));
}

TEST(HfDecoderTest, BidirectionalLfm2IsAnEncoder) {
  using llmc::graph::Pooling;
  ToyFolder toy = lfm2();
  EXPECT_FALSE(accept(toy).pooling);
  toy.config["architectures"] = {"Lfm2BidirectionalModel"};
  // Without modules.json it is the mean of the rows.
  DecoderModel model = accept(toy);
  ASSERT_TRUE(model.pooling);
  EXPECT_EQ(model.pooling->mode, Pooling::Mean);
  ImportOptions options;
  options.pooling = {Pooling::First, true};
  EXPECT_EQ(accept(toy, options).pooling->mode, Pooling::First);
  toy.config["conv_L_cache"] = 4;
  EXPECT_THAT(refusal(toy), HasSubstr("'conv_L_cache' is 4, allowed are odd "
                                      "numbers in encoders"));
  toy = lfm2();
  toy.config["architectures"] = {"Lfm2BidirectionalForMaskedLM"};
  EXPECT_THAT(refusal(toy),
              HasSubstr("allowed is Lfm2BidirectionalModel among those"));
  ToyFolder llama("llama");
  llama.config["architectures"] = {"LlamaBidirectionalModel"};
  EXPECT_THAT(refusal(llama), HasSubstr("'architectures'"));
}

//===----------------------------------------------------------------------===//
// Experts
//===----------------------------------------------------------------------===//

TEST(HfDecoder, ExpertsLieBehindOneAnother) {
  DecoderModel model = accept(ToyFolder("qwen3_moe"));
  EXPECT_EQ(model.architecture, "qwen3moe");
  ASSERT_TRUE(model.layers[1].experts);
  const llmc::importer::Experts &experts = *model.layers[1].experts;
  EXPECT_EQ(experts.numUsed, 2);
  EXPECT_FALSE(experts.isNormalized);
  EXPECT_EQ(experts.router.weight.name, "blk.1.ffn_gate_inp.weight");
  EXPECT_EQ(experts.down.name, "blk.1.ffn_down_exps.weight");
  EXPECT_EQ(experts.down.outputs, 8);
  ASSERT_EQ(experts.down.parts.size(), 3u);
  EXPECT_LT(experts.down.parts[0].offsetInBytes,
            experts.down.parts[1].offsetInBytes);
  EXPECT_TRUE(acceptWith("qwen3_moe", "norm_topk_prob", true)
                  .layers[0]
                  .experts->isNormalized);
}

TEST(HfDecoder, EveryLayerMustHaveExperts) {
  EXPECT_THAT(refusalWith("qwen3_moe", "decoder_sparse_step", 2),
              HasSubstr("'decoder_sparse_step' is 2, allowed is 1: every layer "
                        "has experts"));
  EXPECT_THAT(refusalWith("qwen3_moe", "mlp_only_layers", {1}),
              HasSubstr("'mlp_only_layers' is [1], allowed is an empty array"));
  EXPECT_EQ(refusalWith("qwen3_moe", "mlp_only_layers", json::array()), "");
  EXPECT_THAT(refusalWith("qwen3_moe", "num_experts_per_tok", 4),
              HasSubstr("'num_experts_per_tok' is 4, allowed are whole numbers "
                        "from 1 to 3"));
}

TEST(HfDecoder, ExpertsMustHaveOneEncoding) {
  ToyFolder toy("qwen3_moe");
  TemporaryDirectory directory;
  toy.write(directory);
  llmc::test::SafetensorsBuilder builder;
  for (const auto &[name, shape] : toy.tensors())
    if (name == "model.layers.0.mlp.experts.1.up_proj.weight")
      builder.tensor(name, "F16", shape, std::string(2 * 12 * 8, '\0'));
    else
      builder.numbers(name, shape);
  directory.write("model.safetensors", builder.build());
  auto folder = llmc::huggingface::ModelFolder::open(directory.path());
  auto model =
      llmc::huggingface::readDecoder(llvm::cantFail(std::move(folder)), {});
  ASSERT_FALSE(bool(model));
  EXPECT_THAT(llvm::toString(model.takeError()),
              HasSubstr("that of 'model.layers.0.mlp.experts.1.up_proj' is "
                        "F16, that of expert 0 F32"));
}

//===----------------------------------------------------------------------===//
// Rotation
//===----------------------------------------------------------------------===//

TEST(HfDecoder, LlamaThreeStretchesSlowFrequencies_B12) {
  auto factors =
      llmc::huggingface::llama3RotaryFactors(64, 5e5, 32, 1, 4, 8192);
  ASSERT_EQ(factors.size(), 32u);
  // The frequencies that the report names.
  for (auto [i, frequency] : {std::pair(0, 1.0),
                              {14, 3.211446e-3},
                              {15, 1.290548e-3},
                              {16, 4.295568e-4},
                              {17, 9.708288e-5},
                              {18, 1.946164e-5},
                              {31, 9.418307e-8}})
    EXPECT_NEAR(std::pow(5e5, -2.0 * i / 64) / factors[i] / frequency, 1, 1e-6)
        << i;
}

TEST(HfDecoder, RotaryScalingIsReadInBothSpellings_B12) {
  DecoderModel linear = acceptWith("llama", "rope_scaling",
                                   {{"type", "linear"}, {"factor", 4.0}});
  EXPECT_EQ(linear.rotary.positionScale, 0.25f);
  EXPECT_FALSE(linear.rotary.factors);
  json llama3 = {{"rope_type", "llama3"},
                 {"factor", 8.0},
                 {"low_freq_factor", 1.0},
                 {"high_freq_factor", 4.0},
                 {"original_max_position_embeddings", 32}};
  DecoderModel model = acceptWith("llama", "rope_scaling", llama3);
  ASSERT_TRUE(model.rotary.factors);
  EXPECT_EQ(model.rotary.factors->file, 1);
  EXPECT_EQ(model.rotary.factors->encoding, Encoding::F32);
  ASSERT_EQ(model.tables.size(), 1u);
  EXPECT_EQ(model.tables[0],
            llmc::huggingface::llama3RotaryFactors(4, 1e4, 8, 1, 4, 32));

  llama3["rope_theta"] = 5e5;
  DecoderModel newer = acceptWith("llama", "rope_parameters", llama3);
  EXPECT_EQ(newer.rotary.base, 5e5f);
  EXPECT_EQ(newer.tables[0],
            llmc::huggingface::llama3RotaryFactors(4, 5e5, 8, 1, 4, 32));
  EXPECT_EQ(acceptWith("llama", "rope_theta", 1000000).rotary.base, 1e6f);
}

TEST(HfDecoder, GemmaThreeRotatesWindowsOtherwise) {
  DecoderModel model = acceptWith("gemma3_text", "rope_scaling",
                                  {{"rope_type", "linear"}, {"factor", 8.0}});
  EXPECT_EQ(model.rotary.base, 1e6f);
  EXPECT_EQ(model.rotary.positionScale, 0.125f);
  EXPECT_EQ(model.windowRotary.base, 1e4f);
  EXPECT_EQ(model.windowRotary.positionScale, 1.0f);
  DecoderModel newer = acceptWith(
      "gemma3_text", "rope_parameters",
      {{"full_attention",
        {{"rope_type", "linear"}, {"factor", 4.0}, {"rope_theta", 2e6}}},
       {"sliding_attention", {{"rope_type", "default"}, {"rope_theta", 5e3}}}});
  EXPECT_EQ(newer.rotary.base, 2e6f);
  EXPECT_EQ(newer.rotary.positionScale, 0.25f);
  EXPECT_EQ(newer.windowRotary.base, 5e3f);
  EXPECT_EQ(newer.windowRotary.positionScale, 1.0f);
}

//===----------------------------------------------------------------------===//
// Refusals
//===----------------------------------------------------------------------===//

TEST(HfDecoder, RefusesUnknownTypesAndFeatures) {
  EXPECT_THAT(refusalWith("llama", "model_type", "phi3"),
              HasSubstr("config.json: field 'model_type' is \"phi3\", allowed "
                        "are llama, qwen2, qwen3, qwen3_moe, gemma2, "
                        "gemma3_text, lfm2, bert, mpnet"));
  EXPECT_THAT(refusalWith("llama", "hidden_act", "gelu"),
              HasSubstr("'hidden_act' is \"gelu\", allowed is silu"));
  EXPECT_THAT(refusalWith("gemma2", "hidden_activation", "gelu"),
              HasSubstr("allowed is gelu_pytorch_tanh"));
  for (const char *type : {"yarn", "dynamic", "longrope"})
    EXPECT_THAT(refusalWith("qwen3", "rope_scaling",
                            {{"rope_type", type}, {"factor", 2}}),
                HasSubstr("'rope_scaling.rope_type' is \"" + std::string(type) +
                          "\", allowed are default, linear, llama3"));
  EXPECT_THAT(refusalWith("llama", "partial_rotary_factor", 0.5),
              HasSubstr("allowed is 1"));
  EXPECT_THAT(refusalWith("qwen3", "mlp_bias", true),
              HasSubstr("'mlp_bias' is true, allowed is false"));
  EXPECT_THAT(refusalWith("gemma3_text", "use_bidirectional_attention", true),
              HasSubstr("allowed is false"));
  EXPECT_THAT(refusalWith("gemma2", "layer_types", {"full_attention"}),
              HasSubstr("are as many as there are layers"));
  EXPECT_THAT(refusalWith("qwen2", "layer_types", {"full_attention", "conv"}),
              HasSubstr("are full_attention and sliding_attention"));
  EXPECT_THAT(refusalWith("gemma2", "sliding_window", nullptr),
              HasSubstr("'sliding_window' is missing"));
}

TEST(HfDecoder, NamesMissingAndOddFields) {
  for (const char *field :
       {"model_type", "num_hidden_layers", "hidden_size", "intermediate_size",
        "vocab_size", "num_attention_heads", "max_position_embeddings"})
    EXPECT_THAT(refusalWith("llama", field, nullptr),
                HasSubstr("config.json: field '" + std::string(field) +
                          "' is missing"));
  for (json value : {json(0), json(-1), json(1.5), json("8"), json(1u << 30)})
    EXPECT_THAT(refusalWith("llama", "hidden_size", value),
                HasSubstr("'hidden_size' is " + value.dump() +
                          ", allowed are whole numbers from 1 to 268435456"));
  EXPECT_THAT(refusalWith("llama", "num_hidden_layers", 1025),
              HasSubstr("from 1 to 1024"));
  EXPECT_THAT(refusalWith("llama", "num_key_value_heads", 3),
              HasSubstr("divisors of num_attention_heads, 2"));
  EXPECT_THAT(refusalWith("llama", "head_dim", 3), HasSubstr("even numbers"));
  for (json value : {json(0), json(-1e-5), json("x"), json(1e300)})
    EXPECT_THAT(refusalWith("llama", "rms_norm_eps", value),
                HasSubstr("allowed are positive numbers"));
  EXPECT_THAT(refusalWith("llama", "tie_word_embeddings", 1),
              HasSubstr("allowed are true and false"));
  EXPECT_THAT(refusalWith("llama", "rope_scaling", "linear"),
              HasSubstr("allowed are objects"));
  EXPECT_THAT(refusalWith("llama", "rope_scaling", {{"type", "linear"}}),
              HasSubstr("field 'rope_scaling.factor' is missing"));
}

TEST(HfDecoder, NamesEveryMissingTensor) {
  for (const char *type : kTypes)
    for (const auto &[name, shape] : ToyFolder(type).tensors()) {
      ToyFolder toy(type);
      toy.leftOut = name;
      EXPECT_THAT(refusal(toy), HasSubstr("tensor '" + name + "' is missing"));
    }
}

TEST(HfDecoder, RefusesTensorsThatItWouldNotUse) {
  ToyFolder toy("qwen2");
  toy.added = {{"model.layers.0.self_attn.q_norm.weight", {4}}};
  EXPECT_THAT(refusal(toy),
              HasSubstr("tensor 'model.layers.0.self_attn.q_norm.weight' is "
                        "not used by model type qwen2"));
  toy.added = {{"model.layers.1.self_attn.rotary_emb.inv_freq", {2}}};
  EXPECT_EQ(refusal(toy), "");
  toy.added = {};
  toy.config["num_hidden_layers"] = 1;
  EXPECT_THAT(refusal(toy), HasSubstr("'model.layers.1."));
}

TEST(HfDecoder, RefusesOtherElementTypes) {
  TemporaryDirectory directory;
  ToyFolder toy("llama");
  toy.write(directory);
  llmc::test::SafetensorsBuilder builder;
  builder.tensor("model.embed_tokens.weight", "I8", {16, 8},
                 std::string(128, '\1'));
  directory.write("model.safetensors", builder.build());
  auto folder =
      llvm::cantFail(llmc::huggingface::ModelFolder::open(directory.path()));
  auto model = llmc::huggingface::readDecoder(folder, {});
  ASSERT_FALSE(bool(model));
  EXPECT_THAT(llvm::toString(model.takeError()),
              HasSubstr("'model.embed_tokens.weight' has dtype I8, allowed are "
                        "F32, F16, BF16"));
}

} // namespace
