// SPDX-License-Identifier: Apache-2.0
//
// Commands that run once while something is being set up: copies and fills.

#ifndef LLMC_RUNTIME_SESSION_ONETIMECOMMANDS_H
#define LLMC_RUNTIME_SESSION_ONETIMECOMMANDS_H

#include "runtime/format/Status.h"
#include "runtime/vulkan/CommandBuffer.h"
#include "runtime/vulkan/Fence.h"

#include <chrono>
#include <memory>

namespace llmc::runtime {

/// One command buffer, recorded again for each use. One thread. What the
/// commands use must outlive the object.
class OneTimeCommands {
public:
  static StatusOr<std::unique_ptr<OneTimeCommands>>
  create(vulkan::Device &device);

  /// Begins recording; the caller records into the result.
  StatusOr<vulkan::CommandBuffer> begin();
  /// Submits what was recorded and waits at most `timeout` for it.
  Status finish(std::chrono::milliseconds timeout);

private:
  OneTimeCommands(vulkan::Device &device,
                  std::unique_ptr<vulkan::CommandPool> pool,
                  vulkan::CommandBuffer commands,
                  std::unique_ptr<vulkan::Fence> fence)
      : device(device), pool(std::move(pool)), commands(commands),
        fence(std::move(fence)) {}

  vulkan::Device &device;
  std::unique_ptr<vulkan::CommandPool> pool;
  vulkan::CommandBuffer commands;
  std::unique_ptr<vulkan::Fence> fence;
};

} // namespace llmc::runtime

#endif // LLMC_RUNTIME_SESSION_ONETIMECOMMANDS_H
