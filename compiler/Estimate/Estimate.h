// SPDX-License-Identifier: Apache-2.0
//
// A prediction of speed and memory from a compiled program and a device
// description: a roofline for each dispatch, with the occupancy that its
// registers leave. docs/estimate.md explains and checks it. Plain C++.

#ifndef LLMC_COMPILER_ESTIMATE_ESTIMATE_H
#define LLMC_COMPILER_ESTIMATE_ESTIMATE_H

#include "codegen/Targets/target.pb.h"
#include "compiler/Estimate/Work.h"
#include "runtime/format/Status.h"

#include <string>
#include <vector>

namespace llmc::estimate {

/// What is assumed because no description says it.
struct Assumptions {
  /// Of the described bandwidth, that kernels which only stream reach.
  double bandwidthShare = 0.8;
  /// Share of the device's invocations that must be resident for it to issue
  /// an instruction in every cycle.
  double sufficientOccupancy = 0.5;
  /// Of a dispatch that waits for another, when the description has no figure.
  double dispatchMicroseconds = 5;
  /// Of a dispatch that waits for nothing, in shares of one that does.
  double independentDispatch = 0.1;
};

/// Where the time of a dispatch, or of a step, goes.
struct Time {
  double memoryMicroseconds = 0;     // moving all bytes, alone
  double arithmeticMicroseconds = 0; // all instructions, alone
  double launchMicroseconds = 0;
  double totalMicroseconds = 0; // the larger of the first two, and launch

  Time &operator+=(const Time &other);
};

/// Instructions for one multiply-add in the innermost loop of a linear, with
/// everything that belongs to it: decoding, loads. `family` is the device's.
double instructionsPerMultiplyAdd(const DispatchWork &work,
                                  description::Family family);

/// Share of the device's invocations that kernels with that many 32-bit
/// registers leave resident (0 to 1); 1 when the registers are unknown (0).
double occupancyOf(const description::Registers &steps, int64_t registers);

/// The roofline of one dispatch. The description needs `performance` with
/// bandwidth_gb_per_s and f32_gflops.
Time estimateDispatch(const DispatchWork &work,
                      const description::Target &device,
                      const Assumptions &assumptions);

/// Part of a prompt: a step of `rows` tokens in the code for `bucket` rows.
struct PromptStep {
  uint32_t bucket, rows;
};

struct PromptEstimate {
  int64_t tokens = 0;
  Time time; // to the first token's logits

  double tokensPerSecond() const {
    return 1e6 * static_cast<double>(tokens) / time.totalMicroseconds;
  }
};

struct DecodeEstimate {
  int64_t position = 0; // tokens in the KV cache
  Time time;            // of a token
  double bytes = 0;     // moved for a token

  double tokensPerSecond() const { return 1e6 / time.totalMicroseconds; }
};

struct MemoryEstimate {
  uint64_t weights = 0, state = 0, scratch = 0, other = 0; // bytes

  uint64_t total() const { return weights + state + scratch + other; }
};

/// Predictions for a language model of a file, compiled for a device.
class Estimator {
public:
  /// Fails with Unsupported when the description lacks bandwidth or peak rate,
  /// or the program lacks `forward` and `logits` for one row.
  static StatusOr<Estimator> create(const format::Manifest &manifest,
                                    const format::Variant &variant,
                                    const description::Target &device,
                                    const Assumptions &assumptions);

  /// A prompt of these steps, and the logits after its last token.
  PromptEstimate estimatePrompt(const std::vector<PromptStep> &steps) const;
  /// A token after `position` others.
  DecodeEstimate estimateDecode(int64_t position) const;
  MemoryEstimate estimateMemory() const;
  /// Row buckets that `forward` is compiled for.
  std::vector<uint32_t> buckets() const;
  /// Sentences, one an assumption or a fact of the description.
  std::vector<std::string> describeAssumptions() const;

private:
  Estimator(const format::Manifest &manifest, const format::Variant &variant,
            const description::Target &device, const Assumptions &assumptions)
      : manifest(&manifest), variant(&variant), device(&device),
        assumptions(assumptions) {}

  Time estimateEntry(const format::Entry &entry, const StepShape &step,
                     double *bytes = nullptr) const;

  const format::Manifest *manifest;
  const format::Variant *variant;
  const description::Target *device;
  Assumptions assumptions;
};

} // namespace llmc::estimate

#endif // LLMC_COMPILER_ESTIMATE_ESTIMATE_H
