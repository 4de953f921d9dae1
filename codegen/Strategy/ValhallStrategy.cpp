// SPDX-License-Identifier: Apache-2.0
//
// Arm's Mali GPUs of the Valhall architecture.

#include "codegen/Strategy/FamilyStrategy.h"

namespace llmc::codegen {

FamilyStrategy getValhallStrategy(target::DeviceAttr device) {
  (void)device;
  return {};
}

} // namespace llmc::codegen
