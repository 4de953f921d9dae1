// SPDX-License-Identifier: Apache-2.0
//
// VkDevice with its one queue.

#ifndef LLMC_RUNTIME_VULKAN_DEVICE_H
#define LLMC_RUNTIME_VULKAN_DEVICE_H

#include "runtime/format/Status.h"
#include "runtime/vulkan/Functions.h"
#include "runtime/vulkan/Instance.h"

#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace llmc::vulkan {

class Fence;

struct DeviceOptions {
  std::vector<std::string>
      features; // words of TargetInfo.features: only these are switched on
  uint32_t subgroupSize = 0;      // that pipelines will require; 0: none
  bool importsHostMemory = false; // switches it on where facts() say it can
};

/// Shares the instance; outlives every object made from it. Any thread: the
/// queue has a lock.
class Device {
public:
  /// `physicalDevice` is an index of the instance's list. Fails with
  /// Unsupported naming what the device lacks.
  static StatusOr<std::unique_ptr<Device>>
  create(std::shared_ptr<Instance> instance, size_t physicalDevice,
         const DeviceOptions &options);

  ~Device();
  Device(const Device &) = delete;
  Device &operator=(const Device &) = delete;

  VkDevice handle() const { return device; }
  const DeviceFunctions &functions() const { return table; }
  const DeviceFacts &facts() const { return physical.facts; }
  const VkPhysicalDeviceMemoryProperties &memory() const {
    return memoryProperties;
  }
  /// The size that pipelines must require, or 0 when the device's own is the
  /// wanted one.
  uint32_t requiredSubgroupSize() const { return subgroupSize; }

  /// Whether buffers can be made of the program's memory (Buffer::import).
  bool importsHostMemory() const {
    return table.vkGetMemoryHostPointerPropertiesEXT != nullptr;
  }

  /// Tells validation layers and captures what an object is called, where the
  /// instance has VK_EXT_debug_utils.
  template <typename Handle>
  void nameObject(VkObjectType type, Handle handle,
                  const std::string &name) const {
    setName(type, reinterpret_cast<uint64_t>(handle), name);
  }

  /// Submits command buffers in order; `fence` is signalled when all are done.
  /// After the device was lost this fails without a call.
  Status submit(const std::vector<VkCommandBuffer> &commandBuffers,
                Fence &fence);
  /// Remembers that the device is lost, when `status` says so, and returns it.
  Status noteLoss(Status status);
  bool isLost() const { return lost; }

  /// For a device that hangs: what it may still use can't be destroyed. From
  /// now on the destructors of this device and of its objects leave everything
  /// allocated, and submissions fail.
  void abandon();
  bool isAbandoned() const { return abandoned; }

private:
  Device(std::shared_ptr<Instance> instance, const PhysicalDevice &physical)
      : instance(std::move(instance)), physical(physical) {}
  Status loadFunctions();
  void setName(VkObjectType type, uint64_t handle,
               const std::string &name) const;

  std::shared_ptr<Instance> instance;
  PhysicalDevice physical;
  VkDevice device = VK_NULL_HANDLE;
  DeviceFunctions table;
  VkPhysicalDeviceMemoryProperties memoryProperties{};
  uint32_t subgroupSize = 0;
  VkQueue queue = VK_NULL_HANDLE;
  std::mutex queueLock;
  std::atomic<bool> lost{false};
  std::atomic<bool> abandoned{false};
};

} // namespace llmc::vulkan

#endif // LLMC_RUNTIME_VULKAN_DEVICE_H
