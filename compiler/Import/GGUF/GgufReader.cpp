// SPDX-License-Identifier: Apache-2.0
//
// Parsing of a GGUF file's header. The layout, all little-endian:
//   "GGUF", u32 version, u64 number of tensors, u64 number of metadata pairs,
//   the pairs (string key, u32 value type, value), the tensors (string name,
//   u32 number of dimensions, u64 each, u32 type, u64 offset), padding to the
//   alignment, the tensors' bytes at their offsets. A string is u64 length and
//   bytes; an array is u32 element type, u64 count, elements.

#include "compiler/Import/GGUF/GgufReader.h"

#include "compiler/Import/Quoted.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Endian.h"
#include "llvm/Support/raw_ostream.h"

namespace llmc::gguf {

using importer::quoted;

namespace {

constexpr StringRef kDownloadAgain =
    "the file is truncated or damaged; download it again";
constexpr uint64_t kDefaultAlignment = 32;
constexpr uint64_t kMaxAlignment = 65536;
constexpr uint32_t kMaxDimensions = 4;

/// The fewest bytes that a metadata pair and a tensor's entry take.
constexpr uint64_t kLeastPairBytes = 8 + 4 + 1;
constexpr uint64_t kLeastTensorBytes = 8 + 4 + 8 + 4 + 8;

/// Bytes of a scalar value; 0 for strings and arrays.
uint64_t scalarBytes(ValueType type) {
  switch (type) {
  case ValueType::UInt8:
  case ValueType::Int8:
  case ValueType::Bool:
    return 1;
  case ValueType::UInt16:
  case ValueType::Int16:
    return 2;
  case ValueType::UInt32:
  case ValueType::Int32:
  case ValueType::Float32:
    return 4;
  case ValueType::UInt64:
  case ValueType::Int64:
  case ValueType::Float64:
    return 8;
  case ValueType::String:
  case ValueType::Array:
    return 0;
  }
  return 0;
}

} // namespace

StringRef valueTypeName(ValueType type) {
  static constexpr const char *kNames[] = {
      "UINT8", "INT8",   "UINT16", "INT16",  "UINT32", "INT32",  "FLOAT32",
      "BOOL",  "STRING", "ARRAY",  "UINT64", "INT64",  "FLOAT64"};
  auto index = static_cast<size_t>(type);
  return index < std::size(kNames) ? kNames[index] : "unknown";
}

/// Reads the header from front to back; every method leaves the position after
/// what it read, or fails.
class GgufParser {
public:
  GgufParser(GgufFile &file)
      : file(file),
        bytes(reinterpret_cast<const uint8_t *>(file.buffer->getBufferStart()),
              file.buffer->getBufferSize()) {}

  llvm::Error parse();

private:
  llvm::Error fail(const Twine &message) const {
    return llvm::createStringError(file.name + ": " + message);
  }
  uint64_t bytesLeft() const { return bytes.size() - position; }
  llvm::Error need(uint64_t numBytes, const Twine &field) const;
  template <typename T>
  llvm::Error readNumber(T &result, const Twine &field);
  llvm::Error readString(StringRef &result, const Twine &field);
  llvm::Error readType(ValueType &result, const Twine &field);
  llvm::Error readElements(Value &value, const Twine &field);

  llvm::Error parseMagic();
  llvm::Error parseVersion();
  llvm::Error parseCounts();
  llvm::Error parsePair();
  llvm::Error parseAlignment();
  llvm::Error parseTensor();
  llvm::Error parseShape(Tensor &tensor, const Twine &field);
  llvm::Error parseEncoding(Tensor &tensor, const Twine &field);
  llvm::Error placeTensors();

  GgufFile &file;
  ArrayRef<uint8_t> bytes;
  uint64_t position = 0;
  uint64_t numTensors = 0, numPairs = 0;
  uint64_t alignment = kDefaultAlignment;
};

//===----------------------------------------------------------------------===//
// Pieces
//===----------------------------------------------------------------------===//

llvm::Error GgufParser::need(uint64_t numBytes, const Twine &field) const {
  if (numBytes <= bytesLeft())
    return llvm::Error::success();
  return fail(field + " needs " + Twine(numBytes) + " bytes at offset " +
              Twine(position) + ", but only " + Twine(bytesLeft()) +
              " are left: " + kDownloadAgain);
}

template <typename T>
llvm::Error GgufParser::readNumber(T &result, const Twine &field) {
  if (llvm::Error error = need(sizeof(T), field))
    return error;
  result = llvm::support::endian::read<T, llvm::endianness::little>(
      bytes.data() + position);
  position += sizeof(T);
  return llvm::Error::success();
}

llvm::Error GgufParser::readString(StringRef &result, const Twine &field) {
  uint64_t length;
  if (llvm::Error error = readNumber(length, "the length of " + field))
    return error;
  if (llvm::Error error = need(length, field))
    return error;
  result = StringRef(reinterpret_cast<const char *>(bytes.data()) + position,
                     length);
  position += length;
  return llvm::Error::success();
}

llvm::Error GgufParser::readType(ValueType &result, const Twine &field) {
  uint32_t number;
  if (llvm::Error error = readNumber(number, field))
    return error;
  if (number > static_cast<uint32_t>(ValueType::Float64))
    return fail(field + " is " + Twine(number) + ", allowed are 0 to 12");
  result = static_cast<ValueType>(number);
  return llvm::Error::success();
}

/// Reads `value.count` elements of `value.elementType`.
llvm::Error GgufParser::readElements(Value &value, const Twine &field) {
  bool isString = value.elementType == ValueType::String;
  uint64_t elementBytes = isString ? sizeof(uint64_t) // a string's length
                                   : scalarBytes(value.elementType);
  if (value.count > bytesLeft() / elementBytes)
    return fail(field + " has " + Twine(value.count) +
                " elements of at least " + Twine(elementBytes) +
                " bytes, but only " + Twine(bytesLeft()) +
                " bytes are left: " + kDownloadAgain);
  if (isString) {
    value.strings.resize(value.count);
    for (StringRef &text : value.strings)
      if (llvm::Error error = readString(text, field))
        return error;
    return llvm::Error::success();
  }
  value.bytes = bytes.slice(position, value.count * elementBytes);
  position += value.bytes.size();
  if (value.elementType == ValueType::Bool)
    for (uint8_t byte : value.bytes)
      if (byte > 1)
        return fail(field + " holds the boolean " + Twine(unsigned(byte)) +
                    ", allowed are 0 and 1");
  return llvm::Error::success();
}

//===----------------------------------------------------------------------===//
// The header
//===----------------------------------------------------------------------===//

llvm::Error GgufParser::parseMagic() {
  if (llvm::Error error = need(4, "the magic"))
    return error;
  StringRef magic(reinterpret_cast<const char *>(bytes.data()), 4);
  position += 4;
  if (magic == "GGUF")
    return llvm::Error::success();
  // Older formats wrote their names as little-endian numbers.
  for (StringRef old : {"GGML", "lmgg", "fmgg", "tjgg", "algg"})
    if (magic == old)
      return fail("the magic is " + quoted(magic) +
                  ", a format older than GGUF; convert the model to GGUF "
                  "version 3");
  return fail("the magic is " + quoted(magic) +
              ", allowed is 'GGUF': this is no GGUF file");
}

llvm::Error GgufParser::parseVersion() {
  uint32_t version;
  if (llvm::Error error = readNumber(version, "the version"))
    return error;
  uint32_t swapped = llvm::byteswap(version);
  if (swapped >= 1 && swapped <= 0xffff && version > 0xffff)
    return fail("the version is " + Twine(swapped) +
                " in big-endian byte order; only little-endian files are "
                "supported: download or convert the little-endian file");
  if (version != 2 && version != 3)
    return fail("the version is " + Twine(version) +
                ", allowed are 2 and 3; convert the model to GGUF version 3");
  file.formatVersion = version;
  return llvm::Error::success();
}

llvm::Error GgufParser::parseCounts() {
  if (llvm::Error error = readNumber(numTensors, "the number of tensors"))
    return error;
  if (llvm::Error error = readNumber(numPairs, "the number of metadata pairs"))
    return error;
  auto check = [&](uint64_t count, uint64_t leastBytes,
                   StringRef what) -> llvm::Error {
    if (count <= bytesLeft() / leastBytes)
      return llvm::Error::success();
    return fail("the number of " + what + " is " + Twine(count) + ", but the " +
                Twine(bytesLeft()) + " bytes left have room for " +
                Twine(bytesLeft() / leastBytes) + ": " + kDownloadAgain);
  };
  if (llvm::Error error = check(numTensors, kLeastTensorBytes, "tensors"))
    return error;
  return check(numPairs, kLeastPairBytes, "metadata pairs");
}

llvm::Error GgufParser::parsePair() {
  StringRef key;
  if (llvm::Error error = readString(key, "a metadata key"))
    return error;
  std::string field = "metadata " + quoted(key);
  Value value;
  if (llvm::Error error = readType(value.type, field + ": the value's type"))
    return error;
  value.elementType = value.type;
  if (value.type == ValueType::Array) {
    if (llvm::Error error =
            readType(value.elementType, field + ": the elements' type"))
      return error;
    if (value.elementType == ValueType::Array)
      return fail(field + " is an array of arrays, which is not supported");
    if (llvm::Error error =
            readNumber(value.count, field + ": the number of elements"))
      return error;
  }
  if (llvm::Error error = readElements(value, field))
    return error;
  if (!file.metadata.try_emplace(key, std::move(value)).second)
    return fail(field + " occurs twice, allowed is once");
  return llvm::Error::success();
}

llvm::Error GgufParser::parseAlignment() {
  const Value *value = file.findValue("general.alignment");
  if (!value)
    return llvm::Error::success();
  if (value->type != ValueType::UInt32)
    return fail("metadata 'general.alignment' has type " +
                valueTypeName(value->type) + ", allowed is UINT32");
  alignment = llvm::support::endian::read32le(value->bytes.data());
  if (!llvm::isPowerOf2_64(alignment) || alignment > kMaxAlignment)
    return fail("metadata 'general.alignment' is " + Twine(alignment) +
                ", allowed are powers of two up to " + Twine(kMaxAlignment));
  return llvm::Error::success();
}

llvm::Error GgufParser::parseShape(Tensor &tensor, const Twine &field) {
  uint32_t numDimensions;
  if (llvm::Error error =
          readNumber(numDimensions, field + ": the number of dimensions"))
    return error;
  if (numDimensions < 1 || numDimensions > kMaxDimensions)
    return fail(field + ": the number of dimensions is " +
                Twine(numDimensions) + ", allowed are 1 to " +
                Twine(kMaxDimensions));
  uint64_t numElements = 1;
  for (uint32_t i = 0; i < numDimensions; ++i) {
    uint64_t size;
    if (llvm::Error error = readNumber(size, field + ": dimension " + Twine(i)))
      return error;
    if (size == 0 || size > uint64_t(INT64_MAX) / numElements)
      return fail(field + ": dimension " + Twine(i) + " is " + Twine(size) +
                  ", allowed are 1 and more with at most 2^63 - 1 elements in "
                  "all");
    numElements *= size;
    tensor.shape.insert(tensor.shape.begin(), static_cast<int64_t>(size));
  }
  return llvm::Error::success();
}

/// Reads the type and derives the size in bytes.
llvm::Error GgufParser::parseEncoding(Tensor &tensor, const Twine &field) {
  uint32_t type;
  if (llvm::Error error = readNumber(type, field + ": the type"))
    return error;
  std::optional<graph::Encoding> encoding = graph::encodingOfGgmlType(type);
  if (!encoding)
    return fail(field + " has type " + Twine(type) + " (" +
                graph::ggmlTypeName(type) + "), supported are " +
                graph::supportedEncodingNames());
  tensor.encoding = *encoding;
  const graph::EncodingFacts &facts = graph::encodingFacts(*encoding);
  if (tensor.shape.back() % facts.blockElements != 0)
    return fail(field + ": dimension 0 is " + Twine(tensor.shape.back()) +
                ", allowed for type " + facts.name + " are multiples of " +
                Twine(facts.blockElements));
  int64_t numElements = 1;
  for (int64_t size : tensor.shape)
    numElements *= size;
  std::optional<int64_t> size =
      graph::encodedSizeInBytes(*encoding, numElements);
  if (!size)
    return fail(field + " has " + Twine(numElements) +
                " elements, which is more than 2^63 - 1 bytes");
  tensor.sizeInBytes = *size;
  return llvm::Error::success();
}

llvm::Error GgufParser::parseTensor() {
  Tensor tensor;
  if (llvm::Error error = readString(tensor.name, "a tensor's name"))
    return error;
  std::string field = "tensor " + quoted(tensor.name);
  if (llvm::Error error = parseShape(tensor, field))
    return error;
  if (llvm::Error error = parseEncoding(tensor, field))
    return error;
  uint64_t offset;
  if (llvm::Error error = readNumber(offset, field + ": the offset"))
    return error;
  if (offset % alignment != 0)
    return fail(field + ": the offset is " + Twine(offset) +
                ", allowed are multiples of the alignment " + Twine(alignment));
  if (offset > uint64_t(INT64_MAX))
    return fail(field + ": the offset is " + Twine(offset) +
                ", beyond the file's " + Twine(bytes.size()) +
                " bytes: " + kDownloadAgain);
  tensor.offset = static_cast<int64_t>(offset);
  size_t index = file.tensorList.size();
  if (!file.tensorIndex.try_emplace(tensor.name, index).second)
    return fail(field + " occurs twice, allowed is once");
  file.tensorList.push_back(std::move(tensor));
  return llvm::Error::success();
}

/// Makes offsets count from the file's start and checks that the bytes exist.
llvm::Error GgufParser::placeTensors() {
  uint64_t dataStart = llvm::alignTo(position, alignment);
  uint64_t dataBytes = bytes.size() - std::min(dataStart, bytes.size());
  for (Tensor &tensor : file.tensorList) {
    auto offset = static_cast<uint64_t>(tensor.offset);
    auto size = static_cast<uint64_t>(tensor.sizeInBytes);
    if (offset > dataBytes || size > dataBytes - offset)
      return fail("tensor " + quoted(tensor.name) + " has " + Twine(size) +
                  " bytes at offset " + Twine(offset) +
                  " of the file's data, which ends after " + Twine(dataBytes) +
                  ": " + kDownloadAgain);
    tensor.offset = static_cast<int64_t>(dataStart + offset);
  }
  return llvm::Error::success();
}

llvm::Error GgufParser::parse() {
  if (llvm::Error error = parseMagic())
    return error;
  if (llvm::Error error = parseVersion())
    return error;
  if (llvm::Error error = parseCounts())
    return error;
  for (uint64_t i = 0; i < numPairs; ++i)
    if (llvm::Error error = parsePair())
      return error;
  if (llvm::Error error = parseAlignment())
    return error;
  for (uint64_t i = 0; i < numTensors; ++i)
    if (llvm::Error error = parseTensor())
      return error;
  return placeTensors();
}

llvm::Expected<std::unique_ptr<GgufFile>> GgufFile::open(StringRef path) {
  auto file = openOne(path);
  if (!file)
    return file.takeError();
  if (llvm::Error error = (*file)->openParts())
    return std::move(error);
  return file;
}

llvm::Expected<std::unique_ptr<GgufFile>> GgufFile::openOne(StringRef path) {
  auto buffer = llvm::MemoryBuffer::getFile(path, /*IsText=*/false,
                                            /*RequiresNullTerminator=*/false);
  if (!buffer)
    return llvm::createStringError(
        path + ": can't be read: " + buffer.getError().message());
  return parse(std::move(*buffer), path);
}

llvm::Expected<std::unique_ptr<GgufFile>>
GgufFile::parse(std::unique_ptr<llvm::MemoryBuffer> bytes, StringRef name) {
  std::unique_ptr<GgufFile> file(new GgufFile());
  file->buffer = std::move(bytes);
  file->name = name.str();
  if (llvm::Error error = GgufParser(*file).parse())
    return error;
  return file;
}

} // namespace llmc::gguf
