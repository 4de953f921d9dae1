// SPDX-License-Identifier: Apache-2.0
//
// Machines without Vulkan.

#include "runtime/vulkan/Instance.h"

#include <gtest/gtest.h>

namespace llmc::vulkan {
namespace {

TEST(Loader, absenceIsAnError_B38) {
  const auto loader = Loader::open("libno-such-vulkan.so.1");
  ASSERT_FALSE(loader.ok());
  EXPECT_EQ(loader.status().code(), StatusCode::NoVulkan);
  EXPECT_NE(loader.status().message().find("libno-such-vulkan.so.1"),
            std::string::npos)
      << loader.status().message();
}

TEST(Loader, aLibraryThatIsNoLoaderIsAnError) {
  const auto loader = Loader::open("libm.so.6");
  ASSERT_FALSE(loader.ok());
  EXPECT_EQ(loader.status().code(), StatusCode::NoVulkan);
}

VKAPI_ATTR VkResult VKAPI_CALL refuseInstance(const VkInstanceCreateInfo *,
                                              const VkAllocationCallbacks *,
                                              VkInstance *) {
  return VK_ERROR_INCOMPATIBLE_DRIVER;
}

VKAPI_ATTR VkResult VKAPI_CALL version13(uint32_t *version) {
  *version = VK_API_VERSION_1_3;
  return VK_SUCCESS;
}

VKAPI_ATTR PFN_vkVoidFunction VKAPI_CALL withoutDriver(VkInstance,
                                                       const char *name) {
  const std::string wanted = name;
  if (wanted == "vkCreateInstance")
    return reinterpret_cast<PFN_vkVoidFunction>(refuseInstance);
  if (wanted == "vkEnumerateInstanceVersion")
    return reinterpret_cast<PFN_vkVoidFunction>(version13);
  return nullptr;
}

VKAPI_ATTR PFN_vkVoidFunction VKAPI_CALL ofVersion10(VkInstance,
                                                     const char *name) {
  const std::string wanted = name;
  if (wanted == "vkCreateInstance")
    return reinterpret_cast<PFN_vkVoidFunction>(refuseInstance);
  return nullptr;
}

TEST(Instance, absenceOfADriverIsAnError_B38) {
  auto loader = Loader::fromProcAddress(withoutDriver);
  ASSERT_TRUE(loader.ok());
  const auto instance = Instance::create(std::move(*loader));
  ASSERT_FALSE(instance.ok());
  EXPECT_EQ(instance.status().code(), StatusCode::NoVulkan);
  EXPECT_NE(instance.status().message().find("VK_ERROR_INCOMPATIBLE_DRIVER"),
            std::string::npos);
}

TEST(Instance, refusesVulkan10_B38) {
  auto loader = Loader::fromProcAddress(ofVersion10);
  ASSERT_TRUE(loader.ok());
  const auto instance = Instance::create(std::move(*loader));
  ASSERT_FALSE(instance.ok());
  EXPECT_EQ(instance.status().code(), StatusCode::NoVulkan);
}

} // namespace
} // namespace llmc::vulkan
