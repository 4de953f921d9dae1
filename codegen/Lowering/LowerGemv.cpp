// SPDX-License-Identifier: Apache-2.0
//
// Linears for few rows. A workgroup computes 16 rows of the weight (a tile,
// four quads) for up to eight rows of the input: a lane takes one quad and
// every n-th group of columns, so that each weight is read once, 64 contiguous
// bytes for four lanes; the lanes' sums are added in workgroup memory in a
// fixed order. A norm of the input costs nothing but its gain: the sum of
// squares is taken along, and the result is scaled.

#include "codegen/Lowering/Elementwise.h"
#include "codegen/Lowering/GemvScaling.h"
#include "codegen/Lowering/LinearRegion.h"

#include <algorithm>

namespace llmc::codegen {

namespace {

class GemvKernel {
public:
  GemvKernel(RegionContext &context, LinearRegion &parts)
      : context(context), parts(parts),
        unit(context, context.getConfig().getWorkgroup()), b(unit.builder()),
        lanes(context.getConfig().getWorkgroup()[0]),
        tileRows(context.getConfig().getTile()[0]),
        kStep(context.getConfig().getTile()[2]),
        numRows(context.rowsOf(parts.resultType())) {}

  LogicalResult emit();

private:
  /// What a lane carries through its loop: sums[linear * tileRows + row], then
  /// a sum of squares per row.
  struct Carried {
    SmallVector<Value> sums;
    SmallVector<Value> squares;
    SmallVector<Value> flat() const {
      SmallVector<Value> values(sums);
      values.append(squares);
      return values;
    }
  };

  int64_t numSums() const {
    return static_cast<int64_t>(parts.linears.size()) * tileRows;
  }
  Carried unflatten(ValueRange values) const {
    return {SmallVector<Value>(values.take_front(numSums())),
            SmallVector<Value>(values.drop_front(numSums()))};
  }
  bool sumsCodes() const {
    return decoders.front().hasScale() && tileRows <= kMaxGroupSumRows;
  }

  Carried addGroup(Value group, Carried carried);
  Carried addCodesOfGroup(Value group, ArrayRef<WeightDecoder::Group> data,
                          Carried carried);
  /// kStep columns from `firstUnit` of the group on. `inputSums` (one vector a
  /// row) is null or grows by the inputs.
  void addStep(Value group, Value firstUnit,
               ArrayRef<WeightDecoder::Group> data, bool scaled,
               Carried &carried, SmallVector<Value> *inputSums);
  /// Runs addStep over the whole group, in a loop when the group is longer than
  /// a step.
  void addSteps(Value group, ArrayRef<WeightDecoder::Group> data, bool scaled,
                Carried &carried, SmallVector<Value> *inputSums);
  LogicalResult reduceAndStore(const Carried &carried);
  LogicalResult storeResult(Value result, Value partials, Value squares);

  RegionContext &context;
  LinearRegion &parts;
  KernelUnit unit;
  KernelBuilder &b;
  int64_t lanes, tileRows, kStep, numRows;
  std::vector<WeightDecoder> decoders;
  std::optional<LinearInput> input;
  SmallVector<Value> rowBases;
  Value lane, tile, firstRow;
};

void GemvKernel::addStep(Value group, Value firstUnit,
                         ArrayRef<WeightDecoder::Group> data, bool scaled,
                         Carried &carried, SmallVector<Value> *inputSums) {
  int64_t unitColumns = decoders.front().unitColumns(),
          blockColumns = std::max<int64_t>(4, unitColumns);
  Value firstQuad = b.add(b.mul(group, decoders.front().columnsPerGroup() / 4),
                          unitColumns >= 4 ? b.mul(firstUnit, unitColumns / 4)
                                           : b.div(firstUnit, 4 / unitColumns));
  for (int64_t block = 0; block < kStep; block += blockColumns) {
    SmallVector<SmallVector<Value>> columns(decoders.size());
    for (auto [number, decoder] : llvm::enumerate(decoders))
      for (int64_t column = block; column < block + blockColumns;
           column += unitColumns) {
        Value place = b.add(firstUnit, column / unitColumns);
        columns[number].append(
            scaled ? decoder.loadWeights(group, data[number], place)
                   : decoder.loadCodes(group, data[number], place));
      }
    for (int64_t column = 0; column < blockColumns; column += 4) {
      Value quad = b.add(firstQuad, (block + column) / 4),
            gain = input->loadGain(quad);
      for (int64_t row = 0; row < tileRows; ++row) {
        Value x = input->load(rowBases[row], quad);
        if (gain) {
          for (int64_t i = 0; i < 4; ++i)
            carried.squares[row] =
                b.fma(b.extract(x, i), b.extract(x, i), carried.squares[row]);
          x = b.mul(x, gain);
        }
        if (inputSums)
          (*inputSums)[row] = b.add((*inputSums)[row], x);
        for (unsigned number = 0; number < decoders.size(); ++number) {
          Value &sum = carried.sums[number * tileRows + row];
          sum =
              accumulate(b, ArrayRef(columns[number]).slice(column, 4), x, sum);
        }
      }
    }
  }
}

void GemvKernel::addSteps(Value group, ArrayRef<WeightDecoder::Group> data,
                          bool scaled, Carried &carried,
                          SmallVector<Value> *inputSums) {
  const WeightDecoder &decoder = decoders.front();
  int64_t steps = decoder.columnsPerGroup() / kStep;
  if (steps == 1)
    return addStep(group, b.index(0), data, scaled, carried, inputSums);
  SmallVector<Value> initial = carried.flat();
  if (inputSums)
    initial.append(*inputSums);
  auto body = [&](Value step, ValueRange values) {
    Carried now = unflatten(values.drop_back(inputSums ? tileRows : 0));
    SmallVector<Value> sumsNow(values.take_back(inputSums ? tileRows : 0));
    addStep(group, b.mul(step, kStep / decoder.unitColumns()), data, scaled,
            now, inputSums ? &sumsNow : nullptr);
    SmallVector<Value> next = now.flat();
    next.append(sumsNow);
    return next;
  };
  SmallVector<Value> done =
      b.forLoop(b.index(0), b.opaqueIndex(steps), b.index(1), initial, body);
  carried = unflatten(ValueRange(done).drop_back(inputSums ? tileRows : 0));
  if (inputSums)
    inputSums->assign(done.end() - tileRows, done.end());
}

/// sum += scale * (codes · x) + offset * (sum of x)
GemvKernel::Carried
GemvKernel::addCodesOfGroup(Value group, ArrayRef<WeightDecoder::Group> data,
                            Carried carried) {
  Value zero = b.constant(b.f32x4(), 0.0);
  Carried ofGroup{SmallVector<Value>(numSums(), zero), carried.squares};
  SmallVector<Value> inputSums(tileRows, zero);
  bool hasOffset = decoders.front().hasOffset();
  addSteps(group, data, /*scaled=*/false, ofGroup,
           hasOffset ? &inputSums : nullptr);
  for (int64_t row = 0; row < tileRows; ++row) {
    Value inputSum =
        hasOffset ? b.splat(b.sumOfLanes(inputSums[row])) : Value();
    for (unsigned number = 0; number < decoders.size(); ++number) {
      Value &sum = carried.sums[number * tileRows + row];
      sum =
          b.fma(data[number].scale, ofGroup.sums[number * tileRows + row], sum);
      if (hasOffset)
        sum = b.fma(data[number].offset, inputSum, sum);
    }
  }
  carried.squares = ofGroup.squares;
  return carried;
}

GemvKernel::Carried GemvKernel::addGroup(Value group, Carried carried) {
  SmallVector<WeightDecoder::Group> data;
  for (WeightDecoder &decoder : decoders)
    data.push_back(decoder.loadGroup(group));
  if (sumsCodes())
    return addCodesOfGroup(group, data, std::move(carried));
  addSteps(group, data, /*scaled=*/true, carried, nullptr);
  return carried;
}

/// Result number `result` of the workgroup's 4 * tileRows: row result / 4, quad
/// result % 4 of the tile.
LogicalResult GemvKernel::storeResult(Value result, Value partials,
                                      Value squares) {
  Value row = b.div(result, kQuadsPerTile),
        quadInTile = b.rem(result, kQuadsPerTile);
  auto sumOverShares = [&](Value memref, Value section, Type type) {
    Value first = b.add(b.mul(section, lanes), quadInTile);
    Value zero = b.constant(type, 0.0);
    return b.forLoop(
        first, b.add(first, b.opaqueIndex(lanes)), b.index(kQuadsPerTile),
        ValueRange{zero}, [&](Value place, ValueRange carried) {
          return SmallVector<Value>{b.add(carried[0], b.load(memref, place))};
        })[0];
  };
  Value inverse;
  if (parts.norm) {
    Value mean =
        b.mul(sumOverShares(squares, row, b.getF32Type()),
              b.f32(1.0 / static_cast<double>(parts.layout().columns)));
    Value root =
        b.sqrt(b.add(mean, b.f32(parts.norm.getEpsilon().convertToFloat())));
    inverse = b.splat(b.div(b.f32(1.0), root));
  }
  Value quad = b.add(b.mul(tile, kQuadsPerTile), quadInTile);
  ElementwiseEmitter emitter(unit, b.add(firstRow, row), quad);
  for (auto [number, linear] : llvm::enumerate(parts.linears)) {
    Value sum = sumOverShares(
        partials, b.add(row, static_cast<int64_t>(number) * tileRows),
        b.f32x4());
    emitter.map(linear.getResult(), inverse ? b.mul(sum, inverse) : sum);
  }
  for (unsigned number = 0; number < context.getRegion().getNumResults();
       ++number)
    if (failed(emitter.storeResult(number)))
      return failure();
  return success();
}

LogicalResult GemvKernel::reduceAndStore(const Carried &carried) {
  Value partials = b.workgroupMemory(numSums() * lanes, b.f32x4()), squares;
  if (parts.norm)
    squares = b.workgroupMemory(tileRows * lanes, b.getF32Type());
  for (auto [number, sum] : llvm::enumerate(carried.sums))
    b.store(sum, partials, b.add(lane, static_cast<int64_t>(number) * lanes));
  for (auto [row, sum] : llvm::enumerate(carried.squares))
    b.store(sum, squares, b.add(lane, static_cast<int64_t>(row) * lanes));
  b.barrier();

  int64_t numResults = tileRows * kQuadsPerTile,
          usedQuads = paddedRow(parts.layout().rows) / 4;
  LogicalResult ok = success();
  for (int64_t base = 0; base < numResults; base += lanes) {
    Value result = b.add(lane, base);
    Value quad =
        b.add(b.mul(tile, kQuadsPerTile), b.rem(result, kQuadsPerTile));
    Value row = b.add(firstRow, b.div(result, kQuadsPerTile));
    Value stores = b.less(result, b.index(numResults));
    if (usedQuads % kQuadsPerTile != 0)
      stores = b.logicalAnd(stores, b.less(quad, b.index(usedQuads)));
    if (numRows % tileRows != 0)
      stores = b.logicalAnd(stores, b.less(row, b.index(numRows)));
    b.ifThen(stores, [&] { ok = storeResult(result, partials, squares); });
    if (failed(ok))
      return failure();
  }
  return success();
}

LogicalResult GemvKernel::emit() {
  FailureOr<LinearInput> bound = LinearInput::bind(unit, parts);
  if (failed(bound))
    return failure();
  input = *bound;
  int64_t rowTiles = (numRows + tileRows - 1) / tileRows;
  lane = b.localId();
  tile = b.groupId(gpu::Dimension::x);
  firstRow = rowTiles == 1 ? b.index(0)
                           : b.mul(b.groupId(gpu::Dimension::y), tileRows);
  Value quad = b.add(b.mul(tile, kQuadsPerTile), b.rem(lane, kQuadsPerTile));
  for (const WeightView &weight : parts.weights)
    decoders.emplace_back(unit, weight, quad, kStep);
  for (int64_t row = 0; row < tileRows; ++row)
    rowBases.push_back(input->rowBase(b.add(firstRow, row),
                                      numRows % tileRows != 0 ? numRows : 0));

  // A workgroup of rows beyond the step's takes no rounds.
  Value groups =
      b.select(b.less(firstRow, unit.numRows(parts.resultType())),
               b.opaqueIndex(decoders.front().numGroups()), b.index(0));
  Carried start{SmallVector<Value>(numSums(), b.constant(b.f32x4(), 0.0)),
                SmallVector<Value>(parts.norm ? tileRows : 0, b.f32(0.0))};
  SmallVector<Value> sums = b.forLoop(
      b.div(lane, kQuadsPerTile), groups, b.index(lanes / kQuadsPerTile),
      start.flat(), [&](Value group, ValueRange carried) {
        return addGroup(group, unflatten(carried)).flat();
      });
  if (failed(reduceAndStore(unflatten(sums))))
    return failure();
  unit.finish(parts.label("gemv", numRows),
              {parts.layout().paddedRows / kTileRows, rowTiles, 1});
  return success();
}

} // namespace

LogicalResult lowerGemv(RegionContext &context) {
  FailureOr<LinearRegion> parts = analyzeLinear(context);
  if (failed(parts))
    return failure();
  return GemvKernel(context, *parts).emit();
}

} // namespace llmc::codegen
