// SPDX-License-Identifier: Apache-2.0
//
// Lines of workgroup memory are rows of activations and of weights. Invocations
// that store at once have neighbouring vectors of one line, or of two: then
// they meet different banks. Blocks of 16 lines of a pair of linears alternate,
// so that one subgroup has both of a place.

#include "codegen/Lowering/MatrixStage.h"

#include <algorithm>

namespace llmc::codegen {

int64_t MatrixShape::chunksPerRun() const {
  int64_t group = scaleGroupColumns(format), each = chunksPerStep();
  // Rather some of each linear than many of one: then none is chosen.
  if (each % linears == 0)
    each /= linears;
  return std::min(
      {group == 0 ? 1 : group / kChunkColumns, each, chunksPerLine()});
}

FailureOr<MatrixShape> matrixShape(RegionContext &context,
                                   LinearRegion &parts) {
  graph::RegionOp region = context.getRegion();
  graph::LoweringConfigAttr config = context.getConfig();
  ArrayRef<int64_t> tile = config.getTile();
  if (tile.size() != 6)
    return region.emitOpError(
        "of kind gemm_matrix needs tile = [rows, columns, k per step, rows and "
        "columns of a subgroup, buffers]");
  if (parts.layout().columns % tile[2] != 0)
    return region.emitOpError("of kind gemm_matrix has ")
           << parts.layout().columns << " columns, no multiple of " << tile[2];
  MatrixShape shape{parts.layout().format,
                    tile[0],
                    tile[1],
                    tile[2],
                    tile[3],
                    tile[4],
                    tile[5],
                    config.getSplits(),
                    config.getWorkgroup()[0],
                    static_cast<int64_t>(parts.linears.size()),
                    parts.layout().columns / tile[2]};
  if (shape.stepsPerSplit() * (shape.splits - 1) >= shape.numSteps)
    return region.emitOpError("of kind gemm_matrix has ")
           << shape.splits << " splits of " << shape.numSteps
           << " steps, some empty";
  return shape;
}

MatrixStage::MatrixStage(KernelUnit &unit, LinearRegion &parts,
                         const MatrixShape &shape)
    : unit(unit), b(unit.builder()), parts(parts), shape(shape) {
  inputs = b.workgroupMemory(std::max(shape.buffers * shape.inputVectors(),
                                      shape.subgroups() * shape.sumVectors()),
                             b.i32x4());
  weights = b.workgroupMemory(shape.buffers * shape.weightVectors(), b.i32x4());
  local = b.localId();
}

LogicalResult MatrixStage::place(Value firstRow, Value numRows,
                                 Value firstTile) {
  if (failed(placeInputs(firstRow, numRows)))
    return failure();
  placeRuns(firstTile);
  return success();
}

//===----------------------------------------------------------------------===//
// Loads
//===----------------------------------------------------------------------===//

SmallVector<Value> MatrixStage::Loaded::values() const {
  SmallVector<Value> all(inputs);
  for (const SmallVector<Value> &run : runs)
    all.append(run);
  return all;
}

void MatrixStage::Loaded::fill(ValueRange values) {
  auto take = [&](SmallVector<Value> &part) {
    llvm::copy(values.take_front(part.size()), part.begin());
    values = values.drop_front(part.size());
  };
  take(inputs);
  for (SmallVector<Value> &run : runs)
    take(run);
}

/// Neighbouring invocations take neighbouring vectors of a row.
LogicalResult MatrixStage::placeInputs(Value firstRow, Value numRows) {
  FailureOr<LinearInput> linearInput = LinearInput::bind(unit, parts);
  if (failed(linearInput))
    return failure();
  source = linearInput->buffer();
  const View &view = parts.input;
  if (view.isHalf && view.rowStride % kChunkColumns == 0 &&
      view.offset % kChunkColumns == 0)
    halves = unit.bind(view.slice, b.i32x4(), program::Access::Read);
  Value vector = b.rem(local, shape.chunksPerLine()),
        lastRow = b.sub(numRows, b.index(1));
  for (int64_t i = 0; i < shape.inputsPerStep(); ++i) {
    Value row = b.add(b.div(local, shape.chunksPerLine()),
                      i * shape.invocations / shape.chunksPerLine());
    Value base = linearInput->rowBase(b.min(b.add(firstRow, row), lastRow),
                                      /*clampTo=*/0);
    inputStarts.push_back(halves
                              ? b.add(b.div(base, kChunkColumns / 4), vector)
                              : b.add(base, b.mul(vector, kChunkColumns / 4)));
    inputPlaces.push_back(b.add(b.mul(row, shape.lineVectors()), vector));
    inputRows.push_back(row);
  }
  return success();
}

/// Neighbouring invocations take the runs of a quad, then the quads of a tile,
/// then the tiles of a linear.
void MatrixStage::placeRuns(Value firstTile) {
  int64_t perRun = shape.chunksPerRun(),
          perQuad = shape.chunksPerLine() / perRun,
          perBlock = kQuadsPerTile * perQuad, tiles = shape.columns / kTileRows,
          perLinear = tiles * perBlock;
  Value lastTile = b.index(parts.layout().numQuads() / kQuadsPerTile - 1);
  int64_t runs = shape.linears * perLinear;
  for (int64_t i = 0; i < shape.chunksPerStep() / perRun; ++i) {
    RunPlace &at = runPlaces.emplace_back();
    Value number = b.add(local, i * shape.invocations);
    if (runs < shape.invocations) {
      at.isPresent = b.less(local, b.index(runs));
      number = b.rem(local, runs);
    }
    Value block = b.div(number, perBlock), tile = b.rem(block, tiles),
          quad = b.rem(b.div(number, perQuad), kQuadsPerTile),
          chunk = b.mul(b.rem(number, perQuad), perRun),
          linear = b.div(block, tiles);
    at.linear = i * shape.invocations / perLinear;
    if (shape.linears > 1 && perLinear % shape.invocations != 0)
      at.isFirst = b.equal(linear, b.index(0));
    else
      linear = b.index(at.linear);
    Value firstQuad = b.add(
        b.mul(b.min(b.add(firstTile, tile), lastTile), kQuadsPerTile), quad);
    for (auto [other, weight] : llvm::enumerate(parts.weights))
      at.weights.emplace_back(
          unit, weight, ofLinear(at, static_cast<int64_t>(other), firstQuad));
    at.column = b.mul(chunk, kChunkColumns);
    Value line =
        b.add(b.mul(b.add(b.mul(tile, shape.linears), linear), kTileRows),
              b.mul(quad, 4));
    at.vector = b.add(b.mul(line, shape.lineVectors()), chunk);
  }
}

/// An index into a linear's planes; 0 for invocations that have the other one,
/// so that they all read the same.
Value MatrixStage::ofLinear(const RunPlace &at, int64_t linear, Value index) {
  if (!at.isFirst)
    return index;
  return linear == 0 ? b.select(at.isFirst, index, b.index(0))
                     : b.select(at.isFirst, b.index(0), index);
}

SmallVector<Value> MatrixStage::loadRun(const RunPlace &at, Value step) {
  Value column = b.add(b.mul(step, shape.kStep), at.column);
  auto loadOf = [&](int64_t linear) {
    MatrixWeights weights = at.weights[linear];
    return weights.load(ofLinear(at, linear, column), shape.chunksPerRun());
  };
  if (!at.isFirst)
    return loadOf(at.linear);
  SmallVector<Value> loaded = loadOf(0);
  loaded.append(loadOf(1));
  return loaded;
}

SmallVector<Value> MatrixStage::loadInputs(Value step) {
  SmallVector<Value> loaded;
  for (Value start : inputStarts) {
    if (halves) {
      loaded.push_back(
          b.load(halves, b.add(start, b.mul(step, shape.chunksPerLine()))));
      continue;
    }
    for (int64_t i = 0; i < kChunkColumns / 4; ++i)
      loaded.push_back(
          source->load(b.add(b.add(start, b.mul(step, shape.kStep / 4)), i)));
  }
  return loaded;
}

MatrixStage::Loaded MatrixStage::load(Value step) {
  Loaded loaded;
  loaded.inputs = loadInputs(step);
  for (const RunPlace &at : runPlaces)
    loaded.runs.push_back(loadRun(at, step));
  return loaded;
}

//===----------------------------------------------------------------------===//
// Stores
//===----------------------------------------------------------------------===//

Value inBuffer(KernelBuilder &b, Value vector, Value buffer, int64_t vectors) {
  return buffer ? b.add(vector, b.mul(buffer, vectors)) : vector;
}

/// The invocation's vector `number` of activations, as it is stored.
Value MatrixStage::packed(ArrayRef<Value> loaded, size_t number,
                          ArrayRef<Value> scales) {
  bool takesPairs = MatrixWeights::takesPairs(shape.format);
  if (halves)
    return takesPairs ? pairColumns(b, loaded[number]) : loaded[number];
  SmallVector<Value> fours(loaded.slice(2 * number, 2));
  for (Value &four : fours)
    four = scales.empty() ? four : b.mul(four, b.splat(scales[number]));
  return packColumns(b, fours, takesPairs);
}

void MatrixStage::store(const Loaded &loaded, ArrayRef<Value> scales,
                        Value buffer, Value step) {
  for (auto [i, place] : llvm::enumerate(inputPlaces))
    b.store(packed(loaded.inputs, i, scales), inputs,
            inBuffer(b, place, buffer, shape.inputVectors()));
  for (size_t i = 0; i < runPlaces.size(); ++i) {
    auto storeThis = [&] {
      storeRun(runPlaces[i], loaded.runs[i], step, buffer);
    };
    if (runPlaces[i].isPresent)
      b.ifThen(runPlaces[i].isPresent, storeThis);
    else
      storeThis();
  }
}

void MatrixStage::storeRun(const RunPlace &at, ArrayRef<Value> loaded,
                           Value step, Value buffer) {
  SmallVector<Value> mine(loaded);
  if (at.isFirst) {
    size_t each = loaded.size() / 2;
    mine.truncate(each);
    for (size_t i = 0; i < each; ++i)
      mine[i] = b.select(at.isFirst, loaded[i], loaded[each + i]);
  }
  MatrixWeights decoder = at.weights.front(); // decodes as all of its format
  Value column = b.add(b.mul(step, shape.kStep), at.column);
  int64_t count = shape.chunksPerRun();
  MatrixWeights::Scales scales = decoder.scalesOf(mine, column, count);
  Value vector = inBuffer(b, at.vector, buffer, shape.weightVectors());
  for (int64_t chunk = 0; chunk < count; ++chunk)
    for (int64_t row = 0; row < 4; ++row)
      b.store(decoder.decode(mine, scales, column, count, chunk, row), weights,
              b.add(vector, row * shape.lineVectors() + chunk));
}

} // namespace llmc::codegen
