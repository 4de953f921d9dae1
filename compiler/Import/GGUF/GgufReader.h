// SPDX-License-Identifier: Apache-2.0
//
// A reader of GGUF files, versions 2 and 3. The bytes are untrusted: every
// length, count and offset is checked before use, and a file that breaks a rule
// is refused with a message that names file, field, found and allowed.
// Nothing is copied: strings and tensors point into the mapped file.

#ifndef LLMC_COMPILER_IMPORT_GGUF_GGUFREADER_H
#define LLMC_COMPILER_IMPORT_GGUF_GGUFREADER_H

#include "dialects/Graph/Encoding.h"
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

namespace llmc::gguf {

/// The type numbers of metadata values.
enum class ValueType : uint32_t {
  UInt8,
  Int8,
  UInt16,
  Int16,
  UInt32,
  Int32,
  Float32,
  Bool,
  String,
  Array,
  UInt64,
  Int64,
  Float64
};

/// "UINT32" and so on, as the format's documentation spells it.
StringRef valueTypeName(ValueType type);

/// One metadata value, or the elements of an array.
struct Value {
  ValueType type;
  /// Of the elements of an array; equal to `type` otherwise.
  ValueType elementType;
  /// Elements of an array; 1 otherwise.
  uint64_t count = 1;
  /// The elements' little-endian bytes; empty for strings.
  ArrayRef<uint8_t> bytes;
  /// The elements when they are strings.
  std::vector<StringRef> strings;
};

/// A tensor of the file.
struct Tensor {
  StringRef name;
  /// Outermost dimension first (the file has the innermost first); at least
  /// one, each at least 1, and the product fits into int64.
  SmallVector<int64_t, 4> shape;
  graph::Encoding encoding;
  /// Of the first byte, from the start of the file.
  int64_t offset;
  int64_t sizeInBytes;
  /// Number of the file in GgufFile::paths().
  int64_t file = 0;
};

/// A GGUF file whose header has been checked, with the further files of a model
/// that is split.
/// Metadata look-ups take full keys. The `get…` functions fail when the key is
/// absent or has a type that can't be converted without loss; the `find…`
/// functions give none when the key is absent and fail for a wrong type.
class GgufFile {
public:
  /// Maps the file and checks it. A file that says it is the first part of a
  /// model (`split.count`) brings the other parts' tensors; an error names a
  /// part that is missing or does not belong to it.
  static llvm::Expected<std::unique_ptr<GgufFile>> open(StringRef path);

  /// Takes bytes in memory; `name` stands for the path in messages.
  static llvm::Expected<std::unique_ptr<GgufFile>>
  parse(std::unique_ptr<llvm::MemoryBuffer> bytes, StringRef name);

  StringRef path() const { return name; }
  /// Of all files, this one first.
  std::vector<std::string> paths() const {
    std::vector<std::string> all = {name};
    for (const auto &part : parts)
      all.push_back(part->name);
    return all;
  }
  uint32_t version() const { return formatVersion; }

  const std::vector<Tensor> &tensors() const { return tensorList; }
  /// Null when there is no tensor of that name.
  const Tensor *findTensor(StringRef tensorName) const;
  ArrayRef<uint8_t> tensorBytes(const Tensor &tensor) const;

  bool has(StringRef key) const { return metadata.count(key) != 0; }
  /// Null when absent.
  const Value *findValue(StringRef key) const;

  llvm::Expected<StringRef> getString(StringRef key) const;
  /// Any integer type whose value is not negative.
  llvm::Expected<uint64_t> getUnsigned(StringRef key) const;
  /// Float32 or Float64.
  llvm::Expected<double> getFloat(StringRef key) const;
  llvm::Expected<bool> getBool(StringRef key) const;
  llvm::Expected<ArrayRef<StringRef>> getStrings(StringRef key) const;
  /// An array of any integer type that fits into int64.
  llvm::Expected<std::vector<int64_t>> getIntegers(StringRef key) const;
  llvm::Expected<std::vector<float>> getFloats(StringRef key) const;

  llvm::Expected<std::optional<StringRef>> findString(StringRef key) const;
  llvm::Expected<std::optional<uint64_t>> findUnsigned(StringRef key) const;
  llvm::Expected<std::optional<double>> findFloat(StringRef key) const;
  llvm::Expected<std::optional<bool>> findBool(StringRef key) const;

private:
  friend class GgufParser;
  GgufFile() = default;

  static llvm::Expected<std::unique_ptr<GgufFile>> openOne(StringRef path);
  llvm::Error openParts();
  llvm::Error checkPart(uint64_t number, uint64_t count) const;
  llvm::Error addPart(std::unique_ptr<GgufFile> part);

  std::unique_ptr<llvm::MemoryBuffer> buffer;
  std::string name;
  uint32_t formatVersion = 0;
  llvm::StringMap<Value> metadata;
  std::vector<Tensor> tensorList;
  llvm::StringMap<size_t> tensorIndex;
  std::vector<std::unique_ptr<GgufFile>> parts;
};

} // namespace llmc::gguf

#endif // LLMC_COMPILER_IMPORT_GGUF_GGUFREADER_H
