// SPDX-License-Identifier: Apache-2.0
//
// Tables of cosines and sines as exporters compute them, and others.

#include "compiler/Import/ONNX/RotaryTables.h"

#include "dialects/Graph/RowEncoder.h"

#include "gtest/gtest.h"

#include <cmath>

namespace llmc::onnx {
namespace {

/// Both tables [positions, half], in f32 or f16; angles are products of floats.
class Tables {
public:
  Tables(int64_t positions, int64_t half, double base, double factor = 1,
         bool isHalf = false)
      : positions(positions), half(half), isHalf(isHalf) {
    for (int64_t p = 0; p < positions; ++p)
      for (int64_t i = 0; i < half; ++i) {
        auto frequency = static_cast<float>(
            std::pow(base, -double(i) / double(half)) / factor);
        float angle = static_cast<float>(p) * frequency;
        add(cosines, std::cos(angle));
        add(sines, std::sin(angle));
      }
  }
  Tensor cosine() const { return tensor(cosines); }
  Tensor sine() const { return tensor(sines); }

private:
  template <typename T>
  static void append(std::vector<uint8_t> &bytes, T value) {
    const auto *first = reinterpret_cast<const uint8_t *>(&value);
    bytes.insert(bytes.end(), first, first + sizeof(value));
  }
  void add(std::vector<uint8_t> &bytes, float number) const {
    if (isHalf)
      append(bytes, graph::floatToHalf(number));
    else
      append(bytes, number);
  }
  Tensor tensor(const std::vector<uint8_t> &bytes) const {
    Tensor result;
    result.type = isHalf ? DataType::Float16 : DataType::Float;
    result.shape = {positions, half};
    result.bytes = bytes;
    return result;
  }

  int64_t positions, half;
  bool isHalf;
  std::vector<uint8_t> cosines, sines;
};

TEST(RotaryTables, GiveTheBaseOfUsualModels) {
  for (double base : {1e4, 5e5, 1e6, 1e7, 160000.0, 12345.0})
    for (int64_t half : {8, 32, 64, 128}) {
      SCOPED_TRACE(half);
      Tables tables(5000, half, base);
      auto found = rotaryBase(tables.cosine(), tables.sine());
      ASSERT_TRUE(found) << base;
      EXPECT_NEAR(*found, base, base * 1e-5);
    }
}

TEST(RotaryTables, GiveTheBaseInHalfPrecision) {
  for (double base : {1e4, 5e5, 1e6}) {
    Tables tables(300, 32, base, 1, /*isHalf=*/true);
    EXPECT_EQ(rotaryBase(tables.cosine(), tables.sine()), base);
  }
}

TEST(RotaryTables, OthersAreNone) {
  Tables tables(100, 16, 1e4), scaled(100, 16, 1e4, 4), longer(101, 16, 1e4);
  EXPECT_FALSE(rotaryBase(scaled.cosine(), scaled.sine()));
  EXPECT_FALSE(rotaryBase(tables.sine(), tables.cosine()));
  EXPECT_FALSE(rotaryBase(tables.cosine(), longer.sine()));
  EXPECT_FALSE(
      rotaryBase(Tables(1, 16, 1e4).cosine(), Tables(1, 16, 1e4).sine()));
  EXPECT_FALSE(
      rotaryBase(Tables(9, 1, 1e4).cosine(), Tables(9, 1, 1e4).sine()));
}

} // namespace
} // namespace llmc::onnx
