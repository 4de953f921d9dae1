// SPDX-License-Identifier: Apache-2.0
//
// Module.h. A variant after another is loaded until one passes its self-test.

#include "runtime/session/Module.h"

#include "runtime/session/DeviceLimits.h"
#include "runtime/session/LaterTests.h"
#include "runtime/session/SelfTest.h"
#include "runtime/session/SelfTestRecord.h"

#include <algorithm>
#include <future>
#include <numeric>
#include <thread>

namespace llmc::runtime {

class ModuleLoader {
public:
  ModuleLoader(const Engine &engine, const ModuleOptions &options)
      : engine(engine), options(options) {}

  StatusOr<std::shared_ptr<Module>> load(const std::string &path);

private:
  Status open(const std::string &path);
  std::future<Status> beginMeanwhile() const;
  std::future<Status> beginWeights() const;
  StatusOr<vulkan::DeviceChoice> choose(const format::Manifest &manifest);
  StatusOr<bool> tryVariant(const vulkan::DeviceChoice &choice);
  Status createDevice(const vulkan::DeviceChoice &choice);
  Status openCache();
  Status prepare(const vulkan::DeviceChoice &choice,
                 std::vector<uint32_t> order);
  /// The cases that are not known to pass; none where nothing is to be tested.
  TestPlan planOf(const SelfTestRecord &record) const;
  StatusOr<std::string> test(TestPlan plan,
                             std::unique_ptr<SelfTestRecord> record);
  unsigned numThreads() const {
    return options.numThreads
               ? options.numThreads
               : std::max(1u, std::thread::hardware_concurrency());
  }
  /// By a thread of its own where there may be several, else by who asks for
  /// the result.
  std::launch beside() const {
    return numThreads() > 1 ? std::launch::async | std::launch::deferred
                            : std::launch::deferred;
  }
  bool hasFault() const {
    return options.fault.kind != InjectedFault::Kind::None;
  }
  bool injects(InjectedFault::Kind kind) const {
    return options.fault.kind == kind &&
           options.fault.variant == module->variant().target().name();
  }

  const Engine &engine;
  const ModuleOptions &options;
  std::shared_ptr<Module> module;
  std::map<size_t, vulkan::VariantFailures> failures; // by device
};

Status ModuleLoader::open(const std::string &path) {
  const Timeline::Mark mark(*module->timeline, "open");
  LLMC_ASSIGN_OR_RETURN(module->file, format::Reader::open(path));
  return okStatus();
}

/// Of what the caller wants besides; the future waits for its end, or has it
/// done by who asks for the result.
std::future<Status> ModuleLoader::beginMeanwhile() const {
  return std::async(options.meanwhile ? beside() : std::launch::deferred,
                    [this] {
                      if (!options.meanwhile)
                        return okStatus();
                      const Timeline::Mark mark(*module->timeline, "meanwhile");
                      return options.meanwhile(module->reader());
                    });
}

StatusOr<vulkan::DeviceChoice>
ModuleLoader::choose(const format::Manifest &manifest) {
  vulkan::TargetList targets;
  for (const format::Variant &variant : manifest.variants())
    targets.push_back(&variant.target());
  return vulkan::chooseDevice(engine.devices(), targets, options.preference,
                              failures);
}

/// Whether a device of this type computes from the host's memory as fast as
/// from its own.
static bool sharesMemory(vulkan::DeviceType type) {
  return type == vulkan::DeviceType::Integrated ||
         type == vulkan::DeviceType::Cpu;
}

Status ModuleLoader::createDevice(const vulkan::DeviceChoice &choice) {
  const Timeline::Mark mark(*module->timeline, "device");
  const format::TargetInfo &target = module->chosen->target();
  const vulkan::DeviceOptions deviceOptions{
      {target.features().begin(), target.features().end()},
      target.subgroup_size(),
      options.importsWeights &&
          sharesMemory(engine.devices()[choice.device].type)};
  LLMC_ASSIGN_OR_RETURN(
      module->vulkanDevice,
      vulkan::Device::create(engine.instance(), choice.device, deviceOptions));
  if (Status status =
          checkDeviceLimits(module->device().facts(), *module->chosen);
      !status.ok())
    return status.withContext(module->file->path() + ": variant " +
                              target.name());
  return okStatus();
}

Status ModuleLoader::openCache() {
  const Timeline::Mark mark(*module->timeline, "pipeline cache");
  LLMC_ASSIGN_OR_RETURN(module->cache,
                        vulkan::PipelineCache::create(
                            module->device(), options.pipelineCacheFolder,
                            module->file->contentHash()));
  return okStatus();
}

std::future<Status> ModuleLoader::beginWeights() const {
  return std::async(beside(), [this]() -> Status {
    const Timeline::Mark mark(*module->timeline, "weights");
    LLMC_ASSIGN_OR_RETURN(module->deviceWeights,
                          Weights::load(module->device(), *module->file,
                                        *module->chosen, numThreads()));
    return okStatus();
  });
}

/// Device and weights of the chosen variant, while its pipelines are built.
/// Weights begin before the pipelines' layouts, the first of which take an
/// NVIDIA driver with empty caches 20 ms.
Status ModuleLoader::prepare(const vulkan::DeviceChoice &choice,
                             std::vector<uint32_t> order) {
  LLMC_RETURN_IF_ERROR(createDevice(choice));
  std::future<Status> weights = beginWeights();
  LLMC_RETURN_IF_ERROR(openCache());
  LLMC_ASSIGN_OR_RETURN(
      module->kernels,
      Pipelines::create(
          module->device(), *module->file, *module->chosen, *module->cache,
          *module->timeline, numThreads(), std::move(order),
          injects(InjectedFault::Kind::Wrong) ? &options.fault.kernel
                                              : nullptr));
  if (numThreads() == 1)
    LLMC_RETURN_IF_ERROR(module->kernels->requireAll());
  return weights.get();
}

TestPlan ModuleLoader::planOf(const SelfTestRecord &record) const {
  TestPlan plan = planTests(*module->chosen);
  // A later case that fails is no use to a load that does not know of it.
  const bool hasStages = options.selfTest == SelfTestMode::WhenUnknown &&
                         !options.pipelineCacheFolder.empty() &&
                         numThreads() > 1;
  if (!hasStages) {
    plan.firstCases.insert(plan.firstCases.end(), plan.laterCases.begin(),
                           plan.laterCases.end());
    plan.laterCases.clear();
    plan.isFirst.assign(plan.isFirst.size(), true);
  } else if (!hasFault() &&
             record.hasPassedFirst(module->chosen->target().name())) {
    plan.firstCases.clear();
  }
  return plan;
}

/// Tests the first cases of the loaded variant and leaves the others to be
/// tested later. Returns the problem; empty: none.
StatusOr<std::string>
ModuleLoader::test(TestPlan plan, std::unique_ptr<SelfTestRecord> record) {
  const Timeline::Mark mark(*module->timeline, "self-test");
  SelfTestOptions testOptions;
  testOptions.pretendsUnstable = injects(InjectedFault::Kind::Unstable);
  SelfTestReport report;
  if (!plan.firstCases.empty()) {
    LLMC_ASSIGN_OR_RETURN(report,
                          runSelfTest(module, plan.firstCases, testOptions));
    module->selfTest = "passed " + std::to_string(report.numCases) + " cases";
  }
  const std::string &name = module->variant().target().name();
  const bool isLeft = report.hasPassed() && !plan.laterCases.empty();
  if (hasFault())
    record.reset();
  const bool isNews = record && !plan.firstCases.empty();
  if (isNews && isLeft)
    record->setPassedFirst(name);
  else if (isNews)
    record->set(name, report.hasPassed() ? "" : report.asReason());
  if (!report.hasPassed())
    return report.asReason();
  if (isLeft) {
    module->selfTest += ", " + std::to_string(plan.laterCases.size()) +
                        " are left for longer prompts";
    module->later = std::make_unique<LaterTests>(std::move(plan), testOptions,
                                                 std::move(record));
  }
  return std::string();
}

/// Loads the chosen variant; false when its self-test failed, now or before.
StatusOr<bool> ModuleLoader::tryVariant(const vulkan::DeviceChoice &choice) {
  const bool hasTest = module->chosen->has_self_test();
  const bool isTested = hasTest && options.selfTest != SelfTestMode::Never;
  auto record = std::make_unique<SelfTestRecord>(
      engine.devices()[choice.device],
      isTested ? options.pipelineCacheFolder : "", module->file->contentHash());
  std::optional<std::string> problem;
  if (isTested && options.selfTest == SelfTestMode::WhenUnknown && !hasFault())
    problem = record->find(module->chosen->target().name());
  module->selfTest = !hasTest   ? "the file has none"
                     : isTested ? "passed before on this driver"
                                : "not asked for";
  const bool isToTest = isTested && !problem;
  TestPlan plan;
  if (isToTest)
    plan = planOf(*record);
  if (!problem || problem->empty()) {
    // A test waits for its kernels, steps need them as the file has them.
    std::vector<uint32_t> order(
        static_cast<size_t>(module->chosen->kernels_size()));
    std::iota(order.begin(), order.end(), 0);
    LLMC_RETURN_IF_ERROR(prepare(
        choice, plan.firstCases.empty() ? std::move(order)
                                        : buildOrder(*module->chosen, plan)));
  }
  if (isToTest) {
    LLMC_ASSIGN_OR_RETURN(problem, test(std::move(plan), std::move(record)));
  }
  if (!problem || problem->empty())
    return true;
  if (!options.fallsBack)
    return Status(StatusCode::SelfTestFailed,
                  module->file->path() + ": variant " +
                      module->chosen->target().name() + " " + *problem);
  failures[choice.device][choice.variant.variant] = *problem;
  return false;
}

StatusOr<std::shared_ptr<Module>> ModuleLoader::load(const std::string &path) {
  while (true) {
    module.reset(new Module());
    LLMC_RETURN_IF_ERROR(open(path));
    std::future<Status> meanwhile = beginMeanwhile();
    StatusOr<vulkan::DeviceChoice> choice = choose(module->manifest());
    if (!choice.ok())
      return choice.status().withContext(path);
    module->chosen =
        &module->manifest().variants(static_cast<int>(choice->variant.variant));
    module->reason = choice->variant.reason;
    StatusOr<bool> hasPassed = tryVariant(*choice);
    if (!hasPassed.ok())
      return hasPassed.status();
    if (!*hasPassed)
      continue;
    LLMC_RETURN_IF_ERROR(meanwhile.get());
    for (const auto &[device, ofDevice] : failures)
      module->numFailed += ofDevice.size();
    return std::move(module);
  }
}

Module::~Module() {
  // What a device that hangs may still read stays mapped.
  if (vulkanDevice && vulkanDevice->isAbandoned())
    (void)file.release();
}

StatusOr<std::shared_ptr<Module>> Module::load(const Engine &engine,
                                               const std::string &path,
                                               const ModuleOptions &options) {
  return ModuleLoader(engine, options).load(path);
}

} // namespace llmc::runtime
