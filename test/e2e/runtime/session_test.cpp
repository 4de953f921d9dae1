// SPDX-License-Identifier: Apache-2.0
//
// Functions by name, on the counting model's parts.

#include "runtime/session/Session.h"

#include "test/e2e/runtime/CountingModel.h"

#include <gtest/gtest.h>

#include <chrono>

namespace llmc::test {
namespace {

using runtime::Session;

std::unique_ptr<Session> createSession() {
  auto module = load(makeCountingModel());
  EXPECT_TRUE(module.ok()) << module.status().message();
  auto session = Session::create(*module, {});
  EXPECT_TRUE(session.ok()) << session.status().message();
  return std::move(*session);
}

TEST(Session, runsFunctionsByName) {
  LLMC_NEED_DEVICE();
  auto session = createSession();
  const std::vector<int32_t> tokens = {4, 1, 3};
  ASSERT_TRUE(session
                  ->runFunction("forward", {0, 3, 0},
                                {{"tokens", tokens.data(), 3}}, {})
                  .ok());
  std::vector<float> logits(10);
  ASSERT_TRUE(
      session
          ->runFunction("logits", {0, 2, 1}, {}, {{"logits", logits.data(), 2}})
          .ok());
  const std::vector<float> expected = {5, 10, 15, -20, 2.5f, 8, 16, 24, -32, 4};
  EXPECT_EQ(logits, expected);
}

TEST(Session, beginsWithZeros) {
  LLMC_NEED_DEVICE();
  auto session = createSession();
  const int32_t token = 2;
  // The cache below position 40 was never written.
  ASSERT_TRUE(
      session->runFunction("forward", {40, 1, 0}, {{"tokens", &token, 1}}, {})
          .ok());
  std::vector<float> logits(5);
  ASSERT_TRUE(
      session
          ->runFunction("logits", {0, 1, 0}, {}, {{"logits", logits.data(), 1}})
          .ok());
  EXPECT_EQ(logits[0], 2.0f);
}

TEST(Session, picksTheSmallestEntryThatIsLargeEnough) {
  LLMC_NEED_DEVICE();
  auto session = createSession();
  EXPECT_EQ(*session->findEntry("forward", 1), 0u);
  EXPECT_EQ(*session->findEntry("forward", 2), 1u);
  EXPECT_EQ(*session->findEntry("forward", 16), 2u);
  EXPECT_EQ(session->findEntry("forward", 17).status().message(),
            "a step of function forward was asked for 17 rows, most are 16");
  EXPECT_EQ(session->findEntry("backward", 1).status().message(),
            "the file has no function 'backward', only: forward, logits");
}

TEST(Session, namesMissingAndUnknownPorts) {
  LLMC_NEED_DEVICE();
  auto session = createSession();
  const std::vector<int32_t> tokens(20);
  EXPECT_EQ(session->runFunction("forward", {0, 3, 0}, {}, {}).message(),
            "input tokens of function forward is missing");
  EXPECT_EQ(session
                ->runFunction(
                    "forward", {0, 3, 0},
                    {{"tokens", tokens.data(), 3}, {"words", tokens.data(), 3}},
                    {})
                .message(),
            "function forward has no port 'words', only: tokens");
  EXPECT_EQ(session
                ->runFunction("forward", {0, 4, 0},
                              {{"tokens", tokens.data(), 5}}, {})
                .message(),
            "port tokens was given 5 rows, it has 4");
  EXPECT_EQ(session->runFunction("forward", {0, 0, 0}, {}, {}).code(),
            StatusCode::InvalidArgument);
}

TEST(Session, repeatsBitForBit) {
  LLMC_NEED_DEVICE();
  auto session = createSession();
  const std::vector<int32_t> tokens = {1, 2, 3, 4, 3, 2, 1, 0, 4, 4};
  std::vector<float> first(5);
  for (int run = 0; run < 200; ++run) {
    std::vector<float> logits(5);
    ASSERT_TRUE(session
                    ->runFunction("forward", {0, 10, 0},
                                  {{"tokens", tokens.data(), 10}}, {})
                    .ok());
    ASSERT_TRUE(session
                    ->runFunction("logits", {0, 1, 9}, {},
                                  {{"logits", logits.data(), 1}})
                    .ok());
    if (run == 0)
      first = logits;
    ASSERT_EQ(logits, first);
  }
  EXPECT_EQ(first[0], 24.0f);
}

TEST(Session, takesTheTimeOfEachDispatchWhenAsked) {
  LLMC_NEED_DEVICE();
  auto module = load(makeCountingModel());
  ASSERT_TRUE(module.ok()) << module.status().message();
  runtime::SessionOptions options;
  options.takesTimes = true;
  auto session = Session::create(*module, options);
  ASSERT_TRUE(session.ok()) << session.status().message();
  const int32_t token = 3;
  const auto step = [&] {
    return (*session)->runFunction("forward", {0, 1, 0},
                                   {{"tokens", &token, 1}}, {});
  };
  const auto start = std::chrono::steady_clock::now();
  for (int run = 0; run < 3; ++run)
    ASSERT_TRUE(step().ok());
  const double wall = std::chrono::duration<double, std::nano>(
                          std::chrono::steady_clock::now() - start)
                          .count();
  const uint32_t ran = *(*session)->findEntry("forward", 1);
  double total = 0;
  size_t numRan = 0;
  for (const runtime::DispatchTime &time : (*session)->dispatchTimes()) {
    EXPECT_EQ(time.runs, time.entry == ran ? 3u : 0u);
    numRan += time.entry == ran;
    total += time.nanoseconds;
  }
  EXPECT_GT(numRan, 0u);
  EXPECT_GT(total, 0);
  EXPECT_LE(total, wall);
  (*session)->forgetDispatchTimes();
  for (const runtime::DispatchTime &time : (*session)->dispatchTimes())
    EXPECT_EQ(time.runs, 0u);
  EXPECT_TRUE(createSession()->dispatchTimes().empty());
}

} // namespace
} // namespace llmc::test
