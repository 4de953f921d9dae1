// SPDX-License-Identifier: Apache-2.0
//
// Devices of which nothing is known but what Vulkan guarantees.

#include "codegen/Strategy/FamilyStrategy.h"

namespace llmc::codegen {

FamilyStrategy getGenericStrategy(target::DeviceAttr device) {
  (void)device;
  return {};
}

} // namespace llmc::codegen
