// SPDX-License-Identifier: Apache-2.0
//
// From the tensors of a model folder to weights of a model description.

#ifndef LLMC_COMPILER_IMPORT_HUGGINGFACE_TENSORREADER_H
#define LLMC_COMPILER_IMPORT_HUGGINGFACE_TENSORREADER_H

#include "compiler/Import/DecoderModel.h"
#include "compiler/Import/HuggingFace/ModelFolder.h"
#include "compiler/Import/HuggingFace/QuantizationConfig.h"

#include "llvm/ADT/StringSet.h"

namespace llmc::huggingface {

/// Finds and checks tensors, and remembers which ones a model uses. `name` is a
/// tensor's, `symbol` that of the weight it becomes.
class TensorReader {
public:
  explicit TensorReader(const ModelFolder &folder) : folder(folder) {}

  /// How linears are quantized whose plain weight is missing.
  void setQuantization(std::optional<QuantizationConfig> config) {
    quantization = config;
  }

  bool has(const Twine &name) const {
    return folder.findTensor(name.str()).has_value();
  }
  /// Fails when the tensor is missing, or of another shape, or its elements are
  /// no F32, F16 or BF16.
  llvm::Error readWeight(const Twine &name, const Twine &symbol,
                         ArrayRef<int64_t> shape, importer::Weight &result);
  /// A weight [outputs, inputs], plain or quantized, and a bias when there must
  /// be one.
  llvm::Error readLinear(const Twine &name, const Twine &symbol,
                         int64_t outputs, int64_t inputs, bool hasBias,
                         importer::Linear &result);
  /// A tensor of this name, if there is one, is known to change nothing.
  void ignore(const Twine &name) { used.insert(name.str()); }
  /// The same for all whose names begin so.
  void ignoreBelow(const Twine &prefix);

  /// A tensor that the model leaves out would silently change its answers.
  llvm::Error refuseUnused(StringRef modelType) const;

private:
  llvm::Error refuse(const PlacedTensor &tensor, const Twine &message) const;
  llvm::Expected<PlacedTensor>
  findPart(const Twine &name, ArrayRef<int64_t> shape, ArrayRef<Dtype> dtypes);
  llvm::Error readPacked(const std::string &name, const Twine &symbol,
                         int64_t outputs, int64_t inputs,
                         importer::Weight &result);
  llvm::Error checkOrder(const std::string &name, int64_t inputs,
                         int64_t group);
  void ignoreZeroBias(const Twine &name);

  const ModelFolder &folder;
  std::optional<QuantizationConfig> quantization;
  llvm::StringSet<> used;
};

} // namespace llmc::huggingface

#endif // LLMC_COMPILER_IMPORT_HUGGINGFACE_TENSORREADER_H
