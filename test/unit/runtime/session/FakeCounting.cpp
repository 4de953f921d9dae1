// SPDX-License-Identifier: Apache-2.0
//
// FakeCounting.h: what append.spvasm, sum.spvasm and scale.spvasm do, in C++.

#include "test/unit/runtime/session/FakeCounting.h"

#include "test/support/fake_vulkan/FakeVulkan.h"

#include <atomic>
#include <cstring>
#include <filesystem>

namespace llmc::test {

namespace {

using Bindings = std::vector<FakeBinding>;
using Groups = std::array<uint32_t, 3>;

template <typename T>
T load(const uint8_t *bytes, int64_t index) {
  T value;
  std::memcpy(&value, bytes + index * static_cast<int64_t>(sizeof(T)),
              sizeof(T));
  return value;
}

void store(uint8_t *bytes, int64_t index, float value) {
  std::memcpy(bytes + index * static_cast<int64_t>(sizeof(float)), &value,
              sizeof(float));
}

struct Words {
  explicit Words(const uint8_t *bytes)
      : position(load<int32_t>(bytes, 0)), rows(load<int32_t>(bytes, 1)),
        firstRow(load<int32_t>(bytes, 2)) {}
  int32_t position, rows, firstRow;
};

/// cache[position + r] = tokens[r]
void append(const Bindings &bindings, const Groups &groups) {
  const Words step(bindings[0]);
  for (int32_t row = 0; row < step.rows && row < int32_t(groups[0]); ++row)
    store(bindings[2], step.position + row,
          static_cast<float>(load<int32_t>(bindings[1], row)));
}

/// hidden[r] = cache[0] + … + cache[position + r]
void sum(const Bindings &bindings, const Groups &groups) {
  const Words step(bindings[0]);
  for (int32_t row = 0; row < step.rows && row < int32_t(groups[0]); ++row) {
    float total = 0;
    for (int32_t i = 0; i <= step.position + row; ++i)
      total += load<float>(bindings[1], i);
    store(bindings[2], row, total);
  }
}

/// logits[r][v] = hidden[first + r] · weight[v], rows 8 numbers apart
void scale(const Bindings &bindings, const Groups &groups) {
  const Words step(bindings[0]);
  for (int32_t row = 0; row < step.rows && row < int32_t(groups[0]); ++row)
    for (uint32_t v = 0; v < groups[1]; ++v)
      store(bindings[3], row * 8 + v,
            load<float>(bindings[1], step.firstRow + row) *
                load<float>(bindings[2], v));
}

} // namespace

void addCountingKernels() {
  const auto add = [](const char *name, FakeKernel kernel) {
    FakeVulkan::addKernel(
        readBytes(std::string(LLMC_KERNEL_FOLDER) + "/" + name + ".spv"),
        std::move(kernel));
  };
  add("append", append);
  add("sum", sum);
  add("scale", scale);
}

namespace {

/// Different in every call.
std::string uniqueName(const char *ending) {
  static std::atomic<int> number{0};
  return "counting-" + std::to_string(number++) + ending;
}

} // namespace

CountingFile::CountingFile(ModuleFile contents)
    : file(writeTemporary(uniqueName(".llmc"), contents.makeBytes())),
      folder(temporaryPath(uniqueName(".cache"))) {
  std::filesystem::create_directory(folder);
}

CountingFile::~CountingFile() {
  std::error_code ignored;
  std::filesystem::remove(file, ignored);
  std::filesystem::remove_all(folder, ignored);
}

} // namespace llmc::test
