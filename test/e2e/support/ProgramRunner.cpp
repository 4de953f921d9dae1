// SPDX-License-Identifier: Apache-2.0
//
// ProgramRunner: passes to kernels, then one dispatch after another.

#include "test/e2e/support/ProgramRunner.h"

#include "codegen/Lowering/Passes.h"
#include "codegen/Strategy/Passes.h"
#include "codegen/Targets/Targets.h"
#include "compiler/Pipelines/Registration.h"
#include "compiler/Transforms/Passes.h"

#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"

#include <cstring>

namespace llmc::test {

ComputeDevice *ProgramRunner::sharedDevice() {
  static std::unique_ptr<ComputeDevice> device = ComputeDevice::create();
  return device.get();
}

std::unique_ptr<ProgramRunner> ProgramRunner::compile(ComputeDevice &device,
                                                      const std::string &text,
                                                      const Options &options) {
  return compile(makeVulkanBackend(device), text, options);
}

std::unique_ptr<ProgramRunner>
ProgramRunner::compileForHost(const std::string &text, const Options &options) {
  return compile(makeLockstepBackend(), text, options);
}

std::unique_ptr<ProgramRunner>
ProgramRunner::compile(std::unique_ptr<KernelBackend> backend,
                       const std::string &text, const Options &options) {
  std::unique_ptr<ProgramRunner> runner(new ProgramRunner(std::move(backend)));
  if (!runner->compileText(text, options))
    return nullptr;
  for (auto kernel : runner->module->getOps<program::KernelOp>())
    if (!runner->backend->addKernel(kernel))
      return nullptr;
  for (auto entry : runner->module->getOps<program::EntryOp>())
    runner->createEntry(entry);
  return runner;
}

bool ProgramRunner::compileText(const std::string &text,
                                const Options &options) {
  mlir::DialectRegistry registry;
  pipelines::registerAllDialects(registry);
  context.appendDialectRegistry(registry);
  context.loadAllAvailableDialects();
  module = mlir::parseSourceString<mlir::ModuleOp>(text, &context);
  if (!module)
    return false;
  auto description = targets::loadTarget(options.target);
  if (!description) {
    llvm::errs() << llvm::toString(description.takeError()) << "\n";
    return false;
  }
  if (!options.cacheType.empty())
    description->mutable_plan()->set_kv_type(
        options.cacheType == "i8"    ? llmc::description::I8
        : options.cacheType == "f16" ? llmc::description::F16
                                     : llmc::description::F32);
  if (options.family == "nvidia")
    description->set_family(llmc::description::NVIDIA);
  (*module)->setAttr(target::DeviceAttr::getModuleAttrName(),
                     targets::toDeviceAttr(*description, &context));
  mlir::PassManager passes(&context);
  passes.addPass(transforms::createSetCacheTypesPass());
  passes.addPass(codegen::createFuseHeadsPass());
  passes.addPass(codegen::createSelectLoweringConfigsPass());
  passes.addPass(codegen::createLowerRegionsPass());
  passes.addPass(codegen::createAddSamplingPass());
  backend->addPasses(passes);
  return mlir::succeeded(passes.run(*module));
}

/// Buffers with names are shared by all entries; others belong to their slice.
std::string ProgramRunner::bufferKey(program::SliceOp slice) {
  if (slice.getStorage() == program::Storage::Step)
    return "step 0";
  if (slice.getSymbol())
    return slice.getSymbol()->str() + " " + std::to_string(slice.getPlane());
  return "arena " + std::to_string(buffers.size());
}

void ProgramRunner::createEntry(program::EntryOp entry) {
  mlir::DenseMap<mlir::Value, size_t> bufferOf;
  for (auto slice : entry.getOps<program::SliceOp>()) {
    Buffer buffer = {buffers.size(), static_cast<size_t>(slice.getBytes()),
                     nullptr};
    auto [found, isNew] = buffers.try_emplace(bufferKey(slice), buffer);
    if (isNew)
      found->second.data = backend->addBuffer(buffer.bytes);
    bufferOf[slice.getResult()] = found->second.number;
  }
  for (auto dispatch : entry.getOps<program::DispatchOp>()) {
    KernelBackend::Dispatch one = {dispatch.getKernel().str(), {}, {}};
    for (auto [i, count] : llvm::enumerate(dispatch.getGroups()))
      one.groups[i] = static_cast<uint32_t>(count);
    for (mlir::Value slice : dispatch.getBindings())
      one.buffers.push_back(bufferOf.lookup(slice));
    entries[entry.getSymName().str()].push_back(std::move(one));
  }
}

ProgramRunner::Buffer &ProgramRunner::find(const std::string &name, int plane) {
  auto found = buffers.find(name + " " + std::to_string(plane));
  if (found != buffers.end())
    return found->second;
  llvm::report_fatal_error(
      llvm::StringRef("the program has no buffer '" + name + "'"));
}

void ProgramRunner::writeBytes(const std::string &name, int plane,
                               const void *data, size_t bytes) {
  Buffer &buffer = find(name, plane);
  if (bytes > buffer.bytes)
    llvm::report_fatal_error(
        llvm::StringRef("too much for buffer '" + name + "'"));
  std::memcpy(buffer.data, data, bytes);
}

void ProgramRunner::spoil(const std::string &name) {
  Buffer &buffer = find(name, 0);
  std::memset(buffer.data, 0xff, buffer.bytes);
}

size_t ProgramRunner::bytesOf(const std::string &name) const {
  size_t bytes = 0;
  for (const auto &[key, buffer] : buffers)
    if (key.compare(0, name.size() + 1, name + " ") == 0)
      bytes += buffer.bytes;
  return bytes;
}

double ProgramRunner::run(const std::string &entry, int position, int rows,
                          int firstRow) {
  int32_t words[16] = {position, rows, firstRow};
  auto step = buffers.find("step 0");
  if (step != buffers.end())
    std::memcpy(step->second.data, words, sizeof(words));
  return backend->run(entries.at(entry));
}

} // namespace llmc::test
