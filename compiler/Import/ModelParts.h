// SPDX-License-Identifier: Apache-2.0
//
// Parts of models as their files describe them: where a model and its weights
// lie, and what decoders and encoders have in common.

#ifndef LLMC_COMPILER_IMPORT_MODELPARTS_H
#define LLMC_COMPILER_IMPORT_MODELPARTS_H

#include "dialects/Graph/Packing.h"

#include "llvm/ADT/SmallVector.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace llmc::importer {

/// Where a model comes from, and what it is called.
struct ModelSource {
  std::vector<std::string> files;
  /// Numbers that an importer computed; weights find them as F32 in file
  /// number files.size(), files.size() + 1, …
  std::vector<std::vector<float>> tables;
  std::string architecture;
  std::string name;
};

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
  std::optional<Packed> packed = {};
};

/// y = x weight^T (+ bias)
struct Linear {
  Weight weight; // [outputs, inputs]
  std::optional<Weight> bias;
};

/// out(C * conv(B * x)), where B, C and x are thirds of in(input), in this
/// order; conv is a causal convolution of each channel.
struct ShortConv {
  Linear in, out;
  /// Vector [hidden size * taps]; a channel's taps lie together, the current
  /// row's last.
  Weight taps;
};

/// More would not be in the registers of the kernel that chooses.
inline constexpr int64_t kMaxExperts = 1024;

/// The experts' matrices [outputs, inputs] of one linear, behind one another as
/// one weight of that name; `parts` are its rows, piece by piece, of one
/// encoding.
struct ExpertWeight {
  std::string name;
  /// Rows of one expert.
  int64_t outputs;
  std::vector<Weight> parts;
};

/// Sum over the `numUsed` experts e of highest score of weight_e *
/// down_e(activation(gate_e(x)) * up_e(x)); scores are router(x), weights their
/// softmax, divided by the sum of the chosen ones if `isNormalized`.
struct Experts {
  Linear router;
  ExpertWeight gate, up, down;
  int64_t numUsed;
  bool isNormalized;
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

/// Of the feed-forward part.
enum class Activation { Silu, Gelu, GeluTanh, Relu };

} // namespace llmc::importer

#endif // LLMC_COMPILER_IMPORT_MODELPARTS_H
