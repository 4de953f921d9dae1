// SPDX-License-Identifier: Apache-2.0
//
// Fields as AutoGPTQ, AutoAWQ and llm-compressor write them. Which modules are
// not quantized needs no reading: their tensors are plain.

#include "compiler/Import/HuggingFace/QuantizationConfig.h"

namespace llmc::huggingface {

using graph::PackingForm;

namespace {

/// -1 and absence stand for whole rows.
llvm::Error readGroup(const ConfigReader &config, int64_t &group) {
  group = 0;
  if (!config.has("group_size") || config.isNumber("group_size", -1))
    return llvm::Error::success();
  return config.readSize("group_size", group);
}

llvm::Error requireFourBits(const ConfigReader &config, const char *field) {
  int64_t bits;
  if (llvm::Error error = config.readSize(field, bits))
    return error;
  return bits == 4 ? llvm::Error::success() : config.refuse(field, "is 4");
}

/// Fields that must be absent, null or empty.
llvm::Error refuseFields(const ConfigReader &config,
                         std::initializer_list<const char *> fields) {
  for (const char *field : fields)
    if (config.has(field) && !config.isEmpty(field))
      return config.refuse(field, "is its absence");
  return llvm::Error::success();
}

/// The order of columns needs no field: `g_idx` says it.
llvm::Expected<QuantizationConfig> readGptq(const ConfigReader &config) {
  QuantizationConfig result = {PackingForm::Gptq, 0, /*hasZeros=*/true};
  if (llvm::Error error = requireFourBits(config, "bits"))
    return std::move(error);
  if (llvm::Error error = readGroup(config, result.group))
    return std::move(error);
  if (llvm::Error error = refuseFields(config, {"dynamic"}))
    return std::move(error);
  std::string format;
  if (llvm::Error error = config.readText("checkpoint_format", format, "gptq"))
    return std::move(error);
  if (format == "gptq_v2")
    result.form = PackingForm::GptqV2;
  else if (format != "gptq")
    return config.refuse("checkpoint_format", "are gptq and gptq_v2");
  return result;
}

llvm::Expected<QuantizationConfig> readAwq(const ConfigReader &config) {
  QuantizationConfig result = {PackingForm::Awq, 0, /*hasZeros=*/true};
  if (llvm::Error error = requireFourBits(config, "bits"))
    return std::move(error);
  if (llvm::Error error = readGroup(config, result.group))
    return std::move(error);
  std::string version;
  if (llvm::Error error = config.readText("version", version, "gemm"))
    return std::move(error);
  if (StringRef(version).lower() != "gemm")
    return config.refuse("version", "is gemm");
  return result;
}

llvm::Error readWeightScheme(const ConfigReader &weights,
                             QuantizationConfig &result) {
  if (llvm::Error error = requireFourBits(weights, "num_bits"))
    return error;
  std::string type, strategy;
  if (llvm::Error error = weights.readText("type", type, "int"))
    return error;
  if (type != "int")
    return weights.refuse("type", "is int");
  bool isSymmetric;
  if (llvm::Error error = weights.readFlag("symmetric", isSymmetric, true))
    return error;
  result.hasZeros = !isSymmetric;
  if (llvm::Error error = readGroup(weights, result.group))
    return error;
  if (llvm::Error error = weights.readText(
          "strategy", strategy, result.group != 0 ? "group" : "channel"))
    return error;
  if (strategy != (result.group != 0 ? "group" : "channel"))
    return weights.refuse("strategy", "are group, with a group_size, and "
                                      "channel, without");
  return llvm::Error::success();
}

llvm::Expected<QuantizationConfig>
readCompressedTensors(const ConfigReader &config) {
  QuantizationConfig result = {PackingForm::Compressed, 0, false};
  std::string format;
  if (llvm::Error error = config.readText("format", format))
    return std::move(error);
  if (format != "pack-quantized")
    return config.refuse("format", "is pack-quantized");
  if (llvm::Error error = refuseFields(
          config, {"kv_cache_scheme", "sparsity_config", "transform_config"}))
    return std::move(error);
  auto groups = config.findObject("config_groups");
  if (!groups)
    return groups.takeError();
  if (!*groups || (*groups)->fields().size() != 1)
    return config.refuse("config_groups", "is an object of one group");
  auto group = (*groups)->findObject((*groups)->fields().front().c_str());
  if (!group)
    return group.takeError();
  if (!*group)
    return config.refuse("config_groups", "is an object of one group");
  if (llvm::Error error =
          refuseFields(**group, {"input_activations", "output_activations"}))
    return std::move(error);
  auto weights = (*group)->findObject("weights");
  if (!weights)
    return weights.takeError();
  if (!*weights)
    return (*group)->refuse("weights", "is an object");
  if (llvm::Error error = readWeightScheme(**weights, result))
    return std::move(error);
  return result;
}

} // namespace

llvm::Expected<std::optional<QuantizationConfig>>
readQuantizationConfig(const ConfigReader &config) {
  auto quantization = config.findObject("quantization_config");
  if (!quantization)
    return quantization.takeError();
  if (!*quantization)
    return std::optional<QuantizationConfig>();
  std::string method;
  if (llvm::Error error = (*quantization)->readText("quant_method", method))
    return std::move(error);
  if (method == "gptq")
    return readGptq(**quantization);
  if (method == "awq")
    return readAwq(**quantization);
  if (method == "compressed-tensors")
    return readCompressedTensors(**quantization);
  return (*quantization)
      ->refuse("quant_method", "are gptq, awq, compressed-tensors");
}

} // namespace llmc::huggingface
