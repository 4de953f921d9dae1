// SPDX-License-Identifier: Apache-2.0
//
// Linears for many rows, in f32: an invocation computes a tile of rows x quads
// in registers. Weights are decoded once for the tile's rows. There is no
// workgroup memory between invocations: caches serve those that read the same.

#include "codegen/Lowering/GemmFrame.h"
#include "codegen/Lowering/GemmWeights.h"

#include <algorithm>

namespace llmc::codegen {

namespace {

class GemmKernel {
public:
  GemmKernel(RegionContext &context, LinearRegion &parts)
      : parts(parts), frame(context, parts), b(frame.b),
        format(parts.layout().format), unitColumns(columnsPerUnit(format)),
        groupColumns(scaleGroupColumns(format)) {}

  LogicalResult emit();

private:
  /// Scalars, ordered [quad][row of the quad][row of the tile].
  using Sums = SmallVector<Value>;
  /// Of one group of columns.
  struct GroupData {
    GemmGroup scales;
    SmallVector<Value> high;
  };
  /// Where a step reads: `place` in the codes, `cursor` in the input. `unit` is
  /// the first unit's number in its group, where that is known.
  struct Place {
    Value place, cursor;
    std::optional<int64_t> unit;
  };

  size_t indexOf(int64_t quad, int64_t lane, int64_t row) const {
    return (quad * 4 + lane) * frame.tileRows + row;
  }
  int64_t placesPer(int64_t columns) const {
    return columns / unitColumns * kQuadsPerTile;
  }
  Sums addStep(Place at, const GroupData &data, ValueRange carried);
  void addHalf(ArrayRef<SmallVector<Value>> units, const GroupData &data,
               ArrayRef<Value> high, int64_t half, ArrayRef<Value> inputs,
               Sums &sums);
  Sums addSteps(Value place, Value end, Value cursor, const GroupData &data,
                ValueRange carried);
  Sums addGroup(Value place, Value cursor, ValueRange carried);
  Sums addAll();

  LinearRegion &parts;
  GemmFrame frame;
  KernelBuilder &b;
  WeightFormat format;
  int64_t unitColumns, groupColumns;
  /// Of the linear at hand.
  std::optional<GemmWeights> weights;
  std::optional<ActivationRows> input;
  std::optional<RowCursors> cursors;
};

/// Four columns: each weight is decoded when it is used, for all rows.
void GemmKernel::addHalf(ArrayRef<SmallVector<Value>> units,
                         const GroupData &data, ArrayRef<Value> high,
                         int64_t half, ArrayRef<Value> inputs, Sums &sums) {
  for (int64_t quad = 0; quad < frame.tileQuads; ++quad)
    for (int64_t lane = 0; lane < 4; ++lane) {
      std::array<Value, 4> columns =
          weights->decode(units, data.scales, high, quad, lane, half);
      for (int64_t column = 0; column < 4; ++column)
        for (int64_t row = 0; row < frame.tileRows; ++row) {
          Value &sum = sums[indexOf(quad, lane, row)];
          sum = b.fma(columns[column], b.extract(inputs[row], column), sum);
        }
    }
}

/// kStep columns.
GemmKernel::Sums GemmKernel::addStep(Place at, const GroupData &data,
                                     ValueRange carried) {
  Sums sums(carried);
  int64_t blockColumns = std::max<int64_t>(4, unitColumns);
  for (int64_t block = 0; block < frame.kStep; block += blockColumns) {
    SmallVector<SmallVector<Value>> units;
    for (int64_t column = 0; column < blockColumns; column += unitColumns)
      units.push_back(
          weights->loadUnits(b.add(at.place, placesPer(block + column))));
    std::optional<int64_t> unit;
    if (at.unit)
      unit = *at.unit + block / unitColumns;
    SmallVector<Value> high =
        weights->highOfUnit(data.high, b.add(at.place, placesPer(block)), unit);
    for (int64_t half = 0; half < blockColumns / 4; ++half) {
      SmallVector<Value> inputs;
      for (int64_t row = 0; row < frame.tileRows; ++row)
        inputs.push_back(
            input->load(cursors->at(b.add(at.cursor, block / 4 + half), row)));
      addHalf(units, data, high, half, inputs, sums);
    }
  }
  return sums;
}

/// Steps from `place` to `end`.
GemmKernel::Sums GemmKernel::addSteps(Value place, Value end, Value cursor,
                                      const GroupData &data,
                                      ValueRange carried) {
  SmallVector<Value> initial{cursor};
  initial.append(carried.begin(), carried.end());
  SmallVector<Value> done =
      b.forLoop(place, end, b.index(placesPer(frame.kStep)), initial,
                [&](Value now, ValueRange values) {
                  SmallVector<Value> next{b.add(values[0], frame.kStep / 4)};
                  next.append(addStep({now, values[0], std::nullopt}, data,
                                      values.drop_front()));
                  return next;
                });
  return Sums(llvm::drop_begin(done));
}

/// The group at `place`.
GemmKernel::Sums GemmKernel::addGroup(Value place, Value cursor,
                                      ValueRange carried) {
  GroupData data{weights->loadScales(place), weights->loadHigh(place)};
  place = weights->unitsOf(place);
  if (frame.kStep == groupColumns)
    return addStep({place, cursor, 0}, data, carried);
  Value end = b.add(place, b.opaqueIndex(placesPer(groupColumns)));
  return addSteps(place, end, cursor, data, carried);
}

GemmKernel::Sums GemmKernel::addAll() {
  Sums zeros(frame.tileQuads * 4 * frame.tileRows, b.f32(0.0));
  int64_t columns = parts.layout().paddedColumns;
  if (groupColumns == 0) {
    Value place = weights->firstUnit();
    return addSteps(place, frame.bound(place, placesPer(columns)),
                    cursors->start(), GroupData(), zeros);
  }
  Value first = weights->firstGroup();
  SmallVector<Value> initial{cursors->start()};
  initial.append(zeros);
  SmallVector<Value> done = b.forLoop(
      first, frame.bound(first, columns / groupColumns * kQuadsPerTile),
      b.index(kQuadsPerTile), initial, [&](Value place, ValueRange carried) {
        SmallVector<Value> next{b.add(carried[0], groupColumns / 4)};
        next.append(addGroup(place, carried[0], carried.drop_front()));
        return next;
      });
  return Sums(llvm::drop_begin(done));
}

LogicalResult GemmKernel::emit() {
  FailureOr<LinearInput> linearInput = LinearInput::bind(frame.unit, parts);
  if (failed(linearInput))
    return failure();
  input = linearInput->buffer();
  CodeForm form =
      frame.decode() == "bytes" ? CodeForm::Packed : CodeForm::Shifted;
  for (const WeightView &weight : parts.weights) {
    cursors.emplace(
        b, frame.row(), frame.tileRows, parts.input.rowStride / 4,
        frame.rowsAreWhole() ? 0 : frame.numRows,
        [in = *linearInput](Value row) mutable { return in.rowBase(row, 0); });
    weights.emplace(frame.unit, weight, frame.quadToRead(), frame.tileQuads,
                    form);
    Sums sums = addAll();
    SmallVector<Value> results;
    for (int64_t quad = 0; quad < frame.tileQuads; ++quad)
      for (int64_t row = 0; row < frame.tileRows; ++row) {
        SmallVector<Value> lanes;
        for (int64_t lane = 0; lane < 4; ++lane)
          lanes.push_back(sums[indexOf(quad, lane, row)]);
        results.push_back(b.vector(lanes));
      }
    frame.addResults(weights->withoutCodeFactor(results));
  }
  return frame.storeAndFinish();
}

} // namespace

LogicalResult lowerGemm(RegionContext &context) {
  FailureOr<LinearRegion> parts = analyzeLinear(context);
  if (failed(parts))
    return failure();
  if (parts->norm)
    return context.getRegion().emitOpError(
        "of kind gemm has a norm of its input, which only gemv computes");
  return context.getConfig().getArithmetic() == "i8"
             ? lowerGemmInt8(context, *parts)
             : GemmKernel(context, *parts).emit();
}

} // namespace llmc::codegen
