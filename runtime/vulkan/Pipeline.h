// SPDX-License-Identifier: Apache-2.0
//
// VkPipeline of one kernel.

#ifndef LLMC_RUNTIME_VULKAN_PIPELINE_H
#define LLMC_RUNTIME_VULKAN_PIPELINE_H

#include "runtime/format/Status.h"
#include "runtime/vulkan/PipelineCache.h"
#include "runtime/vulkan/PipelineLayout.h"

#include <memory>

namespace llmc::vulkan {

struct PipelineSource {
  std::string name;               // for errors
  const uint32_t *code = nullptr; // SPIR-V with an entry point `main`
  size_t codeSize = 0;            // bytes
};

/// Immutable, any thread; so is `create`, on one device.
class Pipeline {
public:
  /// InvalidFile: the code is no SPIR-V, and `create` must not be called.
  static Status checkSource(const PipelineSource &source);
  static StatusOr<std::unique_ptr<Pipeline>>
  create(Device &device, const PipelineLayout &layout, PipelineCache &cache,
         const PipelineSource &source);
  ~Pipeline();
  Pipeline(const Pipeline &) = delete;
  Pipeline &operator=(const Pipeline &) = delete;

  VkPipeline handle() const { return pipeline; }
  const PipelineLayout &layout() const { return pipelineLayout; }

private:
  Pipeline(Device &device, const PipelineLayout &layout)
      : device(device), pipelineLayout(layout) {}

  Device &device;
  const PipelineLayout &pipelineLayout;
  VkPipeline pipeline = VK_NULL_HANDLE;
};

} // namespace llmc::vulkan

#endif // LLMC_RUNTIME_VULKAN_PIPELINE_H
