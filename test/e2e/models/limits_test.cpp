// SPDX-License-Identifier: Apache-2.0
//
// The golden models on lavapipe as if it were a lesser device, or one with
// other subgroups: the logits stay what they are, and the file keeps the
// limits.

#include "test/e2e/compiled/EndToEnd.h"
#include "test/e2e/compiled/ToyModel.h"

#include "runtime/format/Reader.h"

#include <algorithm>

namespace llmc::test {
namespace {

/// As for the devices' own limits (golden_test.cpp).
constexpr double kTolerance = 5e-5;

struct Case {
  const char *name;
  const char *model;
  std::vector<std::string> limits;
};

format::Variant readVariant(const std::string &file) {
  auto reader = format::Reader::open(file);
  if (reader.ok())
    return (*reader)->manifest().variants(0);
  ADD_FAILURE() << reader.status().message();
  return {};
}

std::vector<format::Dispatch> dispatchesOf(const format::Variant &variant) {
  std::vector<format::Dispatch> dispatches;
  for (const format::Entry &entry : variant.entries())
    for (const format::Command &command : entry.commands())
      if (command.has_dispatch())
        dispatches.push_back(command.dispatch());
  return dispatches;
}

void expectGoldenLogits(const std::string &file, const Golden &golden) {
  auto model = loadLanguageModel(file);
  ASSERT_TRUE(model.ok()) << model.status().message();
  auto all = prefillAll(**model, golden.allTokens());
  ASSERT_TRUE(all.ok()) << all.status().message();
  LLMC_E2E_OK((*model)->reset());
  auto single = decodeAll(**model, golden.allTokens());
  ASSERT_TRUE(single.ok()) << single.status().message();
  EXPECT_LE(relativeDifference(*all, golden.logits), kTolerance);
  EXPECT_LE(relativeDifference(*single, golden.logits), kTolerance);
}

class LesserDevices : public testing::TestWithParam<Case> {};

TEST_P(LesserDevices, GiveTheGoldenLogits) {
  LLMC_E2E_NEED_DEVICE();
  TemporaryFolder folder;
  const Golden golden = readGolden(GetParam().model, folder);
  const std::string file = folder.file("model.llmc");
  LLMC_E2E_OK(compile(golden.modelPath, file, {"lavapipe"}, /*maxContext=*/0,
                      GetParam().limits));
  expectGoldenLogits(file, golden);
}

INSTANTIATE_TEST_SUITE_P(
    Limits, LesserDevices,
    testing::Values(
        Case{"Subgroups4", "tiny-llama-Q4_K_M", {"subgroup_size=4"}},
        Case{"Subgroups16", "tiny-llama-Q4_K_M", {"subgroup_size=16"}},
        Case{"Subgroups64", "tiny-llama-Q4_K_M", {"subgroup_size=64"}},
        Case{"FewWorkgroups", "tiny-qwen3-Q8_0", {"max_workgroup_count=13"}},
        Case{"SmallWorkgroups",
             "tiny-qwen2-Q4_0",
             {"max_invocations=128", "workgroup_memory_bytes=16384"}}),
    [](const auto &info) { return std::string(info.param.name); });

// Every kernel of a model meets a grid that has to be folded.
TEST(LesserDevice, FewWorkgroupsAreKept_B35) {
  TemporaryFolder folder;
  const Golden golden = readGolden("tiny-qwen3-Q8_0", folder);
  const std::string file = folder.file("model.llmc");
  LLMC_E2E_OK(compile(golden.modelPath, file, {"lavapipe"}, /*maxContext=*/0,
                      {"max_workgroup_count=13"}));
  const format::Variant variant = readVariant(file);
  for (const format::Dispatch &dispatch : dispatchesOf(variant))
    for (uint32_t count : dispatch.groups())
      EXPECT_LE(count, 13u) << dispatch.label();
}

// What the conservative target promises is what Vulkan 1.1 guarantees.
TEST(LesserDevice, TheConservativeTargetKeepsVulkansLimits_B35) {
  TemporaryFolder folder;
  const Golden golden = readGolden("tiny-llama-Q4_K_M", folder);
  const std::string file = folder.file("model.llmc");
  LLMC_E2E_OK(compile(golden.modelPath, file, {"vulkan-1.1"}));
  const format::Variant variant = readVariant(file);
  EXPECT_TRUE(variant.target().features().empty());
  EXPECT_EQ(variant.target().subgroup_size(), 0u);
  for (const format::Kernel &kernel : variant.kernels()) {
    EXPECT_LE(kernel.workgroup(0) * kernel.workgroup(1) * kernel.workgroup(2),
              128u)
        << kernel.name();
    EXPECT_LE(kernel.workgroup_memory_bytes(), 16384u) << kernel.name();
  }
  for (const format::Dispatch &dispatch : dispatchesOf(variant)) {
    for (uint32_t count : dispatch.groups())
      EXPECT_LE(count, 65535u) << dispatch.label();
    for (const format::Slice &slice : dispatch.bindings()) {
      EXPECT_LE(slice.range(), uint64_t{1} << 27) << dispatch.label();
      EXPECT_EQ(slice.offset() % 256, 0u) << dispatch.label();
    }
  }
}

/// Bytes of the buffers of that kind.
uint64_t bytesOfKind(const format::Variant &variant,
                     format::Buffer::Kind kind) {
  uint64_t bytes = 0;
  for (const format::Buffer &buffer : variant.buffers())
    bytes += buffer.kind() == kind ? buffer.size() : 0;
  return bytes;
}

// mlc-ai/mlc-llm#1346, ggml-org/llama.cpp#12817: scratch memory that grows with
// what is in flight. Here a step of 2 layers and one of 24 take the same, and
// the same kernels.
TEST(StepMemory, DoesNotGrowWithLayers_B33) {
  TemporaryFolder folder;
  const std::vector<std::string> targets = {"lavapipe", "adreno-840",
                                            "mali-g610"};
  const auto compileLayers = [&](uint32_t numLayers) {
    ToyOptions options;
    options.numLayers = numLayers;
    const std::string model = folder.file("toy.gguf");
    const std::string file = folder.file("toy.llmc");
    writeFile(model, makeToyModel(options).build());
    const Status status = compile(model, file, targets);
    EXPECT_TRUE(status.ok()) << status.message();
    auto reader = format::Reader::open(file);
    EXPECT_TRUE(reader.ok()) << reader.status().message();
    return reader.ok() ? (*reader)->manifest() : format::Manifest();
  };
  const format::Manifest few = compileLayers(2), many = compileLayers(24);
  ASSERT_EQ(few.variants_size(), 3);
  ASSERT_EQ(many.variants_size(), 3);
  for (int i = 0; i < 3; ++i) {
    SCOPED_TRACE(targets[static_cast<size_t>(i)]);
    const format::Variant &a = few.variants(i), &b = many.variants(i);
    EXPECT_EQ(bytesOfKind(a, format::Buffer::ARENA),
              bytesOfKind(b, format::Buffer::ARENA));
    EXPECT_EQ(12 * bytesOfKind(a, format::Buffer::STATE),
              bytesOfKind(b, format::Buffer::STATE));
    EXPECT_EQ(a.kernels_size(), b.kernels_size());
  }
}

// A binding of 32 KiB is less than any matrix of the model has; steps of 8 rows
// and a context of 64 keep activations and caches below it. Caches together
// exceed an allocation.
TEST(LesserDevice, SmallBindingsGiveTheGoldenLogits_B34) {
  LLMC_E2E_NEED_DEVICE();
  constexpr uint64_t kMost = 32768;
  TemporaryFolder folder;
  std::string description = runTool({"targets", "lavapipe"}).output;
  for (const char *bucket : {"  row_buckets: 32\n", "  row_buckets: 128\n"}) {
    const size_t at = description.find(bucket);
    ASSERT_NE(at, std::string::npos) << description;
    description.erase(at, std::string(bucket).size());
  }
  const std::string target = folder.file("small.textproto");
  writeFile(target, description);
  const Golden golden = readGolden("tiny-llama-Q8_0", folder);
  const std::string file = folder.file("model.llmc");
  LLMC_E2E_OK(
      compile(golden.modelPath, file, {target}, /*maxContext=*/64,
              {"max_buffer_range=32768", "max_allocation_bytes=147456"}));
  const format::Variant variant = readVariant(file);
  size_t numParts = 0;
  for (const format::Dispatch &dispatch : dispatchesOf(variant))
    for (const format::Slice &slice : dispatch.bindings()) {
      EXPECT_LE(slice.range(), kMost) << dispatch.label();
      numParts += slice.range() == kMost ? 1 : 0;
    }
  EXPECT_GT(numParts, 10u);
  for (const format::Buffer &buffer : variant.buffers())
    EXPECT_LE(buffer.size(), 147456u);
  EXPECT_GE(std::count_if(variant.buffers().begin(), variant.buffers().end(),
                          [](const format::Buffer &buffer) {
                            return buffer.kind() == format::Buffer::STATE;
                          }),
            2);
  expectGoldenLogits(file, golden);
}

} // namespace
} // namespace llmc::test
