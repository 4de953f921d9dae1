// SPDX-License-Identifier: Apache-2.0
//
// VkBuffer with memory of its own. There are a few large ones, so each is one
// allocation.

#ifndef LLMC_RUNTIME_VULKAN_BUFFER_H
#define LLMC_RUNTIME_VULKAN_BUFFER_H

#include "runtime/format/Status.h"
#include "runtime/vulkan/Device.h"

#include <memory>

namespace llmc::vulkan {

/// Who touches the bytes.
enum class BufferAccess {
  Device,       // the device alone
  DeviceFilled, // the device; the host once in the beginning, where it can
                // reach the device's memory
  HostWrites,   // the host before each step
  HostReads,    // the host after each step
};

/// Picks the memory type for a buffer: an index, or -1 when the device has
/// none. A pure function of the device's memory. Host-reachable device memory
/// counts for DeviceFilled only when its heap is not smaller than the largest
/// device heap: a small window for the host is no place for weights.
int32_t chooseMemoryType(const VkPhysicalDeviceMemoryProperties &memory,
                         uint32_t allowedTypes, BufferAccess access);

/// Belongs to one thread at a time. Must not be destroyed while the device uses
/// it.
class Buffer {
public:
  /// `size` in bytes. `name` is for the error, which tells the size.
  static StatusOr<std::unique_ptr<Buffer>> create(Device &device, uint64_t size,
                                                  BufferAccess access,
                                                  const std::string &name);
  /// A buffer of the program's own memory, which stays as it is while the
  /// buffer lives; `data` and `size` are multiples of the device's
  /// facts().importAlignment. For devices that import host memory; Unsupported:
  /// not this memory.
  static StatusOr<std::unique_ptr<Buffer>> import(Device &device,
                                                  const uint8_t *data,
                                                  uint64_t size,
                                                  const std::string &name);
  ~Buffer();
  Buffer(const Buffer &) = delete;
  Buffer &operator=(const Buffer &) = delete;

  VkBuffer handle() const { return buffer; }
  uint64_t size() const { return sizeInBytes; }
  /// The bytes, coherent, or null when the host can't reach them.
  uint8_t *mapped() const { return bytes; }

private:
  Buffer(Device &device, uint64_t size) : device(device), sizeInBytes(size) {}
  template <typename Fill>
  static StatusOr<std::unique_ptr<Buffer>> make(Device &device, uint64_t size,
                                                const std::string &name,
                                                const Fill &fill);
  Status createHandle(const void *chain, VkMemoryRequirements &requirements);
  Status bindMemory(const VkMemoryAllocateInfo &allocation);
  Status allocate(BufferAccess access);
  Status importBytes(const uint8_t *data);

  Device &device;
  uint64_t sizeInBytes;
  VkBuffer buffer = VK_NULL_HANDLE;
  VkDeviceMemory memory = VK_NULL_HANDLE;
  uint8_t *bytes = nullptr;
};

} // namespace llmc::vulkan

#endif // LLMC_RUNTIME_VULKAN_BUFFER_H
