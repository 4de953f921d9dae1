// SPDX-License-Identifier: Apache-2.0
//
// Device descriptions: data from .textproto files (schema: target.proto),
// checked, and what the compiler and the file format want to know of them.
// docs/targets.md explains how to describe a device.

#ifndef LLMC_CODEGEN_TARGETS_TARGETS_H
#define LLMC_CODEGEN_TARGETS_TARGETS_H

#include "codegen/Targets/target.pb.h"
#include "dialects/Target/Target.h"
#include "runtime/format/manifest.pb.h"

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

#include <vector>

namespace llmc::targets {

/// Names of the shipped descriptions, in alphabetical order.
std::vector<llvm::StringRef> getTargetNames();

/// Parses and checks a description. Each problem is a line of the error,
/// `fileName:line:column: error: …`: bad syntax, fields that do not exist,
/// required fields that are missing, values out of range.
llvm::Expected<description::Target> parseTarget(llvm::StringRef text,
                                                llvm::StringRef fileName);

/// A shipped description by name, or one from a file if `nameOrPath` holds a
/// '/' or ends in ".textproto". The error of an unknown name lists the names
/// there are.
llvm::Expected<description::Target> loadTarget(llvm::StringRef nameOrPath);

/// Whether kernels may multiply matrices of f16 in matrix units, with sums in
/// f32: they are written for 16 x 16 x 16.
bool offersF16Matrix(const description::Features &features);

/// What passes may know of a device, as the attribute `target.device`. Features
/// that are unknown or false are left out.
target::DeviceAttr toDeviceAttr(const description::Target &description,
                                mlir::MLIRContext *context);

/// What a device must match and offer to run code made for this target: all
/// features that kernels may use. The fields that depend on the code
/// (max_storage_buffer_range, max_workgroup_invocations,
/// workgroup_memory_bytes) are left 0; the serializer, which knows the kernels,
/// sets them and drops the features that no kernel uses.
format::TargetInfo toTargetInfo(const description::Target &description);

} // namespace llmc::targets

#endif // LLMC_CODEGEN_TARGETS_TARGETS_H
