// SPDX-License-Identifier: Apache-2.0
//
// VkCommandPool and its command buffers, which are recorded once and submitted
// many times.

#ifndef LLMC_RUNTIME_VULKAN_COMMANDBUFFER_H
#define LLMC_RUNTIME_VULKAN_COMMANDBUFFER_H

#include "runtime/format/Status.h"
#include "runtime/vulkan/Buffer.h"
#include "runtime/vulkan/Pipeline.h"
#include "runtime/vulkan/TimestampPool.h"

#include <array>
#include <memory>

namespace llmc::vulkan {

/// A command buffer of a pool; a value that names it. Between `begin` and `end`
/// the methods record.
class CommandBuffer {
public:
  CommandBuffer(const DeviceFunctions &functions, VkCommandBuffer commands)
      : vk(&functions), commands(commands) {}

  VkCommandBuffer handle() const { return commands; }
  Status begin();
  Status end();
  void dispatch(const Pipeline &pipeline, VkDescriptorSet set,
                const std::array<uint32_t, 3> &groups);
  /// Shader writes before it are seen by shaders after it, and shader reads
  /// before it are done.
  void barrier();
  /// What the host wrote, what earlier submissions wrote and copies are seen by
  /// shaders after it.
  void acquireFromHost();
  /// What earlier submissions and copies before it wrote is seen by copies
  /// after it, which also wait for those that read.
  void acquireForCopies();
  /// What shaders and copies before it wrote is seen by the host once the fence
  /// is signalled.
  void releaseToHost();
  /// Sets the whole buffer to zero.
  void fillWithZeros(const Buffer &buffer);
  /// Forgets the pool's timestamps; before the first is written.
  void resetTimestamps(const TimestampPool &pool);
  /// The time at which all commands before it are done.
  void writeTimestamp(const TimestampPool &pool, uint32_t number);
  void copy(const Buffer &source, uint64_t sourceOffset, const Buffer &target,
            uint64_t targetOffset, uint64_t size);

private:
  void memoryBarrier(VkPipelineStageFlags sourceStage,
                     VkAccessFlags sourceAccess,
                     VkPipelineStageFlags targetStage,
                     VkAccessFlags targetAccess);

  const DeviceFunctions *vk;
  VkCommandBuffer commands;
};

/// Owns the command buffers. One thread at a time, recording included.
class CommandPool {
public:
  static StatusOr<std::unique_ptr<CommandPool>> create(Device &device);
  ~CommandPool();
  CommandPool(const CommandPool &) = delete;
  CommandPool &operator=(const CommandPool &) = delete;

  /// `name`: for tools.
  StatusOr<CommandBuffer> allocate(const std::string &name);

private:
  explicit CommandPool(Device &device) : device(device) {}

  Device &device;
  VkCommandPool pool = VK_NULL_HANDLE;
};

} // namespace llmc::vulkan

#endif // LLMC_RUNTIME_VULKAN_COMMANDBUFFER_H
