// SPDX-License-Identifier: Apache-2.0
//
// What the bytes of a packed weight follow from, as a hash: weights of one
// recipe have the same bytes, in whatever file and under whatever name.

#ifndef LLMC_COMPILER_SERIALIZATION_WEIGHTRECIPE_H
#define LLMC_COMPILER_SERIALIZATION_WEIGHTRECIPE_H

#include "compiler/Serialization/WeightTable.h"

#include <string>

namespace llmc::serialization {

/// Raise it when a packed weight gets other bytes than before: by a change of
/// the packer, of an encoder of numbers or of what an encoding stands for. The
/// planes of a layout are part of the recipe by themselves.
inline constexpr int kPackerVersion = 1;

/// 16 bytes: XXH3-128 of the packer's version, encoding, shape and planes, and
/// of each source's form and bytes, all of which are read. The order of bytes
/// is that of the file format.
std::string hashRecipe(const StoredWeight &weight);

} // namespace llmc::serialization

#endif // LLMC_COMPILER_SERIALIZATION_WEIGHTRECIPE_H
