// SPDX-License-Identifier: Apache-2.0
//
// Writes small safetensors files in memory, right or wrong on purpose.

#ifndef LLMC_TEST_UNIT_COMPILER_IMPORT_SAFETENSORS_BUILDER_H
#define LLMC_TEST_UNIT_COMPILER_IMPORT_SAFETENSORS_BUILDER_H

#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

namespace llmc::test {

/// A file with this header text and data.
inline std::string safetensorsFile(const std::string &header,
                                   const std::string &data) {
  uint64_t length = header.size();
  std::string bytes(sizeof(length), '\0');
  std::memcpy(bytes.data(), &length, sizeof(length));
  return bytes + header + data;
}

/// Collects tensors; `build` gives the file's bytes.
class SafetensorsBuilder {
public:
  SafetensorsBuilder &tensor(const std::string &name, const std::string &dtype,
                             const std::vector<int64_t> &shape,
                             const std::string &bytes) {
    header += (header.empty() ? "{\"" : ",\"") + name + R"(":{"dtype":")" +
              dtype + R"(","shape":[)";
    for (size_t i = 0; i < shape.size(); ++i)
      header += (i == 0 ? "" : ",") + std::to_string(shape[i]);
    header += "],\"data_offsets\":[" + std::to_string(data.size()) + ",";
    data += bytes;
    header += std::to_string(data.size()) + "]}";
    return *this;
  }
  /// A tensor of F32 numbers that are all `value`.
  SafetensorsBuilder &numbers(const std::string &name,
                              const std::vector<int64_t> &shape,
                              float value = 1.0f) {
    size_t count = 1;
    for (int64_t size : shape)
      count *= static_cast<size_t>(size);
    std::string bytes(4 * count, '\0');
    for (size_t i = 0; i < count; ++i)
      std::memcpy(bytes.data() + 4 * i, &value, 4);
    return tensor(name, "F32", shape, bytes);
  }
  std::string build() const {
    return safetensorsFile(header.empty() ? "{}" : header + "}", data);
  }

private:
  std::string header, data;
};

} // namespace llmc::test

#endif // LLMC_TEST_UNIT_COMPILER_IMPORT_SAFETENSORS_BUILDER_H
