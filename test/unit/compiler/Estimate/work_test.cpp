// SPDX-License-Identifier: Apache-2.0
//
// Bytes and multiply-adds, by hand.

#include "test/unit/compiler/Estimate/TinyProgram.h"

#include "compiler/Estimate/Work.h"

namespace llmc::estimate {
namespace {

struct Work : testing::Test {
  format::Manifest manifest = tinyManifest();
  const format::Variant &variant = manifest.variants(0);

  std::vector<DispatchWork> forward(StepShape step) {
    return countWork(manifest, variant, *findEntry(variant, "forward", 1),
                     step);
  }
};

TEST_F(Work, AnEmbeddingReadsItsRowOnly) {
  DispatchWork work = forward({})[0];
  EXPECT_EQ(work.kind, "embedding");
  EXPECT_DOUBLE_EQ(work.weightBytes, 20000 / 100);
  EXPECT_DOUBLE_EQ(work.activationBytes, 64 + 400);
}

TEST_F(Work, ALinearReadsEachPlaneOnce) {
  DispatchWork work = forward({})[1];
  EXPECT_DOUBLE_EQ(work.weightBytes, 576000);
  EXPECT_DOUBLE_EQ(work.multiplyAdds, 1024000);
  EXPECT_EQ(work.encoding, "Q4_0");
  EXPECT_EQ(work.workgroups, 8);
}

TEST_F(Work, LinearsOfExpertsReadTheChosenOnes) {
  // 2 of 8 experts.
  format::Variant &variant = *manifest.mutable_variants(0);
  format::KernelEstimate &kernel =
      *variant.mutable_kernels(1)->mutable_estimate();
  kernel.set_kind("expert_gemv");
  kernel.add_tile(0);
  kernel.add_tile(8);
  variant.mutable_entries(0)
      ->mutable_commands(3)
      ->mutable_dispatch()
      ->set_groups(1, 2);
  DispatchWork work = forward({})[1];
  EXPECT_DOUBLE_EQ(work.weightBytes, 576000 / 4);
  EXPECT_DOUBLE_EQ(work.multiplyAdds, 1024000 / 4);
}

TEST_F(Work, AttentionReadsWhatIsFilled) {
  // The token after 99 others sees 100 positions of 1000.
  DispatchWork work = forward({99, 1})[2];
  EXPECT_DOUBLE_EQ(work.stateBytes, 400000 * 0.1);
  // 256 query elements against 100 keys, then 100 values.
  EXPECT_DOUBLE_EQ(work.multiplyAdds, 2 * 256 * 100);
  EXPECT_DOUBLE_EQ(forward({5000, 1})[2].stateBytes, 400000);
}

TEST_F(Work, WhatStandsBehindABarrierWaits) {
  std::vector<DispatchWork> work = forward({});
  ASSERT_EQ(work.size(), 3u);
  EXPECT_TRUE(work[0].isDependent);
  EXPECT_TRUE(work[1].isDependent);
  EXPECT_FALSE(work[2].isDependent);
}

TEST_F(Work, EntriesAreFoundByRows) {
  EXPECT_EQ(findEntry(variant, "forward", 8), nullptr);
  EXPECT_NE(findEntry(variant, "logits", 1), nullptr);
}

} // namespace
} // namespace llmc::estimate
