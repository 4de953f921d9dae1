// SPDX-License-Identifier: Apache-2.0
//
// The 4-bit formats that a config.json's `quantization_config` describes.

#ifndef LLMC_COMPILER_IMPORT_HUGGINGFACE_QUANTIZATIONCONFIG_H
#define LLMC_COMPILER_IMPORT_HUGGINGFACE_QUANTIZATIONCONFIG_H

#include "compiler/Import/HuggingFace/ConfigReader.h"
#include "dialects/Graph/Packing.h"

#include <optional>

namespace llmc::huggingface {

struct QuantizationConfig {
  graph::PackingForm form;
  /// Columns that share a scale; 0: all of a row.
  int64_t group;
  /// Whether there are tensors of zero points.
  bool hasZeros;
};

/// Reads the field; none when it is absent. Known are the methods gptq, awq
/// (version gemm) and compressed-tensors (format pack-quantized, one group of
/// linears, weights only), with 4-bit integers. Everything else that would
/// change the numbers is refused by name.
llvm::Expected<std::optional<QuantizationConfig>>
readQuantizationConfig(const ConfigReader &config);

} // namespace llmc::huggingface

#endif // LLMC_COMPILER_IMPORT_HUGGINGFACE_QUANTIZATIONCONFIG_H
