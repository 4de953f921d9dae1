// SPDX-License-Identifier: Apache-2.0
//
// The table of model types, with the values that the transformers library gives
// absent fields.

#include "compiler/Import/HuggingFace/DecoderTypes.h"

namespace llmc::huggingface {

namespace {

constexpr TensorNames kUsualNames = {};
constexpr TensorNames kLfm2Names = {
    "operator_norm",         "self_attn.out_proj", "self_attn.q_layernorm",
    "self_attn.k_layernorm", "ffn_norm",           "feed_forward.w1",
    "feed_forward.w3",       "feed_forward.w2",    "embedding_norm",
    "token_embd_norm"};

constexpr DecoderType kTypes[] = {
    {"llama", "llama", Bias::AsConfigSays, /*mayHaveFeedForwardBias=*/true,
     /*hasQueryKeyNorm=*/false, /*defaultHeadDim=*/0, /*defaultTied=*/false},
    {"qwen2", "qwen2", Bias::Yes, /*mayHaveFeedForwardBias=*/false,
     /*hasQueryKeyNorm=*/false, /*defaultHeadDim=*/0, /*defaultTied=*/false},
    {"qwen3", "qwen3", Bias::AsConfigSays, /*mayHaveFeedForwardBias=*/false,
     /*hasQueryKeyNorm=*/true, /*defaultHeadDim=*/128, /*defaultTied=*/false},
    {"qwen3_moe", "qwen3moe", Bias::AsConfigSays,
     /*mayHaveFeedForwardBias=*/false, /*hasQueryKeyNorm=*/true,
     /*defaultHeadDim=*/0, /*defaultTied=*/false,
     /*defaultRotaryBase=*/10000.0f, /*isGemma=*/false, /*windowPattern=*/1,
     /*hasSoftCaps=*/false, /*hasLocalRotary=*/false, /*isLfm2=*/false,
     /*hasExperts=*/true},
    {"gemma2", "gemma2", Bias::AsConfigSays, /*mayHaveFeedForwardBias=*/false,
     /*hasQueryKeyNorm=*/false, /*defaultHeadDim=*/256, /*defaultTied=*/true,
     /*defaultRotaryBase=*/10000.0f, /*isGemma=*/true, /*windowPattern=*/2,
     /*hasSoftCaps=*/true},
    {"gemma3_text", "gemma3", Bias::AsConfigSays,
     /*mayHaveFeedForwardBias=*/false, /*hasQueryKeyNorm=*/true,
     /*defaultHeadDim=*/256, /*defaultTied=*/true,
     /*defaultRotaryBase=*/1000000.0f, /*isGemma=*/true, /*windowPattern=*/6,
     /*hasSoftCaps=*/false, /*hasLocalRotary=*/true},
    {"lfm2", "lfm2", Bias::AsConfigSays, /*mayHaveFeedForwardBias=*/false,
     /*hasQueryKeyNorm=*/true, /*defaultHeadDim=*/0, /*defaultTied=*/true,
     /*defaultRotaryBase=*/1000000.0f, /*isGemma=*/false, /*windowPattern=*/1,
     /*hasSoftCaps=*/false, /*hasLocalRotary=*/false, /*isLfm2=*/true},
};

} // namespace

const TensorNames &DecoderType::names() const {
  return isLfm2 ? kLfm2Names : kUsualNames;
}

const DecoderType *findDecoderType(StringRef name) {
  for (const DecoderType &candidate : kTypes)
    if (candidate.name == name)
      return &candidate;
  return nullptr;
}

std::vector<std::string> layerTypesOfPattern(size_t numLayers,
                                             int64_t pattern) {
  std::vector<std::string> types;
  for (size_t index = 0; index < numLayers; ++index)
    types.push_back(static_cast<int64_t>(index) % pattern == pattern - 1
                        ? "full_attention"
                        : "sliding_attention");
  return types;
}

std::string supportedDecoderTypes() {
  std::string names;
  for (const DecoderType &candidate : kTypes)
    names += (names.empty() ? "" : ", ") + candidate.name.str();
  return names;
}

} // namespace llmc::huggingface
