// SPDX-License-Identifier: Apache-2.0
//
// Whether a device can bind a weight.

#ifndef LLMC_CODEGEN_STRATEGY_WEIGHTLIMITS_H
#define LLMC_CODEGEN_STRATEGY_WEIGHTLIMITS_H

#include "codegen/Lowering/WeightLayout.h"
#include "dialects/Target/Target.h"

namespace llmc::codegen {

/// An error at `op` when a plane of the weight is larger than the device's
/// largest storage buffer range.
inline LogicalResult verifyWeightFits(Operation *op, const WeightLayout &layout,
                                      target::DeviceAttr device) {
  for (const Plane &plane : layout.planes)
    if (plane.bytes > device.getMaxBufferRange())
      return op->emitOpError("reads a weight whose ")
             << planeName(plane.kind) << " take " << plane.bytes
             << " bytes, more than the " << device.getMaxBufferRange()
             << " that device '" << device.getName() << "' binds at once";
  return success();
}

} // namespace llmc::codegen

#endif // LLMC_CODEGEN_STRATEGY_WEIGHTLIMITS_H
