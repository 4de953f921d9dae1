// SPDX-License-Identifier: Apache-2.0
//
// The two kernels that choose the next token from logits: the likeliest tokens
// of every workgroup's share, then one workgroup that draws among them and
// prepares the next step.

#ifndef LLMC_CODEGEN_LOWERING_SAMPLINGKERNELS_H
#define LLMC_CODEGEN_LOWERING_SAMPLINGKERNELS_H

#include "codegen/Lowering/EntryKernel.h"

namespace llmc::codegen {

/// Most candidates that are drawn among, and places of the rings `recent`,
/// `draws` and `chosen`; a power of two.
inline constexpr int64_t kSamplingRing = 64;

/// Words of the input `sampling` (docs/file-format.md).
enum class SamplingWord {
  Temperature = 0, // bits of a float; 0: greedy
  Candidates = 1,  // 1 to kSamplingRing; 1 when greedy
  TopP = 2,        // bits of a float
  Penalty = 3,     // bits of a float
  Window = 4,      // places of `recent` that count, 0 to kSamplingRing
  Next = 5,        // the place of `recent` that the next token takes
};
inline constexpr int64_t kNumSamplingWords = 8;

/// How many tokens the entry program::kSamplingTest chooses that are compared:
/// the first places of its `chosen`.
inline constexpr int64_t kNumTestedTokens = 8;

/// Where the kernels read and write.
struct SamplingSlices {
  /// A row of `vocabularySize` floats, in the arena.
  Value logits;
  int64_t vocabularySize = 0;
  Value sampling, recent, draws, tokens; // inputs
  Value chosen;                          // output
};

/// How many logits an invocation of the first kernel has: 16, or 8 or 4 where
/// there would be fewer workgroups than compute units. A workgroup has `lanes`
/// invocations, and there are no more workgroups than that unless 16 logits
/// make them.
int64_t samplingLogitsPerLane(int64_t vocabularySize, int64_t lanes,
                              int64_t computeUnits);

/// Whether the second kernel, one workgroup, can look at every workgroup of the
/// first.
bool canSample(target::DeviceAttr device, int64_t vocabularySize);

/// Emits both dispatches at the end of the entry. What they compute is
/// runtime/text/Sampler's choice, in floats.
void emitSampling(EntryBuilder &entry, target::DeviceAttr device, Location loc,
                  const SamplingSlices &slices);

} // namespace llmc::codegen

#endif // LLMC_CODEGEN_LOWERING_SAMPLINGKERNELS_H
