// SPDX-License-Identifier: Apache-2.0
//
// Loader.h over dlopen.

#include "runtime/vulkan/Loader.h"

#include <dlfcn.h>

namespace llmc::vulkan {

StatusOr<std::unique_ptr<Loader>> Loader::open(const std::string &library) {
  std::unique_ptr<Loader> loader(new Loader());
  const std::string first = library.empty() ? "libvulkan.so.1" : library;
  loader->library = ::dlopen(first.c_str(), RTLD_NOW | RTLD_LOCAL);
  const char *reason = loader->library ? nullptr : ::dlerror();
  const std::string why = reason ? reason : "";
  if (!loader->library && library.empty())
    loader->library = ::dlopen("libvulkan.so", RTLD_NOW | RTLD_LOCAL);
  if (!loader->library)
    return Status(StatusCode::NoVulkan,
                  "the Vulkan loader could not be opened: " + why);
  LLMC_RETURN_IF_ERROR(
      loader->loadFunctions(reinterpret_cast<PFN_vkGetInstanceProcAddr>(
          ::dlsym(loader->library, "vkGetInstanceProcAddr"))));
  return loader;
}

StatusOr<std::unique_ptr<Loader>>
Loader::fromProcAddress(PFN_vkGetInstanceProcAddr getInstanceProcAddr) {
  std::unique_ptr<Loader> loader(new Loader());
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
  globals.vkEnumerateInstanceExtensionProperties =
      reinterpret_cast<PFN_vkEnumerateInstanceExtensionProperties>(
          getInstanceProcAddr(VK_NULL_HANDLE,
                              "vkEnumerateInstanceExtensionProperties"));
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
