// SPDX-License-Identifier: Apache-2.0
//
// From gpu modules to SPIR-V words in the kernels. The conversions are
// upstream's; what is here is their order, the target environment, loop control
// and SPIRV-Tools.

#include "codegen/SPIRV/Passes.h"
#include "codegen/SPIRV/SpirvTools.h"
#include "codegen/SPIRV/TargetEnvironment.h"
#include "dialects/Program/Program.h"
#include "dialects/Target/ModuleDevice.h"

#include "mlir/Conversion/ArithToSPIRV/ArithToSPIRV.h"
#include "mlir/Conversion/FuncToSPIRV/FuncToSPIRV.h"
#include "mlir/Conversion/GPUToSPIRV/GPUToSPIRV.h"
#include "mlir/Conversion/MathToSPIRV/MathToSPIRV.h"
#include "mlir/Conversion/MemRefToSPIRV/MemRefToSPIRV.h"
#include "mlir/Conversion/SCFToSPIRV/SCFToSPIRV.h"
#include "mlir/Conversion/VectorToSPIRV/VectorToSPIRV.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/SPIRV/IR/SPIRVDialect.h"
#include "mlir/Dialect/SPIRV/IR/SPIRVOps.h"
#include "mlir/Dialect/SPIRV/Transforms/Passes.h"
#include "mlir/Dialect/SPIRV/Transforms/SPIRVConversion.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/Threading.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Target/SPIRV/Serialization.h"
#include "mlir/Transforms/Passes.h"

#include <mutex>

namespace llmc::codegen {

#define DEBUG_TYPE "llmc-convert-kernels-to-spirv"
#define GEN_PASS_DEF_CONVERTKERNELSTOSPIRVPASS
#include "codegen/SPIRV/Passes.h.inc"

namespace gpu = mlir::gpu;
namespace spirv = mlir::spirv;

namespace {

/// Upstream's scf.for hands its results on in function variables that only the
/// body stores to, so that the results of a loop without rounds would be
/// undefined. Stores what the loop starts from before it.
LogicalResult storeInitialValues(spirv::LoopOp loop) {
  Block *latch = loop.getContinueBlock();
  auto start = dyn_cast<spirv::BranchOp>(loop.getEntryBlock()->getTerminator());
  if (!start)
    return loop.emitOpError("does not start with a branch to its header");
  SmallVector<Value> variables;
  for (auto store : latch->getOps<spirv::StoreOp>()) {
    auto variable = store.getPtr().getDefiningOp<spirv::VariableOp>();
    if (variable && !loop->isAncestor(variable))
      variables.push_back(variable);
  }
  // The first operand is the induction variable.
  ValueRange initial = start.getTargetOperands().drop_front();
  if (variables.size() != initial.size())
    return loop.emitOpError("has ")
           << variables.size() << " results, but starts from " << initial.size()
           << " values";
  OpBuilder builder(loop);
  for (auto [variable, value] : llvm::zip_equal(variables, initial))
    spirv::StoreOp::create(builder, loop.getLoc(), variable, value);
  return success();
}

/// Converts the gpu.module in a module. Upstream's convert-gpu-to-spirv has no
/// patterns for math.
struct ConvertGpuModule final
    : mlir::PassWrapper<ConvertGpuModule, mlir::OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(ConvertGpuModule)

  void runOnOperation() override {
    for (auto module : llvm::make_early_inc_range(
             getOperation().getOps<gpu::GPUModuleOp>())) {
      spirv::TargetEnvAttr environment =
          spirv::lookupTargetEnvOrDefault(module);
      auto target = mlir::SPIRVConversionTarget::get(environment);
      mlir::SPIRVConversionOptions options;
      options.use64bitIndex = false;
      options.emulateLT32BitScalarTypes = false;
      mlir::SPIRVTypeConverter types(environment, options);
      RewritePatternSet patterns(&getContext());
      mlir::ScfToSPIRVContext scfContext;
      mlir::populateMMAToSPIRVCoopMatrixTypeConversion(types);
      mlir::populateGPUToSPIRVPatterns(types, patterns);
      mlir::populateGpuWMMAToSPIRVCoopMatrixKHRConversionPatterns(types,
                                                                  patterns);
      mlir::arith::populateArithToSPIRVPatterns(types, patterns);
      mlir::populateMathToSPIRVPatterns(types, patterns);
      mlir::populateMemRefToSPIRVPatterns(types, patterns);
      mlir::populateVectorToSPIRVPatterns(types, patterns);
      mlir::populateSCFToSPIRVPatterns(types, scfContext, patterns);
      mlir::populateFuncToSPIRVPatterns(types, patterns);
      if (failed(applyFullConversion(module, *target, std::move(patterns))))
        return signalPassFailure();
    }
    auto result = getOperation().walk([](spirv::LoopOp loop) {
      return succeeded(storeInitialValues(loop))
                 ? mlir::WalkResult::advance()
                 : mlir::WalkResult::interrupt();
    });
    if (result.wasInterrupted())
      signalPassFailure();
  }
};

/// spirv-update-vce takes capabilities of integer dot products for those of
/// SPIR-V 1.6 alone; with their extension they serve older versions too.
/// Everything before it has to see the target's version.
struct AllowNewestVersion final
    : mlir::PassWrapper<AllowNewestVersion,
                        mlir::OperationPass<spirv::ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(AllowNewestVersion)

  void runOnOperation() override {
    spirv::ModuleOp module = getOperation();
    spirv::TargetEnvAttr environment = spirv::lookupTargetEnvOrDefault(module);
    auto triple = spirv::VerCapExtAttr::get(
        spirv::Version::V_1_6,
        llvm::to_vector(environment.getTripleAttr().getCapabilities()),
        llvm::to_vector(environment.getTripleAttr().getExtensions()),
        &getContext());
    module->setAttr(spirv::getTargetEnvAttrName(),
                    spirv::TargetEnvAttr::get(
                        triple, environment.getResourceLimits(),
                        environment.getClientAPI(), environment.getVendorID(),
                        environment.getDeviceType(),
                        environment.getDeviceID()));
  }
};

bool hasMatrices(spirv::ModuleOp module) {
  return llvm::is_contained(module.getVceTriple()->getCapabilities(),
                            spirv::Capability::CooperativeMatrixKHR);
}

/// Cooperative matrices need the Vulkan memory model, in which invocations see
/// each other's accesses only where these say so. Upstream declares the older
/// model for all shaders.
void useVulkanMemoryModel(spirv::ModuleOp module) {
  module.setMemoryModelAttr(spirv::MemoryModelAttr::get(
      module.getContext(), spirv::MemoryModel::Vulkan));
  auto isShared = [](Value pointer) {
    return cast<spirv::PointerType>(pointer.getType()).getStorageClass() ==
           spirv::StorageClass::Workgroup;
  };
  auto access = spirv::MemoryAccessAttr::get(
      module.getContext(), spirv::MemoryAccess::NonPrivatePointer);
  module.walk([&](Operation *op) {
    if (auto load = dyn_cast<spirv::LoadOp>(op)) {
      if (isShared(load.getPtr()))
        load.setMemoryAccessAttr(access);
    } else if (auto store = dyn_cast<spirv::StoreOp>(op)) {
      if (isShared(store.getPtr()))
        store.setMemoryAccessAttr(access);
    } else if (auto load = dyn_cast<spirv::KHRCooperativeMatrixLoadOp>(op)) {
      load.setMemoryOperandAttr(access);
    } else if (auto store = dyn_cast<spirv::KHRCooperativeMatrixStoreOp>(op)) {
      store.setMemoryOperandAttr(access);
    }
  });
}

/// Where a barrier makes buffers that invocations write visible to others,
/// these are coherent: without the Vulkan memory model, accesses to others are
/// private to an invocation.
void markCoherentBuffers(spirv::ModuleOp module) {
  bool hasBufferBarrier = false;
  module.walk([&](spirv::ControlBarrierOp barrier) {
    hasBufferBarrier |= spirv::bitEnumContainsAll(
        barrier.getMemorySemantics(), spirv::MemorySemantics::UniformMemory);
  });
  if (!hasBufferBarrier)
    return;
  module.walk([&](spirv::StoreOp store) {
    Value pointer = store.getPtr();
    while (auto chain = pointer.getDefiningOp<spirv::AccessChainOp>())
      pointer = chain.getBasePtr();
    auto address = pointer.getDefiningOp<spirv::AddressOfOp>();
    auto type = cast<spirv::PointerType>(pointer.getType());
    if (address && type.getStorageClass() == spirv::StorageClass::StorageBuffer)
      module.lookupSymbol(address.getVariable())
          ->setAttr("coherent", UnitAttr::get(module.getContext()));
  });
}

/// Upstream's atomics order memory, but of no storage class, which Vulkan does
/// not allow.
void nameMemoryOfAtomics(spirv::ModuleOp module) {
  module.walk([](spirv::AtomicIAddOp atomic) {
    atomic.setSemantics(spirv::MemorySemantics::AcquireRelease |
                        spirv::MemorySemantics::UniformMemory);
  });
}

/// The last touches on a spirv.module: loops are not to be unrolled, and the
/// version is the target's again (spirv-update-vce lowers it to the least that
/// the ops need, which the entry point's list of globals does not fit).
void finishModule(spirv::ModuleOp module, spirv::TargetEnvAttr environment) {
  module.walk([](spirv::LoopOp loop) {
    loop.setLoopControl(spirv::LoopControl::DontUnroll);
  });
  markCoherentBuffers(module);
  nameMemoryOfAtomics(module);
  spirv::VerCapExtAttr triple = *module.getVceTriple();
  SmallVector<spirv::Capability> capabilities(triple.getCapabilities());
  SmallVector<spirv::Extension> extensions(triple.getExtensions());
  if (hasMatrices(module)) {
    useVulkanMemoryModel(module);
    capabilities.push_back(spirv::Capability::VulkanMemoryModel);
  }
  module.setVceTripleAttr(spirv::VerCapExtAttr::get(
      environment.getVersion(), capabilities, extensions, module.getContext()));
}

LogicalResult convertGpuModule(ModuleOp holder) {
  mlir::PassManager passes(holder.getContext(), ModuleOp::getOperationName());
  // Once, at the end, and not after each of them.
  passes.enableVerifier(false);
  passes.addPass(mlir::createCanonicalizerPass());
  passes.addPass(mlir::createCSEPass());
  passes.addPass(std::make_unique<ConvertGpuModule>());
  passes.addNestedPass<spirv::ModuleOp>(
      spirv::createSPIRVLowerABIAttributesPass());
  passes.addPass(mlir::createCanonicalizerPass());
  passes.addPass(mlir::createCSEPass());
  passes.addNestedPass<spirv::ModuleOp>(std::make_unique<AllowNewestVersion>());
  passes.addNestedPass<spirv::ModuleOp>(spirv::createSPIRVUpdateVCEPass());
  return success(succeeded(passes.run(holder)) &&
                 succeeded(mlir::verify(holder)));
}

struct Job {
  program::KernelOp kernel;
  /// Holds the gpu.module, later the spirv.module.
  OwningOpRef<ModuleOp> holder;
  std::vector<uint32_t> words;
};

LogicalResult runJob(Job &job, target::DeviceAttr device,
                     spirv::TargetEnvAttr environment) {
  if (failed(convertGpuModule(*job.holder)))
    return job.kernel.emitError("kernel '")
           << job.kernel.getSymName() << "' does not convert to SPIR-V";
  auto module = *job.holder->getOps<spirv::ModuleOp>().begin();
  finishModule(module, environment);
  SmallVector<uint32_t, 0> binary;
  spirv::SerializationOptions options;
  options.emitSymbolName = false;
  options.emitDebugInfo = false;
  if (failed(spirv::serialize(module, binary, options)))
    return job.kernel.emitError("kernel '")
           << job.kernel.getSymName() << "' does not serialize";
  if (hasMatrices(module)) {
    // Debian's SPIRV-Tools is older than the extension.
    job.words.assign(binary.begin(), binary.end());
    return success();
  }
  std::string error;
  auto words = optimizeAndValidate({binary.begin(), binary.end()},
                                   device.getVulkanMinor(), error);
  if (!words)
    return job.kernel.emitError("kernel '")
           << job.kernel.getSymName() << "' is not valid SPIR-V: " << error;
  job.words = std::move(*words);
  return success();
}

//===----------------------------------------------------------------------===//
// llmc-convert-kernels-to-spirv
//===----------------------------------------------------------------------===//

struct ConvertKernelsToSpirvPass final
    : impl::ConvertKernelsToSpirvPassBase<ConvertKernelsToSpirvPass> {
  using Base::Base;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    FailureOr<target::DeviceAttr> device =
        target::getModuleDevice(module, "to convert for");
    if (failed(device))
      return signalPassFailure();
    spirv::TargetEnvAttr environment = targetEnvironment(*device);
    std::vector<Job> jobs;
    if (failed(takeKernels(module, environment, jobs)))
      return signalPassFailure();
    if (failed(
            mlir::failableParallelForEach(&getContext(), jobs, [&](Job &job) {
              return runJob(job, *device, environment);
            })))
      return signalPassFailure();
    Builder builder(&getContext());
    for (Job &job : jobs) {
      SmallVector<int32_t, 0> words(job.words.begin(), job.words.end());
      job.kernel.setSpirvAttr(builder.getDenseI32ArrayAttr(words));
      ++numKernels;
    }
  }

  /// Moves each kernel's gpu.module into a module of its own.
  static LogicalResult takeKernels(ModuleOp module,
                                   spirv::TargetEnvAttr environment,
                                   std::vector<Job> &jobs) {
    SymbolTable symbols(module);
    for (auto kernel : module.getOps<program::KernelOp>()) {
      if (kernel.getSpirv())
        continue;
      auto gpuModule = symbols.lookup<gpu::GPUModuleOp>(
          (kernel.getSymName() + "_gpu").str());
      if (!gpuModule)
        return kernel.emitOpError("has neither SPIR-V nor a gpu.module");
      gpuModule->setAttr(spirv::getTargetEnvAttrName(), environment);
      Job &job =
          jobs.emplace_back(Job{kernel, ModuleOp::create(kernel.getLoc()), {}});
      gpuModule->moveBefore(job.holder->getBody(),
                            job.holder->getBody()->end());
    }
    return success();
  }
};

} // namespace

} // namespace llmc::codegen
