// SPDX-License-Identifier: Apache-2.0
//
// Look-ups in a GGUF file that has been read.

#include "compiler/Import/GGUF/GgufReader.h"

#include "llvm/Support/Endian.h"

namespace llmc::gguf {

namespace {

template <typename T>
T readElement(const Value &value, uint64_t index) {
  return llvm::support::endian::read<T, llvm::endianness::little>(
      value.bytes.data() + index * sizeof(T));
}

/// An element of any integer type; none for other types and when it does not
/// fit into int64.
std::optional<int64_t> integerAt(const Value &value, uint64_t index) {
  switch (value.elementType) {
  case ValueType::UInt8:
    return readElement<uint8_t>(value, index);
  case ValueType::Int8:
    return readElement<int8_t>(value, index);
  case ValueType::UInt16:
    return readElement<uint16_t>(value, index);
  case ValueType::Int16:
    return readElement<int16_t>(value, index);
  case ValueType::UInt32:
    return readElement<uint32_t>(value, index);
  case ValueType::Int32:
    return readElement<int32_t>(value, index);
  case ValueType::UInt64: {
    auto number = readElement<uint64_t>(value, index);
    if (number > uint64_t(INT64_MAX))
      return std::nullopt;
    return static_cast<int64_t>(number);
  }
  case ValueType::Int64:
    return readElement<int64_t>(value, index);
  default:
    return std::nullopt;
  }
}

/// "ARRAY of STRING" for arrays.
std::string describeType(const Value &value) {
  std::string text = valueTypeName(value.type).str();
  if (value.type == ValueType::Array)
    text += " of " + valueTypeName(value.elementType).str();
  return text;
}

llvm::Error missing(const GgufFile &file, StringRef key) {
  return llvm::createStringError(file.path() + ": metadata '" + key +
                                 "' is missing");
}

llvm::Error wrongType(const GgufFile &file, StringRef key, const Value &value,
                      StringRef allowed) {
  return llvm::createStringError(file.path() + ": metadata '" + key +
                                 "' has type " + describeType(value) +
                                 ", allowed is " + allowed);
}

/// Turns "absent" into none and everything else into `get`'s answer.
template <typename T>
llvm::Expected<std::optional<T>>
findWith(const GgufFile &file, StringRef key,
         llvm::Expected<T> (GgufFile::*get)(StringRef) const) {
  if (!file.has(key))
    return std::optional<T>();
  llvm::Expected<T> found = (file.*get)(key);
  if (!found)
    return found.takeError();
  return std::optional<T>(*found);
}

} // namespace

const Tensor *GgufFile::findTensor(StringRef tensorName) const {
  auto found = tensorIndex.find(tensorName);
  return found == tensorIndex.end() ? nullptr : &tensorList[found->second];
}

ArrayRef<uint8_t> GgufFile::tensorBytes(const Tensor &tensor) const {
  const llvm::MemoryBuffer &file =
      tensor.file == 0 ? *buffer : *parts[tensor.file - 1]->buffer;
  return ArrayRef(reinterpret_cast<const uint8_t *>(file.getBufferStart()),
                  file.getBufferSize())
      .slice(tensor.offset, tensor.sizeInBytes);
}

const Value *GgufFile::findValue(StringRef key) const {
  auto found = metadata.find(key);
  return found == metadata.end() ? nullptr : &found->second;
}

llvm::Expected<StringRef> GgufFile::getString(StringRef key) const {
  const Value *value = findValue(key);
  if (!value)
    return missing(*this, key);
  if (value->type != ValueType::String)
    return wrongType(*this, key, *value, "STRING");
  return value->strings.front();
}

llvm::Expected<uint64_t> GgufFile::getUnsigned(StringRef key) const {
  const Value *value = findValue(key);
  if (!value)
    return missing(*this, key);
  if (value->type == ValueType::UInt64)
    return readElement<uint64_t>(*value, 0);
  if (value->type != ValueType::Array)
    if (std::optional<int64_t> number = integerAt(*value, 0)) {
      if (*number >= 0)
        return static_cast<uint64_t>(*number);
      return llvm::createStringError(name + ": metadata '" + key + "' is " +
                                     Twine(*number) +
                                     ", allowed are 0 and more");
    }
  return wrongType(*this, key, *value, "an integer type");
}

llvm::Expected<double> GgufFile::getFloat(StringRef key) const {
  const Value *value = findValue(key);
  if (!value)
    return missing(*this, key);
  if (value->type == ValueType::Float32)
    return readElement<float>(*value, 0);
  if (value->type == ValueType::Float64)
    return readElement<double>(*value, 0);
  return wrongType(*this, key, *value, "FLOAT32 or FLOAT64");
}

llvm::Expected<bool> GgufFile::getBool(StringRef key) const {
  const Value *value = findValue(key);
  if (!value)
    return missing(*this, key);
  if (value->type != ValueType::Bool)
    return wrongType(*this, key, *value, "BOOL");
  return value->bytes[0] != 0;
}

llvm::Expected<ArrayRef<StringRef>> GgufFile::getStrings(StringRef key) const {
  const Value *value = findValue(key);
  if (!value)
    return missing(*this, key);
  if (value->type != ValueType::Array ||
      (value->elementType != ValueType::String))
    return wrongType(*this, key, *value, "ARRAY of STRING");
  return ArrayRef<StringRef>(value->strings);
}

llvm::Expected<std::vector<int64_t>>
GgufFile::getIntegers(StringRef key) const {
  const Value *value = findValue(key);
  if (!value)
    return missing(*this, key);
  std::vector<int64_t> numbers;
  for (uint64_t i = 0; value->type == ValueType::Array && i < value->count; ++i)
    if (std::optional<int64_t> number = integerAt(*value, i))
      numbers.push_back(*number);
  if (value->type != ValueType::Array || numbers.size() != value->count)
    return wrongType(*this, key, *value, "ARRAY of an integer type");
  return numbers;
}

llvm::Expected<std::vector<float>> GgufFile::getFloats(StringRef key) const {
  const Value *value = findValue(key);
  if (!value)
    return missing(*this, key);
  if (value->type != ValueType::Array ||
      value->elementType != ValueType::Float32)
    return wrongType(*this, key, *value, "ARRAY of FLOAT32");
  std::vector<float> numbers;
  for (uint64_t i = 0; i < value->count; ++i)
    numbers.push_back(readElement<float>(*value, i));
  return numbers;
}

llvm::Expected<std::optional<StringRef>>
GgufFile::findString(StringRef key) const {
  return findWith(*this, key, &GgufFile::getString);
}

llvm::Expected<std::optional<uint64_t>>
GgufFile::findUnsigned(StringRef key) const {
  return findWith(*this, key, &GgufFile::getUnsigned);
}

llvm::Expected<std::optional<double>> GgufFile::findFloat(StringRef key) const {
  return findWith(*this, key, &GgufFile::getFloat);
}

llvm::Expected<std::optional<bool>> GgufFile::findBool(StringRef key) const {
  return findWith(*this, key, &GgufFile::getBool);
}

} // namespace llmc::gguf
