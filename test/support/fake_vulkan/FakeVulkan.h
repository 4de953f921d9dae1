// SPDX-License-Identifier: Apache-2.0
//
// A Vulkan driver for tests, as a library that the runtime opens like the
// system's. Its one device runs kernels that the test gives as C++ functions;
// any call can be made to fail, and what is created and not destroyed is
// counted. Nothing of it depends on a machine, so that it serves under
// sanitizers and emulators too.

#ifndef LLMC_TEST_SUPPORT_FAKE_VULKAN_FAKEVULKAN_H
#define LLMC_TEST_SUPPORT_FAKE_VULKAN_FAKEVULKAN_H

#define VK_NO_PROTOTYPES
#include <vulkan/vulkan_core.h>

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace llmc::test {

/// Which call fails, and how.
struct FakeFault {
  std::string function; // only this one counts; empty: every function that
                        // returns a VkResult
  int call = -1;        // of those since the fault was set, from 0; -1: none
  VkResult result = VK_ERROR_OUT_OF_DEVICE_MEMORY;
  bool isForGood = false; // all later ones fail too
};

/// A GPU with all features and limits that a target may ask for, and matrices
/// of subgroups.
struct FakeGpu {
  std::string name;
  uint32_t vendorId = 0;
  uint32_t deviceId = 0;
  uint32_t subgroupSize = 0;
};

/// What the driver can do beside the least.
struct FakeOffer {
  bool hostReachesAll = true; // of the device's memory; else staging only
  bool namesObjects = false;  // VK_EXT_debug_utils
  bool importsHostMemory =
      false; // VK_EXT_external_memory_host, on an integrated device
  /// Called before a pipeline of this code is made; null: nothing.
  std::function<void(const std::vector<uint8_t> &code)> onPipeline;
  /// Likewise before a layout of descriptor sets.
  std::function<void()> onLayout;
  std::optional<FakeGpu> gpu; // that the device is
};

/// A name that an object was given.
struct FakeName {
  VkObjectType type;
  std::string name;
};

/// Where a binding begins, and how long it is.
struct FakeBinding {
  uint8_t *data;
  size_t bytes;

  operator uint8_t *() const { return data; }
};

/// Runs one dispatch.
using FakeKernel = std::function<void(const std::vector<FakeBinding> &bindings,
                                      const std::array<uint32_t, 3> &groups)>;

/// The driver of this process. `addKernel`, `setFault` and `setOffer` are for
/// times without a call under way; the rest is for any thread.
class __attribute__((visibility("default"))) FakeVulkan {
public:
  /// Modules with this SPIR-V run `kernel`; others do nothing.
  static void addKernel(const std::vector<uint8_t> &code, FakeKernel kernel);
  /// Counts calls from here on.
  static void setFault(const FakeFault &fault);
  /// For instances that are created from now on.
  static void setOffer(const FakeOffer &offer);
  /// The function whose call failed; null until the call that fails came.
  static const char *failedFunction();
  /// The names given since the last call.
  static std::vector<FakeName> takeNames();
  /// Objects and allocations that are there.
  static int numLiveObjects();
  /// Bytes of device memory that are allocated, and the most that ever were
  /// since the last call of `forgetPeak`. Imported memory does not count.
  static uint64_t allocatedBytes();
  static uint64_t peakBytes();
  static void forgetPeak();
  /// What no program may do: destroying what is not there, or a device whose
  /// objects are there.
  static int numMistakes();
  /// Whether this thread is inside of the driver, whose own memory is not the
  /// runtime's.
  static bool isInside();
};

} // namespace llmc::test

#endif // LLMC_TEST_SUPPORT_FAKE_VULKAN_FAKEVULKAN_H
