// SPDX-License-Identifier: Apache-2.0
//
// VkPipelineCache that can be kept in a file.

#ifndef LLMC_RUNTIME_VULKAN_PIPELINECACHE_H
#define LLMC_RUNTIME_VULKAN_PIPELINECACHE_H

#include "runtime/format/Status.h"
#include "runtime/vulkan/Device.h"
#include "runtime/vulkan/DriverFile.h"

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace llmc::vulkan {

/// Any thread: Vulkan locks the cache itself.
class PipelineCache {
public:
  /// Starts from a file in `folder`, when there is one that fits; anything else
  /// is ignored. An empty `folder` keeps the cache in memory. `contentHash`: of
  /// the .llmc file.
  static StatusOr<std::unique_ptr<PipelineCache>>
  create(Device &device, const std::string &folder, uint64_t contentHash);
  ~PipelineCache();
  PipelineCache(const PipelineCache &) = delete;
  PipelineCache &operator=(const PipelineCache &) = delete;

  VkPipelineCache handle() const { return cache; }
  bool wasLoaded() const { return loaded; }
  /// Writes the file, if there is a folder and the content changed. Io: the
  /// folder can't be written, which is no reason to stop.
  Status save();

private:
  PipelineCache(Device &device, const std::string &folder,
                uint64_t contentHash);

  Device &device;
  DriverFile file;
  VkPipelineCache cache = VK_NULL_HANDLE;
  bool loaded = false;
  uint64_t loadedChecksum = 0;
};

} // namespace llmc::vulkan

#endif // LLMC_RUNTIME_VULKAN_PIPELINECACHE_H
