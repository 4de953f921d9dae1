// SPDX-License-Identifier: Apache-2.0
//
// Writes small ONNX files byte by byte, right ones and wrong ones.

#ifndef LLMC_TEST_UNIT_COMPILER_IMPORT_ONNX_WRITER_H
#define LLMC_TEST_UNIT_COMPILER_IMPORT_ONNX_WRITER_H

#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

namespace llmc::onnx_writer {

inline std::string varint(uint64_t value) {
  std::string text;
  for (; value > 127; value >>= 7)
    text += static_cast<char>(value | 128);
  return text + static_cast<char>(value);
}

inline std::string integer(unsigned field, int64_t value) {
  return varint(field << 3) + varint(static_cast<uint64_t>(value));
}

inline std::string bytes(unsigned field, const std::string &value) {
  return varint(field << 3 | 2) + varint(value.size()) + value;
}

template <typename T>
std::string raw(const std::vector<T> &values) {
  return {reinterpret_cast<const char *>(values.data()),
          values.size() * sizeof(T)};
}

/// TensorProto up to where its elements are.
inline std::string tensorHead(const std::string &name, int type,
                              const std::vector<int64_t> &dims) {
  std::string text;
  for (int64_t dim : dims)
    text += integer(1, dim);
  return text + integer(2, type) + bytes(8, name);
}

inline std::string floats(const std::string &name,
                          const std::vector<int64_t> &dims,
                          const std::vector<float> &values) {
  return tensorHead(name, 1, dims) + bytes(9, raw(values));
}

inline std::string int64s(const std::string &name,
                          const std::vector<int64_t> &values) {
  return tensorHead(name, 7, {static_cast<int64_t>(values.size())}) +
         bytes(9, raw(values));
}

inline std::string bytesTensor(const std::string &name,
                               const std::vector<int64_t> &dims,
                               const std::vector<uint8_t> &values) {
  return tensorHead(name, 2, dims) + bytes(9, raw(values));
}

/// A tensor of external data; `entries` are keys and values.
inline std::string
external(const std::string &name, int type, const std::vector<int64_t> &dims,
         const std::vector<std::pair<std::string, std::string>> &entries) {
  std::string text = tensorHead(name, type, dims) + integer(14, 1);
  for (const auto &[key, value] : entries)
    text += bytes(13, bytes(1, key) + bytes(2, value));
  return text;
}

inline std::string attribute(const std::string &name, int64_t value) {
  return bytes(1, name) + integer(3, value) + integer(20, 2);
}

inline std::string attribute(const std::string &name,
                             const std::vector<int64_t> &values) {
  std::string text = bytes(1, name);
  for (int64_t value : values)
    text += integer(8, value);
  return text + integer(20, 7);
}

inline std::string attribute(const std::string &name, float value) {
  return bytes(1, name) + varint(2 << 3 | 5) + raw(std::vector<float>{value}) +
         integer(20, 1);
}

inline std::string node(const std::string &op,
                        const std::vector<std::string> &inputs,
                        const std::vector<std::string> &outputs,
                        const std::vector<std::string> &attributes = {},
                        const std::string &domain = "") {
  std::string text;
  for (const std::string &name : inputs)
    text += bytes(1, name);
  for (const std::string &name : outputs)
    text += bytes(2, name);
  text += bytes(3, outputs.front() + "_node") + bytes(4, op);
  for (const std::string &value : attributes)
    text += bytes(5, value);
  return domain.empty() ? text : text + bytes(7, domain);
}

/// A dimension is a number, or a name when it is one that is no number.
inline std::string value(const std::string &name, int type,
                         const std::vector<std::string> &dims) {
  std::string shape;
  for (const std::string &dim : dims)
    shape +=
        bytes(1, dim[0] >= '0' && dim[0] <= '9' ? integer(1, std::stoll(dim))
                                                : bytes(2, dim));
  return bytes(1, name) +
         bytes(2, bytes(1, integer(1, type) + bytes(2, shape)));
}

struct Graph {
  std::vector<std::string> nodes, initializers, inputs, outputs;
  std::vector<std::pair<std::string, int64_t>> opsets = {{"", 17}};

  std::string graph() const {
    std::string text;
    for (const std::string &item : nodes)
      text += bytes(1, item);
    text += bytes(2, "toy");
    for (const std::string &item : initializers)
      text += bytes(5, item);
    for (const std::string &item : inputs)
      text += bytes(11, item);
    for (const std::string &item : outputs)
      text += bytes(12, item);
    return text;
  }

  std::string model() const {
    std::string text = integer(1, 8) + bytes(7, graph());
    for (const auto &[domain, version] : opsets)
      text += bytes(8, bytes(1, domain) + integer(2, version));
    return text;
  }
};

} // namespace llmc::onnx_writer

#endif // LLMC_TEST_UNIT_COMPILER_IMPORT_ONNX_WRITER_H
