// SPDX-License-Identifier: Apache-2.0
//
// LaterTests.h.

#include "runtime/session/LaterTests.h"

#include <algorithm>

namespace llmc::runtime {

/// The verdict; fails when the device does.
Status LaterTests::test(const std::shared_ptr<const Module> &module) {
  options.cases = &plan.laterCases;
  LLMC_ASSIGN_OR_RETURN(const SelfTestReport report,
                        runSelfTest(module, options));
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
