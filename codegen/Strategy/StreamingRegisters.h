// SPDX-License-Identifier: Apache-2.0
//
// The register estimate of kernels that hold no tile: they stream vectors of
// four through a few live values (norms, heads, embeddings, element-wise).

#ifndef LLMC_CODEGEN_STRATEGY_STREAMINGREGISTERS_H
#define LLMC_CODEGEN_STRATEGY_STREAMINGREGISTERS_H

#include "dialects/Target/Target.h"

#include <algorithm>
#include <cstdint>

namespace llmc::codegen {

/// Invocation and group ids, the step's row count, one index and one bound:
/// what every kernel keeps beside its data.
inline constexpr int64_t kAddressRegisters = 8;

/// How much a kernel has to wait for, which some compilers fill with loads and
/// results that are early.
enum class Latency {
  /// A few loads and sums.
  Short,
  /// Loops, decoding, functions.
  Long,
};

/// 32-bit registers of an invocation whose values take `live` registers when
/// each is computed as late as possible. That is what the drivers of the Mali
/// targets do; Adreno's takes registers as long as they cost no occupancy, two
/// times as many in short kernels and three times in long ones (Mesa 26.2.6).
inline int64_t streamingRegisters(target::DeviceAttr device, int64_t live,
                                  Latency latency) {
  if (device.getFamily() != target::Family::Adreno)
    return live;
  int64_t early = live * (latency == Latency::Short ? 2 : 3);
  return std::max(live, std::min(early, device.getRegistersFullOccupancy()));
}

} // namespace llmc::codegen

#endif // LLMC_CODEGEN_STRATEGY_STREAMINGREGISTERS_H
