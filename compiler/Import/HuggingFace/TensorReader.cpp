// SPDX-License-Identifier: Apache-2.0
//
// Every tensor is checked where a model asks for it, so that messages say what
// it needs.

#include "compiler/Import/HuggingFace/TensorReader.h"

#include "compiler/Import/HuggingFace/Json.h"

namespace llmc::huggingface {

namespace {

/// "[2048, 256]", outermost dimension first.
std::string shapeText(ArrayRef<int64_t> shape) {
  std::string text;
  for (int64_t size : shape)
    text += (text.empty() ? "[" : ", ") + std::to_string(size);
  return text.empty() ? "[]" : text + "]";
}

} // namespace

llvm::Error TensorReader::readWeight(const Twine &name, const Twine &symbol,
                                     ArrayRef<int64_t> shape,
                                     importer::Weight &result) {
  std::string fullName = name.str();
  std::optional<PlacedTensor> found = folder.findTensor(fullName);
  if (!found)
    return llvm::createStringError(folder.path() + ": tensor '" + fullName +
                                   "' is missing; config.json asks for it with "
                                   "shape " +
                                   shapeText(shape));
  const Tensor &tensor = *found->tensor;
  std::string which =
      folder.filePaths()[found->file] + ": tensor '" + fullName + "'";
  if (ArrayRef<int64_t>(tensor.shape) != shape)
    return llvm::createStringError(which + " has shape " +
                                   shapeText(tensor.shape) +
                                   ", config.json allows " + shapeText(shape));
  std::optional<graph::Encoding> encoding = encodingOf(tensor.dtype);
  if (!encoding)
    return llvm::createStringError(which + " has dtype " +
                                   dtypeName(tensor.dtype) +
                                   ", allowed are F32, F16, BF16");
  used.insert(fullName);
  result = {symbol.str(), SmallVector<int64_t, 2>(shape), *encoding,
            tensor.offset, found->file};
  return llvm::Error::success();
}

llvm::Error TensorReader::readLinear(const Twine &name, const Twine &symbol,
                                     int64_t outputs, int64_t inputs,
                                     bool hasBias, importer::Linear &result) {
  if (llvm::Error error = readWeight(name + ".weight", symbol + ".weight",
                                     {outputs, inputs}, result.weight))
    return error;
  if (!hasBias)
    return llvm::Error::success();
  return readWeight(name + ".bias", symbol + ".bias", {outputs},
                    result.bias.emplace());
}

llvm::Error TensorReader::refuseUnused(StringRef modelType) const {
  for (StringRef name : folder.tensorNames())
    if (!used.contains(name))
      return llvm::createStringError(folder.path() + ": tensor " +
                                     inQuotes(name) +
                                     " is not used by model type " + modelType +
                                     ", allowed are only tensors that are");
  return llvm::Error::success();
}

} // namespace llmc::huggingface
