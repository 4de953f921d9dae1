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

/// Belongs to one thread at a time. Objects that a submission uses are declared
/// before its fence: the fence's destructor waits once more for a submission
/// that was not waited for to the end, and abandons the device when it hangs.
class Fence {
public:
  static StatusOr<std::unique_ptr<Fence>> create(Device &device);
  ~Fence();
  Fence(const Fence &) = delete;
  Fence &operator=(const Fence &) = delete;

  VkFence handle() const { return fence; }
  /// Waits at most `timeout` for the submission, then makes the fence
  /// unsignalled again. After a failure the fence is of no use any more.
  Status waitAndReset(std::chrono::milliseconds timeout);
  /// For Device: a submission will signal the fence.
  void notePending() { isPending = true; }

private:
  explicit Fence(Device &device) : device(device) {}
  VkResult wait();

  Device &device;
  VkFence fence = VK_NULL_HANDLE;
  std::chrono::milliseconds lastTimeout{0};
  bool isPending = false;
};

} // namespace llmc::vulkan

#endif // LLMC_RUNTIME_VULKAN_FENCE_H
