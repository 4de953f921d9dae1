// SPDX-License-Identifier: Apache-2.0
//
// PipelineLayout.h.

#include "runtime/vulkan/PipelineLayout.h"

#include "runtime/vulkan/VulkanStatus.h"

#include <vector>

namespace llmc::vulkan {

StatusOr<std::unique_ptr<PipelineLayout>>
PipelineLayout::create(Device &device, uint32_t numBindings) {
  const DeviceFunctions &vk = device.functions();
  std::unique_ptr<PipelineLayout> layout(
      new PipelineLayout(device, numBindings));
  std::vector<VkDescriptorSetLayoutBinding> bindings(numBindings);
  for (uint32_t i = 0; i < numBindings; ++i)
    bindings[i] = {i, VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, /*descriptorCount=*/1,
                   VK_SHADER_STAGE_COMPUTE_BIT,
                   /*pImmutableSamplers=*/nullptr};
  VkDescriptorSetLayoutCreateInfo setInfo{};
  setInfo.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_CREATE_INFO;
  setInfo.bindingCount = numBindings;
  setInfo.pBindings = bindings.data();
  LLMC_RETURN_IF_ERROR(fromResult(
      vk.vkCreateDescriptorSetLayout(device.handle(), &setInfo,
                                     /*pAllocator=*/nullptr, &layout->set),
      "creating a descriptor set layout"));
  VkPipelineLayoutCreateInfo info{};
  info.sType = VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO;
  info.setLayoutCount = 1;
  info.pSetLayouts = &layout->set;
  LLMC_RETURN_IF_ERROR(fromResult(
      vk.vkCreatePipelineLayout(device.handle(), &info, /*pAllocator=*/nullptr,
                                &layout->layout),
      "creating a pipeline layout"));
  return layout;
}

PipelineLayout::~PipelineLayout() {
  if (device.isAbandoned())
    return;
  device.functions().vkDestroyPipelineLayout(device.handle(), layout,
                                             /*pAllocator=*/nullptr);
  device.functions().vkDestroyDescriptorSetLayout(device.handle(), set,
                                                  /*pAllocator=*/nullptr);
}

} // namespace llmc::vulkan
