// SPDX-License-Identifier: Apache-2.0
//
// Scales of a quad's four rows as docs/layouts.md packs them, for kernels of
// every kind.

#ifndef LLMC_CODEGEN_LOWERING_PACKEDSCALES_H
#define LLMC_CODEGEN_LOWERING_PACKEDSCALES_H

#include "codegen/Lowering/KernelBuilder.h"

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

} // namespace llmc::codegen

#endif // LLMC_CODEGEN_LOWERING_PACKEDSCALES_H
