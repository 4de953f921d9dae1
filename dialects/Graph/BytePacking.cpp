// SPDX-License-Identifier: Apache-2.0

#include "dialects/Graph/BytePacking.h"

#include <cstring>

namespace llmc::graph {

namespace {

/// From a code of the file to a signed byte, or to its zero point.
int signedCode(uint8_t byte, bool isUnsigned) {
  return isUnsigned ? byte - 128 : static_cast<int8_t>(byte);
}

uint8_t *store(uint8_t *to, float number) {
  std::memcpy(to, &number, sizeof(number));
  return to + sizeof(number);
}

} // namespace

std::optional<ByteForm> byteForm(PackingForm form) {
  switch (form) {
  case PackingForm::Int8:
    return ByteForm{false, false, false};
  case PackingForm::Int8Tensor:
    return ByteForm{false, false, true};
  case PackingForm::Int8Transposed:
    return ByteForm{false, true, false};
  case PackingForm::Int8TransposedTensor:
    return ByteForm{false, true, true};
  case PackingForm::UInt8:
    return ByteForm{true, false, false};
  case PackingForm::UInt8Tensor:
    return ByteForm{true, false, true};
  case PackingForm::UInt8Transposed:
    return ByteForm{true, true, false};
  case PackingForm::UInt8TransposedTensor:
    return ByteForm{true, true, true};
  default:
    return std::nullopt;
  }
}

PackedSizes byteSizes(ByteForm form, int64_t numberBytes, int64_t rows,
                      int64_t columns) {
  int64_t scales = form.hasOneScale ? 1 : rows;
  return {rows * columns, scales * numberBytes, scales};
}

Encoding byteEncoding(ByteForm form, bool hasZeros) {
  return form.isUnsigned || hasZeros ? Encoding::I8_CHANNEL_ASYM
                                     : Encoding::I8_CHANNEL;
}

void unpackBytes(const RowSource &source, ByteForm form, int64_t columns,
                 int64_t row, uint8_t *result) {
  const Packing &packing = *source.packing;
  int64_t index = form.hasOneScale ? 0 : row;
  float scale;
  dequantizeRow(packing.encoding,
                packing.scales +
                    index * encodingFacts(packing.encoding).blockBytes,
                1, &scale);
  result = store(result, scale);
  if (byteEncoding(form, packing.zeros != nullptr) ==
      Encoding::I8_CHANNEL_ASYM) {
    uint8_t zero = packing.zeros ? packing.zeros[index] : 0;
    result =
        store(result, static_cast<float>(signedCode(zero, form.isUnsigned)));
  }
  int64_t first = form.isTransposed ? row : row * columns;
  int64_t stride = form.isTransposed ? source.rows : 1;
  for (int64_t k = 0; k < columns; ++k)
    result[k] = static_cast<uint8_t>(
        signedCode(source.bytes[first + k * stride], form.isUnsigned));
}

} // namespace llmc::graph
