// SPDX-License-Identifier: Apache-2.0
//
// Runs the phases, keeps the modules, hands them to the writer.

#include "compiler/Driver/Driver.h"

#include "codegen/SPIRV/SpirvTools.h"
#include "codegen/Strategy/Tuning.h"
#include "codegen/Targets/LimitOverrides.h"
#include "codegen/Targets/Targets.h"
#include "compiler/Driver/Diagnostics.h"
#include "compiler/Driver/ModelInfo.h"
#include "compiler/Driver/RecordedOptions.h"
#include "compiler/Import/Import.h"
#include "compiler/Pipelines/Phases.h"
#include "compiler/Pipelines/Registration.h"
#include "compiler/Serialization/EarlierRows.h"
#include "compiler/Serialization/ModuleWriter.h"
#include "compiler/Serialization/SelfTestProgram.h"
#include "compiler/Transforms/Passes.h"
#include "compiler/Transforms/WeightTypes.h"
#include "compiler/Verify/SamplingCase.h"
#include "compiler/Verify/SelfTestCases.h"
#include "dialects/Program/Program.h"
#include "dialects/Program/SelfTestFunctions.h"

#include "mlir/IR/DialectRegistry.h"
#include "mlir/Pass/PassManager.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"

namespace llmc::driver {

namespace {

/// An error with a code of the system is about the output; others are about the
/// model.
Status toStatus(llvm::Error error) {
  Status status;
  llvm::handleAllErrors(std::move(error), [&](const llvm::StringError &reason) {
    bool isIo = reason.convertToErrorCode() != llvm::inconvertibleErrorCode();
    status = Status(isIo ? StatusCode::Io : StatusCode::InvalidFile,
                    reason.getMessage());
  });
  return status;
}

std::string describeProgress(const serialization::WeightBytes &bytes) {
  std::string text = "packing weights";
  if (bytes.copied != 0)
    text += ", " + std::to_string(bytes.copied >> 20) + " of " +
            std::to_string(bytes.all >> 20) + " MiB copied";
  return text;
}

/// The tests of a target's kernels: as functions, as a program, as numbers.
struct SelfTests {
  OwningOpRef<ModuleOp> functions, program;
  std::vector<serialization::SelfTestCase> cases;
};

/// One run of the compiler.
class Compilation {
public:
  Compilation(const CompileOptions &options, CompileResult &result)
      : options(options), result(result), context(makeRegistry()) {
    // The sentence names the place; pages of IR behind it help nobody.
    context.printOpOnDiagnostic(false);
  }

  Status run();

private:
  static mlir::DialectRegistry makeRegistry() {
    mlir::DialectRegistry registry;
    pipelines::registerAllDialects(registry);
    return registry;
  }

  Status checkOptions() const;
  Status loadTargets();
  Status loadTuning();
  Status openEarlier();
  Status applyTypes(description::Target &target) const;
  Status setPooling(importer::ImportOptions &importOptions) const;
  Status import();
  Status quantizeWeights();
  Status exposeRegions(ModuleOp module);
  Status addSelfTests(ModuleOp module, SelfTests &tests);
  bool hasInt8Activations() const {
    return options.activations == "int8" || options.activations == "i8";
  }
  Status runPhases(ModuleOp module, ArrayRef<pipelines::Phase> phases,
                   StringRef target);
  Status compileTarget(const description::Target &target);
  Status compileTargetModule(ModuleOp module, StringRef target,
                             SelfTests &tests);
  Status finishProgram(ModuleOp module, ArrayRef<pipelines::Phase> phases,
                       StringRef target, SelfTests &tests);
  Status finishSelfTests(const pipelines::Phase &planning, StringRef target,
                         SelfTests &tests);
  Status dump(ModuleOp module, StringRef target, StringRef phase);
  Status write();
  void emitPrograms();
  void emitSpirv();
  void report(const std::string &what, double done) const {
    if (options.progress)
      options.progress(what, done);
  }

  const CompileOptions &options;
  CompileResult &result;
  MLIRContext context;
  std::vector<description::Target> targets;
  tuning::Tuning tuning;
  std::unique_ptr<serialization::EarlierFile> earlier; // may be null
  importer::ConvertedRows convertedRows;
  OwningOpRef<ModuleOp> model;
  std::vector<OwningOpRef<ModuleOp>> programs; // one for each target
  std::vector<SelfTests> selfTests;            // likewise
  unsigned numDumps = 0;
};

Status Compilation::checkOptions() const {
  bool needsTarget = options.emit != Emit::Graph && options.emit != Emit::Fused;
  if (needsTarget && options.targets.empty())
    return Status(StatusCode::InvalidArgument, "no target is given");
  if (options.emit == Emit::File && options.outputPath.empty())
    return Status(StatusCode::InvalidArgument, "no output file is given");
  if (!options.kvType.empty() && options.kvType != "f32" &&
      options.kvType != "f16" && options.kvType != "int8")
    return Status(StatusCode::InvalidArgument,
                  "the KV cache's type is '" + options.kvType +
                      "', allowed is f32, f16 or int8");
  if (!options.activations.empty() && options.activations != "f32" &&
      options.activations != "f16" && !hasInt8Activations())
    return Status(StatusCode::InvalidArgument,
                  "the activations' type is '" + options.activations +
                      "', allowed is f32, f16 or int8");
  if (auto types =
          transforms::WeightTypes::create(options.weights, options.weightRules);
      !types)
    return Status(StatusCode::InvalidArgument,
                  llvm::toString(types.takeError()));
  if (options.maxContext < 0)
    return Status(StatusCode::InvalidArgument,
                  "the context length is " +
                      std::to_string(options.maxContext) +
                      ", allowed is 1 or more");
  return okStatus();
}

/// Replaces the types that |target| plans with by those of the options.
Status Compilation::applyTypes(description::Target &target) const {
  const description::Features &features = target.features();
  if (options.kvType == "f16" && !features.f16_storage())
    return Status(StatusCode::InvalidArgument,
                  "target '" + target.name() +
                      "' stores no f16; its KV cache can be f32 or int8");
  if (hasInt8Activations() && !features.int_dot())
    return Status(StatusCode::InvalidArgument,
                  "target '" + target.name() +
                      "' has no integer dot product; its activations can be "
                      "f32 or f16");
  description::Plan &plan = *target.mutable_plan();
  if (!options.kvType.empty())
    plan.set_kv_type(options.kvType == "int8"  ? description::I8
                     : options.kvType == "f16" ? description::F16
                                               : description::F32);
  if (!options.activations.empty()) {
    plan.set_prefill_activations(hasInt8Activations() ? description::I8
                                                      : description::F32);
    plan.set_activations(options.activations == "f16" ? description::F16
                                                      : description::F32);
  }
  return okStatus();
}

Status Compilation::loadTargets() {
  for (const std::string &name : options.targets) {
    auto target = targets::loadTarget(name);
    if (!target)
      return Status(StatusCode::NotFound, llvm::toString(target.takeError()));
    for (const description::Target &other : targets)
      if (other.name() == target->name())
        return Status(StatusCode::InvalidArgument,
                      "target '" + other.name() + "' is given twice");
    LLMC_RETURN_IF_ERROR(applyTypes(*target));
    if (llvm::Error error = targets::lowerLimits(*target, options.limits))
      return Status(StatusCode::InvalidArgument,
                    llvm::toString(std::move(error)));
    targets.push_back(std::move(*target));
  }
  return okStatus();
}

Status Compilation::loadTuning() {
  if (options.tuningPath.empty())
    return okStatus();
  auto loaded = codegen::loadTuning(options.tuningPath);
  if (!loaded)
    return Status(StatusCode::InvalidFile, llvm::toString(loaded.takeError()));
  tuning = std::move(*loaded);
  return okStatus();
}

/// Opened before anything takes time.
Status Compilation::openEarlier() {
  if (options.emit != Emit::File || options.earlierPath.empty())
    return okStatus();
  auto opened = serialization::EarlierFile::open(options.earlierPath,
                                                 options.needsEarlier);
  if (opened.ok())
    earlier = std::move(*opened);
  return options.needsEarlier ? opened.status() : okStatus();
}

Status Compilation::setPooling(importer::ImportOptions &importOptions) const {
  if (options.pooling.empty()) {
    if (options.normalizesEmbeddings)
      return Status(StatusCode::InvalidArgument,
                    "embeddings are normalized only with a given pooling");
    return okStatus();
  }
  importer::PoolingOption &pooling = importOptions.pooling.emplace();
  pooling.isNormalized = options.normalizesEmbeddings;
  if (options.pooling == "none")
    return okStatus();
  pooling.mode = graph::symbolizePooling(options.pooling);
  if (!pooling.mode)
    return Status(StatusCode::InvalidArgument,
                  "the pooling is '" + options.pooling +
                      "', allowed is none, mean, first or last");
  return okStatus();
}

Status Compilation::import() {
  report("reading " + options.inputPath, 0);
  importer::ImportOptions importOptions;
  importOptions.contextLength = options.maxContext;
  LLMC_RETURN_IF_ERROR(setPooling(importOptions));
  DiagnosticCollector diagnostics(context);
  auto imported =
      importer::importModel(context, options.inputPath, importOptions);
  if (!imported)
    return Status(StatusCode::InvalidFile,
                  llvm::toString(imported.takeError()));
  model = std::move(*imported);
  return dump(*model, "", "graph");
}

Status Compilation::quantizeWeights() {
  if (options.weights.empty() && options.weightRules.empty())
    return okStatus();
  transforms::QuantizeWeightsPassOptions types;
  types.typeOption = options.weights;
  types.rulesOption.assign(options.weightRules.begin(),
                           options.weightRules.end());
  mlir::PassManager manager(&context);
  manager.addPass(transforms::createQuantizeWeightsPass(types));
  DiagnosticCollector diagnostics(context);
  if (failed(manager.run(*model)))
    return Status(StatusCode::InvalidArgument, diagnostics.sentences());
  return dump(*model, "", "weights");
}

Status Compilation::runPhases(ModuleOp module,
                              ArrayRef<pipelines::Phase> phases,
                              StringRef target) {
  for (auto [index, phase] : llvm::enumerate(phases)) {
    report("compiling" + (target.empty() ? "" : " for " + target.str()),
           static_cast<double>(index) / static_cast<double>(phases.size()));
    mlir::PassManager manager(&context);
    if (!options.reproducerPath.empty())
      manager.enableCrashReproducerGeneration(options.reproducerPath);
    phase.addPasses(manager);
    DiagnosticCollector diagnostics(context);
    if (failed(manager.run(module)))
      return Status(StatusCode::Unsupported, diagnostics.sentences());
    if (Status status = dump(module, target, phase.name); !status.ok())
      return status;
  }
  return okStatus();
}

/// Results of regions are made visible when the regions have their configs,
/// which do not depend on it.
Status Compilation::exposeRegions(ModuleOp module) {
  transforms::ExposeRegionsPassOptions rows;
  rows.rowsOption.assign(options.exposedRows.begin(),
                         options.exposedRows.end());
  mlir::PassManager manager(&context);
  manager.addNestedPass<mlir::func::FuncOp>(
      transforms::createExposeRegionsPass(rows));
  DiagnosticCollector diagnostics(context);
  return failed(manager.run(module))
             ? Status(StatusCode::Internal, diagnostics.sentences())
             : okStatus();
}

/// The functions join the module; |tests| gets a copy of them for the
/// evaluator.
Status Compilation::addSelfTests(ModuleOp module, SelfTests &tests) {
  mlir::PassManager manager(&context);
  manager.addPass(transforms::createAddSelfTestsPass());
  DiagnosticCollector diagnostics(context);
  if (failed(manager.run(module)))
    return Status(StatusCode::Internal, diagnostics.sentences());
  tests.functions = module.clone();
  for (auto function : llvm::make_early_inc_range(
           tests.functions->getOps<mlir::func::FuncOp>())) {
    auto name = function->getAttrOfType<mlir::StringAttr>("graph.function");
    if (!name || !name.getValue().starts_with(program::kSelfTestPrefix))
      function.erase();
  }
  return okStatus();
}

/// The phases from kernels on. Self-tests share the kernels and are planned
/// apart, so that the program is what it is without them.
Status Compilation::finishProgram(ModuleOp module,
                                  ArrayRef<pipelines::Phase> phases,
                                  StringRef target, SelfTests &tests) {
  LLMC_RETURN_IF_ERROR(runPhases(module, phases.drop_back(), target));
  if (tests.functions)
    tests.program = serialization::splitSelfTests(module);
  LLMC_RETURN_IF_ERROR(runPhases(module, phases.take_back(), target));
  return tests.functions ? finishSelfTests(phases.back(), target, tests)
                         : okStatus();
}

/// Plans the tests' program and evaluates what it should give. A test may need
/// more memory than a device allocates although the model does not: such a file
/// goes without.
Status Compilation::finishSelfTests(const pipelines::Phase &planning,
                                    StringRef target, SelfTests &tests) {
  mlir::PassManager manager(&context);
  planning.addPasses(manager);
  DiagnosticCollector diagnostics(context);
  if (failed(manager.run(*tests.program))) {
    tests = SelfTests();
    return okStatus();
  }
  report("testing kernels for " + target.str(), 0);
  auto cases = verify::evaluateSelfTests(*tests.functions, convertedRows,
                                         options.numThreads);
  if (!cases)
    return toStatus(cases.takeError());
  tests.cases = std::move(*cases);
  if (auto sampling = verify::makeSamplingCase(*tests.program))
    tests.cases.push_back(std::move(*sampling));
  tests.functions = nullptr;
  return okStatus();
}

/// Emit::Regions ends where regions have configs.
Status Compilation::compileTargetModule(ModuleOp module, StringRef target,
                                        SelfTests &tests) {
  ArrayRef<pipelines::Phase> phases = pipelines::targetPhases();
  size_t numRegionPhases = llvm::find_if(phases,
                                         [](const pipelines::Phase &phase) {
                                           return phase.name == "configs";
                                         }) -
                           phases.begin() + 1;
  LLMC_RETURN_IF_ERROR(
      runPhases(module, phases.take_front(numRegionPhases), target));
  if (!options.exposedRows.empty())
    LLMC_RETURN_IF_ERROR(exposeRegions(module));
  if (options.emit == Emit::Regions)
    return okStatus();
  if (options.emit == Emit::File && options.selfTests &&
      options.exposedRows.empty())
    LLMC_RETURN_IF_ERROR(addSelfTests(module, tests));
  return finishProgram(module, phases.drop_front(numRegionPhases), target,
                       tests);
}

Status Compilation::compileTarget(const description::Target &target) {
  OwningOpRef<ModuleOp> module(model->clone());
  (*module)->setAttr(target::DeviceAttr::getModuleAttrName(),
                     targets::toDeviceAttr(target, &context));
  (*module)->setAttr(codegen::kTuningAttr,
                     codegen::toTuningAttr(tuning, target.name(), &context));
  (*module)->setAttr(
      codegen::kTuningDefaultsAttr,
      codegen::toTuningAttr(codegen::getTuningDefaults(target.name()),
                            target.name(), &context));
  SelfTests tests;
  Status status = compileTargetModule(*module, target.name(), tests);
  programs.push_back(std::move(module));
  selfTests.push_back(std::move(tests));
  return status.withContext("target '" + target.name() + "'");
}

/// Writes FOLDER/NN-[TARGET-]PHASE.mlir.
Status Compilation::dump(ModuleOp module, StringRef target, StringRef phase) {
  if (options.dumpFolder.empty())
    return okStatus();
  std::string number = std::to_string(numDumps++);
  std::string name = std::string(2 - std::min<size_t>(2, number.size()), '0') +
                     number + "-" + (target.empty() ? "" : target.str() + "-") +
                     phase.str() + ".mlir";
  llvm::SmallString<128> path(options.dumpFolder);
  std::error_code error = llvm::sys::fs::create_directories(path);
  llvm::sys::path::append(path, name);
  if (!error) {
    llvm::raw_fd_ostream stream(path, error);
    if (!error) {
      module->print(stream);
      stream.close();
      error = stream.error();
      stream.clear_error();
    }
  }
  if (error)
    return Status(StatusCode::Io, "cannot write '" + path.str().str() +
                                      "': " + error.message());
  return okStatus();
}

Status Compilation::write() {
  serialization::WriteOptions writeOptions;
  writeOptions.path = options.outputPath;
  writeOptions.numThreads = std::max(1u, options.numThreads);
  if (Status status =
          describeModel(*model, options.inputPath, writeOptions.manifest);
      !status.ok())
    return status;
  for (const std::string &option : recordOptions(options))
    writeOptions.manifest.add_compile_options(option);
  writeOptions.earlier = earlier.get();
  writeOptions.converted = &convertedRows;
  writeOptions.progress = [&](const serialization::WeightBytes &bytes) {
    report(describeProgress(bytes),
           static_cast<double>(bytes.written) / static_cast<double>(bytes.all));
  };
  std::vector<serialization::TargetProgram> targetPrograms;
  for (auto [target, program, tests] :
       llvm::zip_equal(targets, programs, selfTests))
    targetPrograms.push_back({*program, targets::toTargetInfo(target),
                              tests.program ? *tests.program : ModuleOp(),
                              std::move(tests.cases)});
  auto bytes = serialization::writeModule(targetPrograms, writeOptions);
  if (!bytes)
    return toStatus(bytes.takeError());
  result.weightBytes = bytes->all;
  result.copiedWeightBytes = bytes->copied;
  return okStatus();
}

void Compilation::emitPrograms() {
  llvm::raw_string_ostream stream(result.text);
  for (auto &program : programs) {
    // SPIR-V words are thousands of numbers; Emit::Spirv shows them.
    program->walk([](program::KernelOp kernel) { kernel.removeSpirvAttr(); });
    mlir::OpPrintingFlags flags;
    if (options.emit == Emit::Regions) // they say which part a region is
      flags.enableDebugInfo();
    program->print(stream, flags);
    stream << "\n";
  }
}

void Compilation::emitSpirv() {
  llvm::raw_string_ostream stream(result.text);
  for (auto [target, program] : llvm::zip_equal(targets, programs))
    for (auto kernel : program->getOps<program::KernelOp>()) {
      stream << "// target " << target.name() << ", kernel "
             << kernel.getSymName() << "\n";
      std::vector<uint32_t> words(kernel.getSpirv()->begin(),
                                  kernel.getSpirv()->end());
      stream << codegen::disassemble(words) << "\n";
    }
}

Status Compilation::run() {
  LLMC_RETURN_IF_ERROR(checkOptions());
  LLMC_RETURN_IF_ERROR(loadTargets());
  LLMC_RETURN_IF_ERROR(loadTuning());
  LLMC_RETURN_IF_ERROR(openEarlier());
  LLMC_RETURN_IF_ERROR(import());
  LLMC_RETURN_IF_ERROR(quantizeWeights());
  if (options.emit != Emit::Graph)
    LLMC_RETURN_IF_ERROR(runPhases(*model, pipelines::modelPhases(), ""));
  if (options.emit == Emit::Graph || options.emit == Emit::Fused) {
    llvm::raw_string_ostream stream(result.text);
    model->print(stream);
    return okStatus();
  }
  if (earlier)
    if (llvm::Error error =
            serialization::offerEarlierRows(*model, *earlier, convertedRows))
      return toStatus(std::move(error));
  for (const description::Target &target : targets)
    LLMC_RETURN_IF_ERROR(compileTarget(target));
  switch (options.emit) {
  case Emit::Program:
  case Emit::Regions:
    emitPrograms();
    return okStatus();
  case Emit::Spirv:
    emitSpirv();
    return okStatus();
  default:
    return write();
  }
}

} // namespace

StatusOr<CompileResult> compileModel(const CompileOptions &options) {
  CompileResult result;
  LLMC_RETURN_IF_ERROR(Compilation(options, result).run());
  return result;
}

} // namespace llmc::driver
