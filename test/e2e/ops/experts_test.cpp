// SPDX-License-Identifier: Apache-2.0
//
// A mixture of experts whose right values are known exactly: expert e
// multiplies by e + 1. Other compilers raced or read rows that nobody had
// written (llama.cpp's issues 15274 and 25777).

#include "test/e2e/compiled/GraphFile.h"

namespace llmc::test {
namespace {

constexpr uint64_t kSize = 64;

/// @experts(x, scores) -> y, two of so many experts a row.
void addExperts(GraphFile &graph, uint64_t experts) {
  std::vector<float> weight(experts * kSize * kSize);
  for (uint64_t e = 0; e < experts; ++e)
    for (uint64_t n = 0; n < kSize; ++n)
      weight[(e * kSize + n) * kSize + n] = static_cast<float>(e + 1);
  graph.addWeight("w", experts * kSize, kSize, weight);
  const std::string scores = "tensor<?x" + std::to_string(experts) + "xf32>",
                    encoded = "tensor<" + std::to_string(experts * kSize) +
                              "x64x!graph.encoded<f32>>";
  graph.addText(
      "func.func @experts(%x: tensor<?x64xf32> {graph.name = \"x\"}, %s: " +
      scores +
      " {graph.name = \"scores\"}) -> (tensor<?x64xf32> {graph.name = "
      "\"y\"}) {\n%w = graph.load_weight @w : " +
      encoded + "\n%p, %e = graph.route %s normalized : " + scores +
      " -> tensor<?x2xf32>, tensor<?x2xi32>\n"
      "%h = graph.expert_linear %x, %w, %e : tensor<?x64xf32>, " +
      encoded +
      ", tensor<?x2xi32> -> tensor<?x2x64xf32>\n"
      "%y = graph.weighted_sum %h, %p : tensor<?x2x64xf32>, tensor<?x2xf32> "
      "-> tensor<?x64xf32>\nreturn %y : tensor<?x64xf32>\n}\n");
}

/// Row t has the number t mod 13 everywhere, or |factor(t)| times that.
template <typename Factor>
std::vector<float> rowsOf(uint64_t rows, Factor factor) {
  std::vector<float> x;
  for (uint64_t t = 0; t < rows; ++t)
    x.insert(x.end(), kSize, factor(t) * static_cast<float>(t % 13));
  return x;
}

class ExpertsTest : public testing::Test {
protected:
  /// |scoresOf(t, e)|; the result must be |factor(t)| times the input, in 20
  /// runs for each number of rows.
  template <typename Scores, typename Factor>
  static void check(Scores scoresOf, Factor factor, uint64_t experts = 8,
                    const std::vector<std::string> &limits = {}) {
    TemporaryFolder folder;
    GraphFile graph;
    addExperts(graph, experts);
    auto runner = compileAndOpen(graph, folder, limits);
    ASSERT_TRUE(runner.ok()) << runner.status().message();
    for (uint64_t rows : {1, 7, 8, 9, 33, 128}) {
      std::vector<float> scores;
      for (uint64_t t = 0; t < rows; ++t)
        for (uint64_t e = 0; e < experts; ++e)
          scores.push_back(scoresOf(t, e));
      const Inputs inputs = {{"x", rowsOf(rows, [](uint64_t) { return 1.0F; })},
                             {"scores", scores}};
      for (int run = 0; run < 20; ++run) {
        auto y = runner->run("experts", rows, inputs, kSize);
        ASSERT_TRUE(y.ok()) << y.status().message();
        ASSERT_EQ(*y, rowsOf(rows, factor)) << rows << " rows, run " << run;
      }
    }
  }

  /// Row t goes to experts t and t + |step|, modulo |experts|.
  static void checkInTurn(uint64_t experts, uint64_t step,
                          const std::vector<std::string> &limits = {}) {
    auto first = [=](uint64_t t) { return t % experts; };
    auto second = [=](uint64_t t) { return (t + step) % experts; };
    check(
        [=](uint64_t t, uint64_t e) {
          return e == first(t) || e == second(t) ? 4.0F : 0.0F;
        },
        [=](uint64_t t) {
          return static_cast<float>(first(t) + second(t) + 2) / 2;
        },
        experts, limits);
  }
};

TEST_F(ExpertsTest, AllRowsGoToTheSameTwo_B16) {
  LLMC_E2E_NEED_DEVICE();
  check([](uint64_t, uint64_t e) { return e == 3 || e == 5 ? 2.0F : -1.0F; },
        [](uint64_t) { return 5.0F; });
}

TEST_F(ExpertsTest, RowsGoToAllInTurn_B16) {
  LLMC_E2E_NEED_DEVICE();
  checkInTurn(8, 1);
}

/// A weight of 1 MiB in two bindings.
TEST_F(ExpertsTest, WeightsInParts_B16) {
  LLMC_E2E_NEED_DEVICE();
  checkInTurn(64, 37, {"max_buffer_range=524288"});
}

} // namespace
} // namespace llmc::test
