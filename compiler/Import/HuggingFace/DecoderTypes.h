// SPDX-License-Identifier: Apache-2.0
//
// What the decoders of Hugging Face directories differ in.

#ifndef LLMC_COMPILER_IMPORT_HUGGINGFACE_DECODERTYPES_H
#define LLMC_COMPILER_IMPORT_HUGGINGFACE_DECODERTYPES_H

#include "dialects/Support/LLVM.h"

#include <cstdint>
#include <string>
#include <vector>

namespace llmc::huggingface {

/// Whether linears have a bias.
enum class Bias { No, Yes, AsConfigSays };

/// Tensors of a layer, and the model's last norm.
struct TensorNames {
  const char *attentionNorm = "input_layernorm";
  const char *output = "self_attn.o_proj";
  const char *queryNorm = "self_attn.q_norm", *keyNorm = "self_attn.k_norm";
  const char *feedForwardNorm = "post_attention_layernorm";
  const char *gate = "mlp.gate_proj", *up = "mlp.up_proj";
  const char *down = "mlp.down_proj";
  const char *outputNorm = "norm", *outputNormSymbol = "output_norm";
};

/// What is particular to a model type, and the values of absent fields.
struct DecoderType {
  StringRef name;
  /// As GGUF files call it.
  StringRef architecture;
  /// Of q, k and v; output and feed-forward parts have one only where
  /// `attention_bias` and `mlp_bias` say so.
  Bias queryKeyValueBias;
  bool mayHaveFeedForwardBias;
  bool hasQueryKeyNorm;
  /// 0: hidden size / heads.
  int64_t defaultHeadDim;
  bool defaultTied;
  float defaultRotaryBase = 10000.0f;
  /// What follows is gemma's: sqrt(hidden size) scales the embeddings, gains
  /// are 1 + w, GELU gates, and the parts are normed before they are added.
  bool isGemma = false;
  /// Every layer but the last of so many sees a window of keys only.
  int64_t windowPattern = 1;
  bool hasSoftCaps = false;
  bool hasLocalRotary = false;
  /// Layers of type `conv` are gated convolutions, and fields and tensors have
  /// other names.
  bool isLfm2 = false;
  /// The feed-forward part of every layer is a mixture of experts.
  bool hasExperts = false;

  const TensorNames &names() const;
};

/// Null for an unknown `model_type`.
const DecoderType *findDecoderType(StringRef name);

/// `layer_types` of so many layers, of which every |pattern|th sees all keys
/// and the others a window.
std::vector<std::string> layerTypesOfPattern(size_t numLayers, int64_t pattern);

/// "llama, qwen2, …"
std::string supportedDecoderTypes();

} // namespace llmc::huggingface

#endif // LLMC_COMPILER_IMPORT_HUGGINGFACE_DECODERTYPES_H
