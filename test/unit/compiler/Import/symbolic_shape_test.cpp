// SPDX-License-Identifier: Apache-2.0

#include "compiler/Import/ONNX/SymbolicShape.h"

#include "gtest/gtest.h"

namespace llmc::onnx {
namespace {

const SymbolicInt kBatch{1, 1, 0}, kSequence{1, 0, 1};

SymbolicInt number(int64_t value) { return {value, 0, 0}; }

Dims hidden() {
  return {Dim::of(Symbol::Batch), Dim::of(Symbol::Sequence), Dim::of(768)};
}

std::string reshaped(const Dims &dims, std::vector<SymbolicInt> sizes) {
  auto result = reshape(dims, sizes);
  return result ? describe(*result) : "none";
}

TEST(SymbolicShape, Terms) {
  EXPECT_EQ(add(number(2), number(3)), number(5));
  EXPECT_EQ(add(kBatch, number(0)), kBatch);
  EXPECT_EQ(add(kBatch, kSequence), std::nullopt);
  EXPECT_EQ(add(number(INT64_MAX), number(1)), std::nullopt);
  EXPECT_EQ(subtract(kSequence, kSequence), number(0));
  EXPECT_EQ(multiply(kBatch, kSequence), (SymbolicInt{1, 1, 1}));
  EXPECT_EQ(divide(SymbolicInt{768, 1, 1}, kBatch), (SymbolicInt{768, 0, 1}));
  EXPECT_EQ(divide(number(7), number(2)), number(3));
  EXPECT_EQ(divide(SymbolicInt{7, 1, 0}, number(2)), std::nullopt);
  EXPECT_EQ(divide(number(1), kBatch), std::nullopt);
  EXPECT_EQ(divide(number(1), number(0)), std::nullopt);
  EXPECT_EQ(divide(number(INT64_MIN), number(-1)), std::nullopt);
}

TEST(SymbolicShape, ReshapesKeepTheOrderOfFactors) {
  SymbolicInt rows{1, 1, 1};
  EXPECT_EQ(reshaped(hidden(), {kBatch, kSequence, number(12), number(64)}),
            "[batch, sequence, 12, 64]");
  EXPECT_EQ(reshaped(hidden(), {rows, number(768)}), "[batch*sequence, 768]");
  Dims heads = {Dim::of(Symbol::Batch), Dim::of(12), Dim::of(Symbol::Sequence),
                Dim::of(64)};
  EXPECT_EQ(reshaped(heads, {{12, 1, 0}, kSequence, number(64)}),
            "[batch*12, sequence, 64]");
  // [batch, 12, sequence, 64] seen as [batch, sequence, 768] mixes rows.
  EXPECT_EQ(reshaped(heads, {kBatch, kSequence, number(768)}), "none");
  EXPECT_EQ(reshaped(hidden(), {kSequence, kBatch, number(768)}), "none");
  EXPECT_EQ(reshaped(hidden(), {kBatch, kSequence, number(767)}), "none");
  EXPECT_EQ(reshaped(hidden(), {kBatch, kSequence}), "none");
  EXPECT_EQ(reshaped(hidden(),
                     {kBatch, number(1), kSequence, number(768), number(1)}),
            "[batch, 1, sequence, 768, 1]");
  // A border inside of both numbers: 6 = 2 * 3 seen as 3 * 2.
  EXPECT_EQ(reshaped({Dim::of(4), Dim::of(6)}, {number(8), number(3)}),
            "[4*2, 3]");
}

TEST(SymbolicShape, BroadcastsFromTheBack) {
  auto of = [](const Dims &a, const Dims &b) {
    auto result = broadcast(a, b);
    return result ? describe(*result) : "none";
  };
  EXPECT_EQ(of(hidden(), {Dim::of(768)}), "[batch, sequence, 768]");
  EXPECT_EQ(of({Dim::of(1), Dim::of(Symbol::Sequence), Dim::of(768)}, hidden()),
            "[batch, sequence, 768]");
  EXPECT_EQ(of(hidden(), {Dim::of(767)}), "none");
  EXPECT_EQ(
      of({Dim::of(int64_t{1} << 40), Dim::of(1)}, {Dim::of(int64_t{1} << 40)}),
      "none");
}

TEST(SymbolicShape, TheBatchIsNotStored) {
  auto stored = [](const Dims &dims) { return storedShape(dims).value(); };
  using Shape = llvm::SmallVector<int64_t>;
  EXPECT_EQ(stored(hidden()), (Shape{kRows, 768}));
  Dims scores = {Dim::of(Symbol::Batch), Dim::of(12), Dim::of(Symbol::Sequence),
                 Dim::of(Symbol::Sequence)};
  EXPECT_EQ(stored(scores), (Shape{12, kRows, kRows}));
  EXPECT_EQ(stored(*reshape(scores, {{12, 1, 0}, kSequence, kSequence})),
            (Shape{12, kRows, kRows}));
  EXPECT_EQ(stored({Dim::of(1), Dim::of(Symbol::Sequence), Dim::of(768)}),
            (Shape{1, kRows, 768}));
  EXPECT_EQ(storedDims(scores), (Shape{1, 2, 3}));
  EXPECT_EQ(storedShape(*reshape(hidden(), {kBatch, {768, 0, 1}})),
            std::nullopt);
}

} // namespace
} // namespace llmc::onnx
