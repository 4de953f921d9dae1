// SPDX-License-Identifier: Apache-2.0
//
// What a parsed ONNX file is asked for.

#include "compiler/Import/ONNX/OnnxReader.h"

namespace llmc::onnx {

std::string dataTypeName(DataType type) {
  static constexpr const char *kNames[] = {
      "UNDEFINED", "FLOAT",  "UINT8",     "INT8",       "UINT16",  "INT16",
      "INT32",     "INT64",  "STRING",    "BOOL",       "FLOAT16", "DOUBLE",
      "UINT32",    "UINT64", "COMPLEX64", "COMPLEX128", "BFLOAT16"};
  auto number = static_cast<int32_t>(type);
  if (number >= 0 && number < static_cast<int32_t>(std::size(kNames)))
    return kNames[number];
  if (type == DataType::UInt4 || type == DataType::Int4)
    return type == DataType::UInt4 ? "UINT4" : "INT4";
  return "type " + std::to_string(number);
}

unsigned dataTypeBits(DataType type) {
  switch (type) {
  case DataType::UInt4:
  case DataType::Int4:
    return 4;
  case DataType::UInt8:
  case DataType::Int8:
  case DataType::Bool:
    return 8;
  case DataType::UInt16:
  case DataType::Int16:
  case DataType::Float16:
  case DataType::BFloat16:
    return 16;
  case DataType::Float:
  case DataType::Int32:
  case DataType::UInt32:
    return 32;
  case DataType::Int64:
  case DataType::UInt64:
  case DataType::Double:
    return 64;
  case DataType::Undefined:
  case DataType::String:
    return 0;
  }
  return 0;
}

const Attribute *Node::find(StringRef attribute) const {
  for (const Attribute &candidate : attributes)
    if (candidate.name == attribute)
      return &candidate;
  return nullptr;
}

std::optional<int64_t> OnnxFile::opset(StringRef domain) const {
  auto found = opsets.find(domain == "ai.onnx" ? "" : domain);
  return found == opsets.end() ? std::nullopt : std::optional(found->second);
}

const Tensor *OnnxFile::findInitializer(StringRef tensor) const {
  auto found = initializerIndex.find(tensor);
  return found == initializerIndex.end() ? nullptr
                                         : &initializerList[found->second];
}

const Node *OnnxFile::producer(StringRef value) const {
  auto found = producerIndex.find(value);
  return found == producerIndex.end() ? nullptr : &nodeList[found->second];
}

} // namespace llmc::onnx
