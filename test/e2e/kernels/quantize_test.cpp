// SPDX-License-Identifier: Apache-2.0
//
// Quantized activations: what every producer stores, against the op's formula.

#include "test/e2e/kernels/QuantizedRows.h"
#include "test/e2e/support/TestWeight.h"

namespace llmc::test {
namespace {

using QuantizeTest = KernelTest;

std::string rowsOf(int columns) {
  return "tensor<?x" + std::to_string(columns) + "xf32>";
}

std::string function(const std::string &arguments, const std::string &results,
                     int maxRows, const std::string &body) {
  return "  func.func @f(" + arguments + ") -> (" + results +
         ") attributes {graph.rows = " + std::to_string(maxRows) + " : i64} {" +
         body + "  }\n}\n";
}

/// Codes of `value`, as %q, %s and %t.
std::string quantizeText(const std::string &value, int columns, int group) {
  return "%q, %s, %t = graph.quantize_activations " + value + " group " +
         std::to_string(group) + " : " + rowsOf(columns) + " -> " +
         quantizedTypes(columns, group) + "\n";
}

/// An argument quantized by itself.
std::string argumentText(int columns, int maxRows) {
  std::string x = rowsOf(columns), types = quantizedTypes(columns, 32);
  return "module {\n" +
         function("%x: " + x + " {graph.name = \"x\"}",
                  quantizedResults(columns, 32), maxRows,
                  "\n%y:3 = graph.region (%a = %x : " + x + ") -> (" + types +
                      ") {\n" + quantizeText("%a", columns, 32) +
                      "graph.yield %q, %s, %t : " + types +
                      "\n}\nreturn %y#0, %y#1, %y#2 : " + types + "\n");
}

// The largest number of a block is 127, so that codes are the numbers rounded:
// halves to even, in both directions.
TEST_F(QuantizeTest, halvesRoundToEven) {
  auto runner = compile(argumentText(64, 9));
  ASSERT_TRUE(runner);
  constexpr int kRows = 6;
  std::vector<float> x;
  for (int row = 0; row < kRows; ++row)
    for (int k = 0; k < 64; ++k)
      x.push_back(k % 32 == 7 ? 127.0F
                              : 0.5F * static_cast<float>(3 * k - 70 + row));
  runner->write("x", x);
  runner->run("f", 0, kRows);
  QuantizedRows found(*runner, 64, 32);
  for (int row = 0; row < kRows; ++row)
    for (int k = 0; k < 64; ++k)
      ASSERT_EQ(found.code(row, k), std::nearbyint(x[row * 64 + k]))
          << row << ", " << k;
  found.expectOf(std::vector<double>(x.begin(), x.end()), 0);
}

TEST_F(QuantizeTest, zerosHaveScaleZero) {
  auto runner = compile(argumentText(96, 1));
  ASSERT_TRUE(runner);
  std::vector<float> x(96, 0.0F);
  x[40] = -1e-3F;
  x[70] = 1e-35F; // as good as zero
  runner->write("x", x);
  runner->run("f", 0, 1);
  QuantizedRows found(*runner, 96, 32);
  EXPECT_EQ(found.scale(0, 0), 0);
  EXPECT_EQ(found.sum(0, 0), 0);
  EXPECT_EQ(found.code(0, 0), 0);
  EXPECT_EQ(found.code(0, 40), -127);
  EXPECT_EQ(found.scale(0, 2), 0);
  EXPECT_EQ(found.code(0, 70), 0);
}

// With a float result beside the codes, for whoever reads floats.
TEST_F(QuantizeTest, elementwiseTree) {
  std::string x = rowsOf(96), types = x + ", " + quantizedTypes(96, 32);
  auto runner = compile(
      "module {\n" +
      function("%x: " + x + " {graph.name = \"x\"}",
               x + " {graph.name = \"y\"}, " + quantizedResults(96, 32), 9,
               "\n%y:4 = graph.region (%a = %x : " + x + ") -> (" + types +
                   ") {\n%0 = graph.silu %a : " + x + "\n" +
                   quantizeText("%0", 96, 32) +
                   "graph.yield %0, %q, %s, %t : " + types +
                   "\n}\nreturn %y#0, %y#1, %y#2, %y#3 : " + types + "\n"));
  ASSERT_TRUE(runner);
  constexpr int kRows = 7;
  std::vector<float> x7 = Numbers(31).take(size_t(kRows) * 96);
  std::vector<double> expected;
  for (float value : x7)
    expected.push_back(value / (1 + std::exp(-double(value))));
  runner->write("x", x7);
  runner->run("f", 0, kRows);
  expectClose(runner->read<float>("y"), expected, 1e-6);
  QuantizedRows(*runner, 96, 32).expectOf(expected, 1e-3);
}

//===----------------------------------------------------------------------===//
// Norms
//===----------------------------------------------------------------------===//

/// rms_norm, quantized by rows; with `silu` after it by blocks, and with the
/// floats too.
std::string normText(int columns, int maxRows, bool silu) {
  std::string x = rowsOf(columns), k = std::to_string(columns),
              gain = "tensor<" + k + "xf32>",
              encoded = "tensor<" + k + "x!graph.encoded<f32>>";
  int group = silu ? 32 : 0;
  std::string types = (silu ? x + ", " : "") + quantizedTypes(columns, group);
  std::string results = (silu ? x + " {graph.name = \"y\"}, " : "") +
                        quantizedResults(columns, group);
  return "module {\n  graph.weight @gain : " + encoded +
         " from [#graph.source<file = 0, offset = 0, rows = " + k + ">]\n" +
         function(
             "%x: " + x +
                 " {graph.name = \"x\"}, %first: tensor<i32> {graph.name = "
                 "\"first_row\"}",
             results, maxRows,
             "\n%g = graph.load_weight @gain : " + encoded +
                 "\n%y:" + (silu ? "4" : "3") +
                 " = graph.region (%a = %x : " + x + ", %e = %g : " + encoded +
                 ", %i = %first : tensor<i32>) -> (" + types +
                 ") {\n%0 = graph.dequantize %e : " + encoded + " -> " + gain +
                 "\n%1 = graph.select_rows %a, %i : " + x + " -> " + x +
                 "\n%n = graph.rms_norm %1, %0 epsilon 1.0e-6 : " + x + ", " +
                 gain + " -> " + x + "\n" +
                 (silu ? "%z = graph.silu %n : " + x + "\n" : "") +
                 quantizeText(silu ? "%z" : "%n", columns, group) +
                 "graph.yield " + (silu ? "%z, " : "") +
                 "%q, %s, %t : " + types + "\n}\nreturn " +
                 (silu ? "%y#0, %y#1, %y#2, %y#3" : "%y#0, %y#1, %y#2") +
                 " : " + types + "\n");
}

std::vector<double> normOf(const std::vector<float> &x,
                           const std::vector<float> &gain, bool silu) {
  std::vector<double> y;
  for (size_t row = 0; row < x.size() / gain.size(); ++row) {
    double squares = 0;
    for (size_t k = 0; k < gain.size(); ++k)
      squares += double(x[row * gain.size() + k]) * x[row * gain.size() + k];
    for (size_t k = 0; k < gain.size(); ++k) {
      double value = x[row * gain.size() + k] * gain[k] /
                     std::sqrt(squares / double(gain.size()) + 1e-6);
      y.push_back(silu ? value / (1 + std::exp(-value)) : value);
    }
  }
  return y;
}

class QuantizedNormTest : public KernelTest {
protected:
  void check(int columns, bool silu) {
    SCOPED_TRACE(columns);
    constexpr int kMaxRows = 13, kRows = 10, kFirst = 2;
    auto runner = compile(normText(columns, kMaxRows, silu));
    ASSERT_TRUE(runner);
    std::vector<float> x = Numbers(41).take(size_t(kMaxRows) * columns),
                       gain = Numbers(42).take(columns);
    runner->write("x", x);
    runner->write("gain", gain);
    runner->run("f", 0, kRows, kFirst);
    std::vector<double> expected = normOf(
        {x.begin() + kFirst * columns, x.begin() + (kFirst + kRows) * columns},
        gain, silu);
    QuantizedRows(*runner, columns, silu ? 32 : 0).expectOf(expected, 1e-3);
    if (silu)
      expectClose(runner->read<float>("y"), expected, 2e-6);
  }
};

TEST_F(QuantizedNormTest, hasAScaleForEachRow) {
  for (int columns : {32, 96, 1024, 2080})
    check(columns, false);
}

TEST_F(QuantizedNormTest, isQuantizedInBlocksBehindOtherOps) {
  for (int columns : {64, 1056})
    check(columns, true);
}

//===----------------------------------------------------------------------===//
// Attention
//===----------------------------------------------------------------------===//

constexpr int kHeads = 6, kKvHeads = 2;

std::string attentionText(int headDim, int maxRows) {
  std::string d = std::to_string(headDim),
              q = "tensor<?x" + std::to_string(kHeads) + "x" + d + "xf32>",
              k = "tensor<?x" + std::to_string(kKvHeads) + "x" + d + "xf32>";
  int columns = kHeads * headDim;
  std::string y = rowsOf(columns),
              types = y + ", " + quantizedTypes(columns, 32);
  return "module {\n" +
         function(
             "%query: " + q + " {graph.name = \"query\"}, %key: " + k +
                 " {graph.name = \"key\"}, %value: " + k +
                 " {graph.name = \"value\"}, %p: tensor<i32> {graph.name "
                 "= \"position\"}",
             y + " {graph.name = \"y\"}, " + quantizedResults(columns, 32),
             maxRows,
             "\n%y:4 = graph.region (%a = %query : " + q +
                 ", %b = %key : " + k + ", %c = %value : " + k +
                 ", %i = %p : tensor<i32>) -> (" + types +
                 ") {\n%0 = graph.sdpa %a, %b, %c, %i scale 0.5 causal : " + q +
                 ", " + k + ", " + k + " -> " + q +
                 "\n%1 = graph.reshape %0 : " + q + " -> " + y + "\n" +
                 quantizeText("%1", columns, 32) +
                 "graph.yield %1, %q, %s, %t : " + types +
                 "\n}\nreturn %y#0, %y#1, %y#2, %y#3 : " + types + "\n");
}

/// Softmax of 0.5 q k over the keys up to the row's own, times the values.
std::vector<double> attentionOf(const std::vector<float> &query,
                                const std::vector<float> &key,
                                const std::vector<float> &value, int headDim) {
  std::vector<double> result(query.size());
  for (size_t first = 0; first < query.size(); first += headDim) {
    size_t row = first / headDim / kHeads, head = first / headDim % kHeads,
           kvHead = head / (kHeads / kKvHeads);
    double sum = 0;
    for (size_t other = 0; other <= row; ++other) {
      size_t firstOther = (other * kKvHeads + kvHead) * headDim;
      double score = 0;
      for (int i = 0; i < headDim; ++i)
        score += double(query[first + i]) * key[firstOther + i];
      double weight = std::exp(0.5 * score);
      sum += weight;
      for (int i = 0; i < headDim; ++i)
        result[first + i] += weight * value[firstOther + i];
    }
    for (int i = 0; i < headDim; ++i)
      result[first + i] /= sum;
  }
  return result;
}

// Heads of one block and of several, of a number that no lanes divide evenly.
TEST_F(QuantizeTest, attention) {
  for (int headDim : {32, 64, 96, 128}) {
    SCOPED_TRACE(headDim);
    constexpr int kMaxRows = 11, kRows = 9;
    auto runner = compile(attentionText(headDim, kMaxRows));
    ASSERT_TRUE(runner);
    Numbers numbers(51);
    std::vector<float> query = numbers.take(size_t(kRows) * kHeads * headDim),
                       key = numbers.take(size_t(kRows) * kKvHeads * headDim),
                       value = numbers.take(size_t(kRows) * kKvHeads * headDim);
    runner->write("query", query);
    runner->write("key", key);
    runner->write("value", value);
    runner->run("f", 0, kRows);
    std::vector<double> expected = attentionOf(query, key, value, headDim);
    expectClose(runner->read<float>("y"), expected, 2e-6);
    QuantizedRows(*runner, kHeads * headDim, 32).expectOf(expected, 1e-3);
  }
}

//===----------------------------------------------------------------------===//
// Linears
//===----------------------------------------------------------------------===//

/// silu(x W^T) * (x V^T) + r, quantized, and as floats where `hasFloats`.
std::string swigluText(const TestWeight &weight, int maxRows, bool hasFloats) {
  std::string x = rowsOf(weight.columns), y = rowsOf(weight.rows),
              n = std::to_string(weight.rows),
              w = "tensor<" + n + "x" + std::to_string(weight.columns) +
                  "x!graph.encoded<" + weight.encoding + ">>";
  auto declare = [&](const std::string &name) {
    return "  graph.weight @" + name + " : " + w +
           " from [#graph.source<file = 0, offset = 0, rows = " + n + ">]\n";
  };
  std::string types =
      (hasFloats ? y + ", " : "") + quantizedTypes(weight.rows, 32);
  std::string results = (hasFloats ? y + " {graph.name = \"y\"}, " : "") +
                        quantizedResults(weight.rows, 32);
  std::string linears = "%0 = graph.quantized_linear %a, %b : " + x + ", " + w +
                        " -> " + y +
                        "\n%1 = graph.quantized_linear %a, %c : " + x + ", " +
                        w + " -> " + y + "\n";
  std::string tree = "%2 = graph.silu %0 : " + y +
                     "\n%3 = graph.mul %2, %1 : " + y + ", " + y + " -> " + y +
                     "\n%4 = graph.add %d, %3 : " + y + ", " + y + " -> " + y +
                     "\n";
  return "module {\n" + declare("w") + declare("v") +
         function(
             "%x: " + x + " {graph.name = \"x\"}, %r: " + y +
                 " {graph.name = \"residual\"}",
             results, maxRows,
             "\n%w = graph.load_weight @w : " + w +
                 "\n%v = graph.load_weight @v : " + w + "\n%y:" +
                 (hasFloats ? "4" : "3") + " = graph.region (%a = %x : " + x +
                 ", %b = %w : " + w + ", %c = %v : " + w + ", %d = %r : " + y +
                 ") -> (" + types + ") {\n" + linears + tree +
                 quantizeText("%4", weight.rows, 32) + "graph.yield " +
                 (hasFloats ? "%4, " : "") + "%q, %s, %t : " + types +
                 "\n}\nreturn " +
                 (hasFloats ? "%y#0, %y#1, %y#2, %y#3" : "%y#0, %y#1, %y#2") +
                 " : " + types + "\n");
}

std::vector<double> swigluOf(const std::vector<float> &x,
                             const TestWeight &gate, const TestWeight &up,
                             const std::vector<float> &residual) {
  auto dot = [&](size_t row, const TestWeight &weight, int n) {
    double sum = 0;
    for (int k = 0; k < weight.columns; ++k)
      sum += double(x[row * weight.columns + k]) *
             weight.values[size_t(n) * weight.columns + k];
    return sum;
  };
  std::vector<double> y;
  for (size_t row = 0; row < x.size() / gate.columns; ++row)
    for (int n = 0; n < gate.rows; ++n) {
      double g = dot(row, gate, n);
      y.push_back(g / (1 + std::exp(-g)) * dot(row, up, n) +
                  residual[row * gate.rows + n]);
    }
  return y;
}

// Rows and columns that fill no workgroup, and such that fill several.
TEST_F(QuantizeTest, swigluOfAGemm) {
  struct Shape {
    int columns, maxRows, rows;
    bool hasFloats;
  };
  for (Shape shape : {Shape{32, 9, 9, false}, Shape{96, 33, 30, true},
                      Shape{256, 64, 64, false}, Shape{1056, 40, 39, false}}) {
    SCOPED_TRACE(std::to_string(shape.columns) + " columns, rows " +
                 std::to_string(shape.rows));
    TestWeight gate = makeRandomWeight("q8_0", shape.columns, 64, 61),
               up = makeRandomWeight("q8_0", shape.columns, 64, 62);
    auto runner = compile(swigluText(gate, shape.maxRows, shape.hasFloats));
    ASSERT_TRUE(runner);
    for (size_t plane = 0; plane < gate.planes.size(); ++plane) {
      runner->write("w", gate.planes[plane], static_cast<int>(plane));
      runner->write("v", up.planes[plane], static_cast<int>(plane));
    }
    std::vector<float> x = Numbers(63).take(size_t(shape.rows) * 64),
                       residual =
                           Numbers(64).take(size_t(shape.rows) * shape.columns);
    runner->write("x", x);
    runner->write("residual", residual);
    runner->run("f", 0, shape.rows);
    std::vector<double> expected = swigluOf(x, gate, up, residual);
    QuantizedRows(*runner, shape.columns, 32).expectOf(expected, 2e-3);
    if (shape.hasFloats)
      expectClose(runner->read<float>("y"), expected, 5e-6);
  }
}

} // namespace
} // namespace llmc::test
