// SPDX-License-Identifier: Apache-2.0
//
// route: a workgroup takes a row. An invocation counts, for each of its
// experts, those that come before it; the count is the expert's place among the
// chosen ones. So nothing is sorted, and every place has one expert whatever
// the scores are.

#include "codegen/Lowering/RegionLowering.h"

#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MathExtras.h"

namespace llmc::codegen {

namespace {

/// Emits the kernel of one region.
class RouteKernel {
public:
  RouteKernel(RegionContext &context, graph::RouteOp route)
      : context(context), route(route),
        unit(context, context.getConfig().getWorkgroup()), b(unit.builder()) {}

  LogicalResult emit();

private:
  /// An expert of this invocation.
  struct Candidate {
    Value index, score, key;
    /// Experts that come before it.
    Value rank;
  };

  LogicalResult bindOperands();
  Value scoreOf(Value expert) { return b.load(scores, b.add(rowBase, expert)); }
  Value keyOf(Value score);
  void rankCandidates();
  Value magnitude(Value score) { return b.exp(b.sub(score, most)); }
  void storeExperts();
  Value total();
  void storeWeights();

  int64_t threads() { return context.getConfig().getWorkgroup().front(); }

  RegionContext &context;
  graph::RouteOp route;
  KernelUnit unit;
  KernelBuilder &b;
  int64_t numExperts = 0, numChosen = 0;
  View weightsView, expertsView;
  Value scores, row, rowBase, isActive, numRead;
  SmallVector<Candidate> candidates;
  /// The highest score.
  Value most;
  /// Of the chosen experts in order, exp(score - most), in workgroup memory.
  Value chosen;
};

LogicalResult RouteKernel::bindOperands() {
  auto type = cast<RankedTensorType>(route.getScores().getType());
  numExperts = type.getDimSize(1);
  numChosen =
      cast<RankedTensorType>(route.getExperts().getType()).getDimSize(1);
  FailureOr<View> view = context.view(route.getScores());
  if (failed(view))
    return failure();
  weightsView = context.resultView(0);
  expertsView = context.resultView(1);
  scores = unit.bind(view->slice, b.getF32Type(), program::Access::Read);
  row = b.groupId();
  rowBase = b.add(b.mul(row, view->rowStride), view->offset);
  isActive = b.less(row, unit.numRows(type));
  // Rows beyond the step's read nothing: barriers come later.
  numRead = b.select(isActive, b.opaqueIndex(numExperts), b.index(0));
  return success();
}

/// An i32 that is larger, unsigned, for the larger score; for equal scores it
/// is equal. NaNs are numbers, too.
Value RouteKernel::keyOf(Value score) {
  Value zero = b.f32(0.0);
  Value bits =
      b.bitcastToI32(b.select(b.equal(score, zero), zero, score)); // no -0
  Value flipped = b.bitOr(b.shiftRightSigned(bits, 31), b.i32(INT32_MIN));
  return b.bitXor(bits, flipped);
}

/// Of invocations with fewer experts than others, some are beyond the last one;
/// they read the last one's score.
void RouteKernel::rankCandidates() {
  Value last = b.index(numExperts - 1);
  for (int64_t first = 0; first < numExperts; first += threads()) {
    Candidate &candidate = candidates.emplace_back();
    candidate.index = b.add(b.localId(), first);
    candidate.score = scoreOf(b.min(candidate.index, last));
    candidate.key = keyOf(candidate.score);
  }
  SmallVector<Value> start(candidates.size(), b.i32(0));
  start.push_back(b.f32(-std::numeric_limits<float>::max()));
  SmallVector<Value> done = b.forLoop(
      b.index(0), numRead, b.index(1), start,
      [&](Value expert, ValueRange carried) {
        Value score = scoreOf(expert), key = keyOf(score);
        SmallVector<Value> next;
        for (auto [candidate, rank] : llvm::zip(candidates, carried)) {
          Value isFirst = b.logicalAnd(b.equal(key, candidate.key),
                                       b.less(expert, candidate.index));
          Value comesBefore = b.select(b.less(candidate.key, key),
                                       b.constant(b.getI1Type(), 1), isFirst);
          next.push_back(
              b.add(rank, b.select(comesBefore, b.i32(1), b.i32(0))));
        }
        next.push_back(b.max(carried.back(), score));
        return next;
      });
  most = done.pop_back_val();
  for (auto [candidate, rank] : llvm::zip_equal(candidates, done))
    candidate.rank = rank;
}

void RouteKernel::storeExperts() {
  chosen = b.workgroupMemory(numChosen, b.getF32Type());
  Value experts =
      unit.bind(expertsView.slice, b.getI32Type(), program::Access::Write);
  Value base =
      b.add(b.mul(row, expertsView.rowStride), b.index(expertsView.offset));
  for (const Candidate &candidate : candidates) {
    Value exists = b.less(candidate.index, b.index(numExperts));
    Value isChosen = b.less(candidate.rank, b.i32(numChosen));
    b.ifThen(b.logicalAnd(isActive, b.logicalAnd(exists, isChosen)), [&] {
      Value place = b.toIndex(candidate.rank);
      b.store(b.toI32(candidate.index), experts, b.add(base, place));
      b.store(magnitude(candidate.score), chosen, place);
    });
  }
  b.barrier();
}

/// What the weights are shares of: the chosen experts or all, added in order.
Value RouteKernel::total() {
  bool isNormalized = route.getNormalized();
  Value count = isNormalized ? b.opaqueIndex(numChosen) : numRead;
  return b.forLoop(b.index(0), count, b.index(1), ValueRange{b.f32(0.0)},
                   [&](Value place, ValueRange carried) {
                     Value part = isNormalized ? b.load(chosen, place)
                                               : magnitude(scoreOf(place));
                     return SmallVector<Value>{b.add(carried[0], part)};
                   })[0];
}

/// With zeros behind the last one up to a multiple of four.
void RouteKernel::storeWeights() {
  Value sum = total();
  Value weights =
      unit.bind(weightsView.slice, b.getF32Type(), program::Access::Write);
  Value base = b.add(b.mul(row, weightsView.rowStride), weightsView.offset);
  int64_t padded = paddedRow(numChosen);
  for (int64_t first = 0; first < padded; first += threads()) {
    Value place = b.add(b.localId(), first);
    Value stores = b.logicalAnd(isActive, b.less(place, b.index(padded)));
    b.ifThen(stores, [&] {
      Value share =
          b.div(b.load(chosen, b.min(place, b.index(numChosen - 1))), sum);
      Value isShare = b.less(place, b.index(numChosen));
      b.store(b.select(isShare, share, b.f32(0.0)), weights,
              b.add(base, place));
    });
  }
}

LogicalResult RouteKernel::emit() {
  if (failed(bindOperands()))
    return failure();
  rankCandidates();
  storeExperts();
  storeWeights();
  int64_t rows =
      context.rowsOf(cast<RankedTensorType>(route.getScores().getType()));
  unit.finish(
      llvm::formatv("route {0} of {1} rows {2}", numChosen, numExperts, rows)
          .str(),
      {rows, 1, 1});
  return success();
}

} // namespace

LogicalResult lowerRoute(RegionContext &context) {
  auto &body = context.getRegion().getBody().front();
  auto routes = body.getOps<graph::RouteOp>();
  if (!llvm::hasSingleElement(routes) ||
      !llvm::equal((*routes.begin())->getResults(),
                   body.getTerminator()->getOperands()))
    return context.getRegion().emitOpError(
        "of kind route needs one route and yields its results");
  return RouteKernel(context, *routes.begin()).emit();
}

} // namespace llmc::codegen
