// SPDX-License-Identifier: Apache-2.0
//
// LaterTests.h.

#include "runtime/session/LaterTests.h"

#include <algorithm>

namespace llmc::runtime {

/// The verdict; fails when the device does.
Status LaterTests::test(const std::shared_ptr<const Module> &module) {
  StatusOr<SelfTestReport> tested =
      runSelfTest(module, plan.laterCases, options);
  if (!tested.ok())
    return tested.status().withContext(
        "kernels of longer prompts can't be tested (a load that is asked to "
        "test always does it before there are sessions)");
  const SelfTestReport &report = *tested;
  const std::string name = module->variant().target().name(),
                    problem = report.hasPassed() ? "" : report.asReason();
  if (record)
    record->set(name, problem);
  verdict = problem.empty()
                ? okStatus()
                : Status(StatusCode::SelfTestFailed,
                         module->reader().path() + ": variant " + name + " " +
                             problem +
                             "; load the file again: the next variant that can "
                             "run is taken instead");
  return *verdict;
}

Status LaterTests::testBefore(const std::vector<uint32_t> &kernels,
                              const std::shared_ptr<const Module> &module) {
  if (std::all_of(kernels.begin(), kernels.end(),
                  [&](uint32_t kernel) { return plan.isFirst[kernel]; }))
    return okStatus();
  const std::lock_guard<std::mutex> lock(mutex);
  return verdict ? *verdict : test(module);
}

} // namespace llmc::runtime
