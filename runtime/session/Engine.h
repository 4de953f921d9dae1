// SPDX-License-Identifier: Apache-2.0
//
// The beginning of everything: Vulkan and the devices of this machine.

#ifndef LLMC_RUNTIME_SESSION_ENGINE_H
#define LLMC_RUNTIME_SESSION_ENGINE_H

#include "runtime/format/Status.h"
#include "runtime/vulkan/Instance.h"

#include <memory>
#include <string>
#include <vector>

namespace llmc::runtime {

/// Shared by the modules loaded with it. Immutable, any thread.
class Engine {
public:
  /// `vulkanLibrary`: the loader to open; empty: the system's.
  static StatusOr<std::shared_ptr<Engine>>
  create(const std::string &vulkanLibrary = "");
  /// Over a loader that is open already.
  static StatusOr<std::shared_ptr<Engine>>
  create(std::unique_ptr<vulkan::Loader> loader);

  const std::shared_ptr<vulkan::Instance> &instance() const {
    return vulkanInstance;
  }
  std::vector<vulkan::DeviceFacts> devices() const {
    return vulkanInstance->facts();
  }

private:
  explicit Engine(std::shared_ptr<vulkan::Instance> instance)
      : vulkanInstance(std::move(instance)) {}

  std::shared_ptr<vulkan::Instance> vulkanInstance;
};

} // namespace llmc::runtime

#endif // LLMC_RUNTIME_SESSION_ENGINE_H
