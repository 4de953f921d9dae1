// SPDX-License-Identifier: Apache-2.0
//
// Attention of many rows in matrix units, on a cache of f16: an online softmax
// over blocks of keys. A query is a (row, head) pair of one KV head, numbered
// row by row; each subgroup has 16 of them, and a workgroup's subgroups share
// the keys and values that it puts into workgroup memory, a block at a time,
// while the next block is under way in registers.
//
// Scores leave the matrix units through workgroup memory, where each lane knows
// which it has; weights come back in f16. Sums of values stay in matrices and
// shrink by a matrix whose rows are the rows' factors.

#include "codegen/Lowering/ActivationRows.h"
#include "codegen/Lowering/SdpaPlace.h"
#include "codegen/Lowering/SubgroupMatrix.h"

#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MathExtras.h"

namespace llmc::codegen {

namespace {

/// Vectors of four between rows in workgroup memory, in excess of the row:
/// matrices are read from all banks, at multiples of 16 bytes.
constexpr int64_t kHalfPadding = 2, kFloatPadding = 1;

class SdpaMatrixKernel {
public:
  SdpaMatrixKernel(RegionContext &context, graph::SdpaOp sdpa,
                   const SdpaViews &views, const View &result)
      : context(context), sdpa(sdpa), views(views), result(result),
        unit(context, context.getConfig().getWorkgroup()), b(unit.builder()),
        queries(context.getConfig().getTile()[0]),
        keys(context.getConfig().getTile()[1]),
        invocations(context.getConfig().getWorkgroup()[0]),
        mostRows(context.rowsOf(views.query.type)),
        heads(views.query.type.getDimSize(1)),
        quads(views.query.type.getDimSize(2) / 4),
        kvHeads(views.key.stateType.getDimSize(0)),
        capacity(views.key.stateType.getDimSize(1)) {}

  void emit();

private:
  /// What a lane knows of its row, and the subgroup's sums of values.
  struct Softmax {
    Value maximum, sum;
    SmallVector<Value> values;
  };

  int64_t group() const { return heads / kvHeads; }
  int64_t columnBlocks() const { return quads * 4 / kMatrixSize; }
  int64_t keyBlocks() const { return keys / kMatrixSize; }
  int64_t lineVectors() const { return quads + kHalfPadding; }
  int64_t scoreVectors() const { return keys / 4 + kFloatPadding; }
  int64_t weightVectors() const { return keys / 4 + kHalfPadding; }
  int64_t factorVectors() const { return kMatrixSize / 4 + kFloatPadding; }
  int64_t lanesPerRow() const {
    return context.getDevice().getSubgroupSize() / kMatrixSize;
  }
  /// Vectors of a row's scores that a lane has.
  int64_t vectorsPerLane() const { return keys / 4 / lanesPerRow(); }
  int64_t loadsPerBlock() const { return keys * quads / invocations; }

  void place();
  SmallVector<Value> loadQueries();
  SmallVector<Value> loadBlock(Value firstKey);
  void storeBlock(ValueRange loaded);
  SmallVector<Value> addBlock(Value firstKey, ValueRange carried,
                              ArrayRef<Value> queryMatrices);
  void storeScores(ArrayRef<Value> queryMatrices);
  Value finishScores(Value scores, Value firstKey);
  void emitWeights(Value firstKey, Softmax &softmax);
  void addValues(Softmax &softmax);
  Value overRow(Value mine, CombineLanes combine);
  void storeResult(const Softmax &softmax);

  RegionContext &context;
  graph::SdpaOp sdpa;
  const SdpaViews &views;
  const View &result;
  KernelUnit unit;
  KernelBuilder &b;
  /// `mostRows`: of a step; not in the code, so that steps of several sizes
  /// have one kernel.
  int64_t queries, keys, invocations, mostRows, heads, quads, kvHeads, capacity;

  Value local, lane, kvHead, firstQuery;
  /// Of the lane: its row of the subgroup's matrices, the part of it that it
  /// has, its query's row and head, and the keys begin … end - 1 that this
  /// sees; a null begin is 0.
  Value matrixRow, part, row, head, begin, end;
  /// What products of the row's query and keys are multiplied with.
  Value scale;
  /// Rows of the step; keys that there are; the workgroup's first and last + 1.
  Value numRows, numKeys, firstKey, endKey;
  /// Workgroup memory, and where the subgroup's share of it begins.
  Value blocks, scores, weights, factors, inverses;
  Value firstScore, firstWeight, firstFactor, firstLine;
};

//===----------------------------------------------------------------------===//
// Places
//===----------------------------------------------------------------------===//

void SdpaMatrixKernel::place() {
  auto f16x4 = VectorType::get(4, b.getF16Type());
  blocks =
      b.workgroupMemory(std::max(queries, 2 * keys) * lineVectors(), f16x4);
  scores = b.workgroupMemory(queries * scoreVectors(), b.f32x4());
  weights = b.workgroupMemory(queries * weightVectors(), f16x4);
  factors = b.workgroupMemory(queries * factorVectors(), b.f32x4());
  inverses = b.workgroupMemory(queries, b.getF32Type());
  local = b.localId();
  lane = laneNumber(b);
  firstLine = b.mul(subgroupNumber(b), kMatrixSize);
  firstScore = b.mul(firstLine, scoreVectors());
  firstWeight = b.mul(firstLine, weightVectors());
  firstFactor = b.mul(firstLine, factorVectors());

  kvHead = b.groupId(gpu::Dimension::y);
  firstQuery = b.mul(b.groupId(gpu::Dimension::x), queries);
  matrixRow = b.div(lane, lanesPerRow());
  part = b.rem(lane, lanesPerRow());
  Value query = b.add(b.add(firstQuery, firstLine), matrixRow);
  row = b.div(query, group());
  head = b.add(b.mul(kvHead, group()), b.rem(query, group()));

  Value position = b.toIndex(unit.stepWord(views.position));
  numRows = unit.numRows(views.query.type);
  numKeys = b.min(b.add(position, numRows), b.index(capacity));
  Value firstRow = b.div(firstQuery, group()),
        lastRow = b.div(b.add(firstQuery, queries - 1), group());
  end = endKey = numKeys;
  firstKey = b.index(0);
  if (sdpa.getCausal()) {
    Value behind = b.add(b.add(position, row), 1);
    end = b.min(behind, numKeys);
    endKey = b.min(b.add(b.add(position, lastRow), 1), numKeys);
    if (auto window = static_cast<int64_t>(sdpa.getWindow())) {
      auto before = [&](Value seen) {
        return b.sub(b.max(seen, b.index(window)), b.index(window));
      };
      begin = before(behind);
      firstKey = before(b.add(b.add(position, firstRow), 1));
      firstKey = b.mul(b.div(firstKey, keys), keys);
    }
  }
  endKey = b.select(b.less(firstRow, numRows), endKey, b.index(0));
}

/// The subgroup's queries as matrices, through the memory of the blocks. The
/// lanes that have a query together scale it into the range of f16.
SmallVector<Value> SdpaMatrixKernel::loadQueries() {
  ActivationRows input(unit, views.query, program::Access::Read);
  int64_t lanes = context.getDevice().getSubgroupSize();
  Value firstOfSubgroup = b.mul(subgroupNumber(b), lanes);
  Value lastRow = b.sub(numRows, b.index(1));
  b.forLoop(
      b.index(0), b.opaqueIndex(queries * quads / invocations), b.index(1),
      [&](Value round) {
        Value number =
            b.add(b.mul(round, invocations), b.add(firstOfSubgroup, lane));
        Value line = b.div(number, quads), quad = b.rem(number, quads),
              query = b.add(firstQuery, line);
        Value readRow = b.min(b.div(query, group()), lastRow),
              ofHead = b.add(b.mul(kvHead, group()), b.rem(query, group()));
        Value index = b.add(
            b.mul(readRow, views.query.rowStride / 4),
            b.add(b.mul(ofHead, quads), b.add(quad, views.query.offset / 4)));
        Value loaded = input.load(index);
        Value magnitude = overLanes(b, largerMagnitude(b, loaded, b.f32(0.0)),
                                    quads, lanes, largerOf);
        HalfScale scale = scaleToHalf(b, magnitude);
        b.store(b.narrow(b.mul(loaded, b.splat(scale.scale))), blocks,
                b.add(b.mul(line, lineVectors()), quad));
        b.store(scale.inverse, inverses, line);
      });
  b.barrier();
  SmallVector<Value> matrices;
  Value first = b.mul(firstLine, lineVectors());
  for (int64_t block = 0; block < columnBlocks(); ++block)
    matrices.push_back(loadMatrix(b, MatrixUse::Left, blocks,
                                  b.add(first, block * kMatrixSize / 4),
                                  lineVectors(), MatrixOrder::Rows));
  scale = b.mul(b.load(inverses, b.add(firstLine, matrixRow)),
                b.f32(sdpa.getScale().convertToFloat()));
  b.barrier();
  return matrices;
}

/// The invocation's share of a block: of its keys, then of its values. Keys
/// beyond the last are read as that one.
SmallVector<Value> SdpaMatrixKernel::loadBlock(Value firstKey) {
  auto f16x4 = VectorType::get(4, b.getF16Type());
  SmallVector<Value> loaded;
  for (const View *view : {&views.key, &views.value}) {
    Value memref = unit.bind(view->slice, f16x4, program::Access::Read);
    for (int64_t i = 0; i < loadsPerBlock(); ++i) {
      Value number = b.add(local, i * invocations);
      Value key = b.min(b.add(firstKey, b.div(number, quads)),
                        b.sub(numKeys, b.index(1)));
      Value line = b.add(b.mul(kvHead, capacity), key);
      loaded.push_back(
          b.load(memref, b.add(b.mul(line, quads), b.rem(number, quads))));
    }
  }
  return loaded;
}

/// Keys, then values.
void SdpaMatrixKernel::storeBlock(ValueRange loaded) {
  for (auto [i, vector] : llvm::enumerate(loaded)) {
    Value number = b.add(local, static_cast<int64_t>(i) * invocations);
    b.store(vector, blocks,
            b.add(b.mul(b.div(number, quads), lineVectors()),
                  b.rem(number, quads)));
  }
}

//===----------------------------------------------------------------------===//
// One block of keys
//===----------------------------------------------------------------------===//

void SdpaMatrixKernel::storeScores(ArrayRef<Value> queryMatrices) {
  for (int64_t block = 0; block < keyBlocks(); ++block) {
    Value sum = zeroMatrix(b);
    for (auto [number, query] : llvm::enumerate(queryMatrices)) {
      int64_t at = block * kMatrixSize * lineVectors() +
                   static_cast<int64_t>(number) * kMatrixSize / 4;
      Value key = loadMatrix(b, MatrixUse::Right, blocks, b.index(at),
                             lineVectors(), MatrixOrder::Columns);
      sum = multiplyAdd(b, query, key, sum);
    }
    storeMatrix(b, sum, scores, b.add(firstScore, block * kMatrixSize / 4),
                scoreVectors());
  }
  subgroupBarrier(b);
}

/// Scale, cap and mask of the products with key `firstKey` and the next three.
Value SdpaMatrixKernel::finishScores(Value products, Value firstKey) {
  Value scores = b.mul(products, b.splat(scale));
  if (double cap = sdpa.getSoftCap().convertToFloat())
    scores = softCap(b, scores, cap);
  SmallVector<Value> masked;
  for (int64_t i = 0; i < 4; ++i) {
    Value key = b.add(firstKey, i), isSeen = b.less(key, end);
    if (begin)
      isSeen = b.logicalAnd(isSeen, b.less(begin, b.add(key, 1)));
    masked.push_back(
        b.select(isSeen, b.extract(scores, i), b.f32(kHiddenScore)));
  }
  return b.vector(masked);
}

Value SdpaMatrixKernel::overRow(Value mine, CombineLanes combine) {
  return overLanes(b, mine, lanesPerRow(),
                   context.getDevice().getSubgroupSize(), combine);
}

/// Turns the scores into weights, and puts the factors beside them that sums
/// of values shrink by.
void SdpaMatrixKernel::emitWeights(Value firstKey, Softmax &softmax) {
  Value column = b.mul(part, vectorsPerLane());
  Value score =
            b.add(firstScore, b.add(b.mul(matrixRow, scoreVectors()), column)),
        weight = b.add(firstWeight,
                       b.add(b.mul(matrixRow, weightVectors()), column)),
        key = b.add(firstKey, b.mul(column, 4));
  SmallVector<Value> own;
  Value most = b.constant(b.f32x4(), kLowestScore);
  for (int64_t i = 0; i < vectorsPerLane(); ++i) {
    own.push_back(
        finishScores(b.load(scores, b.add(score, i)), b.add(key, 4 * i)));
    most = b.max(most, own.back());
  }
  Value ofLane = b.max(b.max(b.extract(most, 0), b.extract(most, 1)),
                       b.max(b.extract(most, 2), b.extract(most, 3)));
  Value before = softmax.maximum;
  softmax.maximum = b.max(before, overRow(ofLane, largerOf));
  Value factor = b.exp(b.sub(before, softmax.maximum));
  Value sums = b.constant(b.f32x4(), 0.0);
  for (int64_t i = 0; i < vectorsPerLane(); ++i) {
    Value weightsOfFour = b.exp(b.sub(own[i], b.splat(softmax.maximum)));
    sums = b.add(sums, weightsOfFour);
    b.store(b.narrow(weightsOfFour), weights, b.add(weight, i));
  }
  softmax.sum = b.fma(softmax.sum, factor, b.sumOfLanes(sums));
  int64_t factorsPerLane = kMatrixSize / 4 / lanesPerRow();
  Value place = b.add(firstFactor, b.add(b.mul(matrixRow, factorVectors()),
                                         b.mul(part, factorsPerLane)));
  for (int64_t i = 0; i < factorsPerLane; ++i)
    b.store(b.splat(factor), factors, b.add(place, i));
  subgroupBarrier(b);
}

void SdpaMatrixKernel::addValues(Softmax &softmax) {
  Value shrink = loadMatrix(b, MatrixUse::Sum, factors, firstFactor,
                            factorVectors(), MatrixOrder::Rows);
  for (Value &sum : softmax.values)
    sum = multiplyElements(b, sum, shrink);
  for (int64_t block = 0; block < keyBlocks(); ++block) {
    Value weight = loadMatrix(b, MatrixUse::Left, weights,
                              b.add(firstWeight, block * kMatrixSize / 4),
                              weightVectors(), MatrixOrder::Rows);
    for (auto [number, sum] : llvm::enumerate(softmax.values)) {
      int64_t at = (keys + block * kMatrixSize) * lineVectors() +
                   static_cast<int64_t>(number) * kMatrixSize / 4;
      Value value = loadMatrix(b, MatrixUse::Right, blocks, b.index(at),
                               lineVectors(), MatrixOrder::Rows);
      sum = multiplyAdd(b, weight, value, sum);
    }
  }
}

/// What is carried: maximum, sum, the sums of values, then what is loaded.
SmallVector<Value> SdpaMatrixKernel::addBlock(Value firstKey,
                                              ValueRange carried,
                                              ArrayRef<Value> queryMatrices) {
  Softmax softmax = {carried[0], carried[1],
                     SmallVector<Value>(carried.slice(2, columnBlocks()))};
  storeBlock(carried.drop_front(2 + columnBlocks()));
  b.barrier();
  SmallVector<Value> loaded = loadBlock(b.add(firstKey, keys));
  storeScores(queryMatrices);
  emitWeights(firstKey, softmax);
  addValues(softmax);
  b.barrier();
  SmallVector<Value> next = {softmax.maximum, softmax.sum};
  next.append(softmax.values);
  next.append(loaded);
  return next;
}

//===----------------------------------------------------------------------===//
// Results
//===----------------------------------------------------------------------===//

/// Two matrices at a time, through the memory of the scores; each lane has the
/// row there whose sum of weights it knows.
void SdpaMatrixKernel::storeResult(const Softmax &softmax) {
  Value sum = overRow(softmax.sum, sumOf);
  Value inverse = b.splat(inverseSum(b, sum));
  Value column = b.mul(part, vectorsPerLane());
  Value place =
      b.add(firstScore, b.add(b.mul(matrixRow, scoreVectors()), column));
  Value firstQuad =
      b.add(b.mul(row, result.rowStride / 4),
            b.add(b.mul(head, quads), b.add(column, result.offset / 4)));
  ActivationRows output(unit, result, program::Access::Write);
  for (int64_t block = 0; block < columnBlocks(); block += keyBlocks()) {
    for (int64_t i = 0; i < keyBlocks(); ++i)
      storeMatrix(b, softmax.values[block + i], scores,
                  b.add(firstScore, i * kMatrixSize / 4), scoreVectors());
    subgroupBarrier(b);
    b.ifThen(b.less(row, numRows), [&] {
      for (int64_t i = 0; i < vectorsPerLane(); ++i)
        output.store(b.mul(b.load(scores, b.add(place, i)), inverse),
                     b.add(firstQuad, block * kMatrixSize / 4 + i));
    });
    subgroupBarrier(b);
  }
}

void SdpaMatrixKernel::emit() {
  place();
  SmallVector<Value> queryMatrices = loadQueries();
  SmallVector<Value> initial = {b.f32(kLowestScore), b.f32(0.0)};
  initial.append(columnBlocks(), zeroMatrix(b));
  initial.append(loadBlock(firstKey));
  SmallVector<Value> done =
      b.forLoop(firstKey, endKey, b.index(keys), initial,
                [&](Value firstKey, ValueRange carried) {
                  return addBlock(firstKey, carried, queryMatrices);
                });
  storeResult({done[0], done[1],
               SmallVector<Value>(ArrayRef(done).slice(2, columnBlocks()))});
  int64_t groups = llvm::divideCeil(mostRows * group(), queries);
  std::string label =
      llvm::formatv("sdpa {0}/{1}x{2}", heads, kvHeads, 4 * quads);
  unit.finish(label + " rows " + std::to_string(mostRows) + " matrix",
              {groups, kvHeads, 1}, std::nullopt,
              label + " matrix " + std::to_string(queries));
}

} // namespace

LogicalResult lowerSdpaMatrix(RegionContext &context) {
  graph::RegionOp region = context.getRegion();
  SdpaResult result;
  graph::SdpaOp sdpa = findSdpa(context, result);
  if (!sdpa || result.codes)
    return region.emitOpError(
        "of kind sdpa_matrix must yield the floats of one sdpa");
  FailureOr<SdpaViews> views = sdpaViews(context, sdpa);
  if (failed(views))
    return failure();
  auto isHalfState = [](const View &view) {
    return view.stateType && view.stateType.getElementType().isF16();
  };
  if (!isHalfState(views->key) || !isHalfState(views->value) || views->bias ||
      views->ranges || views->relative)
    return region.emitOpError("of kind sdpa_matrix reads a cache of f16, "
                              "without biases and ranges");
  SdpaMatrixKernel(context, sdpa, *views, *result.floats).emit();
  return success();
}

} // namespace llmc::codegen
