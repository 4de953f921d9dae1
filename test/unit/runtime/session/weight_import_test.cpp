// SPDX-License-Identifier: Apache-2.0
//
// Ranges of the file that a device can take as weights.

#include "runtime/session/WeightImport.h"

#include <gtest/gtest.h>

namespace llmc::runtime {
namespace {

constexpr uint64_t kPage = 4096;

/// A file whose variant uses some of its sections, each bound whole.
class File {
public:
  File() {
    variant.add_buffers()->set_kind(format::Buffer::WEIGHTS);
    dispatch = variant.add_entries()->add_commands()->mutable_dispatch();
  }

  /// A section at `page` of the file, which is at `offset` of the buffer.
  void add(uint64_t page, uint64_t size, uint64_t offset) {
    addUnused(page, size);
    format::WeightPlacement *placement = variant.add_weights();
    placement->set_section(static_cast<uint32_t>(manifest.sections_size() - 1));
    placement->set_offset(offset);
    bind(offset, size);
  }
  void addUnused(uint64_t page, uint64_t size) {
    format::Section *section = manifest.add_sections();
    section->set_offset(page * kPage);
    section->set_size(size);
  }
  void bind(uint64_t offset, uint64_t range) {
    format::Slice *slice = dispatch->add_bindings();
    slice->set_offset(offset);
    slice->set_range(range);
  }
  std::optional<ImportPlan> plan(uint64_t alignment = kPage,
                                 uint64_t mostBytes = 0) const {
    return planImport(manifest, variant, alignment, mostBytes);
  }

private:
  format::Manifest manifest;
  format::Variant variant;
  format::Dispatch *dispatch = nullptr;
};

format::Slice sliceAt(uint64_t offset, uint64_t range) {
  format::Slice slice;
  slice.set_offset(offset);
  slice.set_range(range);
  return slice;
}

TEST(WeightImport, neighboursShareARangeAndGapsEndIt) {
  File file;
  file.add(1, 5000, 0);     // to page 3
  file.add(3, kPage, 5120); // to page 4
  file.addUnused(4, kPage); // another variant's
  file.add(6, 256, 9216);   // to page 7
  const auto plan = file.plan();
  ASSERT_TRUE(plan);
  ASSERT_EQ(plan->ranges.size(), 2u);
  EXPECT_EQ(plan->ranges[0].begin, kPage);
  EXPECT_EQ(plan->ranges[0].end, 4 * kPage);
  EXPECT_EQ(plan->ranges[1].begin, 6 * kPage);
  EXPECT_EQ(plan->ranges[1].end, 7 * kPage);
  const ImportedPiece *second = plan->find(sliceAt(5120 + 256, 512));
  ASSERT_TRUE(second);
  EXPECT_EQ(second->range, 0u);
  EXPECT_EQ(second->offsetInRange, 2 * kPage);
  EXPECT_EQ(second->offset, 5120u);
  EXPECT_EQ(plan->find(sliceAt(9216, 256))->range, 1u);
}

TEST(WeightImport, rangesAreNotLargerThanAnAllocation) {
  File file;
  file.add(1, kPage, 0);
  file.add(2, kPage, kPage);
  file.add(3, kPage, 2 * kPage);
  ASSERT_TRUE(file.plan(kPage, 2 * kPage));
  EXPECT_EQ(file.plan(kPage, 2 * kPage)->ranges.size(), 2u);
}

TEST(WeightImport, needsBindingsInsideOfOneSection) {
  File file;
  file.add(1, 512, 0);
  file.add(2, 512, 512);
  ASSERT_TRUE(file.plan());
  EXPECT_FALSE(file.plan()->find(sliceAt(256, 512)));
  EXPECT_FALSE(file.plan()->find(sliceAt(1024, 1)));
  file.bind(256, 512);
  EXPECT_FALSE(file.plan());
}

TEST(WeightImport, needsSectionsAtMultiplesOfTheAlignment) {
  File file;
  file.add(1, 512, 0);
  EXPECT_TRUE(file.plan(64));
  EXPECT_FALSE(file.plan(16 * kPage));
  EXPECT_FALSE(file.plan(0));
}

TEST(WeightImport, refusesPlacesThatOverlap) {
  File file;
  file.add(1, 512, 0);
  file.add(2, 512, 256);
  EXPECT_FALSE(file.plan());
}

} // namespace
} // namespace llmc::runtime
