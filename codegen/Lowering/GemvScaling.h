// SPDX-License-Identifier: Apache-2.0
//
// What the GEMV kernel and the strategy that counts its registers agree on.

#ifndef LLMC_CODEGEN_LOWERING_GEMVSCALING_H
#define LLMC_CODEGEN_LOWERING_GEMVSCALING_H

#include <cstdint>

namespace llmc::codegen {

/// Up to that many rows an invocation sums unscaled codes per group and scales
/// the sums, which takes a second set of sums; beyond, it scales each weight
/// once for all rows.
inline constexpr int64_t kMaxGroupSumRows = 2;

} // namespace llmc::codegen

#endif // LLMC_CODEGEN_LOWERING_GEMVSCALING_H
