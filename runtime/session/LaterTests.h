// SPDX-License-Identifier: Apache-2.0
//
// The cases of a self-test that a load did not wait for: they run before the
// first step that uses one of their kernels.

#ifndef LLMC_RUNTIME_SESSION_LATERTESTS_H
#define LLMC_RUNTIME_SESSION_LATERTESTS_H

#include "runtime/session/SelfTest.h"
#include "runtime/session/SelfTestRecord.h"
#include "runtime/session/TestPlan.h"

#include <memory>
#include <mutex>
#include <optional>
#include <vector>

namespace llmc::runtime {

/// Any thread.
class LaterTests {
public:
  /// `record`: where the verdict of all cases is kept; null: nowhere.
  LaterTests(TestPlan plan, SelfTestOptions options,
             std::unique_ptr<SelfTestRecord> record)
      : plan(std::move(plan)), options(options), record(std::move(record)) {}

  /// Tests what was not, once, if one of the kernels is not tested.
  /// SelfTestFailed, then and ever after, where a case is wrong: the variant
  /// can't be left for another, since sessions have states of it, but is passed
  /// over by the next load.
  Status testBefore(const std::vector<uint32_t> &kernels,
                    const std::shared_ptr<const Module> &module);

private:
  Status test(const std::shared_ptr<const Module> &module);

  TestPlan plan;
  SelfTestOptions options;
  std::unique_ptr<SelfTestRecord> record;
  std::mutex mutex; // guards what follows
  std::optional<Status> verdict;
};

} // namespace llmc::runtime

#endif // LLMC_RUNTIME_SESSION_LATERTESTS_H
