// SPDX-License-Identifier: Apache-2.0
//
// A reader of ONNX files: opsets, nodes, initializers, inputs and outputs. The
// bytes are untrusted: every length, count and offset is checked before use.
// Tensors stay where they are: an initializer is a file, an offset and a size,
// whether its bytes lie in the model file or in external data, which must lie
// in the model's folder.

#ifndef LLMC_COMPILER_IMPORT_ONNX_ONNXREADER_H
#define LLMC_COMPILER_IMPORT_ONNX_ONNXREADER_H

#include "dialects/Support/LLVM.h"

#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/MemoryBuffer.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace llmc::onnx {

/// TensorProto.DataType.
enum class DataType : int32_t {
  Undefined = 0,
  Float = 1,
  UInt8 = 2,
  Int8 = 3,
  UInt16 = 4,
  Int16 = 5,
  Int32 = 6,
  Int64 = 7,
  String = 8,
  Bool = 9,
  Float16 = 10,
  Double = 11,
  UInt32 = 12,
  UInt64 = 13,
  BFloat16 = 16,
  UInt4 = 21,
  Int4 = 22
};

/// "FLOAT" and so on, as the format spells it; "type N" for others.
std::string dataTypeName(DataType type);

/// Bits of one element; 0 for strings and unknown types.
unsigned dataTypeBits(DataType type);

/// A constant of the file.
struct Tensor {
  StringRef name;
  DataType type = DataType::Undefined;
  /// Outermost dimension first, not negative; the product fits into int64.
  SmallVector<int64_t, 4> shape;
  /// Index into `OnnxFile::files`, and where the little-endian elements begin.
  /// Negative when the file writes them as varints: `bytes` has them decoded.
  int file = -1;
  int64_t offset = 0;
  ArrayRef<uint8_t> bytes;

  /// 1 for a scalar.
  int64_t numElements() const;
};

/// An attribute of a node; the fields that its type doesn't use are empty.
struct Attribute {
  StringRef name;
  std::optional<float> real;
  std::optional<int64_t> integer;
  std::optional<StringRef> text;
  std::vector<int64_t> integers;
  std::vector<float> reals;
  std::optional<Tensor> tensor;
};

struct Node {
  StringRef name;
  StringRef opType;
  /// "" is ai.onnx.
  StringRef domain;
  /// An empty name is an optional input or output that is left out.
  SmallVector<StringRef, 4> inputs;
  SmallVector<StringRef, 2> outputs;
  std::vector<Attribute> attributes;

  /// Null when absent.
  const Attribute *find(StringRef attribute) const;
};

/// A dimension of an input: a number, a name, or neither.
struct InputDim {
  std::optional<int64_t> size;
  StringRef name;
};

/// An input or output of the graph.
struct ValueInfo {
  StringRef name;
  DataType type = DataType::Undefined;
  SmallVector<InputDim, 4> shape;
  bool hasShape = false;
};

/// An ONNX file whose structure has been checked. What the nodes mean is the
/// importer's task.
class OnnxFile {
public:
  /// Maps the file and the external data that it names, and checks it.
  static llvm::Expected<std::unique_ptr<OnnxFile>> open(StringRef path);

  /// Takes bytes in memory; `name` stands for the path in messages, and
  /// external data is refused.
  static llvm::Expected<std::unique_ptr<OnnxFile>>
  parse(std::unique_ptr<llvm::MemoryBuffer> bytes, StringRef name);

  StringRef path() const { return filePaths.front(); }
  /// The model file first, then files of external data.
  ArrayRef<std::string> files() const { return filePaths; }

  /// The version of a domain's opset ("" is ai.onnx); none if not imported.
  std::optional<int64_t> opset(StringRef domain) const;

  StringRef graphName() const { return name; }
  ArrayRef<Node> nodes() const { return nodeList; }
  /// Inputs that no initializer gives a value.
  ArrayRef<ValueInfo> inputs() const { return inputList; }
  ArrayRef<ValueInfo> outputs() const { return outputList; }
  ArrayRef<Tensor> initializers() const { return initializerList; }
  /// Null when there is no initializer of that name.
  const Tensor *findInitializer(StringRef tensor) const;
  /// Null for a name that no node computes.
  const Node *producer(StringRef value) const;

private:
  friend class OnnxParser;
  OnnxFile() = default;

  std::vector<std::unique_ptr<llvm::MemoryBuffer>> buffers;
  std::vector<std::string> filePaths;
  StringRef name;
  llvm::StringMap<int64_t> opsets;
  std::vector<Node> nodeList;
  std::vector<ValueInfo> inputList, outputList;
  std::vector<Tensor> initializerList;
  llvm::StringMap<size_t> initializerIndex, producerIndex;
  /// Elements that were written as varints.
  std::vector<std::unique_ptr<std::vector<uint8_t>>> decoded;
};

} // namespace llmc::onnx

#endif // LLMC_COMPILER_IMPORT_ONNX_ONNXREADER_H
