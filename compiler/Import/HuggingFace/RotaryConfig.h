// SPDX-License-Identifier: Apache-2.0
//
// The rotation that a config.json describes: its base and its scaling.

#ifndef LLMC_COMPILER_IMPORT_HUGGINGFACE_ROTARYCONFIG_H
#define LLMC_COMPILER_IMPORT_HUGGINGFACE_ROTARYCONFIG_H

#include "compiler/Import/HuggingFace/ConfigReader.h"

#include <cstdint>
#include <vector>

namespace llmc::huggingface {

struct RotaryConfig {
  float base;
  /// Positions are multiplied by it.
  float positionScale = 1.0f;
  /// Divisors of the dim / 2 frequencies; empty: none.
  std::vector<float> factors;
};

/// Reads `rope_theta` and `rope_scaling`, or `rope_parameters` of newer files,
/// which hold both; where these differ between layer types, the ones of
/// `layerType`. `dim` elements of a head are rotated. The types default, linear
/// and llama3 are known, others refused.
llvm::Expected<RotaryConfig> readRotaryConfig(const ConfigReader &config,
                                              int64_t dim, float defaultBase,
                                              const char *layerType);

/// Divisors of the frequencies base^(-2i/dim) by which the llama3 rule
/// stretches them: 1 for wavelengths below originalContext / highFactor,
/// `factor` for those above originalContext / lowFactor, and in between those
/// of a mean of both frequencies, weighted by the number of turns.
std::vector<float> llama3RotaryFactors(int64_t dim, double base, double factor,
                                       double lowFactor, double highFactor,
                                       double originalContext);

} // namespace llmc::huggingface

#endif // LLMC_COMPILER_IMPORT_HUGGINGFACE_ROTARYCONFIG_H
