// SPDX-License-Identifier: Apache-2.0
//
// What is known of a physical device, as plain values: choosing a device and a
// variant needs nothing else.

#ifndef LLMC_RUNTIME_VULKAN_DEVICEFACTS_H
#define LLMC_RUNTIME_VULKAN_DEVICEFACTS_H

#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace llmc::vulkan {

/// Vulkan's own numbers.
enum class DeviceType {
  Other = 0,
  Integrated = 1,
  Discrete = 2,
  Virtual = 3,
  Cpu = 4
};

/// "integrated", "discrete", …
const char *deviceTypeName(DeviceType type);

using Uuid = std::array<uint8_t, 16>;

struct DeviceFacts {
  std::string name;
  uint32_t vendorId = 0;
  uint32_t deviceId = 0;
  DeviceType type = DeviceType::Other;
  uint32_t vulkanMajor = 1;
  uint32_t vulkanMinor = 0;
  uint32_t driverVersion = 0;
  std::string
      driver; // "llvmpipe Mesa 22.3.6", empty where the driver does not say
  Uuid pipelineCacheUuid{};
  Uuid deviceUuid{};
  Uuid driverUuid{};

  std::vector<std::string>
      features; // the words of TargetInfo.features that the device offers
  uint32_t subgroupSize = 0;
  uint32_t minSubgroupSize = 0; // 0: kernels can't ask for a size
  uint32_t maxSubgroupSize = 0;

  uint64_t maxStorageBufferRange = 0;
  uint64_t maxMemoryAllocation = 0;
  uint64_t importAlignment = 0; // of the program's memory that buffers can be
                                // made of; 0: of none
  uint64_t storageBufferAlignment = 1;
  uint32_t maxStorageBuffersPerStage = 0;
  uint32_t maxWorkgroupInvocations = 0;
  uint32_t workgroupMemoryBytes = 0;
  std::array<uint32_t, 3> maxWorkgroupSize{};
  std::array<uint32_t, 3> maxWorkgroupCount{};
  int32_t computeQueueFamily = -1; // -1: none
  uint32_t timestampBits = 0;      // of that family; 0: it has none
  double timestampPeriod = 0;      // nanoseconds

  bool hasFeature(const std::string &feature) const {
    for (const std::string &offered : features)
      if (offered == feature)
        return true;
    return false;
  }
};

} // namespace llmc::vulkan

#endif // LLMC_RUNTIME_VULKAN_DEVICEFACTS_H
