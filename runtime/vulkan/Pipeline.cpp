// SPDX-License-Identifier: Apache-2.0
//
// Pipeline.h.

#include "runtime/vulkan/Pipeline.h"

#include "runtime/vulkan/VulkanStatus.h"

namespace llmc::vulkan {

namespace {

constexpr uint32_t kSpirvMagic = 0x07230203;

VkResult createHandle(Device &device, VkShaderModule shader,
                      const PipelineLayout &layout, PipelineCache &cache,
                      VkPipeline *pipeline) {
  VkPipelineShaderStageRequiredSubgroupSizeCreateInfo subgroup{};
  subgroup.sType =
      VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_REQUIRED_SUBGROUP_SIZE_CREATE_INFO;
  subgroup.requiredSubgroupSize = device.requiredSubgroupSize();
  VkComputePipelineCreateInfo info{};
  info.sType = VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO;
  info.stage.sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO;
  info.stage.pNext = device.requiredSubgroupSize() ? &subgroup : nullptr;
  info.stage.stage = VK_SHADER_STAGE_COMPUTE_BIT;
  info.stage.module = shader;
  info.stage.pName = "main";
  info.layout = layout.handle();
  info.basePipelineIndex = -1;
  return device.functions().vkCreateComputePipelines(
      device.handle(), cache.handle(), 1, &info,
      /*pAllocator=*/nullptr, pipeline);
}

} // namespace

Status Pipeline::checkSource(const PipelineSource &source) {
  if (source.codeSize < sizeof(uint32_t) || source.code[0] != kSpirvMagic)
    return Status(StatusCode::InvalidFile,
                  "the code of kernel " + source.name + " is not SPIR-V");
  return okStatus();
}

StatusOr<std::unique_ptr<Pipeline>>
Pipeline::create(Device &device, const PipelineLayout &layout,
                 PipelineCache &cache, const PipelineSource &source) {
  VkShaderModuleCreateInfo info{};
  info.sType = VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO;
  info.codeSize = source.codeSize;
  info.pCode = source.code;
  std::unique_ptr<Pipeline> pipeline(new Pipeline(device, layout));
  // Made before there is a module, which must not leak when memory runs out.
  const std::string actOnShader =
      "creating the shader module of kernel " + source.name;
  const std::string actOnPipeline =
      "creating the pipeline of kernel " + source.name;
  VkShaderModule shader = VK_NULL_HANDLE;
  LLMC_RETURN_IF_ERROR(
      fromResult(device.functions().vkCreateShaderModule(
                     device.handle(), &info, /*pAllocator=*/nullptr, &shader),
                 actOnShader));
  const VkResult result =
      createHandle(device, shader, layout, cache, &pipeline->pipeline);
  device.functions().vkDestroyShaderModule(device.handle(), shader,
                                           /*pAllocator=*/nullptr);
  LLMC_RETURN_IF_ERROR(device.noteLoss(fromResult(result, actOnPipeline)));
  device.nameObject(VK_OBJECT_TYPE_PIPELINE, pipeline->pipeline, source.name);
  return pipeline;
}

Pipeline::~Pipeline() {
  if (device.isAbandoned())
    return;
  device.functions().vkDestroyPipeline(device.handle(), pipeline,
                                       /*pAllocator=*/nullptr);
}

} // namespace llmc::vulkan
