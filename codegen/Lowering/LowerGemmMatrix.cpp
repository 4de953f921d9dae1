// SPDX-License-Identifier: Apache-2.0
//
// Linears for many rows in matrix units: a workgroup decodes its weights and
// rounds its activations to f16 in workgroup memory, kStep columns at a time;
// each subgroup multiplies its share of 16 x 16 matrices and sums in f32.
//
// Weights lie in workgroup memory in blocks of 16 columns of the result, which
// is a tile of the layout: four quads. Column 4 * quad + lane of a block is its
// line 4 * lane + quad, so that neighbouring invocations, which have
// neighbouring quads, write to lines in different banks. Blocks of a pair of
// linears alternate, so that one subgroup has both of a place.
//
// Rows of activations that f16 cannot hold are seen while they are multiplied;
// if there is one, the workgroup starts once more with each such row scaled by
// a power of two, which the results are divided by.
//
// What the next step needs of device memory is loaded before the current one is
// multiplied and waits in registers.

#include "codegen/Lowering/Elementwise.h"
#include "codegen/Lowering/GemmWeights.h"
#include "codegen/Lowering/LinearRegion.h"
#include "codegen/Lowering/QuantizedStore.h"
#include "codegen/Lowering/SubgroupMatrix.h"

#include "mlir/Dialect/SCF/IR/SCF.h"

#include <array>
#include <vector>

namespace llmc::codegen {

namespace {

/// Columns of the weight that an invocation decodes at once, of four rows: a
/// vector of each.
constexpr int64_t kChunkColumns = 4;
class GemmMatrixKernel {
public:
  GemmMatrixKernel(RegionContext &context, LinearRegion &parts)
      : context(context), parts(parts), config(context.getConfig()),
        unit(context, config.getWorkgroup()), b(unit.builder()),
        format(parts.layout().format), tileRows(config.getTile()[0]),
        tileColumns(config.getTile()[1]), kStep(config.getTile()[2]),
        subgroupRows(config.getTile()[3]), subgroupColumns(config.getTile()[4]),
        invocations(config.getWorkgroup()[0]),
        numLinears(static_cast<int64_t>(parts.linears.size())),
        numRows(context.rowsOf(parts.resultType())) {}

  LogicalResult emit();

private:
  /// Four columns of a quad, as loaded.
  struct Chunk {
    SmallVector<Value> units, high;
    GemmGroup group;

    /// All values, in the order in which `fill` takes them off.
    SmallVector<Value> values() const;
    void fill(ValueRange &values);
  };
  /// What an invocation loads for a step.
  struct Loaded {
    SmallVector<Value> inputs;
    SmallVector<Chunk> chunks;

    SmallVector<Value> values() const;
    void fill(ValueRange values);
  };
  /// Where an invocation's chunk is.
  struct ChunkPlace {
    /// Of each linear, at the chunk's quad, and where its planes begin.
    std::vector<GemmWeights> weights;
    SmallVector<Value> first;
    /// The number of the chunk's linear.
    Value linear;
    /// Its first column in a step, and which half of a unit it is; null where
    /// it is one.
    Value column, half;
    /// The vector in workgroup memory of its first row.
    Value vector;
  };

  int64_t lineVectors() const { return kStep / 4 + kLinePadding; }
  int64_t blockVectors() const {
    return kMatrixSize * lineVectors() + kBlockPadding;
  }
  int64_t blocksOfSubgroup() const {
    return numLinears * subgroupColumns / kMatrixSize;
  }
  int64_t inputsPerStep() const { return tileRows * kStep / 4 / invocations; }
  int64_t chunksPerStep() const {
    return numLinears * tileColumns / 4 * kStep / kChunkColumns / invocations;
  }
  int64_t numSteps() const { return parts.layout().columns / kStep; }
  int64_t numSubgroups() const {
    return tileRows / subgroupRows * (tileColumns / subgroupColumns);
  }

  LogicalResult verify();
  void allocate();
  LogicalResult placeInputs();
  void placeChunks();
  Chunk loadChunk(const ChunkPlace &at, int64_t linear, Value step);
  Chunk loadChunk(const ChunkPlace &at, Value step);
  Loaded load(Value step);
  void store(const Loaded &loaded, ArrayRef<Value> scales);
  void storeChunk(const ChunkPlace &at, const Chunk &chunk);
  SmallVector<Value> multiply(ValueRange carried);
  /// Sums over all steps, and for each vector of a step that the invocation
  /// loads the largest magnitude.
  struct Products {
    SmallVector<Value> sums, magnitudes;
  };
  /// `scales`: of the vectors' rows; empty for 1.
  Products addAll(ArrayRef<Value> scales);
  SmallVector<Value> scaleRows(ArrayRef<Value> magnitudes, Value &isNeeded);
  SmallVector<Value> addInRange();
  LogicalResult storeResults(ArrayRef<Value> sums);
  LogicalResult storeQuads(int64_t rowBlock, int64_t columnBlock);

  RegionContext &context;
  LinearRegion &parts;
  graph::LoweringConfigAttr config;
  KernelUnit unit;
  KernelBuilder &b;
  WeightFormat format;
  int64_t tileRows, tileColumns, kStep, subgroupRows, subgroupColumns,
      invocations, numLinears, numRows;

  /// The invocation's number in its workgroup; the workgroup's first row and
  /// tile of the layout.
  Value local, firstRow, firstTile;
  /// The subgroup's number, and its first row and block of the workgroup's.
  Value subgroup, subgroupRow, subgroupBlock;
  std::optional<ActivationRows> input;
  /// Of each vector of activations: its index in the first step, and in
  /// workgroup memory.
  SmallVector<Value> inputStarts, inputVectors, inputRows;
  std::vector<ChunkPlace> chunkPlaces;
  /// Vectors of 4 f16, and sums.
  Value inputMemory, weightMemory, sumMemory;
  /// Of each row of the workgroup: the largest magnitude, and what its results
  /// are multiplied with.
  Value rowMagnitudes, rowInverses;
};

LogicalResult GemmMatrixKernel::verify() {
  graph::RegionOp region = context.getRegion();
  if (parts.norm || findQuantizedResult(context))
    return region.emitOpError("of kind gemm_matrix has a norm of its input or "
                              "a quantized result, which it does not compute");
  if (parts.layout().columns % kStep != 0)
    return region.emitOpError("of kind gemm_matrix has ")
           << parts.layout().columns << " columns, no multiple of " << kStep;
  return success();
}

void GemmMatrixKernel::allocate() {
  auto f16x4 = VectorType::get(4, b.getF16Type());
  inputMemory = b.workgroupMemory(tileRows * lineVectors(), f16x4);
  weightMemory = b.workgroupMemory(
      numLinears * tileColumns / kMatrixSize * blockVectors(), f16x4);
  sumMemory = b.workgroupMemory(
      numSubgroups() * numLinears * kMatrixSize * kSumStride, b.getF32Type());
  rowMagnitudes = b.workgroupMemory(tileRows, b.getF32Type());
  rowInverses = b.workgroupMemory(tileRows, b.getF32Type());
  local = b.localId();
  firstRow = b.mul(b.groupId(gpu::Dimension::y), tileRows);
  firstTile = b.mul(b.groupId(gpu::Dimension::x), tileColumns / kTileRows);
  subgroup = subgroupNumber(b);
  int64_t across = tileColumns / subgroupColumns;
  subgroupRow = b.mul(b.div(subgroup, across), subgroupRows);
  subgroupBlock = b.mul(b.rem(subgroup, across), blocksOfSubgroup());
}

//===----------------------------------------------------------------------===//
// From device memory to workgroup memory
//===----------------------------------------------------------------------===//

SmallVector<Value> GemmMatrixKernel::Chunk::values() const {
  SmallVector<Value> all(units);
  all.append(high);
  all.append(group.scales);
  all.append(group.offsets);
  return all;
}

void GemmMatrixKernel::Chunk::fill(ValueRange &values) {
  for (SmallVector<Value> *part :
       {&units, &high, &group.scales, &group.offsets}) {
    llvm::copy(values.take_front(part->size()), part->begin());
    values = values.drop_front(part->size());
  }
}

SmallVector<Value> GemmMatrixKernel::Loaded::values() const {
  SmallVector<Value> all(inputs);
  for (const Chunk &chunk : chunks)
    all.append(chunk.values());
  return all;
}

void GemmMatrixKernel::Loaded::fill(ValueRange values) {
  llvm::copy(values.take_front(inputs.size()), inputs.begin());
  values = values.drop_front(inputs.size());
  for (Chunk &chunk : chunks)
    chunk.fill(values);
}

/// Neighbouring invocations take neighbouring vectors of a row.
LogicalResult GemmMatrixKernel::placeInputs() {
  FailureOr<LinearInput> linearInput = LinearInput::bind(unit, parts);
  if (failed(linearInput))
    return failure();
  input = linearInput->buffer();
  int64_t perRow = kStep / 4;
  Value vector = b.rem(local, perRow);
  for (int64_t i = 0; i < inputsPerStep(); ++i) {
    Value row = b.add(b.div(local, perRow), i * invocations / perRow);
    inputStarts.push_back(
        b.add(linearInput->rowBase(b.add(firstRow, row), numRows), vector));
    inputVectors.push_back(b.add(b.mul(row, lineVectors()), vector));
    inputRows.push_back(row);
  }
  return success();
}

/// Neighbouring invocations take the quads of a tile, then its next columns.
void GemmMatrixKernel::placeChunks() {
  int64_t perBlock = kQuadsPerTile * kStep / kChunkColumns;
  Value lastTile = b.index(parts.layout().numQuads() / kQuadsPerTile - 1);
  for (int64_t i = 0; i < chunksPerStep(); ++i) {
    ChunkPlace &at = chunkPlaces.emplace_back();
    Value number = b.add(local, i * invocations),
          block = b.div(number, perBlock), quad = b.rem(number, kQuadsPerTile),
          chunk = b.div(b.rem(number, perBlock), kQuadsPerTile);
    Value tile = b.min(b.add(firstTile, b.div(block, numLinears)), lastTile);
    Value firstQuad = b.add(b.mul(tile, kQuadsPerTile), quad);
    for (const WeightView &weight : parts.weights) {
      at.weights.emplace_back(unit, weight, firstQuad, /*numQuads=*/1,
                              CodeForm::Shifted);
      at.first.push_back(scaleGroupColumns(format)
                             ? at.weights.back().firstGroup()
                             : at.weights.back().firstUnit());
    }
    at.linear = b.rem(block, numLinears);
    at.column = b.mul(chunk, kChunkColumns);
    if (columnsPerUnit(format) == 2 * kChunkColumns)
      at.half = b.toI32(b.rem(chunk, 2));
    at.vector = b.add(
        b.add(b.mul(block, blockVectors()), b.mul(quad, lineVectors())), chunk);
  }
}

GemmMatrixKernel::Chunk
GemmMatrixKernel::loadChunk(const ChunkPlace &at, int64_t linear, Value step) {
  GemmWeights weights = at.weights[linear];
  int64_t unitColumns = columnsPerUnit(format),
          groupColumns = scaleGroupColumns(format);
  Value column = b.add(b.mul(step, kStep), at.column);
  auto placeOf = [&](Value first, Value column, int64_t columns) {
    return b.add(first, b.mul(b.div(column, columns), kQuadsPerTile));
  };
  Chunk chunk;
  if (groupColumns == 0) {
    Value place = placeOf(at.first[linear], column, unitColumns);
    for (int64_t i = 0; i < kChunkColumns / unitColumns; ++i)
      chunk.units.append(weights.loadUnits(b.add(place, i * kQuadsPerTile)));
    return chunk;
  }
  Value group = placeOf(at.first[linear], column, groupColumns);
  Value place =
      placeOf(weights.unitsOf(group), b.rem(column, groupColumns), unitColumns);
  chunk.units = weights.loadUnits(place);
  chunk.group = weights.loadScales(group);
  chunk.high = weights.highOfUnit(weights.loadHigh(group), place, std::nullopt);
  return chunk;
}

/// All lanes of a subgroup have one linear, but only they know which.
GemmMatrixKernel::Chunk GemmMatrixKernel::loadChunk(const ChunkPlace &at,
                                                    Value step) {
  if (numLinears == 1)
    return loadChunk(at, 0, step);
  // Built without results first: the types follow from what is loaded.
  auto branch = mlir::scf::IfOp::create(b, b.equal(at.linear, b.index(0)),
                                        /*withElseRegion=*/true);
  std::array<Chunk, 2> chunks;
  for (int64_t linear : {0, 1}) {
    OpBuilder::InsertionGuard guard(b);
    Block &block = branch->getRegion(linear).front();
    b.setInsertionPoint(block.getTerminator());
    chunks[linear] = loadChunk(at, linear, step);
    SmallVector<Value> values = chunks[linear].values();
    block.getTerminator()->setOperands(values);
  }
  auto whole = mlir::scf::IfOp::create(
      b, ValueRange(chunks[0].values()).getTypes(), branch.getCondition());
  for (int64_t linear : {0, 1})
    whole->getRegion(linear).takeBody(branch->getRegion(linear));
  branch.erase();
  ValueRange results = whole.getResults();
  chunks[0].fill(results);
  return chunks[0];
}

GemmMatrixKernel::Loaded GemmMatrixKernel::load(Value step) {
  Loaded loaded;
  for (Value start : inputStarts)
    loaded.inputs.push_back(input->load(b.add(start, b.mul(step, kStep / 4))));
  for (const ChunkPlace &at : chunkPlaces)
    loaded.chunks.push_back(loadChunk(at, step));
  return loaded;
}

void GemmMatrixKernel::store(const Loaded &loaded, ArrayRef<Value> scales) {
  for (auto [i, vector] : llvm::enumerate(loaded.inputs)) {
    Value scaled = scales.empty() ? vector : b.mul(vector, b.splat(scales[i]));
    b.store(b.narrow(scaled), inputMemory, inputVectors[i]);
  }
  for (auto [chunk, at] : llvm::zip_equal(loaded.chunks, chunkPlaces))
    storeChunk(at, chunk);
}

void GemmMatrixKernel::storeChunk(const ChunkPlace &at, const Chunk &chunk) {
  GemmWeights weights = at.weights.front(); // decodes as all of its format
  SmallVector<SmallVector<Value>> units;
  for (Value loaded : chunk.units)
    units.push_back(
        {at.half ? b.shiftRight(loaded, b.splat(b.shiftLeft(at.half, 2)))
                 : loaded});
  SmallVector<Value> high;
  for (Value loaded : chunk.high)
    high.push_back(
        at.half
            ? b.shiftRight(loaded,
                           b.splat(b.shiftLeft(
                               at.half, format == WeightFormat::Q6_K ? 1 : 0)))
            : loaded);
  for (int64_t lane = 0; lane < 4; ++lane) {
    std::array<Value, 4> columns =
        weights.decode(units, chunk.group, high, /*quad=*/0, lane, /*half=*/0);
    b.store(b.narrow(b.vector(ValueRange(columns))), weightMemory,
            b.add(at.vector, lane * kQuadsPerTile * lineVectors()));
  }
}

//===----------------------------------------------------------------------===//
// Multiplication
//===----------------------------------------------------------------------===//

/// Adds a step's products to the sums, ordered [block of rows][block of
/// columns].
SmallVector<Value> GemmMatrixKernel::multiply(ValueRange carried) {
  SmallVector<Value> sums(carried);
  int64_t rowBlocks = subgroupRows / kMatrixSize;
  for (int64_t column = 0; column < kStep / 4; column += kMatrixSize / 4) {
    SmallVector<Value> left, right;
    for (int64_t i = 0; i < rowBlocks; ++i) {
      Value row = b.add(subgroupRow, i * kMatrixSize);
      left.push_back(loadMatrix(b, MatrixUse::Left, inputMemory,
                                b.add(b.mul(row, lineVectors()), column),
                                lineVectors(), MatrixOrder::Rows));
    }
    for (int64_t j = 0; j < blocksOfSubgroup(); ++j) {
      Value block = b.add(subgroupBlock, j);
      right.push_back(loadMatrix(b, MatrixUse::Right, weightMemory,
                                 b.add(b.mul(block, blockVectors()), column),
                                 lineVectors(), MatrixOrder::Columns));
    }
    for (int64_t i = 0; i < rowBlocks; ++i)
      for (int64_t j = 0; j < blocksOfSubgroup(); ++j) {
        Value &sum = sums[i * blocksOfSubgroup() + j];
        sum = multiplyAdd(b, left[i], right[j], sum);
      }
  }
  return sums;
}

GemmMatrixKernel::Products GemmMatrixKernel::addAll(ArrayRef<Value> scales) {
  // Workgroups whose rows are beyond the step's have no steps, all alike.
  Value hasRows = b.less(firstRow, unit.numRows(parts.resultType()));
  Value end = b.select(hasRows, b.opaqueIndex(numSteps()), b.index(0));
  Loaded shape = load(b.index(0));
  SmallVector<Value> initial = shape.values();
  size_t numLoaded = initial.size(), numInputs = shape.inputs.size();
  initial.append(numInputs, b.f32(0.0));
  initial.append(subgroupRows / kMatrixSize * blocksOfSubgroup(),
                 zeroMatrix(b));
  SmallVector<Value> done = b.forLoop(
      b.index(0), end, b.index(1), initial,
      [&](Value step, ValueRange carried) {
        Loaded loaded = shape;
        loaded.fill(carried.take_front(numLoaded));
        store(loaded, scales);
        b.barrier();
        // The last step loads itself once more.
        Value next = b.min(b.add(step, 1), b.index(numSteps() - 1));
        SmallVector<Value> values = load(next).values();
        for (size_t i = 0; i < numInputs; ++i)
          values.push_back(
              largerMagnitude(b, loaded.inputs[i], carried[numLoaded + i]));
        values.append(multiply(carried.drop_front(numLoaded + numInputs)));
        b.barrier();
        return values;
      });
  ArrayRef<Value> results(done);
  return {SmallVector<Value>(results.drop_front(numLoaded + numInputs)),
          SmallVector<Value>(results.slice(numLoaded, numInputs))};
}

/// The scales of the rows of the invocation's vectors, whose inverses go to
/// workgroup memory, and whether any row of the workgroup has another than 1.
SmallVector<Value> GemmMatrixKernel::scaleRows(ArrayRef<Value> magnitudes,
                                               Value &isNeeded) {
  // Vectors of a row meet in the memory of the sums.
  int64_t perRow = kStep / 4;
  Value vector = b.rem(local, perRow);
  for (auto [row, magnitude] : llvm::zip_equal(inputRows, magnitudes))
    b.store(magnitude, sumMemory, b.add(b.mul(row, perRow), vector));
  b.barrier();
  SmallVector<Value> scales;
  for (Value row : inputRows) {
    Value first = b.mul(row, perRow), most = b.load(sumMemory, first);
    for (int64_t i = 1; i < perRow; ++i)
      most = b.max(most, b.load(sumMemory, b.add(first, i)));
    HalfScale scale = scaleToHalf(b, most);
    b.store(most, rowMagnitudes, row);
    b.store(scale.inverse, rowInverses, row);
    scales.push_back(scale.scale);
  }
  b.barrier();
  // All lanes of all subgroups find the same.
  int64_t lanes = context.getDevice().getSubgroupSize();
  Value lane = laneNumber(b),
        most = b.load(rowMagnitudes, b.rem(lane, tileRows));
  for (int64_t row = lanes; row < tileRows; row += lanes)
    most = b.max(most, b.load(rowMagnitudes, b.add(lane, row)));
  isNeeded = exceedsHalf(b, overLanes(b, most, lanes, lanes, largerOf));
  return scales;
}

SmallVector<Value> GemmMatrixKernel::addInRange() {
  Products products = addAll({});
  if (parts.input.isHalf) {
    for (Value row : inputRows)
      b.store(b.f32(1.0), rowInverses, row);
    b.barrier();
    return products.sums;
  }
  Value isNeeded;
  SmallVector<Value> scales = scaleRows(products.magnitudes, isNeeded);
  return b.ifElse(
      ValueRange(products.sums).getTypes(), isNeeded,
      [&] { return addAll(scales).sums; }, [&] { return products.sums; });
}

//===----------------------------------------------------------------------===//
// Results
//===----------------------------------------------------------------------===//

/// The results of 16 rows and 16 columns, whose sums the subgroup has in
/// workgroup memory: a quad of a row at a time.
LogicalResult GemmMatrixKernel::storeQuads(int64_t rowBlock,
                                           int64_t columnBlock) {
  int64_t quads = kMatrixSize * kQuadsPerTile,
          lanes = context.getDevice().getSubgroupSize();
  Value lane = laneNumber(b),
        sumsOfSubgroup = b.mul(subgroup, numLinears * kMatrixSize * kSumStride);
  LogicalResult ok = success();
  for (int64_t first = 0; first < quads; first += lanes) {
    Value item = b.add(lane, first), inRow = b.div(item, kQuadsPerTile),
          inTile = b.rem(item, kQuadsPerTile);
    Value row =
              b.add(b.add(b.add(firstRow, subgroupRow), rowBlock * kMatrixSize),
                    inRow),
          tile = b.add(b.add(firstTile, b.div(subgroupBlock, numLinears)),
                       columnBlock),
          quad = b.add(b.mul(tile, kQuadsPerTile), inTile);
    Value stores =
        b.logicalAnd(b.less(row, b.index(numRows)),
                     b.less(quad, b.index(paddedRow(parts.layout().rows) / 4)));
    b.ifThen(stores, [&] {
      ElementwiseEmitter emitter(unit, row, quad);
      Value inverse = b.load(rowInverses, b.sub(row, firstRow));
      for (auto [number, linear] : llvm::enumerate(parts.linears)) {
        Value base = b.add(b.add(sumsOfSubgroup, static_cast<int64_t>(number) *
                                                     kMatrixSize * kSumStride),
                           b.add(b.mul(inRow, kSumStride), inTile));
        SmallVector<Value> columns;
        for (int64_t column = 0; column < 4; ++column)
          columns.push_back(
              b.load(sumMemory, b.add(base, column * kQuadsPerTile)));
        emitter.map(linear->getResult(0),
                    b.mul(b.vector(columns), b.splat(inverse)));
      }
      ok = emitter.storeResults();
    });
    if (failed(ok))
      return failure();
  }
  return success();
}

LogicalResult GemmMatrixKernel::storeResults(ArrayRef<Value> sums) {
  Value memory = b.mul(subgroup, numLinears * kMatrixSize * kSumStride);
  for (int64_t rowBlock = 0; rowBlock < subgroupRows / kMatrixSize; ++rowBlock)
    for (int64_t block = 0; block < blocksOfSubgroup(); block += numLinears) {
      for (int64_t linear = 0; linear < numLinears; ++linear)
        storeMatrix(b, sums[rowBlock * blocksOfSubgroup() + block + linear],
                    sumMemory, b.add(memory, linear * kMatrixSize * kSumStride),
                    kSumStride);
      b.barrier();
      if (failed(storeQuads(rowBlock, block / numLinears)))
        return failure();
      b.barrier();
    }
  return success();
}

LogicalResult GemmMatrixKernel::emit() {
  if (failed(verify()))
    return failure();
  allocate();
  if (failed(placeInputs()))
    return failure();
  placeChunks();
  if (failed(storeResults(addInRange())))
    return failure();
  int64_t groupQuads = tileColumns / 4;
  unit.finish(parts.label("gemm", numRows) + " matrix",
              {(parts.layout().numQuads() + groupQuads - 1) / groupQuads,
               (numRows + tileRows - 1) / tileRows, 1});
  return success();
}

} // namespace

LogicalResult lowerGemmMatrix(RegionContext &context) {
  FailureOr<LinearRegion> parts = analyzeLinear(context);
  if (failed(parts))
    return failure();
  return GemmMatrixKernel(context, *parts).emit();
}

} // namespace llmc::codegen
