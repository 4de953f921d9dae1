// SPDX-License-Identifier: Apache-2.0
//
// The second kernel of attention whose keys are split: what the splits found is
// added up, split 0 first; one invocation a quad of the result. And the checks
// of a tile.

#include "codegen/Lowering/ActivationRows.h"
#include "codegen/Lowering/SdpaShape.h"

#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MathExtras.h"

#include <algorithm>

namespace llmc::codegen {

FailureOr<SdpaShape> sdpaShape(RegionContext &context, graph::SdpaOp sdpa,
                               const View &key) {
  auto query = cast<RankedTensorType>(sdpa.getQuery().getType());
  auto keys = cast<RankedTensorType>(sdpa.getKey().getType());
  graph::LoweringConfigAttr config = context.getConfig();
  ArrayRef<int64_t> tile = config.getTile();
  if (tile.size() != 5 && tile.size() != 6)
    return context.getRegion().emitOpError(
        "of kind sdpa needs tile = [queries, queries per invocation, lanes, "
        "keys, value lanes] or one more number, loads at once");
  SdpaShape shape = {};
  shape.rows = context.rowsOf(query);
  shape.heads = query.getDimSize(1);
  shape.headDim = query.getDimSize(2);
  shape.kvHeads = keys.getDimSize(1);
  shape.capacity =
      key.stateType ? key.stateType.getDimSize(1) : context.rowsOf(keys);
  shape.queries = tile[0];
  shape.perInvocation = tile[1];
  shape.lanes = tile[2];
  shape.keys = tile[3];
  shape.valueLanes = tile[4];
  shape.loadsAtOnce = tile.size() == 6 ? tile[5] : 1;
  shape.splits = config.getSplits();
  shape.workgroup = config.getWorkgroup().front();
  if (shape.headDim % 4 != 0)
    return sdpa.emitOpError("head dimension ")
           << shape.headDim << " is no multiple of 4";
  if (llvm::any_of(tile, [](int64_t size) { return size < 1; }) ||
      shape.perInvocation == 3 || shape.perInvocation > 4 ||
      shape.queries % shape.perInvocation != 0 ||
      shape.queries / shape.perInvocation * shape.lanes != shape.workgroup ||
      shape.quads() % shape.valueLanes != 0 ||
      shape.lanes % shape.valueLanes != 0 || shape.keys % shape.lanes != 0)
    return sdpa.emitOpError("does not fit its tile: workgroup ")
           << shape.workgroup << ", " << shape.queries << " queries by "
           << shape.perInvocation << ", " << shape.lanes << " lanes, "
           << shape.keys << " keys, " << shape.valueLanes
           << " value lanes, head dimension " << shape.headDim;
  return shape;
}

Value inverseSum(KernelBuilder &b, Value sum) {
  Value isPositive = b.less(b.f32(0.0), sum);
  return b.select(isPositive,
                  b.div(b.f32(1.0), b.select(isPositive, sum, b.f32(1.0))),
                  b.f32(0.0));
}

/// Registers of the combining kernel: two for each split on the Mali targets,
/// whose drivers load late; six on Adreno, whose driver loads all splits at
/// once as far as that costs no occupancy (Mesa 26.2.6).
static int64_t combineRegisters(target::DeviceAttr device, int64_t splits) {
  if (device.getFamily() == target::Family::Adreno)
    return std::min(20 + 6 * splits, device.getRegistersFullOccupancy());
  return 13 + 2 * splits;
}

void emitSdpaCombine(RegionContext &context, const SdpaShape &shape,
                     Value partials, const View &result) {
  KernelUnit unit(context, context.getConfig().getWorkgroup());
  KernelBuilder &b = unit.builder();
  Value place = b.add(b.mul(b.groupId(), shape.workgroup), b.localId());
  Value number = b.div(place, shape.quads()),
        row = b.div(place, shape.rowQuads());
  int64_t perSplit = shape.rows * shape.heads;
  b.ifThen(b.less(row, b.index(shape.rows)), [&] {
    Value memref = unit.bind(partials, b.f32x4(), program::Access::Read);
    SmallVector<Value> statistics;
    Value maximum = b.f32(kLowestScore);
    for (int64_t split = 0; split < shape.splits; ++split) {
      statistics.push_back(b.load(
          memref, b.add(number, shape.partialQuads() + split * perSplit)));
      maximum = b.max(maximum, b.extract(statistics.back(), 0));
    }
    Value sum = b.f32(0.0), quad = b.constant(b.f32x4(), 0.0);
    for (int64_t split = 0; split < shape.splits; ++split) {
      Value factor = b.exp(b.sub(b.extract(statistics[split], 0), maximum));
      sum = b.fma(factor, b.extract(statistics[split], 1), sum);
      Value partial =
          b.load(memref, b.add(place, split * perSplit * shape.quads()));
      quad = b.fma(b.splat(factor), partial, quad);
    }
    Value index =
        b.add(b.mul(row, result.rowStride / 4),
              b.add(b.rem(place, shape.rowQuads()), result.offset / 4));
    ActivationRows(unit, result, program::Access::Write)
        .store(b.mul(quad, b.splat(inverseSum(b, sum))), index);
  });
  int64_t numGroups =
      llvm::divideCeil(shape.rows * shape.rowQuads(), shape.workgroup);
  unit.finish(
      llvm::formatv("sdpa combine {0} of {1}x{2} rows {3}", shape.splits,
                    shape.heads, shape.headDim, shape.rows)
          .str(),
      {numGroups, 1, 1}, combineRegisters(context.getDevice(), shape.splits));
}

} // namespace llmc::codegen
