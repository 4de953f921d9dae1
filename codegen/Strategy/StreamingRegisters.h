// SPDX-License-Identifier: Apache-2.0
//
// The register estimate of kernels that hold no tile: they stream vectors of
// four through a few live values (norms, heads, embeddings, element-wise).

#ifndef LLMC_CODEGEN_STRATEGY_STREAMINGREGISTERS_H
#define LLMC_CODEGEN_STRATEGY_STREAMINGREGISTERS_H

#include <cstdint>

namespace llmc::codegen {

/// Invocation and group ids, the step's row count, one index and one bound:
/// what every kernel keeps beside its data.
inline constexpr int64_t kAddressRegisters = 8;

/// 32-bit registers of an invocation that has `vectors` vectors of four and
/// `scalars` single values live at once. A norm (its sum, its input, its gain:
/// three vectors) comes to 20; the drivers of the Mali targets take 18 and 22.
constexpr int64_t streamingRegisters(int64_t vectors, int64_t scalars = 0) {
  return kAddressRegisters + 4 * vectors + scalars;
}

} // namespace llmc::codegen

#endif // LLMC_CODEGEN_STRATEGY_STREAMINGREGISTERS_H
