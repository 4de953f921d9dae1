// SPDX-License-Identifier: Apache-2.0
//
// From a weight's tensor type to the layout of its bytes on the device.

#ifndef LLMC_CODEGEN_LOWERING_WEIGHTTYPE_H
#define LLMC_CODEGEN_LOWERING_WEIGHTTYPE_H

#include "codegen/Lowering/WeightLayout.h"
#include "dialects/Graph/Graph.h"

namespace llmc::codegen {

/// The device format of a file's encoding: the same bits, or the re-encoding
/// that docs/layouts.md gives, which rounds nothing.
WeightFormat weightFormat(graph::Encoding encoding);

/// The layout of a weight of that type (`tensor<N x K x !graph.encoded<…>>` or
/// 1-D); nothing when no layout fits.
std::optional<WeightLayout> layoutOf(RankedTensorType encodedType);

} // namespace llmc::codegen

#endif // LLMC_CODEGEN_LOWERING_WEIGHTTYPE_H
