// SPDX-License-Identifier: Apache-2.0
//
// Names of Vulkan extensions, as instances and devices list them.

#ifndef LLMC_RUNTIME_VULKAN_EXTENSIONS_H
#define LLMC_RUNTIME_VULKAN_EXTENSIONS_H

#include "runtime/vulkan/Functions.h"

#include <string>
#include <vector>

namespace llmc::vulkan {

/// What `enumerate(count, properties)` lists in Vulkan's way: the number first,
/// then as many. Who can't tell is taken to have none.
template <typename Enumerate>
std::vector<std::string> listExtensions(const Enumerate &enumerate) {
  uint32_t count = 0;
  if (enumerate(&count, nullptr) != VK_SUCCESS)
    return {};
  std::vector<VkExtensionProperties> properties(count);
  if (enumerate(&count, properties.data()) < VK_SUCCESS)
    return {};
  std::vector<std::string> names;
  for (uint32_t i = 0; i < count; ++i)
    names.emplace_back(properties[i].extensionName);
  return names;
}

} // namespace llmc::vulkan

#endif // LLMC_RUNTIME_VULKAN_EXTENSIONS_H
