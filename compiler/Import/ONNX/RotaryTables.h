// SPDX-License-Identifier: Apache-2.0
//
// Tables of cosines and sines that exporters write for rotary embeddings,
// recognised as those of a base. Plain C++.

#ifndef LLMC_COMPILER_IMPORT_ONNX_ROTARYTABLES_H
#define LLMC_COMPILER_IMPORT_ONNX_ROTARYTABLES_H

#include "compiler/Import/ONNX/OnnxReader.h"

#include <optional>

namespace llmc::onnx {

/// The base b for which row p and column i of the tables [positions, half] are
/// the cosine and sine of p * b^(-i / half), to the precision of their type, in
/// the first 4096 rows. None for others, such as scaled ones, and for tables
/// that are no two equal shapes of at least two rows of reals.
std::optional<double> rotaryBase(const Tensor &cosines, const Tensor &sines);

} // namespace llmc::onnx

#endif // LLMC_COMPILER_IMPORT_ONNX_ROTARYTABLES_H
