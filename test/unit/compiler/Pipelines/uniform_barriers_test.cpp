// SPDX-License-Identifier: Apache-2.0
//
// Every barrier of every kernel of the golden models is reached by all
// invocations of a workgroup: whatever branch or loop it stands in decides by
// values that are the same for all of them. A device hangs otherwise.

#include "codegen/Targets/Targets.h"
#include "compiler/Import/Import.h"
#include "compiler/Pipelines/Phases.h"
#include "compiler/Pipelines/Registration.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/SPIRV/IR/SPIRVOps.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"

#include "gtest/gtest.h"

#include <string>
#include <tuple>

namespace {

namespace gpu = mlir::gpu;
namespace scf = mlir::scf;

/// Which values all invocations of a workgroup agree on.
class Uniformity {
public:
  bool isUniform(mlir::Value value) {
    auto [entry, isNew] = known.try_emplace(value, true);
    if (!isNew)
      return entry->second; // a loop's own value counts as what it starts from
    bool result = compute(value);
    known[value] = result;
    return result;
  }

private:
  bool compute(mlir::Value value) {
    if (auto argument = mlir::dyn_cast<mlir::BlockArgument>(value))
      return isUniformArgument(argument);
    mlir::Operation *op = value.getDefiningOp();
    if (mlir::isa<gpu::BlockIdOp, mlir::spirv::ReferenceOfOp,
                  mlir::memref::AllocOp>(op))
      return true;
    if (mlir::isa<gpu::ThreadIdOp, gpu::SubgroupIdOp, gpu::LaneIdOp>(op))
      return false;
    if (auto loop = mlir::dyn_cast<scf::ForOp>(op))
      return isUniformResult(loop, mlir::cast<mlir::OpResult>(value));
    // What a load gives depends on its place; memory that differs from
    // invocation to invocation does not exist here.
    if (mlir::isa<mlir::memref::LoadOp>(op) || mlir::isPure(op))
      return op->getNumRegions() == 0 &&
             llvm::all_of(op->getOperands(), [&](mlir::Value operand) {
               return isUniform(operand);
             });
    return false;
  }

  bool isUniformArgument(mlir::BlockArgument argument) {
    mlir::Operation *parent = argument.getOwner()->getParentOp();
    if (mlir::isa<gpu::GPUFuncOp>(parent))
      return true;
    auto loop = mlir::dyn_cast<scf::ForOp>(parent);
    if (!loop)
      return false;
    bool bounds = isUniform(loop.getLowerBound()) && isUniform(loop.getStep());
    if (argument == loop.getInductionVar())
      return bounds;
    unsigned number = argument.getArgNumber() - 1;
    return bounds && isUniform(loop.getInitArgs()[number]) &&
           isUniform(loop.getYieldedValues()[number]);
  }

  bool isUniformResult(scf::ForOp loop, mlir::OpResult result) {
    return isUniform(loop.getUpperBound()) &&
           isUniform(loop.getRegionIterArgs()[result.getResultNumber()]);
  }

  llvm::DenseMap<mlir::Value, bool> known;
};

/// Barriers of a kernel, and those that some invocations may miss.
struct Barriers {
  int all = 0, divergent = 0;
};

Barriers findBarriers(mlir::Operation *root) {
  Barriers found;
  root->walk([&](gpu::GPUFuncOp kernel) {
    Uniformity uniformity;
    kernel.walk([&](mlir::Operation *barrier) {
      if (!mlir::isa<gpu::BarrierOp, mlir::spirv::ControlBarrierOp>(barrier))
        return;
      ++found.all;
      bool isReached = true;
      for (mlir::Operation *parent = barrier->getParentOp(); parent != kernel;
           parent = parent->getParentOp()) {
        if (auto branch = mlir::dyn_cast<scf::IfOp>(parent))
          isReached &= uniformity.isUniform(branch.getCondition());
        else if (auto loop = mlir::dyn_cast<scf::ForOp>(parent))
          isReached &= uniformity.isUniform(loop.getLowerBound()) &&
                       uniformity.isUniform(loop.getUpperBound()) &&
                       uniformity.isUniform(loop.getStep());
        else
          isReached = false;
      }
      found.divergent += !isReached;
    });
  });
  return found;
}

class UniformBarriersTest
    : public testing::TestWithParam<std::tuple<const char *, const char *>> {};

// pytorch/executorch#22325: an invocation returned before a barrier that the
// others waited at, and a Mali-G76 was lost.
TEST_P(UniformBarriersTest, everyKernelOfAModel_B36) {
  auto [model, target] = GetParam();
  mlir::DialectRegistry registry;
  llmc::pipelines::registerAllDialects(registry);
  mlir::MLIRContext context(registry);
  context.loadAllAvailableDialects();
  auto module = llmc::importer::importModel(
      context, std::string(LLMC_GOLDEN_DIR) + "/" + model + ".gguf");
  ASSERT_TRUE(bool(module)) << llvm::toString(module.takeError());
  auto description = llmc::targets::loadTarget(target);
  ASSERT_TRUE(bool(description)) << llvm::toString(description.takeError());

  mlir::PassManager passes(&context);
  for (const llmc::pipelines::Phase &phase : llmc::pipelines::modelPhases())
    phase.addPasses(passes);
  (**module)->setAttr(llmc::target::DeviceAttr::getModuleAttrName(),
                      llmc::targets::toDeviceAttr(*description, &context));
  for (const llmc::pipelines::Phase &phase : llmc::pipelines::targetPhases()) {
    if (phase.name == "spirv")
      break;
    phase.addPasses(passes);
  }
  ASSERT_TRUE(mlir::succeeded(passes.run(**module)));
  Barriers barriers = findBarriers(**module);
  EXPECT_GT(barriers.all, 0);
  EXPECT_EQ(barriers.divergent, 0);
}

INSTANTIATE_TEST_SUITE_P(
    Models, UniformBarriersTest,
    testing::Combine(testing::Values("tiny-llama-Q4_0", "tiny-qwen3-Q4_K_M"),
                     testing::Values("adreno-840", "mali-g610", "mali-g76",
                                     "lavapipe", "vulkan-1.1")));

// The search itself: barriers behind a group's number, behind an invocation's,
// and in a loop whose bound an invocation's number decides.
TEST(DivergentBarriersTest, areFound) {
  mlir::DialectRegistry registry;
  llmc::pipelines::registerAllDialects(registry);
  mlir::MLIRContext context(registry);
  context.loadAllAvailableDialects();
  auto module = mlir::parseSourceString<mlir::ModuleOp>(
      R"(gpu.module @m {
        gpu.func @f() kernel {
          %zero = arith.constant 0 : index
          %one = arith.constant 1 : index
          %group = gpu.block_id x
          %thread = gpu.thread_id x
          %a = arith.cmpi eq, %group, %zero : index
          scf.if %a { gpu.barrier }
          %b = arith.cmpi eq, %thread, %zero : index
          scf.if %b { gpu.barrier }
          scf.for %i = %zero to %thread step %one { gpu.barrier }
          scf.if %b {
            spirv.ControlBarrier <Workgroup>, <Workgroup>, <AcquireRelease|UniformMemory>
          }
          gpu.return
        }
      })",
      &context);
  ASSERT_TRUE(module);
  Barriers barriers = findBarriers(*module);
  EXPECT_EQ(barriers.all, 4);
  EXPECT_EQ(barriers.divergent, 3);
}

} // namespace
