// SPDX-License-Identifier: Apache-2.0
//
// Writes small GGUF files in memory, right or wrong on purpose.

#ifndef LLMC_TEST_UNIT_COMPILER_IMPORT_GGUF_BUILDER_H
#define LLMC_TEST_UNIT_COMPILER_IMPORT_GGUF_BUILDER_H

#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

namespace llmc::test {

/// The type numbers of metadata values.
enum GgufType : uint32_t {
  kUInt32 = 4,
  kInt32 = 5,
  kFloat32 = 6,
  kBool = 7,
  kString = 8,
  kArray = 9
};

template <typename T>
std::string littleEndian(T number) {
  std::string bytes(sizeof(T), '\0');
  std::memcpy(bytes.data(), &number, sizeof(T));
  return bytes;
}

inline std::string ggufString(const std::string &text) {
  return littleEndian<uint64_t>(text.size()) + text;
}

/// Collects metadata pairs and tensors; `build` gives the file's bytes.
class GgufBuilder {
public:
  /// `value` is the value's bytes as the file holds them.
  GgufBuilder &pair(const std::string &key, uint32_t type,
                    const std::string &value) {
    pairs += ggufString(key) + littleEndian(type) + value;
    ++numPairs;
    return *this;
  }
  GgufBuilder &text(const std::string &key, const std::string &value) {
    return pair(key, kString, ggufString(value));
  }
  GgufBuilder &number(const std::string &key, uint32_t value) {
    return pair(key, kUInt32, littleEndian(value));
  }
  GgufBuilder &numbers(const std::string &key,
                       const std::vector<uint32_t> &values) {
    std::string bytes = littleEndian(static_cast<uint32_t>(kUInt32)) +
                        littleEndian<uint64_t>(values.size());
    for (uint32_t value : values)
      bytes += littleEndian(value);
    return pair(key, kArray, bytes);
  }
  GgufBuilder &real(const std::string &key, float value) {
    return pair(key, kFloat32, littleEndian(value));
  }

  /// A tensor's entry with any contents and no bytes behind it.
  GgufBuilder &entry(const std::string &name,
                     const std::vector<uint64_t> &dimensions, uint32_t type,
                     uint64_t offset) {
    entries += ggufString(name) +
               littleEndian(static_cast<uint32_t>(dimensions.size()));
    for (uint64_t size : dimensions)
      entries += littleEndian(size);
    entries += littleEndian(type) + littleEndian(offset);
    ++numTensors;
    return *this;
  }
  /// A tensor with its bytes, innermost dimension first.
  GgufBuilder &tensor(const std::string &name,
                      const std::vector<uint64_t> &dimensions, uint32_t type,
                      const std::string &bytes) {
    entry(name, dimensions, type, data.size());
    data += bytes;
    data.resize((data.size() + alignment - 1) / alignment * alignment);
    return *this;
  }
  /// A tensor of F32 ones.
  GgufBuilder &ones(const std::string &name,
                    const std::vector<uint64_t> &dimensions) {
    uint64_t count = 1;
    for (uint64_t size : dimensions)
      count *= size;
    std::string bytes;
    for (uint64_t i = 0; i < count; ++i)
      bytes += littleEndian(1.0f);
    return tensor(name, dimensions, 0, bytes);
  }
  GgufBuilder &alignTo(size_t bytes) {
    alignment = bytes;
    return *this;
  }
  GgufBuilder &withVersion(uint32_t number) {
    version = number;
    return *this;
  }

  std::string build() const {
    std::string file = "GGUF" + littleEndian(version) +
                       littleEndian(numTensors) + littleEndian(numPairs) +
                       pairs + entries;
    file.resize((file.size() + alignment - 1) / alignment * alignment);
    return file + data;
  }

  uint64_t numPairs = 0, numTensors = 0;

private:
  uint32_t version = 3;
  size_t alignment = 32;
  std::string pairs, entries, data;
};

} // namespace llmc::test

#endif // LLMC_TEST_UNIT_COMPILER_IMPORT_GGUF_BUILDER_H
