// SPDX-License-Identifier: Apache-2.0
//
// VkPipelineCache that can be kept in a file. Drivers have crashed on blobs of
// another driver or on damaged ones, so the file has a header of its own and
// goes to the driver only when all of it matches.

#ifndef LLMC_RUNTIME_VULKAN_PIPELINECACHE_H
#define LLMC_RUNTIME_VULKAN_PIPELINECACHE_H

#include "runtime/format/Status.h"
#include "runtime/vulkan/Device.h"

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace llmc::vulkan {

/// The bytes of a cache file: header (device, driver, `contentHash`, checksum)
/// and the driver's `blob`.
std::vector<uint8_t> encodePipelineCache(const DeviceFacts &device,
                                         uint64_t contentHash,
                                         const std::vector<uint8_t> &blob);
/// The blob, when `file` is whole and was written for this device, driver and
/// content; else empty.
std::vector<uint8_t> decodePipelineCache(const DeviceFacts &device,
                                         uint64_t contentHash,
                                         const std::vector<uint8_t> &file);

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
  /// Writes the file, if there is a folder and the content changed: to a
  /// temporary name, then renamed, so that readers see the whole of one or the
  /// other. Io: the folder can't be written, which is no reason to stop.
  Status save();

private:
  PipelineCache(Device &device, std::string path, uint64_t contentHash)
      : device(device), path(std::move(path)), contentHash(contentHash) {}

  Device &device;
  std::string path;
  uint64_t contentHash;
  VkPipelineCache cache = VK_NULL_HANDLE;
  bool loaded = false;
  uint64_t loadedChecksum = 0;
};

} // namespace llmc::vulkan

#endif // LLMC_RUNTIME_VULKAN_PIPELINECACHE_H
