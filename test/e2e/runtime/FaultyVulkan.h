// SPDX-License-Identifier: Apache-2.0
//
// The machine's Vulkan with faults on demand: between the runtime and the
// driver, calls of device functions are counted and one of them can be made to
// fail without reaching the driver.

#ifndef LLMC_TEST_E2E_RUNTIME_FAULTYVULKAN_H
#define LLMC_TEST_E2E_RUNTIME_FAULTYVULKAN_H

#include "runtime/session/Engine.h"

#include <memory>
#include <string>

namespace llmc::test {

/// What goes wrong.
struct Fault {
  std::string function; // only this one counts; empty: every device function
                        // that returns a VkResult
  int call = 0;         // which of its calls fails, from 0
  VkResult result = VK_ERROR_OUT_OF_DEVICE_MEMORY;
  bool isForGood = false; // all later calls fail too
};

/// An engine whose devices have `fault`; one at a time, as Vulkan's functions
/// know no context. Null without Vulkan.
class FaultyVulkan {
public:
  explicit FaultyVulkan(const Fault &fault);
  ~FaultyVulkan();

  std::shared_ptr<runtime::Engine> engine;

  /// Whether the call came that fails.
  bool hasFailed() const;
  /// Calls of the fault's function so far, or of all that return a VkResult.
  int numCalls() const;
  /// Objects created through the engine and not destroyed.
  int numLiveObjects() const;
};

} // namespace llmc::test

#endif // LLMC_TEST_E2E_RUNTIME_FAULTYVULKAN_H
