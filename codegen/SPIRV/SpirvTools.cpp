// SPDX-License-Identifier: Apache-2.0
//
// SPIRV-Tools in process: optimisation and validation of one module.

#include "codegen/SPIRV/SpirvTools.h"

#include "spirv-tools/optimizer.hpp"

namespace llmc::codegen {

static spv_target_env environmentOf(int64_t vulkanMinor) {
  switch (vulkanMinor) {
  case 0:
    return SPV_ENV_VULKAN_1_0;
  case 1:
    return SPV_ENV_VULKAN_1_1;
  case 2:
    return SPV_ENV_VULKAN_1_2;
  default:
    return SPV_ENV_VULKAN_1_3;
  }
}

std::optional<std::vector<uint32_t>>
optimizeAndValidate(const std::vector<uint32_t> &words, int64_t vulkanMinor,
                    std::string &error) {
  spv_target_env environment = environmentOf(vulkanMinor);
  auto collect = [&error](spv_message_level_t level, const char *,
                          const spv_position_t &, const char *message) {
    if (level <= SPV_MSG_ERROR)
      error += std::string(error.empty() ? "" : "; ") + message;
  };

  // Names in messages would be collected from each whole module beforehand.
  spvtools::ValidatorOptions validation;
  validation.SetFriendlyNames(false);
  // Validates the input, too: passes may crash on what is invalid.
  spvtools::OptimizerOptions options;
  options.set_validator_options(validation);
  spvtools::Optimizer optimizer(environment);
  optimizer.SetMessageConsumer(collect);
  optimizer.RegisterPerformancePasses();
  std::vector<uint32_t> optimized;
  if (!optimizer.Run(words.data(), words.size(), &optimized, options))
    return std::nullopt;
  spvtools::SpirvTools tools(environment);
  tools.SetMessageConsumer(collect);
  if (!tools.Validate(optimized.data(), optimized.size(), validation))
    return std::nullopt;
  return optimized;
}

std::string disassemble(const std::vector<uint32_t> &words) {
  // Any environment will do: nothing is validated.
  spvtools::SpirvTools tools(SPV_ENV_UNIVERSAL_1_6);
  std::string text;
  tools.SetMessageConsumer([&text](spv_message_level_t, const char *,
                                   const spv_position_t &,
                                   const char *message) { text = message; });
  tools.Disassemble(words, &text,
                    SPV_BINARY_TO_TEXT_OPTION_INDENT |
                        SPV_BINARY_TO_TEXT_OPTION_FRIENDLY_NAMES);
  return text;
}

} // namespace llmc::codegen
