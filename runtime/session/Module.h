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

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace llmc::runtime {

class LaterTests;

/// When a variant's kernels are tested on the device.
enum class SelfTestMode {
  /// Those whose verdict is not in the pipeline cache folder. Where there is
  /// one, kernels that only steps of more rows use wait for the first of those.
  WhenUnknown,
  Always,
  Never,
};

/// For tests of what is done against them: a kernel of a variant is made wrong,
/// or all are taken for unstable.
struct InjectedFault {
  enum class Kind { None, Wrong, Unstable };
  Kind kind = Kind::None;
  std::string variant; // the target's name
  /// Wrong: the first kernel that multiplies of those whose names begin so.
  std::string kernel;
};

struct ModuleOptions {
  vulkan::DevicePreference preference;
  std::string pipelineCacheFolder; // empty: compiled pipelines and verdicts
                                   // of self-tests are not kept
  /// That build pipelines and copy weights; 0: as many as the machine has
  /// cores; 1: all is done by the caller's, before `load` returns.
  unsigned numThreads = 0;
  /// Lets a device that shares the host's memory use the file's own pages,
  /// where it can (VK_EXT_external_memory_host). Then the file has to stay as
  /// it is.
  bool importsWeights = true;
  SelfTestMode selfTest = SelfTestMode::WhenUnknown;
  bool fallsBack = true; // else a failed self-test is the error SelfTestFailed
  InjectedFault fault;
  /// What else is to be made of the file: by a thread of its own while the rest
  /// of the load goes on, for each variant that is tried, or with one thread at
  /// the load's end. A failure is the load's. Null: nothing.
  std::function<Status(const format::Reader &)> meanwhile;
};

/// Shared by its sessions. Immutable, any thread. Each module has a VkDevice of
/// its own, so that a lost device takes only the sessions of one module.
class Module {
public:
  /// Opens the file, chooses device and variant, uploads weights and tests the
  /// kernels, while threads build pipelines. They may go on when `load` has
  /// returned: a kernel that can't be built is then the error of the first step
  /// that needs it, and so is one that fails a later test (LaterTests.h). A
  /// variant that fails its self-test is passed over for the next one that can
  /// run; when none is left the error is NoDevice and tells what was wrong with
  /// each.
  static StatusOr<std::shared_ptr<Module>> load(const Engine &engine,
                                                const std::string &path,
                                                const ModuleOptions &options);
  ~Module();

  const format::Reader &reader() const { return *file; }
  const format::Manifest &manifest() const { return file->manifest(); }
  const format::Variant &variant() const { return *chosen; }
  /// What the load gave: "passed 31 cases", "passed before on this driver",
  /// "not asked for", "the file has none"; where cases are left, their number
  /// behind that.
  const std::string &selfTestSummary() const { return selfTest; }
  /// Variants that were passed over since they failed their self-test.
  size_t numFailedVariants() const { return numFailed; }
  /// Which variant runs, and why.
  const std::string &choiceReason() const { return reason; }
  vulkan::Device &device() const { return *vulkanDevice; }
  Pipelines &pipelines() const { return *kernels; }
  const Weights &weights() const { return *deviceWeights; }
  /// What the load did not test; null: nothing.
  LaterTests *laterTests() const { return later.get(); }
  bool pipelineCacheWasUsed() const { return cache->wasLoaded(); }
  /// What loading spent its time on: "open", "device", "pipeline cache",
  /// "layouts", "weights", "self-test", "meanwhile", and each kernel.
  std::vector<TimeSpan> loadTimes() const { return timeline->spans(); }

private:
  friend class ModuleLoader;
  Module() = default;

  std::unique_ptr<Timeline> timeline = std::make_unique<Timeline>();
  std::unique_ptr<format::Reader> file;
  const format::Variant *chosen = nullptr;
  std::string reason, selfTest;
  size_t numFailed = 0;
  std::unique_ptr<vulkan::Device> vulkanDevice; // outlives what follows
  std::unique_ptr<vulkan::PipelineCache> cache;
  std::unique_ptr<Pipelines> kernels;
  std::optional<Weights> deviceWeights;
  std::unique_ptr<LaterTests> later;
};

} // namespace llmc::runtime

#endif // LLMC_RUNTIME_SESSION_MODULE_H
