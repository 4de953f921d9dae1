// SPDX-License-Identifier: Apache-2.0
//
// The same input gives the same bits: again and again, in another process, and
// whatever a session did before.

#include "test/e2e/models/GoldenTest.h"

#include <cstring>

namespace llmc::test {
namespace {

using RepeatedRuns = GoldenTest;

std::vector<int32_t> makeTokens(size_t count) {
  std::vector<int32_t> tokens(count);
  for (size_t i = 0; i < count; ++i)
    tokens[i] = static_cast<int32_t>((37 * i + 11) % 512);
  return tokens;
}

std::string bytesOf(const std::vector<float> &numbers) {
  return {reinterpret_cast<const char *>(numbers.data()),
          numbers.size() * sizeof(float)};
}

/// Logits after every token, and whether reading them went well.
std::vector<float> run(runtime::LanguageModel &model,
                       const std::vector<int32_t> &tokens) {
  EXPECT_TRUE(model.reset().ok());
  auto logits = prefillAll(model, tokens);
  EXPECT_TRUE(logits.ok()) << logits.status().message();
  return logits.ok() ? *logits : std::vector<float>();
}

TEST_F(RepeatedRuns, GiveTheSameBits) {
  loadGolden("tiny-qwen3-Q4_K_M");
  if (!model)
    return;
  const std::string first = bytesOf(run(*model, golden.prompt));
  ASSERT_EQ(first.size(), 48 * 512 * sizeof(float));
  for (int i = 1; i < 100; ++i)
    ASSERT_EQ(bytesOf(run(*model, golden.prompt)) == first, true)
        << "run " << i;

  std::string list;
  for (int32_t token : golden.prompt)
    list += std::to_string(token) + ",";
  for (int i = 0; i < 3; ++i) {
    const ToolResult other =
        runTool({"logits", file, "--tokens=" + list, "--cache-dir",
                 folder.file("cache"), "-o", folder.file("logits.f32")});
    ASSERT_EQ(other.exitCode, 0) << other.errors;
    EXPECT_TRUE(readFile(folder.file("logits.f32")) == first)
        << "process " << i;
  }
}

TEST_F(RepeatedRuns, DoNotDependOnLengthsBefore) {
  loadGolden("tiny-llama-Q4_0", {"lavapipe"}, 256);
  if (!model)
    return;
  for (size_t length : {7, 254, 1, 7}) {
    auto fresh = runtime::LanguageModel::create(
        load(file).ok() ? *load(file) : nullptr, {});
    ASSERT_TRUE(fresh.ok()) << fresh.status().message();
    EXPECT_TRUE(bytesOf(run(*model, makeTokens(length))) ==
                bytesOf(run(**fresh, makeTokens(length))))
        << length << " tokens";
  }
  // The first rows of a long prompt are those of a short one, to rounding.
  std::vector<float> longer = run(*model, makeTokens(254));
  const std::vector<float> shorter = run(*model, makeTokens(7));
  ASSERT_EQ(longer.size(), 254u * 512);
  longer.resize(shorter.size());
  EXPECT_LE(relativeDifference(longer, shorter), 1e-5);
}

} // namespace
} // namespace llmc::test
