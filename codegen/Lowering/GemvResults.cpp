// SPDX-License-Identifier: Apache-2.0
//
// The results of the GEMV kernel: sums of all shares, the epilogue, and who
// stores what.

#include "codegen/Lowering/GemvKernel.h"

namespace llmc::codegen {

/// Of result number `result`: the tile and row together, and the quad in the
/// tile.
std::pair<Value, Value> GemvKernel::partialOf(Value result) {
  if (tilesAtOnce * tileRows == 1)
    return {b.index(0), result};
  return {b.div(result, quadsAtOnce), b.rem(result, quadsAtOnce)};
}

/// Of result number `result`: the row of the tile, and the quad of the weight.
std::pair<Value, Value> GemvKernel::placeOf(Value result) {
  auto [row, quadInTile] = partialOf(result);
  Value quad = b.add(firstQuad, quadInTile);
  if (tilesAtOnce > 1) {
    quad = b.add(quad, b.mul(b.div(row, tileRows), kQuadsPerTile));
    row = b.rem(row, tileRows);
  }
  return {row, quad};
}

/// Result number `result`; of this lane's results number `ofLane`.
LogicalResult GemvKernel::storeResult(Value result, int64_t ofLane) {
  auto [row, quad] = placeOf(result);
  Value factor;
  for (auto [number, ofRow] : llvm::enumerate(resultFactors))
    factor =
        factor ? b.select(b.equal(row, b.index(number)), ofRow, factor) : ofRow;
  Value resultRow = b.add(firstRow, row);
  if (experts) {
    quad = b.add(quad, experts->firstQuadOf(resultRow));
    resultRow = experts->rowOf(resultRow);
  }
  ElementwiseEmitter own(unit, resultRow, quad),
      &emitter = epilogue ? *epilogue : own;
  for (auto [number, linear] : llvm::enumerate(parts.linears)) {
    size_t last = number - earlierResults.size();
    Value sum =
        number < earlierResults.size()
            ? earlierResults[number][ofLane]
            : sumOverShares(static_cast<int64_t>(last) * tileRows, result);
    emitter.map(linear->getResult(0),
                factor ? b.mul(sum, b.splat(factor)) : sum);
  }
  for (unsigned number = 0; number < context.getRegion().getNumResults();
       ++number)
    if (failed(emitter.storeResult(number)))
      return failure();
  return success();
}

/// Of the lane's result; lanes beyond the results load those of the first, so
/// that there is no branch. One subgroup has no barrier to wait at meanwhile.
LogicalResult GemvKernel::preloadOperands() {
  if (!takesOneTurn || lanes == subgroup || numResults() > lanes)
    return success();
  Value isResult = b.less(lane, b.index(numResults()));
  auto [row, quad] = placeOf(b.select(isResult, lane, b.index(0)));
  int64_t usedQuads = parts.usedQuads();
  if (usedQuads % (quadsAtOnce * tilesAtOnce) != 0)
    quad = b.min(quad, b.index(usedQuads - 1));
  epilogue.emplace(unit, b.add(firstRow, row), quad);
  return epilogue->preload(parts.linears);
}

LogicalResult GemvKernel::reduceAndStore() {
  int64_t usedQuads = parts.usedQuads();
  LogicalResult ok = success();
  for (int64_t base = 0; base < numResults(); base += lanes) {
    Value result = b.add(lane, base);
    auto [row, quad] = placeOf(result);
    Value stores = b.less(result, b.index(numResults()));
    if (usedQuads % (quadsAtOnce * tilesAtOnce) != 0)
      stores = b.logicalAnd(stores, b.less(quad, b.index(usedQuads)));
    if (numRows % tileRows != 0)
      stores =
          b.logicalAnd(stores, b.less(b.add(firstRow, row), b.index(numRows)));
    if (mayBeElsewhere)
      stores = b.logicalAnd(stores, b.less(begin, groups));
    b.ifThen(stores, [&] { ok = storeResult(result, base / lanes); });
    if (failed(ok))
      return failure();
  }
  return success();
}

} // namespace llmc::codegen
