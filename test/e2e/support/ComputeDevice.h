// SPDX-License-Identifier: Apache-2.0
//
// The least of Vulkan that runs one compute kernel after another: for tests of
// kernels, without the runtime.

#ifndef LLMC_TEST_E2E_SUPPORT_COMPUTEDEVICE_H
#define LLMC_TEST_E2E_SUPPORT_COMPUTEDEVICE_H

#include <vulkan/vulkan.h>

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace llmc::test {

/// The first Vulkan device, with every feature it offers. Calls that fail end
/// the process with a message: nothing in a test could go on.
class ComputeDevice {
public:
  /// A storage buffer that the host sees all the time, in the device's memory
  /// where that can be.
  struct Buffer {
    VkBuffer buffer = VK_NULL_HANDLE;
    VkDeviceMemory memory = VK_NULL_HANDLE;
    void *data = nullptr;
    size_t bytes = 0;
  };

  struct Kernel {
    VkDescriptorSetLayout setLayout = VK_NULL_HANDLE;
    VkPipelineLayout layout = VK_NULL_HANDLE;
    VkPipeline pipeline = VK_NULL_HANDLE;
    uint32_t numBindings = 0;
  };

  struct Dispatch {
    const Kernel *kernel;
    std::array<uint32_t, 3> groups;
    std::vector<VkBuffer> buffers;
  };

  /// Null when the machine has no Vulkan device.
  static std::unique_ptr<ComputeDevice> create();
  ~ComputeDevice();

  const std::string &name() const { return deviceName; }
  /// Invocations of a subgroup.
  uint32_t subgroupSize() const { return subgroup; }
  /// Filled with 0xff, which is NaN in f32 and f16: what a kernel should not
  /// have read shows.
  Buffer allocate(size_t bytes);
  void release(Buffer &buffer);
  /// The entry point is `main`; bindings 0 … numBindings - 1 are storage
  /// buffers of set 0.
  Kernel createKernel(const std::vector<uint32_t> &spirv, uint32_t numBindings);
  void release(Kernel &kernel);
  /// Runs the dispatches in order, each after a full barrier, and waits.
  /// Returns the seconds that the device took.
  double run(const std::vector<Dispatch> &dispatches);

private:
  ComputeDevice() = default;
  VkDescriptorSet makeSet(VkDescriptorPool pool, const Dispatch &dispatch);
  void record(VkCommandBuffer commands, VkDescriptorPool pool,
              const std::vector<Dispatch> &dispatches);

  VkInstance instance = VK_NULL_HANDLE;
  VkPhysicalDevice physical = VK_NULL_HANDLE;
  VkDevice device = VK_NULL_HANDLE;
  VkQueue queue = VK_NULL_HANDLE;
  VkCommandPool commandPool = VK_NULL_HANDLE;
  VkQueryPool times = VK_NULL_HANDLE;
  double secondsPerTick = 0;
  uint32_t memoryType = 0, subgroup = 0;
  std::string deviceName;
};

} // namespace llmc::test

#endif // LLMC_TEST_E2E_SUPPORT_COMPUTEDEVICE_H
