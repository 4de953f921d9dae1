// SPDX-License-Identifier: Apache-2.0
//
// Rounds of tiles on a device that is a function.

#include "compiler/Tuning/DeviceTiming.h"

#include "codegen/Strategy/Tuning.h"
#include "test/support/TestFolder.h"

#include <gtest/gtest.h>

#include <filesystem>

namespace llmc::tuner {
namespace {

tuning::Config config(uint32_t x) {
  tuning::Config config;
  config.set_kind("gemv");
  for (uint32_t size : {x, 1u, 1u})
    config.add_workgroup(size);
  for (uint32_t size : {1u, 4u, 32u})
    config.add_tile(size);
  return config;
}

/// A linear of n rows with workgroups of these sizes.
TimedLinear linear(uint32_t n, const std::vector<uint32_t> &workgroups,
                   std::vector<LinearPlace> places) {
  TimedLinear linear;
  linear.entry.set_target("t");
  linear.entry.set_format("q4_0");
  linear.entry.set_n(n);
  linear.entry.set_k(64);
  linear.entry.set_linears(1);
  linear.entry.set_rows(1);
  linear.entry.set_activations("f32");
  for (uint32_t x : workgroups)
    linear.proposals.push_back(config(x));
  linear.places = std::move(places);
  return linear;
}

class DeviceTimingTest : public testing::Test {
protected:
  void SetUp() override {
    folder = test::makeTestFolder();
    timing.models = {"model"};
    timing.folder = folder.string();
    timing.report = [](const std::string &, double) {};
  }
  void TearDown() override { std::filesystem::remove_all(folder); }

  std::filesystem::path folder;
  DeviceTiming timing;
};

/// The workgroup's x that the file has for the linear of n rows.
uint32_t readX(const std::string &path, uint32_t n) {
  auto tuning = codegen::loadTuning(path);
  EXPECT_TRUE(static_cast<bool>(tuning));
  for (const tuning::Entry &entry : tuning->entries())
    if (entry.n() == n)
      return entry.config().workgroup(0);
  return 0;
}

TEST_F(DeviceTimingTest, EachTileIsTimedInItsRound) {
  // Two layers of the first linear, which takes two dispatches in each.
  std::vector<TimedLinear> linears = {
      linear(128, {16, 32, 64},
             {{0, "forward", 1, "blk.0.q"}, {0, "forward", 1, "blk.1.q"}}),
      linear(256, {8, 4}, {{0, "logits", 1, "output"}})};
  timing.timeModel = [](const std::string &,
                        const std::string &path) -> StatusOr<ModelTimes> {
    double first = readX(path, 128), second = readX(path, 256);
    return ModelTimes{"test",
                      {{"forward", 1, "blk.0.q", first},
                       {"forward", 1, "blk.0.q", 1},
                       {"forward", 1, "blk.1.q", first + 3},
                       {"forward", 8, "blk.1.q", 1000},
                       {"logits", 1, "output", second}}};
  };
  auto outcome = timeProposals(linears, timing);
  ASSERT_TRUE(outcome.ok()) << outcome.status().message();
  EXPECT_EQ(outcome->device, "test");
  EXPECT_EQ(outcome->remark, "");
  using Times = std::vector<std::optional<double>>;
  EXPECT_EQ(linears[0].microseconds, (Times{18.0, 34.0, 66.0}));
  EXPECT_EQ(linears[1].microseconds, (Times{8.0, 4.0}));
  EXPECT_EQ(fastestProposal(linears[0]), std::optional<size_t>(0));
  EXPECT_EQ(fastestProposal(linears[1]), std::optional<size_t>(1));
}

TEST_F(DeviceTimingTest, WhatFailsIsNoCandidate) {
  std::vector<TimedLinear> linears = {
      linear(128, {16, 8, 4}, {{0, "forward", 1, "q"}})};
  timing.timeModel = [](const std::string &,
                        const std::string &path) -> StatusOr<ModelTimes> {
    double x = readX(path, 128);
    if (x == 4)
      return Status(StatusCode::Unsupported, "no");
    return ModelTimes{"test", {{"forward", 1, "q", x}}};
  };
  auto outcome = timeProposals(linears, timing);
  ASSERT_TRUE(outcome.ok());
  EXPECT_EQ(outcome->remark, "tiles number 3 were not timed: model: no");
  EXPECT_FALSE(linears[0].microseconds[2]);
  EXPECT_EQ(fastestProposal(linears[0]), std::optional<size_t>(1));
}

TEST_F(DeviceTimingTest, StrategysChoicesMustRun) {
  std::vector<TimedLinear> linears = {
      linear(128, {16}, {{0, "forward", 1, "q"}})};
  timing.timeModel = [](const std::string &,
                        const std::string &) -> StatusOr<ModelTimes> {
    return Status(StatusCode::NotFound, "no device");
  };
  EXPECT_EQ(timeProposals(linears, timing).status().message(),
            "model: no device");
}

TEST(FastestProposal, HasToBeClearlyFaster) {
  TimedLinear linear;
  EXPECT_FALSE(fastestProposal(linear));
  linear.microseconds = {std::nullopt, 1.0};
  EXPECT_FALSE(fastestProposal(linear));
  linear.microseconds = {100.0, 98.5, 99.0};
  EXPECT_EQ(fastestProposal(linear), std::optional<size_t>(0));
  linear.microseconds = {100.0, 97.0, 96.9, std::nullopt};
  EXPECT_EQ(fastestProposal(linear), std::optional<size_t>(2));
}

} // namespace
} // namespace llmc::tuner
