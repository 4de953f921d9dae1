// SPDX-License-Identifier: Apache-2.0
//
// Vulkan compute for tests: one queue, host-visible memory, a descriptor set
// per dispatch.

#include "test/e2e/support/ComputeDevice.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace llmc::test {

static void check(VkResult result, const char *what) {
  if (result == VK_SUCCESS)
    return;
  std::fprintf(stderr, "%s: VkResult %d\n", what, result);
  std::abort();
}

#define LLMC_CHECK_VK(call) check((call), #call)

/// Memory that the host sees, the device's own if there is such.
static uint32_t findMemoryType(VkPhysicalDevice physical) {
  VkPhysicalDeviceMemoryProperties memory;
  vkGetPhysicalDeviceMemoryProperties(physical, &memory);
  constexpr VkMemoryPropertyFlags kHost = VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT |
                                          VK_MEMORY_PROPERTY_HOST_COHERENT_BIT;
  for (VkMemoryPropertyFlags wanted :
       {kHost | VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT, kHost})
    for (uint32_t i = 0; i < memory.memoryTypeCount; ++i)
      if ((memory.memoryTypes[i].propertyFlags & wanted) == wanted)
        return i;
  return 0; // Vulkan promises one
}

std::unique_ptr<ComputeDevice> ComputeDevice::create() {
  std::unique_ptr<ComputeDevice> result(new ComputeDevice);
  VkApplicationInfo application = {VK_STRUCTURE_TYPE_APPLICATION_INFO};
  application.apiVersion = VK_API_VERSION_1_3;
  VkInstanceCreateInfo instanceInfo = {VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO};
  instanceInfo.pApplicationInfo = &application;
  if (vkCreateInstance(&instanceInfo, nullptr, &result->instance) != VK_SUCCESS)
    return nullptr;
  uint32_t count = 1;
  vkEnumeratePhysicalDevices(result->instance, &count, &result->physical);
  if (count == 0)
    return nullptr;
  VkPhysicalDeviceSubgroupProperties subgroup = {
      VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SUBGROUP_PROPERTIES};
  VkPhysicalDeviceProperties2 properties = {
      VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2};
  properties.pNext = &subgroup;
  vkGetPhysicalDeviceProperties2(result->physical, &properties);
  result->deviceName = properties.properties.deviceName;
  result->subgroup = subgroup.subgroupSize;
  result->secondsPerTick = properties.properties.limits.timestampPeriod * 1e-9;

  VkPhysicalDeviceVulkan13Features features13 = {
      VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_3_FEATURES};
  VkPhysicalDeviceVulkan12Features features12 = {
      VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES, &features13};
  VkPhysicalDeviceVulkan11Features features11 = {
      VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_1_FEATURES, &features12};
  VkPhysicalDeviceFeatures2 features = {
      VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2, &features11};
  vkGetPhysicalDeviceFeatures2(result->physical, &features);
  float priority = 1;
  // Family 0 of every driver that tests run on computes.
  VkDeviceQueueCreateInfo queueInfo = {
      VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO};
  queueInfo.queueCount = 1;
  queueInfo.pQueuePriorities = &priority;
  VkDeviceCreateInfo deviceInfo = {VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO,
                                   &features};
  deviceInfo.queueCreateInfoCount = 1;
  deviceInfo.pQueueCreateInfos = &queueInfo;
  LLMC_CHECK_VK(
      vkCreateDevice(result->physical, &deviceInfo, nullptr, &result->device));
  vkGetDeviceQueue(result->device, 0, 0, &result->queue);
  VkCommandPoolCreateInfo poolInfo = {
      VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO};
  LLMC_CHECK_VK(vkCreateCommandPool(result->device, &poolInfo, nullptr,
                                    &result->commandPool));
  VkQueryPoolCreateInfo timesInfo = {VK_STRUCTURE_TYPE_QUERY_POOL_CREATE_INFO};
  timesInfo.queryType = VK_QUERY_TYPE_TIMESTAMP;
  timesInfo.queryCount = 2;
  LLMC_CHECK_VK(
      vkCreateQueryPool(result->device, &timesInfo, nullptr, &result->times));
  result->memoryType = findMemoryType(result->physical);
  return result;
}

ComputeDevice::~ComputeDevice() {
  if (device) {
    vkDestroyQueryPool(device, times, nullptr);
    vkDestroyCommandPool(device, commandPool, nullptr);
    vkDestroyDevice(device, nullptr);
  }
  if (instance)
    vkDestroyInstance(instance, nullptr);
}

ComputeDevice::Buffer ComputeDevice::allocate(size_t bytes) {
  Buffer result;
  result.bytes = bytes;
  VkBufferCreateInfo info = {VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO};
  info.size = bytes;
  info.usage = VK_BUFFER_USAGE_STORAGE_BUFFER_BIT;
  LLMC_CHECK_VK(vkCreateBuffer(device, &info, nullptr, &result.buffer));
  VkMemoryRequirements requirements;
  vkGetBufferMemoryRequirements(device, result.buffer, &requirements);
  VkMemoryAllocateInfo memoryInfo = {VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO};
  memoryInfo.allocationSize = requirements.size;
  memoryInfo.memoryTypeIndex = memoryType;
  LLMC_CHECK_VK(vkAllocateMemory(device, &memoryInfo, nullptr, &result.memory));
  LLMC_CHECK_VK(vkBindBufferMemory(device, result.buffer, result.memory, 0));
  LLMC_CHECK_VK(
      vkMapMemory(device, result.memory, 0, VK_WHOLE_SIZE, 0, &result.data));
  std::memset(result.data, 0xff, bytes);
  return result;
}

void ComputeDevice::release(Buffer &buffer) {
  vkDestroyBuffer(device, buffer.buffer, nullptr);
  vkFreeMemory(device, buffer.memory, nullptr);
  buffer = {};
}

ComputeDevice::Kernel
ComputeDevice::createKernel(const std::vector<uint32_t> &spirv,
                            uint32_t numBindings) {
  Kernel result;
  result.numBindings = numBindings;
  std::vector<VkDescriptorSetLayoutBinding> bindings(numBindings);
  for (uint32_t i = 0; i < numBindings; ++i)
    bindings[i] = {i, VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, 1,
                   VK_SHADER_STAGE_COMPUTE_BIT, nullptr};
  VkDescriptorSetLayoutCreateInfo setInfo = {
      VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_CREATE_INFO};
  setInfo.bindingCount = numBindings;
  setInfo.pBindings = bindings.data();
  LLMC_CHECK_VK(vkCreateDescriptorSetLayout(device, &setInfo, nullptr,
                                            &result.setLayout));
  VkPipelineLayoutCreateInfo layoutInfo = {
      VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO};
  layoutInfo.setLayoutCount = 1;
  layoutInfo.pSetLayouts = &result.setLayout;
  LLMC_CHECK_VK(
      vkCreatePipelineLayout(device, &layoutInfo, nullptr, &result.layout));

  VkShaderModuleCreateInfo moduleInfo = {
      VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO};
  moduleInfo.codeSize = spirv.size() * sizeof(uint32_t);
  moduleInfo.pCode = spirv.data();
  VkShaderModule module;
  LLMC_CHECK_VK(vkCreateShaderModule(device, &moduleInfo, nullptr, &module));
  VkComputePipelineCreateInfo info = {
      VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO};
  info.stage = {VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO};
  info.stage.stage = VK_SHADER_STAGE_COMPUTE_BIT;
  info.stage.module = module;
  info.stage.pName = "main";
  info.layout = result.layout;
  LLMC_CHECK_VK(vkCreateComputePipelines(device, VK_NULL_HANDLE, 1, &info,
                                         /*pAllocator=*/nullptr,
                                         &result.pipeline));
  vkDestroyShaderModule(device, module, nullptr);
  return result;
}

void ComputeDevice::release(Kernel &kernel) {
  vkDestroyPipeline(device, kernel.pipeline, nullptr);
  vkDestroyPipelineLayout(device, kernel.layout, nullptr);
  vkDestroyDescriptorSetLayout(device, kernel.setLayout, nullptr);
  kernel = {};
}

VkDescriptorSet ComputeDevice::makeSet(VkDescriptorPool pool,
                                       const Dispatch &dispatch) {
  VkDescriptorSetAllocateInfo info = {
      VK_STRUCTURE_TYPE_DESCRIPTOR_SET_ALLOCATE_INFO};
  info.descriptorPool = pool;
  info.descriptorSetCount = 1;
  info.pSetLayouts = &dispatch.kernel->setLayout;
  VkDescriptorSet set;
  LLMC_CHECK_VK(vkAllocateDescriptorSets(device, &info, &set));
  for (uint32_t i = 0; i < dispatch.buffers.size(); ++i) {
    VkDescriptorBufferInfo range = {dispatch.buffers[i], 0, VK_WHOLE_SIZE};
    VkWriteDescriptorSet write = {VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET};
    write.dstSet = set;
    write.dstBinding = i;
    write.descriptorCount = 1;
    write.descriptorType = VK_DESCRIPTOR_TYPE_STORAGE_BUFFER;
    write.pBufferInfo = &range;
    vkUpdateDescriptorSets(device, 1, &write, 0, nullptr);
  }
  return set;
}

void ComputeDevice::record(VkCommandBuffer commands, VkDescriptorPool pool,
                           const std::vector<Dispatch> &dispatches) {
  VkCommandBufferBeginInfo begin = {
      VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO};
  LLMC_CHECK_VK(vkBeginCommandBuffer(commands, &begin));
  vkCmdResetQueryPool(commands, times, 0, 2);
  vkCmdWriteTimestamp(commands, VK_PIPELINE_STAGE_TOP_OF_PIPE_BIT, times, 0);
  VkMemoryBarrier barrier = {
      VK_STRUCTURE_TYPE_MEMORY_BARRIER, nullptr, VK_ACCESS_SHADER_WRITE_BIT,
      VK_ACCESS_SHADER_READ_BIT | VK_ACCESS_SHADER_WRITE_BIT};
  for (const Dispatch &dispatch : dispatches) {
    VkDescriptorSet set = makeSet(pool, dispatch);
    vkCmdPipelineBarrier(commands, VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT,
                         VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT, 0, 1, &barrier,
                         0, nullptr, 0, nullptr);
    vkCmdBindPipeline(commands, VK_PIPELINE_BIND_POINT_COMPUTE,
                      dispatch.kernel->pipeline);
    vkCmdBindDescriptorSets(commands, VK_PIPELINE_BIND_POINT_COMPUTE,
                            dispatch.kernel->layout, 0, 1, &set, 0, nullptr);
    vkCmdDispatch(commands, dispatch.groups[0], dispatch.groups[1],
                  dispatch.groups[2]);
  }
  vkCmdWriteTimestamp(commands, VK_PIPELINE_STAGE_BOTTOM_OF_PIPE_BIT, times, 1);
  LLMC_CHECK_VK(vkEndCommandBuffer(commands));
}

double ComputeDevice::run(const std::vector<Dispatch> &dispatches) {
  uint32_t numDescriptors = 1;
  for (const Dispatch &dispatch : dispatches)
    numDescriptors += static_cast<uint32_t>(dispatch.buffers.size());
  VkDescriptorPoolSize size = {VK_DESCRIPTOR_TYPE_STORAGE_BUFFER,
                               numDescriptors};
  VkDescriptorPoolCreateInfo poolInfo = {
      VK_STRUCTURE_TYPE_DESCRIPTOR_POOL_CREATE_INFO};
  poolInfo.maxSets = static_cast<uint32_t>(dispatches.size()) + 1;
  poolInfo.poolSizeCount = 1;
  poolInfo.pPoolSizes = &size;
  VkDescriptorPool pool;
  LLMC_CHECK_VK(vkCreateDescriptorPool(device, &poolInfo, nullptr, &pool));
  VkCommandBufferAllocateInfo info = {
      VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO};
  info.commandPool = commandPool;
  info.commandBufferCount = 1;
  VkCommandBuffer commands;
  LLMC_CHECK_VK(vkAllocateCommandBuffers(device, &info, &commands));
  record(commands, pool, dispatches);
  VkSubmitInfo submit = {VK_STRUCTURE_TYPE_SUBMIT_INFO};
  submit.commandBufferCount = 1;
  submit.pCommandBuffers = &commands;
  LLMC_CHECK_VK(vkQueueSubmit(queue, 1, &submit, VK_NULL_HANDLE));
  LLMC_CHECK_VK(vkQueueWaitIdle(queue));
  vkFreeCommandBuffers(device, commandPool, 1, &commands);
  vkDestroyDescriptorPool(device, pool, nullptr);
  uint64_t ticks[2];
  LLMC_CHECK_VK(vkGetQueryPoolResults(device, times, 0, 2, sizeof(ticks), ticks,
                                      sizeof(uint64_t),
                                      VK_QUERY_RESULT_64_BIT));
  return static_cast<double>(ticks[1] - ticks[0]) * secondsPerTick;
}

} // namespace llmc::test
