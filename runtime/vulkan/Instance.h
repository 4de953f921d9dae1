// SPDX-License-Identifier: Apache-2.0
//
// VkInstance and its physical devices.

#ifndef LLMC_RUNTIME_VULKAN_INSTANCE_H
#define LLMC_RUNTIME_VULKAN_INSTANCE_H

#include "runtime/format/Status.h"
#include "runtime/vulkan/Loader.h"
#include "runtime/vulkan/PhysicalDevice.h"

#include <memory>
#include <vector>

namespace llmc::vulkan {

/// Owns the loader and the VkInstance; outlives every device made from it.
/// Immutable, any thread.
class Instance {
public:
  /// Asks for Vulkan 1.3, or the loader's version when that is less. Fails with
  /// NoVulkan without a loader or a driver; an instance without devices is
  /// fine.
  static StatusOr<std::unique_ptr<Instance>>
  create(std::unique_ptr<Loader> loader);

  ~Instance();
  Instance(const Instance &) = delete;
  Instance &operator=(const Instance &) = delete;

  const InstanceFunctions &functions() const { return table; }
  const std::vector<PhysicalDevice> &physicalDevices() const { return devices; }
  /// The facts of all physical devices, in the same order.
  std::vector<DeviceFacts> facts() const;

private:
  explicit Instance(std::unique_ptr<Loader> loader)
      : loader(std::move(loader)) {}
  Status loadFunctions();
  Status enumerate(uint32_t apiMinor);

  std::unique_ptr<Loader> loader;
  VkInstance handle = VK_NULL_HANDLE;
  InstanceFunctions table;
  std::vector<PhysicalDevice> devices;
};

} // namespace llmc::vulkan

#endif // LLMC_RUNTIME_VULKAN_INSTANCE_H
