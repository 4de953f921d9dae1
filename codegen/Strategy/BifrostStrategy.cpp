// SPDX-License-Identifier: Apache-2.0
//
// Arm's Mali GPUs of the Bifrost architecture.

#include "codegen/Strategy/FamilyStrategy.h"

namespace llmc::codegen {

FamilyStrategy getBifrostStrategy(target::DeviceAttr device) {
  (void)device;
  return {};
}

} // namespace llmc::codegen
