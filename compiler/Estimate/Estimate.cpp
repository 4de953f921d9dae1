// SPDX-License-Identifier: Apache-2.0
//
// The model of a device, and the sums over a step.

#include "compiler/Estimate/Estimate.h"

#include <algorithm>
#include <cstdio>

namespace llmc::estimate {

namespace {

/// Instructions that a storage buffer's load takes with its address, measured
/// with Mesa's compilers: Bifrost fetches the descriptor each time.
double instructionsPerLoad(description::Family family) {
  return family == description::BIFROST ? 5 : 2;
}

/// Instructions that turn a stored code into a number, for one weight: measured
/// shift, mask, conversion and scale of the best decode kernels.
double instructionsPerDecode(const std::string &encoding) {
  if (encoding == "F32")
    return 0;
  if (encoding == "F16" || encoding == "BF16")
    return 0.5;
  bool isPlain = encoding == "Q4_0" || encoding == "Q8_0" || encoding == "Q4_K";
  return isPlain ? 2 : 3; // the others have high bits in a plane of their own
}

/// Values of k in 16 bytes of codes for four rows of a weight.
double columnsPerUnit(const std::string &encoding) {
  if (encoding == "F32")
    return 1;
  if (encoding == "F16" || encoding == "BF16")
    return 2;
  bool isNibble = encoding == "Q4_0" || encoding.compare(0, 2, "Q4") == 0 ||
                  encoding.compare(0, 2, "Q5") == 0 ||
                  encoding.compare(0, 2, "Q6") == 0;
  return isNibble ? 8 : 4;
}

std::string sentence(const char *format, double value) {
  char text[160];
  std::snprintf(text, sizeof(text), format, value);
  return text;
}

} // namespace

Time &Time::operator+=(const Time &other) {
  memoryMicroseconds += other.memoryMicroseconds;
  arithmeticMicroseconds += other.arithmeticMicroseconds;
  launchMicroseconds += other.launchMicroseconds;
  totalMicroseconds += other.totalMicroseconds;
  return *this;
}

double instructionsPerMultiplyAdd(const DispatchWork &work,
                                  description::Family family) {
  if (work.instructionsPerMultiplyAdd > 0)
    return work.instructionsPerMultiplyAdd;
  if (work.encoding.empty())
    return 4; // norms, attention, element-wise: load, compute, reduce, store
  const format::KernelEstimate &kernel = work.kernel;
  bool hasTile = kernel.tile_size() >= 2;
  double rows = hasTile ? std::max(1u, kernel.tile(0)) : 1;
  double columns = hasTile ? std::max(1u, kernel.tile(1)) : 4;
  // Of a 32-bit register: one f32, two f16, four int8.
  double perRegister = kernel.arithmetic() == "i8"    ? 4
                       : kernel.arithmetic() == "f16" ? 2
                                                      : 1;
  // Codes stay codes for an integer dot product: unpacked, not converted.
  double decode = instructionsPerDecode(work.encoding) / perRegister;
  double loads = 1 / (4 * columnsPerUnit(work.encoding) * rows) +
                 1 / (4 * (perRegister == 4 ? 4 : 1) * columns);
  return 1 / perRegister + decode / rows + instructionsPerLoad(family) * loads;
}

double occupancyOf(const description::Registers &registers, int64_t used) {
  if (used == 0)
    return 1;
  for (const auto &step : registers.steps())
    if (used <= step.registers())
      return step.occupancy_percent() / 100.0;
  // More than there are spill: no better than the last step.
  return registers.steps_size() == 0
             ? 1
             : registers.steps(registers.steps_size() - 1).occupancy_percent() /
                   100.0;
}

Time estimateDispatch(const DispatchWork &work,
                      const description::Target &device,
                      const Assumptions &assumptions) {
  const description::Performance &performance = device.performance();
  // Work for fewer workgroups than compute units leaves some idle.
  double fill = std::min(1.0, static_cast<double>(work.workgroups) /
                                  performance.compute_units());
  double occupancy = work.occupancy > 0 ? work.occupancy
                                        : occupancyOf(device.registers(),
                                                      work.kernel.registers());
  double issue = std::min(1.0, occupancy / assumptions.sufficientOccupancy);

  Time time;
  double bytesPerMicrosecond = 1e3 * performance.bandwidth_gb_per_s() *
                               assumptions.bandwidthShare * fill;
  time.memoryMicroseconds = work.bytes() / bytesPerMicrosecond;
  // A multiply-add is two operations and one instruction of a lane.
  double instructionsPerMicrosecond =
      1e3 * performance.f32_gflops() / 2 * fill * issue;
  time.arithmeticMicroseconds =
      work.multiplyAdds * instructionsPerMultiplyAdd(work, device.family()) /
      instructionsPerMicrosecond;
  double launch = performance.has_dispatch_microseconds()
                      ? performance.dispatch_microseconds()
                      : assumptions.dispatchMicroseconds;
  time.launchMicroseconds =
      launch * (work.isDependent ? 1 : assumptions.independentDispatch);
  time.totalMicroseconds =
      std::max(time.memoryMicroseconds, time.arithmeticMicroseconds) +
      time.launchMicroseconds;
  return time;
}

StatusOr<Estimator> Estimator::create(const format::Manifest &manifest,
                                      const format::Variant &variant,
                                      const description::Target &device,
                                      const Assumptions &assumptions) {
  const description::Performance &performance = device.performance();
  for (auto [name, value] :
       {std::pair("bandwidth_gb_per_s", performance.bandwidth_gb_per_s()),
        std::pair("f32_gflops", performance.f32_gflops())})
    if (!(value > 0))
      return Status(StatusCode::Unsupported,
                    "the description of '" + device.name() +
                        "' has no performance." + name +
                        ", without which nothing can be estimated");
  for (const char *function : {"forward", "logits"})
    if (!findEntry(variant, function, 1))
      return Status(StatusCode::Unsupported,
                    "the program for '" + variant.target().name() +
                        "' has no function '" + function +
                        "' for one row: only language models are estimated");
  return Estimator(manifest, variant, device, assumptions);
}

Time Estimator::estimateEntry(const format::Entry &entry, const StepShape &step,
                              double *bytes) const {
  Time time;
  for (const DispatchWork &work : countWork(*manifest, *variant, entry, step)) {
    time += estimateDispatch(work, *device, assumptions);
    if (bytes)
      *bytes += work.bytes();
  }
  return time;
}

PromptEstimate
Estimator::estimatePrompt(const std::vector<PromptStep> &steps) const {
  PromptEstimate prompt;
  for (const PromptStep &step : steps) {
    const format::Entry *entry = findEntry(*variant, "forward", step.bucket);
    if (!entry)
      continue;
    prompt.time += estimateEntry(*entry, {prompt.tokens, step.rows});
    prompt.tokens += step.rows;
  }
  prompt.time +=
      estimateEntry(*findEntry(*variant, "logits", 1), {prompt.tokens, 1});
  return prompt;
}

DecodeEstimate Estimator::estimateDecode(int64_t position) const {
  DecodeEstimate decode;
  decode.position = position;
  for (const char *function : {"forward", "logits"})
    decode.time += estimateEntry(*findEntry(*variant, function, 1),
                                 {position, 1}, &decode.bytes);
  return decode;
}

MemoryEstimate Estimator::estimateMemory() const {
  MemoryEstimate memory;
  for (const format::Buffer &buffer : variant->buffers())
    switch (buffer.kind()) {
    case format::Buffer::WEIGHTS:
      memory.weights += buffer.size();
      break;
    case format::Buffer::STATE:
      memory.state += buffer.size();
      break;
    case format::Buffer::ARENA:
      memory.scratch += buffer.size();
      break;
    default:
      memory.other += buffer.size();
    }
  return memory;
}

std::vector<uint32_t> Estimator::buckets() const {
  std::vector<uint32_t> rows;
  for (const format::Entry &entry : variant->entries())
    if (entry.function() == "forward")
      rows.push_back(entry.rows());
  std::sort(rows.begin(), rows.end());
  return rows;
}

std::vector<std::string> Estimator::describeAssumptions() const {
  const description::Performance &performance = device->performance();
  std::vector<std::string> all = {
      sentence("bandwidth %.1f GB/s (described)",
               performance.bandwidth_gb_per_s()) +
          sentence(", of which %.0f %% are reached (assumed)",
                   100 * assumptions.bandwidthShare),
      sentence("peak of %.0f GFLOP/s in f32 (described), one instruction of a "
               "lane for two operations",
               performance.f32_gflops()),
      sentence("%.0f compute units (described); fewer workgroups leave some "
               "idle",
               performance.compute_units()),
      sentence("full issue rate at %.0f %% occupancy or more (assumed); "
               "occupancy from the estimated registers",
               100 * assumptions.sufficientOccupancy)};
  all.push_back(performance.has_dispatch_microseconds()
                    ? sentence("%.1f us for a dispatch that waits (described)",
                               performance.dispatch_microseconds())
                    : sentence("%.1f us for a dispatch that waits (assumed: "
                               "unknown of this device)",
                               assumptions.dispatchMicroseconds));
  all.push_back("weights at their stored width, activations and the filled KV "
                "cache are each read once a dispatch");
  all.push_back("sampling, submission and heat are not counted");
  return all;
}

} // namespace llmc::estimate
