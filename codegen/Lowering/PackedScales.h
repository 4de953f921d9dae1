// SPDX-License-Identifier: Apache-2.0
//
// Scales of a quad's four rows as docs/layouts.md packs them, for kernels of
// every kind.

#ifndef LLMC_CODEGEN_LOWERING_PACKEDSCALES_H
#define LLMC_CODEGEN_LOWERING_PACKEDSCALES_H

#include "codegen/Lowering/KernelBuilder.h"

#include <array>

namespace llmc::codegen {

/// The f16 of two rows in an i32, or of four in a vector<2xi32>, as a vector of
/// f32.
Value unpackRowHalves(KernelBuilder &b, Value words);

/// The element of a binding of a plane of scales, offsets or zero points of
/// `bytesPerElement` bytes for four rows: all of it, or two rows where they are
/// not bytes.
Type packedScalesType(KernelBuilder &b, int64_t bytesPerElement,
                      int64_t numRows = 4);

/// Such an element as a vector of f32 over its rows: of f32, of f16, or of
/// bytes e that stand for 2^(e - 128), of which 0 and 1 give zero (no normal
/// f32).
Value unpackScales(KernelBuilder &b, Value element, int64_t bytesPerElement);

/// The three words of a header of Q4_K and Q5_K (docs/layouts.md) that hold the
/// six-bit scales and minimums of two groups, for four rows.
struct PackedKScales {
  Value scales, minimums, high;
};

/// Scales and minimums of the first (0) or second (1) of the groups, a byte for
/// each row. Words that are shifted right by four have the second as first.
std::array<Value, 2> joinScalesAndMinimums(KernelBuilder &b,
                                           const PackedKScales &words,
                                           int64_t group);

} // namespace llmc::codegen

#endif // LLMC_CODEGEN_LOWERING_PACKEDSCALES_H
