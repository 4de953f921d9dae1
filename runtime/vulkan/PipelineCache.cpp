// SPDX-License-Identifier: Apache-2.0
//
// PipelineCache.h.

#include "runtime/vulkan/PipelineCache.h"

#include "runtime/format/Checksum.h"
#include "runtime/vulkan/VulkanStatus.h"

namespace llmc::vulkan {

PipelineCache::PipelineCache(Device &device, const std::string &folder,
                             uint64_t contentHash)
    : device(device), file(device.facts(), folder, contentHash, ".pipelines") {}

StatusOr<std::unique_ptr<PipelineCache>>
PipelineCache::create(Device &device, const std::string &folder,
                      uint64_t contentHash) {
  std::unique_ptr<PipelineCache> cache(
      new PipelineCache(device, folder, contentHash));
  const std::vector<uint8_t> blob = cache->file.read();
  VkPipelineCacheCreateInfo info{};
  info.sType = VK_STRUCTURE_TYPE_PIPELINE_CACHE_CREATE_INFO;
  info.initialDataSize = blob.size();
  info.pInitialData = blob.empty() ? nullptr : blob.data();
  LLMC_RETURN_IF_ERROR(fromResult(device.functions().vkCreatePipelineCache(
                                      device.handle(), &info,
                                      /*pAllocator=*/nullptr, &cache->cache),
                                  "creating the pipeline cache"));
  cache->loaded = !blob.empty();
  cache->loadedChecksum = format::checksum(blob.data(), blob.size());
  return cache;
}

PipelineCache::~PipelineCache() {
  if (device.isAbandoned())
    return;
  device.functions().vkDestroyPipelineCache(device.handle(), cache,
                                            /*pAllocator=*/nullptr);
}

Status PipelineCache::save() {
  if (!file.isKept())
    return okStatus();
  const DeviceFunctions &vk = device.functions();
  size_t size = 0;
  LLMC_RETURN_IF_ERROR(fromResult(
      vk.vkGetPipelineCacheData(device.handle(), cache, &size, nullptr),
      "reading the pipeline cache"));
  std::vector<uint8_t> blob(size);
  LLMC_RETURN_IF_ERROR(fromResult(
      vk.vkGetPipelineCacheData(device.handle(), cache, &size, blob.data()),
      "reading the pipeline cache"));
  blob.resize(size);
  if (blob.empty() ||
      (loaded && format::checksum(blob.data(), blob.size()) == loadedChecksum))
    return okStatus();
  return file.write(blob);
}

} // namespace llmc::vulkan
