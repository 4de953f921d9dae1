// SPDX-License-Identifier: Apache-2.0
//
// A recipe differs in whatever a packed weight's bytes follow from, and in
// nothing else.

#include "compiler/Serialization/WeightRecipe.h"

#include <gtest/gtest.h>

#include <set>

using llmc::codegen::tiledLayout;
using llmc::codegen::WeightFormat;
using llmc::graph::Encoding;
using llmc::graph::Packing;
using llmc::graph::PackingForm;
using llmc::graph::RowSource;
using llmc::serialization::hashRecipe;
using llmc::serialization::StoredWeight;

namespace {

constexpr int64_t kRows = 32, kColumns = 64;

/// The bytes of a source's parts.
struct Parts {
  std::vector<uint8_t> codes, scales, zeros;

  Parts() : codes(kRows * kColumns * 4), scales(1024), zeros(512) {
    for (std::vector<uint8_t> *part : {&codes, &scales, &zeros})
      for (size_t i = 0; i < part->size(); ++i)
        (*part)[i] = static_cast<uint8_t>(i * 37 + i / 256);
  }
};

StoredWeight plainWeight(const Parts &parts) {
  return {"w",
          Encoding::F32,
          *tiledLayout(WeightFormat::F32, kRows, kColumns),
          {RowSource{parts.codes.data(), kRows}}};
}

/// Four bits in groups of 32 with zero points.
StoredWeight packedWeight(const Parts &parts) {
  Packing packing{PackingForm::Gptq, Encoding::F16, 32, parts.scales.data(),
                  parts.zeros.data()};
  return {"w",
          Encoding::I4_G32_ASYM,
          *tiledLayout(WeightFormat::I4G32Zero, kRows, kColumns),
          {RowSource{parts.codes.data(), kRows, 0.0f, packing}}};
}

TEST(WeightRecipe, DependsOnContentAlone) {
  const Parts parts, samePartsElsewhere;
  StoredWeight weight = packedWeight(parts);
  const std::string recipe = hashRecipe(weight);
  EXPECT_EQ(recipe.size(), 16u);
  weight.name = "another";
  EXPECT_EQ(hashRecipe(weight), recipe);
  EXPECT_EQ(hashRecipe(packedWeight(samePartsElsewhere)), recipe);
}

TEST(WeightRecipe, EveryPartOfASourceCounts) {
  Parts parts;
  const std::string recipe = hashRecipe(packedWeight(parts));
  // Sizes by docs: codes 32 * 64 / 2 bytes, a half for each group of a row,
  // half a byte of zero points for each.
  struct {
    std::vector<uint8_t> &bytes;
    size_t size;
  } cases[] = {{parts.codes, 1024}, {parts.scales, 128}, {parts.zeros, 32}};
  for (auto &[bytes, size] : cases) {
    for (size_t at : {size_t{0}, size - 1}) {
      bytes[at] ^= 1;
      EXPECT_NE(hashRecipe(packedWeight(parts)), recipe) << size << " " << at;
      bytes[at] ^= 1;
    }
    bytes[size] ^= 1; // what lies behind it
    EXPECT_EQ(hashRecipe(packedWeight(parts)), recipe) << size;
    bytes[size] ^= 1;
  }
}

TEST(WeightRecipe, EverythingThatDecidesHowBytesArePackedCounts) {
  const Parts parts;
  std::vector<StoredWeight> weights = {plainWeight(parts)};
  auto another = [&]() -> StoredWeight & {
    return weights.emplace_back(plainWeight(parts));
  };
  // Quantized from the same bytes, to two types.
  for (auto [encoding, format] :
       {std::pair(Encoding::F16, WeightFormat::F16),
        std::pair(Encoding::I8_CHANNEL, WeightFormat::I8Channel)}) {
    StoredWeight &weight = another();
    weight.encoding = encoding;
    weight.layout = *tiledLayout(format, kRows, kColumns);
    weight.sources[0].packing = Packing{PackingForm::Rows, Encoding::F32, 0};
  }
  // The same numbers, said to be packed as they are, and transposed.
  another().sources[0].packing = Packing{PackingForm::Rows, Encoding::F32, 0};
  another().sources[0].packing =
      Packing{PackingForm::Transposed, Encoding::F32, 0};
  // As twice as many rows, in two sources, at another place in memory.
  another().layout = *tiledLayout(WeightFormat::F32, 2 * kRows, kColumns / 2);
  another().sources = {RowSource{parts.codes.data(), 16},
                       RowSource{parts.codes.data() + 16 * kColumns * 4, 16}};
  another().sources[0].addend = 1.0f;
  another().layout.planes[0].columnsPerElement *= 2;
  weights.push_back(packedWeight(parts));
  weights.push_back(packedWeight(parts));
  weights.back().sources[0].packing->zeros = nullptr;
  weights.push_back(packedWeight(parts));
  weights.back().sources[0].packing->form = PackingForm::GptqV2;
  weights.push_back(packedWeight(parts));
  weights.back().sources[0].packing->group = 64;
  std::set<std::string> recipes;
  for (const StoredWeight &weight : weights)
    recipes.insert(hashRecipe(weight));
  EXPECT_EQ(recipes.size(), weights.size());
}

} // namespace
