// SPDX-License-Identifier: Apache-2.0
//
// Engine.h.

#include "runtime/session/Engine.h"

namespace llmc::runtime {

StatusOr<std::shared_ptr<Engine>>
Engine::create(const std::string &vulkanLibrary) {
  LLMC_ASSIGN_OR_RETURN(std::unique_ptr<vulkan::Loader> loader,
                        vulkan::Loader::open(vulkanLibrary));
  return create(std::move(loader));
}

StatusOr<std::shared_ptr<Engine>>
Engine::create(std::unique_ptr<vulkan::Loader> loader) {
  LLMC_ASSIGN_OR_RETURN(std::shared_ptr<vulkan::Instance> instance,
                        vulkan::Instance::create(std::move(loader)));
  return std::shared_ptr<Engine>(new Engine(std::move(instance)));
}

} // namespace llmc::runtime
