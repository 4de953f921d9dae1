// SPDX-License-Identifier: Apache-2.0

#include "tools/shader-stats/Device.h"

#include <dlfcn.h>

namespace llmc::stats {

namespace {

/// The extensions that are switched on where the driver has them.
constexpr const char *kExtensions[] = {
    "VK_KHR_pipeline_executable_properties",
    "VK_KHR_cooperative_matrix",
    "VK_KHR_workgroup_memory_explicit_layout",
    "VK_KHR_shader_bfloat16",
    "VK_EXT_shader_atomic_float",
    "VK_KHR_shader_maximal_reconvergence",
    "VK_KHR_shader_subgroup_uniform_control_flow",
    "VK_KHR_8bit_storage",
    "VK_KHR_shader_float16_int8",
    "VK_KHR_buffer_device_address",
    "VK_EXT_scalar_block_layout",
    "VK_KHR_vulkan_memory_model",
    "VK_EXT_subgroup_size_control",
    "VK_KHR_shader_integer_dot_product",
    "VK_KHR_maintenance4",
    "VK_KHR_shader_float_controls",
    "VK_KHR_shader_subgroup_extended_types",
    "VK_KHR_spirv_1_4"};

} // namespace

void check(VkResult result, const char *what) {
  if (result < 0)
    throw Failure(std::string(what) + " failed with VkResult " +
                  std::to_string(result));
}

std::string quoted(const std::string &text) {
  std::string result = "\"";
  for (char c : text) {
    if (c == '"' || c == '\\')
      result += '\\';
    result += static_cast<unsigned char>(c) < 32 ? ' ' : c;
  }
  return result + "\"";
}

template <typename T>
void Device::addProperties(T &properties, VkStructureType type) {
  properties.sType = type;
  properties.pNext = propertiesChain;
  propertiesChain = &properties;
}

template <typename T>
void Device::addFeatures(T &features, VkStructureType type) {
  features.sType = type;
  features.pNext = featuresChain;
  featuresChain = &features;
}

void Device::createInstance(const char *path) {
  void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (!library)
    throw Failure(dlerror());
  auto negotiate = reinterpret_cast<VkResult (*)(uint32_t *)>(
      dlsym(library, "vk_icdNegotiateLoaderICDInterfaceVersion"));
  getInstanceProcAddr = reinterpret_cast<PFN_vkGetInstanceProcAddr>(
      dlsym(library, "vk_icdGetInstanceProcAddr"));
  if (!getInstanceProcAddr)
    throw Failure(std::string(path) + " is no Vulkan driver");
  uint32_t interfaceVersion = 5;
  if (negotiate)
    negotiate(&interfaceVersion);
  auto create = reinterpret_cast<PFN_vkCreateInstance>(
      getInstanceProcAddr(nullptr, "vkCreateInstance"));
  VkApplicationInfo application{VK_STRUCTURE_TYPE_APPLICATION_INFO,
                                nullptr,
                                "gpustat",
                                1,
                                nullptr,
                                0,
                                VK_API_VERSION_1_3};
  VkInstanceCreateInfo info{VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO,
                            nullptr,
                            0,
                            &application,
                            0,
                            nullptr,
                            0,
                            nullptr};
  check(create(&info, nullptr, &instance), "vkCreateInstance");
#define LLMC_FUNCTION(name)                                                    \
  name = reinterpret_cast<PFN_##name>(getInstanceProcAddr(instance, #name));   \
  if (!name)                                                                   \
    throw Failure("the driver lacks " #name);
  LLMC_INSTANCE_FUNCTIONS(LLMC_FUNCTION)
#undef LLMC_FUNCTION
}

Device::Device(const char *path) {
  createInstance(path);
  uint32_t count = 1;
  check(vkEnumeratePhysicalDevices(instance, &count, &physicalDevice),
        "vkEnumeratePhysicalDevices");
  if (!count)
    throw Failure("the driver found no device");
  check(vkEnumerateDeviceExtensionProperties(physicalDevice, nullptr, &count,
                                             nullptr),
        "extensions");
  std::vector<VkExtensionProperties> known(count);
  vkEnumerateDeviceExtensionProperties(physicalDevice, nullptr, &count,
                                       known.data());
  for (const VkExtensionProperties &extension : known)
    extensions.insert(extension.extensionName);
  VkPhysicalDeviceProperties basic;
  vkGetPhysicalDeviceProperties(physicalDevice, &basic);
  api = basic.apiVersion;
  chainQueries();
  chainOldFeatures();
  chainOptionalFeatures();
  addProperties(properties, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2);
  addFeatures(features, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2);
  vkGetPhysicalDeviceProperties2(physicalDevice, &properties);
  vkGetPhysicalDeviceFeatures2(physicalDevice, &features);
  vkGetPhysicalDeviceMemoryProperties(physicalDevice, &memory);
  queryCooperativeMatrixShapes();
}

/// What every device answers, and what its version of Vulkan has in itself.
void Device::chainQueries() {
  addProperties(subgroups,
                VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SUBGROUP_PROPERTIES);
  addProperties(maintenance3,
                VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MAINTENANCE_3_PROPERTIES);
  addProperties(
      subgroupSizes,
      VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SUBGROUP_SIZE_CONTROL_PROPERTIES);
  addProperties(
      dotProducts,
      VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_INTEGER_DOT_PRODUCT_PROPERTIES);
  addProperties(floatControls,
                VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FLOAT_CONTROLS_PROPERTIES);
  addProperties(driver, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_DRIVER_PROPERTIES);
  if (has("VK_KHR_cooperative_matrix")) {
    addProperties(
        cooperativeMatrices,
        VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_COOPERATIVE_MATRIX_PROPERTIES_KHR);
    addFeatures(
        cooperativeMatrix,
        VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_COOPERATIVE_MATRIX_FEATURES_KHR);
  }
  if (api >= VK_API_VERSION_1_2) {
    addProperties(properties11,
                  VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_1_PROPERTIES);
    addProperties(properties12,
                  VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_PROPERTIES);
    addFeatures(features11,
                VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_1_FEATURES);
    addFeatures(features12,
                VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES);
  }
  if (api >= VK_API_VERSION_1_3) {
    addProperties(properties13,
                  VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_3_PROPERTIES);
    addFeatures(features13,
                VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_3_FEATURES);
  }
}

/// What older devices have as extensions.
void Device::chainOldFeatures() {
  if (api < VK_API_VERSION_1_2) {
    addFeatures(storage16,
                VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_16BIT_STORAGE_FEATURES);
    addFeatures(variablePointers,
                VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VARIABLE_POINTERS_FEATURES);
    if (has("VK_KHR_8bit_storage"))
      addFeatures(storage8,
                  VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_8BIT_STORAGE_FEATURES);
    if (has("VK_KHR_shader_float16_int8"))
      addFeatures(
          float16Int8,
          VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_FLOAT16_INT8_FEATURES);
    if (has("VK_KHR_buffer_device_address"))
      addFeatures(
          bufferAddresses,
          VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_BUFFER_DEVICE_ADDRESS_FEATURES);
    if (has("VK_EXT_scalar_block_layout"))
      addFeatures(
          scalarLayout,
          VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SCALAR_BLOCK_LAYOUT_FEATURES);
    if (has("VK_KHR_vulkan_memory_model"))
      addFeatures(
          memoryModel,
          VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_MEMORY_MODEL_FEATURES);
    if (has("VK_KHR_shader_subgroup_extended_types"))
      addFeatures(
          extendedTypes,
          VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_SUBGROUP_EXTENDED_TYPES_FEATURES);
  }
  if (api < VK_API_VERSION_1_3) {
    if (has("VK_EXT_subgroup_size_control"))
      addFeatures(
          sizeControl,
          VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SUBGROUP_SIZE_CONTROL_FEATURES);
    if (has("VK_KHR_shader_integer_dot_product"))
      addFeatures(
          dotFeature,
          VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_INTEGER_DOT_PRODUCT_FEATURES);
    if (has("VK_KHR_maintenance4"))
      addFeatures(maintenance4,
                  VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MAINTENANCE_4_FEATURES);
  }
}

void Device::chainOptionalFeatures() {
  if (has("VK_KHR_pipeline_executable_properties"))
    addFeatures(
        executableProperties,
        VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PIPELINE_EXECUTABLE_PROPERTIES_FEATURES_KHR);
  if (has("VK_KHR_workgroup_memory_explicit_layout"))
    addFeatures(
        workgroupLayout,
        VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_WORKGROUP_MEMORY_EXPLICIT_LAYOUT_FEATURES_KHR);
#ifdef VK_KHR_shader_bfloat16
  if (has("VK_KHR_shader_bfloat16"))
    addFeatures(bfloat16,
                VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_BFLOAT16_FEATURES_KHR);
#endif
  if (has("VK_EXT_shader_atomic_float"))
    addFeatures(
        atomicFloat,
        VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_ATOMIC_FLOAT_FEATURES_EXT);
  if (has("VK_KHR_shader_subgroup_uniform_control_flow"))
    addFeatures(
        uniformControlFlow,
        VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_SUBGROUP_UNIFORM_CONTROL_FLOW_FEATURES_KHR);
  if (has("VK_KHR_shader_maximal_reconvergence"))
    addFeatures(
        maximalReconvergence,
        VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_MAXIMAL_RECONVERGENCE_FEATURES_KHR);
}

void Device::queryCooperativeMatrixShapes() {
  if (!has("VK_KHR_cooperative_matrix"))
    return;
  auto query =
      reinterpret_cast<PFN_vkGetPhysicalDeviceCooperativeMatrixPropertiesKHR>(
          getInstanceProcAddr(
              instance, "vkGetPhysicalDeviceCooperativeMatrixPropertiesKHR"));
  uint32_t count = 0;
  if (!query || query(physicalDevice, &count, nullptr) < 0 || !count)
    return;
  VkCooperativeMatrixPropertiesKHR shape{};
  shape.sType = VK_STRUCTURE_TYPE_COOPERATIVE_MATRIX_PROPERTIES_KHR;
  shapes.assign(count, shape);
  query(physicalDevice, &count, shapes.data());
}

void Device::create(bool isRobust) {
  if (!executableProperties.pipelineExecutableInfo)
    throw Failure("the driver gives no pipeline statistics");
  features.features.robustBufferAccess = isRobust;
  features13.robustImageAccess = VK_FALSE;
  std::vector<const char *> names;
  for (const char *extension : kExtensions)
    if (has(extension))
      names.push_back(extension);
  uint32_t count = 0, family = 0;
  vkGetPhysicalDeviceQueueFamilyProperties(physicalDevice, &count, nullptr);
  std::vector<VkQueueFamilyProperties> families(count);
  vkGetPhysicalDeviceQueueFamilyProperties(physicalDevice, &count,
                                           families.data());
  while (family < count &&
         !(families[family].queueFlags & VK_QUEUE_COMPUTE_BIT))
    ++family;
  float priority = 1;
  VkDeviceQueueCreateInfo queue{VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO,
                                nullptr,
                                0,
                                family,
                                1,
                                &priority};
  VkDeviceCreateInfo info{VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO,
                          &features,
                          0,
                          1,
                          &queue,
                          0,
                          nullptr,
                          static_cast<uint32_t>(names.size()),
                          names.data(),
                          nullptr};
  check(vkCreateDevice(physicalDevice, &info, nullptr, &device),
        "vkCreateDevice");
#define LLMC_FUNCTION(name)                                                    \
  name = reinterpret_cast<PFN_##name>(vkGetDeviceProcAddr(device, #name));     \
  if (!name)                                                                   \
    throw Failure("the driver lacks " #name);
  LLMC_DEVICE_FUNCTIONS(LLMC_FUNCTION)
#undef LLMC_FUNCTION
}

} // namespace llmc::stats
