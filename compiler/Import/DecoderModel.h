// SPDX-License-Identifier: Apache-2.0
//
// A decoder-only transformer as its file describes it: hyper-parameters and
// where each weight lies. Importers of every format fill it in and check it;
// DecoderBuilder turns it into graph primitives and can't fail.

#ifndef LLMC_COMPILER_IMPORT_DECODERMODEL_H
#define LLMC_COMPILER_IMPORT_DECODERMODEL_H

#include "dialects/Graph/Packing.h"

#include "llvm/ADT/SmallVector.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace llmc::importer {

/// Where bytes begin: number of the model's file, and offset.
struct Place {
  int64_t file;
  int64_t offsetInBytes;
};

/// How a weight's numbers lie when they are not rows in its encoding; see
/// dialects/Graph/Packing.h.
struct Packed {
  graph::PackingForm form;
  /// Of the scales.
  graph::Encoding encoding;
  /// Columns that share a scale.
  int64_t group;
  Place scales;
  std::optional<Place> zeros;
};

/// A weight's symbol, shape (outermost dimension first) and place.
struct Weight {
  std::string name;
  llvm::SmallVector<int64_t, 2> shape;
  graph::Encoding encoding;
  /// From the start of the file.
  int64_t offsetInBytes;
  /// Number of the model's file, or of a table behind them.
  int64_t file = 0;
  /// Of every number of a vector.
  float addend = 0.0f;
  std::optional<Packed> packed;
};

/// y = x weight^T (+ bias)
struct Linear {
  Weight weight; // [outputs, inputs]
  std::optional<Weight> bias;
};

/// x = x + [norm](output(attention(q, k, v of norm(x))))
/// x = x + [norm](down(activation(gate(norm(x))) * up(norm(x))))
struct DecoderLayer {
  Weight attentionNorm;
  Linear query, key, value, output;
  /// Over the head dimension, before the rotation.
  std::optional<Weight> queryNorm, keyNorm;
  Weight feedForwardNorm;
  Linear gate, up, down;
  /// Of what is added to x.
  std::optional<Weight> postAttentionNorm, postFeedForwardNorm;
  /// A row sees the last `window` keys; 0: all.
  int64_t window = 0;
};

struct Rotary {
  graph::RotaryPairs pairs;
  float base;
  /// Elements of a head that are rotated, from the first on.
  int64_t dim;
  /// Positions are multiplied by it (linear scaling).
  float positionScale;
  /// [dim / 2] divisors of the frequencies.
  std::optional<Weight> factors;
};

/// Of the gate in the feed-forward part.
enum class Activation { Silu, GeluTanh };

struct DecoderModel {
  std::vector<std::string> files;
  /// Numbers that an importer computed; weights find them as F32 in file
  /// number files.size(), files.size() + 1, …
  std::vector<std::vector<float>> tables;
  std::string architecture;
  std::string name;
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
  /// Absent when the embedding serves as output matrix too.
  std::optional<Weight> output;
};

} // namespace llmc::importer

#endif // LLMC_COMPILER_IMPORT_DECODERMODEL_H
