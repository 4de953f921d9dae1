// SPDX-License-Identifier: Apache-2.0
//
// What a dispatch of a compiled program has to do: bytes to move, multiply-adds
// to make. Plain C++ on the manifest of a .llmc file.

#ifndef LLMC_COMPILER_ESTIMATE_WORK_H
#define LLMC_COMPILER_ESTIMATE_WORK_H

#include "runtime/format/manifest.pb.h"

#include <cstdint>
#include <string>
#include <vector>

namespace llmc::estimate {

/// The step of which the work is counted: `rows` new tokens after `position`
/// cached ones.
struct StepShape {
  int64_t position = 0;
  int64_t rows = 1;
};

/// The work of one dispatch. Weights count at their stored width and once, as
/// do activations and the part of the KV cache that is filled: what workgroups
/// read again is taken to come from a cache.
struct DispatchWork {
  std::string label;
  std::string kind;     // of the lowering: gemv, gemm, sdpa, …
  std::string encoding; // of the matrix, empty if there is none
  double weightBytes = 0, stateBytes = 0, activationBytes = 0;
  double multiplyAdds = 0;
  int64_t workgroups = 1;
  /// Waits for the dispatches before it.
  bool isDependent = false;
  format::KernelEstimate kernel;
  /// Measured, and better than what a model says; 0: not measured.
  double instructionsPerMultiplyAdd = 0;
  double occupancy = 0; // 0 to 1

  double bytes() const { return weightBytes + stateBytes + activationBytes; }
};

/// The dispatches of an entry in their order. Linears compute all rows of the
/// entry's bucket, attention those of the step.
std::vector<DispatchWork> countWork(const format::Manifest &manifest,
                                    const format::Variant &variant,
                                    const format::Entry &entry,
                                    const StepShape &step);

/// The entry of a function for exactly that many rows, or null.
const format::Entry *findEntry(const format::Variant &variant,
                               const std::string &function, uint32_t rows);

} // namespace llmc::estimate

#endif // LLMC_COMPILER_ESTIMATE_WORK_H
