// SPDX-License-Identifier: Apache-2.0
//
// Qualcomm's Adreno GPUs.

#include "codegen/Strategy/FamilyStrategy.h"

namespace llmc::codegen {

FamilyStrategy getAdrenoStrategy(target::DeviceAttr device) {
  (void)device;
  return {};
}

} // namespace llmc::codegen
