// SPDX-License-Identifier: Apache-2.0
//
// Whether a device computes what the compiler expects: every kernel of a
// variant on a small input, more than once (docs/decisions/0010-self-test.md).

#ifndef LLMC_RUNTIME_SESSION_SELFTEST_H
#define LLMC_RUNTIME_SESSION_SELFTEST_H

#include "runtime/format/Status.h"
#include "runtime/session/Module.h"

#include <memory>
#include <string>
#include <vector>

namespace llmc::runtime {

struct SelfTestOptions {
  /// How often each case runs; all runs must give the same bits.
  unsigned numRuns = 2;
  /// For tests of the fallback: every other run is off by a bit.
  bool pretendsUnstable = false;
};

/// What came of it.
struct SelfTestReport {
  size_t numCases = 0; // that passed
  std::string problem; // empty: none. Names the case, the result and numbers

  bool hasPassed() const { return problem.empty(); }
  /// Why a variant is passed over.
  std::string asReason() const { return "failed its self-test: " + problem; }
};

/// Runs the cases of these numbers of the module's variant, those first whose
/// kernels are there, and reports the first of the numbers that is wrong. A
/// variant without a self-test passes, with 0 cases. Fails when the device
/// does.
StatusOr<SelfTestReport> runSelfTest(std::shared_ptr<const Module> module,
                                     const std::vector<uint32_t> &cases,
                                     const SelfTestOptions &options);

} // namespace llmc::runtime

#endif // LLMC_RUNTIME_SESSION_SELFTEST_H
