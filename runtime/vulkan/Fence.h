// SPDX-License-Identifier: Apache-2.0
//
// VkFence with timed waits.

#ifndef LLMC_RUNTIME_VULKAN_FENCE_H
#define LLMC_RUNTIME_VULKAN_FENCE_H

#include "runtime/format/Status.h"
#include "runtime/vulkan/Device.h"

#include <chrono>
#include <memory>

namespace llmc::vulkan {

/// Belongs to one thread at a time. Must not be destroyed while a submission
/// will signal it.
class Fence {
public:
  static StatusOr<std::unique_ptr<Fence>> create(Device &device);
  ~Fence();
  Fence(const Fence &) = delete;
  Fence &operator=(const Fence &) = delete;

  VkFence handle() const { return fence; }
  /// Waits at most `timeout`, then makes the fence unsignalled again. Timeout:
  /// the fence stays as it is.
  Status waitAndReset(std::chrono::milliseconds timeout);

private:
  Fence(Device &device, VkFence fence) : device(device), fence(fence) {}

  Device &device;
  VkFence fence;
};

} // namespace llmc::vulkan

#endif // LLMC_RUNTIME_VULKAN_FENCE_H
