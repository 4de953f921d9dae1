// SPDX-License-Identifier: Apache-2.0
//
// How tiles that do not fit are refused, wherever a size is looked at.

#ifndef LLMC_CODEGEN_LOWERING_TILEMISFIT_H
#define LLMC_CODEGEN_LOWERING_TILEMISFIT_H

#include <cstdint>
#include <string>

namespace llmc::codegen {

/// `tile's k is 7, allowed are powers of two`; `allowed` begins with the verb.
inline std::string describeMisfit(const std::string &field, int64_t value,
                                  const std::string &allowed) {
  return field + " is " + std::to_string(value) + ", allowed " + allowed;
}

} // namespace llmc::codegen

#endif // LLMC_CODEGEN_LOWERING_TILEMISFIT_H
