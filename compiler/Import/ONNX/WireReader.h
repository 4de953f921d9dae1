// SPDX-License-Identifier: Apache-2.0
//
// Walks messages in protobuf's wire format without a schema and without
// copying: a message is a list of fields, a field is a number, a wire type and
// a value. The bytes are untrusted.

#ifndef LLMC_COMPILER_IMPORT_ONNX_WIREREADER_H
#define LLMC_COMPILER_IMPORT_ONNX_WIREREADER_H

#include "dialects/Support/LLVM.h"

#include "llvm/Support/Error.h"

#include <cstdint>
#include <string>
#include <vector>

namespace llmc::onnx {

/// How a field's value is written.
enum class WireType : uint8_t {
  Varint = 0,
  Fixed64 = 1,
  Bytes = 2,
  Fixed32 = 5
};

/// One field of a message.
struct Field {
  uint32_t number;
  WireType type;
  /// Of a varint or a fixed number.
  uint64_t value = 0;
  /// Of a string, a message or packed numbers; points into the file.
  ArrayRef<uint8_t> bytes;

  StringRef text() const {
    return {reinterpret_cast<const char *>(bytes.data()), bytes.size()};
  }
  int64_t integer() const { return static_cast<int64_t>(value); }
  float real() const;
};

/// Gives a message's fields one after the other.
class WireReader {
public:
  /// `what` names the message in errors.
  WireReader(ArrayRef<uint8_t> message, std::string what)
      : rest(message), size(message.size()), what(std::move(what)) {}

  bool atEnd() const { return rest.empty(); }

  /// The next field. Fails for numbers that don't end, lengths beyond the
  /// message, field number 0 and groups.
  llvm::Expected<Field> next();

  /// An error about this message.
  llvm::Error fail(const Twine &message) const;

private:
  llvm::Expected<uint64_t> varint();
  llvm::Expected<ArrayRef<uint8_t>> take(uint64_t count);

  ArrayRef<uint8_t> rest;
  size_t size;
  std::string what;
};

/// Appends a repeated field's integers, packed or one by one. Fails for another
/// wire type.
llvm::Error appendIntegers(const Field &field, std::vector<int64_t> &result);

/// Appends a repeated field's floats, packed or one by one.
llvm::Error appendFloats(const Field &field, std::vector<float> &result);

} // namespace llmc::onnx

#endif // LLMC_COMPILER_IMPORT_ONNX_WIREREADER_H
