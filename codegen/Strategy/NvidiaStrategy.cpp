// SPDX-License-Identifier: Apache-2.0
//
// NVIDIA's GPUs. A token of a small model is over before a loop of loads gets
// going: everything that a workgroup reads should be in flight at once, so a
// lane takes one or two shares of k and no more.

#include "codegen/Strategy/FamilyStrategy.h"

namespace llmc::codegen {

FamilyStrategy getNvidiaStrategy(target::DeviceAttr device) {
  FamilyStrategy strategy;
  // Of 64, 128, 256 and 1024 the best on an H200 (docs/performance.md).
  strategy.gemv.maxLanes = 256;
  if (device.hasFeature("f16_arithmetic"))
    strategy.gemv.decode = "halves";
  // A GEMM's workgroups would be fewer than the multiprocessors, each with a
  // long way to go.
  strategy.gemv.maxShapeRows = 128;
  strategy.gemv.maxMatrixlessRows = 8;
  // The compiler leaves loads in the round that they are written in.
  strategy.sdpa.loadsAtOnce = 8;
  if (device.hasFeature("subgroup_arithmetic")) {
    strategy.reduction = "subgroup";
    if (device.hasFeature("subgroup_shuffle")) {
      strategy.gemv.reduction = "subgroup";
      strategy.gemv.dealsTiles = true;
      strategy.gemv.matrixFragments =
          device.hasFeature("f16_matrix") && device.getSubgroupSize() == 32;
      // One row waits for latency alone: lanes share a key, and nothing but the
      // scores passes between them.
      strategy.sdpa.rowLanes = 256;
    }
  }
  return strategy;
}

} // namespace llmc::codegen
