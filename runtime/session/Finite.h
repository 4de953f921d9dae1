// SPDX-License-Identifier: Apache-2.0
//
// Whether what a model computed is numbers.

#ifndef LLMC_RUNTIME_SESSION_FINITE_H
#define LLMC_RUNTIME_SESSION_FINITE_H

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace llmc::runtime {

/// An exponent of all ones is infinity or NaN. Written without floating point,
/// so that no compiler flag folds it away.
inline bool isFinite(const float *values, size_t count) {
  bool finite = true;
  for (size_t i = 0; i < count; ++i) {
    uint32_t bits;
    std::memcpy(&bits, values + i, sizeof(bits));
    finite &= (bits & 0x7f800000u) != 0x7f800000u;
  }
  return finite;
}

} // namespace llmc::runtime

#endif // LLMC_RUNTIME_SESSION_FINITE_H
