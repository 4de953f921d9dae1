// SPDX-License-Identifier: Apache-2.0
//
// Values of absent fields are those of the transformers library.

#include "compiler/Import/HuggingFace/ExpertReader.h"

#include "dialects/Graph/Encoding.h"

namespace llmc::huggingface {

llvm::Expected<ExpertReader> ExpertReader::create(const ConfigReader &config,
                                                  int64_t hiddenSize) {
  ExpertReader reader;
  reader.hiddenSize = hiddenSize;
  if (llvm::Error error =
          config.readSize("moe_intermediate_size", reader.innerSize, 768))
    return std::move(error);
  if (llvm::Error error = config.readSize("num_experts", reader.numExperts, 128,
                                          importer::kMaxExperts))
    return std::move(error);
  if (llvm::Error error = config.readSize("num_experts_per_tok", reader.numUsed,
                                          8, reader.numExperts))
    return std::move(error);
  if (llvm::Error error =
          config.readFlag("norm_topk_prob", reader.isNormalized, false))
    return std::move(error);
  int64_t step;
  if (llvm::Error error = config.readSize("decoder_sparse_step", step, 1))
    return std::move(error);
  if (step != 1)
    return config.refuse("decoder_sparse_step",
                         "is 1: every layer has experts");
  if (config.has("mlp_only_layers") && !config.isEmpty("mlp_only_layers"))
    return config.refuse("mlp_only_layers",
                         "is an empty array: every layer has experts");
  return reader;
}

llvm::Error ExpertReader::readWeight(TensorReader &tensors,
                                     const std::string &prefix,
                                     const char *name,
                                     const std::string &symbol, int64_t outputs,
                                     int64_t inputs,
                                     importer::ExpertWeight &result) const {
  result.name = symbol + ".weight";
  result.outputs = outputs;
  for (int64_t expert = 0; expert < numExperts; ++expert) {
    std::string tensor =
        prefix + "mlp.experts." + std::to_string(expert) + "." + name;
    importer::Linear linear;
    if (llvm::Error error = tensors.readLinear(tensor, symbol, outputs, inputs,
                                               /*hasBias=*/false, linear))
      return error;
    graph::Encoding first = result.parts.empty()
                                ? linear.weight.encoding
                                : result.parts.front().encoding;
    if (linear.weight.encoding != first)
      return llvm::createStringError(
          "the experts' matrices must have one encoding, but that of '" +
          tensor + "' is " + graph::encodingFacts(linear.weight.encoding).name +
          ", that of expert 0 " + graph::encodingFacts(first).name);
    result.parts.push_back(std::move(linear.weight));
  }
  return llvm::Error::success();
}

llvm::Error ExpertReader::read(TensorReader &tensors, const std::string &prefix,
                               const std::string &symbol,
                               importer::Experts &result) const {
  result.numUsed = numUsed;
  result.isNormalized = isNormalized;
  if (llvm::Error error = tensors.readLinear(
          prefix + "mlp.gate", symbol + "ffn_gate_inp", numExperts, hiddenSize,
          /*hasBias=*/false, result.router))
    return error;
  if (llvm::Error error =
          readWeight(tensors, prefix, "gate_proj", symbol + "ffn_gate_exps",
                     innerSize, hiddenSize, result.gate))
    return error;
  if (llvm::Error error =
          readWeight(tensors, prefix, "up_proj", symbol + "ffn_up_exps",
                     innerSize, hiddenSize, result.up))
    return error;
  return readWeight(tensors, prefix, "down_proj", symbol + "ffn_down_exps",
                    hiddenSize, innerSize, result.down);
}

} // namespace llmc::huggingface
