// SPDX-License-Identifier: Apache-2.0
//
// A file demands of a device what its code uses, and no more.

#include "compiler/Serialization/RequiredFeatures.h"

#include "gtest/gtest.h"

namespace llmc::serialization {
namespace {

using Names = std::set<std::string>;

/// The beginning of a module: header, capabilities, then something else.
std::vector<uint32_t> makeModule(const std::vector<uint32_t> &capabilities) {
  std::vector<uint32_t> words = {0x07230203, 0x00010300, 0, 100, 0};
  for (uint32_t capability : capabilities)
    words.insert(words.end(), {0x00020011, capability});
  words.insert(words.end(), {0x0003000e, 0, 1}); // OpMemoryModel
  return words;
}

CodeNeeds needsOf(const std::vector<uint32_t> &capabilities) {
  CodeNeeds needs;
  addNeeds(makeModule(capabilities), needs);
  return needs;
}

format::TargetInfo makeTarget() {
  format::TargetInfo target;
  target.set_name("t");
  target.set_subgroup_size(16);
  for (const char *name :
       {"f16_arithmetic", "f16_storage", "subgroup_arithmetic"})
    target.add_features(name);
  return target;
}

TEST(RequiredFeatures, ShaderNeedsNone) {
  CodeNeeds needs = needsOf({1});
  EXPECT_TRUE(needs.features.empty());
  EXPECT_FALSE(needs.subgroups);
}

// Numbers from the SPIR-V specification.
TEST(RequiredFeatures, EachCapabilityIsAFeature) {
  EXPECT_EQ(needsOf({1, 4433}).features, Names{"f16_storage"});
  EXPECT_EQ(needsOf({1, 9}).features, Names{"f16_arithmetic"});
  EXPECT_EQ(needsOf({1, 4448}).features, Names{"i8_storage"});
  EXPECT_EQ(needsOf({1, 39}).features, Names{"i8_arithmetic"});
  EXPECT_EQ(needsOf({1, 22}).features, Names{"i16_arithmetic"});
  EXPECT_EQ(needsOf({1, 6018, 6019}).features, Names{"int_dot"});
  EXPECT_EQ(needsOf({1, 61, 63}).features, Names{"subgroup_arithmetic"});
  EXPECT_EQ(needsOf({1, 61, 65}).features, Names{"subgroup_shuffle"});
  EXPECT_EQ(needsOf({1, 5345, 6022}).features, Names{"f16_matrix"});
}

TEST(RequiredFeatures, SubgroupSizeMattersToCodeThatKnowsSubgroups) {
  EXPECT_TRUE(needsOf({1, 61}).subgroups);
  EXPECT_FALSE(needsOf({1, 4433}).subgroups);
}

TEST(RequiredFeatures, NeedsOfSeveralModulesAddUp) {
  CodeNeeds needs = needsOf({1, 9});
  addNeeds(makeModule({1, 4433}), needs);
  EXPECT_EQ(needs.features, (Names{"f16_arithmetic", "f16_storage"}));
}

TEST(RequiredFeatures, OnlyCapabilitiesAreRead) {
  CodeNeeds needs;
  std::vector<uint32_t> words = makeModule({1});
  words.insert(words.end(), {0x00020011, 9}); // after the first other op
  addNeeds(words, needs);
  addNeeds({0x07230203}, needs);
  addNeeds({}, needs);
  EXPECT_TRUE(needs.features.empty());
}

TEST(RestrictToNeeds, LeavesWhatIsNeeded) {
  format::TargetInfo target = makeTarget();
  EXPECT_FALSE(bool(restrictToNeeds(needsOf({1, 4433}), target)));
  ASSERT_EQ(target.features_size(), 1);
  EXPECT_EQ(target.features(0), "f16_storage");
  EXPECT_EQ(target.subgroup_size(), 0u);
  target = makeTarget();
  EXPECT_FALSE(bool(restrictToNeeds(needsOf({1, 61, 63}), target)));
  EXPECT_EQ(target.subgroup_size(), 16u);
}

TEST(RestrictToNeeds, RefusesWhatTheTargetLacks) {
  format::TargetInfo target = makeTarget();
  EXPECT_EQ(llvm::toString(restrictToNeeds(needsOf({1, 39}), target)),
            "a kernel needs the feature i8_arithmetic, which target 't' does "
            "not offer");
}

} // namespace
} // namespace llmc::serialization
