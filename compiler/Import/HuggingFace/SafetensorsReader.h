// SPDX-License-Identifier: Apache-2.0
//
// A reader of safetensors files. The bytes are untrusted: every length, shape
// and offset is checked before use, and a file that breaks a rule of the format
// is refused with a message that names file, tensor, found and allowed. Tensors
// are not copied: their bytes stay in the mapped file.

#ifndef LLMC_COMPILER_IMPORT_HUGGINGFACE_SAFETENSORSREADER_H
#define LLMC_COMPILER_IMPORT_HUGGINGFACE_SAFETENSORSREADER_H

#include "dialects/Graph/GraphEnums.h"
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

namespace llmc::huggingface {

/// Element types of the format.
enum class Dtype {
  Bool,
  U8,
  I8,
  F8_E5M2,
  F8_E4M3,
  U16,
  I16,
  F16,
  BF16,
  U32,
  I32,
  F32,
  U64,
  I64,
  F64
};

/// As the format spells it: "BF16".
StringRef dtypeName(Dtype dtype);

/// The encoding of weights with such elements: F32, F16 and BF16 have one.
std::optional<graph::Encoding> encodingOf(Dtype dtype);

struct Tensor {
  std::string name;
  Dtype dtype;
  /// Outermost dimension first; a scalar has none, and sizes may be 0.
  SmallVector<int64_t, 4> shape;
  /// Of the first byte, from the start of the file.
  int64_t offset;
  int64_t sizeInBytes;
};

/// A safetensors file whose header has been checked: names are unique, each
/// tensor has the bytes that its shape and type need, and the tensors fill the
/// data without overlaps and gaps.
class SafetensorsFile {
public:
  /// Maps the file and checks it.
  static llvm::Expected<std::unique_ptr<SafetensorsFile>> open(StringRef path);

  /// Takes bytes in memory; `name` stands for the path in messages.
  static llvm::Expected<std::unique_ptr<SafetensorsFile>>
  parse(std::unique_ptr<llvm::MemoryBuffer> bytes, StringRef name);

  StringRef path() const { return name; }
  const std::vector<Tensor> &tensors() const { return tensorList; }
  /// Null when there is no tensor of that name.
  const Tensor *findTensor(StringRef tensorName) const;
  ArrayRef<uint8_t> tensorBytes(const Tensor &tensor) const;

private:
  SafetensorsFile() = default;
  llvm::Error parseHeader();
  llvm::Error placeTensors(uint64_t dataStart);
  llvm::Error fail(const Twine &message) const;

  std::unique_ptr<llvm::MemoryBuffer> buffer;
  std::string name;
  std::vector<Tensor> tensorList;
  llvm::StringMap<size_t> tensorIndex;
};

} // namespace llmc::huggingface

#endif // LLMC_COMPILER_IMPORT_HUGGINGFACE_SAFETENSORSREADER_H
