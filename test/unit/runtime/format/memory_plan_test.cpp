// SPDX-License-Identifier: Apache-2.0
//
// Sums over a variant's buffers.

#include "runtime/format/MemoryPlan.h"

#include <gtest/gtest.h>

namespace llmc::format {
namespace {

Variant someVariant() {
  Variant variant;
  const std::pair<Buffer::Kind, uint64_t> buffers[] = {
      {Buffer::WEIGHTS, 1000}, {Buffer::WEIGHTS, 200}, {Buffer::ARENA, 50},
      {Buffer::STATE, 800},    {Buffer::STEP, 7},      {Buffer::OUTPUT, 9}};
  for (const auto &[kind, size] : buffers) {
    Buffer *buffer = variant.add_buffers();
    buffer->set_kind(kind);
    buffer->set_size(size);
    if (kind == Buffer::WEIGHTS || kind == Buffer::ARENA)
      *variant.mutable_self_test()->mutable_program()->add_buffers() = *buffer;
  }
  return variant;
}

TEST(MemoryPlan, addsUpBuffersByKind) {
  const MemoryPlan plan = planMemory(someVariant(), 100);
  EXPECT_EQ(plan.weights, 1200u);
  EXPECT_EQ(plan.arena, 50u);
  EXPECT_EQ(plan.states, 800u);
  EXPECT_EQ(plan.hostVisible, 16u);
  EXPECT_EQ(plan.ofSession(), 866u);
  EXPECT_EQ(plan.total(), 2066u);
  EXPECT_EQ(plan.selfTest, 50u);
}

TEST(MemoryPlan, cachesGrowWithTheContext) {
  EXPECT_EQ(planMemory(someVariant(), 100, 25).states, 200u);
  EXPECT_EQ(planMemory(someVariant(), 100, 400).total(), 2066u + 2400u);
  EXPECT_EQ(planMemory(someVariant(), 0, 25).states, 800u);
}

} // namespace
} // namespace llmc::format
