// SPDX-License-Identifier: Apache-2.0
//
// Buffer.h.

#include "runtime/vulkan/Buffer.h"

#include "runtime/vulkan/VulkanStatus.h"

#include <algorithm>
#include <vector>

namespace llmc::vulkan {

namespace {

constexpr VkMemoryPropertyFlags kHost =
    VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT;
constexpr VkMemoryPropertyFlags kDevice = VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT;
constexpr VkExternalMemoryHandleTypeFlagBits kHostAllocation =
    VK_EXTERNAL_MEMORY_HANDLE_TYPE_HOST_ALLOCATION_BIT_EXT;
constexpr VkMemoryPropertyFlags kCached = VK_MEMORY_PROPERTY_HOST_CACHED_BIT;

/// What to look for, best first.
std::vector<VkMemoryPropertyFlags> wishesFor(BufferAccess access) {
  switch (access) {
  case BufferAccess::Device:
    return {kDevice, 0};
  case BufferAccess::DeviceFilled:
    return {kDevice | kHost, kDevice, 0};
  case BufferAccess::HostWrites:
    return {kDevice | kHost, kHost};
  case BufferAccess::HostReads:
    break;
  }
  return {kHost | kCached, kHost};
}

VkDeviceSize largestDeviceHeap(const VkPhysicalDeviceMemoryProperties &memory) {
  VkDeviceSize largest = 0;
  for (uint32_t i = 0; i < memory.memoryHeapCount; ++i)
    if (memory.memoryHeaps[i].flags & VK_MEMORY_HEAP_DEVICE_LOCAL_BIT)
      largest = std::max(largest, memory.memoryHeaps[i].size);
  return largest;
}

} // namespace

int32_t chooseMemoryType(const VkPhysicalDeviceMemoryProperties &memory,
                         uint32_t allowedTypes, BufferAccess access) {
  for (const VkMemoryPropertyFlags wish : wishesFor(access)) {
    const bool needsWholeHeap =
        access == BufferAccess::DeviceFilled && (wish & kHost);
    for (uint32_t i = 0; i < memory.memoryTypeCount; ++i) {
      const VkMemoryType &type = memory.memoryTypes[i];
      // Protected and lazily allocated memory can't be bound to such buffers.
      if (type.propertyFlags & (VK_MEMORY_PROPERTY_PROTECTED_BIT |
                                VK_MEMORY_PROPERTY_LAZILY_ALLOCATED_BIT))
        continue;
      if (!(allowedTypes & (1u << i)) || (type.propertyFlags & wish) != wish)
        continue;
      if (needsWholeHeap &&
          memory.memoryHeaps[type.heapIndex].size < largestDeviceHeap(memory))
        continue;
      return static_cast<int32_t>(i);
    }
  }
  return -1;
}

/// Makes a buffer of `size` bytes, whose memory `fill` provides.
template <typename Fill>
StatusOr<std::unique_ptr<Buffer>> Buffer::make(Device &device, uint64_t size,
                                               const std::string &name,
                                               const Fill &fill) {
  const std::string what =
      "the " + name + " buffer of " + std::to_string(size) + " bytes";
  const uint64_t most = device.facts().maxMemoryAllocation;
  if (most && size > most)
    return Status(StatusCode::OutOfDeviceMemory,
                  what + " is larger than the device's largest allocation of " +
                      std::to_string(most) + " bytes");
  std::unique_ptr<Buffer> buffer(new Buffer(device, size));
  if (Status status = fill(*buffer); !status.ok())
    return status.withContext(what);
  device.nameObject(VK_OBJECT_TYPE_BUFFER, buffer->buffer, name);
  return buffer;
}

StatusOr<std::unique_ptr<Buffer>> Buffer::create(Device &device, uint64_t size,
                                                 BufferAccess access,
                                                 const std::string &name) {
  return make(device, size, name,
              [&](Buffer &buffer) { return buffer.allocate(access); });
}

StatusOr<std::unique_ptr<Buffer>> Buffer::import(Device &device,
                                                 const uint8_t *data,
                                                 uint64_t size,
                                                 const std::string &name) {
  return make(device, size, name,
              [&](Buffer &buffer) { return buffer.importBytes(data); });
}

/// `chain`: for pNext.
Status Buffer::createHandle(const void *chain,
                            VkMemoryRequirements &requirements) {
  const DeviceFunctions &vk = device.functions();
  VkBufferCreateInfo info{};
  info.sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO;
  info.pNext = chain;
  info.size = sizeInBytes;
  info.usage = kBufferUsage;
  info.sharingMode = VK_SHARING_MODE_EXCLUSIVE;
  LLMC_RETURN_IF_ERROR(
      fromResult(vk.vkCreateBuffer(device.handle(), &info,
                                   /*pAllocator=*/nullptr, &buffer),
                 "creating it"));
  vk.vkGetBufferMemoryRequirements(device.handle(), buffer, &requirements);
  return okStatus();
}

Status Buffer::bindMemory(const VkMemoryAllocateInfo &allocation) {
  const DeviceFunctions &vk = device.functions();
  LLMC_RETURN_IF_ERROR(
      fromResult(vk.vkAllocateMemory(device.handle(), &allocation,
                                     /*pAllocator=*/nullptr, &memory),
                 "allocating its memory"));
  return fromResult(vk.vkBindBufferMemory(device.handle(), buffer, memory,
                                          /*memoryOffset=*/0),
                    "binding its memory");
}

Status Buffer::allocate(BufferAccess access) {
  VkMemoryRequirements requirements{};
  LLMC_RETURN_IF_ERROR(createHandle(/*chain=*/nullptr, requirements));
  const int32_t type =
      chooseMemoryType(device.memory(), requirements.memoryTypeBits, access);
  if (type < 0)
    return Status(StatusCode::Unsupported,
                  "the device has no fitting memory type");
  VkMemoryAllocateInfo allocation{};
  allocation.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO;
  allocation.allocationSize = requirements.size;
  allocation.memoryTypeIndex = static_cast<uint32_t>(type);
  LLMC_RETURN_IF_ERROR(bindMemory(allocation));
  const VkMemoryPropertyFlags flags =
      device.memory().memoryTypes[type].propertyFlags;
  if (access == BufferAccess::Device || (flags & kHost) != kHost)
    return okStatus();
  void *address = nullptr;
  LLMC_RETURN_IF_ERROR(fromResult(
      device.functions().vkMapMemory(device.handle(), memory, /*offset=*/0,
                                     VK_WHOLE_SIZE, /*flags=*/0, &address),
      "mapping it"));
  bytes = static_cast<uint8_t *>(address);
  return okStatus();
}

Status Buffer::importBytes(const uint8_t *data) {
  VkExternalMemoryBufferCreateInfo external{};
  external.sType = VK_STRUCTURE_TYPE_EXTERNAL_MEMORY_BUFFER_CREATE_INFO;
  external.handleTypes = kHostAllocation;
  VkMemoryRequirements requirements{};
  LLMC_RETURN_IF_ERROR(createHandle(&external, requirements));
  VkMemoryHostPointerPropertiesEXT pointer{};
  pointer.sType = VK_STRUCTURE_TYPE_MEMORY_HOST_POINTER_PROPERTIES_EXT;
  LLMC_RETURN_IF_ERROR(
      fromResult(device.functions().vkGetMemoryHostPointerPropertiesEXT(
                     device.handle(), kHostAllocation, data, &pointer),
                 "asking for the type of its memory"));
  const int32_t type = chooseMemoryType(
      device.memory(), requirements.memoryTypeBits & pointer.memoryTypeBits,
      BufferAccess::Device);
  if (type < 0 || requirements.size > sizeInBytes)
    return Status(StatusCode::Unsupported,
                  "the device can't take the program's memory for it");
  VkImportMemoryHostPointerInfoEXT import{};
  import.sType = VK_STRUCTURE_TYPE_IMPORT_MEMORY_HOST_POINTER_INFO_EXT;
  import.handleType = kHostAllocation;
  import.pHostPointer = const_cast<uint8_t *>(data);
  VkMemoryAllocateInfo allocation{};
  allocation.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO;
  allocation.pNext = &import;
  allocation.allocationSize = sizeInBytes;
  allocation.memoryTypeIndex = static_cast<uint32_t>(type);
  return bindMemory(allocation);
}

Buffer::~Buffer() {
  if (device.isAbandoned())
    return;
  const DeviceFunctions &vk = device.functions();
  vk.vkDestroyBuffer(device.handle(), buffer, /*pAllocator=*/nullptr);
  vk.vkFreeMemory(device.handle(), memory, /*pAllocator=*/nullptr); // unmaps
}

} // namespace llmc::vulkan
