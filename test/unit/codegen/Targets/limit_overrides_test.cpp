// SPDX-License-Identifier: Apache-2.0
//
// Lowering the limits of a shipped description: what changes, and what is
// refused in which words.

#include "codegen/Targets/LimitOverrides.h"
#include "codegen/Targets/Targets.h"

#include "gtest/gtest.h"

namespace llmc::targets {
namespace {

description::Target loadLavapipe() {
  llvm::Expected<description::Target> target = loadTarget("lavapipe");
  if (target)
    return *target;
  ADD_FAILURE() << llvm::toString(target.takeError());
  return {};
}

std::string errorOf(const std::string &assignment) {
  description::Target target = loadLavapipe();
  return llvm::toString(lowerLimits(target, {assignment}));
}

TEST(LimitOverrides, EveryLimitBecomesLower) {
  description::Target target = loadLavapipe();
  target.mutable_memory()->set_max_uniform_range(65536);
  std::vector<std::string> assignments;
  for (const std::string &name : getLimitNames())
    assignments.push_back(name + "=16");
  ASSERT_EQ(llvm::toString(lowerLimits(target, assignments)), "");
  const auto &memory = target.memory();
  EXPECT_EQ(memory.max_allocation_bytes(), 16u);
  EXPECT_EQ(memory.max_buffer_range(), 16u);
  EXPECT_EQ(memory.max_push_constant_bytes(), 16u);
  EXPECT_EQ(memory.max_storage_buffers(), 16u);
  EXPECT_EQ(memory.max_uniform_range(), 16u);
  const auto &workgroup = target.workgroup();
  EXPECT_EQ(workgroup.max_invocations(), 16u);
  EXPECT_EQ(workgroup.memory_bytes(), 16u);
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(workgroup.max_count(i), 16u);
    EXPECT_EQ(workgroup.max_size(i), 16u);
  }
  EXPECT_EQ(target.subgroup().size(), 16u);
}

TEST(LimitOverrides, ADimensionBelowTheLimitStays) {
  description::Target target = loadLavapipe();
  target.mutable_workgroup()->set_max_size(2, 64);
  ASSERT_EQ(llvm::toString(lowerLimits(target, {"max_workgroup_size=256"})),
            "");
  EXPECT_EQ(target.workgroup().max_size(0), 256u);
  EXPECT_EQ(target.workgroup().max_size(2), 64u);
}

TEST(LimitOverrides, SubgroupsMayBecomeLarger) {
  description::Target target = loadLavapipe();
  ASSERT_EQ(target.subgroup().size(), 8u);
  EXPECT_EQ(llvm::toString(lowerLimits(target, {"subgroup_size=64"})), "");
  EXPECT_EQ(target.subgroup().size(), 64u);
}

TEST(LimitOverrides, RefusalsNameTheLimitAndWhatIsAllowed) {
  EXPECT_EQ(errorOf("max_buffer_range=134217729"),
            "limit 'max_buffer_range' of target 'lavapipe' is '134217729', "
            "allowed is an integer from 1 to 134217728");
  EXPECT_EQ(errorOf("max_workgroup_count=0"),
            "limit 'max_workgroup_count' of target 'lavapipe' is '0', allowed "
            "is an integer from 1 to 65535");
  EXPECT_EQ(errorOf("max_invocations"),
            "limit 'max_invocations' of target 'lavapipe' is '', allowed is "
            "an integer from 1 to 1024");
  EXPECT_EQ(errorOf("subgroup_size=12"),
            "limit 'subgroup_size' of target 'lavapipe' is '12', allowed is a "
            "power of two from 1 to 128");
  EXPECT_EQ(errorOf("registers=8")
                .find("there is no limit 'registers'; the limits are: "
                      "max_allocation_bytes, max_buffer_range, "),
            0u);
}

} // namespace
} // namespace llmc::targets
