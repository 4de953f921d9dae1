// SPDX-License-Identifier: Apache-2.0
//
// Linears whose right values are known exactly: every partial sum is a number
// that fp32 holds, so no order of summation changes a bit. Each case is a
// mistake that some other compiler or runtime made.

#include "test/e2e/compiled/GraphFile.h"

#include "runtime/format/Reader.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>

namespace llmc::test {
namespace {

/// Y = X·Wᵀ + b with X[m,k] = ((37m+101k) mod 127) − 63,
/// W[n,k] = ((53n+29k) mod 61) − 30 and b[n] = n mod 5.
struct Integers {
  uint64_t inputs, outputs;

  std::vector<float> rows(uint64_t first, uint64_t count) const {
    std::vector<float> x;
    for (uint64_t m = first; m < first + count; ++m)
      for (uint64_t k = 0; k < inputs; ++k)
        x.push_back(static_cast<float>((37 * m + 101 * k) % 127) - 63);
    return x;
  }
  void addTo(GraphFile &graph) const {
    std::vector<float> w, b;
    for (uint64_t n = 0; n < outputs; ++n) {
      for (uint64_t k = 0; k < inputs; ++k)
        w.push_back(static_cast<float>((53 * n + 29 * k) % 61) - 30);
      b.push_back(static_cast<float>(n % 5));
    }
    graph.addWeight("w", outputs, inputs, w);
    graph.addWeight("b", outputs, 0, b);
  }
  void addLinear(GraphFile &graph, const std::string &function,
                 const std::string &numRows) const {
    graph.addLinear(function, numRows, inputs, outputs, "w", "f32", "b");
  }
};

/// What is known of a result.
struct Sums {
  int64_t total = 0;    // of all numbers
  int64_t checksum = 0; // of (m+1)(n+1)·Y[m,n], modulo 1000003
};

Sums sum(const std::vector<float> &y, uint64_t columns) {
  Sums sums;
  for (size_t i = 0; i < y.size(); ++i) {
    const int64_t value = static_cast<int64_t>(y[i]);
    EXPECT_EQ(static_cast<float>(value), y[i]);
    sums.total += value;
    const int64_t weight =
        static_cast<int64_t>((i / columns + 1) * (i % columns + 1) % 1000003);
    sums.checksum =
        ((sums.checksum + weight * value) % 1000003 + 1000003) % 1000003;
  }
  return sums;
}

const Integers kSquare = {384, 384};

void expectSquare(const std::vector<float> &y) {
  ASSERT_EQ(y.size(), 1500u * 384);
  EXPECT_EQ(y[0], 6492);
  EXPECT_EQ(y[777 * 384 + 100], 6493);
  EXPECT_EQ(y[1499 * 384 + 383], 1492);
  const Sums sums = sum(y, 384);
  EXPECT_EQ(sums.total, 1155546);
  EXPECT_EQ(sums.checksum, 828799);
}

/// Not a test of its own: RepeatedGemm starts it in fresh processes.
TEST(LinearWorker, RunsAFileOnce) {
  const char *file = std::getenv("LLMC_E2E_WORKER_FILE");
  if (!file)
    GTEST_SKIP() << "started by another test";
  auto runner = GraphRunner::open(file);
  ASSERT_TRUE(runner.ok()) << runner.status().message();
  auto y = runner->run("linear", 1500, {{"x", kSquare.rows(0, 1500)}}, 384);
  ASSERT_TRUE(y.ok()) << y.status().message();
  expectSquare(*y);
}

TEST(Linears, GemmIsRightEveryTime) {
  LLMC_E2E_NEED_DEVICE();
  TemporaryFolder folder;
  GraphFile graph;
  kSquare.addTo(graph);
  kSquare.addLinear(graph, "linear", "1500");
  auto runner = compileAndOpen(graph, folder);
  ASSERT_TRUE(runner.ok()) << runner.status().message();
  const Inputs inputs = {{"x", kSquare.rows(0, 1500)}};
  auto first = runner->run("linear", 1500, inputs, 384);
  ASSERT_TRUE(first.ok()) << first.status().message();
  expectSquare(*first);
  for (int i = 1; i < 100; ++i) {
    auto again = runner->run("linear", 1500, inputs, 384);
    ASSERT_TRUE(again.ok()) << again.status().message();
    ASSERT_TRUE(*again == *first) << "run " << i;
  }
  setenv("LLMC_E2E_WORKER_FILE", folder.file("graph.llmc").c_str(), 1);
  for (int i = 0; i < 3; ++i) {
    const ToolResult fresh = runProgram(
        {"/proc/self/exe", "--gtest_filter=LinearWorker.RunsAFileOnce"});
    EXPECT_EQ(fresh.exitCode, 0) << fresh.output << fresh.errors;
  }
  unsetenv("LLMC_E2E_WORKER_FILE");
}

/// Adreno drivers compute tiles wrongly in these shapes.
TEST(Linears, GemmsForAdrenoAvoidSquareWorkgroups) {
  TemporaryFolder folder;
  GraphFile graph;
  kSquare.addTo(graph);
  kSquare.addLinear(graph, "large", "1500");
  kSquare.addLinear(graph, "linear", "?");
  const std::string file = folder.file("graph.llmc");
  LLMC_E2E_OK(compile(graph.write(folder), file, {"adreno-840"}));
  auto reader = format::Reader::open(file);
  ASSERT_TRUE(reader.ok()) << reader.status().message();
  int numGemms = 0;
  for (const format::Kernel &kernel :
       (*reader)->manifest().variants(0).kernels()) {
    if (kernel.estimate().kind() != "gemm")
      continue;
    ++numGemms;
    const uint32_t x = kernel.workgroup(0), y = kernel.workgroup(1);
    EXPECT_FALSE((x == 8 && y == 8) || (x == 4 && y == 16)) << kernel.name();
  }
  EXPECT_GE(numGemms, 2);
  // Shuffles in a GEMM are computed wrongly, too.
  for (const std::string &feature :
       (*reader)->manifest().variants(0).target().features())
    EXPECT_NE(feature, "subgroup_shuffle");
}

TEST(Linears, FewRowsAndManyAgreeBitForBit) {
  LLMC_E2E_NEED_DEVICE();
  const Integers shape = {1536, 1536};
  TemporaryFolder folder;
  GraphFile graph;
  shape.addTo(graph);
  shape.addLinear(graph, "linear", "?");
  auto runner = compileAndOpen(graph, folder);
  ASSERT_TRUE(runner.ok()) << runner.status().message();
  auto whole = runner->run("linear", 9, {{"x", shape.rows(0, 9)}}, 1536);
  ASSERT_TRUE(whole.ok()) << whole.status().message();
  EXPECT_EQ((*whole)[0], 15857);
  EXPECT_EQ((*whole)[8 * 1536 + 1535], -4743);
  const Sums sums = sum(*whole, 1536);
  EXPECT_EQ(sums.total, 36660);
  EXPECT_EQ(sums.checksum, 237253);
  for (uint64_t step = 1; step <= 8; ++step) {
    std::vector<float> parts;
    for (uint64_t m = 0; m < 9; m += step) {
      const uint64_t count = std::min(step, 9 - m);
      auto part =
          runner->run("linear", count, {{"x", shape.rows(m, count)}}, 1536);
      ASSERT_TRUE(part.ok()) << part.status().message();
      parts.insert(parts.end(), part->begin(), part->end());
    }
    EXPECT_TRUE(parts == *whole) << step << " rows at a time";
  }
}

TEST(Linears, ConstantMatrixTimesVector) {
  LLMC_E2E_NEED_DEVICE();
  TemporaryFolder folder;
  GraphFile graph;
  graph.addWeight("w", 250, 1024, std::vector<float>(250 * 1024, 1.0f));
  graph.addLinear("linear", "1", 1024, 250, "w", "f32");
  auto runner = compileAndOpen(graph, folder);
  ASSERT_TRUE(runner.ok()) << runner.status().message();
  auto y =
      runner->run("linear", 1, {{"x", std::vector<float>(1024, 0.25f)}}, 250);
  ASSERT_TRUE(y.ok()) << y.status().message();
  EXPECT_EQ(*y, std::vector<float>(250, 256.0f));
}

TEST(Linears, ThinResultsOfLongPrompts_B05) {
  LLMC_E2E_NEED_DEVICE();
  const Integers shape = {1024, 16};
  TemporaryFolder folder;
  GraphFile graph;
  shape.addTo(graph);
  shape.addLinear(graph, "linear", "?");
  shape.addLinear(graph, "rows150", "150");
  shape.addLinear(graph, "rows394", "394");
  auto runner = compileAndOpen(graph, folder);
  ASSERT_TRUE(runner.ok()) << runner.status().message();
  auto whole = runner->run("rows394", 394, {{"x", shape.rows(0, 394)}}, 16);
  ASSERT_TRUE(whole.ok()) << whole.status().message();
  EXPECT_EQ((*whole)[0], 9284);
  EXPECT_EQ((*whole)[393 * 16 + 15], -3002);
  const Sums sums = sum(*whole, 16);
  EXPECT_EQ(sums.total, 18922);
  EXPECT_EQ(sums.checksum, 345939);
  for (uint64_t rows : {1, 32, 33, 150}) {
    auto y = runner->run(rows == 150 ? "rows150" : "linear", rows,
                         {{"x", shape.rows(0, rows)}}, 16);
    ASSERT_TRUE(y.ok()) << y.status().message();
    EXPECT_TRUE(std::equal(y->begin(), y->end(), whole->begin()))
        << rows << " rows";
  }
}

/// Number i of a sequence of integers in ±30.
float smallInteger(uint64_t row, uint64_t k) {
  return static_cast<float>((37 * row + 101 * k) % 61) - 30;
}

std::vector<float> smallIntegers(uint64_t firstRow, uint64_t rows,
                                 uint64_t columns) {
  std::vector<float> numbers;
  for (uint64_t row = firstRow; row < firstRow + rows; ++row)
    for (uint64_t k = 0; k < columns; ++k)
      numbers.push_back(smallInteger(row, k));
  return numbers;
}

// A[8, 64, 128] against B[32, 128, 45], each A used by four consecutive B:
// neither 64 rows nor 45 columns fill the tiles, whatever the subgroup.
class RaggedTiles : public testing::TestWithParam<int> {};

TEST_P(RaggedTiles, OfABatchAreRight_B05) {
  LLMC_E2E_NEED_DEVICE();
  constexpr uint64_t kRows = 64, kInputs = 128, kOutputs = 45;
  TemporaryFolder folder;
  GraphFile graph;
  for (uint64_t b = 0; b < 32; ++b) {
    const std::string name = "b" + std::to_string(b);
    graph.addWeight(name, kOutputs, kInputs,
                    smallIntegers(1000 + b * kOutputs, kOutputs, kInputs));
    graph.addLinear("times_" + name, "64", kInputs, kOutputs, name, "f32");
  }
  auto runner = compileAndOpen(graph, folder,
                               {"subgroup_size=" + std::to_string(GetParam())});
  ASSERT_TRUE(runner.ok()) << runner.status().message();
  for (uint64_t b = 0; b < 32; ++b) {
    const uint64_t firstRow = b / 4 * kRows;
    auto y =
        runner->run("times_b" + std::to_string(b), kRows,
                    {{"x", smallIntegers(firstRow, kRows, kInputs)}}, kOutputs);
    ASSERT_TRUE(y.ok()) << y.status().message();
    for (uint64_t i = 0; i < kRows * kOutputs; ++i) {
      float product = 0;
      for (uint64_t k = 0; k < kInputs; ++k)
        product += smallInteger(firstRow + i / kOutputs, k) *
                   smallInteger(1000 + b * kOutputs + i % kOutputs, k);
      ASSERT_EQ((*y)[i], product) << "matrix " << b << ", number " << i;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Subgroups, RaggedTiles, testing::Values(8, 64, 128),
                         testing::PrintToStringParamName());

/// fp16 bits of 2^exponent.
uint16_t powerOfTwo(int exponent) {
  return static_cast<uint16_t>((15 + exponent) << 10);
}

/// Q4_0: code (3n+5k) mod 16, scale of a group of 32 ½, 1 or 2.
std::string makeFourBitWeight() {
  std::string bytes;
  for (int n = 0; n < 128; ++n)
    for (int group = 0; group < 4; ++group) {
      bytes += bytesOf(powerOfTwo((n + group) % 3 - 1));
      for (int j = 0; j < 16; ++j) {
        const auto code = [&](int k) { return (3 * n + 5 * k) % 16; };
        bytes += static_cast<char>(code(32 * group + j) |
                                   code(32 * group + j + 16) << 4);
      }
    }
  return bytes;
}

std::vector<float> makeFourBitRows(int count) {
  std::vector<float> x;
  for (int m = 0; m < count; ++m)
    for (int k = 0; k < 128; ++k)
      x.push_back(static_cast<float>((13 * m + 7 * k) % 255) - 127);
  return x;
}

GraphFile makeFourBitGraph() {
  GraphFile graph;
  graph.addWeight("w", 128, 128, "q4_0", makeFourBitWeight());
  graph.addLinear("linear", "?", 128, 128, "w", "q4_0");
  for (const char *rows : {"129", "256", "2048"})
    graph.addLinear(std::string("rows") + rows, rows, 128, 128, "w", "q4_0");
  return graph;
}

TEST(Linears, FourBitsWithMoreRowsThanInputs) {
  LLMC_E2E_NEED_DEVICE();
  TemporaryFolder folder;
  const GraphFile graph = makeFourBitGraph();
  auto runner = compileAndOpen(graph, folder);
  ASSERT_TRUE(runner.ok()) << runner.status().message();
  auto whole =
      runner->run("rows2048", 2048, {{"x", makeFourBitRows(2048)}}, 128);
  ASSERT_TRUE(whole.ok()) << whole.status().message();
  EXPECT_EQ((*whole)[0], 810.5f);
  EXPECT_EQ((*whole)[128 * 128 + 5], -5360.5f);
  EXPECT_EQ((*whole)[255 * 128], 810.5f);
  EXPECT_EQ((*whole)[255 * 128 + 127], 844.5f);
  for (int rows : {1, 64, 127, 128, 129, 256}) {
    const std::string function =
        rows > 128 ? "rows" + std::to_string(rows) : "linear";
    auto y = runner->run(function, static_cast<uint64_t>(rows),
                         {{"x", makeFourBitRows(rows)}}, 128);
    ASSERT_TRUE(y.ok()) << y.status().message();
    EXPECT_TRUE(std::equal(y->begin(), y->end(), whole->begin()))
        << rows << " rows";
  }
}

/// Activations as int8, with a scale for 32 columns. Up to eight rows read
/// floats, so a row of many is compared with the same row of other batches, not
/// with that row alone.
TEST(Linears, FourBitsWithInt8Activations) {
  LLMC_E2E_NEED_DEVICE();
  TemporaryFolder folder, exactFolder;
  const GraphFile graph = makeFourBitGraph();
  auto exactRunner = compileAndOpen(graph, exactFolder, {}, "f32");
  ASSERT_TRUE(exactRunner.ok()) << exactRunner.status().message();
  auto runner = compileAndOpen(graph, folder, {}, "i8");
  ASSERT_TRUE(runner.ok()) << runner.status().message();
  const Inputs inputs = {{"x", makeFourBitRows(2048)}};
  auto exact = exactRunner->run("rows2048", 2048, inputs, 128);
  auto whole = runner->run("rows2048", 2048, inputs, 128);
  ASSERT_TRUE(exact.ok() && whole.ok());
  EXPECT_EQ((*exact)[128 * 128 + 5], -5360.5f);
  EXPECT_LE(relativeDifference(*whole, *exact), 0.02);
  EXPECT_GT(relativeDifference(*whole, *exact), 0);
  for (int rows : {9, 64, 127, 128, 129, 256}) {
    const std::string function =
        rows > 128 ? "rows" + std::to_string(rows) : "linear";
    auto y = runner->run(function, static_cast<uint64_t>(rows),
                         {{"x", makeFourBitRows(rows)}}, 128);
    ASSERT_TRUE(y.ok()) << y.status().message();
    EXPECT_TRUE(std::equal(y->begin(), y->end(), whole->begin()))
        << rows << " rows";
  }
  auto one = runner->run("linear", 1, {{"x", makeFourBitRows(1)}}, 128);
  ASSERT_TRUE(one.ok()) << one.status().message();
  EXPECT_TRUE(std::equal(one->begin(), one->end(), exact->begin()));
}

// pytorch/executorch#22431: a scale for the whole tensor, where each row should
// have its own. All rows are in ±1, but for one entry of 1000 in row 1.
TEST(Linears, AnOutlierOfOneRowLeavesTheOthers_B20) {
  LLMC_E2E_NEED_DEVICE();
  constexpr size_t kRows = 16, kInputs = 384, kOutputs = 64;
  uint32_t state = 1;
  auto next = [&] {
    state = state * 1664525U + 1013904223U;
    return static_cast<float>(static_cast<int32_t>(state)) / 2147483648.0F;
  };
  std::vector<float> weights(kOutputs * kInputs), first(kInputs);
  std::generate(weights.begin(), weights.end(), next);
  std::generate(first.begin(), first.end(), next);
  std::string codes;
  for (float weight : weights) {
    if (codes.size() % 34 == 0)
      codes += bytesOf(uint16_t{0x2000}); // 2^-7
    codes += static_cast<char>(std::lround(weight * 127));
  }
  std::vector<float> rows, plain;
  for (size_t row = 0; row < kRows; ++row)
    rows.insert(rows.end(), first.begin(), first.end());
  plain = rows;
  rows[kInputs + 5] = 1000;
  GraphFile graph;
  graph.addWeight("w", kOutputs, kInputs, "q8_0", codes);
  graph.addLinear("linear", "?", kInputs, kOutputs, "w", "q8_0");
  TemporaryFolder folder, exactFolder;
  auto exact = compileAndOpen(graph, exactFolder, {}, "f32");
  auto runner = compileAndOpen(graph, folder, {}, "i8");
  ASSERT_TRUE(exact.ok()) << exact.status().message();
  ASSERT_TRUE(runner.ok()) << runner.status().message();
  auto wanted = exact->run("linear", kRows, {{"x", plain}}, kOutputs);
  auto alone = runner->run("linear", kRows, {{"x", plain}}, kOutputs);
  auto found = runner->run("linear", kRows, {{"x", rows}}, kOutputs);
  ASSERT_TRUE(wanted.ok() && alone.ok() && found.ok());
  double product = 0, left = 0, right = 0;
  for (size_t i = 0; i < kOutputs; ++i) {
    EXPECT_EQ((*found)[i], (*alone)[i]) << i;
    product += double((*found)[i]) * (*wanted)[i];
    left += double((*found)[i]) * (*found)[i];
    right += double((*wanted)[i]) * (*wanted)[i];
  }
  EXPECT_GE(product / std::sqrt(left * right), 0.9995);
  EXPECT_NE((*found)[kOutputs], (*alone)[kOutputs]);
}

} // namespace
} // namespace llmc::test
