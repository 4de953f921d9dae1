// SPDX-License-Identifier: Apache-2.0
//
// The Vulkan loader, opened at run time, so that its absence is an error and
// not a program that does not start.

#ifndef LLMC_RUNTIME_VULKAN_LOADER_H
#define LLMC_RUNTIME_VULKAN_LOADER_H

#include "runtime/format/Status.h"
#include "runtime/vulkan/Functions.h"

#include <memory>

namespace llmc::vulkan {

/// Owns the library's handle; outlives every instance made through it.
/// Immutable, any thread.
class Loader {
public:
  /// Opens `library`, or libvulkan.so.1, then libvulkan.so, when it is empty.
  static StatusOr<std::unique_ptr<Loader>>
  open(const std::string &library = "");
  /// Takes the functions from `getInstanceProcAddr`: a loader that the program
  /// has already, or a fake.
  static StatusOr<std::unique_ptr<Loader>>
  fromProcAddress(PFN_vkGetInstanceProcAddr getInstanceProcAddr);

  ~Loader();
  Loader(const Loader &) = delete;
  Loader &operator=(const Loader &) = delete;

  const GlobalFunctions &functions() const { return globals; }
  /// VK_API_VERSION_… that instances may ask for.
  uint32_t apiVersion() const;

private:
  Loader() = default;
  Status loadFunctions(PFN_vkGetInstanceProcAddr getInstanceProcAddr);

  void *library = nullptr;
  GlobalFunctions globals;
};

} // namespace llmc::vulkan

#endif // LLMC_RUNTIME_VULKAN_LOADER_H
