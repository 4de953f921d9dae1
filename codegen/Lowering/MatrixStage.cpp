// SPDX-License-Identifier: Apache-2.0
//
// Lines of workgroup memory are rows of activations and of weights. Invocations
// that store at once have neighbouring vectors of one line, or of two: then
// they meet different banks. Blocks of 16 lines of a pair of linears alternate,
// so that one subgroup has both of a place.

#include "codegen/Lowering/MatrixStage.h"

#include "mlir/Dialect/SCF/IR/SCF.h"

#include <algorithm>

namespace llmc::codegen {

int64_t MatrixShape::chunksPerRun() const {
  int64_t group = scaleGroupColumns(format);
  return std::min({group == 0 ? 1 : group / kChunkColumns, chunksPerStep(),
                   chunksPerLine()});
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

LogicalResult MatrixStage::place(Value firstRow, Value firstTile) {
  if (failed(placeInputs(firstRow)))
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
LogicalResult MatrixStage::placeInputs(Value firstRow) {
  FailureOr<LinearInput> linearInput = LinearInput::bind(unit, parts);
  if (failed(linearInput))
    return failure();
  source = linearInput->buffer();
  Value vector = b.rem(local, shape.chunksPerLine());
  int64_t numRows = unit.getContext().rowsOf(parts.resultType());
  for (int64_t i = 0; i < shape.inputsPerStep(); ++i) {
    Value row = b.add(b.div(local, shape.chunksPerLine()),
                      i * shape.invocations / shape.chunksPerLine());
    inputStarts.push_back(
        b.add(linearInput->rowBase(b.add(firstRow, row), numRows),
              b.mul(vector, kChunkColumns / 4)));
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
  for (int64_t i = 0; i < shape.chunksPerStep() / perRun; ++i) {
    RunPlace &at = runPlaces.emplace_back();
    Value number = b.add(local, i * shape.invocations),
          block = b.div(number, perBlock), tile = b.rem(block, tiles),
          quad = b.rem(b.div(number, perQuad), kQuadsPerTile),
          chunk = b.mul(b.rem(number, perQuad), perRun);
    at.linear = i * shape.invocations / perLinear;
    if (shape.linears > 1 && perLinear % shape.invocations != 0)
      at.number = b.div(block, tiles);
    Value firstQuad = b.add(
        b.mul(b.min(b.add(firstTile, tile), lastTile), kQuadsPerTile), quad);
    for (const WeightView &weight : parts.weights)
      at.weights.emplace_back(unit, weight, firstQuad);
    at.column = b.mul(chunk, kChunkColumns);
    Value linear = at.number ? at.number : b.index(at.linear),
          line =
              b.add(b.mul(b.add(b.mul(tile, shape.linears), linear), kTileRows),
                    b.mul(quad, 4));
    at.vector = b.add(b.mul(line, shape.lineVectors()), chunk);
  }
}

/// Only invocations know which linear they have, all of a subgroup the same.
SmallVector<Value> MatrixStage::loadRun(const RunPlace &at, Value step) {
  Value column = b.add(b.mul(step, shape.kStep), at.column);
  auto loadOf = [&](int64_t linear) {
    MatrixWeights ofLinear = at.weights[linear];
    return ofLinear.load(column, shape.chunksPerRun());
  };
  if (!at.number)
    return loadOf(at.linear);
  // Built without results first: the types follow from what is loaded.
  auto branch = mlir::scf::IfOp::create(b, b.equal(at.number, b.index(0)),
                                        /*withElseRegion=*/true);
  mlir::TypeRange types;
  for (int64_t linear : {0, 1}) {
    OpBuilder::InsertionGuard guard(b);
    Block &block = branch->getRegion(linear).front();
    b.setInsertionPoint(block.getTerminator());
    block.getTerminator()->setOperands(loadOf(linear));
    types = block.getTerminator()->getOperandTypes();
  }
  auto whole = mlir::scf::IfOp::create(b, types, branch.getCondition());
  for (int64_t linear : {0, 1})
    whole->getRegion(linear).takeBody(branch->getRegion(linear));
  branch.erase();
  return SmallVector<Value>(whole.getResults());
}

SmallVector<Value> MatrixStage::loadInputs(Value step) {
  SmallVector<Value> loaded;
  for (Value start : inputStarts)
    for (int64_t i = 0; i < kChunkColumns / 4; ++i)
      loaded.push_back(
          source->load(b.add(b.add(start, b.mul(step, shape.kStep / 4)), i)));
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

Value MatrixStage::store(const Loaded &loaded, ArrayRef<Value> scales,
                         Value buffer, Value step, Value largest) {
  for (auto [i, place] : llvm::enumerate(inputPlaces)) {
    SmallVector<Value> numbers(ArrayRef(loaded.inputs).slice(2 * i, 2));
    for (Value &four : numbers)
      four = scales.empty() ? four : b.mul(four, b.splat(scales[i]));
    Value packed =
        packColumns(b, numbers, MatrixWeights::takesPairs(shape.format));
    for (int64_t word = 0; word < 4; ++word)
      largest =
          b.max(largest, b.abs(b.bitcastToHalf2(b.extract(packed, word))));
    b.store(packed, inputs, inBuffer(b, place, buffer, shape.inputVectors()));
  }
  for (auto [run, at] : llvm::zip_equal(loaded.runs, runPlaces))
    storeRun(at, run, step, buffer);
  return largest;
}

void MatrixStage::storeRun(const RunPlace &at, ArrayRef<Value> loaded,
                           Value step, Value buffer) {
  MatrixWeights decoder = at.weights.front(); // decodes as all of its format
  Value column = b.add(b.mul(step, shape.kStep), at.column);
  int64_t count = shape.chunksPerRun();
  MatrixWeights::Scales scales = decoder.scalesOf(loaded, column, count);
  Value vector = inBuffer(b, at.vector, buffer, shape.weightVectors());
  for (int64_t chunk = 0; chunk < count; ++chunk)
    for (int64_t row = 0; row < 4; ++row)
      b.store(decoder.decode(loaded, scales, column, count, chunk, row),
              weights, b.add(vector, row * shape.lineVectors() + chunk));
}

} // namespace llmc::codegen
