// SPDX-License-Identifier: Apache-2.0
//
// A text encoder (BERT and its kin) as its file describes it. Importers of
// every format fill it in and check it; EncoderBuilder turns it into graph
// primitives and can't fail.

#ifndef LLMC_COMPILER_IMPORT_ENCODERMODEL_H
#define LLMC_COMPILER_IMPORT_ENCODERMODEL_H

#include "compiler/Import/ModelParts.h"

namespace llmc::importer {

struct LayerNorm {
  Weight gain;
  std::optional<Weight> bias;
};

/// x = attentionNorm(x + output(attention(q, k, v of x)))
/// x = outputNorm(x + down(activation(up(x))))
struct EncoderLayer {
  Linear query, key, value, output;
  LayerNorm attentionNorm;
  Linear up, down;
  LayerNorm outputNorm;
};

/// x = embeddingNorm(embedding[token] + tokenType + positions[place in text])
struct EncoderModel : ModelSource {
  int64_t hiddenSize, feedForwardSize, vocabularySize;
  int64_t numHeads, headDim;
  /// Tokens of the longest text.
  int64_t contextLength;
  float normEpsilon;
  Activation activation = Activation::Gelu;
  Weight embedding; // [vocabulary, hidden]
  Weight positions; // [at least contextLength, hidden]
  /// Vector: the row of token type 0.
  std::optional<Weight> tokenType;
  LayerNorm embeddingNorm;
  std::vector<EncoderLayer> layers;
  /// Vector of biases of all layers' scores by distance, as of
  /// relativeBiasTable with span = contextLength - 1.
  std::optional<Weight> relativeBias;
  /// How a text's rows become its embedding; none: rows are all there is.
  std::optional<graph::Pooling> pooling;
  /// Whether embeddings get length 1.
  bool isNormalized = false;
};

/// Biases by distance from `buckets` [numBuckets, heads], as T5 and MPNet share
/// them: half of the buckets for keys behind the row; of each half, one for
/// each of the first distances and the rest for ranges that grow by a constant
/// factor, up to `maxDistance`. Gives [2 * span + 1, heads], distance key - row
/// from -span on.
std::vector<float> relativeBiasTable(const std::vector<float> &buckets,
                                     int64_t numBuckets, int64_t span,
                                     int64_t maxDistance);

} // namespace llmc::importer

#endif // LLMC_COMPILER_IMPORT_ENCODERMODEL_H
