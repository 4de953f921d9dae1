// SPDX-License-Identifier: Apache-2.0
//
// Rows that are quantized are quantized once.

#include "dialects/Graph/RowStore.h"

#include "dialects/Graph/Packing.h"
#include "dialects/Graph/RowEncoder.h"

#include <gtest/gtest.h>

#include <cmath>
#include <thread>
#include <vector>

using llmc::graph::encodedRow;
using llmc::graph::Encoding;
using llmc::graph::MemoryRows;
using llmc::graph::Packing;
using llmc::graph::PackingForm;
using llmc::graph::RowSource;

namespace {

TEST(MemoryRows, KeepsTheFirstBytesOfEachRow) {
  MemoryRows rows(3, 2);
  const uint8_t first[] = {1, 2}, second[] = {3, 4};
  uint8_t found[2] = {9, 9};
  EXPECT_FALSE(rows.find(1, found));
  EXPECT_EQ(found[0], 9);
  rows.keep(1, first);
  rows.keep(2, second);
  rows.keep(1, second);
  EXPECT_FALSE(rows.find(0, found));
  ASSERT_TRUE(rows.find(1, found));
  EXPECT_EQ(found[0], 1);
  EXPECT_EQ(found[1], 2);
  ASSERT_TRUE(rows.find(2, found));
  EXPECT_EQ(found[0], 3);
}

TEST(MemoryRows, ThreadsFindWholeRowsOrNone) {
  constexpr int64_t kRows = 2000, kBytes = 64;
  MemoryRows rows(kRows, kBytes);
  auto work = [&] {
    for (int64_t row = 0; row < kRows; ++row) {
      std::vector<uint8_t> bytes(kBytes, static_cast<uint8_t>(row)),
          found(kBytes);
      if (rows.find(row, found.data()))
        EXPECT_EQ(found, bytes);
      else
        rows.keep(row, bytes.data());
    }
  };
  std::thread other(work);
  work();
  other.join();
}

/// Four rows of 64 floats.
std::vector<float> makeNumbers() {
  std::vector<float> numbers(256);
  for (size_t i = 0; i < numbers.size(); ++i)
    numbers[i] = std::sin(static_cast<float>(i));
  return numbers;
}

RowSource sourceOf(const std::vector<float> &numbers, MemoryRows *store) {
  return {reinterpret_cast<const uint8_t *>(numbers.data()), 4,     0.0f,
          Packing{PackingForm::Rows, Encoding::F32, 64},     store, true};
}

TEST(MemoryRows, AQuantizedRowIsKeptAndFoundAgain) {
  const std::vector<float> numbers = makeNumbers(), others(256, 1.0f);
  std::vector<uint8_t> wanted(36), found(36); // two blocks of 2 + 16 bytes
  ASSERT_FALSE(llmc::graph::encodeRow(Encoding::I4_G32, &numbers[128], 64,
                                      wanted.data()));
  MemoryRows store(4, 36);
  std::optional<std::string> problem;
  encodedRow(sourceOf(numbers, &store), Encoding::I4_G32, 64, 2, found.data(),
             problem);
  EXPECT_EQ(found, wanted);
  // Other numbers are not looked at.
  std::fill(found.begin(), found.end(), 0);
  encodedRow(sourceOf(others, &store), Encoding::I4_G32, 64, 2, found.data(),
             problem);
  EXPECT_EQ(found, wanted);
  EXPECT_FALSE(problem);
}

TEST(MemoryRows, RowsAreNotKeptUnasked) {
  const std::vector<float> numbers = makeNumbers();
  MemoryRows store(4, 36);
  RowSource source = sourceOf(numbers, &store);
  source.keepsRows = false;
  std::vector<uint8_t> scratch(36);
  std::optional<std::string> problem;
  encodedRow(source, Encoding::I4_G32, 64, 1, scratch.data(), problem);
  EXPECT_FALSE(store.find(1, scratch.data()));
}

TEST(MemoryRows, ARowThatCantBeQuantizedIsNotKept) {
  std::vector<float> numbers = makeNumbers();
  numbers[3] = NAN;
  MemoryRows store(4, 36);
  std::vector<uint8_t> scratch(36);
  for (int i = 0; i < 2; ++i) {
    std::optional<std::string> problem;
    encodedRow(sourceOf(numbers, &store), Encoding::I4_G32, 64, 0,
               scratch.data(), problem);
    EXPECT_TRUE(problem);
  }
}

} // namespace
