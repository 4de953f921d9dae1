// SPDX-License-Identifier: Apache-2.0
//
// No submission lasts longer than a driver bears, as far as that is known.

#include "runtime/session/Submissions.h"

#include <gtest/gtest.h>

namespace llmc::runtime {
namespace {

class Submissions : public testing::Test {
protected:
  /// Where submissions of parts that take these times end.
  std::vector<size_t> endsOf(const std::vector<double> &milliseconds,
                             double most) {
    times.clear();
    for (const double time : milliseconds)
      times.push_back({time});
    std::vector<size_t> ends;
    const std::vector<PartTime *> all = parts();
    while (ends.empty() || ends.back() < all.size())
      ends.push_back(
          endOfSubmission(all, ends.empty() ? 0 : ends.back(), most));
    return ends;
  }

  std::vector<PartTime *> parts() {
    std::vector<PartTime *> all;
    for (PartTime &time : times)
      all.push_back(&time);
    return all;
  }

  std::vector<PartTime> times;
};

using Ends = std::vector<size_t>;

TEST_F(Submissions, TakeAsManyPartsAsEndInTime) {
  EXPECT_EQ(endsOf({50, 50, 50}, 200), (Ends{3}));
  EXPECT_EQ(endsOf({50, 50, 50}, 100), (Ends{2, 3}));
  EXPECT_EQ(endsOf({50, 300, 50, 60, 100}, 200), (Ends{1, 2, 4, 5}));
  EXPECT_EQ(endsOf({300}, 200), (Ends{1}));
}

TEST_F(Submissions, TakePartsAloneThatDidNotRunYet) {
  EXPECT_EQ(endsOf({-1, -1, -1}, 200), (Ends{1, 2, 3}));
  EXPECT_EQ(endsOf({10, 10, -1, 10, 10}, 200), (Ends{2, 3, 5}));
}

TEST_F(Submissions, AreOneWithoutALimit) {
  EXPECT_EQ(endsOf({-1, 1e9, -1}, 0), (Ends{3}));
}

TEST_F(Submissions, FollowWhatWasMeasured) {
  times = {{-1}, {-1}};
  noteTime(parts(), 0, 1, 30);
  noteTime(parts(), 1, 2, 10);
  EXPECT_EQ(times[0].milliseconds, 30);
  EXPECT_EQ(times[1].milliseconds, 10);
  noteTime(parts(), 0, 2, 80); // twice as slow by now
  EXPECT_EQ(times[0].milliseconds, 60);
  EXPECT_EQ(times[1].milliseconds, 20);
}

format::Entry entryOf(uint32_t rows, int barriers) {
  format::Entry entry;
  entry.set_rows(rows);
  for (int i = 0; i < barriers; ++i) {
    entry.add_commands()->mutable_barrier();
    entry.add_commands()->mutable_dispatch();
  }
  return entry;
}

TEST(PartsOfAnEntry, AreUpTo64WhereStepsAreLong) {
  EXPECT_EQ(barriersPerPart(entryOf(512, 10), 200), 1u);
  EXPECT_EQ(barriersPerPart(entryOf(512, 250), 200), 4u);
  EXPECT_GT(barriersPerPart(entryOf(8, 250), 200), 250u); // few rows
  EXPECT_GT(barriersPerPart(entryOf(512, 250), 0), 250u); // no limit
}

} // namespace
} // namespace llmc::runtime
