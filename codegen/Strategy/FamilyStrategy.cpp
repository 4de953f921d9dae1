// SPDX-License-Identifier: Apache-2.0
//
// From a device to its family's strategy.

#include "codegen/Strategy/FamilyStrategy.h"

namespace llmc::codegen {

FamilyStrategy getFamilyStrategy(target::DeviceAttr device) {
  switch (device.getFamily()) {
  case target::Family::Adreno:
    return getAdrenoStrategy(device);
  case target::Family::Bifrost:
    return getBifrostStrategy(device);
  case target::Family::Valhall:
    return getValhallStrategy(device);
  case target::Family::Cpu:
    return getCpuStrategy(device);
  case target::Family::Nvidia:
    return getNvidiaStrategy(device);
  case target::Family::Generic:
    break;
  }
  return getGenericStrategy(device);
}

} // namespace llmc::codegen
