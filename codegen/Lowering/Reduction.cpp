// SPDX-License-Identifier: Apache-2.0
//
// Reductions through workgroup memory. Subgroup operations would be shorter on
// some devices, but run as a loop over the lanes on others, and their order
// differs from device to device.

#include "codegen/Lowering/Reduction.h"

namespace llmc::codegen {

/// Partials that the first of two steps adds up: two steps take fewer barriers
/// than a tree.
static constexpr int64_t kFirstStep = 8;

Value sumInOrder(KernelBuilder &builder, Value partials, Value first,
                 int64_t count) {
  Value sum = builder.load(partials, first);
  for (int64_t i = 1; i < count; ++i)
    sum = builder.add(sum, builder.load(partials, builder.add(first, i)));
  return sum;
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
                       int64_t count) {
  return overWorkgroup(builder, partial, lane, count,
                       [&](Value x, Value y) { return builder.add(x, y); });
}

Value maxOverWorkgroup(KernelBuilder &builder, Value partial, Value lane,
                       int64_t count) {
  return overWorkgroup(builder, partial, lane, count,
                       [&](Value x, Value y) { return builder.max(x, y); });
}

} // namespace llmc::codegen
