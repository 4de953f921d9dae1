// SPDX-License-Identifier: Apache-2.0
//
// Finds the linears, lets the driver compilers look at the candidates of each
// kind of linear, and ranks for each linear.

#include "compiler/Tuning/Tuner.h"

#include "codegen/Strategy/LinearCandidates.h"
#include "codegen/Strategy/Tuning.h"
#include "codegen/Targets/Targets.h"
#include "compiler/Driver/Diagnostics.h"
#include "compiler/Import/Import.h"
#include "compiler/Pipelines/Phases.h"
#include "compiler/Pipelines/Registration.h"
#include "compiler/Tuning/CandidateCompiler.h"
#include "compiler/Tuning/DriverCompiler.h"
#include "runtime/format/Checksum.h"

#include "mlir/IR/DialectRegistry.h"
#include "mlir/Pass/PassManager.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/Path.h"

#include <google/protobuf/text_format.h>

#include <chrono>
#include <cmath>
#include <fstream>
#include <map>
#include <mutex>
#include <thread>

namespace llmc::tuner {

namespace {

using Clock = std::chrono::steady_clock;

constexpr unsigned kNumProcesses = 2;
/// Modules of one call of the tool, so that progress and the time are looked at
/// between them.
constexpr size_t kModulesPerJob = 4;

std::string tileText(const codegen::LinearTile &tile) {
  return llvm::formatv("{0}x{1} {2}x{3}x{4} {5}", tile.workgroup[0],
                       tile.workgroup[1], tile.rows, tile.columns, tile.kStep,
                       tile.splits);
}

tuning::Config configOf(StringRef kind, ArrayRef<int64_t> workgroup,
                        ArrayRef<int64_t> tile, int64_t splits) {
  tuning::Config config;
  config.set_kind(kind.str());
  for (int64_t size : workgroup)
    config.add_workgroup(static_cast<uint32_t>(size));
  for (int64_t size : tile)
    config.add_tile(static_cast<uint32_t>(size));
  if (splits != 1)
    config.set_splits(static_cast<uint32_t>(splits));
  return config;
}

tuning::Config configOf(const codegen::LinearTile &tile) {
  return configOf(tile.isGemv ? "gemv" : "gemm", tile.workgroup,
                  {tile.rows, tile.columns, tile.kStep}, tile.splits);
}

tuning::Config configOf(const codegen::MatrixTile &tile) {
  return configOf("gemm_matrix", {tile.invocations, 1, 1},
                  {tile.rows, tile.columns, tile.kStep, tile.subgroupRows,
                   tile.subgroupColumns, tile.buffers},
                  tile.splits);
}

tuning::Config configOf(const codegen::GemvMatrixSizes &tile) {
  return configOf("gemv_matrix", {tile.invocations, 1, 1},
                  {tile.rows, tile.columns, tile.kStep, tile.tileWorkgroups},
                  /*splits=*/1);
}

/// What a linear's kernel depends on but for its sizes, which are bounds of
/// loops to the drivers' compilers.
std::string kindOf(const LinearOccurrence &linear) {
  const tuning::Entry &entry = linear.entry;
  return llvm::formatv(
      "{0} {1} x{2}{3} {4} {5}", linear.chosen.isGemv ? "gemv" : "gemm",
      entry.format(), entry.linears(), entry.norm() ? " norm" : "",
      linear.chosen.isGemv ? entry.rows() : 0, entry.activations());
}

CostProblem costProblemOf(const LinearOccurrence &linear) {
  return {linear.problem.shape, static_cast<double>(linear.weightBytes),
          linear.encoding, linear.config.getArithmetic().str()};
}

class Tuner {
public:
  explicit Tuner(const TuneOptions &options)
      : options(options), context(makeRegistry()) {
    context.printOpOnDiagnostic(false);
  }
  ~Tuner() {
    if (!folder.empty())
      (void)llvm::sys::fs::remove_directories(folder);
  }

  StatusOr<TuneResult> run();

private:
  static mlir::DialectRegistry makeRegistry() {
    mlir::DialectRegistry registry;
    pipelines::registerAllDialects(registry);
    return registry;
  }

  Status addModel(const std::string &path);
  Status runPhases(ModuleOp module, ArrayRef<pipelines::Phase> phases);
  std::vector<Candidate> rankedByModel(const LinearOccurrence &linear) const;
  Status makeFolder();
  Status compileAll();
  Status compileCandidates(const LinearOccurrence &linear);
  Status addJob(const CandidateKernel &kernel, int64_t rows, std::string &path);
  void measureAll(const DriverCompiler &compiler);
  void addEntry(const LinearOccurrence &linear, const std::string &version);
  TimedLinear toTimed(const LinearOccurrence &linear) const;
  Status timeAll();
  void addTimedEntry(const TimedLinear &linear);
  Status rankAll();
  void report(const std::string &what, double done) const {
    if (options.progress)
      options.progress(what, done);
  }

  /// A kernel of a kind of linear with some tile.
  struct Measurement {
    std::string path; // of the SPIR-V
    std::optional<KernelFigures> figures;
  };

  const TuneOptions &options;
  MLIRContext context;
  description::Target target;
  std::vector<OwningOpRef<ModuleOp>> modules;
  std::vector<LinearOccurrence> linears;
  std::string folder; // of the candidates' SPIR-V
  bool isDriverAsked = false;
  /// By kind of linear, then by tile.
  std::map<std::string, std::map<std::string, Measurement>> measurements;
  std::map<std::pair<std::string, int64_t>, MeasureJob> jobs;
  TuneResult result;
};

Status Tuner::runPhases(ModuleOp module, ArrayRef<pipelines::Phase> phases) {
  driver::DiagnosticCollector diagnostics(context);
  for (const pipelines::Phase &phase : phases) {
    if (phase.name == "configs")
      break;
    mlir::PassManager manager(&context);
    phase.addPasses(manager);
    if (failed(manager.run(module)))
      return Status(StatusCode::Unsupported, diagnostics.sentences());
  }
  return okStatus();
}

Status Tuner::addModel(const std::string &path) {
  report("reading " + path, 0);
  auto imported = importer::importModel(context, path, {});
  if (!imported)
    return Status(StatusCode::InvalidFile,
                  llvm::toString(imported.takeError()));
  OwningOpRef<ModuleOp> module = std::move(*imported);
  LLMC_RETURN_IF_ERROR(runPhases(*module, pipelines::modelPhases()));
  target::DeviceAttr device = targets::toDeviceAttr(target, &context);
  (*module)->setAttr(target::DeviceAttr::getModuleAttrName(), device);
  LLMC_RETURN_IF_ERROR(runPhases(*module, pipelines::targetPhases()));
  driver::DiagnosticCollector diagnostics(context);
  for (LinearOccurrence &linear : findLinears(*module, device)) {
    // No driver's compiler here has matrices.
    if ((linear.matrix || linear.rowInMatrices) && !options.timeModel)
      continue;
    for (LinearPlace &place : linear.places)
      place.model = modules.size();
    auto isSame = [&](const LinearOccurrence &other) {
      return codegen::tuningKey(other.entry) ==
             codegen::tuningKey(linear.entry);
    };
    if (auto known = llvm::find_if(linears, isSame); known != linears.end())
      llvm::append_range(known->places, linear.places);
    else
      linears.push_back(std::move(linear));
  }
  modules.push_back(std::move(module));
  return okStatus();
}

/// Strategy's choice, then the others from the least cost by the register
/// model on.
std::vector<Candidate>
Tuner::rankedByModel(const LinearOccurrence &linear) const {
  std::vector<codegen::LinearTile> tiles =
      codegen::enumerateLinearTiles(linear.problem, linear.chosen);
  CostProblem problem = costProblemOf(linear);
  std::vector<std::pair<double, size_t>> order; // cost, place
  for (size_t i = 1; i < tiles.size(); ++i)
    order.emplace_back(
        costMicroseconds(problem, {tiles[i], std::nullopt}, target), i);
  llvm::sort(order);
  std::vector<Candidate> candidates = {{tiles.front(), std::nullopt}};
  for (auto [cost, place] : order)
    candidates.push_back({tiles[place], std::nullopt});
  return candidates;
}

/// Strategy's choice always, others while there are too few of the kind.
Status Tuner::compileCandidates(const LinearOccurrence &linear) {
  auto &ofKind = measurements[kindOf(linear)];
  for (auto [rank, candidate] : llvm::enumerate(rankedByModel(linear))) {
    if (rank != 0 &&
        static_cast<int64_t>(ofKind.size()) >= options.numCandidates)
      break;
    auto [place, isNew] = ofKind.try_emplace(tileText(candidate.tile));
    if (!isNew)
      continue;
    auto kernel = compileCandidate(linear, candidate.tile);
    if (!kernel.ok())
      continue; // it is no candidate then
    LLMC_RETURN_IF_ERROR(
        addJob(*kernel, candidate.tile.rows, place->second.path));
  }
  return okStatus();
}

/// Writes the kernel to a file named by its hash.
Status Tuner::addJob(const CandidateKernel &kernel, int64_t rows,
                     std::string &path) {
  size_t size = kernel.spirv.size() * sizeof(uint32_t);
  uint64_t hash = format::checksum(kernel.spirv.data(), size);
  path = folder + "/" + llvm::utohexstr(hash, /*LowerCase=*/true) + ".spv";
  std::ofstream file(path, std::ios::binary);
  file.write(reinterpret_cast<const char *>(kernel.spirv.data()),
             static_cast<std::streamsize>(size));
  file.close();
  if (!file)
    return Status(StatusCode::Io, "cannot write '" + path + "'");
  MeasureJob &job = jobs[{kernel.weights, rows}];
  job.weights = kernel.weights;
  job.rows = rows;
  job.paths.push_back(path);
  return okStatus();
}

Status Tuner::makeFolder() {
  llvm::SmallString<128> path;
  if (std::error_code error =
          llvm::sys::fs::createUniqueDirectory("llmc-tune", path))
    return Status(StatusCode::Io,
                  "cannot create a temporary folder: " + error.message());
  folder = path.str().str();
  return okStatus();
}

Status Tuner::compileAll() {
  LLMC_RETURN_IF_ERROR(makeFolder());
  for (auto [index, linear] : llvm::enumerate(linears)) {
    report("compiling candidates",
           static_cast<double>(index) / static_cast<double>(linears.size()));
    LLMC_RETURN_IF_ERROR(compileCandidates(linear));
  }
  return okStatus();
}

void Tuner::measureAll(const DriverCompiler &compiler) {
  std::vector<MeasureJob> queue;
  size_t numModules = 0;
  for (const auto &[key, job] : jobs)
    for (size_t begin = 0; begin < job.paths.size(); begin += kModulesPerJob) {
      MeasureJob part = job;
      auto first = job.paths.begin() + static_cast<std::ptrdiff_t>(begin);
      size_t count = std::min(kModulesPerJob, job.paths.size() - begin);
      part.paths.assign(first, first + static_cast<std::ptrdiff_t>(count));
      numModules += count;
      queue.push_back(std::move(part));
    }
  auto deadline = Clock::now() + std::chrono::seconds(options.seconds);
  std::map<std::string, KernelFigures> figures;
  std::mutex mutex;
  size_t next = 0, done = 0;
  auto work = [&] {
    for (std::unique_lock lock(mutex);
         next < queue.size() && Clock::now() < deadline;) {
      const MeasureJob &job = queue[next++];
      lock.unlock();
      auto part = compiler.measure(job);
      lock.lock();
      figures.insert(part.begin(), part.end());
      done += job.paths.size();
      report("asking the driver's compiler",
             static_cast<double>(done) / static_cast<double>(numModules));
    }
  };
  std::vector<std::thread> threads;
  for (unsigned i = 0; i < kNumProcesses; ++i)
    threads.emplace_back(work);
  for (std::thread &thread : threads)
    thread.join();
  if (next < queue.size())
    result.remark = llvm::formatv("the time of {0} s ended after {1} of {2} "
                                  "kernels",
                                  options.seconds, done, numModules);
  for (auto &[kind, tiles] : measurements)
    for (auto &[tile, measurement] : tiles)
      if (auto found = figures.find(measurement.path); found != figures.end())
        measurement.figures = found->second;
  result.numMeasured = static_cast<int64_t>(figures.size());
  result.numSpilling = llvm::count_if(figures, [](const auto &figure) {
    return !figure.second.staysInRegisters();
  });
}

void Tuner::addEntry(const LinearOccurrence &linear,
                     const std::string &version) {
  std::vector<Candidate> candidates = rankedByModel(linear);
  auto ofKind = measurements.find(kindOf(linear));
  if (ofKind != measurements.end())
    for (Candidate &candidate : candidates)
      if (auto found = ofKind->second.find(tileText(candidate.tile));
          found != ofKind->second.end())
        candidate.figures = found->second.figures;
  // There is nothing to compare with what was not measured in time.
  if (isDriverAsked && !candidates.front().figures)
    return;
  size_t best = selectCandidate(costProblemOf(linear), candidates, target);
  if (isDriverAsked && candidates[best].figures->isRefused)
    return;
  result.numChanged += best != 0 ? 1 : 0;
  bool isKept = best == 0 && options.onlyChanges;
  const Candidate &chosen = candidates[best];
  tuning::Entry &entry = *(isKept ? result.kept : result.tuning).add_entries();
  entry = linear.entry;
  entry.set_target(target.name());
  *entry.mutable_config() = configOf(chosen.tile);
  if (!chosen.figures)
    return;
  const KernelFigures &figures = *chosen.figures;
  tuning::Measured &measured = *entry.mutable_measured();
  measured.set_compiler(version);
  measured.set_registers(static_cast<uint32_t>(figures.registers));
  measured.set_occupancy_percent(
      static_cast<uint32_t>(figures.occupancyPercent));
  measured.set_instructions_per_multiply_add(
      std::round(figures.instructionsPerMultiplyAdd * 1000) / 1000);
  measured.set_bytes_per_load(figures.bytesPerLoad);
  for (const Candidate &candidate : candidates)
    if (candidate.figures) {
      measured.set_candidates(measured.candidates() + 1);
      measured.set_spilling(measured.spilling() +
                            !candidate.figures->staysInRegisters());
    }
}

/// Strategy's choice, then those of the least cost by the models; of one row
/// those in matrix units, for which there is no model, in up to half of the
/// places.
TimedLinear Tuner::toTimed(const LinearOccurrence &linear) const {
  TimedLinear timed{linear.entry, linear.places, {}, {}};
  timed.entry.set_target(target.name());
  auto most = static_cast<size_t>(options.numCandidates);
  if (linear.matrix) {
    for (const codegen::MatrixTile &tile : codegen::enumerateMatrixTiles(
             linear.problem.shape, *linear.matrix, linear.problem.limits, most))
      timed.proposals.push_back(configOf(tile));
    return timed;
  }
  std::vector<codegen::GemvMatrixSizes> inMatrices =
      codegen::enumerateGemvMatrixTiles(
          linear.problem.shape, linear.rowInMatrices, linear.problem.limits,
          linear.problem.strategy.gemv);
  inMatrices.resize(std::min(inMatrices.size(), most / 2));
  std::vector<Candidate> others = rankedByModel(linear);
  if (linear.rowInMatrices) {
    timed.proposals.push_back(configOf(*linear.rowInMatrices));
  } else {
    timed.proposals.push_back(configOf(others.front().tile));
    others.erase(others.begin());
  }
  for (const codegen::GemvMatrixSizes &tile : inMatrices)
    timed.proposals.push_back(configOf(tile));
  for (const Candidate &candidate : others)
    if (timed.proposals.size() < most)
      timed.proposals.push_back(configOf(candidate.tile));
  return timed;
}

void Tuner::addTimedEntry(const TimedLinear &linear) {
  std::optional<size_t> best = fastestProposal(linear);
  if (!best)
    return;
  result.numChanged += *best != 0 ? 1 : 0;
  bool isKept = *best == 0 && options.onlyChanges;
  tuning::Entry &entry = *(isKept ? result.kept : result.tuning).add_entries();
  entry = linear.entry;
  *entry.mutable_config() = linear.proposals[*best];
  auto rounded = [](double number) { return std::round(number * 100) / 100; };
  tuning::Measured &measured = *entry.mutable_measured();
  measured.set_device(result.device);
  measured.set_microseconds(rounded(*linear.microseconds[*best]));
  measured.set_strategy_microseconds(rounded(*linear.microseconds.front()));
  for (const std::optional<double> &time : linear.microseconds)
    measured.set_candidates(measured.candidates() + (time ? 1 : 0));
  result.numMeasured += measured.candidates();
}

Status Tuner::timeAll() {
  LLMC_RETURN_IF_ERROR(makeFolder());
  std::vector<TimedLinear> timed;
  for (const LinearOccurrence &linear : linears)
    timed.push_back(toTimed(linear));
  StatusOr<TimingOutcome> outcome = timeProposals(
      timed,
      {options.models, folder, options.timeModel,
       [&](const std::string &what, double done) { report(what, done); }});
  if (!outcome.ok())
    return outcome.status();
  result.device = outcome->device;
  result.remark = outcome->remark;
  for (const TimedLinear &linear : timed)
    addTimedEntry(linear);
  return okStatus();
}

/// By the driver's compiler and the register model.
Status Tuner::rankAll() {
  std::string version;
  if (options.shaderStats.empty()) {
    result.remark = "no driver compiler was asked: the register model alone "
                    "decided";
  } else {
    auto compiler = DriverCompiler::create(options.shaderStats, target);
    if (!compiler.ok() && compiler.status().code() != StatusCode::Unsupported)
      return compiler.status();
    if (compiler.ok()) {
      isDriverAsked = true;
      version = compiler->version();
      LLMC_RETURN_IF_ERROR(compileAll());
      measureAll(*compiler);
    } else {
      result.remark =
          compiler.status().message() + ": the register model alone decided";
    }
  }
  for (const LinearOccurrence &linear : linears)
    addEntry(linear, version);
  return okStatus();
}

StatusOr<TuneResult> Tuner::run() {
  if (options.models.empty())
    return Status(StatusCode::InvalidArgument, "no model is given");
  auto loaded = targets::loadTarget(options.target);
  if (!loaded)
    return Status(StatusCode::NotFound, llvm::toString(loaded.takeError()));
  target = std::move(*loaded);
  for (const std::string &model : options.models)
    if (Status status = addModel(model); !status.ok())
      return status.withContext(model);
  result.numLinears = static_cast<int64_t>(linears.size());
  LLMC_RETURN_IF_ERROR(options.timeModel ? timeAll() : rankAll());
  return std::move(result);
}

} // namespace

StatusOr<TuneResult> tuneModels(const TuneOptions &options) {
  return Tuner(options).run();
}

/// All of an entry but the sizes of its linear.
static std::string describeEntry(const tuning::Entry &entry) {
  const tuning::Config &config = entry.config();
  std::string text = llvm::formatv(
      "{0} x{1}{2} rows {3} {4}: {5} {6:$[x]} {7:$[x]}", entry.format(),
      entry.linears(), entry.norm() ? " norm" : "", entry.rows(),
      entry.activations(), config.kind(),
      llvm::make_range(config.workgroup().begin(), config.workgroup().end()),
      llvm::make_range(config.tile().begin(), config.tile().end()));
  if (!entry.has_measured())
    return text;
  const tuning::Measured &measured = entry.measured();
  if (!measured.device().empty())
    return text + llvm::formatv(", best of {0} on {1}", measured.candidates(),
                                measured.device())
                      .str();
  return text + llvm::formatv(", {0} registers, {1} % occupancy, {2:f2} "
                              "instructions per multiply-add, best of {3}",
                              measured.registers(),
                              measured.occupancy_percent(),
                              measured.instructions_per_multiply_add(),
                              measured.candidates())
                    .str();
}

static std::string printKept(const tuning::Tuning &kept) {
  std::map<std::string, std::string> sizes;
  for (const tuning::Entry &entry : kept.entries())
    sizes[describeEntry(entry)] +=
        llvm::formatv(" {0}x{1}", entry.n(), entry.k()).str();
  std::string text =
      sizes.empty() ? ""
                    : "\n# For these linears Strategy's choice is the best:\n";
  for (const auto &[description, linears] : sizes)
    text += "# " + description + ":" + linears + "\n";
  return text;
}

std::string printTuning(const tuning::Tuning &tuning,
                        const tuning::Tuning &kept) {
  google::protobuf::TextFormat::Printer printer;
  printer.SetSingleLineMode(true);
  printer.SetUseShortRepeatedPrimitives(true);
  std::string text =
      "# SPDX-License-Identifier: Apache-2.0\n#\n# Written by `llmc tune`; "
      "docs/tuning.md explains it.\n\n";
  tuning::Tuning head;
  head.set_producer(tuning.producer());
  std::string line;
  printer.PrintToString(head, &line);
  text += line + "\n";
  for (const tuning::Entry &entry : tuning.entries()) {
    printer.PrintToString(entry, &line);
    text += "entries { " + line + "}\n";
  }
  return text + printKept(kept);
}

} // namespace llmc::tuner
