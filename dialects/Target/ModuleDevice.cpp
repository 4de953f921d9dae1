// SPDX-License-Identifier: Apache-2.0
//
// ModuleDevice.h.

#include "dialects/Target/ModuleDevice.h"

namespace llmc::target {

FailureOr<DeviceAttr> getModuleDevice(ModuleOp module, StringRef purpose) {
  StringRef name = DeviceAttr::getModuleAttrName();
  if (auto device = module->getAttrOfType<DeviceAttr>(name))
    return device;
  return module.emitError("has no ") << name << " " << purpose;
}

} // namespace llmc::target
