// SPDX-License-Identifier: Apache-2.0
//
// Old files say `rope_theta` and `rope_scaling`, whose type is `rope_type` or
// `type`; newer ones `rope_parameters`, one object for all layers or one for
// each layer type.

#include "compiler/Import/HuggingFace/RotaryConfig.h"

#include <cmath>

namespace llmc::huggingface {

std::vector<float> llama3RotaryFactors(int64_t dim, double base, double factor,
                                       double lowFactor, double highFactor,
                                       double originalContext) {
  std::vector<float> factors;
  for (int64_t i = 0; i < dim / 2; ++i) {
    double frequency = std::pow(base, -2.0 * static_cast<double>(i) /
                                          static_cast<double>(dim));
    double turns = originalContext * frequency / (2 * M_PI);
    double share = (turns - lowFactor) / (highFactor - lowFactor);
    share = std::fmin(std::fmax(share, 0.0), 1.0);
    factors.push_back(
        static_cast<float>(1.0 / ((1.0 - share) / factor + share)));
  }
  return factors;
}

namespace {

llvm::Error readLlama3(const ConfigReader &scaling, int64_t dim,
                       RotaryConfig &result) {
  float factor, lowFactor, highFactor;
  int64_t originalContext;
  if (llvm::Error error = scaling.readReal("factor", factor))
    return error;
  if (llvm::Error error = scaling.readReal("low_freq_factor", lowFactor))
    return error;
  if (llvm::Error error = scaling.readReal("high_freq_factor", highFactor))
    return error;
  if (!(highFactor > lowFactor))
    return scaling.refuse("high_freq_factor",
                          "are numbers above low_freq_factor");
  if (llvm::Error error =
          scaling.readSize("original_max_position_embeddings", originalContext))
    return error;
  result.factors =
      llama3RotaryFactors(dim, result.base, factor, lowFactor, highFactor,
                          static_cast<double>(originalContext));
  return llvm::Error::success();
}

llvm::Error readScaling(const ConfigReader &scaling, int64_t dim,
                        RotaryConfig &result) {
  const char *field = scaling.has("rope_type") ? "rope_type" : "type";
  std::string type;
  if (llvm::Error error = scaling.readText(field, type, "default"))
    return error;
  if (type == "default")
    return llvm::Error::success();
  if (type == "llama3")
    return readLlama3(scaling, dim, result);
  if (type != "linear")
    return scaling.refuse(field, "are default, linear, llama3");
  float factor;
  if (llvm::Error error = scaling.readReal("factor", factor))
    return error;
  result.positionScale = 1.0f / factor;
  return llvm::Error::success();
}

/// The whole head is rotated; files that say otherwise are refused.
llvm::Error refusePartialRotation(const ConfigReader &config) {
  float share;
  if (llvm::Error error = config.readReal("partial_rotary_factor", share, 1.0f))
    return error;
  if (share != 1.0f)
    return config.refuse("partial_rotary_factor", "is 1");
  return llvm::Error::success();
}

} // namespace

llvm::Expected<RotaryConfig> readRotaryConfig(const ConfigReader &config,
                                              int64_t dim, float defaultBase,
                                              const char *layerType) {
  RotaryConfig result;
  auto parameters = config.findObject("rope_parameters");
  if (!parameters)
    return parameters.takeError();
  if (*parameters && (*parameters)->has(layerType)) {
    parameters = (*parameters)->findObject(layerType);
    if (!parameters)
      return parameters.takeError();
  }
  const ConfigReader &base = *parameters ? **parameters : config;
  if (llvm::Error error = base.readReal("rope_theta", result.base, defaultBase))
    return std::move(error);
  if (llvm::Error error = refusePartialRotation(base))
    return std::move(error);
  if (*parameters) {
    if (llvm::Error error = readScaling(**parameters, dim, result))
      return std::move(error);
    return result;
  }
  auto scaling = config.findObject("rope_scaling");
  if (!scaling)
    return scaling.takeError();
  if (*scaling)
    if (llvm::Error error = readScaling(**scaling, dim, result))
      return std::move(error);
  return result;
}

} // namespace llmc::huggingface
