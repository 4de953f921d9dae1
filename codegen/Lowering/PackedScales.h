// SPDX-License-Identifier: Apache-2.0
//
// Scales of a quad's four rows as docs/layouts.md packs them, for kernels of
// every kind.

#ifndef LLMC_CODEGEN_LOWERING_PACKEDSCALES_H
#define LLMC_CODEGEN_LOWERING_PACKEDSCALES_H

#include "codegen/Lowering/KernelBuilder.h"

#include <array>

namespace llmc::codegen {

/// Four f16 in a vector<2xi32> as vector<4xf32>.
Value unpackHalf4(KernelBuilder &b, Value words);

/// The element of a binding of a plane of scales, offsets or zero points of
/// `bytesPerElement` bytes for four rows.
Type packedScalesType(KernelBuilder &b, int64_t bytesPerElement);

/// Such an element as vector<4xf32>: four f32, four f16, or four bytes e that
/// stand for 2^(e - 128), of which 0 and 1 give zero (no normal f32).
Value unpackScales(KernelBuilder &b, Value element, int64_t bytesPerElement);

/// Q4_K's and Q5_K's six-bit numbers of four rows, a byte each in an i32: row
/// r's low bits are bits 4r … 4r + 3 of `nibbles`, its high bits 2r and 2r + 1
/// of `pairs`. What else the two words hold is ignored.
Value joinSixBits(KernelBuilder &b, Value nibbles, Value pairs);

/// Q4_K's and Q5_K's six-bit scales and minimums of four rows at once, from the
/// two words as they lie: scales in bits 0 … 15 of `nibbles` and 0 … 7 of
/// `pairs`, minimums behind them. Bytes of the results, from the lowest: the
/// scales of rows 0 and 2 and their minimums; likewise of rows 1 and 3.
std::array<Value, 2> joinScalesAndMinimums(KernelBuilder &b, Value nibbles,
                                           Value pairs);

} // namespace llmc::codegen

#endif // LLMC_CODEGEN_LOWERING_PACKEDSCALES_H
