// SPDX-License-Identifier: Apache-2.0
//
// Sizes, numbers and weights of a GGUF file, each checked against what the
// model needs.

#include "compiler/Import/GGUF/GgufModelReader.h"

#include "llvm/Support/Path.h"

#include <cmath>

namespace llmc::gguf {

//===----------------------------------------------------------------------===//
// Metadata
//===----------------------------------------------------------------------===//

llvm::Error GgufModelReader::readSize(const Twine &name, int64_t &result,
                                      std::optional<int64_t> absent,
                                      uint64_t most) {
  std::string fullKey = key(name);
  if (absent && !file.has(fullKey)) {
    result = *absent;
    return llvm::Error::success();
  }
  llvm::Expected<uint64_t> size = file.getUnsigned(fullKey);
  if (!size)
    return size.takeError();
  if (*size < 1 || *size > most)
    return fail("metadata '" + fullKey + "' is " + Twine(*size) +
                ", allowed are 1 to " + Twine(most));
  result = static_cast<int64_t>(*size);
  return llvm::Error::success();
}

/// Reads a positive, finite number.
llvm::Error GgufModelReader::readReal(const Twine &name, float &result,
                                      std::optional<float> absent) {
  std::string fullKey = key(name);
  if (absent && !file.has(fullKey)) {
    result = *absent;
    return llvm::Error::success();
  }
  llvm::Expected<double> number = file.getFloat(fullKey);
  if (!number)
    return number.takeError();
  result = static_cast<float>(*number);
  if (!(result > 0) || !std::isfinite(result))
    return fail("metadata '" + fullKey + "' is " + std::to_string(*number) +
                ", allowed are positive finite numbers");
  return llvm::Error::success();
}

llvm::Error GgufModelReader::readSource(importer::ModelSource &source,
                                        bool mayHaveExperts) {
  llvm::Expected<StringRef> architecture =
      file.getString("general.architecture");
  if (!architecture)
    return architecture.takeError();
  source.files = file.paths();
  source.architecture = architectureName = architecture->str();
  llvm::Expected<std::optional<StringRef>> title =
      file.findString("general.name");
  if (!title)
    return title.takeError();
  source.name = title->value_or(llvm::sys::path::stem(file.path())).str();
  return mayHaveExperts ? llvm::Error::success() : refuseExperts();
}

/// The same architecture names also stand for mixtures of experts.
llvm::Error GgufModelReader::refuseExperts() {
  auto count = file.findUnsigned(key("expert_count"));
  if (!count)
    return count.takeError();
  if (count->value_or(0) > 0)
    return fail("metadata '" + key("expert_count") + "' is " + Twine(**count) +
                ", allowed is 0: of mixtures of experts qwen3moe is supported");
  return llvm::Error::success();
}

llvm::Error GgufModelReader::readPooling(importer::PoolingOption &result) {
  if (options.pooling) {
    result = *options.pooling;
    return llvm::Error::success();
  }
  constexpr std::optional<graph::Pooling> kByType[] = {
      std::nullopt, graph::Pooling::Mean, graph::Pooling::First,
      graph::Pooling::Last};
  auto type = file.findUnsigned(key("pooling_type"));
  if (!type)
    return type.takeError();
  uint64_t number = type->value_or(0);
  if (number >= std::size(kByType))
    return fail("metadata '" + key("pooling_type") + "' is " + Twine(number) +
                ", supported are 0 (none), 1 (mean), 2 (first token), 3 (last "
                "token)");
  result = {kByType[number], /*isNormalized=*/false};
  return llvm::Error::success();
}

llvm::Error GgufModelReader::readContextLength(int64_t longest,
                                               int64_t &result) {
  int64_t most;
  if (llvm::Error error = readSize("context_length", most))
    return error;
  auto length = options.chooseContextLength(
      file.path(), "metadata '" + key("context_length") + "'", most, longest);
  if (!length)
    return length.takeError();
  result = *length;
  return llvm::Error::success();
}

//===----------------------------------------------------------------------===//
// Tensors
//===----------------------------------------------------------------------===//

/// "[2048, 256]", outermost dimension first.
static std::string shapeText(ArrayRef<int64_t> shape) {
  std::string text;
  for (int64_t size : shape)
    text += (text.empty() ? "[" : ", ") + std::to_string(size);
  return text + "]";
}

llvm::Error GgufModelReader::readWeight(const Twine &name,
                                        ArrayRef<int64_t> shape,
                                        importer::Weight &result) {
  std::string fullName = name.str();
  const Tensor *tensor = file.findTensor(fullName);
  if (!tensor)
    return fail("tensor '" + fullName + "' is missing; architecture " +
                architectureName + " needs it with shape " + shapeText(shape));
  if (ArrayRef<int64_t>(tensor->shape) != shape)
    return fail("tensor '" + fullName + "' has shape " +
                shapeText(tensor->shape) + ", the metadata allow " +
                shapeText(shape) + " (outermost dimension first)");
  used.insert(fullName);
  result = {fullName, SmallVector<int64_t, 2>(shape), tensor->encoding,
            tensor->offset, tensor->file};
  return llvm::Error::success();
}

llvm::Error
GgufModelReader::readOptional(const Twine &name, ArrayRef<int64_t> shape,
                              std::optional<importer::Weight> &result) {
  if (!file.findTensor(name.str()))
    return llvm::Error::success();
  return readWeight(name, shape, result.emplace());
}

llvm::Error
GgufModelReader::readVector(const Twine &name, int64_t size,
                            std::optional<importer::Weight> &result) {
  return readOptional(name, {size}, result);
}

llvm::Error GgufModelReader::readLinear(const Twine &name, int64_t outputs,
                                        int64_t inputs, Bias bias,
                                        importer::Linear &result) {
  if (llvm::Error error =
          readWeight(name + ".weight", {outputs, inputs}, result.weight))
    return error;
  switch (bias) {
  case Bias::None:
    return llvm::Error::success();
  case Bias::Optional:
    return readVector(name + ".bias", outputs, result.bias);
  case Bias::Required:
    return readWeight(name + ".bias", {outputs}, result.bias.emplace());
  }
  return llvm::Error::success();
}

/// The vocabulary's size is the embedding's number of rows; what else states it
/// must agree.
llvm::Error GgufModelReader::readVocabularySize(int64_t &result) {
  const Tensor *embedding = file.findTensor("token_embd.weight");
  if (!embedding)
    return fail("tensor 'token_embd.weight' is missing");
  std::string found =
      "tensor 'token_embd.weight' has shape " + shapeText(embedding->shape);
  if (embedding->shape.size() != 2)
    return fail(found + ", allowed is [vocabulary, embedding length]");
  result = embedding->shape[0];
  int64_t stated;
  if (llvm::Error error = readSize("vocab_size", stated, result))
    return error;
  if (stated != result)
    return fail("metadata '" + key("vocab_size") + "' is " + Twine(stated) +
                ", but " + found);
  const Value *tokens = file.findValue("tokenizer.ggml.tokens");
  if (tokens && tokens->count != static_cast<uint64_t>(result))
    return fail("metadata 'tokenizer.ggml.tokens' has " + Twine(tokens->count) +
                " tokens, but " + found);
  return llvm::Error::success();
}

/// A tensor that the model leaves out would silently change its answers.
llvm::Error GgufModelReader::refuseUnusedTensors() {
  for (const Tensor &tensor : file.tensors())
    if (!used.contains(tensor.name))
      return fail("tensor '" + tensor.name + "' is not used by architecture " +
                  architectureName + ", allowed are only tensors that are");
  return llvm::Error::success();
}

} // namespace llmc::gguf
