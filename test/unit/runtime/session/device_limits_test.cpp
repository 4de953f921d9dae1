// SPDX-License-Identifier: Apache-2.0
//
// A variant against each limit of a device.

#include "runtime/session/DeviceLimits.h"

#include <gtest/gtest.h>

namespace llmc::runtime {
namespace {

vulkan::DeviceFacts deviceAtItsLimits() {
  vulkan::DeviceFacts device;
  device.maxStorageBuffersPerStage = 2;
  device.maxWorkgroupSize = {16, 4, 2};
  device.maxWorkgroupInvocations = 64;
  device.workgroupMemoryBytes = 1000;
  device.maxWorkgroupCount = {100, 50, 25};
  device.maxStorageBufferRange = 4096;
  device.storageBufferAlignment = 64;
  return device;
}

format::Variant variantAtThem() {
  format::Variant variant;
  format::Kernel *kernel = variant.add_kernels();
  kernel->set_name("k");
  kernel->set_num_bindings(2);
  for (const uint32_t extent : {8, 4, 2})
    kernel->add_workgroup(extent);
  kernel->set_workgroup_memory_bytes(1000);
  format::Entry *entry = variant.add_entries();
  entry->add_commands()->mutable_barrier();
  format::Dispatch *dispatch = entry->add_commands()->mutable_dispatch();
  dispatch->set_label("d");
  for (const uint32_t groups : {100, 50, 25})
    dispatch->add_groups(groups);
  format::Slice *slice = dispatch->add_bindings();
  slice->set_offset(128);
  slice->set_range(4096);
  return variant;
}

std::string refusal(const vulkan::DeviceFacts &device) {
  return checkDeviceLimits(device, variantAtThem()).message();
}

TEST(DeviceLimits, allowsWhatIsJustEnough) {
  EXPECT_TRUE(checkDeviceLimits(deviceAtItsLimits(), variantAtThem()).ok());
}

TEST(DeviceLimits, refusesOneMore) {
  auto device = deviceAtItsLimits();
  device.maxStorageBuffersPerStage = 1;
  EXPECT_EQ(refusal(device),
            "kernel k: number of storage buffers is 2, the device allows 1");
  device = deviceAtItsLimits();
  device.maxWorkgroupSize[1] = 3;
  EXPECT_EQ(refusal(device),
            "kernel k: workgroup size is 4, the device allows 3");
  device = deviceAtItsLimits();
  device.maxWorkgroupInvocations = 63;
  EXPECT_EQ(refusal(device),
            "kernel k: invocations of a workgroup is 64, the device allows 63");
  device = deviceAtItsLimits();
  device.workgroupMemoryBytes = 999;
  EXPECT_EQ(refusal(device),
            "kernel k: workgroup memory is 1000, the device allows 999");
  device = deviceAtItsLimits();
  device.maxWorkgroupCount[2] = 24;
  EXPECT_EQ(refusal(device),
            "dispatch d: number of workgroups is 25, the device allows 24");
  device = deviceAtItsLimits();
  device.maxStorageBufferRange = 4095;
  EXPECT_EQ(refusal(device),
            "dispatch d: range of a binding is 4096, the device allows 4095");
  device = deviceAtItsLimits();
  device.storageBufferAlignment = 256;
  EXPECT_EQ(refusal(device), "dispatch d: offset of a binding is 128, the "
                             "device allows multiples of 256");
}

} // namespace
} // namespace llmc::runtime
