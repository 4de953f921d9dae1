// SPDX-License-Identifier: Apache-2.0
//
// What the GEMM kernels share: which rows and quads of the result an invocation
// owns, what guards them, and storing them.

#ifndef LLMC_CODEGEN_LOWERING_GEMMFRAME_H
#define LLMC_CODEGEN_LOWERING_GEMMFRAME_H

#include "codegen/Lowering/Elementwise.h"
#include "codegen/Lowering/LinearRegion.h"
#include "codegen/Lowering/QuantizedStore.h"

#include <functional>

namespace llmc::codegen {

/// Indices into a buffer that holds something for each row (or tile of rows) of
/// the input at a fixed distance, and that an invocation walks for `count` of
/// them at once. A cursor is one index for all.
class RowCursors {
public:
  /// `first` is the number of the first; those beyond `clampTo` are read as the
  /// last, unless it is 0. `baseOf` gives the index where a row begins.
  RowCursors(KernelBuilder &b, Value first, int64_t count, int64_t stride,
             int64_t clampTo, std::function<Value(Value row)> baseOf);

  /// The cursor at the rows' begin, computed where it is asked for: inside a
  /// loop a few instructions, instead of a register all along it.
  Value start() const;
  /// The index of row `row` for a cursor.
  Value at(Value cursor, int64_t row) const;

private:
  KernelBuilder *b;
  Value first;
  int64_t stride;
  std::function<Value(Value row)> baseOf;
  /// Of rows that may be clamped; empty where one cursor serves all.
  SmallVector<Value> bases;
};

/// An invocation owns `tileRows` rows x `tileQuads` adjacent quads; neighbours
/// in x the next quads, in y the next rows. Nothing waits for another
/// invocation, except where results are quantized.
class GemmFrame {
public:
  GemmFrame(RegionContext &context, LinearRegion &parts);

  KernelUnit unit;
  KernelBuilder &b;
  const int64_t lanesX, lanesY, tileRows, tileQuads, kStep, numRows;

  /// The config's way of decoding.
  StringRef decode() const { return context.getConfig().getDecode(); }
  /// Whether no workgroup has rows beyond the entry's.
  bool rowsAreWhole() const { return numRows % (tileRows * lanesY) == 0; }
  /// The first row, an index.
  Value row() const { return firstRow; }
  /// The first quad that is read. Invocations beyond the last quad read the
  /// last ones and store nothing.
  Value quadToRead() const { return clampedQuad; }
  /// A loop's bound, which is `start` where the rows are beyond the step's:
  /// such invocations take no rounds. There is no barrier that they could miss.
  Value bound(Value start, int64_t distance);

  /// Takes the results of the next linear, vectors of four columns ordered
  /// [quad][row of the tile]. All but the last linear's wait in workgroup
  /// memory, each for its own invocation, so that they take no registers; as
  /// the invocation's place does, so what was derived from row() and
  /// quadToRead() is to be derived anew for the next linear.
  void addResults(ArrayRef<Value> results);
  /// Scalars, one for each row of the tile, that multiply all linears' results
  /// when they are stored.
  void setRowScales(ArrayRef<Value> scales) {
    rowScales.assign(scales.begin(), scales.end());
  }
  /// Computes and stores the region's results, then ends the kernel.
  LogicalResult storeAndFinish();

private:
  int64_t resultsPerLinear() const { return tileQuads * tileRows; }
  void setPlace(Value row, Value quad);
  /// The invocation's number in its workgroup.
  Value localNumber();
  /// Into workgroup memory, and back.
  void keepPlace();
  void takePlace();
  /// Where result `number` of this invocation waits.
  Value waitingPlace(int64_t number);
  /// Whether the invocation stores that row and quad of its tile; null for
  /// always.
  Value guardOf(int64_t quad, int64_t row);
  void mapLinears(ElementwiseEmitter &emitter, int64_t quad, int64_t row);
  LogicalResult storeFloats();
  LogicalResult storeCodes(const QuantizedResult &result);
  FailureOr<SharedQuad> sharedQuad(const QuantizedResult &result, int64_t first,
                                   int64_t count, int64_t quad);

  RegionContext &context;
  LinearRegion &parts;
  Value firstRow, firstQuad, clampedQuad, hasRows;
  /// Workgroup memory of each linear but the last.
  SmallVector<Value> waiting;
  /// Of the place; null for one linear.
  Value waitingPlaces;
  SmallVector<Value> lastResults, rowScales;
};

/// The kernel for quantized activations (LowerGemmInt8.cpp).
LogicalResult lowerGemmInt8(RegionContext &context, LinearRegion &parts);

} // namespace llmc::codegen

#endif // LLMC_CODEGEN_LOWERING_GEMMFRAME_H
