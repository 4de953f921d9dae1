// SPDX-License-Identifier: Apache-2.0
//
// The end of attention whose keys are split: the workgroup that is done last
// adds up what the splits found, split 0 first, an invocation a quad of the
// result. An atomic counts who is done; which workgroup is the last has no
// influence on the sums. And the checks of a tile.

#include "codegen/Lowering/ActivationRows.h"
#include "codegen/Lowering/SdpaShape.h"

#include <algorithm>

namespace llmc::codegen {

SdpaShape sdpaSizes(RegionContext &context, graph::SdpaOp sdpa,
                    const View &key) {
  auto query = cast<RankedTensorType>(sdpa.getQuery().getType());
  auto keys = cast<RankedTensorType>(sdpa.getKey().getType());
  SdpaShape shape = {};
  shape.rows = context.rowsOf(query);
  shape.heads = query.getDimSize(1);
  shape.headDim = query.getDimSize(2);
  shape.kvHeads = keys.getDimSize(1);
  shape.capacity =
      key.stateType ? key.stateType.getDimSize(1) : context.rowsOf(keys);
  shape.splits = context.getConfig().getSplits();
  shape.workgroup = context.getConfig().getWorkgroup().front();
  return shape;
}

FailureOr<SdpaShape> sdpaShape(RegionContext &context, graph::SdpaOp sdpa,
                               const View &key) {
  graph::LoweringConfigAttr config = context.getConfig();
  ArrayRef<int64_t> tile = config.getTile();
  if (tile.size() != 5 && tile.size() != 6)
    return context.getRegion().emitOpError(
        "of kind sdpa needs tile = [queries, queries per invocation, lanes, "
        "keys, value lanes] or one more number, loads at once");
  SdpaShape shape = sdpaSizes(context, sdpa, key);
  shape.queries = tile[0];
  shape.perInvocation = tile[1];
  shape.lanes = tile[2];
  shape.keys = tile[3];
  shape.valueLanes = tile[4];
  shape.loadsAtOnce = tile.size() == 6 ? tile[5] : 1;
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

/// Registers of adding up in one go. Two for each split on the Mali targets,
/// whose drivers load late; six on Adreno, whose driver loads all splits at
/// once as far as that costs no occupancy (Mesa 26.2.6).
static int64_t registersAtOnce(target::DeviceAttr device, int64_t splits) {
  if (device.getFamily() == target::Family::Adreno)
    return std::min(20 + 6 * splits, device.getRegistersFullOccupancy());
  return 13 + 2 * splits;
}

int64_t sdpaCombineRegisters(target::DeviceAttr device, int64_t splits) {
  return std::min(registersAtOnce(device, splits),
                  device.getRegistersFullOccupancy());
}

/// Counts the workgroup; whether it was the last, the same for all of its
/// invocations. The counter is then zero again, for the next dispatch.
static Value isLastSplit(KernelUnit &unit, const SdpaShape &shape,
                         const SdpaGroup &group, Value invocation,
                         Value counters) {
  KernelBuilder &b = unit.builder();
  Value memref =
      unit.bind(counters, b.getI32Type(), program::Access::ReadWrite);
  Value counter = b.add(b.mul(group.kvHead, shape.blocks()), group.block);
  Value flag = b.workgroupMemory(1, b.getI32Type());
  b.deviceBarrier(); // of all invocations, before it is counted
  b.ifThen(b.equal(invocation, b.index(0)), [&] {
    Value before = b.atomicAdd(b.i32(1), memref, counter);
    Value isLast = b.equal(before, b.i32(shape.splits - 1));
    b.store(b.select(isLast, b.i32(1), b.i32(0)), flag, b.index(0));
    b.ifThen(isLast, [&] { b.store(b.i32(0), memref, counter); });
  });
  b.deviceBarrier();
  return b.equal(b.load(flag, b.index(0)), b.i32(1));
}

SdpaParts addParts(KernelBuilder &b, int64_t count,
                   llvm::function_ref<Value(int64_t)> statistics,
                   llvm::function_ref<Value(int64_t)> quad) {
  SmallVector<Value> loaded;
  SdpaParts all = {b.f32(kLowestScore), b.f32(0.0), b.constant(b.f32x4(), 0.0)};
  for (int64_t part = 0; part < count; ++part) {
    loaded.push_back(statistics(part));
    all.maximum = b.max(all.maximum, b.extract(loaded.back(), 0));
  }
  for (int64_t part = 0; part < count; ++part) {
    Value factor = b.exp(b.sub(b.extract(loaded[part], 0), all.maximum));
    all.sum = b.fma(factor, b.extract(loaded[part], 1), all.sum);
    all.total = b.fma(b.splat(factor), quad(part), all.total);
  }
  return all;
}

/// The same sums with the numbers of one part at a time: all statistics are
/// read twice.
static SdpaParts addPartsInTurn(KernelBuilder &b, int64_t count,
                                llvm::function_ref<Value(Value)> statistics,
                                llvm::function_ref<Value(Value)> quad) {
  auto overParts = [&](ValueRange start, KernelBuilder::LoopBody body) {
    return b.forLoop(b.index(0), b.opaqueIndex(count), b.index(1), start, body);
  };
  Value maximum =
      overParts(b.f32(kLowestScore),
                [&](Value part, ValueRange carried) -> SmallVector<Value> {
                  return {b.max(carried[0], b.extract(statistics(part), 0))};
                })
          .front();
  SmallVector<Value> sums =
      overParts({b.f32(0.0), b.constant(b.f32x4(), 0.0)},
                [&](Value part, ValueRange carried) -> SmallVector<Value> {
                  Value ofPart = statistics(part);
                  Value factor = b.exp(b.sub(b.extract(ofPart, 0), maximum));
                  return {b.fma(factor, b.extract(ofPart, 1), carried[0]),
                          b.fma(b.splat(factor), quad(part), carried[1])};
                });
  return {maximum, sums[0], sums[1]};
}

/// Adds up quad `quad` (an index) of (row, head) pair number `pair`.
static Value addSplits(KernelUnit &unit, const SdpaShape &shape, Value memref,
                       Value pair, Value quad) {
  KernelBuilder &b = unit.builder();
  int64_t perSplit = shape.rows * shape.heads;
  Value place = b.add(b.mul(pair, shape.quads()), quad);
  auto statistics = [&](Value split) {
    return b.load(memref, b.add(b.add(pair, shape.partialQuads()),
                                b.mul(split, perSplit)));
  };
  auto quadOf = [&](Value split) {
    return b.load(memref, b.add(place, b.mul(split, perSplit * shape.quads())));
  };
  target::DeviceAttr device = unit.getContext().getDevice();
  bool fits = registersAtOnce(device, shape.splits) <=
              device.getRegistersFullOccupancy();
  SdpaParts all =
      fits ? addParts(
                 b, shape.splits,
                 [&](int64_t split) { return statistics(b.index(split)); },
                 [&](int64_t split) { return quadOf(b.index(split)); })
           : addPartsInTurn(b, shape.splits, statistics, quadOf);
  return b.mul(all.total, b.splat(inverseSum(b, all.sum)));
}

void emitSdpaCombine(KernelUnit &unit, const SdpaShape &shape,
                     const SdpaGroup &group, Value invocation,
                     const SdpaSplits &splits, const View &result) {
  KernelBuilder &b = unit.builder();
  Value memref =
      unit.bind(splits.partials, b.f32x4(), program::Access::ReadWrite);
  ActivationRows rows(unit, result, program::Access::Write);
  auto combine = [&](Value number) {
    SdpaRowAndHead at =
        sdpaRowAndHead(b, shape, group, b.div(number, shape.quads()));
    Value quad = b.rem(number, shape.quads());
    b.ifThen(b.less(at.row, b.index(shape.rows)), [&] {
      Value pair = b.add(b.mul(at.row, shape.heads), at.head);
      Value index = b.add(
          b.mul(at.row, result.rowStride / 4),
          b.add(b.add(b.mul(at.head, shape.quads()), quad), result.offset / 4));
      rows.store(addSplits(unit, shape, memref, pair, quad), index);
    });
  };
  Value isLast = isLastSplit(unit, shape, group, invocation, splits.counters);
  b.ifThen(isLast, [&] {
    b.forLoop(invocation, b.opaqueIndex(shape.queries * shape.quads()),
              b.index(shape.workgroup), combine);
  });
}

} // namespace llmc::codegen
