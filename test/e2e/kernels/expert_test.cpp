// SPDX-License-Identifier: Apache-2.0
//
// Kernels of mixtures of experts: the choice of experts, linears whose rows of
// the weight the experts decide, and the weighted sum; against plain C++.

#include "test/e2e/kernels/LinearText.h"

#include <limits>
#include <numeric>

namespace llmc::test {
namespace {

std::string tensor(const std::vector<int> &sizes, const std::string &element) {
  std::string text = "tensor<?x";
  for (int size : sizes)
    text += std::to_string(size) + "x";
  return text + element + ">";
}

//===----------------------------------------------------------------------===//
// Routes
//===----------------------------------------------------------------------===//

std::string routeText(int experts, int chosen, int maxRows, bool isNormalized) {
  std::string scores = tensor({experts}, "f32"),
              weights = tensor({chosen}, "f32"), ids = tensor({chosen}, "i32");
  return "module {\n  func.func @f(%x: " + scores +
         " {graph.name = \"scores\"}) -> (" + weights +
         " {graph.name = \"weights\"}, " + ids +
         " {graph.name = \"experts\"}) attributes {graph.rows = " +
         std::to_string(maxRows) +
         " : i64} {\n    %r:2 = graph.region (%a = " + "%x : " + scores +
         ") -> (" + weights + ", " + ids +
         ") {\n      %w, %e = graph.route %a " +
         (isNormalized ? "normalized " : "") + ": " + scores + " -> " +
         weights + ", " + ids + "\n      graph.yield %w, %e : " + weights +
         ", " + ids + "\n    }\n    return %r#0, %r#1 : " + weights + ", " +
         ids + "\n  }\n}\n";
}

class RouteTest : public KernelTest {
protected:
  struct Routes {
    std::vector<int32_t> experts;
    std::vector<float> weights;
  };

  /// Of `scores` [rows, experts], in a bucket of `maxRows` rows.
  Routes run(const std::vector<float> &scores, int experts, int chosen,
             int maxRows, bool isNormalized) {
    int rows = int(scores.size()) / experts, width = padToFour(experts);
    auto runner = compile(routeText(experts, chosen, maxRows, isNormalized));
    if (!runner)
      return {};
    std::vector<float> padded(size_t(rows) * width);
    for (int row = 0; row < rows; ++row)
      std::copy_n(&scores[size_t(row) * experts], experts,
                  &padded[size_t(row) * width]);
    runner->write("scores", padded);
    runner->run("f", 0, rows);
    Routes routes{runner->read<int32_t>("experts"),
                  unpadRows(runner->read<float>("weights"), rows, chosen)};
    routes.experts.resize(size_t(rows) * chosen);
    return routes;
  }

  /// Compares with a sorted list.
  void check(const std::vector<float> &scores, int experts, int chosen,
             int maxRows, bool isNormalized) {
    Routes routes = run(scores, experts, chosen, maxRows, isNormalized);
    std::vector<int32_t> ids;
    std::vector<double> weights;
    for (size_t base = 0; base < scores.size(); base += experts) {
      std::vector<int32_t> order(experts);
      std::iota(order.begin(), order.end(), 0);
      std::stable_sort(order.begin(), order.end(), [&](int a, int b) {
        return scores[base + a] > scores[base + b];
      });
      double total = 0;
      for (int e = 0; e < (isNormalized ? chosen : experts); ++e)
        total += std::exp(double(scores[base + order[e]]));
      for (int j = 0; j < chosen; ++j) {
        ids.push_back(order[j]);
        weights.push_back(std::exp(double(scores[base + order[j]])) / total);
      }
    }
    EXPECT_EQ(routes.experts, ids);
    expectClose(routes.weights, weights, 1e-6);
  }
};

TEST_F(RouteTest, takesTheHighestScores) {
  for (auto [experts, chosen] :
       {std::pair(8, 2), std::pair(5, 5), std::pair(60, 3), std::pair(128, 8),
        std::pair(200, 6), std::pair(1, 1)})
    for (bool isNormalized : {false, true}) {
      SCOPED_TRACE(std::to_string(chosen) + " of " + std::to_string(experts));
      std::vector<float> scores = Numbers(experts).take(size_t(7) * experts);
      check(scores, experts, chosen, 7, isNormalized);
      check(scores, experts, chosen, 9, isNormalized);
    }
}

TEST_F(RouteTest, equalScoresGoToTheLowerIndex) {
  std::vector<float> scores(8 * 16, -1.5F);
  for (int row = 0; row < 8; ++row)
    scores[size_t(row) * 16 + row] = scores[size_t(row) * 16 + 9] = 2;
  scores[0] = 0.0F; // of both signs: they are equal
  scores[1] = -0.0F;
  scores[9] = -0.0F;
  check(scores, 16, 3, 8, true);
}

// Whatever the scores are, a row goes to different experts that there are.
TEST_F(RouteTest, scoresThatAreNoNumbersGiveExpertsAllTheSame) {
  constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();
  std::vector<float> scores(4 * 8, kNaN);
  scores[8] = scores[10] = 1;
  scores[16] = std::numeric_limits<float>::infinity();
  Routes routes = run(scores, 8, 3, 4, true);
  ASSERT_EQ(routes.experts.size(), 12U);
  for (int row = 0; row < 4; ++row) {
    std::vector<int32_t> ids(routes.experts.begin() + 3L * row,
                             routes.experts.begin() + 3L * row + 3);
    std::sort(ids.begin(), ids.end());
    EXPECT_EQ(std::unique(ids.begin(), ids.end()), ids.end());
    EXPECT_GE(ids.front(), 0);
    EXPECT_LT(ids.back(), 8);
  }
}

//===----------------------------------------------------------------------===//
// Linears
//===----------------------------------------------------------------------===//

constexpr int kExperts = 5, kChosen = 3, kOutputs = 32;

/// silu(n W^T) * (n V^T) for each expert, n = rms_norm of x, or just x W^T of a
/// row for each expert.
std::string expertText(const TestWeight &weight, int maxRows, bool isGate) {
  std::string w = encoded(weight), e = tensor({kChosen}, "i32"),
              y = tensor({kChosen, kOutputs}, "f32"),
              x = isGate ? tensor({weight.columns}, "f32")
                         : tensor({kChosen, weight.columns}, "f32"),
              g = encodedVector(weight.columns),
              gain = "tensor<" + std::to_string(weight.columns) + "xf32>";
  auto linear = [&](const std::string &name, const std::string &input,
                    const std::string &matrix) {
    return "      " + name + " = graph.expert_linear " + input + ", " + matrix +
           ", %i : " + x + ", " + w + ", " + e + " -> " + y + "\n";
  };
  std::string body =
      isGate
          ? "      %d = graph.dequantize %c : " + g + " -> " + gain +
                "\n      %n = graph.rms_norm %a, %d epsilon 1.0e-5 : " + x +
                ", " + gain + " -> " + x + "\n" + linear("%0", "%n", "%b") +
                linear("%1", "%n", "%u") + "      %2 = graph.silu %0 : " + y +
                "\n      %r = graph.mul %2, %1 : " + y + ", " + y + " -> " + y +
                "\n"
          : linear("%r", "%a", "%b");
  return "module {\n" + declare("w", w, weight.rows) +
         declare("v", w, weight.rows) + declare("gain", g, weight.columns) +
         "  func.func @f(%x: " + x + " {graph.name = \"x\"}, %e: " + e +
         " {graph.name = \"experts\"}) -> (" + y +
         " {graph.name = \"y\"}) attributes {graph.rows = " +
         std::to_string(maxRows) + " : i64} {\n    %w = graph.load_weight @w" +
         " : " + w + "\n    %v = graph.load_weight @v : " + w +
         "\n    %gain = graph.load_weight @gain : " + g +
         "\n    %y = graph.region (%a = %x : " + x + ", %b = %w : " + w +
         ", %u = %v : " + w + ", %c = %gain : " + g + ", %i = %e : " + e +
         ") -> (" + y + ") {\n" + body + "      graph.yield %r : " + y +
         "\n    }\n    return %y : " + y + "\n  }\n}\n";
}

/// Of expert `expert`, which is the last one if there is no such expert.
std::vector<double> multiply(const double *x, const TestWeight &weight,
                             int expert) {
  if (expert < 0 || expert >= kExperts)
    expert = kExperts - 1;
  std::vector<double> y;
  for (int n = 0; n < kOutputs; ++n) {
    const double *row =
        &weight.values[size_t(expert * kOutputs + n) * size_t(weight.columns)];
    y.push_back(std::inner_product(x, x + weight.columns, row, 0.0));
  }
  return y;
}

std::vector<double> normalized(const float *x, const std::vector<float> &gain) {
  double squares = 0;
  for (size_t k = 0; k < gain.size(); ++k)
    squares += double(x[k]) * x[k];
  double root = std::sqrt(squares / double(gain.size()) + 1e-5);
  std::vector<double> y;
  for (size_t k = 0; k < gain.size(); ++k)
    y.push_back(x[k] * double(gain[k]) / root);
  return y;
}

class ExpertLinearTest : public KernelTest {
protected:
  void check(const std::string &encoding, int columns, int rows, int maxRows,
             bool isGate, double tolerance,
             const std::string &target = "lavapipe") {
    SCOPED_TRACE(target + " " + encoding + " rows " + std::to_string(rows));
    TestWeight w = makeRandomWeight(encoding, kExperts * kOutputs, columns, 21);
    TestWeight v = makeRandomWeight(encoding, kExperts * kOutputs, columns, 22);
    ProgramRunner::Options options;
    options.target = target;
    auto runner = compile(expertText(w, maxRows, isGate), options);
    ASSERT_TRUE(runner);
    std::vector<float> x = Numbers(23).take(size_t(rows) * columns *
                                            (isGate ? 1 : kChosen)),
                       gain = Numbers(24).take(columns);
    // Some experts twice in a row, some never, one that there is not.
    std::vector<int32_t> experts;
    for (int place = 0; place < rows * kChosen; ++place)
      experts.push_back(place % 7 == 5 ? 1000 : place * place % kExperts);
    writeWeight(*runner, "w", w);
    runner->write("x", x);
    runner->write("experts", experts);
    if (isGate) {
      writeWeight(*runner, "v", v);
      runner->write("gain", gain);
    }
    runner->run("f", 0, rows);
    std::vector<double> expected;
    for (int place = 0; place < rows * kChosen; ++place) {
      const float *at = &x[size_t(isGate ? place / kChosen : place) * columns];
      std::vector<double> input =
          isGate ? normalized(at, gain) : std::vector<double>(at, at + columns);
      std::vector<double> y = multiply(input.data(), w, experts[place]);
      std::vector<double> up = multiply(input.data(), v, experts[place]);
      for (size_t n = 0; n < y.size(); ++n)
        expected.push_back(isGate ? y[n] / (1 + std::exp(-y[n])) * up[n]
                                  : y[n]);
    }
    expectClose(runner->read<float>("y"), expected, tolerance);
  }
};

const char *const kEncodings[] = {"f32",  "f16",  "q8_0", "q4_0",
                                  "q4_k", "q6_k", "mxfp4"};

TEST_F(ExpertLinearTest, readsTheRowsOfItsExpert) {
  for (const char *encoding : kEncodings)
    for (auto [rows, maxRows] : {std::pair(1, 1), std::pair(5, 8)})
      for (bool isGate : {false, true})
        check(encoding, 256, rows, maxRows, isGate, 4e-6);
}

TEST_F(ExpertLinearTest, manyRows) {
  check("q8_0", 64, 77, 128, true, 4e-6);
  check("f16", 64, 128, 128, false, 4e-6);
}

/// The bounds of usual linears (linear_test.cpp), twice for gates.
double toleranceOf(const std::string &target, const std::string &encoding) {
  bool hasCodes = encoding == "q4_0" || encoding == "q4_k";
  if (target == "mali-g610" && (hasCodes || encoding == "q6_k"))
    return 8e-3;
  return target == "adreno-840" && (hasCodes || encoding == "q6_k") ? 4e-5
                                                                    : 4e-6;
}

TEST_F(ExpertLinearTest, ofOtherTargets) {
  for (const char *target : {"adreno-840", "mali-g610", "mali-g76"})
    for (const char *encoding : {"f16", "q8_0", "q4_0", "q4_k", "q6_k"})
      for (bool isGate : {false, true})
        check(encoding, 512, 3, 8, isGate, toleranceOf(target, encoding),
              target);
}

/// Inputs that are staged in parts.
TEST_F(ExpertLinearTest, longRowsOfOtherTargets) {
  check("q4_k", 2048 + 256, 1, 1, true, toleranceOf("mali-g76", "q4_k"),
        "mali-g76");
  check("q4_k", 2 * 4096 + 256, 1, 1, true, toleranceOf("mali-g610", "q4_k"),
        "mali-g610");
}

//===----------------------------------------------------------------------===//
// Sums
//===----------------------------------------------------------------------===//

std::string sumText(int chosen, int size, int maxRows) {
  std::string x = tensor({chosen, size}, "f32"), w = tensor({chosen}, "f32"),
              y = tensor({size}, "f32");
  return "module {\n  func.func @f(%x: " + x +
         " {graph.name = \"x\"}, %w: " + w +
         " {graph.name = \"weights\"}, %r: " + y +
         " {graph.name = \"residual\"}) -> (" + y +
         " {graph.name = \"y\"}) attributes {graph.rows = " +
         std::to_string(maxRows) +
         " : i64} {\n    %y = graph.region (%a = " + "%x : " + x +
         ", %b = %w : " + w + ", %c = %r : " + y + ") -> (" + y +
         ") {\n      %0 = graph.weighted_sum %a, %b : " + x + ", " + w +
         " -> " + y + "\n      %1 = graph.add %c, %0 : " + y + ", " + y +
         " -> " + y + "\n      graph.yield %1 : " + y +
         "\n    }\n    return %y : " + y + "\n  }\n}\n";
}

using WeightedSumTest = KernelTest;

TEST_F(WeightedSumTest, addsUpInOrder) {
  for (int chosen : {1, 2, 8})
    for (int rows : {1, 9}) {
      constexpr int kSize = 20;
      auto runner = compile(sumText(chosen, kSize, 9));
      ASSERT_TRUE(runner);
      std::vector<float> x = Numbers(1).take(size_t(rows) * chosen * kSize),
                         residual = Numbers(2).take(size_t(rows) * kSize);
      std::vector<float> weights = Numbers(3).take(size_t(rows) * chosen);
      std::vector<float> padded(size_t(rows) * padToFour(chosen));
      std::vector<double> expected(residual.begin(), residual.end());
      for (int row = 0; row < rows; ++row)
        for (int j = 0; j < chosen; ++j) {
          float weight = weights[size_t(row) * chosen + j];
          padded[size_t(row) * padToFour(chosen) + j] = weight;
          for (int n = 0; n < kSize; ++n)
            expected[size_t(row) * kSize + n] +=
                double(weight) * x[size_t(row * chosen + j) * kSize + n];
        }
      runner->write("x", x);
      runner->write("weights", padded);
      runner->write("residual", residual);
      runner->run("f", 0, rows);
      expectClose(runner->read<float>("y"), expected, 1e-6);
    }
}

} // namespace
} // namespace llmc::test
