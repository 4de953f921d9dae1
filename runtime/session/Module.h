// SPDX-License-Identifier: Apache-2.0
//
// A loaded file: the device chosen for it, its weights there, its pipelines.

#ifndef LLMC_RUNTIME_SESSION_MODULE_H
#define LLMC_RUNTIME_SESSION_MODULE_H

#include "runtime/format/Reader.h"
#include "runtime/session/Engine.h"
#include "runtime/session/Pipelines.h"
#include "runtime/session/Weights.h"
#include "runtime/vulkan/DeviceChoice.h"

#include <memory>
#include <string>

namespace llmc::runtime {

struct ModuleOptions {
  vulkan::DevicePreference preference;
  std::string pipelineCacheFolder; // empty: compiled pipelines are not kept
  unsigned numThreads =
      0; // that build pipelines; 0: as many as the machine has cores
};

/// Shared by its sessions. Immutable, any thread. Each module has a VkDevice of
/// its own, so that a lost device takes only the sessions of one module.
class Module {
public:
  /// Opens the file, chooses device and variant, builds pipelines and uploads
  /// weights.
  static StatusOr<std::shared_ptr<Module>> load(const Engine &engine,
                                                const std::string &path,
                                                const ModuleOptions &options);

  const format::Reader &reader() const { return *file; }
  const format::Manifest &manifest() const { return file->manifest(); }
  const format::Variant &variant() const { return *chosen; }
  /// Which variant runs, and why.
  const std::string &choiceReason() const { return reason; }
  vulkan::Device &device() const { return *vulkanDevice; }
  const Pipelines &pipelines() const { return *kernels; }
  /// Weight buffers by their index in the variant, null elsewhere.
  const BufferList &weights() const { return weightBuffers; }
  bool pipelineCacheWasUsed() const { return cache->wasLoaded(); }

private:
  Module() = default;

  std::unique_ptr<format::Reader> file;
  const format::Variant *chosen = nullptr;
  std::string reason;
  std::unique_ptr<vulkan::Device> vulkanDevice; // outlives what follows
  std::unique_ptr<vulkan::PipelineCache> cache;
  std::unique_ptr<Pipelines> kernels;
  BufferList weightBuffers;
};

} // namespace llmc::runtime

#endif // LLMC_RUNTIME_SESSION_MODULE_H
