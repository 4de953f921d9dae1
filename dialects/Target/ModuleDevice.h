// SPDX-License-Identifier: Apache-2.0
//
// The device that a module is compiled for, as every pass of a target asks for
// it.

#ifndef LLMC_DIALECTS_TARGET_MODULEDEVICE_H
#define LLMC_DIALECTS_TARGET_MODULEDEVICE_H

#include "dialects/Target/Target.h"

namespace llmc::target {

/// The module's `target.device`; without one, an error at the module that says
/// what is missing it: `has no target.device |purpose|`, for instance "to lower
/// for".
FailureOr<DeviceAttr> getModuleDevice(ModuleOp module, StringRef purpose);

} // namespace llmc::target

#endif // LLMC_DIALECTS_TARGET_MODULEDEVICE_H
