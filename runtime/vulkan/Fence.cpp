// SPDX-License-Identifier: Apache-2.0
//
// Fence.h.

#include "runtime/vulkan/Fence.h"

#include "runtime/vulkan/VulkanStatus.h"

namespace llmc::vulkan {

StatusOr<std::unique_ptr<Fence>> Fence::create(Device &device) {
  VkFenceCreateInfo info{};
  info.sType = VK_STRUCTURE_TYPE_FENCE_CREATE_INFO;
  std::unique_ptr<Fence> fence(new Fence(device));
  LLMC_RETURN_IF_ERROR(fromResult(
      device.functions().vkCreateFence(device.handle(), &info,
                                       /*pAllocator=*/nullptr, &fence->fence),
      "creating a fence"));
  return fence;
}

Fence::~Fence() {
  if (isPending)
    wait();
  if (isPending)
    device.abandon();
  if (device.isAbandoned())
    return;
  device.functions().vkDestroyFence(device.handle(), fence,
                                    /*pAllocator=*/nullptr);
}

/// Only these two results mean that the device is done with the submission.
VkResult Fence::wait() {
  const auto nanoseconds = std::chrono::nanoseconds(lastTimeout).count();
  const VkResult result = device.functions().vkWaitForFences(
      device.handle(), 1, &fence, /*waitAll=*/VK_TRUE,
      static_cast<uint64_t>(nanoseconds));
  if (result == VK_SUCCESS || result == VK_ERROR_DEVICE_LOST)
    isPending = false;
  return result;
}

Status Fence::waitAndReset(std::chrono::milliseconds timeout) {
  lastTimeout = timeout;
  const VkResult result = wait();
  if (result == VK_TIMEOUT)
    return Status(StatusCode::Timeout,
                  device.facts().name + " did not finish a submission within " +
                      std::to_string(timeout.count()) + " ms");
  // Sentences are made only for failures: this runs for every token.
  if (result != VK_SUCCESS)
    return device.noteLoss(
        fromResult(result, "waiting for " + device.facts().name));
  return fromResult(
      device.functions().vkResetFences(device.handle(), 1, &fence),
      "resetting a fence");
}

} // namespace llmc::vulkan
