// SPDX-License-Identifier: Apache-2.0
//
// Blocks of 4-bit formats as the device decodes them: each element by a gather,
// and all of them by a dot product.

#include "test/e2e/compiled/GraphFile.h"

#include "dialects/Graph/Encoding.h"

#include <cctype>
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

/// Where a block has halves that scale it, or a zero point behind the first.
std::vector<size_t> halvesOf(graph::Encoding encoding) {
  switch (encoding) {
  case graph::Encoding::F32:
  case graph::Encoding::BF16:
  case graph::Encoding::MXFP4:
  case graph::Encoding::IQ1_M:
    return {};
  case graph::Encoding::Q4_K:
  case graph::Encoding::Q5_K:
  case graph::Encoding::Q4_1:
  case graph::Encoding::Q5_1:
    return {0, 2};
  case graph::Encoding::Q6_K:
    return {208};
  case graph::Encoding::Q2_K:
    return {80, 82};
  case graph::Encoding::Q3_K:
    return {108};
  case graph::Encoding::TQ1_0:
    return {52};
  case graph::Encoding::TQ2_0:
    return {64};
  default:
    return {0};
  }
}

void put(std::string &bytes, size_t at, const std::string &what) {
  bytes.replace(at, what.size(), what);
}

/// Makes the scales of a block |half|, and zero points 7.
void setScales(const graph::EncodingFacts &facts, std::string &block,
               uint16_t half) {
  const std::string scale = bytesOf<uint16_t>(half);
  if (facts.isRow()) {
    put(block, 0, bytesOf<float>(graph::halfToFloat(half)));
    if (graph::isAsymmetric(facts.encoding))
      put(block, 4, bytesOf<float>(7));
    return;
  }
  for (size_t at : halvesOf(facts.encoding))
    put(block, at, scale);
  if (graph::isAsymmetric(facts.encoding))
    put(block, 2, bytesOf<uint16_t>(0x4700));
  if (facts.encoding == graph::Encoding::F32)
    put(block, 0, bytesOf<float>(graph::halfToFloat(half)));
  if (facts.encoding == graph::Encoding::BF16)
    put(block, 1, std::string(1, '\x3e'));
  if (facts.encoding == graph::Encoding::MXFP4)
    put(block, 0, std::string(1, static_cast<char>(half % 120 + 2)));
  if (facts.encoding == graph::Encoding::IQ1_M)
    for (size_t word = 0; word < 4; ++word) { // the top nibble of each word
      char &top = block[48 + 2 * word + 1];
      top = static_cast<char>((top & 15) | (half >> 4 * word & 15) << 4);
    }
}

/// One row of pseudo-random codes whose blocks have that scale.
std::string randomRow(const graph::EncodingFacts &facts, int64_t columns,
                      uint16_t half) {
  const auto size =
      static_cast<size_t>(*graph::encodedSizeInBytes(facts.encoding, columns));
  const size_t blockSize =
      facts.isRow() ? size : static_cast<size_t>(facts.blockBytes);
  uint32_t state = 99 + static_cast<uint32_t>(facts.encoding);
  std::string bytes;
  while (bytes.size() < size) {
    std::string block;
    while (block.size() < blockSize) {
      state = state * 1664525U + 1013904223U;
      block += static_cast<char>(state >> 24);
    }
    setScales(facts, block, half);
    bytes += block;
  }
  return bytes;
}

std::string lowerCase(std::string text) {
  for (char &letter : text)
    letter = static_cast<char>(std::tolower(letter));
  return text;
}

class EveryFormat : public testing::TestWithParam<graph::Encoding> {};

// The device gives the bits of the formula, also of scales that are subnormal
// halves; a product with a one-hot row gives the number itself.
TEST_P(EveryFormat, GivesTheBitsOfItsFormula) {
  LLMC_E2E_NEED_DEVICE();
  const graph::EncodingFacts &facts = graph::encodingFacts(GetParam());
  constexpr int kColumns = 256, kHot = 201;
  for (uint16_t half : {0x3555, 0x0001, 0x83ff}) {
    std::string bytes = randomRow(facts, kColumns, half);
    std::vector<float> wanted(kColumns), oneHot(kColumns, 0.0f);
    graph::dequantizeRow(facts.encoding,
                         reinterpret_cast<const uint8_t *>(bytes.data()),
                         kColumns, wanted.data());
    oneHot[kHot] = 1.0f;
    Block block;
    run(makeBlock(lowerCase(facts.name), kColumns, bytes), oneHot, block);
    EXPECT_EQ(block.gathered, wanted);
    EXPECT_EQ(block.dot, wanted[kHot]);
  }
}

INSTANTIATE_TEST_SUITE_P(Formats, EveryFormat, testing::ValuesIn([] {
                           std::vector<graph::Encoding> encodings;
                           for (const auto &facts : graph::allEncodings())
                             encodings.push_back(facts.encoding);
                           return encodings;
                         }()),
                         [](const auto &info) {
                           return std::string(
                               graph::encodingFacts(info.param).name);
                         });

} // namespace
} // namespace llmc::test
