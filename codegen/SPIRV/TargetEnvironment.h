// SPDX-License-Identifier: Apache-2.0
//
// The SPIR-V environment of a device.

#ifndef LLMC_CODEGEN_SPIRV_TARGETENVIRONMENT_H
#define LLMC_CODEGEN_SPIRV_TARGETENVIRONMENT_H

#include "dialects/Target/Target.h"
#include "mlir/Dialect/SPIRV/IR/TargetAndABI.h"

namespace llmc::codegen {

/// SPIR-V version, the capabilities that the device's features allow, and its
/// limits.
mlir::spirv::TargetEnvAttr targetEnvironment(target::DeviceAttr device);

} // namespace llmc::codegen

#endif // LLMC_CODEGEN_SPIRV_TARGETENVIRONMENT_H
