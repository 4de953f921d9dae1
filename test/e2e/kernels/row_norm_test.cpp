// SPDX-License-Identifier: Apache-2.0
//
// Layer norms, lengths and pools of rows: sizes, extremes of the statistics,
// element-wise neighbours, texts without rows.

#include "test/e2e/kernels/KernelTest.h"

namespace llmc::test {
namespace {

std::string rowsOf(int size) {
  return "tensor<?x" + std::to_string(size) + "xf32>";
}

/// A module of one region: `body` computes %y from %a [rows, size], the
/// dequantized weights %g and %h [size], and %s, pairs of the input "spans".
std::string moduleText(int size, int maxRows, const std::string &body) {
  const std::string n = std::to_string(size), type = rowsOf(size),
                    encoded = "tensor<" + n + "x!graph.encoded<f32>>",
                    vector = "tensor<" + n + "xf32>", pairs = "tensor<?x2xi32>",
                    source =
                        " from [#graph.source<file = 0, offset = 0, rows = " +
                        n + ">]\n";
  return "module {\n  graph.weight @gain : " + encoded + source +
         "  graph.weight @bias : " + encoded + source +
         "  func.func @f(%x: " + type +
         " {graph.name = \"x\"}, %spans: " + pairs +
         " {graph.name = \"spans\"}) -> (" + type +
         " {graph.name = \"y\"}) attributes {graph.rows = " +
         std::to_string(maxRows) +
         " : i64} {\n    %wg = graph.load_weight @gain : " + encoded +
         "\n    %wb = graph.load_weight @bias : " + encoded +
         "\n    %r = graph.region (%a = %x : " + type +
         ", %eg = %wg : " + encoded + ", %eb = %wb : " + encoded +
         ", %s = %spans : " + pairs + ") -> (" + type +
         ") {\n      %g = graph.dequantize %eg : " + encoded + " -> " + vector +
         "\n      %h = graph.dequantize %eb : " + encoded + " -> " + vector +
         "\n" + body + "      graph.yield %y : " + type +
         "\n    }\n    return %r : " + type + "\n  }\n}\n";
}

std::string layerNorm(int size, const std::string &input, bool hasBias) {
  std::string n = std::to_string(size), type = rowsOf(size);
  return "graph.layer_norm " + input + ", %g" +
         (hasBias ? " bias %h : tensor<" + n + "xf32>" : "") +
         " epsilon 1.0e-12 : " + type + ", tensor<" + n + "xf32> -> " + type +
         "\n";
}

std::vector<double> normOf(const std::vector<double> &x,
                           const std::vector<float> &gain,
                           const std::vector<float> &bias) {
  double mean = 0, variance = 0;
  for (double value : x)
    mean += value / double(x.size());
  for (double value : x)
    variance += (value - mean) * (value - mean) / double(x.size());
  std::vector<double> y;
  for (size_t i = 0; i < x.size(); ++i)
    y.push_back((x[i] - mean) / std::sqrt(variance + 1e-12) * gain[i] +
                bias[i]);
  return y;
}

/// Rows of `size` numbers, padded to four.
std::vector<float> padded(const std::vector<std::vector<double>> &rows) {
  std::vector<float> all;
  for (const std::vector<double> &row : rows) {
    all.insert(all.end(), row.begin(), row.end());
    all.resize(padToFour(int(all.size())));
  }
  return all;
}

class RowNormTest : public KernelTest {
protected:
  /// Runs `text` on the rows and compares. A weight that it does not read is
  /// empty.
  void check(const std::string &text,
             const std::vector<std::vector<double>> &rows,
             const std::vector<float> &gain, const std::vector<float> &bias,
             const std::vector<std::vector<double>> &expected,
             double tolerance) {
    auto runner = compile(text);
    ASSERT_TRUE(runner);
    runner->spoil("y");
    runner->write("x", padded(rows));
    write(*runner, "gain", gain);
    write(*runner, "bias", bias);
    runner->run("f", 0, int(rows.size()));
    std::vector<float> want = padded(expected);
    expectClose(runner->read<float>("y"), {want.begin(), want.end()},
                tolerance);
  }
  static void write(ProgramRunner &runner, const std::string &name,
                    std::vector<float> vector) {
    if (vector.empty())
      return;
    vector.resize(padToFour(int(vector.size())));
    runner.write(name, vector);
  }
};

std::vector<std::vector<double>> randomRows(int count, int size) {
  Numbers numbers{static_cast<uint32_t>(size)};
  std::vector<std::vector<double>> rows;
  for (int row = 0; row < count; ++row) {
    std::vector<float> one = numbers.take(size);
    rows.emplace_back(one.begin(), one.end());
  }
  return rows;
}

TEST_F(RowNormTest, layerNormOfSizesAndRows) {
  for (int size : {4, 50, 384, 1000, 2050}) {
    SCOPED_TRACE(size);
    auto rows = randomRows(7, size);
    std::vector<float> gain = Numbers(2).take(size),
                       bias = Numbers(3).take(size), none(size);
    std::vector<std::vector<double>> withBias, without;
    for (const auto &row : rows) {
      withBias.push_back(normOf(row, gain, bias));
      without.push_back(normOf(row, gain, none));
    }
    check(moduleText(size, 9, "      %y = " + layerNorm(size, "%a", true)),
          rows, gain, bias, withBias, 2e-6);
    check(moduleText(size, 9, "      %y = " + layerNorm(size, "%a", false)),
          rows, gain, {}, without, 2e-6);
  }
}

// In f16, epsilon would be 0 and the squares of small numbers, too.
TEST_F(RowNormTest, layerNormOfConstantsAndSmallNumbers_B09) {
  constexpr int kSize = 2048;
  std::vector<std::vector<double>> rows(3, std::vector<double>(kSize, 0.0)),
      expected(3, std::vector<double>(kSize, 0.25));
  for (int i = 0; i < kSize; ++i) {
    rows[1][size_t(i)] = 5;
    rows[2][size_t(i)] = i % 2 ? -1e-4 : 1e-4;
    expected[2][size_t(i)] += i % 2 ? -1.9999 : 1.9999;
  }
  check(moduleText(kSize, 3, "      %y = " + layerNorm(kSize, "%a", true)),
        rows, std::vector<float>(kSize, 2.0F), std::vector<float>(kSize, 0.25F),
        expected, 2e-6);
}

// The mean is a thousand times what is left of the numbers: squares of the
// numbers themselves would lose all digits.
TEST_F(RowNormTest, layerNormOfALargeMean) {
  constexpr int kSize = 768;
  auto rows = randomRows(2, kSize);
  for (auto &row : rows)
    for (double &x : row)
      x += 1000;
  std::vector<float> ones(kSize, 1.0F), none(kSize);
  check(moduleText(kSize, 2, "      %y = " + layerNorm(kSize, "%a", true)),
        rows, ones, none,
        {normOf(rows[0], ones, none), normOf(rows[1], ones, none)}, 2e-4);
}

// An addition before the norm and a function behind it.
TEST_F(RowNormTest, layerNormWithNeighbours) {
  constexpr int kSize = 64;
  auto rows = randomRows(5, kSize);
  std::vector<float> gain = Numbers(2).take(kSize),
                     bias = Numbers(3).take(kSize);
  std::string type = rowsOf(kSize);
  std::vector<std::vector<double>> expected;
  for (const auto &row : rows) {
    std::vector<double> sum = row;
    for (int i = 0; i < kSize; ++i)
      sum[i] += bias[i];
    expected.push_back(normOf(sum, gain, bias));
    for (double &y : expected.back())
      y = std::max(y, 0.0);
  }
  check(moduleText(kSize, 8,
                   "      %b = graph.add %a, %h : " + type +
                       ", tensor<64xf32> -> " + type +
                       "\n      %c = " + layerNorm(kSize, "%b", true) +
                       "      %y = graph.relu %c : " + type + "\n"),
        rows, gain, bias, expected, 2e-6);
}

TEST_F(RowNormTest, lengthsBecomeOneAndZerosStay) {
  for (int size : {50, 384}) {
    SCOPED_TRACE(size);
    auto rows = randomRows(4, size);
    std::fill(rows[2].begin(), rows[2].end(), 0.0);
    auto expected = rows;
    for (auto &row : expected) {
      double squares = 0;
      for (double x : row)
        squares += x * x;
      for (double &x : row)
        x /= std::max(std::sqrt(squares), 1e-12);
    }
    check(moduleText(size, 4,
                     "      %y = graph.l2_normalize %a epsilon 1.0e-12 : " +
                         rowsOf(size) + "\n"),
          rows, {}, {}, expected, 1e-6);
  }
}

/// Texts of rows 0 … 4, 5, and 8 … 10; one without rows between them.
const std::vector<int32_t> kSpans = {0, 5, 5, 6, 0, 0, 8, 11};

class PoolTest : public RowNormTest {
protected:
  void check(const std::string &mode, bool isNormed) {
    constexpr int kSize = 50, kRows = 12;
    std::string type = rowsOf(kSize);
    auto rows = randomRows(kRows, kSize);
    auto runner = compile(moduleText(
        kSize, kRows,
        "      %p = graph.pool " + mode + " %a, %s : " + type +
            ", tensor<?x2xi32> -> " + type + "\n      %y = " +
            (isNormed ? "graph.l2_normalize %p epsilon 1.0e-12 : " + type
                      : "graph.relu %p : " + type) +
            "\n"));
    ASSERT_TRUE(runner);
    std::vector<std::vector<double>> expected;
    std::vector<int32_t> spans = kSpans;
    spans.resize(2 * kRows);
    for (int text = 0; text < kRows; ++text)
      expected.push_back(
          poolOf(rows, mode, spans[2 * text], spans[2 * text + 1], isNormed));
    runner->spoil("y");
    runner->write("x", padded(rows));
    runner->write("spans", spans);
    runner->run("f", 0, kRows);
    std::vector<float> want = padded(expected);
    expectClose(runner->read<float>("y"), {want.begin(), want.end()}, 1e-6);
  }

  static std::vector<double> poolOf(const std::vector<std::vector<double>> &x,
                                    const std::string &mode, int begin, int end,
                                    bool isNormed) {
    std::vector<double> y(x.front().size());
    if (mode == "first")
      end = std::min(end, begin + 1);
    else if (mode == "last")
      begin = std::max(begin, end - 1);
    double squares = 0;
    for (size_t i = 0; i < y.size(); ++i) {
      for (int row = begin; row < end; ++row)
        y[i] += x[row][i] / (end - begin);
      squares += y[i] * y[i];
      if (!isNormed)
        y[i] = std::max(y[i], 0.0);
    }
    if (isNormed && squares > 0)
      for (double &value : y)
        value /= std::sqrt(squares);
    return y;
  }
};

TEST_F(PoolTest, meanFirstAndLast) {
  for (const char *mode : {"mean", "first", "last"}) {
    SCOPED_TRACE(mode);
    check(mode, /*isNormed=*/false);
    check(mode, /*isNormed=*/true);
  }
}

} // namespace
} // namespace llmc::test
