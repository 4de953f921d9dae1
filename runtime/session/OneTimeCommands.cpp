// SPDX-License-Identifier: Apache-2.0
//
// OneTimeCommands.h.

#include "runtime/session/OneTimeCommands.h"

namespace llmc::runtime {

StatusOr<std::unique_ptr<OneTimeCommands>>
OneTimeCommands::create(vulkan::Device &device) {
  LLMC_ASSIGN_OR_RETURN(std::unique_ptr<vulkan::CommandPool> pool,
                        vulkan::CommandPool::create(device));
  LLMC_ASSIGN_OR_RETURN(vulkan::CommandBuffer commands,
                        pool->allocate("set-up"));
  LLMC_ASSIGN_OR_RETURN(std::unique_ptr<vulkan::Fence> fence,
                        vulkan::Fence::create(device));
  return std::unique_ptr<OneTimeCommands>(
      new OneTimeCommands(device, std::move(pool), commands, std::move(fence)));
}

StatusOr<vulkan::CommandBuffer> OneTimeCommands::begin() {
  LLMC_RETURN_IF_ERROR(commands.begin());
  return commands;
}

Status OneTimeCommands::finish(std::chrono::milliseconds timeout) {
  LLMC_RETURN_IF_ERROR(commands.end());
  LLMC_RETURN_IF_ERROR(device.submit({commands.handle()}, *fence));
  return fence->waitAndReset(timeout);
}

} // namespace llmc::runtime
