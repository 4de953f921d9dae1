// SPDX-License-Identifier: Apache-2.0
//
// What exceeds a device's limits: tables and weights larger than a binding,
// more workgroups than a dimension has, values beyond fp16. All results are
// known exactly. Each case is a mistake that some other compiler or runtime
// made; B and a number at the end of a name are its place in the list of such
// mistakes that the tests follow (docs/testing.md).

#include "test/e2e/compiled/GraphFile.h"

#include "runtime/format/Reader.h"

#include <algorithm>
#include <cmath>

namespace llmc::test {
namespace {

/// fp16 bits of a number that fp16 holds exactly and that is no subnormal.
uint16_t halfBits(float number) {
  if (number == 0)
    return 0;
  int exponent = 0;
  const float fraction = std::frexp(std::abs(number), &exponent); // [½, 1)
  const auto mantissa = static_cast<uint16_t>((fraction * 2 - 1) * 1024);
  return static_cast<uint16_t>((number < 0 ? 0x8000 : 0) |
                               (exponent - 1 + 15) << 10 | mantissa);
}

/// A table of which element (i, j) is `at(i, j)`, as fp16.
template <typename Function>
std::string halfTable(uint64_t rows, uint64_t columns, const Function &at) {
  std::string bytes;
  bytes.reserve(rows * columns * 2);
  for (uint64_t i = 0; i < rows; ++i)
    for (uint64_t j = 0; j < columns; ++j)
      bytes += bytesOf(halfBits(at(i, j)));
  return bytes;
}

void addGather(GraphFile &graph, uint64_t rows, uint64_t columns,
               const std::string &encoding) {
  const std::string shape =
      "tensor<" + std::to_string(rows) + "x" + std::to_string(columns) + "x";
  const std::string stored = shape + "!graph.encoded<" + encoding + ">>";
  const std::string result = "tensor<?x" + std::to_string(columns) + "xf32>";
  graph.addText(
      "func.func @gather(%t: tensor<?xi32> {graph.name = "
      "\"tokens\"}) -> (" +
      result + " {graph.name = \"y\"}) {\n%e = graph.load_weight @w" + " : " +
      stored + "\n%w = graph.dequantize %e : " + stored + " -> " + shape +
      "f32>\n%y = graph.embedding %t, %w : " + "tensor<?xi32>, " + shape +
      "f32> -> " + result + "\nreturn %y : " + result + "\n}\n");
}

template <typename Function>
void expectGathered(GraphRunner &runner, const std::vector<int32_t> &ids,
                    uint64_t columns, const Function &at) {
  auto y = runner.run("gather", ids.size(), {}, columns, /*position=*/0, ids);
  ASSERT_TRUE(y.ok()) << y.status().message();
  for (size_t row = 0; row < ids.size(); ++row)
    for (uint64_t j = 0; j < columns; ++j)
      ASSERT_EQ((*y)[row * columns + j], at(static_cast<uint64_t>(ids[row]), j))
          << "id " << ids[row] << ", column " << j;
}

format::Variant onlyVariant(const TemporaryFolder &folder) {
  auto reader = format::Reader::open(folder.file("graph.llmc"));
  if (reader.ok())
    return (*reader)->manifest().variants(0);
  ADD_FAILURE() << reader.status().message();
  return {};
}

/// Calls `check` with each dispatch of the file.
template <typename Check>
void forEachDispatch(const TemporaryFolder &folder, const Check &check) {
  const format::Variant variant = onlyVariant(folder);
  for (const format::Entry &entry : variant.entries())
    for (const format::Command &command : entry.commands())
      if (command.has_dispatch())
        check(command.dispatch());
}

void expectRanges(const TemporaryFolder &folder, uint64_t most) {
  forEachDispatch(folder, [&](const format::Dispatch &dispatch) {
    for (const format::Slice &slice : dispatch.bindings())
      EXPECT_LE(slice.range(), most) << dispatch.label();
  });
}

// pytorch/executorch#22333: rows beyond the largest image cannot be reached.
class TallTables : public testing::TestWithParam<int32_t> {};

TEST_P(TallTables, EveryRowIsGathered_B02) {
  LLMC_E2E_NEED_DEVICE();
  const int32_t height = GetParam();
  const auto rows = static_cast<uint64_t>(height);
  constexpr uint64_t kColumns = 384;
  std::vector<int32_t> ids = {0, 1, 16383, height - 2, height - 1, height - 1};
  if (height > 16384)
    ids.push_back(16384);

  const auto wide = [](uint64_t i, uint64_t j) {
    return static_cast<float>(i) + static_cast<float>(j) / 512;
  };
  std::vector<float> numbers;
  for (uint64_t i = 0; i < rows; ++i)
    for (uint64_t j = 0; j < kColumns; ++j)
      numbers.push_back(wide(i, j));
  TemporaryFolder folder;
  GraphFile single;
  single.addWeight("w", rows, kColumns, numbers);
  addGather(single, rows, kColumns, "f32");
  auto runner = compileAndOpen(single, folder);
  ASSERT_TRUE(runner.ok()) << runner.status().message();
  expectGathered(*runner, ids, kColumns, wide);

  const auto narrow = [](uint64_t i, uint64_t j) {
    return static_cast<float>(i % 1021) + static_cast<float>(j % 2) / 2;
  };
  GraphFile half;
  half.addWeight("w", rows, kColumns, "f16", halfTable(rows, kColumns, narrow));
  addGather(half, rows, kColumns, "f16");
  auto halfRunner = compileAndOpen(half, folder);
  ASSERT_TRUE(halfRunner.ok()) << halfRunner.status().message();
  expectGathered(*halfRunner, ids, kColumns, narrow);
}

INSTANTIATE_TEST_SUITE_P(Heights, TallTables,
                         testing::Values(16384, 16385, 30522));

/// Element (i, j) of the tables below.
float tableElement(uint64_t i, uint64_t j) {
  return static_cast<float>(i % 251) + static_cast<float>(j % 4) / 4;
}

/// Rows of small integers: sums with the table's elements are exact in fp32.
std::vector<float> smallRows(uint64_t rows, uint64_t columns) {
  std::vector<float> x;
  for (uint64_t m = 0; m < rows; ++m)
    for (uint64_t k = 0; k < columns; ++k)
      x.push_back(static_cast<float>((5 * m + 3 * k) % 9) - 4);
  return x;
}

/// y = x·Tᵀ + b, computed in integers of a quarter.
std::vector<float> multiply(const std::vector<float> &x, uint64_t columns,
                            uint64_t outputs) {
  std::vector<float> y;
  for (uint64_t m = 0; m < x.size() / columns; ++m)
    for (uint64_t n = 0; n < outputs; ++n) {
      int64_t quarters = 4 * static_cast<int64_t>(n % 5);
      for (uint64_t k = 0; k < columns; ++k)
        quarters += static_cast<int64_t>(x[m * columns + k]) *
                    static_cast<int64_t>(4 * tableElement(n, k));
      y.push_back(static_cast<float>(quarters) / 4);
    }
  return y;
}

void addTableAndBias(GraphFile &graph, uint64_t rows, uint64_t columns) {
  graph.addWeight("w", rows, columns, "f16",
                  halfTable(rows, columns, tableElement));
  std::vector<float> bias;
  for (uint64_t n = 0; n < rows; ++n)
    bias.push_back(static_cast<float>(n % 5));
  graph.addWeight("b", rows, 0, bias);
}

// ggml-org/whisper.cpp#3777, iree-org/iree#13196: a tensor larger than a
// binding is bound whole. The limit of 1 MiB is less than the table's 2,048,000
// bytes.
TEST(LargeTables, AreBoundInParts_B34) {
  LLMC_E2E_NEED_DEVICE();
  constexpr uint64_t kRows = 1000, kColumns = 1024, kMost = 1 << 20;
  TemporaryFolder folder;
  GraphFile graph;
  addTableAndBias(graph, kRows, kColumns);
  addGather(graph, kRows, kColumns, "f16");
  graph.addLinear("linear", "?", kColumns, kRows, "w", "f16", "b");
  auto runner = compileAndOpen(graph, folder, {"max_buffer_range=1048576"});
  ASSERT_TRUE(runner.ok()) << runner.status().message();
  expectRanges(folder, kMost);
  expectGathered(*runner, {0, 511, 512, 513, 999}, kColumns, tableElement);
  // Decode, few rows, many rows.
  for (uint64_t rows : {1, 7, 33}) {
    const auto x = smallRows(rows, kColumns);
    auto y = runner->run("linear", rows, {{"x", x}}, kRows);
    ASSERT_TRUE(y.ok()) << y.status().message();
    EXPECT_TRUE(*y == multiply(x, kColumns, kRows)) << rows << " rows";
  }
}

// The same at real size: 143,360,000 bytes against lavapipe's 134,217,728.
TEST(LargeTables, OfRealSizeAreBoundInParts_B34) {
  LLMC_E2E_NEED_DEVICE();
  constexpr uint64_t kRows = 70000, kColumns = 1024;
  TemporaryFolder folder;
  GraphFile graph;
  addTableAndBias(graph, kRows, kColumns);
  addGather(graph, kRows, kColumns, "f16");
  graph.addLinear("linear", "1", kColumns, kRows, "w", "f16", "b");
  auto runner = compileAndOpen(graph, folder);
  ASSERT_TRUE(runner.ok()) << runner.status().message();
  expectRanges(folder, 134217728);
  expectGathered(*runner, {0, 65535, 65536, 65537, 69999}, kColumns,
                 tableElement);
  const auto x = smallRows(1, kColumns);
  auto y = runner->run("linear", 1, {{"x", x}}, kRows);
  ASSERT_TRUE(y.ok()) << y.status().message();
  EXPECT_TRUE(*y == multiply(x, kColumns, kRows));
}

// Many constants exceed an allocation together, none alone.
TEST(LargeTables, ConstantsTakeSeveralAllocations_B34) {
  LLMC_E2E_NEED_DEVICE();
  constexpr uint64_t kSize = 256, kMost = 1 << 20;
  TemporaryFolder folder;
  GraphFile graph;
  for (uint64_t i = 0; i < 16; ++i) {
    const std::string name = "c" + std::to_string(i);
    graph.addWeight(
        name, kSize, kSize,
        std::vector<float>(kSize * kSize, static_cast<float>(i + 1)));
    graph.addLinear("times_" + name, "1", kSize, kSize, name, "f32");
  }
  auto runner = compileAndOpen(
      graph, folder,
      {"max_buffer_range=1048576", "max_allocation_bytes=1048576"});
  ASSERT_TRUE(runner.ok()) << runner.status().message();
  expectRanges(folder, kMost);
  int numBuffers = 0;
  const format::Variant variant = onlyVariant(folder);
  for (const format::Buffer &buffer : variant.buffers()) {
    EXPECT_LE(buffer.size(), kMost);
    numBuffers += buffer.kind() == format::Buffer::WEIGHTS ? 1 : 0;
  }
  EXPECT_EQ(numBuffers, 4);
  for (uint64_t i = 0; i < 16; ++i) {
    auto y = runner->run("times_c" + std::to_string(i), 1,
                         {{"x", std::vector<float>(kSize, 1.0f)}}, kSize);
    ASSERT_TRUE(y.ok()) << y.status().message();
    EXPECT_EQ(*y,
              std::vector<float>(kSize, 256.0f * static_cast<float>(i + 1)));
  }
}

void expectGroups(const TemporaryFolder &folder, uint32_t most) {
  forEachDispatch(folder, [&](const format::Dispatch &dispatch) {
    for (uint32_t count : dispatch.groups())
      EXPECT_LE(count, most) << dispatch.label();
  });
}

// ggml-org/llama.cpp PR #28592: more workgroups than 65535 in a dimension.
TEST(ManyWorkgroups, ElementwiseOfSixteenMillionNumbers_B35) {
  LLMC_E2E_NEED_DEVICE();
  constexpr uint64_t kCount = 65535 * 256 + 1;
  const std::string type = "tensor<1x" + std::to_string(kCount) + "xf32>";
  TemporaryFolder folder;
  GraphFile graph;
  graph.addText("func.func @f(%x: " + type + " {graph.name = \"x\"}) -> (" +
                type +
                " {graph.name = \"y\"}) {\n%two = graph.constant 2.0 : "
                "tensor<f32>\n%one = graph.constant 1.0 : tensor<f32>\n"
                "%m = graph.mul %x, %two : " +
                type + ", tensor<f32> -> " + type +
                "\n%y = graph.add %m, %one : " + type + ", tensor<f32> -> " +
                type + "\nreturn %y : " + type + "\n}\n");
  auto runner = compileAndOpen(graph, folder, {"max_workgroup_count=999"});
  ASSERT_TRUE(runner.ok()) << runner.status().message();
  expectGroups(folder, 999);
  std::vector<float> x(kCount);
  for (uint64_t i = 0; i < kCount; ++i)
    x[i] = static_cast<float>(i % 8191);
  auto y = runner->run("f", 1, {{"x", x}}, kCount);
  ASSERT_TRUE(y.ok()) << y.status().message();
  for (uint64_t i = 0; i < kCount; ++i)
    ASSERT_EQ((*y)[i], 2 * x[i] + 1) << i;
}

TEST(ManyWorkgroups, NormOfMoreRowsThanADimensionHas_B35) {
  LLMC_E2E_NEED_DEVICE();
  constexpr uint64_t kRows = 65537;
  TemporaryFolder folder;
  GraphFile graph;
  graph.addWeight("g", 8, 0, {1, 1, 1, 1, 2, 2, 2, 2});
  graph.addText("func.func @f(%x: tensor<65537x8xf32> {graph.name = \"x\"}) -> "
                "(tensor<65537x8xf32> {graph.name = \"y\"}) {\n"
                "%c = graph.load_weight @g : tensor<8x!graph.encoded<f32>>\n"
                "%g = graph.dequantize %c : tensor<8x!graph.encoded<f32>> -> "
                "tensor<8xf32>\n%y = graph.rms_norm %x, %g epsilon 1.0e-12 : "
                "tensor<65537x8xf32>, tensor<8xf32> -> tensor<65537x8xf32>\n"
                "return %y : tensor<65537x8xf32>\n}\n");
  auto runner = compileAndOpen(graph, folder);
  ASSERT_TRUE(runner.ok()) << runner.status().message();
  expectGroups(folder, 65535);
  // A row of ±(1 + r) has that root mean square.
  std::vector<float> x;
  for (uint64_t r = 0; r < kRows; ++r)
    for (uint64_t j = 0; j < 8; ++j)
      x.push_back(static_cast<float>(1 + r % 1000) * (j % 2 ? -1.0f : 1.0f));
  auto y = runner->run("f", kRows, {{"x", x}}, 8);
  ASSERT_TRUE(y.ok()) << y.status().message();
  for (uint64_t i = 0; i < y->size(); ++i)
    ASSERT_NEAR((*y)[i], (i % 8 < 4 ? 1.0f : 2.0f) * (i % 2 ? -1.0f : 1.0f),
                4e-7f)
        << i;
}

// ggml-org/llama.cpp#18969: partial sums of 131072 pass fp16's 65504, the
// result is 64.
TEST(LargeValues, PartialSumsBeyondHalf_B10) {
  LLMC_E2E_NEED_DEVICE();
  constexpr uint64_t kInputs = 4096, kOutputs = 16;
  TemporaryFolder folder;
  GraphFile graph;
  graph.addWeight("w", kOutputs, kInputs, "f16",
                  halfTable(kOutputs, kInputs, [](uint64_t, uint64_t k) {
                    return k < 2048 ? 8.0f : k < 4095 ? -8.0f : 0.0f;
                  }));
  graph.addLinear("linear", "?", kInputs, kOutputs, "w", "f16");
  auto runner = compileAndOpen(graph, folder);
  ASSERT_TRUE(runner.ok()) << runner.status().message();
  for (uint64_t rows : {1, 8, 64}) {
    auto y = runner->run("linear", rows,
                         {{"x", std::vector<float>(rows * kInputs, 8.0f)}},
                         kOutputs);
    ASSERT_TRUE(y.ok()) << y.status().message();
    EXPECT_EQ(*y, std::vector<float>(rows * kOutputs, 64.0f));
  }
}

// microsoft/onnxruntime#26732: the residual stream passes fp16's range.
TEST(LargeValues, ResidualStreamBeyondHalf_B10) {
  LLMC_E2E_NEED_DEVICE();
  constexpr uint64_t kSize = 64;
  TemporaryFolder folder;
  GraphFile graph;
  graph.addWeight("g", kSize, 0, std::vector<float>(kSize, 1.0f));
  graph.addText("func.func @f(%x: tensor<?x64xf32> {graph.name = \"x\"}, %h: "
                "tensor<?x64xf32> {graph.name = \"h\"}) -> "
                "(tensor<?x64xf32> {graph.name = \"y\"}) {\n"
                "%s = graph.add %x, %h : tensor<?x64xf32>, tensor<?x64xf32> -> "
                "tensor<?x64xf32>\n"
                "%c = graph.load_weight @g : tensor<64x!graph.encoded<f32>>\n"
                "%g = graph.dequantize %c : tensor<64x!graph.encoded<f32>> -> "
                "tensor<64xf32>\n%y = graph.rms_norm %s, %g epsilon 1.0e-6 : "
                "tensor<?x64xf32>, tensor<64xf32> -> tensor<?x64xf32>\n"
                "return %y : tensor<?x64xf32>\n}\n");
  auto runner = compileAndOpen(graph, folder);
  ASSERT_TRUE(runner.ok()) << runner.status().message();
  const std::vector<float> large(kSize, 60000.0f);
  auto y = runner->run("f", 1, {{"x", large}, {"h", large}}, kSize);
  ASSERT_TRUE(y.ok()) << y.status().message();
  for (float value : *y)
    EXPECT_NEAR(value, 1.0f, 4e-7f);
}

} // namespace
} // namespace llmc::test
