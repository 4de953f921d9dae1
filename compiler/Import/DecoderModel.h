// SPDX-License-Identifier: Apache-2.0
//
// A decoder-only transformer, or a text encoder of the same layers, as its file
// describes it: hyper-parameters and where each weight lies. Importers of every
// format fill it in and check it; DecoderBuilder turns it into graph primitives
// and can't fail.

#ifndef LLMC_COMPILER_IMPORT_DECODERMODEL_H
#define LLMC_COMPILER_IMPORT_DECODERMODEL_H

#include "compiler/Import/Import.h"
#include "compiler/Import/ModelParts.h"

namespace llmc::importer {

/// x = x + [norm](output(attention(q, k, v of norm(x)))), or a convolution
/// instead of attention
/// x = x + [norm](down(activation(gate(norm(x))) * up(norm(x)))), or experts
/// instead
struct DecoderLayer {
  Weight attentionNorm;
  /// Instead of attention, whose linears are unused then.
  std::optional<ShortConv> conv;
  Linear query, key, value, output;
  /// Over the head dimension, before the rotation.
  std::optional<Weight> queryNorm, keyNorm;
  Weight feedForwardNorm;
  Linear gate, up, down;
  /// Instead of gate, up and down.
  std::optional<Experts> experts;
  /// Of what is added to x.
  std::optional<Weight> postAttentionNorm, postFeedForwardNorm;
  /// A row sees the last `window` keys; 0: all.
  int64_t window = 0;
};

struct DecoderModel : ModelSource {
  int64_t hiddenSize, feedForwardSize, vocabularySize;
  int64_t numHeads, numKvHeads, headDim;
  /// Tokens that the KV caches have room for.
  int64_t contextLength;
  float normEpsilon;
  /// Of layers that see all keys, and of layers with a window.
  Rotary rotary, windowRotary;
  Activation activation = Activation::Silu;
  /// Scores are divided by the root of it; the head dimension but for gemma
  /// 27B.
  int64_t scoreDivisor;
  /// Embeddings are multiplied by it.
  float embeddingScale = 1.0f;
  /// c turns a score or logit x into c tanh(x / c); 0: none.
  float attentionSoftCap = 0.0f, logitSoftCap = 0.0f;
  Weight embedding; // [vocabulary, hidden]
  std::vector<DecoderLayer> layers;
  Weight outputNorm;
  /// Absent when the embedding serves as output matrix too, and of encoders.
  std::optional<Weight> output;
  /// Of an encoder: rows see all of their text, convolutions as many rows
  /// behind a row as before it, and the last norm's result is pooled. Such a
  /// model has neither windows nor soft caps.
  std::optional<PoolingOption> pooling;
};

} // namespace llmc::importer

#endif // LLMC_COMPILER_IMPORT_DECODERMODEL_H
