// SPDX-License-Identifier: Apache-2.0
//
// Reductions through workgroup memory, and by subgroup operations where a
// config asks for them: they are shorter on some devices, but run as a loop
// over the lanes on others, and their order differs from device to device.

#include "codegen/Lowering/Reduction.h"

namespace llmc::codegen {

/// Partials that the first of two steps adds up: two steps take fewer barriers
/// than a tree.
static constexpr int64_t kFirstStep = 8;

Value sumInOrder(KernelBuilder &builder, Value partials, Value first,
                 int64_t count, int64_t stride) {
  Value sum = builder.load(partials, first);
  for (int64_t i = 1; i < count; ++i)
    sum = builder.add(sum,
                      builder.load(partials, builder.add(first, i * stride)));
  return sum;
}

Value maxInOrder(KernelBuilder &builder, Value partials, Value first,
                 int64_t count) {
  Value largest = builder.load(partials, first);
  for (int64_t i = 1; i < count; ++i)
    largest =
        builder.max(largest, builder.load(partials, builder.add(first, i)));
  return largest;
}

int64_t reductionSubgroup(graph::LoweringConfigAttr config,
                          target::DeviceAttr device, int64_t count) {
  int64_t size = device.getSubgroupSize();
  bool isUsable = config.getReduction() == "subgroup" && size > 1 &&
                  device.hasFeature("subgroup_arithmetic");
  return isUsable && count % size == 0 ? size : 0;
}

/// Each subgroup adds up, and the sums of several meet in workgroup memory.
static Value sumOverSubgroups(KernelBuilder &builder, Value partial,
                              int64_t count, int64_t subgroupSize) {
  Value sum = gpu::SubgroupReduceOp::create(
      builder, partial, gpu::AllReduceOperation::ADD, /*uniform=*/false);
  int64_t numSubgroups = count / subgroupSize;
  if (numSubgroups == 1)
    return sum;
  // Invocations are not promised to fill subgroups in order, so each asks for
  // its subgroup's number.
  Value sums = builder.workgroupMemory(numSubgroups, partial.getType());
  Value number = gpu::SubgroupIdOp::create(builder, mlir::IntegerAttr());
  builder.store(sum, sums, number);
  builder.barrier();
  return sumInOrder(builder, sums, builder.index(0), numSubgroups);
}

Value shuffleXor(KernelBuilder &builder, Value value, int64_t distance,
                 int64_t subgroupSize) {
  auto shuffle = [&](Value scalar) -> Value {
    return gpu::ShuffleOp::create(
               builder, scalar, static_cast<int32_t>(distance),
               static_cast<int32_t>(subgroupSize), gpu::ShuffleMode::XOR)
        .getShuffleResult();
  };
  auto vector = dyn_cast<VectorType>(value.getType());
  if (!vector)
    return shuffle(value);
  SmallVector<Value> elements;
  for (int64_t i = 0; i < vector.getNumElements(); ++i)
    elements.push_back(shuffle(builder.extract(value, i)));
  return builder.vector(elements);
}

/// The distances `first`, twice it, … below `end`.
static Value sumOverDistances(KernelBuilder &builder, Value partial,
                              int64_t first, int64_t end,
                              int64_t subgroupSize) {
  for (int64_t distance = first; distance < end; distance *= 2)
    partial = builder.add(partial,
                          shuffleXor(builder, partial, distance, subgroupSize));
  return partial;
}

Value sumOverStrides(KernelBuilder &builder, Value partial, int64_t stride,
                     int64_t subgroupSize) {
  return sumOverDistances(builder, partial, stride, subgroupSize, subgroupSize);
}

Value sumOverNeighbours(KernelBuilder &builder, Value partial, int64_t count,
                        int64_t subgroupSize) {
  return sumOverDistances(builder, partial, 1, count, subgroupSize);
}

Value subgroupLane(KernelBuilder &builder, int64_t subgroupSize) {
  Value subgroup = gpu::SubgroupIdOp::create(builder, mlir::IntegerAttr()),
        lane = gpu::LaneIdOp::create(builder, mlir::IntegerAttr());
  return builder.add(builder.mul(subgroup, subgroupSize), lane);
}

using Combine = llvm::function_ref<Value(Value, Value)>;

/// partials[0] and what follows it, in order; before, in parallel, as much as
/// pays for its barrier.
static Value overWorkgroup(KernelBuilder &builder, Value partial, Value lane,
                           int64_t count, Combine combine) {
  Value partials = builder.workgroupMemory(count, partial.getType());
  builder.store(partial, partials, lane);
  builder.barrier();
  int64_t numLeft = count;
  if (count > 2 * kFirstStep && count % kFirstStep == 0) {
    numLeft = count / kFirstStep;
    builder.ifThen(builder.less(lane, builder.index(numLeft)), [&] {
      Value all = partial;
      for (int64_t i = 1; i < kFirstStep; ++i)
        all = combine(all,
                      builder.load(partials, builder.add(lane, i * numLeft)));
      builder.store(all, partials, lane);
    });
    builder.barrier();
  }
  Value all = builder.load(partials, builder.index(0));
  for (int64_t i = 1; i < numLeft; ++i)
    all = combine(all, builder.load(partials, builder.index(i)));
  return all;
}

Value sumOverWorkgroup(KernelBuilder &builder, Value partial, Value lane,
                       int64_t count, int64_t subgroupSize) {
  if (subgroupSize != 0)
    return sumOverSubgroups(builder, partial, count, subgroupSize);
  return overWorkgroup(builder, partial, lane, count,
                       [&](Value x, Value y) { return builder.add(x, y); });
}

Value maxOverWorkgroup(KernelBuilder &builder, Value partial, Value lane,
                       int64_t count) {
  return overWorkgroup(builder, partial, lane, count,
                       [&](Value x, Value y) { return builder.max(x, y); });
}

} // namespace llmc::codegen
