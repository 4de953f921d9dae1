// SPDX-License-Identifier: Apache-2.0
//
// SPIRV-Tools in process: optimisation and validation of one module.

#ifndef LLMC_CODEGEN_SPIRV_SPIRVTOOLS_H
#define LLMC_CODEGEN_SPIRV_SPIRVTOOLS_H

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace llmc::codegen {

/// Runs SPIRV-Tools' performance passes and validates the result for
/// Vulkan 1.`vulkanMinor`. On failure gives nothing and sets `error` to what
/// SPIRV-Tools says.
std::optional<std::vector<uint32_t>>
optimizeAndValidate(const std::vector<uint32_t> &words, int64_t vulkanMinor,
                    std::string &error);

/// The module as text with friendly names; what is wrong with it if it is no
/// SPIR-V.
std::string disassemble(const std::vector<uint32_t> &words);

} // namespace llmc::codegen

#endif // LLMC_CODEGEN_SPIRV_SPIRVTOOLS_H
