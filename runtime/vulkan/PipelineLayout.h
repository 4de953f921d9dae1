// SPDX-License-Identifier: Apache-2.0
//
// VkPipelineLayout of n storage buffers in set 0. A kernel's layout follows
// from its number of bindings alone, so that few exist.

#ifndef LLMC_RUNTIME_VULKAN_PIPELINELAYOUT_H
#define LLMC_RUNTIME_VULKAN_PIPELINELAYOUT_H

#include "runtime/format/Status.h"
#include "runtime/vulkan/Device.h"

#include <memory>

namespace llmc::vulkan {

/// Immutable, any thread.
class PipelineLayout {
public:
  static StatusOr<std::unique_ptr<PipelineLayout>> create(Device &device,
                                                          uint32_t numBindings);
  ~PipelineLayout();
  PipelineLayout(const PipelineLayout &) = delete;
  PipelineLayout &operator=(const PipelineLayout &) = delete;

  VkPipelineLayout handle() const { return layout; }
  VkDescriptorSetLayout setLayout() const { return set; }
  uint32_t numBindings() const { return bindings; }

private:
  PipelineLayout(Device &device, uint32_t bindings)
      : device(device), bindings(bindings) {}

  Device &device;
  uint32_t bindings;
  VkDescriptorSetLayout set = VK_NULL_HANDLE;
  VkPipelineLayout layout = VK_NULL_HANDLE;
};

} // namespace llmc::vulkan

#endif // LLMC_RUNTIME_VULKAN_PIPELINELAYOUT_H
