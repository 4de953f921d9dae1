// SPDX-License-Identifier: Apache-2.0
//
// Descriptor sets that are written once and never again.

#ifndef LLMC_RUNTIME_VULKAN_DESCRIPTORSETS_H
#define LLMC_RUNTIME_VULKAN_DESCRIPTORSETS_H

#include "runtime/format/Status.h"
#include "runtime/vulkan/PipelineLayout.h"

#include <memory>
#include <vector>

namespace llmc::vulkan {

/// One set to make: buffer i is binding i.
struct DescriptorSetSource {
  const PipelineLayout *layout = nullptr;
  std::vector<VkDescriptorBufferInfo> buffers; // layout->numBindings() of them
};

/// One pool of exactly the size needed, with all sets. The buffers must live as
/// long. Immutable, any thread.
class DescriptorSets {
public:
  static StatusOr<std::unique_ptr<DescriptorSets>>
  create(Device &device, const std::vector<DescriptorSetSource> &sources);
  ~DescriptorSets();
  DescriptorSets(const DescriptorSets &) = delete;
  DescriptorSets &operator=(const DescriptorSets &) = delete;

  /// The set of sources[index].
  VkDescriptorSet operator[](size_t index) const { return sets[index]; }

private:
  explicit DescriptorSets(Device &device) : device(device) {}
  Status allocate(const std::vector<DescriptorSetSource> &sources);

  Device &device;
  VkDescriptorPool pool = VK_NULL_HANDLE;
  std::vector<VkDescriptorSet> sets;
};

} // namespace llmc::vulkan

#endif // LLMC_RUNTIME_VULKAN_DESCRIPTORSETS_H
