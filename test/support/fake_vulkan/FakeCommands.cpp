// SPDX-License-Identifier: Apache-2.0
//
// Vulkan functions that record commands, fences and timestamps.

#include "test/support/fake_vulkan/FakeDriver.h"

#include <chrono>
#include <cstring>

namespace llmc::test::fake {

//===----------------------------------------------------------------------===//
// Commands
//===----------------------------------------------------------------------===//

VKAPI_ATTR VkResult VKAPI_CALL
vkCreateCommandPool(VkDevice device, const VkCommandPoolCreateInfo *,
                    const VkAllocationCallbacks *, VkCommandPool *pool) {
  LLMC_FAKE_CALL;
  *pool = toHandle<VkCommandPool>(add(new Pool<Commands>, toObject(device)));
  return VK_SUCCESS;
}

VKAPI_ATTR VkResult VKAPI_CALL
vkAllocateCommandBuffers(VkDevice, const VkCommandBufferAllocateInfo *info,
                         VkCommandBuffer *buffers) {
  LLMC_FAKE_CALL;
  auto &children = as<Pool<Commands>>(info->commandPool).children;
  for (uint32_t i = 0; i < info->commandBufferCount; ++i) {
    children.push_back(std::make_unique<Commands>());
    buffers[i] = toHandle<VkCommandBuffer>(children.back().get());
  }
  return VK_SUCCESS;
}

VKAPI_ATTR VkResult VKAPI_CALL vkBeginCommandBuffer(
    VkCommandBuffer commands, const VkCommandBufferBeginInfo *) {
  LLMC_FAKE_CALL;
  as<Commands>(commands).acts.clear();
  return VK_SUCCESS;
}

VKAPI_ATTR VkResult VKAPI_CALL vkEndCommandBuffer(VkCommandBuffer) {
  LLMC_FAKE_CALL;
  return VK_SUCCESS;
}

VKAPI_ATTR void VKAPI_CALL vkCmdBindPipeline(VkCommandBuffer commands,
                                             VkPipelineBindPoint,
                                             VkPipeline pipeline) {
  as<Commands>(commands).kernel = &as<PipelineObject>(pipeline).kernel;
}

VKAPI_ATTR void VKAPI_CALL vkCmdBindDescriptorSets(
    VkCommandBuffer commands, VkPipelineBindPoint, VkPipelineLayout, uint32_t,
    uint32_t, const VkDescriptorSet *sets, uint32_t, const uint32_t *) {
  as<Commands>(commands).set = &as<Set>(sets[0]);
}

VKAPI_ATTR void VKAPI_CALL vkCmdDispatch(VkCommandBuffer commands, uint32_t x,
                                         uint32_t y, uint32_t z) {
  Inside inside;
  auto &recording = as<Commands>(commands);
  recording.acts.emplace_back(
      [kernel = recording.kernel, set = recording.set, x, y, z] {
        if (*kernel)
          (*kernel)(set->bindings, {x, y, z});
      });
}

VKAPI_ATTR void VKAPI_CALL vkCmdPipelineBarrier(
    VkCommandBuffer, VkPipelineStageFlags, VkPipelineStageFlags,
    VkDependencyFlags, uint32_t, const VkMemoryBarrier *, uint32_t,
    const VkBufferMemoryBarrier *, uint32_t, const VkImageMemoryBarrier *) {}

VKAPI_ATTR void VKAPI_CALL vkCmdFillBuffer(VkCommandBuffer commands,
                                           VkBuffer buffer, VkDeviceSize,
                                           VkDeviceSize, uint32_t) {
  Inside inside;
  const auto &object = as<BufferObject>(buffer);
  as<Commands>(commands).acts.emplace_back(
      [bytes = object.memory->bytes, size = object.size] {
        std::memset(bytes, 0, size);
      });
}

VKAPI_ATTR void VKAPI_CALL vkCmdCopyBuffer(VkCommandBuffer commands,
                                           VkBuffer source, VkBuffer target,
                                           uint32_t,
                                           const VkBufferCopy *region) {
  Inside inside;
  as<Commands>(commands).acts.emplace_back(
      [from = as<BufferObject>(source).memory->bytes + region->srcOffset,
       to = as<BufferObject>(target).memory->bytes + region->dstOffset,
       size = region->size] { std::memcpy(to, from, size); });
}

//===----------------------------------------------------------------------===//
// Fences and timestamps
//===----------------------------------------------------------------------===//

VKAPI_ATTR VkResult VKAPI_CALL vkCreateFence(VkDevice device,
                                             const VkFenceCreateInfo *,
                                             const VkAllocationCallbacks *,
                                             VkFence *fence) {
  LLMC_FAKE_CALL;
  *fence = toHandle<VkFence>(add(new FenceObject, toObject(device)));
  return VK_SUCCESS;
}

VKAPI_ATTR VkResult VKAPI_CALL vkResetFences(VkDevice, uint32_t,
                                             const VkFence *fences) {
  LLMC_FAKE_CALL;
  as<FenceObject>(fences[0]).isSignalled = false;
  return VK_SUCCESS;
}

VKAPI_ATTR VkResult VKAPI_CALL vkWaitForFences(VkDevice, uint32_t,
                                               const VkFence *fences, VkBool32,
                                               uint64_t) {
  LLMC_FAKE_CALL;
  return as<FenceObject>(fences[0]).isSignalled ? VK_SUCCESS : VK_TIMEOUT;
}

VKAPI_ATTR VkResult VKAPI_CALL
vkCreateQueryPool(VkDevice device, const VkQueryPoolCreateInfo *info,
                  const VkAllocationCallbacks *, VkQueryPool *pool) {
  LLMC_FAKE_CALL;
  auto *object = add(new Queries, toObject(device));
  object->ticks.resize(info->queryCount);
  *pool = toHandle<VkQueryPool>(object);
  return VK_SUCCESS;
}

VKAPI_ATTR void VKAPI_CALL vkCmdResetQueryPool(VkCommandBuffer, VkQueryPool,
                                               uint32_t, uint32_t) {}

VKAPI_ATTR void VKAPI_CALL vkCmdWriteTimestamp(VkCommandBuffer commands,
                                               VkPipelineStageFlagBits,
                                               VkQueryPool pool,
                                               uint32_t number) {
  Inside inside;
  as<Commands>(commands).acts.emplace_back(
      [tick = &as<Queries>(pool).ticks[number]] {
        *tick = static_cast<uint64_t>(
            std::chrono::steady_clock::now().time_since_epoch().count());
      });
}

VKAPI_ATTR VkResult VKAPI_CALL vkGetQueryPoolResults(VkDevice, VkQueryPool pool,
                                                     uint32_t, uint32_t count,
                                                     size_t, void *data,
                                                     VkDeviceSize,
                                                     VkQueryResultFlags) {
  LLMC_FAKE_CALL;
  std::memcpy(data, as<Queries>(pool).ticks.data(), count * sizeof(uint64_t));
  return VK_SUCCESS;
}

} // namespace llmc::test::fake
