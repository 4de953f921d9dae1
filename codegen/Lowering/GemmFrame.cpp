// SPDX-License-Identifier: Apache-2.0
//
// The frame of the GEMM kernels: ownership, guards, stores.

#include "codegen/Lowering/GemmFrame.h"

namespace llmc::codegen {

RowCursors::RowCursors(KernelBuilder &b, Value first, int64_t count,
                       int64_t stride, int64_t clampTo,
                       std::function<Value(Value row)> baseOf)
    : b(&b), first(first), stride(stride), baseOf(std::move(baseOf)) {
  if (clampTo == 0)
    return;
  auto clamped = [&](int64_t row) {
    return b.min(b.add(first, row), b.index(clampTo - 1));
  };
  if (count == 1) {
    this->first = clamped(0);
    return;
  }
  for (int64_t row = 0; row < count; ++row)
    bases.push_back(this->baseOf(clamped(row)));
}

Value RowCursors::start() const {
  return bases.empty() ? baseOf(first) : b->index(0);
}

Value RowCursors::at(Value cursor, int64_t row) const {
  return bases.empty() ? b->add(cursor, row * stride)
                       : b->add(bases[row], cursor);
}

GemmFrame::GemmFrame(RegionContext &context, LinearRegion &parts)
    : unit(context, context.getConfig().getWorkgroup()), b(unit.builder()),
      lanesX(context.getConfig().getWorkgroup()[0]),
      lanesY(context.getConfig().getWorkgroup()[1]),
      tileRows(context.getConfig().getTile()[0]),
      tileQuads(context.getConfig().getTile()[1] / 4),
      kStep(context.getConfig().getTile()[2]),
      numRows(context.rowsOf(parts.resultType())), context(context),
      parts(parts) {
  Value rowTile = b.add(b.mul(b.groupId(gpu::Dimension::y), lanesY),
                        b.localId(gpu::Dimension::y));
  Value lane = b.add(b.mul(b.groupId(gpu::Dimension::x), lanesX),
                     b.localId(gpu::Dimension::x));
  setPlace(b.mul(rowTile, tileRows), b.mul(lane, tileQuads));
  if (parts.linears.size() > 1)
    keepPlace();
}

void GemmFrame::setPlace(Value row, Value quad) {
  firstRow = row;
  firstQuad = quad;
  int64_t numQuads = parts.layout().numQuads();
  clampedQuad = numQuads % (lanesX * tileQuads) == 0
                    ? firstQuad
                    : b.min(firstQuad, b.index(numQuads - tileQuads));
  hasRows = b.less(firstRow, unit.numRows(parts.resultType()));
}

Value GemmFrame::localNumber() {
  return b.add(b.mul(b.localId(gpu::Dimension::y), lanesX),
               b.localId(gpu::Dimension::x));
}

void GemmFrame::keepPlace() {
  waitingPlaces = b.workgroupMemory(lanesX * lanesY, b.i32x2());
  b.store(b.vector({b.toI32(firstRow), b.toI32(firstQuad)}), waitingPlaces,
          localNumber());
}

/// Compilers see through what is stored and loaded, but not beyond a barrier.
void GemmFrame::takePlace() {
  b.barrier();
  Value place = b.load(waitingPlaces, localNumber());
  setPlace(b.toIndex(b.extract(place, 0)), b.toIndex(b.extract(place, 1)));
}

Value GemmFrame::bound(Value start, int64_t distance) {
  return b.select(hasRows, b.add(start, b.opaqueIndex(distance)), start);
}

Value GemmFrame::waitingPlace(int64_t number) {
  // The invocation's place in its workgroup, from what is alive anyway.
  Value x = b.rem(b.div(firstQuad, tileQuads), lanesX),
        y = b.rem(b.div(firstRow, tileRows), lanesY);
  return b.add(b.add(b.mul(y, lanesX), x), number * lanesX * lanesY);
}

void GemmFrame::addResults(ArrayRef<Value> results) {
  if (waitingPlaces)
    takePlace();
  if (waiting.size() + 1 == parts.linears.size()) {
    lastResults.assign(results.begin(), results.end());
    return;
  }
  waiting.push_back(
      b.workgroupMemory(resultsPerLinear() * lanesX * lanesY, b.f32x4()));
  for (auto [number, result] : llvm::enumerate(results))
    b.store(result, waiting.back(), waitingPlace(static_cast<int64_t>(number)));
}

Value GemmFrame::guardOf(int64_t quad, int64_t row) {
  int64_t usedQuads = paddedRow(parts.layout().rows) / 4;
  Value stores;
  if (usedQuads % (lanesX * tileQuads) != 0)
    stores = b.less(b.add(firstQuad, quad), b.index(usedQuads));
  if (!rowsAreWhole()) {
    Value hasRow = b.less(b.add(firstRow, row), b.index(numRows));
    stores = stores ? b.logicalAnd(stores, hasRow) : hasRow;
  }
  return stores;
}

void GemmFrame::mapLinears(ElementwiseEmitter &emitter, int64_t quad,
                           int64_t row) {
  int64_t number = quad * tileRows + row;
  auto scaled = [&](Value result) {
    return rowScales.empty() ? result : b.mul(result, b.splat(rowScales[row]));
  };
  for (auto [linear, memory] : llvm::zip(parts.linears, waiting))
    emitter.map(linear->getResult(0),
                scaled(b.load(memory, waitingPlace(number))));
  emitter.map(parts.linears.back()->getResult(0), scaled(lastResults[number]));
}

LogicalResult GemmFrame::storeFloats() {
  LogicalResult ok = success();
  for (int64_t row = 0; row < tileRows; ++row)
    for (int64_t quad = 0; quad < tileQuads; ++quad) {
      auto store = [&] {
        ElementwiseEmitter emitter(unit, b.add(firstRow, row),
                                   b.add(firstQuad, quad));
        mapLinears(emitter, quad, row);
        ok = emitter.storeResults();
      };
      if (Value stores = guardOf(quad, row))
        b.ifThen(stores, store);
      else
        store();
      if (failed(ok))
        return failure();
    }
  return success();
}

/// All invocations take part, wherever their rows and quads are, so what the
/// epilogue reads beside the sums is read where there is something.
LogicalResult GemmFrame::storeCodes(const QuantizedResult &result) {
  int64_t partQuad = context.firstColumn() / 4;
  if (lanesX * tileQuads % kQuadsPerBlock != 0 ||
      partQuad % kQuadsPerBlock != 0 || result.hasRowScales())
    return context.getRegion().emitOpError(
               "of kind gemm quantizes blocks of 32 columns that one workgroup "
               "has; found group ")
           << result.group << ", " << lanesX * tileQuads * 4
           << " columns a workgroup, the first " << 4 * partQuad;
  // Few rows at a time: the others wait as sums, in fewer registers.
  int64_t rowsOfQuad = tileRows % 4 == 0 ? 4 : 1;
  QuantizedStore store(unit, result);
  for (int64_t first = 0; first < tileRows; first += rowsOfQuad) {
    SmallVector<SharedQuad> quads;
    for (int64_t quad = 0; quad < tileQuads; ++quad) {
      FailureOr<SharedQuad> shared =
          sharedQuad(result, first, rowsOfQuad, quad);
      if (failed(shared))
        return failure();
      quads.push_back(std::move(*shared));
    }
    store.storeShared(quads, tileQuads * lanesX * lanesY);
  }
  return success();
}

/// Rows of one quad, the first of which is `first`.
FailureOr<SharedQuad> GemmFrame::sharedQuad(const QuantizedResult &result,
                                            int64_t first, int64_t count,
                                            int64_t quad) {
  SharedQuad shared = {{},
                       b.add(firstRow, first),
                       b.add(firstQuad, context.firstColumn() / 4 + quad),
                       b.add(b.mul(waitingPlace(0), tileQuads), quad),
                       guardOf(quad, first)};
  for (int64_t row = first; row < first + count; ++row) {
    Value readRow = b.add(firstRow, row);
    if (!rowsAreWhole())
      readRow = b.min(readRow, b.index(numRows - 1));
    ElementwiseEmitter emitter(unit, readRow, b.add(clampedQuad, quad));
    mapLinears(emitter, quad, row);
    FailureOr<Value> value = emitter.evaluate(result.input);
    if (failed(value))
      return failure();
    shared.values.push_back(*value);
  }
  return shared;
}

LogicalResult GemmFrame::storeAndFinish() {
  std::optional<QuantizedResult> quantized = findQuantizedResult(context);
  bool hasFloats = context.getRegion().getNumResults() > (quantized ? 3 : 0);
  if (hasFloats && failed(storeFloats()))
    return failure();
  if (quantized && failed(storeCodes(*quantized)))
    return failure();
  int64_t groupRows = tileRows * lanesY, groupQuads = lanesX * tileQuads;
  std::string label = parts.label("gemm", numRows);
  unit.finish(quantized ? label + " quantized" : label,
              {(parts.layout().numQuads() + groupQuads - 1) / groupQuads,
               (numRows + groupRows - 1) / groupRows, 1});
  return success();
}

} // namespace llmc::codegen
