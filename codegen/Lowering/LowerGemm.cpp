// SPDX-License-Identifier: Apache-2.0
//
// Linears for many rows: an invocation computes a tile of rows x quads in
// registers, its workgroup neighbours in x the next quads, in y the next rows.
// Weights are decoded once for the tile's rows. There is no workgroup memory:
// caches serve the lanes that read the same.

#include "codegen/Lowering/Elementwise.h"
#include "codegen/Lowering/LinearRegion.h"

#include <algorithm>

namespace llmc::codegen {

namespace {

class GemmKernel {
public:
  GemmKernel(RegionContext &context, LinearRegion &parts)
      : context(context), parts(parts),
        unit(context, context.getConfig().getWorkgroup()), b(unit.builder()),
        lanesX(context.getConfig().getWorkgroup()[0]),
        lanesY(context.getConfig().getWorkgroup()[1]),
        tileRows(context.getConfig().getTile()[0]),
        tileQuads(context.getConfig().getTile()[1] / 4),
        kStep(context.getConfig().getTile()[2]),
        numRows(context.rowsOf(parts.resultType())) {}

  LogicalResult emit();

private:
  /// Sums are ordered [decoder][row]; decoders are ordered [linear][quad].
  using Sums = SmallVector<Value>;

  void addDecoders();
  Sums addGroup(Value group, ValueRange carried);
  Sums addStep(Value group, Value step, ArrayRef<WeightDecoder::Group> data,
               ValueRange carried);
  LogicalResult store(const Sums &sums);

  bool rowsAreWhole() const { return numRows % (tileRows * lanesY) == 0; }

  RegionContext &context;
  LinearRegion &parts;
  KernelUnit unit;
  KernelBuilder &b;
  int64_t lanesX, lanesY, tileRows, tileQuads, kStep, numRows;
  std::vector<WeightDecoder> decoders;
  SmallVector<Value> quads, rowBases;
  std::optional<LinearInput> input;
  Value firstRow;
};

void GemmKernel::addDecoders() {
  int64_t numQuads = parts.layout().numQuads();
  Value first = b.add(b.mul(b.groupId(gpu::Dimension::x), lanesX * tileQuads),
                      b.localId(gpu::Dimension::x));
  SmallVector<Value> readQuads;
  for (int64_t quad = 0; quad < tileQuads; ++quad) {
    quads.push_back(b.add(first, quad * lanesX));
    // Invocations beyond the last quad read it and store nothing.
    bool isWhole = numQuads % (lanesX * tileQuads) == 0;
    readQuads.push_back(isWhole ? quads.back()
                                : b.min(quads.back(), b.index(numQuads - 1)));
  }
  for (const WeightView &weight : parts.weights)
    for (Value quad : readQuads)
      decoders.emplace_back(unit, weight, quad, kStep);
}

/// kStep columns: all rows' inputs are loaded, then one quad after another is
/// decoded and used.
GemmKernel::Sums GemmKernel::addStep(Value group, Value step,
                                     ArrayRef<WeightDecoder::Group> data,
                                     ValueRange carried) {
  const WeightDecoder &any = decoders.front();
  Value firstQuad =
      b.add(b.mul(group, any.columnsPerGroup() / 4), b.mul(step, kStep / 4));
  Value firstUnit = b.mul(step, kStep / any.unitColumns());
  Sums sums(carried);
  int64_t blockColumns = std::max<int64_t>(4, any.unitColumns());
  for (int64_t block = 0; block < kStep; block += blockColumns) {
    SmallVector<SmallVector<Value>> inputs(blockColumns / 4);
    for (int64_t quad = 0; quad < blockColumns / 4; ++quad)
      for (Value base : rowBases)
        inputs[quad].push_back(
            input->load(base, b.add(firstQuad, block / 4 + quad)));
    for (auto [number, decoder] : llvm::enumerate(decoders)) {
      SmallVector<Value> columns;
      for (int64_t column = block; column < block + blockColumns;
           column += decoder.unitColumns())
        columns.append(decoder.loadWeights(
            group, data[number],
            b.add(firstUnit, column / decoder.unitColumns())));
      for (auto [quad, x] : llvm::enumerate(inputs))
        for (int64_t row = 0; row < tileRows; ++row) {
          Value &sum = sums[number * tileRows + row];
          sum =
              accumulate(b, ArrayRef(columns).slice(4 * quad, 4), x[row], sum);
        }
    }
  }
  return sums;
}

GemmKernel::Sums GemmKernel::addGroup(Value group, ValueRange carried) {
  SmallVector<WeightDecoder::Group> data;
  for (WeightDecoder &decoder : decoders)
    data.push_back(decoder.loadGroup(group));
  int64_t steps = decoders.front().columnsPerGroup() / kStep;
  if (steps == 1)
    return addStep(group, b.index(0), data, carried);
  return b.forLoop(b.index(0), b.opaqueIndex(steps), b.index(1), carried,
                   [&](Value step, ValueRange now) {
                     return addStep(group, step, data, now);
                   });
}

LogicalResult GemmKernel::store(const Sums &sums) {
  int64_t usedQuads = paddedRow(parts.layout().rows) / 4;
  LogicalResult ok = success();
  for (int64_t quad = 0; quad < tileQuads; ++quad)
    for (int64_t row = 0; row < tileRows; ++row) {
      Value place = b.add(firstRow, row);
      auto storeOne = [&] {
        ElementwiseEmitter emitter(unit, place, quads[quad]);
        for (auto [number, linear] : llvm::enumerate(parts.linears))
          emitter.map(linear.getResult(),
                      sums[(number * tileQuads + quad) * tileRows + row]);
        for (unsigned number = 0;
             succeeded(ok) && number < context.getRegion().getNumResults();
             ++number)
          ok = emitter.storeResult(number);
      };
      Value stores;
      if (usedQuads % (lanesX * tileQuads) != 0)
        stores = b.less(quads[quad], b.index(usedQuads));
      if (!rowsAreWhole()) {
        Value hasRow = b.less(place, b.index(numRows));
        stores = stores ? b.logicalAnd(stores, hasRow) : hasRow;
      }
      if (stores)
        b.ifThen(stores, storeOne);
      else
        storeOne();
      if (failed(ok))
        return failure();
    }
  return success();
}

LogicalResult GemmKernel::emit() {
  FailureOr<LinearInput> bound = LinearInput::bind(unit, parts);
  if (failed(bound))
    return failure();
  input = *bound;
  int64_t groupRows = tileRows * lanesY, groupQuads = lanesX * tileQuads;
  Value rowTile = b.add(b.mul(b.groupId(gpu::Dimension::y), lanesY),
                        b.localId(gpu::Dimension::y));
  firstRow = b.mul(rowTile, tileRows);
  for (int64_t row = 0; row < tileRows; ++row)
    rowBases.push_back(
        input->rowBase(b.add(firstRow, row), rowsAreWhole() ? 0 : numRows));
  addDecoders();

  // Invocations of rows beyond the step's take no rounds. There is no barrier
  // that they could miss.
  Value groups =
      b.select(b.less(firstRow, unit.numRows(parts.resultType())),
               b.opaqueIndex(decoders.front().numGroups()), b.index(0));
  Sums zeros(decoders.size() * tileRows, b.constant(b.f32x4(), 0.0));
  Sums sums = b.forLoop(b.index(0), groups, b.index(1), zeros,
                        [&](Value group, ValueRange carried) {
                          return addGroup(group, carried);
                        });
  if (failed(store(sums)))
    return failure();
  int64_t numQuads = parts.layout().numQuads();
  unit.finish(parts.label("gemm", numRows),
              {(numQuads + groupQuads - 1) / groupQuads,
               (numRows + groupRows - 1) / groupRows, 1});
  return success();
}

} // namespace

LogicalResult lowerGemm(RegionContext &context) {
  FailureOr<LinearRegion> parts = analyzeLinear(context);
  if (failed(parts))
    return failure();
  if (parts->norm)
    return context.getRegion().emitOpError(
        "of kind gemm has a norm of its input, which only gemv computes");
  return GemmKernel(context, *parts).emit();
}

} // namespace llmc::codegen
