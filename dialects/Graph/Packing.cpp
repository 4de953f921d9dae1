// SPDX-License-Identifier: Apache-2.0
//
// Gathers the rows of packed sources number by number. The formulas are in the
// header.

#include "dialects/Graph/Packing.h"

#include "dialects/Graph/BytePacking.h"
#include "dialects/Graph/RowEncoder.h"

#include <cassert>
#include <cstring>
#include <vector>

namespace llmc::graph {

namespace {

constexpr int64_t kNibblesPerWord = 8;
constexpr int64_t kDefaultZero = 8;

/// The column of eight that nibble i of an AWQ word holds is kAwqOrder[i]; this
/// is the inverse: the nibble that holds a column.
constexpr int64_t kAwqNibbles[kNibblesPerWord] = {0, 4, 1, 5, 2, 6, 3, 7};

/// In the order of the enum.
struct FormName {
  PackingForm form;
  const char *name;
};

constexpr FormName kFormNames[] = {
    {PackingForm::Rows, "rows"},
    {PackingForm::Transposed, "transposed"},
    {PackingForm::Gptq, "gptq"},
    {PackingForm::GptqV2, "gptq_v2"},
    {PackingForm::Awq, "awq"},
    {PackingForm::Compressed, "compressed"},
    {PackingForm::NBits, "nbits"},
    {PackingForm::Int8, "int8"},
    {PackingForm::Int8Tensor, "int8.tensor"},
    {PackingForm::Int8Transposed, "int8.transposed"},
    {PackingForm::Int8TransposedTensor, "int8.transposed.tensor"},
    {PackingForm::UInt8, "uint8"},
    {PackingForm::UInt8Tensor, "uint8.tensor"},
    {PackingForm::UInt8Transposed, "uint8.transposed"},
    {PackingForm::UInt8TransposedTensor, "uint8.transposed.tensor"}};

/// Nibble `index` counted from the first byte's low half on, which is also the
/// order within little-endian words.
int64_t nibbleAt(const uint8_t *bytes, int64_t index) {
  return bytes[index / 2] >> 4 * (index % 2) & 15;
}

/// A packed source of 4-bit codes and its sizes.
class CodeReader {
public:
  CodeReader(const RowSource &source, int64_t columns)
      : bytes(source.bytes), packing(*source.packing), rows(source.rows),
        columns(columns), numGroups(columns / packing.group) {}

  int64_t code(int64_t n, int64_t k) const {
    switch (packing.form) {
    case PackingForm::Gptq:
    case PackingForm::GptqV2:
      return nibbleAt(bytes, (k / 8 * rows + n) * 8 + k % 8);
    case PackingForm::Awq:
      return nibbleAt(bytes, k * rows + awqColumn(n));
    default:
      return nibbleAt(bytes, n * columns + k);
    }
  }

  float scale(int64_t n, int64_t k) const {
    int64_t g = k / packing.group;
    bool isByGroup = packing.form == PackingForm::Gptq ||
                     packing.form == PackingForm::GptqV2 ||
                     packing.form == PackingForm::Awq;
    int64_t index = isByGroup ? g * rows + n : n * numGroups + g;
    float result;
    dequantizeRow(packing.encoding,
                  packing.scales +
                      index * encodingFacts(packing.encoding).blockBytes,
                  1, &result);
    return result;
  }

  int64_t zero(int64_t n, int64_t k) const {
    if (!packing.zeros)
      return kDefaultZero;
    int64_t g = k / packing.group;
    switch (packing.form) {
    case PackingForm::Gptq:
      return nibbleAt(packing.zeros, g * rows + n) + 1;
    case PackingForm::GptqV2:
      return nibbleAt(packing.zeros, g * rows + n);
    case PackingForm::Awq:
      return nibbleAt(packing.zeros, g * rows + awqColumn(n));
    case PackingForm::Compressed:
      return nibbleAt(packing.zeros, (n / 8 * numGroups + g) * 8 + n % 8);
    default:
      return nibbleAt(packing.zeros, n * ((numGroups + 1) / 2) * 2 + g);
    }
  }

private:
  static int64_t awqColumn(int64_t n) {
    return n / kNibblesPerWord * kNibblesPerWord +
           kAwqNibbles[n % kNibblesPerWord];
  }

  const uint8_t *bytes;
  const Packing &packing;
  int64_t rows, columns, numGroups;
};

template <typename T>
uint8_t *store(uint8_t *to, T value) {
  std::memcpy(to, &value, sizeof(value));
  return to + sizeof(value);
}

/// Writes row `n` as blocks of an I4 encoding.
void unpackCodes(const CodeReader &reader, Encoding target, int64_t columns,
                 int64_t n, uint8_t *result) {
  const EncodingFacts &facts = encodingFacts(target);
  int64_t group = facts.isRow() ? columns : facts.blockElements;
  for (int64_t first = 0; first < columns; first += group) {
    float scale = reader.scale(n, first);
    auto zero = static_cast<float>(reader.zero(n, first));
    bool hasZero = isAsymmetric(target);
    if (facts.isRow()) {
      result = store(result, scale);
      if (hasZero)
        result = store(result, zero);
    } else {
      result = store(result, floatToHalf(scale));
      if (hasZero)
        result = store(result, floatToHalf(zero));
    }
    for (int64_t k = first; k < first + group; k += 2)
      *result++ =
          static_cast<uint8_t>(reader.code(n, k) | reader.code(n, k + 1) << 4);
  }
}

void unpackTransposed(const RowSource &source, int64_t columns, int64_t row,
                      uint8_t *result) {
  int64_t size = encodingFacts(source.packing->encoding).blockBytes;
  for (int64_t k = 0; k < columns; ++k)
    std::memcpy(result + k * size,
                source.bytes + (k * source.rows + row) * size, size);
}

bool isPlain(Encoding encoding) {
  return encoding == Encoding::F32 || encoding == Encoding::F16 ||
         encoding == Encoding::BF16;
}

/// Columns of a group of an I4 encoding; 0 for others.
int64_t groupOf(Encoding target, int64_t columns) {
  switch (target) {
  case Encoding::I4_G32:
  case Encoding::I4_G64:
  case Encoding::I4_G128:
  case Encoding::I4_G32_ASYM:
  case Encoding::I4_G64_ASYM:
  case Encoding::I4_G128_ASYM:
    return encodingFacts(target).blockElements;
  case Encoding::I4_CHANNEL:
  case Encoding::I4_CHANNEL_ASYM:
    return columns;
  default:
    return 0;
  }
}

} // namespace

std::optional<PackingForm> packingFormOfName(const std::string &name) {
  for (const FormName &entry : kFormNames)
    if (name == entry.name)
      return entry.form;
  return std::nullopt;
}

const char *packingFormName(PackingForm form) {
  return kFormNames[static_cast<size_t>(form)].name;
}

std::optional<PackedSizes> packedSizes(PackingForm form, Encoding encoding,
                                       int64_t group, int64_t rows,
                                       int64_t columns) {
  constexpr int64_t kMaxElements = int64_t(1) << 59;
  if (form == PackingForm::Rows) {
    auto size = encodedSizeInBytes(encoding, rows, columns);
    if (!size || rows < 1 || *size > kMaxElements)
      return std::nullopt;
    return PackedSizes{*size, 0, 0};
  }
  if (!isPlain(encoding) || rows < 1 || columns < 1 ||
      rows > kMaxElements / columns)
    return std::nullopt;
  int64_t numberBytes = encodingFacts(encoding).blockBytes;
  if (form == PackingForm::Transposed)
    return PackedSizes{rows * columns * numberBytes, 0, 0};
  if (auto bytes = byteForm(form))
    return byteSizes(*bytes, numberBytes, rows, columns);
  if (group < 2 || group % 2 != 0 || columns % group != 0)
    return std::nullopt;
  int64_t numGroups = columns / group;
  PackedSizes sizes = {rows * columns / 2, rows * numGroups * numberBytes,
                       rows * numGroups / 2};
  switch (form) {
  case PackingForm::Gptq:
  case PackingForm::GptqV2:
    if (columns % 8 != 0 || rows % 8 != 0)
      return std::nullopt;
    return sizes;
  case PackingForm::Awq:
    if (rows % 8 != 0)
      return std::nullopt;
    return sizes;
  case PackingForm::Compressed:
    if (columns % 8 != 0)
      return std::nullopt;
    sizes.zeros = (rows + 7) / 8 * numGroups * 4;
    return sizes;
  default:
    sizes.zeros = rows * ((numGroups + 1) / 2);
    return sizes;
  }
}

bool canUnpack(PackingForm form, Encoding encoding, int64_t group,
               bool hasZeros, int64_t columns, Encoding target) {
  if (!hasCodes(form))
    return target == encoding || canEncode(target);
  if (auto bytes = byteForm(form))
    return target == byteEncoding(*bytes, hasZeros);
  int64_t targetGroup = groupOf(target, columns);
  return targetGroup != 0 && group % targetGroup == 0 &&
         isAsymmetric(target) == hasZeros;
}

/// The row in the encoding of its numbers: in the file or in `scratch`.
static const uint8_t *plainRow(const RowSource &source, int64_t columns,
                               int64_t row, uint8_t *scratch) {
  if (source.packing->form == PackingForm::Rows)
    return source.bytes +
           row * *encodedSizeInBytes(source.packing->encoding, 1, columns);
  unpackTransposed(source, columns, row, scratch);
  return scratch;
}

/// The row quantized to `target`.
static std::optional<std::string> convertRow(const RowSource &source,
                                             Encoding target, int64_t columns,
                                             int64_t row, uint8_t *result) {
  const Encoding from = source.packing->encoding;
  std::vector<uint8_t> plain(*encodedSizeInBytes(from, 1, columns));
  std::vector<float> numbers(columns);
  dequantizeRow(from, plainRow(source, columns, row, plain.data()), columns,
                numbers.data());
  return encodeRow(target, numbers.data(), columns, result);
}

const uint8_t *encodedRow(const RowSource &source, Encoding target,
                          int64_t columns, int64_t row, uint8_t *scratch,
                          std::optional<std::string> &problem) {
  assert(row < source.rows && "the row is the source's");
  if (!source.packing)
    return source.bytes + row * *encodedSizeInBytes(target, 1, columns);
  if (auto bytes = byteForm(source.packing->form))
    unpackBytes(source, *bytes, columns, row, scratch);
  else if (hasCodes(source.packing->form))
    unpackCodes(CodeReader(source, columns), target, columns, row, scratch);
  else if (source.packing->encoding == target)
    return plainRow(source, columns, row, scratch);
  else if (!source.store || !source.store->find(row, scratch)) {
    if (auto found = convertRow(source, target, columns, row, scratch))
      problem = "row " + std::to_string(row) + ": " + *found;
    else if (source.store && source.keepsRows)
      source.store->keep(row, scratch);
  }
  return scratch;
}

void decodeVector(const RowSource &source, Encoding encoding, float *result) {
  dequantizeRow(encoding, source.bytes, source.rows, result);
  for (int64_t i = 0; source.addend != 0.0f && i < source.rows; ++i)
    result[i] += source.addend;
}

} // namespace llmc::graph
