// SPDX-License-Identifier: Apache-2.0
//
// DescriptorSets.h.

#include "runtime/vulkan/DescriptorSets.h"

#include "runtime/vulkan/VulkanStatus.h"

namespace llmc::vulkan {

StatusOr<std::unique_ptr<DescriptorSets>>
DescriptorSets::create(Device &device,
                       const std::vector<DescriptorSetSource> &sources) {
  std::unique_ptr<DescriptorSets> sets(new DescriptorSets(device));
  if (sources.empty())
    return sets;
  LLMC_RETURN_IF_ERROR(sets->allocate(sources));
  std::vector<VkWriteDescriptorSet> writes(sources.size());
  for (size_t i = 0; i < sources.size(); ++i) {
    writes[i] = {};
    writes[i].sType = VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET;
    writes[i].dstSet = sets->sets[i];
    writes[i].descriptorCount =
        static_cast<uint32_t>(sources[i].buffers.size());
    writes[i].descriptorType = VK_DESCRIPTOR_TYPE_STORAGE_BUFFER;
    writes[i].pBufferInfo = sources[i].buffers.data();
  }
  device.functions().vkUpdateDescriptorSets(
      device.handle(), static_cast<uint32_t>(writes.size()), writes.data(),
      /*descriptorCopyCount=*/0, /*pDescriptorCopies=*/nullptr);
  return sets;
}

Status
DescriptorSets::allocate(const std::vector<DescriptorSetSource> &sources) {
  const DeviceFunctions &vk = device.functions();
  std::vector<VkDescriptorSetLayout> layouts;
  VkDescriptorPoolSize poolSize{VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, 0};
  for (const DescriptorSetSource &source : sources) {
    layouts.push_back(source.layout->setLayout());
    poolSize.descriptorCount += source.layout->numBindings();
  }
  VkDescriptorPoolCreateInfo poolInfo{};
  poolInfo.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_POOL_CREATE_INFO;
  poolInfo.maxSets = static_cast<uint32_t>(sources.size());
  poolInfo.poolSizeCount = 1;
  poolInfo.pPoolSizes = &poolSize;
  const std::string what = std::to_string(sources.size()) + " descriptor sets";
  LLMC_RETURN_IF_ERROR(
      fromResult(vk.vkCreateDescriptorPool(device.handle(), &poolInfo,
                                           /*pAllocator=*/nullptr, &pool),
                 "creating a pool for " + what));
  VkDescriptorSetAllocateInfo info{};
  info.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_ALLOCATE_INFO;
  info.descriptorPool = pool;
  info.descriptorSetCount = static_cast<uint32_t>(layouts.size());
  info.pSetLayouts = layouts.data();
  sets.resize(sources.size());
  return fromResult(
      vk.vkAllocateDescriptorSets(device.handle(), &info, sets.data()),
      "allocating " + what);
}

DescriptorSets::~DescriptorSets() {
  if (device.isAbandoned())
    return;
  device.functions().vkDestroyDescriptorPool(device.handle(), pool,
                                             /*pAllocator=*/nullptr);
}

} // namespace llmc::vulkan
