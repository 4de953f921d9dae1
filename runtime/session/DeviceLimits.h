// SPDX-License-Identifier: Apache-2.0
//
// Whether each dispatch and buffer of a variant keeps the limits of a device.
// The target description promised it; a file is not trusted.

#ifndef LLMC_RUNTIME_SESSION_DEVICELIMITS_H
#define LLMC_RUNTIME_SESSION_DEVICELIMITS_H

#include "runtime/format/Status.h"
#include "runtime/format/manifest.pb.h"
#include "runtime/vulkan/DeviceFacts.h"

namespace llmc::runtime {

/// Checks kernels (bindings, workgroup), dispatches (groups, range and
/// alignment of bindings) and buffers of a variant that passed
/// format::validateManifest. Unsupported names the kernel or dispatch, what it
/// needs and what the device has.
Status checkDeviceLimits(const vulkan::DeviceFacts &device,
                         const format::Variant &variant);

} // namespace llmc::runtime

#endif // LLMC_RUNTIME_SESSION_DEVICELIMITS_H
