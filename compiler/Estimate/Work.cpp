// SPDX-License-Identifier: Apache-2.0
//
// Bindings tell the bytes, the kernel's kind what is done with them.

#include "compiler/Estimate/Work.h"

#include <algorithm>
#include <set>
#include <tuple>

namespace llmc::estimate {

namespace {

constexpr double kBytesPerActivation = 4;

bool isLinear(const std::string &kind) {
  return kind == "gemv" || kind == "gemv_matrix" || kind == "gemm" ||
         kind == "gemm_matrix" || kind == "expert_gemv";
}
bool isAttention(const std::string &kind) {
  return kind == "sdpa" || kind == "sdpa_matrix" || kind == "sdpa_row";
}

class WorkCounter {
public:
  WorkCounter(const format::Manifest &manifest, const format::Variant &variant,
              const format::Entry &entry, const StepShape &step)
      : manifest(manifest), variant(variant), entry(entry), step(step) {}

  DispatchWork count(const format::Dispatch &dispatch, bool isDependent) const;

private:
  void addWeight(const format::Dispatch &dispatch, const format::Slice &slice,
                 DispatchWork &work) const;
  void addState(const format::Slice &slice, DispatchWork &work) const;
  const format::Section *findSection(const format::Slice &slice) const;
  double filledPositions() const {
    // A row sees the rows before it: half of the step on average.
    return static_cast<double>(step.position) +
           (static_cast<double>(step.rows) + 1) / 2;
  }

  const format::Manifest &manifest;
  const format::Variant &variant;
  const format::Entry &entry;
  const StepShape &step;
};

/// The matrix or vector that a slice of a weight buffer lies in.
const format::Section *
WorkCounter::findSection(const format::Slice &slice) const {
  for (const format::WeightPlacement &placement : variant.weights()) {
    const format::Section &section =
        manifest.sections(static_cast<int>(placement.section()));
    if (placement.buffer() == slice.buffer() &&
        slice.offset() >= placement.offset() &&
        slice.offset() - placement.offset() < section.size())
      return &section;
  }
  return nullptr;
}

void WorkCounter::addWeight(const format::Dispatch &dispatch,
                            const format::Slice &slice,
                            DispatchWork &work) const {
  const format::Section *section = findSection(slice);
  auto range = static_cast<double>(slice.range());
  auto rows = static_cast<double>(entry.rows());
  if (work.kind == "embedding" && manifest.model().vocabulary_size() != 0) {
    // A row of the matrix for each token.
    auto all = static_cast<double>(manifest.model().vocabulary_size());
    work.weightBytes += range * std::min(1.0, rows / all);
    return;
  }
  double share = 1;
  if (work.kind == "expert_gemv" && work.kernel.tile_size() > 4) {
    // A place of the result reads the rows of one expert.
    double places = dispatch.groups(1), experts = work.kernel.tile(4);
    share = places / experts;
  }
  work.weightBytes += range * std::min(1.0, share);
  if (!section || section->layout() == "vector" || section->size() == 0 ||
      !isLinear(work.kind))
    return;
  // The planes of a matrix, or a part of it, are bindings of their own.
  work.encoding = section->encoding();
  work.multiplyAdds += static_cast<double>(section->elements()) *
                       (work.kind == "expert_gemv" ? share : rows) * range /
                       static_cast<double>(section->size());
}

void WorkCounter::addState(const format::Slice &slice,
                           DispatchWork &work) const {
  auto context = static_cast<double>(manifest.model().max_context());
  if (context == 0)
    return;
  double positions = isAttention(work.kind) ? filledPositions()
                                            : static_cast<double>(step.rows);
  work.stateBytes +=
      static_cast<double>(slice.range()) * std::min(1.0, positions / context);
}

DispatchWork WorkCounter::count(const format::Dispatch &dispatch,
                                bool isDependent) const {
  const format::Kernel &kernel =
      variant.kernels(static_cast<int>(dispatch.kernel()));
  DispatchWork work;
  work.label = dispatch.label();
  work.kernel = kernel.estimate();
  work.kind = work.kernel.kind();
  work.isDependent = isDependent;
  for (uint32_t count : dispatch.groups())
    work.workgroups *= count;

  // One range may have several bindings.
  std::set<std::tuple<uint32_t, uint64_t, uint64_t>> seen;
  double firstActivation = 0;
  bool hasState = false;
  for (const format::Slice &slice : dispatch.bindings()) {
    if (!seen.insert({slice.buffer(), slice.offset(), slice.range()}).second)
      continue;
    auto range = static_cast<double>(slice.range());
    switch (variant.buffers(static_cast<int>(slice.buffer())).kind()) {
    case format::Buffer::WEIGHTS:
      addWeight(dispatch, slice, work);
      break;
    case format::Buffer::STATE:
      addState(slice, work);
      hasState = true;
      break;
    case format::Buffer::ARENA:
      if (firstActivation == 0)
        firstActivation = range;
      work.activationBytes += range;
      break;
    default: // step words, inputs, outputs
      work.activationBytes += range;
    }
  }
  if (isAttention(work.kind))
    // The queries come first: each meets every key, and then every value.
    work.multiplyAdds = hasState ? 2 * firstActivation / kBytesPerActivation *
                                       static_cast<double>(step.rows) /
                                       static_cast<double>(entry.rows()) *
                                       filledPositions()
                                 : 0;
  else if (work.multiplyAdds == 0)
    work.multiplyAdds = work.activationBytes / kBytesPerActivation;
  return work;
}

} // namespace

std::vector<DispatchWork> countWork(const format::Manifest &manifest,
                                    const format::Variant &variant,
                                    const format::Entry &entry,
                                    const StepShape &step) {
  WorkCounter counter(manifest, variant, entry, step);
  std::vector<DispatchWork> all;
  bool isDependent = true; // an entry begins with a barrier
  for (const format::Command &command : entry.commands()) {
    if (command.has_dispatch()) {
      all.push_back(counter.count(command.dispatch(), isDependent));
      isDependent = false;
    } else if (command.has_barrier()) {
      isDependent = true;
    }
  }
  return all;
}

const format::Entry *findEntry(const format::Variant &variant,
                               const std::string &function, uint32_t rows) {
  for (const format::Entry &entry : variant.entries())
    if (entry.function() == function && entry.rows() == rows)
      return &entry;
  return nullptr;
}

} // namespace llmc::estimate
