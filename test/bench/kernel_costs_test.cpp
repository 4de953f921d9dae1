// SPDX-License-Identifier: Apache-2.0
//
// What a multiply-add of the linears costs on the machine's Vulkan device,
// beside an addition of two buffers, so that a slower kernel is seen without a
// GPU and on any machine. On lavapipe both are bound by what its compiler makes
// of a load, some fifty instructions a lane, wherever the machine and its load
// put the clock; CPU time is taken, of which other processes change little, the
// least of several runs.
//
// Bounds are about 1.6 times what was measured on two cores that did other
// work, where figures repeated to a twentieth; a GEMV whose lanes load their
// inputs themselves costs about twice as much.

#include "test/e2e/kernels/LinearText.h"

#include <ctime>

namespace llmc::test {
namespace {

/// Runs of each, in turn, of which the least counts.
constexpr int kRepeats = 40;

/// Seconds of all cores for one run of function `f`.
double cpuSeconds(ProgramRunner &runner, int rows) {
  std::clock_t start = std::clock();
  runner.run("f", 0, rows);
  return static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
}

std::string function(const std::string &x, const std::string &y, int rows,
                     const std::string &region) {
  return "  func.func @f(%x: " + x + " {graph.name = \"x\"}) -> (" + y +
         " {graph.name = \"y\"}) attributes {graph.rows = " +
         std::to_string(rows) + " : i64} {\n" + region +
         "    return %y : " + y + "\n  }\n}\n";
}

class KernelCosts : public KernelTest {
protected:
  static constexpr int kOutputs = 2048, kColumns = 1024, kAddedRows = 64;

  /// An addition of two numbers in buffers for each of kAddedRows rows.
  std::unique_ptr<ProgramRunner> makeAddition() {
    std::string x = activations(kColumns);
    auto runner =
        compile("module {\n" +
                function(x, x, kAddedRows,
                         "    %y = graph.region (%a = %x : " + x + ") -> (" +
                             x + ") {\n      %0 = graph.add %a, %a : " + x +
                             ", " + x + " -> " + x +
                             "\n      graph.yield %0 : " + x + "\n    }\n"));
    if (runner)
      runner->write("x", std::vector<float>(size_t(kAddedRows) * kColumns, 1));
    return runner;
  }

  std::unique_ptr<ProgramRunner> makeLinear(const char *encoding, int rows) {
    TestWeight weight = makeRandomWeight(encoding, kOutputs, kColumns, 1);
    std::string x = activations(kColumns), y = activations(kOutputs),
                w = encoded(weight);
    auto runner = compile(
        "module {\n" + declare("w", w, kOutputs) +
        function(x, y, rows,
                 "    %w = graph.load_weight @w : " + w +
                     "\n    %y = graph.region (%a = %x : " + x +
                     ", %b = %w : " + w + ") -> (" + y +
                     ") {\n      %0 = graph.quantized_linear %a, %b : " + x +
                     ", " + w + " -> " + y + "\n      graph.yield %0 : " + y +
                     "\n    }\n"));
    if (!runner)
      return nullptr;
    writeWeight(*runner, "w", weight);
    runner->write("x", std::vector<float>(size_t(rows) * kColumns, 1));
    return runner;
  }

  /// A multiply-add costs at most so many additions.
  void check(const char *encoding, int rows, double most) {
    auto addition = makeAddition(), linear = makeLinear(encoding, rows);
    ASSERT_TRUE(addition && linear);
    double ofAddition = 1e9, ofLinear = 1e9;
    for (int repeat = 0; repeat < kRepeats; ++repeat) {
      ofAddition = std::min(ofAddition, cpuSeconds(*addition, kAddedRows));
      ofLinear = std::min(ofLinear, cpuSeconds(*linear, rows));
    }
    double cost = ofLinear / rows / kOutputs / (ofAddition / kAddedRows);
    std::printf("%-5s %3d rows: %.3f additions a multiply-add, at most %.3f\n",
                encoding, rows, cost, most);
    EXPECT_LE(cost, most) << encoding << ", " << rows << " rows";
  }
};

TEST_F(KernelCosts, decode) {
  check("f16", 1, 0.35);
  check("q8_0", 1, 0.26);
  check("q4_0", 1, 0.15);
  check("q4_k", 1, 0.2);
  check("q6_k", 1, 0.26);
}

TEST_F(KernelCosts, prefill) {
  check("q4_0", 32, 0.085);
  check("q4_k", 32, 0.09);
  check("q6_k", 32, 0.11);
}

} // namespace
} // namespace llmc::test
