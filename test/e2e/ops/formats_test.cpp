// SPDX-License-Identifier: Apache-2.0
//
// Blocks of 4-bit formats as the device decodes them: each element by a gather,
// and all of them by a dot product.

#include "test/e2e/compiled/GraphFile.h"

#include <numeric>

namespace llmc::test {
namespace {

/// A matrix [1, size] of one block: @gather gives its row, @dot its product
/// with x.
GraphFile makeBlock(const std::string &encoding, int size,
                    const std::string &bytes) {
  const std::string columns = std::to_string(size);
  const std::string stored =
      "tensor<1x" + columns + "x!graph.encoded<" + encoding + ">>";
  const std::string decoded = "tensor<1x" + columns + "xf32>";
  const std::string rows = "tensor<?x" + columns + "xf32>";
  GraphFile graph;
  graph.addWeight("w", 1, static_cast<uint64_t>(size), encoding, bytes);
  graph.addText(
      "func.func @gather(%t: tensor<?xi32> {graph.name = "
      "\"tokens\"}) -> (" +
      rows + " {graph.name = \"y\"}) {\n%e = graph.load_weight @w : " + stored +
      "\n%w = graph.dequantize %e : " + stored + " -> " + decoded +
      "\n%y = graph.embedding %t, %w : tensor<?xi32>, " + decoded + " -> " +
      rows + "\nreturn %y : " + rows + "\n}\n");
  graph.addLinear("dot", "?", static_cast<uint64_t>(size), 1, "w", encoding);
  return graph;
}

struct Block {
  std::vector<float> gathered;
  float dot = 0;
};

/// Runs both functions; |x| is the other factor of the dot product.
void run(const GraphFile &graph, const std::vector<float> &x, Block &block) {
  TemporaryFolder folder;
  auto runner = compileAndOpen(graph, folder);
  ASSERT_TRUE(runner.ok()) << runner.status().message();
  auto gathered = runner->run("gather", 1, {}, x.size(), 0, {0});
  ASSERT_TRUE(gathered.ok()) << gathered.status().message();
  block.gathered = *gathered;
  auto dot = runner->run("dot", 1, {{"x", x}}, 1);
  ASSERT_TRUE(dot.ok()) << dot.status().message();
  block.dot = dot->front();
}

TEST(Formats, Q4_0HoldsItsHalvesInLowAndHighNibbles) {
  LLMC_E2E_NEED_DEVICE();
  std::string bytes = bytesOf<uint16_t>(0x3c00); // d = 1
  std::vector<float> wanted;
  for (int j = 0; j < 16; ++j)
    bytes += static_cast<char>(j | (15 - j) << 4);
  for (int j = 0; j < 16; ++j)
    wanted.push_back(static_cast<float>(j - 8));
  for (int j = 0; j < 16; ++j)
    wanted.push_back(static_cast<float>(7 - j));
  std::vector<float> index(32);
  std::iota(index.begin(), index.end(), 0.0f);
  Block block;
  run(makeBlock("q4_0", 32, bytes), index, block);
  EXPECT_EQ(block.gathered, wanted);
  EXPECT_EQ(block.dot, -248);
}

TEST(Formats, Q4_KUnpacksScalesOfSixBits) {
  LLMC_E2E_NEED_DEVICE();
  std::string bytes = bytesOf<uint16_t>(0x3c00) + bytesOf<uint16_t>(0x3c00);
  for (int scale :
       {0x41, 0x82, 0xc3, 0xc4, 0x45, 0x86, 0xc7, 0xc8, 0x41, 0x82, 0xc3, 0xff})
    bytes += static_cast<char>(scale);
  bytes += std::string(128, 0x21);
  std::vector<float> wanted;
  for (int value : {-4, -2, -4, 0, -3, 28, -9, 63})
    wanted.insert(wanted.end(), 32, static_cast<float>(value));
  Block block;
  run(makeBlock("q4_k", 256, bytes), std::vector<float>(256, 1.0f), block);
  EXPECT_EQ(block.gathered, wanted);
  EXPECT_EQ(block.dot, 2208);
}

} // namespace
} // namespace llmc::test
