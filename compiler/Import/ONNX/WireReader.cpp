// SPDX-License-Identifier: Apache-2.0
//
// The wire format: a field begins with the varint number << 3 | wire type.

#include "compiler/Import/ONNX/WireReader.h"

#include "llvm/ADT/bit.h"
#include "llvm/Support/Endian.h"

namespace llmc::onnx {

namespace {

constexpr unsigned kMaxVarintBytes = 10;

uint64_t readNumber(ArrayRef<uint8_t> bytes) {
  return bytes.size() == 8 ? llvm::support::endian::read64le(bytes.data())
                           : llvm::support::endian::read32le(bytes.data());
}

} // namespace

float Field::real() const {
  return llvm::bit_cast<float>(static_cast<uint32_t>(value));
}

llvm::Error WireReader::fail(const Twine &message) const {
  return llvm::createStringError(what + ": " + message);
}

llvm::Expected<uint64_t> WireReader::varint() {
  uint64_t value = 0;
  for (unsigned i = 0; i != kMaxVarintBytes; ++i) {
    if (rest.empty())
      return fail("a number is cut off at its end (byte " + Twine(size) + ")");
    uint8_t byte = rest.front();
    rest = rest.drop_front();
    value |= static_cast<uint64_t>(byte & 127) << (7 * i);
    if (byte < 128)
      return value;
  }
  return fail("a number of more than 10 bytes before byte " +
              Twine(size - rest.size()));
}

llvm::Expected<ArrayRef<uint8_t>> WireReader::take(uint64_t count) {
  if (count > rest.size())
    return fail("a field at byte " + Twine(size - rest.size()) + " has " +
                Twine(count) + " bytes, but only " + Twine(rest.size()) +
                " are left");
  ArrayRef<uint8_t> result = rest.take_front(count);
  rest = rest.drop_front(count);
  return result;
}

llvm::Expected<Field> WireReader::next() {
  llvm::Expected<uint64_t> key = varint();
  if (!key)
    return key.takeError();
  if (*key >> 3 == 0 || *key >> 3 >= 1u << 29)
    return fail("a field has number " + Twine(*key >> 3) +
                ", allowed is 1 to 536870911");
  Field field{
      static_cast<uint32_t>(*key >> 3), static_cast<WireType>(*key & 7), 0, {}};
  uint64_t count = 0;
  switch (field.type) {
  case WireType::Varint:
  case WireType::Bytes: {
    llvm::Expected<uint64_t> number = varint();
    if (!number)
      return number.takeError();
    field.value = *number;
    if (field.type == WireType::Varint)
      return field;
    count = *number;
    break;
  }
  case WireType::Fixed64:
    count = 8;
    break;
  case WireType::Fixed32:
    count = 4;
    break;
  default:
    return fail("field " + Twine(field.number) + " has wire type " +
                Twine(*key & 7) + ", allowed is 0, 1, 2 or 5");
  }
  llvm::Expected<ArrayRef<uint8_t>> bytes = take(count);
  if (!bytes)
    return bytes.takeError();
  if (field.type == WireType::Bytes)
    field.bytes = *bytes;
  else
    field.value = readNumber(*bytes);
  return field;
}

llvm::Error appendIntegers(const Field &field, std::vector<int64_t> &result) {
  if (field.type == WireType::Varint) {
    result.push_back(field.integer());
    return llvm::Error::success();
  }
  if (field.type != WireType::Bytes)
    return llvm::createStringError("field " + Twine(field.number) +
                                   " holds no integers");
  uint64_t value = 0;
  unsigned shift = 0;
  for (uint8_t byte : field.bytes) {
    if (shift > 63)
      return llvm::createStringError("field " + Twine(field.number) +
                                     " has a number of more than 10 bytes");
    value |= static_cast<uint64_t>(byte & 127) << shift;
    shift += 7;
    if (byte >= 128)
      continue;
    result.push_back(static_cast<int64_t>(value));
    value = shift = 0;
  }
  if (shift != 0)
    return llvm::createStringError("field " + Twine(field.number) +
                                   " ends within a number");
  return llvm::Error::success();
}

llvm::Error appendFloats(const Field &field, std::vector<float> &result) {
  if (field.type == WireType::Fixed32) {
    result.push_back(field.real());
    return llvm::Error::success();
  }
  if (field.type != WireType::Bytes || field.bytes.size() % 4 != 0)
    return llvm::createStringError("field " + Twine(field.number) +
                                   " holds no whole floats");
  for (size_t i = 0; i != field.bytes.size(); i += 4)
    result.push_back(llvm::bit_cast<float>(
        llvm::support::endian::read32le(field.bytes.data() + i)));
  return llvm::Error::success();
}

} // namespace llmc::onnx
