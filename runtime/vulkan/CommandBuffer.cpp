// SPDX-License-Identifier: Apache-2.0
//
// CommandBuffer.h.

#include "runtime/vulkan/CommandBuffer.h"

#include "runtime/vulkan/VulkanStatus.h"

namespace llmc::vulkan {

namespace {

constexpr VkPipelineStageFlags kComputeStage =
    VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT;
constexpr VkPipelineStageFlags kTransferStage = VK_PIPELINE_STAGE_TRANSFER_BIT;
constexpr VkPipelineStageFlags kHostStage = VK_PIPELINE_STAGE_HOST_BIT;
constexpr VkAccessFlags kShaderReadWrite =
    VK_ACCESS_SHADER_READ_BIT | VK_ACCESS_SHADER_WRITE_BIT;

} // namespace

Status CommandBuffer::begin() {
  VkCommandBufferBeginInfo info{};
  info.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO;
  return fromResult(vk->vkBeginCommandBuffer(commands, &info),
                    "beginning a command buffer");
}

Status CommandBuffer::end() {
  return fromResult(vk->vkEndCommandBuffer(commands),
                    "recording a command buffer");
}

void CommandBuffer::dispatch(const Pipeline &pipeline, VkDescriptorSet set,
                             const std::array<uint32_t, 3> &groups) {
  vk->vkCmdBindPipeline(commands, VK_PIPELINE_BIND_POINT_COMPUTE,
                        pipeline.handle());
  vk->vkCmdBindDescriptorSets(commands, VK_PIPELINE_BIND_POINT_COMPUTE,
                              pipeline.layout().handle(), /*firstSet=*/0, 1,
                              &set, /*dynamicOffsetCount=*/0,
                              /*pDynamicOffsets=*/nullptr);
  vk->vkCmdDispatch(commands, groups[0], groups[1], groups[2]);
}

void CommandBuffer::barrier() {
  memoryBarrier(kComputeStage, VK_ACCESS_SHADER_WRITE_BIT, kComputeStage,
                kShaderReadWrite);
}

void CommandBuffer::acquireFromHost() {
  memoryBarrier(kHostStage | kTransferStage | kComputeStage,
                VK_ACCESS_HOST_WRITE_BIT | VK_ACCESS_TRANSFER_WRITE_BIT |
                    VK_ACCESS_SHADER_WRITE_BIT,
                kComputeStage, kShaderReadWrite);
}

void CommandBuffer::acquireForCopies() {
  memoryBarrier(kTransferStage | kComputeStage,
                VK_ACCESS_TRANSFER_WRITE_BIT | VK_ACCESS_SHADER_WRITE_BIT,
                kTransferStage,
                VK_ACCESS_TRANSFER_READ_BIT | VK_ACCESS_TRANSFER_WRITE_BIT);
}

void CommandBuffer::releaseToHost() {
  memoryBarrier(kTransferStage | kComputeStage,
                VK_ACCESS_TRANSFER_WRITE_BIT | VK_ACCESS_SHADER_WRITE_BIT,
                kHostStage, VK_ACCESS_HOST_READ_BIT);
}

void CommandBuffer::fillWithZeros(const Buffer &buffer) {
  vk->vkCmdFillBuffer(commands, buffer.handle(), /*dstOffset=*/0, VK_WHOLE_SIZE,
                      /*data=*/0);
}

void CommandBuffer::resetTimestamps(const TimestampPool &pool) {
  vk->vkCmdResetQueryPool(commands, pool.handle(), /*firstQuery=*/0,
                          pool.size());
}

void CommandBuffer::writeTimestamp(const TimestampPool &pool, uint32_t number) {
  vk->vkCmdWriteTimestamp(commands, VK_PIPELINE_STAGE_BOTTOM_OF_PIPE_BIT,
                          pool.handle(), number);
}

void CommandBuffer::copy(const Buffer &source, uint64_t sourceOffset,
                         const Buffer &target, uint64_t targetOffset,
                         uint64_t size) {
  const VkBufferCopy region{sourceOffset, targetOffset, size};
  vk->vkCmdCopyBuffer(commands, source.handle(), target.handle(), 1, &region);
}

void CommandBuffer::memoryBarrier(VkPipelineStageFlags sourceStage,
                                  VkAccessFlags sourceAccess,
                                  VkPipelineStageFlags targetStage,
                                  VkAccessFlags targetAccess) {
  VkMemoryBarrier barrier{};
  barrier.sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER;
  barrier.srcAccessMask = sourceAccess;
  barrier.dstAccessMask = targetAccess;
  vk->vkCmdPipelineBarrier(commands, sourceStage, targetStage,
                           /*dependencyFlags=*/0, 1, &barrier,
                           /*bufferMemoryBarrierCount=*/0, nullptr,
                           /*imageMemoryBarrierCount=*/0, nullptr);
}

StatusOr<std::unique_ptr<CommandPool>> CommandPool::create(Device &device) {
  VkCommandPoolCreateInfo info{};
  info.sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO;
  info.queueFamilyIndex =
      static_cast<uint32_t>(device.facts().computeQueueFamily);
  // A buffer that is begun again is reset by that.
  info.flags = VK_COMMAND_POOL_CREATE_RESET_COMMAND_BUFFER_BIT;
  std::unique_ptr<CommandPool> pool(new CommandPool(device));
  LLMC_RETURN_IF_ERROR(fromResult(
      device.functions().vkCreateCommandPool(
          device.handle(), &info, /*pAllocator=*/nullptr, &pool->pool),
      "creating a command pool"));
  return pool;
}

CommandPool::~CommandPool() {
  if (device.isAbandoned())
    return;
  device.functions().vkDestroyCommandPool(device.handle(), pool,
                                          /*pAllocator=*/nullptr);
}

StatusOr<CommandBuffer> CommandPool::allocate(const std::string &name) {
  VkCommandBufferAllocateInfo info{};
  info.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO;
  info.commandPool = pool;
  info.level = VK_COMMAND_BUFFER_LEVEL_PRIMARY;
  info.commandBufferCount = 1;
  VkCommandBuffer commands = VK_NULL_HANDLE;
  LLMC_RETURN_IF_ERROR(fromResult(device.functions().vkAllocateCommandBuffers(
                                      device.handle(), &info, &commands),
                                  "allocating a command buffer"));
  device.nameObject(VK_OBJECT_TYPE_COMMAND_BUFFER, commands, name);
  return CommandBuffer(device.functions(), commands);
}

} // namespace llmc::vulkan
