// SPDX-License-Identifier: Apache-2.0
//
// Linears on quantized activations: the codes, scales and sums that
// docs/architecture.md describes are made here, and what comes out is compared
// with sums in double precision over the same codes.

#include "test/e2e/kernels/LinearText.h"

namespace llmc::test {
namespace {

/// Activations [rows, columns] as graph.quantize_activations gives them;
/// `group` is 0 (one scale a row) or 32.
struct QuantizedInput {
  int rows, columns, group;
  /// In the kernels' order.
  std::vector<int8_t> codes;
  std::vector<float> scales, sums;
  /// scale * code, row-major.
  std::vector<double> values;
};

QuantizedInput quantize(const std::vector<float> &x, int columns, int group) {
  int rows = static_cast<int>(x.size()) / columns, padded = padToFour(rows),
      blocks = columns / 32;
  QuantizedInput input{rows, columns, group, {}, {}, {}, {}};
  input.codes.resize(size_t(padded) * columns);
  input.scales.resize(group ? size_t(padded) * blocks : padded);
  input.sums.resize(size_t(padded) * blocks);
  for (int row = 0; row < rows; ++row)
    for (int block = 0; block < blocks; ++block) {
      const float *first = &x[size_t(row) * columns];
      int begin = group ? 32 * block : 0, end = group ? begin + 32 : columns;
      float largest = 0;
      for (int k = begin; k < end; ++k)
        largest = std::max(largest, std::abs(first[k]));
      float scale = largest / 127;
      size_t place = (size_t(row / 4) * blocks + block) * 4 + row % 4;
      input.scales[group ? place : row] = scale;
      int sum = 0;
      for (int k = 32 * block; k < 32 * block + 32; ++k) {
        int code =
            scale == 0 ? 0 : static_cast<int>(std::nearbyint(first[k] / scale));
        sum += code;
        input.codes[(size_t(row / 4) * (columns / 4) + k / 4) * 16 +
                    row % 4 * 4 + k % 4] = static_cast<int8_t>(code);
        input.values.push_back(double(scale) * code);
      }
      input.sums[place] = scale * static_cast<float>(sum);
    }
  return input;
}

std::string quantizedTypes(const TestWeight &weight, int group,
                           std::string &scales, std::string &sums) {
  std::string blocks = std::to_string(weight.columns / 32);
  sums = "tensor<?x" + blocks + "xf32>";
  scales = group ? sums : "tensor<?xf32>";
  return "tensor<?x" + std::to_string(weight.columns) + "xi8>";
}

/// y = x W^T + residual, or silu(x W^T) * (x V^T).
std::string text(const TestWeight &weight, int maxRows, int group,
                 bool isGate) {
  std::string scales, sums, y = activations(weight.rows), w = encoded(weight),
                            x = quantizedTypes(weight, group, scales, sums);
  auto linear = [&](const std::string &result, const std::string &operand) {
    return "      %" + result + " = graph.quantized_linear %a, %" + operand +
           " scales %as : " + scales + " sums %at : " + sums + " : " + x +
           ", " + w + " -> " + y + "\n";
  };
  std::string body =
      linear("0", "b") +
      (isGate ? linear("1", "c") + "      %2 = graph.silu %0 : " + y +
                    "\n      %3 = graph.mul %2, %1 : "
              : "      %3 = graph.add %d, %0 : ") +
      y + ", " + y + " -> " + y + "\n      graph.yield %3 : " + y + "\n";
  std::string second = isGate ? "%c = %v : " + w : "%d = %r : " + y;
  return "module {\n" + declare("w", w, weight.rows) +
         declare("v", w, weight.rows) + "  func.func @f(%x: " + x +
         " {graph.name = \"x\"}, %s: " + scales +
         " {graph.name = \"scales\"}, %t: " + sums +
         " {graph.name = \"sums\"}, %r: " + y +
         " {graph.name = \"residual\"}) -> (" + y +
         " {graph.name = \"y\"}) attributes {graph.rows = " +
         std::to_string(maxRows) +
         " : i64} {\n    %w = graph.load_weight @w : " + w +
         "\n    %v = graph.load_weight @v : " + w +
         "\n    %y = graph.region (%a = %x : " + x + ", %as = %s : " + scales +
         ", %at = %t : " + sums + ", %b = %w : " + w + ", " + second +
         ") -> (" + y + ") {\n" + body + "    }\n    return %y : " + y +
         "\n  }\n}\n";
}

std::vector<double> multiply(const QuantizedInput &input,
                             const TestWeight &weight) {
  std::vector<double> y;
  for (int row = 0; row < input.rows; ++row)
    for (int n = 0; n < weight.rows; ++n) {
      double sum = 0;
      for (int k = 0; k < weight.columns; ++k)
        sum += input.values[size_t(row) * weight.columns + k] *
               weight.values[size_t(n) * weight.columns + k];
      y.push_back(sum);
    }
  return y;
}

class QuantizedLinearTest : public KernelTest {
protected:
  std::vector<float> run(const std::string &target, const std::string &module,
                         const TestWeight &weight, const TestWeight *other,
                         const QuantizedInput &input) {
    ProgramRunner::Options options;
    options.target = target;
    auto runner = compile(module, options);
    if (!runner)
      return {};
    writeWeight(*runner, "w", weight);
    if (other)
      writeWeight(*runner, "v", *other);
    else
      runner->write("residual", residual(input.rows, weight.rows));
    runner->write("x", input.codes);
    runner->write("scales", input.scales);
    runner->write("sums", input.sums);
    runner->run("f", 0, input.rows);
    return unpadRows(runner->read<float>("y"), input.rows, weight.rows);
  }

  static std::vector<float> residual(int rows, int columns) {
    return Numbers(3).take(size_t(rows) * padToFour(columns));
  }

  void check(const std::string &target, const TestWeight &weight, int maxRows,
             int rows, int group) {
    SCOPED_TRACE(target + " " + weight.encoding + " " +
                 std::to_string(weight.rows) + "x" +
                 std::to_string(weight.columns) + " rows " +
                 std::to_string(rows) + " group " + std::to_string(group));
    QuantizedInput input = quantize(
        Numbers(7).take(size_t(rows) * weight.columns), weight.columns, group);
    std::vector<float> y = run(target, text(weight, maxRows, group, false),
                               weight, nullptr, input);
    std::vector<double> expected = multiply(input, weight);
    std::vector<float> added = residual(rows, weight.rows);
    for (int row = 0; row < rows; ++row)
      for (int n = 0; n < weight.rows; ++n)
        expected[size_t(row) * weight.rows + n] +=
            added[size_t(row) * padToFour(weight.rows) + n];
    expectClose(y, expected, 2e-6);
  }
};

class EncodedQuantizedLinearTest
    : public QuantizedLinearTest,
      public testing::WithParamInterface<const char *> {};

TEST_P(EncodedQuantizedLinearTest, matchesSumsOverTheCodes) {
  for (const char *target : {"lavapipe", "adreno-840", "mali-g610"})
    for (int group : {0, 32}) {
      check(target, makeRandomWeight(GetParam(), 136, 256, 2), 32, 32, group);
      check(target, makeRandomWeight(GetParam(), 20, 768, 3), 45, 13, group);
    }
}

TEST_P(EncodedQuantizedLinearTest, gateAndUp) {
  TestWeight gate = makeRandomWeight(GetParam(), 72, 256, 12),
             up = makeRandomWeight(GetParam(), 72, 256, 13);
  for (const char *target : {"lavapipe", "adreno-840", "mali-g610"})
    for (int group : {0, 32}) {
      SCOPED_TRACE(target);
      QuantizedInput input =
          quantize(Numbers(4).take(size_t(40) * 256), 256, group);
      std::vector<float> y =
          run(target, text(gate, 40, group, true), gate, &up, input);
      std::vector<double> expected = multiply(input, gate),
                          other = multiply(input, up);
      for (size_t i = 0; i < expected.size(); ++i)
        expected[i] = expected[i] / (1 + std::exp(-expected[i])) * other[i];
      expectClose(y, expected, 4e-6);
    }
}

INSTANTIATE_TEST_SUITE_P(
    Encodings, EncodedQuantizedLinearTest,
    testing::Values("q8_0", "q4_0", "q4_k", "q5_k", "q6_k", "q3_k", "iq2_xxs",
                    "q4_1", "q5_1", "iq4_nl", "iq4_xs", "mxfp4", "i4_g64",
                    "i4_g128", "i4_channel", "i4_g32_asym", "i4_g64_asym",
                    "i4_g128_asym", "i4_channel_asym", "i8_channel",
                    "i8_channel_asym"),
    [](const auto &info) { return std::string(info.param); });

/// Codes and scales of one: every sum is a whole number.
TEST_F(QuantizedLinearTest, wholeNumbersAreExact) {
  auto number = [](int n, int k) { return (53 * n + 29 * k) % 61 - 30; };
  TestWeight weight = makeWholeQ8Weight(50, 96, number);
  for (int rows : {9, 13, 32}) {
    std::vector<float> x;
    for (int m = 0; m < rows; ++m)
      for (int k = 0; k < 96; ++k)
        x.push_back(static_cast<float>(
            k % 32 == 0 ? 127 : (37 * m + 101 * k) % 255 - 127));
    QuantizedInput input = quantize(x, 96, 32);
    std::vector<float> y =
        run("lavapipe", text(weight, rows, 32, false), weight, nullptr, input);
    ASSERT_EQ(y.size(), size_t(rows) * 50);
    std::vector<double> sums = multiply(input, weight);
    std::vector<float> added = residual(rows, 50);
    for (int m = 0; m < rows; ++m)
      for (int n = 0; n < 50; ++n)
        ASSERT_EQ(y[size_t(m) * 50 + n],
                  added[size_t(m) * padToFour(50) + n] +
                      static_cast<float>(sums[size_t(m) * 50 + n]))
            << m << ", " << n;
  }
}

/// A row of zeros has scale 0.
TEST_F(QuantizedLinearTest, zerosGiveZeros) {
  TestWeight weight = makeRandomWeight("q4_k", 32, 256, 5);
  for (int group : {0, 32}) {
    QuantizedInput input =
        quantize(std::vector<float>(size_t(16) * 256, 0.0F), 256, group);
    std::vector<float> y =
        run("lavapipe", text(weight, 16, group, false), weight, nullptr, input);
    ASSERT_EQ(y, residual(16, 32));
  }
}

} // namespace
} // namespace llmc::test
