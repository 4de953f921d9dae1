// SPDX-License-Identifier: Apache-2.0
//
// Imported models before and after fusion on the reference evaluator: the
// numbers stay the same, whatever became one op or one region.

#include "compiler/Fusion/Passes.h"
#include "compiler/Import/Import.h"
#include "compiler/Reference/Evaluator.h"
#include "compiler/Transforms/Passes.h"
#include "dialects/Target/Target.h"

#include "mlir/AsmParser/AsmParser.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Pass/PassManager.h"

#include "gtest/gtest.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

namespace {

using llmc::reference::Evaluator;
using llmc::reference::Tensor;

/// Of the largest logit, for models of random weights.
constexpr double kInt8Tolerance = 0.03;

/// Buckets of one row and of more than a norm is fused for.
constexpr const char *kDevice =
    "#target.device<name = \"test\", family = generic, subgroup_size = 32, "
    "max_invocations = 256, max_workgroup_size = [256, 256, 64], "
    "max_workgroup_count = [65535, 65535, 65535], workgroup_memory_bytes = "
    "32768, workgroup_memory_on_chip = true, registers_full_occupancy = 32, "
    "registers_max = 64, compute_units = 8, buffer_alignment = 64, "
    "max_buffer_range = 134217728, max_allocation = 1073741824, "
    "max_push_constant_bytes = 128, spirv_minor = 3, vulkan_minor = 1, "
    "max_unroll = 16, row_buckets = [1, 16], kv_type = \"f32\", features = "
    "[\"int_dot\"], quirks = []";

/// |activations|: what linears of many rows read, "f32" or "i8".
mlir::LogicalResult fuse(mlir::ModuleOp module,
                         const std::string &activations) {
  mlir::MLIRContext *context = module.getContext();
  context->loadDialect<llmc::target::TargetDialect>();
  module->setAttr(llmc::target::DeviceAttr::getModuleAttrName(),
                  mlir::parseAttribute(kDevice + (", prefill_activations = \"" +
                                                  activations + "\">"),
                                       context));
  mlir::PassManager passes(context);
  passes.addNestedPass<mlir::func::FuncOp>(
      llmc::fusion::createFuseQuantizedLinearPass());
  passes.addNestedPass<mlir::func::FuncOp>(llmc::fusion::createFuseSdpaPass());
  passes.addPass(llmc::fusion::createFuseHorizontalLinearsPass());
  passes.addPass(llmc::transforms::createExpandRowBucketsPass());
  passes.addNestedPass<mlir::func::FuncOp>(
      llmc::fusion::createQuantizeActivationsPass());
  passes.addNestedPass<mlir::func::FuncOp>(
      llmc::fusion::createFormRegionsPass());
  return passes.run(module);
}

/// Logits of a prefill of 12 tokens, then of three single ones.
/// |prefillSuffix|, |decodeSuffix|: what the functions' names end in.
std::vector<double> computeLogits(mlir::ModuleOp module,
                                  const std::string &prefillSuffix,
                                  const std::string &decodeSuffix) {
  auto evaluator = llvm::cantFail(Evaluator::create(module));
  std::vector<double> logits;
  int32_t position = 0;
  auto step = [&](const std::vector<int32_t> &tokens, int32_t firstRow,
                  const std::string &suffix) {
    auto hidden = llvm::cantFail(
        evaluator.run("forward" + suffix,
                      {Tensor::vector(tokens), Tensor::scalar(position)}));
    auto rows = llvm::cantFail(evaluator.run(
        "logits" + suffix, {hidden.front(), Tensor::scalar(firstRow)}));
    logits.insert(logits.end(), rows.front().values.begin(),
                  rows.front().values.end());
    position += static_cast<int32_t>(tokens.size());
  };
  step({1, 5, 9, 100, 17, 33, 2, 250, 511, 7, 64, 3}, 2, prefillSuffix);
  for (int32_t token : {11, 400, 12})
    step({token}, 0, decodeSuffix);
  return logits;
}

struct Counts {
  size_t regions = 0;
  size_t others = 0;
};

/// The ops of a function that are regions, and those that should be in one.
Counts countOps(mlir::ModuleOp module, const std::string &name) {
  Counts counts;
  for (mlir::Operation &op :
       module.lookupSymbol<mlir::func::FuncOp>(name).front()) {
    if (llvm::isa<llmc::graph::RegionOp>(op))
      ++counts.regions;
    else if (!llvm::isa<llmc::graph::LoadWeightOp, mlir::func::ReturnOp>(op))
      ++counts.others;
  }
  return counts;
}

/// max |found - wanted| / max |wanted|
double relativeDifference(const std::vector<double> &found,
                          const std::vector<double> &wanted) {
  EXPECT_EQ(found.size(), wanted.size());
  double largest = 0, difference = 0;
  for (size_t i = 0; i != wanted.size(); ++i) {
    largest = std::max(largest, std::abs(wanted[i]));
    difference = std::max(difference, std::abs(found[i] - wanted[i]));
  }
  return difference / largest;
}

class FusedModelsTest : public testing::TestWithParam<const char *> {};

TEST_P(FusedModelsTest, KeepsNumbersInFewRegions) {
  mlir::MLIRContext context;
  std::string path = std::string(LLMC_GOLDEN_DIR) + "/" + GetParam() + ".gguf";
  auto module = llmc::importer::importModel(context, path);
  ASSERT_TRUE(bool(module)) << llvm::toString(module.takeError());
  std::vector<double> wanted = computeLogits(**module, "", "");

  ASSERT_TRUE(mlir::succeeded(fuse(**module, "f32")));
  // The evaluator sums in double, in the same order but for attention.
  EXPECT_LE(relativeDifference(computeLogits(**module, "_r16", "_r1"), wanted),
            1e-9);

  size_t numLayers =
      std::distance((*module)->getOps<llmc::graph::StateOp>().begin(),
                    (*module)->getOps<llmc::graph::StateOp>().end()) /
      2;
  Counts decode = countOps(**module, "forward_r1");
  Counts prefill = countOps(**module, "forward_r16");
  EXPECT_EQ(decode.others, 0u);
  EXPECT_EQ(prefill.others, 0u);
  // Embedding; per layer query, key and value in one or two, heads, attention,
  // output, gate and up, down; and two norms where they stand alone.
  EXPECT_LE(decode.regions, 1 + 7 * numLayers);
  EXPECT_EQ(prefill.regions, decode.regions + 2 * numLayers);
  EXPECT_EQ(countOps(**module, "logits_r1").regions, 1u);
  EXPECT_EQ(countOps(**module, "logits_r16").regions, 2u);
}

// Quantization takes no dispatch, and moves logits no further than
// docs/decisions/0006-int8-activations.md says.
TEST_P(FusedModelsTest, QuantizesActivationsInTheSameRegions) {
  mlir::MLIRContext context;
  std::string path = std::string(LLMC_GOLDEN_DIR) + "/" + GetParam() + ".gguf";
  auto floats = llvm::cantFail(llmc::importer::importModel(context, path));
  auto codes = llvm::cantFail(llmc::importer::importModel(context, path));
  ASSERT_TRUE(mlir::succeeded(fuse(*floats, "f32")));
  ASSERT_TRUE(mlir::succeeded(fuse(*codes, "i8")));
  for (const char *name :
       {"forward_r1", "forward_r16", "logits_r1", "logits_r16"})
    EXPECT_EQ(countOps(*codes, name).regions, countOps(*floats, name).regions)
        << name;
  size_t numQuantized = 0;
  codes->walk([&](llmc::graph::QuantizeActivationsOp) { ++numQuantized; });
  EXPECT_GT(numQuantized, 0u);

  double difference = relativeDifference(computeLogits(*codes, "_r16", "_r1"),
                                         computeLogits(*floats, "_r16", "_r1"));
  RecordProperty("relative_difference", std::to_string(difference));
  EXPECT_GT(difference, 0);
  EXPECT_LE(difference, kInt8Tolerance);
}

INSTANTIATE_TEST_SUITE_P(
    Models, FusedModelsTest,
    testing::Values("tiny-llama-Q8_0", "tiny-llama-Q6_K", "tiny-llama-Q5_K_M",
                    "tiny-llama-Q4_K_M", "tiny-llama-Q4_0", "tiny-llama-Q2_K",
                    "tiny-qwen2-Q8_0", "tiny-qwen2-Q4_K_M", "tiny-qwen2-Q4_0",
                    "tiny-qwen3-Q8_0", "tiny-qwen3-Q4_K_M", "tiny-qwen3-Q4_0"),
    [](const auto &info) {
      std::string name = info.param;
      std::replace(name.begin(), name.end(), '-', '_');
      return name;
    });

} // namespace
