// SPDX-License-Identifier: Apache-2.0
//
// Mixtures of experts in Hugging Face directories: fields and tensors of
// qwen3_moe.

#ifndef LLMC_COMPILER_IMPORT_HUGGINGFACE_EXPERTREADER_H
#define LLMC_COMPILER_IMPORT_HUGGINGFACE_EXPERTREADER_H

#include "compiler/Import/HuggingFace/ConfigReader.h"
#include "compiler/Import/HuggingFace/TensorReader.h"

namespace llmc::huggingface {

class ExpertReader {
public:
  /// Reads counts and conventions; fails for layers without experts.
  static llvm::Expected<ExpertReader> create(const ConfigReader &config,
                                             int64_t hiddenSize);

  /// Of an expert.
  int64_t feedForwardSize() const { return innerSize; }

  /// The experts of the layer whose tensors begin with `prefix` and weights
  /// with `symbol`. An expert's matrices are tensors of their own, which must
  /// have the encoding of the first one.
  llvm::Error read(TensorReader &tensors, const std::string &prefix,
                   const std::string &symbol, importer::Experts &result) const;

private:
  llvm::Error readWeight(TensorReader &tensors, const std::string &prefix,
                         const char *name, const std::string &symbol,
                         int64_t outputs, int64_t inputs,
                         importer::ExpertWeight &result) const;

  int64_t hiddenSize = 0, innerSize = 0, numExperts = 0, numUsed = 0;
  bool isNormalized = false;
};

} // namespace llmc::huggingface

#endif // LLMC_COMPILER_IMPORT_HUGGINGFACE_EXPERTREADER_H
