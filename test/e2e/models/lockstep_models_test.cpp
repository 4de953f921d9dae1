// SPDX-License-Identifier: Apache-2.0
//
// Golden models as files for GPUs that are not here: the runtime runs them on
// the fake driver, whose kernels are the file's own, in lockstep on the host.

#include "compiler/Pipelines/Registration.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Parser/Parser.h"
#include "runtime/format/Reader.h"
#include "test/e2e/models/GoldenTest.h"
#include "test/e2e/support/LockstepKernel.h"
#include "test/support/fake_vulkan/FakeVulkan.h"

#include <map>

namespace llmc::test {
namespace {

struct Case {
  ModelOnTarget what;
  /// Of the largest logit.
  double tolerance;
};

/// Kernels of a compiled model.
class LockstepProgram {
public:
  /// `dump`: the IR behind the phase `kernels`.
  bool read(const std::string &dump, uint32_t subgroupSize) {
    mlir::DialectRegistry registry;
    pipelines::registerAllDialects(registry);
    context.appendDialectRegistry(registry);
    context.loadAllAvailableDialects();
    module = mlir::parseSourceFile<mlir::ModuleOp>(dump, &context);
    if (!module)
      return false;
    for (auto text : module->getOps<mlir::gpu::GPUModuleOp>()) {
      auto kernel = LockstepKernel::read(text, subgroupSize);
      if (!kernel) {
        ADD_FAILURE() << llvm::toString(kernel.takeError());
        return false;
      }
      kernels.emplace(text.getName().drop_back(strlen("_gpu")).str(),
                      std::move(*kernel));
    }
    return true;
  }

  /// Teaches the fake driver the kernels of the file's variant.
  void teach(const format::Reader &file) {
    for (const format::Kernel &kernel : file.manifest().variants(0).kernels()) {
      const format::ByteSpan code = file.section(kernel.code_section());
      const auto begin = code.data + kernel.code_offset();
      FakeVulkan::addKernel(
          {begin, begin + kernel.code_size()},
          [one = &kernels.at(kernel.name())](
              const std::vector<FakeBinding> &bindings,
              const std::array<uint32_t, 3> &groups) {
            std::vector<LockstepKernel::Buffer> buffers;
            for (const FakeBinding &binding : bindings)
              buffers.push_back({binding.data, binding.bytes});
            if (llvm::Error error = one->run(groups, buffers))
              ADD_FAILURE() << llvm::toString(std::move(error));
          });
    }
  }

private:
  mlir::MLIRContext context;
  mlir::OwningOpRef<mlir::ModuleOp> module;
  std::map<std::string, LockstepKernel> kernels;
};

class ModelInLockstep : public testing::TestWithParam<Case> {
protected:
  void load() {
    const auto &[name, target] = GetParam().what;
    golden = readGolden(name, folder);
    if (golden.modelPath.empty())
      GTEST_SKIP() << "no Python with numpy to make the f16 model";
    const std::string path = folder.file("model.llmc"),
                      dumps = folder.file("dumps");
    const ToolResult done =
        runTool({"compile", golden.modelPath, "--target=" + std::string(target),
                 "-o", path, "--max-context=64", "--dump-dir=" + dumps});
    ASSERT_EQ(done.exitCode, 0) << done.errors;
    auto file = format::Reader::open(path);
    ASSERT_TRUE(file.ok()) << file.status().message();
    const format::TargetInfo &info = (*file)->manifest().variants(0).target();
    const uint32_t subgroupSize = std::max(1u, info.subgroup_size());
    ASSERT_TRUE(
        program.read(dumps + "/05-" + target + "-kernels.mlir", subgroupSize));
    program.teach(**file);
    FakeOffer offer;
    offer.gpu = {
        info.device_name_patterns().empty() ? "a GPU"
                                            : info.device_name_patterns(0),
        info.vendor_id(), info.device_ids().empty() ? 1 : info.device_ids(0),
        subgroupSize};
    FakeVulkan::setOffer(offer);
    auto engine = runtime::Engine::create(LLMC_FAKE_VULKAN);
    ASSERT_TRUE(engine.ok()) << engine.status().message();
    runtime::ModuleOptions options;
    options.fallsBack = false;
    options.selfTest = runtime::SelfTestMode::Always;
    auto module = runtime::Module::load(**engine, path, options);
    ASSERT_TRUE(module.ok()) << module.status().message();
    EXPECT_EQ((*module)->variant().target().name(), target);
    EXPECT_EQ((*module)->selfTestSummary().rfind("passed ", 0), 0u);
    auto created = runtime::LanguageModel::create(*module, {});
    ASSERT_TRUE(created.ok()) << created.status().message();
    model = std::move(*created);
  }

  TemporaryFolder folder;
  Golden golden;
  LockstepProgram program;
  std::unique_ptr<runtime::LanguageModel> model;
};

/// The self-test passes, and so do the logits of a prompt in one step and of
/// the tokens behind it, one by one.
TEST_P(ModelInLockstep, ComputesTheGoldenLogits) {
  load();
  if (!model)
    return;
  const size_t vocabulary = model->vocabularySize();
  auto found = prefillAll(*model, golden.prompt);
  ASSERT_TRUE(found.ok()) << found.status().message();
  for (const int32_t token : golden.greedy) {
    std::vector<float> row(vocabulary);
    EXPECT_EQ(argmax(found->data() + found->size() - vocabulary, vocabulary),
              token);
    LLMC_E2E_OK(model->decode(token, row.data()));
    found->insert(found->end(), row.begin(), row.end());
  }
  const double difference = relativeDifference(*found, golden.logits);
  EXPECT_LE(difference, GetParam().tolerance);
  RecordProperty("difference", std::to_string(difference));
}

/// Caches of f16, and inputs of matrix units: numbers err by up to 2^-11.
constexpr double kHalfTolerance = 2e-3;
/// Prompts whose inputs are quantized to eight bits: int8_test.cpp.
constexpr double kInt8Tolerance = 0.03;

INSTANTIATE_TEST_SUITE_P(
    Models, ModelInLockstep,
    testing::Values(Case{{"tiny-qwen3-Q4_K_M", "nvidia-h200"}, kHalfTolerance},
                    Case{{"tiny-llama-Q4_0", "nvidia-h200"}, kHalfTolerance},
                    Case{{"tiny-llama-Q8_0", "nvidia-h200"}, kHalfTolerance},
                    Case{{"tiny-gemma3-Q4_0", "nvidia-h200"}, kHalfTolerance},
                    Case{{"stress-qwen3-Q8_0", "nvidia-h200"}, kHalfTolerance},
                    Case{{"tiny-qwen3-Q4_K_M", "adreno-840"}, kInt8Tolerance},
                    Case{{"tiny-gemma3-Q4_0", "adreno-840"}, kInt8Tolerance},
                    Case{{"tiny-qwen3-Q4_K_M", "mali-g610"}, kInt8Tolerance},
                    Case{{"tiny-llama-Q4_0", "mali-g610"}, kInt8Tolerance},
                    Case{{"tiny-qwen3-Q4_K_M", "mali-g76"}, kHalfTolerance},
                    Case{{"tiny-lfm2-Q4_0", "mali-g76"}, kHalfTolerance}),
    [](const auto &info) {
      return asTestName(info.param.what.model + std::string("_") +
                        info.param.what.target);
    });

} // namespace
} // namespace llmc::test
