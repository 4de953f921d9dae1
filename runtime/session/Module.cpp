// SPDX-License-Identifier: Apache-2.0
//
// Module.h.

#include "runtime/session/Module.h"

#include "runtime/session/DeviceLimits.h"

#include <algorithm>
#include <thread>

namespace llmc::runtime {

StatusOr<std::shared_ptr<Module>> Module::load(const Engine &engine,
                                               const std::string &path,
                                               const ModuleOptions &options) {
  std::shared_ptr<Module> module(new Module());
  LLMC_ASSIGN_OR_RETURN(module->file, format::Reader::open(path));

  const auto &variants = module->manifest().variants();
  std::vector<format::TargetInfo> targets;
  for (const format::Variant &variant : variants)
    targets.push_back(variant.target());
  StatusOr<vulkan::DeviceChoice> choice =
      vulkan::chooseDevice(engine.devices(), targets, options.preference);
  if (!choice.ok())
    return choice.status().withContext(path);
  module->chosen = &variants[static_cast<int>(choice->variant.variant)];
  module->reason = choice->variant.reason;

  const format::TargetInfo &target = module->chosen->target();
  const vulkan::DeviceOptions deviceOptions{
      {target.features().begin(), target.features().end()},
      target.subgroup_size()};
  LLMC_ASSIGN_OR_RETURN(
      module->vulkanDevice,
      vulkan::Device::create(engine.instance(), choice->device, deviceOptions));
  if (Status status =
          checkDeviceLimits(module->device().facts(), *module->chosen);
      !status.ok())
    return status.withContext(path + ": variant " + target.name());

  LLMC_ASSIGN_OR_RETURN(module->cache,
                        vulkan::PipelineCache::create(
                            module->device(), options.pipelineCacheFolder,
                            module->file->contentHash()));
  const unsigned numThreads =
      options.numThreads ? options.numThreads
                         : std::max(1u, std::thread::hardware_concurrency());
  LLMC_ASSIGN_OR_RETURN(module->kernels,
                        Pipelines::create(module->device(), *module->file,
                                          *module->chosen, *module->cache,
                                          numThreads));
  // A cache that can't be written costs time at the next start and nothing
  // else.
  (void)module->cache->save();
  LLMC_ASSIGN_OR_RETURN(
      module->weightBuffers,
      uploadWeights(module->device(), *module->file, *module->chosen));
  return module;
}

} // namespace llmc::runtime
