// SPDX-License-Identifier: Apache-2.0
//
// Linears for many rows in matrix units: a workgroup decodes its weights and
// rounds its activations to f16 in workgroup memory, kStep columns at a time;
// each subgroup multiplies its share of 16 x 16 matrices and sums in f32.
//
// What the next step needs of device memory is loaded before the current one is
// multiplied and waits in registers. With two buffers of workgroup memory, the
// next step is stored while the current one is multiplied.
//
// Rows of activations that f16 cannot hold are seen while they are multiplied;
// if there is one, the workgroup starts once more with each such row scaled by
// a power of two, which the results are divided by. It is the same code that
// runs again: drivers need long enough for one.
//
// Workgroups may share the columns of k (`splits`): each writes its sums, and a
// second kernel adds them up, split 0 first, and has the epilogue.
//
// How many rows a step has at most and how many workgroups share k is not in
// the code, so that steps of several sizes have one kernel.

#include "codegen/Lowering/Elementwise.h"
#include "codegen/Lowering/LinearRegion.h"
#include "codegen/Lowering/MatrixSplit.h"
#include "codegen/Lowering/MatrixStage.h"
#include "codegen/Lowering/QuantizedStore.h"
#include "codegen/Lowering/SubgroupMatrix.h"

namespace llmc::codegen {

namespace {

class GemmMatrixKernel {
public:
  GemmMatrixKernel(RegionContext &context, LinearRegion &parts,
                   const MatrixShape &shape)
      : context(context), parts(parts), shape(shape),
        unit(context, context.getConfig().getWorkgroup()), b(unit.builder()),
        stage(unit, parts, shape),
        mostRows(context.rowsOf(parts.resultType())) {}

  /// `partials`: where sums go that another kernel adds up; null for one split.
  LogicalResult emit(Value partials);

private:
  void findPlace();
  SmallVector<Value> multiply(ValueRange carried, Value buffer);
  /// The sums over all steps. `scales`: of the rows of the invocation's
  /// vectors; empty for 1.
  SmallVector<Value> addAll(ArrayRef<Value> scales);
  SmallVector<Value> addInTurn(ArrayRef<Value> scales);
  SmallVector<Value> addOverlapped(ArrayRef<Value> scales);
  Value areBeyond(ArrayRef<Value> sums);
  SmallVector<Value> scaleRows();
  LogicalResult compute(Value partials);
  LogicalResult computeOnceOrTwice(Value partials);
  LogicalResult storeResults(ArrayRef<Value> sums, Value partials);
  LogicalResult storeQuads(int64_t rowBlock, int64_t columnBlock,
                           Value partials);
  LogicalResult storeQuad(Value row, Value quad, Value sums, Value partials);

  RegionContext &context;
  LinearRegion &parts;
  MatrixShape shape;
  KernelUnit unit;
  KernelBuilder &b;
  MatrixStage stage;
  /// The most rows of a step.
  int64_t mostRows;

  /// Rows of the step; the workgroup's first row and tile of the layout; its
  /// share of k: its number (null for one), the first step, and how many.
  Value numRows, firstRow, firstTile, split, firstStep, stepCount;
  /// The subgroup's number, its first row and block of the workgroup's, and
  /// where its sums wait for the epilogue.
  Value subgroup, subgroupRow, subgroupBlock, subgroupSums;
  /// What the results of each row of the workgroup are multiplied with; whether
  /// a subgroup saw activations beyond f16.
  Value rowInverses, beyondFlags;
};

void GemmMatrixKernel::findPlace() {
  rowInverses = b.workgroupMemory(shape.rows, b.getF32Type());
  beyondFlags = b.workgroupMemory(shape.subgroups(), b.getI32Type());
  firstRow = b.mul(b.groupId(gpu::Dimension::y), shape.rows);
  firstTile = b.mul(b.groupId(gpu::Dimension::x), shape.columns / kTileRows);
  subgroup = subgroupNumber(b);
  int64_t across = shape.columns / shape.subgroupColumns;
  subgroupRow = b.mul(b.div(subgroup, across), shape.subgroupRows);
  subgroupBlock = b.mul(b.rem(subgroup, across), shape.columnBlocks());
  subgroupSums = b.mul(subgroup, shape.sumVectors());
  // Workgroups whose rows are beyond the step's have no steps, all alike.
  numRows = unit.numRows(parts.resultType());
  Value hasRows = b.less(firstRow, numRows);
  auto unlessBeyond = [&](Value steps) {
    return b.select(hasRows, steps, b.index(0));
  };
  if (shape.splits == 1) {
    firstStep = b.index(0);
    stepCount = unlessBeyond(b.opaqueIndex(shape.numSteps));
    return;
  }
  split = b.groupId(gpu::Dimension::z);
  Value splits = b.groupCount(gpu::Dimension::z),
        each = b.div(b.add(splits, shape.numSteps - 1), splits);
  firstStep = b.mul(split, each);
  stepCount =
      unlessBeyond(b.min(each, b.sub(b.index(shape.numSteps), firstStep)));
}

//===----------------------------------------------------------------------===//
// Multiplication
//===----------------------------------------------------------------------===//

/// Adds a step's products to the sums, ordered [block of rows][block of
/// columns].
SmallVector<Value> GemmMatrixKernel::multiply(ValueRange carried,
                                              Value buffer) {
  SmallVector<Value> sums(carried);
  int64_t rowBlocks = shape.rowBlocks();
  Value firstInput = inBuffer(b, b.mul(subgroupRow, shape.lineVectors()),
                              buffer, shape.inputVectors()),
        firstWeight =
            inBuffer(b, b.mul(subgroupBlock, kMatrixSize * shape.lineVectors()),
                     buffer, shape.weightVectors());
  auto matrixAt = [&](MatrixUse use, Value memory, Value first, int64_t block,
                      int64_t column) {
    int64_t offset = block * kMatrixSize * shape.lineVectors() + column;
    return loadMatrix(b, use, memory, b.add(first, offset), shape.lineVectors(),
                      use == MatrixUse::Left ? MatrixOrder::Rows
                                             : MatrixOrder::Columns);
  };
  for (int64_t column = 0; column < shape.chunksPerLine();
       column += kMatrixSize / kChunkColumns) {
    SmallVector<Value> left, right;
    for (int64_t i = 0; i < rowBlocks; ++i)
      left.push_back(
          matrixAt(MatrixUse::Left, stage.inputs, firstInput, i, column));
    for (int64_t j = 0; j < shape.columnBlocks(); ++j)
      right.push_back(
          matrixAt(MatrixUse::Right, stage.weights, firstWeight, j, column));
    for (int64_t i = 0; i < rowBlocks; ++i)
      for (int64_t j = 0; j < shape.columnBlocks(); ++j) {
        Value &sum = sums[i * shape.columnBlocks() + j];
        sum = multiplyAdd(b, left[i], right[j], sum);
      }
  }
  return sums;
}

SmallVector<Value> GemmMatrixKernel::addAll(ArrayRef<Value> scales) {
  return shape.buffers == 2 ? addOverlapped(scales) : addInTurn(scales);
}

SmallVector<Value> GemmMatrixKernel::addInTurn(ArrayRef<Value> scales) {
  MatrixStage::Loaded form = stage.load(firstStep);
  SmallVector<Value> initial = form.values();
  size_t numLoaded = initial.size();
  initial.append(shape.rowBlocks() * shape.columnBlocks(), zeroMatrix(b));
  SmallVector<Value> done = b.forLoop(
      b.index(0), stepCount, b.index(1), initial,
      [&](Value number, ValueRange carried) {
        Value step = b.add(firstStep, number);
        MatrixStage::Loaded loaded = form;
        loaded.fill(carried.take_front(numLoaded));
        stage.store(loaded, scales, /*buffer=*/Value(), step);
        b.barrier();
        // The last step loads itself once more.
        Value next = b.min(b.add(step, 1), b.index(shape.numSteps - 1));
        SmallVector<Value> values = stage.load(next).values();
        values.append(
            multiply(carried.drop_front(numLoaded), /*buffer=*/Value()));
        b.barrier();
        return values;
      });
  return SmallVector<Value>(ArrayRef(done).drop_front(numLoaded));
}

SmallVector<Value> GemmMatrixKernel::addOverlapped(ArrayRef<Value> scales) {
  // The last steps load and store the last one once more, where nothing reads.
  auto stepAt = [&](Value number) {
    return b.min(b.add(firstStep, number), b.index(shape.numSteps - 1));
  };
  stage.store(stage.load(firstStep), scales, /*buffer=*/Value(), firstStep);
  MatrixStage::Loaded form = stage.load(stepAt(b.index(1)));
  SmallVector<Value> initial = form.values();
  size_t numLoaded = initial.size();
  initial.append(shape.rowBlocks() * shape.columnBlocks(), zeroMatrix(b));
  b.barrier();
  SmallVector<Value> done =
      b.forLoop(b.index(0), stepCount, b.index(1), initial,
                [&](Value number, ValueRange carried) {
                  MatrixStage::Loaded loaded = form;
                  loaded.fill(carried.take_front(numLoaded));
                  SmallVector<Value> sums =
                      multiply(carried.drop_front(numLoaded),
                               b.rem(number, shape.buffers));
                  Value following = b.add(number, 1);
                  stage.store(loaded, scales, b.rem(following, shape.buffers),
                              stepAt(following));
                  SmallVector<Value> values =
                      stage.load(stepAt(b.add(number, 2))).values();
                  values.append(sums);
                  b.barrier();
                  return values;
                });
  return SmallVector<Value>(ArrayRef(done).drop_front(numLoaded));
}

//===----------------------------------------------------------------------===//
// Rows beyond f16
//===----------------------------------------------------------------------===//

/// Whether any sum of the workgroup is no finite number: an activation that was
/// rounded to infinity makes each of its row infinite or NaN, and so their
/// sums.
Value GemmMatrixKernel::areBeyond(ArrayRef<Value> sums) {
  constexpr int64_t kExponent = 0x7f800000;
  Value all = sums.front();
  for (Value sum : sums.drop_front())
    all = addElements(b, all, sum);
  storeMatrix(b, all, stage.inputs, subgroupSums, kSumStride);
  subgroupBarrier(b);
  int64_t lanes = context.getDevice().getSubgroupSize();
  Value lane = laneNumber(b), flag = b.i32(0);
  for (int64_t first = 0; first < kMatrixSize * kQuadsPerTile; first += lanes) {
    Value item = b.add(lane, first),
          place = b.add(b.mul(b.div(item, kQuadsPerTile), kSumStride),
                        b.rem(item, kQuadsPerTile));
    Value bits = b.load(stage.inputs, b.add(subgroupSums, place));
    for (int64_t i = 0; i < 4; ++i)
      flag = b.select(
          b.equal(b.bitAnd(b.extract(bits, i), kExponent), b.i32(kExponent)),
          b.i32(1), flag);
  }
  b.store(overLanes(b, flag, lanes, lanes, largerOf), beyondFlags, subgroup);
  b.barrier();
  Value any = b.load(beyondFlags, b.index(0));
  for (int64_t i = 1; i < shape.subgroups(); ++i)
    any = b.bitOr(any, b.load(beyondFlags, b.index(i)));
  return b.equal(any, b.i32(1));
}

/// The scales of the rows of the invocation's vectors, whose inverses go to
/// workgroup memory.
SmallVector<Value> GemmMatrixKernel::scaleRows() {
  SmallVector<Value> magnitudes(stage.rows().size(), b.f32(0.0));
  magnitudes = b.forLoop(b.index(0), stepCount, b.index(1), magnitudes,
                         [&](Value number, ValueRange carried) {
                           SmallVector<Value> largest(carried);
                           SmallVector<Value> inputs =
                               stage.loadInputs(b.add(firstStep, number));
                           for (auto [i, four] : llvm::enumerate(inputs))
                             largest[i / 2] =
                                 largerMagnitude(b, four, largest[i / 2]);
                           return largest;
                         });
  // Vectors of a row meet in workgroup memory.
  for (auto [place, magnitude] : llvm::zip_equal(stage.places(), magnitudes))
    b.store(b.splat(b.bitcastToI32(magnitude)), stage.inputs, place);
  b.barrier();
  SmallVector<Value> scales;
  for (Value row : stage.rows()) {
    Value first = b.mul(row, shape.lineVectors()), most = b.f32(0.0);
    for (int64_t i = 0; i < shape.chunksPerLine(); ++i)
      most = b.max(most, b.bitcastToF32(b.extract(
                             b.load(stage.inputs, b.add(first, i)), 0)));
    HalfScale scale = scaleToHalf(b, most);
    b.store(scale.inverse, rowInverses, row);
    scales.push_back(scale.scale);
  }
  b.barrier();
  return scales;
}

LogicalResult GemmMatrixKernel::compute(Value partials) {
  if (stage.hasHalves())
    return storeResults(addAll({}), partials);
  return computeOnceOrTwice(partials);
}

/// A loop whose second round is for rows beyond f16; each round stores its own
/// sums, which would cost registers if they waited for a choice.
LogicalResult GemmMatrixKernel::computeOnceOrTwice(Value partials) {
  LogicalResult ok = success();
  SmallVector<Value> initial(stage.rows().size(), b.f32(1.0));
  initial.push_back(b.i32(1)); // whether there is another round
  SmallVector<Type> types = llvm::to_vector(ValueRange(initial).getTypes());
  b.forLoop(b.index(0), b.opaqueIndex(2), b.index(1), initial,
            [&](Value round, ValueRange carried) {
              auto addOrScale = [&]() -> SmallVector<Value> {
                SmallVector<Value> sums =
                    addAll(SmallVector<Value>(carried.drop_back()));
                Value isFirst = b.equal(round, b.index(0));
                return b.ifElse(
                    types, b.logicalAnd(areBeyond(sums), isFirst),
                    [&] {
                      SmallVector<Value> scales = scaleRows();
                      scales.push_back(b.i32(1));
                      return scales;
                    },
                    [&] {
                      ok = storeResults(sums, partials);
                      SmallVector<Value> done(initial);
                      done.back() = b.i32(0);
                      return done;
                    });
              };
              return b.ifElse(types, b.equal(carried.back(), b.i32(1)),
                              addOrScale,
                              [&] { return SmallVector<Value>(carried); });
            });
  return ok;
}

//===----------------------------------------------------------------------===//
// Results
//===----------------------------------------------------------------------===//

/// `sums`: index of the first linear's in workgroup memory.
LogicalResult GemmMatrixKernel::storeQuad(Value row, Value quad, Value sums,
                                          Value partials) {
  Value inverse = b.splat(b.load(rowInverses, b.sub(row, firstRow)));
  SmallVector<Value> results;
  for (int64_t linear = 0; linear < shape.linears; ++linear) {
    Value place = b.add(sums, linear * kMatrixSize * kSumStride);
    results.push_back(
        b.mul(b.bitcastToF32(b.load(stage.inputs, place)), inverse));
  }
  if (partials) {
    storePartialQuads(unit, matrixSplit(context, parts), partials, split,
                      numRows, row, quad, results);
    return success();
  }
  ElementwiseEmitter emitter(unit, row, quad);
  for (auto [linear, result] : llvm::zip_equal(parts.linears, results))
    emitter.map(linear->getResult(0), result);
  return emitter.storeResults();
}

/// The results of 16 rows and 16 columns, whose sums the subgroup has in
/// workgroup memory: a quad of a row at a time.
LogicalResult GemmMatrixKernel::storeQuads(int64_t rowBlock,
                                           int64_t columnBlock,
                                           Value partials) {
  int64_t quads = kMatrixSize * kQuadsPerTile,
          lanes = context.getDevice().getSubgroupSize();
  Value lane = laneNumber(b);
  LogicalResult ok = success();
  for (int64_t first = 0; first < quads; first += lanes) {
    Value item = b.add(lane, first), inRow = b.div(item, kQuadsPerTile),
          inTile = b.rem(item, kQuadsPerTile);
    Value row =
              b.add(b.add(b.add(firstRow, subgroupRow), rowBlock * kMatrixSize),
                    inRow),
          tile = b.add(b.add(firstTile, b.div(subgroupBlock, shape.linears)),
                       columnBlock),
          quad = b.add(b.mul(tile, kQuadsPerTile), inTile);
    Value stores =
        b.logicalAnd(b.less(row, numRows),
                     b.less(quad, b.index(paddedRow(parts.layout().rows) / 4)));
    Value sums = b.add(subgroupSums, b.add(b.mul(inRow, kSumStride), inTile));
    b.ifThen(stores, [&] { ok = storeQuad(row, quad, sums, partials); });
    if (failed(ok))
      return failure();
  }
  return success();
}

/// Activations of the last step are no longer read.
LogicalResult GemmMatrixKernel::storeResults(ArrayRef<Value> sums,
                                             Value partials) {
  for (int64_t rowBlock = 0; rowBlock < shape.rowBlocks(); ++rowBlock)
    for (int64_t block = 0; block < shape.columnBlocks();
         block += shape.linears) {
      for (int64_t linear = 0; linear < shape.linears; ++linear)
        storeMatrix(b, sums[rowBlock * shape.columnBlocks() + block + linear],
                    stage.inputs,
                    b.add(subgroupSums, linear * kMatrixSize * kSumStride),
                    kSumStride);
      subgroupBarrier(b);
      if (failed(storeQuads(rowBlock, block / shape.linears, partials)))
        return failure();
      subgroupBarrier(b);
    }
  return success();
}

LogicalResult GemmMatrixKernel::emit(Value partials) {
  findPlace();
  if (failed(stage.place(firstRow, numRows, firstTile)))
    return failure();
  for (Value row : stage.rows())
    b.store(b.f32(1.0), rowInverses, row);
  if (failed(compute(partials)))
    return failure();
  int64_t groupQuads = shape.columns / 4;
  std::string tile = std::to_string(shape.rows) + "x" +
                     std::to_string(shape.columns) + "x" +
                     std::to_string(shape.kStep);
  unit.finish(parts.label("gemm", mostRows) + " matrix",
              {(parts.layout().numQuads() + groupQuads - 1) / groupQuads,
               (mostRows + shape.rows - 1) / shape.rows, shape.splits},
              std::nullopt, parts.label("gemm") + " matrix " + tile);
  return success();
}

} // namespace

LogicalResult lowerGemmMatrix(RegionContext &context) {
  FailureOr<LinearRegion> parts = analyzeLinear(context);
  if (failed(parts))
    return failure();
  if (parts->norm || findQuantizedResult(context))
    return context.getRegion().emitOpError(
        "of kind gemm_matrix has a norm of its input or a quantized result, "
        "which it does not compute");
  FailureOr<MatrixShape> shape = matrixShape(context, *parts);
  if (failed(shape))
    return failure();
  if (shape->splits == 1)
    return GemmMatrixKernel(context, *parts, *shape).emit(Value());
  MatrixSplit split = matrixSplit(context, *parts);
  Value partials = context.workspace(split.bytes());
  if (failed(GemmMatrixKernel(context, *parts, *shape).emit(partials)))
    return failure();
  return emitMatrixCombine(context, *parts, split, partials);
}

} // namespace llmc::codegen
