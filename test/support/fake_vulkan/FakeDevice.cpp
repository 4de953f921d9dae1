// SPDX-License-Identifier: Apache-2.0
//
// Vulkan functions of the device: its queue, memory, pipelines. A submission
// runs its command buffers at once.

#include "test/support/fake_vulkan/FakeDriver.h"

#include <cstring>

namespace llmc::test::fake {

//===----------------------------------------------------------------------===//
// Device and queue
//===----------------------------------------------------------------------===//

VKAPI_ATTR VkResult VKAPI_CALL vkCreateDevice(VkPhysicalDevice,
                                              const VkDeviceCreateInfo *,
                                              const VkAllocationCallbacks *,
                                              VkDevice *device) {
  LLMC_FAKE_CALL;
  *device = toHandle<VkDevice>(add(new Plain, nullptr));
  return VK_SUCCESS;
}

VKAPI_ATTR void VKAPI_CALL vkDestroyDevice(VkDevice device,
                                           const VkAllocationCallbacks *) {
  destroy(device);
}

VKAPI_ATTR void VKAPI_CALL vkGetDeviceQueue(VkDevice device, uint32_t, uint32_t,
                                            VkQueue *queue) {
  *queue = toHandle<VkQueue>(toObject(device));
}

VKAPI_ATTR VkResult VKAPI_CALL vkQueueSubmit(VkQueue, uint32_t count,
                                             const VkSubmitInfo *infos,
                                             VkFence fence) {
  LLMC_FAKE_CALL;
  for (uint32_t i = 0; i < count; ++i)
    for (uint32_t k = 0; k < infos[i].commandBufferCount; ++k)
      for (const auto &act : as<Commands>(infos[i].pCommandBuffers[k]).acts)
        act();
  as<FenceObject>(fence).isSignalled = true;
  return VK_SUCCESS;
}

VKAPI_ATTR VkResult VKAPI_CALL vkSetDebugUtilsObjectNameEXT(
    VkDevice, const VkDebugUtilsObjectNameInfoEXT *info) {
  LLMC_FAKE_CALL;
  const std::lock_guard<std::mutex> lock(driver().mutex);
  driver().names.push_back({info->objectType, info->pObjectName});
  return VK_SUCCESS;
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

VKAPI_ATTR VkResult VKAPI_CALL vkCreateBuffer(VkDevice device,
                                              const VkBufferCreateInfo *info,
                                              const VkAllocationCallbacks *,
                                              VkBuffer *buffer) {
  LLMC_FAKE_CALL;
  auto *object = add(new BufferObject, toObject(device));
  object->size = info->size;
  *buffer = toHandle<VkBuffer>(object);
  return VK_SUCCESS;
}

VKAPI_ATTR void VKAPI_CALL vkDestroyBuffer(VkDevice, VkBuffer buffer,
                                           const VkAllocationCallbacks *) {
  destroy(buffer);
}

VKAPI_ATTR void VKAPI_CALL vkGetBufferMemoryRequirements(
    VkDevice, VkBuffer buffer, VkMemoryRequirements *requirements) {
  *requirements = {as<BufferObject>(buffer).size, 64, 3};
}

VKAPI_ATTR VkResult VKAPI_CALL
vkAllocateMemory(VkDevice device, const VkMemoryAllocateInfo *info,
                 const VkAllocationCallbacks *, VkDeviceMemory *memory) {
  LLMC_FAKE_CALL;
  void *imported = nullptr;
  if (const auto *next = static_cast<const VkBaseInStructure *>(info->pNext);
      next &&
      next->sType == VK_STRUCTURE_TYPE_IMPORT_MEMORY_HOST_POINTER_INFO_EXT)
    imported = reinterpret_cast<const VkImportMemoryHostPointerInfoEXT *>(next)
                   ->pHostPointer;
  *memory = toHandle<VkDeviceMemory>(
      add(new Memory(info->allocationSize, imported), toObject(device)));
  return VK_SUCCESS;
}

VKAPI_ATTR VkResult VKAPI_CALL vkGetMemoryHostPointerPropertiesEXT(
    VkDevice, VkExternalMemoryHandleTypeFlagBits, const void *,
    VkMemoryHostPointerPropertiesEXT *properties) {
  LLMC_FAKE_CALL;
  properties->memoryTypeBits = 3;
  return VK_SUCCESS;
}

VKAPI_ATTR void VKAPI_CALL vkFreeMemory(VkDevice, VkDeviceMemory memory,
                                        const VkAllocationCallbacks *) {
  destroy(memory);
}

VKAPI_ATTR VkResult VKAPI_CALL vkBindBufferMemory(VkDevice, VkBuffer buffer,
                                                  VkDeviceMemory memory,
                                                  VkDeviceSize) {
  LLMC_FAKE_CALL;
  as<BufferObject>(buffer).memory = &as<Memory>(memory);
  return VK_SUCCESS;
}

VKAPI_ATTR VkResult VKAPI_CALL vkMapMemory(VkDevice, VkDeviceMemory memory,
                                           VkDeviceSize, VkDeviceSize,
                                           VkMemoryMapFlags, void **address) {
  LLMC_FAKE_CALL;
  *address = as<Memory>(memory).bytes;
  return VK_SUCCESS;
}

//===----------------------------------------------------------------------===//
// Pipelines
//===----------------------------------------------------------------------===//

/// Functions that create an object of which nothing is remembered, and those
/// that destroy one.
#define LLMC_FAKE_PLAIN(Name)                                                  \
  VKAPI_ATTR VkResult VKAPI_CALL vkCreate##Name(                               \
      VkDevice device, const Vk##Name##CreateInfo *,                           \
      const VkAllocationCallbacks *, Vk##Name *created) {                      \
    LLMC_FAKE_CALL;                                                            \
    *created = toHandle<Vk##Name>(add(new Plain, toObject(device)));           \
    return VK_SUCCESS;                                                         \
  }
#define LLMC_FAKE_DESTROY(Name)                                                \
  VKAPI_ATTR void VKAPI_CALL vkDestroy##Name(VkDevice, Vk##Name handle,        \
                                             const VkAllocationCallbacks *) {  \
    destroy(handle);                                                           \
  }

VKAPI_ATTR VkResult VKAPI_CALL vkCreateDescriptorSetLayout(
    VkDevice device, const VkDescriptorSetLayoutCreateInfo *,
    const VkAllocationCallbacks *, VkDescriptorSetLayout *created) {
  LLMC_FAKE_CALL;
  if (driver().offer.onLayout)
    driver().offer.onLayout();
  *created = toHandle<VkDescriptorSetLayout>(add(new Plain, toObject(device)));
  return VK_SUCCESS;
}
LLMC_FAKE_DESTROY(DescriptorSetLayout)
LLMC_FAKE_PLAIN(PipelineLayout)
LLMC_FAKE_DESTROY(PipelineLayout)
LLMC_FAKE_PLAIN(PipelineCache)
LLMC_FAKE_DESTROY(PipelineCache)
LLMC_FAKE_DESTROY(ShaderModule)
LLMC_FAKE_DESTROY(Pipeline)
LLMC_FAKE_DESTROY(DescriptorPool)
LLMC_FAKE_DESTROY(CommandPool)
LLMC_FAKE_DESTROY(QueryPool)
LLMC_FAKE_DESTROY(Fence)

VKAPI_ATTR VkResult VKAPI_CALL vkGetPipelineCacheData(VkDevice, VkPipelineCache,
                                                      size_t *size,
                                                      void *data) {
  LLMC_FAKE_CALL;
  if (data)
    std::memcpy(data, "compiled", 8);
  *size = 8;
  return VK_SUCCESS;
}

VKAPI_ATTR VkResult VKAPI_CALL
vkCreateShaderModule(VkDevice device, const VkShaderModuleCreateInfo *info,
                     const VkAllocationCallbacks *, VkShaderModule *shader) {
  LLMC_FAKE_CALL;
  const auto *bytes = reinterpret_cast<const uint8_t *>(info->pCode);
  auto *object = add(new Shader, toObject(device));
  object->code.assign(bytes, bytes + info->codeSize);
  const std::lock_guard<std::mutex> lock(driver().mutex);
  auto known = driver().kernels.find(object->code);
  if (known != driver().kernels.end())
    object->kernel = known->second;
  *shader = toHandle<VkShaderModule>(object);
  return VK_SUCCESS;
}

VKAPI_ATTR VkResult VKAPI_CALL
vkCreateComputePipelines(VkDevice device, VkPipelineCache, uint32_t count,
                         const VkComputePipelineCreateInfo *infos,
                         const VkAllocationCallbacks *, VkPipeline *pipelines) {
  LLMC_FAKE_CALL;
  for (uint32_t i = 0; i < count; ++i) {
    const Shader &shader = as<Shader>(infos[i].stage.module);
    if (driver().offer.onPipeline)
      driver().offer.onPipeline(shader.code);
    auto *object = add(new PipelineObject, toObject(device));
    object->kernel = shader.kernel;
    pipelines[i] = toHandle<VkPipeline>(object);
  }
  return VK_SUCCESS;
}

VKAPI_ATTR VkResult VKAPI_CALL
vkCreateDescriptorPool(VkDevice device, const VkDescriptorPoolCreateInfo *,
                       const VkAllocationCallbacks *, VkDescriptorPool *pool) {
  LLMC_FAKE_CALL;
  *pool = toHandle<VkDescriptorPool>(add(new Pool<Set>, toObject(device)));
  return VK_SUCCESS;
}

VKAPI_ATTR VkResult VKAPI_CALL vkAllocateDescriptorSets(
    VkDevice, const VkDescriptorSetAllocateInfo *info, VkDescriptorSet *sets) {
  LLMC_FAKE_CALL;
  auto &children = as<Pool<Set>>(info->descriptorPool).children;
  for (uint32_t i = 0; i < info->descriptorSetCount; ++i) {
    children.push_back(std::make_unique<Set>());
    sets[i] = toHandle<VkDescriptorSet>(children.back().get());
  }
  return VK_SUCCESS;
}

VKAPI_ATTR void VKAPI_CALL vkUpdateDescriptorSets(
    VkDevice, uint32_t count, const VkWriteDescriptorSet *writes, uint32_t,
    const VkCopyDescriptorSet *) {
  Inside inside;
  for (uint32_t i = 0; i < count; ++i)
    for (uint32_t k = 0; k < writes[i].descriptorCount; ++k) {
      const VkDescriptorBufferInfo &info = writes[i].pBufferInfo[k];
      as<Set>(writes[i].dstSet)
          .bindings.push_back(
              {as<BufferObject>(info.buffer).memory->bytes + info.offset,
               static_cast<size_t>(info.range)});
    }
}

} // namespace llmc::test::fake
