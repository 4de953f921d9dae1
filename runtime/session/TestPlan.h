// SPDX-License-Identifier: Apache-2.0
//
// Which cases of a self-test a load waits for, and in which order kernels are
// built for that.

#ifndef LLMC_RUNTIME_SESSION_TESTPLAN_H
#define LLMC_RUNTIME_SESSION_TESTPLAN_H

#include "runtime/format/manifest.pb.h"

#include <cstdint>
#include <vector>

namespace llmc::runtime {

/// Rows of a step that is one of few.
inline constexpr uint32_t kFewRows = 32;

/// Numbers of a self-test's cases, in its order. First are those that test the
/// kernels of steps of few rows: decoding and short prompts. Later are the
/// others, whose kernels have larger tiles and take drivers longest.
struct TestPlan {
  std::vector<uint32_t> firstCases, laterCases;
  /// By kernel: whether steps of few rows use it.
  std::vector<bool> isFirst;
};

/// Of a variant with a self-test. Each function has steps of few rows: of up
/// to kFewRows, or its smallest.
TestPlan planTests(const format::Variant &variant);

/// All kernels: those that the plan has first before others, of each those with
/// the most code, which take longest, so that the last one is there soonest.
std::vector<uint32_t> buildOrder(const format::Variant &variant,
                                 const TestPlan &plan);

/// The kernels that an entry dispatches, in its order.
std::vector<uint32_t> kernelsOf(const format::Entry &entry);

} // namespace llmc::runtime

#endif // LLMC_RUNTIME_SESSION_TESTPLAN_H
