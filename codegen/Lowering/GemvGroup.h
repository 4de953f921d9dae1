// SPDX-License-Identifier: Apache-2.0
//
// One group of columns of the GEMV kernel: codes times inputs, summed, scaled,
// and added to the sums of the invocation.

#ifndef LLMC_CODEGEN_LOWERING_GEMVGROUP_H
#define LLMC_CODEGEN_LOWERING_GEMVGROUP_H

#include "codegen/Lowering/GemvExchange.h"
#include "codegen/Lowering/GemvScaling.h"
#include "codegen/Lowering/GemvStage.h"
#include "codegen/Lowering/LinearRegion.h"

#include <optional>

namespace llmc::codegen {

/// Where the input of a tile is read.
struct GemvInput {
  LinearInput *input;
  /// Where each row begins.
  SmallVector<Value> rowBases;
  /// The only row, staged; null when the loop reads the buffer. Half precision
  /// takes staged input alone.
  GemvStage *stage = nullptr;
  /// Set when lanes hand each other what they load.
  GemvExchange *exchange = nullptr;
  /// Of the only row, all vectors of x that the lane needs, and of the norm's
  /// gain unless they are multiplied by it; empty where x is loaded when it is
  /// needed.
  SmallVector<Value> preloaded, preloadedGains;
  /// The number of the group's first one among them.
  int64_t firstPreloaded = 0;

  int64_t numRows() const { return static_cast<int64_t>(rowBases.size()); }
};

/// The linears of one loop, on one input. Sums are ordered [linear][row], a
/// vector<4xf32> over the quad's rows each.
///
/// Up to kMaxGroupSumRows rows of weights with scales are summed as codes and
/// scaled once; else each weight is scaled.
///
/// In half precision, inputs are staged times a power of two, so that no sum of
/// a group leaves the range of f16: up to kLargestHalfInput * halfFactor. Sums
/// are left multiplied by it. Codes are whole numbers up to 128 and exact. A
/// sum of a group (at most 16 products in each of two lanes) is rounded to 11
/// bits, and widened before it is scaled and added to the others.
class GemvGroup {
public:
  using Sums = SmallVector<Value>;

  GemvGroup(KernelBuilder &builder, const GemvInput &input,
            MutableArrayRef<WeightDecoder> decoders, bool isHalf)
      : b(builder), input(input), decoders(decoders), isHalf(isHalf) {}

  /// Some units of a group: `count` from number `first` (an index) on.
  struct Part {
    Value first;
    int64_t count;
  };

  /// `sums` with those of the group at `places` (one for each linear) added, or
  /// of a part of it; it is asked as late as possible. `first` is the number of
  /// the first vector of x in the row or, of staged input, of its first element
  /// in the stage.
  Sums add(ArrayRef<WeightDecoder::Place> places, Value first,
           llvm::function_ref<Sums()> sums,
           std::optional<Part> part = std::nullopt) const;

  /// The same of a group whose number is even and its neighbour, `elements`
  /// further in the stage. Takes one linear, with scales in pairs
  /// (pairsScales).
  Sums addPair(WeightDecoder::Place place, Value first, int64_t elements,
               llvm::function_ref<Sums()> sums) const;

  /// Largest absolute value of an input for which sums in half precision stay
  /// finite when it is multiplied by halfFactor, a power of two: largestCode *
  /// columns of a group * halfFactor is at most 8, and 8 * 8000 is in range.
  static constexpr double kLargestHalfInput = 8000;
  static double halfFactor(const WeightDecoder &decoder);

private:
  using Units = SmallVector<SmallVector<WeightDecoder::Unit>>;
  /// What is summed while the group lasts.
  struct State {
    ArrayRef<WeightDecoder::Place> places;
    SmallVector<WeightDecoder::Group> data;
    Value first;
    SmallVector<Value> rowQuads;
    /// [row]: the lane's part of the group's inputs, to be exchanged.
    SmallVector<SmallVector<Value>> ownInputs;
    Sums sums;
    /// [(linear * rows + row) * 4 + row of the quad]: vector<2xf16>, over even
    /// and odd columns.
    SmallVector<Value> halfSums;
    /// [half][row]: the sum of the inputs that meet that half's codes, in half
    /// precision vector<2xf16>; of staged input [0][0], of both halves. Empty
    /// when nothing needs it.
    SmallVector<SmallVector<Value>> inputSums;
    /// Of the group; nothing for all of it.
    std::optional<Part> part = std::nullopt;
  };

  bool sumsCodes() const {
    return decoders.front().hasScale() && input.numRows() <= kMaxGroupSumRows;
  }
  int64_t numHalves() const {
    return std::max<int64_t>(decoders.front().unitColumns() / 4, 1);
  }
  void addUnits(State &state) const;
  SmallVector<Value> loadInputs(State &state, int64_t quad) const;
  /// Four columns, number `quad` of the group, of which `units` hold the codes.
  void addColumns(State &state, const Units &units, int64_t quad,
                  int64_t half) const;
  void addRowCodes(State &state, unsigned number,
                   const WeightDecoder::Unit &codes, int64_t half,
                   ArrayRef<Value> inputs) const;
  /// Likewise the eight columns of unit `unit`, in half precision.
  void addHalfUnit(State &state, const Units &units, int64_t unit) const;
  Value widen(Value halves) const;
  void widenSums(State &state) const;
  void addCodes(State &state) const;
  void addToInputSum(State &state, Value part, int64_t half, int64_t row) const;
  void finish(State &state, Sums &sums) const;

  KernelBuilder &b;
  const GemvInput &input;
  MutableArrayRef<WeightDecoder> decoders;
  bool isHalf;
};

} // namespace llmc::codegen

#endif // LLMC_CODEGEN_LOWERING_GEMVGROUP_H
