// SPDX-License-Identifier: Apache-2.0
//
// DeviceLimits.h.

#include "runtime/session/DeviceLimits.h"

#include <string>

namespace llmc::runtime {

namespace {

Status atMost(const std::string &what, uint64_t needed, uint64_t limit) {
  if (needed <= limit)
    return okStatus();
  return Status(StatusCode::Unsupported,
                what + " is " + std::to_string(needed) +
                    ", the device allows " + std::to_string(limit));
}

Status checkKernel(const vulkan::DeviceFacts &device,
                   const format::Kernel &kernel) {
  const std::string name = "kernel " + kernel.name();
  LLMC_RETURN_IF_ERROR(atMost(name + ": number of storage buffers",
                              kernel.num_bindings(),
                              device.maxStorageBuffersPerStage));
  uint64_t invocations = 1;
  for (int i = 0; i < 3; ++i) {
    LLMC_RETURN_IF_ERROR(
        atMost(name + ": workgroup size", kernel.workgroup(i),
               device.maxWorkgroupSize[static_cast<size_t>(i)]));
    invocations *= kernel.workgroup(i);
  }
  LLMC_RETURN_IF_ERROR(atMost(name + ": invocations of a workgroup",
                              invocations, device.maxWorkgroupInvocations));
  return atMost(name + ": workgroup memory", kernel.workgroup_memory_bytes(),
                device.workgroupMemoryBytes);
}

Status checkDispatch(const vulkan::DeviceFacts &device,
                     const format::Dispatch &dispatch) {
  const std::string name = "dispatch " + dispatch.label();
  for (int i = 0; i < 3; ++i)
    LLMC_RETURN_IF_ERROR(
        atMost(name + ": number of workgroups", dispatch.groups(i),
               device.maxWorkgroupCount[static_cast<size_t>(i)]));
  for (const format::Slice &slice : dispatch.bindings()) {
    LLMC_RETURN_IF_ERROR(atMost(name + ": range of a binding", slice.range(),
                                device.maxStorageBufferRange));
    if (slice.offset() % device.storageBufferAlignment != 0)
      return Status(StatusCode::Unsupported,
                    name + ": offset of a binding is " +
                        std::to_string(slice.offset()) +
                        ", the device allows multiples of " +
                        std::to_string(device.storageBufferAlignment));
  }
  return okStatus();
}

Status checkEntries(const vulkan::DeviceFacts &device,
                    const format::Variant &program) {
  for (const format::Entry &entry : program.entries())
    for (const format::Command &command : entry.commands())
      if (command.has_dispatch())
        LLMC_RETURN_IF_ERROR(checkDispatch(device, command.dispatch()));
  return okStatus();
}

} // namespace

Status checkDeviceLimits(const vulkan::DeviceFacts &device,
                         const format::Variant &variant) {
  for (const format::Kernel &kernel : variant.kernels())
    LLMC_RETURN_IF_ERROR(checkKernel(device, kernel));
  LLMC_RETURN_IF_ERROR(checkEntries(device, variant));
  return checkEntries(device, variant.self_test().program());
}

} // namespace llmc::runtime
