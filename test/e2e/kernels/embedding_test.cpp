// SPDX-License-Identifier: Apache-2.0
//
// Gathers of rows: every encoding, ids at the ends and beyond, an element-wise
// neighbour.

#include "test/e2e/kernels/KernelTest.h"
#include "test/e2e/support/TestWeight.h"

namespace llmc::test {
namespace {

/// y = 2 * table[tokens]
std::string embeddingText(const TestWeight &table, int maxRows) {
  std::string y = "tensor<?x" + std::to_string(table.columns) + "xf32>";
  std::string t = "tensor<" + std::to_string(table.rows) + "x" +
                  std::to_string(table.columns) + "x!graph.encoded<" +
                  table.encoding + ">>";
  return "module {\n  graph.weight @table : " + t +
         " from [#graph.source<file = 0, offset = 0, rows = " +
         std::to_string(table.rows) +
         ">]\n  func.func @f(%tokens: tensor<?xi32> {graph.name = \"tokens\"}) "
         "-> (" +
         y + " {graph.name = \"y\"}) attributes {graph.rows = " +
         std::to_string(maxRows) +
         " : i64} {\n    %t = graph.load_weight @table : " + t +
         "\n    %y = graph.region (%a = %tokens : tensor<?xi32>, %b = %t : " +
         t + ") -> (" + y +
         ") {\n      %0 = graph.quantized_embedding %a, %b : tensor<?xi32>, " +
         t + " -> " + y +
         "\n      %1 = graph.constant 2.0 : tensor<f32>\n      %2 = graph.mul "
         "%0, %1 : " +
         y + ", tensor<f32> -> " + y + "\n      graph.yield %2 : " + y +
         "\n    }\n    return %y : " + y + "\n  }\n}\n";
}

class EmbeddingTest : public KernelTest {
protected:
  void check(const TestWeight &table, const std::vector<int32_t> &tokens,
             int maxRows) {
    SCOPED_TRACE(table.encoding);
    auto runner = compile(embeddingText(table, maxRows));
    ASSERT_TRUE(runner);
    for (size_t plane = 0; plane < table.planes.size(); ++plane)
      runner->write("table", table.planes[plane], static_cast<int>(plane));
    runner->write("tokens", tokens);
    runner->run("f", 0, static_cast<int>(tokens.size()));
    std::vector<float> y = runner->read<float>("y");
    int width = padToFour(table.columns);
    for (size_t row = 0; row < tokens.size(); ++row)
      for (int k = 0; k < width; ++k) {
        uint32_t token = std::min<uint32_t>(static_cast<uint32_t>(tokens[row]),
                                            table.rows - 1);
        double expected =
            k < table.columns
                ? 2 * table.values[size_t(token) * table.columns + k]
                : 0.0;
        ASSERT_NEAR(y[row * width + k], expected,
                    1e-6 * std::abs(expected) + 1e-7)
            << "row " << row << " column " << k;
      }
  }
};

TEST_F(EmbeddingTest, everyEncoding) {
  for (const char *encoding : {"f32",
                               "f16",
                               "bf16",
                               "q8_0",
                               "q4_0",
                               "q4_k",
                               "q5_k",
                               "q6_k",
                               "q2_k",
                               "q3_k",
                               "iq2_xxs",
                               "q4_1",
                               "q5_1",
                               "iq4_nl",
                               "iq4_xs",
                               "mxfp4",
                               "i4_g64",
                               "i4_g128",
                               "i4_channel",
                               "i4_g32_asym",
                               "i4_g64_asym",
                               "i4_g128_asym",
                               "i4_channel_asym",
                               "i8_channel",
                               "i8_channel_asym"})
    check(makeRandomWeight(encoding, 50, 768, 1), {0, 49, 17, 17, 34, 3, 16},
          8);
}

TEST_F(EmbeddingTest, rowsThatFillNoVector) {
  check(makeRandomWeight("f32", 5, 6, 2), {4, 0, 2}, 3);
  check(makeRandomWeight("f16", 33, 30, 3), {32}, 1);
}

TEST_F(EmbeddingTest, idsBeyondTheTableReadItsLastRow) {
  check(makeRandomWeight("f16", 20, 64, 4), {19, 20, 1000000, -1}, 4);
}

} // namespace
} // namespace llmc::test
