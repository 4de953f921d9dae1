// SPDX-License-Identifier: Apache-2.0
//
// Parsing of ModelProto and what it holds. The field numbers are facts of
// onnx.proto (IR versions 3 to 11).

#include "compiler/Import/ONNX/OnnxReader.h"

#include "compiler/Import/Quoted.h"

#include "compiler/Import/ONNX/ExternalData.h"
#include "compiler/Import/ONNX/WireReader.h"

#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Endian.h"
#include "llvm/Support/raw_ostream.h"

#include <limits>

namespace llmc::onnx {

using importer::quoted;

namespace {

/// More fields, nodes, tensors and attributes than any model has; they keep
/// the memory that a hostile file takes in proportion.
constexpr size_t kMaxFields = size_t{1} << 22;
constexpr size_t kMaxNodes = size_t{1} << 18;
constexpr size_t kMaxAttributes = 64;
constexpr size_t kMaxRank = 16;
/// Of tensors whose elements are written as varints: those are decoded into
/// memory.
constexpr size_t kMaxDecodedElements = size_t{1} << 20;

/// Elements of a shape; none when a dimension is negative or the product is
/// beyond int64.
std::optional<int64_t> countElements(ArrayRef<int64_t> shape) {
  int64_t count = 1;
  for (int64_t size : shape)
    if (size < 0 || __builtin_mul_overflow(count, size, &count))
      return std::nullopt;
  return count;
}

/// Bytes of a tensor's elements, two 4-bit ones in a byte.
std::optional<int64_t> sizeInBytes(const Tensor &tensor) {
  int64_t bits;
  if (__builtin_mul_overflow(tensor.numElements(),
                             int64_t{dataTypeBits(tensor.type)}, &bits) ||
      bits > std::numeric_limits<int64_t>::max() - 7)
    return std::nullopt;
  return (bits + 7) / 8;
}

} // namespace

int64_t Tensor::numElements() const { return *countElements(shape); }

//===----------------------------------------------------------------------===//
// Parser
//===----------------------------------------------------------------------===//

/// What a TensorProto says before its bytes are located.
struct RawTensor {
  Tensor tensor;
  std::optional<ArrayRef<uint8_t>> raw; // raw_data, or packed numbers
  std::vector<int64_t> integers;        // of int32_data and the like
  bool hasIntegers = false, isExternal = false;
  StringRef location;
  std::optional<uint64_t> offset, length;
};

class OnnxParser {
public:
  OnnxParser(OnnxFile &file, bool isOnDisk) : file(file), isOnDisk(isOnDisk) {}

  llvm::Error parse();

private:
  using Visit = llvm::function_ref<llvm::Error(const Field &)>;

  llvm::Error fail(const Twine &message) const {
    return llvm::createStringError(file.filePaths.front() + ": " + message);
  }
  llvm::Error forEachField(ArrayRef<uint8_t> message, const Twine &what,
                           Visit visit);

  llvm::Error parseGraph(ArrayRef<uint8_t> message);
  llvm::Error parseOpset(ArrayRef<uint8_t> message);
  llvm::Error parseNode(ArrayRef<uint8_t> message);
  llvm::Error parseAttribute(ArrayRef<uint8_t> message, Node &node);
  llvm::Error parseValueInfo(ArrayRef<uint8_t> message,
                             std::vector<ValueInfo> &list);
  llvm::Error parseTensorType(ArrayRef<uint8_t> message, ValueInfo &info);
  llvm::Error parseInitializer(ArrayRef<uint8_t> message);
  llvm::Error parseTensor(ArrayRef<uint8_t> message, Tensor &result);
  llvm::Error readTensorFields(ArrayRef<uint8_t> message, RawTensor &raw);
  llvm::Error parseExternalEntry(ArrayRef<uint8_t> message, RawTensor &raw);
  llvm::Error placeTensor(RawTensor &raw);
  llvm::Error placeExternal(RawTensor &raw, int64_t size);
  llvm::Error placeDecoded(RawTensor &raw, int64_t size);
  llvm::Expected<int> openExternal(StringRef location);
  llvm::Error checkNames();

  OnnxFile &file;
  bool isOnDisk;
  size_t numFields = 0;
  llvm::StringMap<int> externalFiles; // by location
};

llvm::Error OnnxParser::forEachField(ArrayRef<uint8_t> message,
                                     const Twine &what, Visit visit) {
  WireReader reader(message, file.filePaths.front() + ": " + what.str());
  while (!reader.atEnd()) {
    if (++numFields > kMaxFields)
      return fail("has more than " + Twine(kMaxFields) +
                  " fields, which no model needs");
    llvm::Expected<Field> field = reader.next();
    if (!field)
      return field.takeError();
    if (llvm::Error error = visit(*field))
      return error;
  }
  return llvm::Error::success();
}

llvm::Error OnnxParser::parse() {
  const llvm::MemoryBuffer &buffer = *file.buffers.front();
  ArrayRef<uint8_t> bytes(
      reinterpret_cast<const uint8_t *>(buffer.getBufferStart()),
      buffer.getBufferSize());
  std::optional<ArrayRef<uint8_t>> graph;
  llvm::Error error =
      forEachField(bytes, "the model", [&](const Field &field) -> llvm::Error {
        if (field.number == 7 && field.type == WireType::Bytes)
          graph = field.bytes;
        if (field.number == 8 && field.type == WireType::Bytes)
          return parseOpset(field.bytes);
        if (field.number == 25)
          return fail("defines functions of its own, which are not supported; "
                      "export it with functions inlined");
        return llvm::Error::success();
      });
  if (error)
    return error;
  if (!graph)
    return fail("is no ONNX file: it has no graph");
  if (file.opsets.empty())
    return fail("is no ONNX file: it imports no opset");
  if (llvm::Error error = parseGraph(*graph))
    return error;
  return checkNames();
}

llvm::Error OnnxParser::parseOpset(ArrayRef<uint8_t> message) {
  StringRef domain;
  int64_t version = 0;
  llvm::Error error =
      forEachField(message, "opset_import", [&](const Field &f) {
        if (f.number == 1)
          domain = f.text();
        if (f.number == 2)
          version = f.integer();
        return llvm::Error::success();
      });
  if (error)
    return error;
  if (domain == "ai.onnx")
    domain = "";
  if (!file.opsets.try_emplace(domain, version).second)
    return fail("imports the opset of domain " + quoted(domain) + " twice");
  return llvm::Error::success();
}

llvm::Error OnnxParser::parseGraph(ArrayRef<uint8_t> message) {
  return forEachField(message, "the graph", [&](const Field &f) -> llvm::Error {
    if (f.type != WireType::Bytes)
      return llvm::Error::success();
    switch (f.number) {
    case 1:
      return parseNode(f.bytes);
    case 2:
      file.name = f.text();
      return llvm::Error::success();
    case 5:
      return parseInitializer(f.bytes);
    case 11:
      return parseValueInfo(f.bytes, file.inputList);
    case 12:
      return parseValueInfo(f.bytes, file.outputList);
    case 15:
      return fail("has sparse initializers, which are not supported");
    default:
      return llvm::Error::success();
    }
  });
}

//===----------------------------------------------------------------------===//
// Nodes
//===----------------------------------------------------------------------===//

llvm::Error OnnxParser::parseNode(ArrayRef<uint8_t> message) {
  Node node;
  size_t index = file.nodeList.size();
  if (index == kMaxNodes)
    return fail("has more than " + Twine(kMaxNodes) + " nodes");
  llvm::Error error = forEachField(
      message, "node " + Twine(index), [&](const Field &f) -> llvm::Error {
        if (f.type != WireType::Bytes)
          return llvm::Error::success();
        switch (f.number) {
        case 1:
          node.inputs.push_back(f.text());
          break;
        case 2:
          node.outputs.push_back(f.text());
          break;
        case 3:
          node.name = f.text();
          break;
        case 4:
          node.opType = f.text();
          break;
        case 5:
          return parseAttribute(f.bytes, node);
        case 7:
          node.domain = f.text() == "ai.onnx" ? "" : f.text();
          break;
        default:
          break;
        }
        return llvm::Error::success();
      });
  if (error)
    return error;
  for (StringRef output : node.outputs)
    if (!output.empty() &&
        !file.producerIndex.try_emplace(output, index).second)
      return fail("value " + quoted(output) + " is computed by two nodes");
  file.nodeList.push_back(std::move(node));
  return llvm::Error::success();
}

llvm::Error OnnxParser::parseAttribute(ArrayRef<uint8_t> message, Node &node) {
  Attribute attribute;
  llvm::Error error =
      forEachField(message, "an attribute of node " + quoted(node.name),
                   [&](const Field &f) -> llvm::Error {
                     switch (f.number) {
                     case 1:
                       attribute.name = f.text();
                       break;
                     case 2:
                       attribute.real = f.real();
                       break;
                     case 3:
                       attribute.integer = f.integer();
                       break;
                     case 4:
                       attribute.text = f.text();
                       break;
                     case 5:
                       attribute.tensor.emplace();
                       return parseTensor(f.bytes, *attribute.tensor);
                     case 7:
                       return appendFloats(f, attribute.reals);
                     case 8:
                       return appendIntegers(f, attribute.integers);
                     default:
                       break;
                     }
                     return llvm::Error::success();
                   });
  if (error)
    return error;
  if (node.attributes.size() == kMaxAttributes)
    return fail("node " + quoted(node.name) + " has more than " +
                Twine(kMaxAttributes) + " attributes");
  if (node.find(attribute.name))
    return fail("node " + quoted(node.name) + " has attribute " +
                quoted(attribute.name) + " twice");
  node.attributes.push_back(std::move(attribute));
  return llvm::Error::success();
}

//===----------------------------------------------------------------------===//
// Inputs and outputs
//===----------------------------------------------------------------------===//

llvm::Error OnnxParser::parseValueInfo(ArrayRef<uint8_t> message,
                                       std::vector<ValueInfo> &list) {
  ValueInfo info;
  // ValueInfoProto { 1 name, 2 TypeProto { 1 Tensor { … } } }
  llvm::Error error = forEachField(
      message, "an input or output", [&](const Field &f) -> llvm::Error {
        if (f.number == 1)
          info.name = f.text();
        if (f.number != 2)
          return llvm::Error::success();
        return forEachField(f.bytes, "the type of a value",
                            [&](const Field &type) -> llvm::Error {
                              if (type.number != 1)
                                return llvm::Error::success();
                              return parseTensorType(type.bytes, info);
                            });
      });
  if (error)
    return error;
  list.push_back(std::move(info));
  return llvm::Error::success();
}

/// Tensor { 1 elem_type, 2 TensorShapeProto { 1 Dimension { 1 value, 2 param
/// }}}
llvm::Error OnnxParser::parseTensorType(ArrayRef<uint8_t> message,
                                        ValueInfo &info) {
  auto parseDim = [&](const Field &f) -> llvm::Error {
    InputDim dim;
    if (llvm::Error error =
            forEachField(f.bytes, "a dimension", [&](const Field &field) {
              if (field.number == 1)
                dim.size = field.integer();
              if (field.number == 2)
                dim.name = field.text();
              return llvm::Error::success();
            }))
      return error;
    if (dim.size && *dim.size < 0)
      dim.size.reset();
    info.shape.push_back(dim);
    return llvm::Error::success();
  };
  return forEachField(
      message, "the type of " + quoted(info.name),
      [&](const Field &f) -> llvm::Error {
        if (f.number == 1)
          info.type = static_cast<DataType>(f.integer());
        if (f.number != 2)
          return llvm::Error::success();
        info.hasShape = true;
        return forEachField(f.bytes, "a shape", [&](const Field &dim) {
          return dim.number == 1 ? parseDim(dim) : llvm::Error::success();
        });
      });
}

//===----------------------------------------------------------------------===//
// Tensors
//===----------------------------------------------------------------------===//

llvm::Error OnnxParser::parseInitializer(ArrayRef<uint8_t> message) {
  Tensor tensor;
  if (llvm::Error error = parseTensor(message, tensor))
    return error;
  if (tensor.name.empty())
    return fail("an initializer has no name");
  size_t index = file.initializerList.size();
  if (index == kMaxNodes)
    return fail("has more than " + Twine(kMaxNodes) + " initializers");
  if (!file.initializerIndex.try_emplace(tensor.name, index).second)
    return fail("has initializer " + quoted(tensor.name) + " twice");
  file.initializerList.push_back(std::move(tensor));
  return llvm::Error::success();
}

llvm::Error OnnxParser::readTensorFields(ArrayRef<uint8_t> message,
                                         RawTensor &raw) {
  std::vector<int64_t> dims;
  auto visit = [&](const Field &f) -> llvm::Error {
    switch (f.number) {
    case 1:
      return appendIntegers(f, dims);
    case 2:
      raw.tensor.type = static_cast<DataType>(f.integer());
      break;
    case 3:
      return fail("a tensor is written in segments, which are not supported");
    case 5:
    case 7:
    case 11:
      raw.hasIntegers = true;
      return appendIntegers(f, raw.integers);
    case 4:
    case 10: // packed numbers are what raw_data would be
      if (f.type != WireType::Bytes || raw.raw)
        return fail("tensor " + quoted(raw.tensor.name) +
                    " has numbers that are not packed");
      raw.raw = f.bytes;
      break;
    case 8:
      raw.tensor.name = f.text();
      break;
    case 9:
      raw.raw = f.bytes;
      break;
    case 13:
      return parseExternalEntry(f.bytes, raw);
    case 14:
      raw.isExternal = f.value == 1;
      break;
    default:
      break;
    }
    return llvm::Error::success();
  };
  if (llvm::Error error = forEachField(message, "a tensor", visit))
    return error;
  raw.tensor.shape.assign(dims.begin(), dims.end());
  return llvm::Error::success();
}

llvm::Error OnnxParser::parseExternalEntry(ArrayRef<uint8_t> message,
                                           RawTensor &raw) {
  StringRef key, value;
  llvm::Error error =
      forEachField(message, "external_data", [&](const Field &f) {
        (f.number == 1 ? key : value) = f.text();
        return llvm::Error::success();
      });
  if (error)
    return error;
  if (key == "location")
    raw.location = value;
  if (key != "offset" && key != "length")
    return llvm::Error::success();
  uint64_t number;
  if (value.getAsInteger(10, number))
    return fail("external_data of tensor " + quoted(raw.tensor.name) + " has " +
                key + " " + quoted(value) + ", allowed is a whole number");
  (key == "offset" ? raw.offset : raw.length) = number;
  return llvm::Error::success();
}

llvm::Error OnnxParser::parseTensor(ArrayRef<uint8_t> message, Tensor &result) {
  RawTensor raw;
  if (llvm::Error error = readTensorFields(message, raw))
    return error;
  if (raw.tensor.shape.size() > kMaxRank || !countElements(raw.tensor.shape))
    return fail("tensor " + quoted(raw.tensor.name) +
                " has an impossible shape");
  if (dataTypeBits(raw.tensor.type) == 0)
    return fail("tensor " + quoted(raw.tensor.name) + " is of " +
                dataTypeName(raw.tensor.type) + ", which is not supported");
  if (llvm::Error error = placeTensor(raw))
    return error;
  result = std::move(raw.tensor);
  return llvm::Error::success();
}

llvm::Error OnnxParser::placeTensor(RawTensor &raw) {
  Tensor &tensor = raw.tensor;
  std::optional<int64_t> size = sizeInBytes(tensor);
  if (!size)
    return fail("tensor " + quoted(tensor.name) + " has an impossible shape");
  if (raw.isExternal)
    return placeExternal(raw, *size);
  if (raw.hasIntegers)
    return placeDecoded(raw, *size);
  ArrayRef<uint8_t> bytes = raw.raw.value_or(ArrayRef<uint8_t>());
  if (bytes.size() != static_cast<uint64_t>(*size))
    return fail("tensor " + quoted(tensor.name) + " has " +
                Twine(bytes.size()) + " bytes, but its shape and type (" +
                dataTypeName(tensor.type) + ") need " + Twine(*size));
  tensor.bytes = bytes;
  tensor.file = 0;
  tensor.offset = reinterpret_cast<const char *>(bytes.data()) -
                  file.buffers.front()->getBufferStart();
  if (bytes.empty())
    tensor.offset = 0;
  return llvm::Error::success();
}

llvm::Error OnnxParser::placeExternal(RawTensor &raw, int64_t size) {
  Tensor &tensor = raw.tensor;
  llvm::Expected<int> index = openExternal(raw.location);
  if (!index)
    return index.takeError();
  const llvm::MemoryBuffer &buffer = *file.buffers[*index];
  uint64_t available = buffer.getBufferSize(), offset = raw.offset.value_or(0);
  auto wanted = static_cast<uint64_t>(size);
  if (raw.length && *raw.length != wanted)
    return fail("external data of tensor " + quoted(tensor.name) + " has " +
                Twine(*raw.length) + " bytes, but its shape and type (" +
                dataTypeName(tensor.type) + ") need " + Twine(wanted));
  if (offset > available || wanted > available - offset)
    return fail("external data of tensor " + quoted(tensor.name) + " has " +
                Twine(wanted) + " bytes at offset " + Twine(offset) + ", but " +
                file.filePaths[*index] + " has " + Twine(available) + " bytes");
  tensor.file = *index;
  tensor.offset = static_cast<int64_t>(offset);
  tensor.bytes = ArrayRef(
      reinterpret_cast<const uint8_t *>(buffer.getBufferStart()) + offset,
      wanted);
  return llvm::Error::success();
}

/// Elements that are written as varints, one each, become little-endian bytes.
llvm::Error OnnxParser::placeDecoded(RawTensor &raw, int64_t size) {
  Tensor &tensor = raw.tensor;
  unsigned bytes = dataTypeBits(tensor.type) / 8;
  auto count = static_cast<uint64_t>(tensor.numElements());
  bool isFloat =
      tensor.type == DataType::Float || tensor.type == DataType::Double;
  if (bytes == 0 || isFloat || raw.integers.size() != count)
    return fail("tensor " + quoted(tensor.name) + " of " +
                dataTypeName(tensor.type) + " has " +
                Twine(raw.integers.size()) + " integers, but its shape has " +
                Twine(count) + " elements");
  if (count > kMaxDecodedElements)
    return fail("tensor " + quoted(tensor.name) + " has " + Twine(count) +
                " elements that are not in raw_data, allowed is " +
                Twine(kMaxDecodedElements));
  auto storage = std::make_unique<std::vector<uint8_t>>(size);
  for (auto [index, value] : llvm::enumerate(raw.integers))
    for (unsigned b = 0; b != bytes; ++b)
      (*storage)[index * bytes + b] = static_cast<uint8_t>(value >> (8 * b));
  tensor.bytes = *storage;
  file.decoded.push_back(std::move(storage));
  return llvm::Error::success();
}

llvm::Expected<int> OnnxParser::openExternal(StringRef location) {
  if (!isOnDisk)
    return fail("has external data, which a model in memory can't have");
  auto [entry, isNew] = externalFiles.try_emplace(location, -1);
  if (!isNew)
    return entry->second;
  auto path = resolveExternalData(file.filePaths.front(), location);
  if (!path)
    return path.takeError();
  auto buffer = llvm::MemoryBuffer::getFile(*path, /*IsText=*/false,
                                            /*RequiresNullTerminator=*/false);
  if (!buffer)
    return llvm::createStringError(
        *path + ": can't be read: " + buffer.getError().message());
  entry->second = static_cast<int>(file.buffers.size());
  file.buffers.push_back(std::move(*buffer));
  file.filePaths.push_back(*path);
  return entry->second;
}

/// Inputs that have an initializer are constants with a default; ONNX allows
/// to list them.
llvm::Error OnnxParser::checkNames() {
  llvm::erase_if(file.inputList, [&](const ValueInfo &info) {
    return file.findInitializer(info.name) != nullptr;
  });
  llvm::StringMap<bool> inputs;
  for (const ValueInfo &info : file.inputList) {
    if (!inputs.try_emplace(info.name, true).second)
      return fail("has input " + quoted(info.name) + " twice");
    if (file.producer(info.name))
      return fail("input " + quoted(info.name) + " is computed by a node, too");
  }
  for (const Tensor &tensor : file.initializerList)
    if (file.producer(tensor.name))
      return fail("initializer " + quoted(tensor.name) +
                  " is computed by a node, too");
  if (file.outputList.empty())
    return fail("has no output");
  return llvm::Error::success();
}

//===----------------------------------------------------------------------===//
// OnnxFile
//===----------------------------------------------------------------------===//

static llvm::Expected<std::unique_ptr<OnnxFile>>
finish(std::unique_ptr<OnnxFile> file, bool isOnDisk) {
  if (llvm::Error error = OnnxParser(*file, isOnDisk).parse())
    return error;
  return file;
}

llvm::Expected<std::unique_ptr<OnnxFile>> OnnxFile::open(StringRef path) {
  auto bytes = llvm::MemoryBuffer::getFile(path, /*IsText=*/false,
                                           /*RequiresNullTerminator=*/false);
  if (!bytes)
    return llvm::createStringError(
        path + ": can't be read: " + bytes.getError().message());
  std::unique_ptr<OnnxFile> file(new OnnxFile);
  file->buffers.push_back(std::move(*bytes));
  file->filePaths.push_back(path.str());
  return finish(std::move(file), /*isOnDisk=*/true);
}

llvm::Expected<std::unique_ptr<OnnxFile>>
OnnxFile::parse(std::unique_ptr<llvm::MemoryBuffer> bytes, StringRef name) {
  std::unique_ptr<OnnxFile> file(new OnnxFile);
  file->buffers.push_back(std::move(bytes));
  file->filePaths.push_back(name.str());
  return finish(std::move(file), /*isOnDisk=*/false);
}

} // namespace llmc::onnx
