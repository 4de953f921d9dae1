// SPDX-License-Identifier: Apache-2.0
//
// Loader.h over dlopen.

#include "runtime/vulkan/Loader.h"

#include <dlfcn.h>

namespace llmc::vulkan {

StatusOr<std::unique_ptr<Loader>> Loader::open(const std::string &library) {
  const std::string first = library.empty() ? "libvulkan.so.1" : library;
  void *handle = ::dlopen(first.c_str(), RTLD_NOW | RTLD_LOCAL);
  const char *reason = handle ? nullptr : ::dlerror();
  const std::string why = reason ? reason : "";
  if (!handle && library.empty())
    handle = ::dlopen("libvulkan.so", RTLD_NOW | RTLD_LOCAL);
  if (!handle)
    return Status(StatusCode::NoVulkan,
                  "the Vulkan loader could not be opened: " + why);
  std::unique_ptr<Loader> loader(new Loader(handle));
  LLMC_RETURN_IF_ERROR(
      loader->loadFunctions(reinterpret_cast<PFN_vkGetInstanceProcAddr>(
          ::dlsym(handle, "vkGetInstanceProcAddr"))));
  return loader;
}

StatusOr<std::unique_ptr<Loader>>
Loader::fromProcAddress(PFN_vkGetInstanceProcAddr getInstanceProcAddr) {
  std::unique_ptr<Loader> loader(new Loader(nullptr));
  LLMC_RETURN_IF_ERROR(loader->loadFunctions(getInstanceProcAddr));
  return loader;
}

Loader::~Loader() {
  if (library)
    ::dlclose(library);
}

Status Loader::loadFunctions(PFN_vkGetInstanceProcAddr getInstanceProcAddr) {
  if (!getInstanceProcAddr)
    return Status(StatusCode::NoVulkan,
                  "the Vulkan loader has no function vkGetInstanceProcAddr");
  globals.vkGetInstanceProcAddr = getInstanceProcAddr;
  globals.vkEnumerateInstanceVersion =
      reinterpret_cast<PFN_vkEnumerateInstanceVersion>(
          getInstanceProcAddr(VK_NULL_HANDLE, "vkEnumerateInstanceVersion"));
#define LLMC_LOAD(name)                                                        \
  globals.name = reinterpret_cast<PFN_##name>(                                 \
      getInstanceProcAddr(VK_NULL_HANDLE, #name));                             \
  if (!globals.name)                                                           \
    return Status(StatusCode::NoVulkan,                                        \
                  "the Vulkan loader has no function " #name);
  LLMC_VULKAN_GLOBAL_FUNCTIONS(LLMC_LOAD)
#undef LLMC_LOAD
  return okStatus();
}

uint32_t Loader::apiVersion() const {
  uint32_t version = VK_API_VERSION_1_0;
  if (globals.vkEnumerateInstanceVersion &&
      globals.vkEnumerateInstanceVersion(&version) != VK_SUCCESS)
    version = VK_API_VERSION_1_0;
  return version;
}

} // namespace llmc::vulkan
