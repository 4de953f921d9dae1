// SPDX-License-Identifier: Apache-2.0
//
// Gathers the rows of packed sources number by number. The formulas are in the
// header.

#include "dialects/Graph/Packing.h"

#include <cassert>
#include <cstring>

namespace llmc::graph {

namespace {

struct FormName {
  PackingForm form;
  const char *name;
};

constexpr FormName kFormNames[] = {{PackingForm::Transposed, "transposed"}};

void unpackTransposed(const RowSource &source, Encoding target, int64_t columns,
                      int64_t row, uint8_t *result) {
  int64_t size = encodingFacts(target).blockBytes;
  for (int64_t k = 0; k < columns; ++k)
    std::memcpy(result + k * size,
                source.bytes + (k * source.rows + row) * size, size);
}

bool isPlain(Encoding encoding) {
  return encoding == Encoding::F32 || encoding == Encoding::F16 ||
         encoding == Encoding::BF16;
}

} // namespace

std::optional<PackingForm> packingFormOfName(const std::string &name) {
  for (const FormName &entry : kFormNames)
    if (name == entry.name)
      return entry.form;
  return std::nullopt;
}

std::optional<PackedSizes> packedSizes(PackingForm, Encoding encoding,
                                       int64_t /*group*/, int64_t rows,
                                       int64_t columns) {
  constexpr int64_t kMaxElements = int64_t(1) << 59;
  if (!isPlain(encoding) || rows < 1 || columns < 1 ||
      rows > kMaxElements / columns)
    return std::nullopt;
  int64_t numberBytes = encodingFacts(encoding).blockBytes;
  return PackedSizes{rows * columns * numberBytes, 0, 0};
}

bool canUnpack(PackingForm, Encoding encoding, int64_t /*group*/,
               bool /*hasZeros*/, int64_t /*columns*/, Encoding target) {
  return target == encoding;
}

const uint8_t *encodedRow(const RowSource &source, Encoding target,
                          int64_t columns, int64_t row, uint8_t *scratch) {
  assert(row < source.rows && "the row is the source's");
  if (!source.packing)
    return source.bytes + row * *encodedSizeInBytes(target, columns);
  unpackTransposed(source, target, columns, row, scratch);
  return scratch;
}

void decodeVector(const RowSource &source, Encoding encoding, float *result) {
  dequantizeRow(encoding, source.bytes, source.rows, result);
  for (int64_t i = 0; source.addend != 0.0f && i < source.rows; ++i)
    result[i] += source.addend;
}

} // namespace llmc::graph
