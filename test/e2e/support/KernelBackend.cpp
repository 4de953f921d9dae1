// SPDX-License-Identifier: Apache-2.0
//
// KernelBackend.h, both.

#include "test/e2e/support/KernelBackend.h"

#include "codegen/SPIRV/Passes.h"
#include "dialects/Target/ModuleDevice.h"
#include "test/e2e/support/LockstepKernel.h"

#include <chrono>
#include <map>

namespace llmc::test {

namespace {

class VulkanBackend : public KernelBackend {
public:
  explicit VulkanBackend(ComputeDevice &device) : device(device) {}
  ~VulkanBackend() override {
    for (auto &[name, kernel] : kernels)
      device.release(kernel);
    for (ComputeDevice::Buffer &buffer : buffers)
      device.release(buffer);
  }

  void addPasses(mlir::PassManager &passes) override {
    passes.addPass(codegen::createConvertKernelsToSpirvPass());
  }
  bool addKernel(program::KernelOp kernel) override {
    if (!kernel.getSpirv())
      return false;
    std::vector<uint32_t> words(kernel.getSpirv()->begin(),
                                kernel.getSpirv()->end());
    kernels[kernel.getSymName().str()] = device.createKernel(
        words, static_cast<uint32_t>(kernel.getNumBindings()));
    return true;
  }
  void *addBuffer(size_t bytes) override {
    return buffers.emplace_back(device.allocate(bytes)).data;
  }
  double run(const std::vector<Dispatch> &dispatches) override {
    std::vector<ComputeDevice::Dispatch> bound;
    for (const Dispatch &dispatch : dispatches) {
      ComputeDevice::Dispatch &one = bound.emplace_back(ComputeDevice::Dispatch{
          &kernels.at(dispatch.kernel), dispatch.groups, {}});
      for (size_t number : dispatch.buffers)
        one.buffers.push_back(buffers[number].buffer);
    }
    return device.run(bound);
  }

private:
  ComputeDevice &device;
  std::map<std::string, ComputeDevice::Kernel> kernels;
  std::vector<ComputeDevice::Buffer> buffers;
};

class LockstepBackend : public KernelBackend {
public:
  void addPasses(mlir::PassManager &) override {}
  bool addKernel(program::KernelOp kernel) override {
    auto module = kernel->getParentOfType<mlir::ModuleOp>();
    auto device = target::getModuleDevice(module, "to run kernels as");
    auto text = mlir::SymbolTable(module).lookup<mlir::gpu::GPUModuleOp>(
        (kernel.getSymName() + "_gpu").str());
    if (mlir::failed(device) || !text)
      return false;
    auto read = LockstepKernel::read(
        text, static_cast<uint32_t>(device->getSubgroupSize()));
    if (!read) {
      llvm::errs() << llvm::toString(read.takeError()) << "\n";
      return false;
    }
    kernels.emplace(kernel.getSymName().str(), std::move(*read));
    return true;
  }
  void *addBuffer(size_t bytes) override {
    return buffers.emplace_back(bytes, 0xff).data();
  }
  double run(const std::vector<Dispatch> &dispatches) override {
    auto start = std::chrono::steady_clock::now();
    for (const Dispatch &dispatch : dispatches) {
      std::vector<LockstepKernel::Buffer> bound;
      for (size_t number : dispatch.buffers)
        bound.push_back({buffers[number].data(), buffers[number].size()});
      if (llvm::Error error =
              kernels.at(dispatch.kernel).run(dispatch.groups, bound))
        llvm::report_fatal_error(std::move(error));
    }
    return std::chrono::duration<double>(std::chrono::steady_clock::now() -
                                         start)
        .count();
  }

private:
  std::map<std::string, LockstepKernel> kernels;
  std::vector<std::vector<uint8_t>> buffers;
};

} // namespace

std::unique_ptr<KernelBackend> makeVulkanBackend(ComputeDevice &device) {
  return std::make_unique<VulkanBackend>(device);
}

std::unique_ptr<KernelBackend> makeLockstepBackend() {
  return std::make_unique<LockstepBackend>();
}

} // namespace llmc::test
