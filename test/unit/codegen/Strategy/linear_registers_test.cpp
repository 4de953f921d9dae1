// SPDX-License-Identifier: Apache-2.0
//
// Registers of linears' kernels beside what the targets' compilers take.

#include "test/unit/codegen/Strategy/LinearCase.h"

#include <gtest/gtest.h>

#include <vector>

namespace llmc::codegen {
namespace {

/// Registers that the Malis' compilers (Mesa 26.2.6) take for a GEMV of staged
/// input, of one linear: mali-g610, mali-g76.
TEST(GemvRegisters, malis) {
  struct Measured {
    WeightFormat format;
    bool hasNorm;
    int64_t kStep;
    std::vector<int64_t> registers;
  };
  const std::vector<Measured> kernels = {
      {WeightFormat::F16, true, 32, {22, 25}},
      {WeightFormat::Q8_0, true, 32, {25, 26}},
      {WeightFormat::Q8_0, true, 64, {28}},
      {WeightFormat::Q4_0, false, 32, {26, 28}},
      {WeightFormat::Q4_0, false, 64, {28}},
      {WeightFormat::Q4_0, true, 32, {26, 28}},
      {WeightFormat::Q4_K, false, 32, {26, 26}},
      {WeightFormat::Q4_K, false, 64, {32}},
      {WeightFormat::Q6_K, false, 16, {28, 30}},
      {WeightFormat::Q6_K, true, 16, {32, 31}}};
  GemvStrategy strategy;
  strategy.staging = Staging::Always;
  for (const Measured &kernel : kernels) {
    LinearShape linear = shape(kernel.format, 1);
    linear.hasNorm = kernel.hasNorm;
    LinearTile tile{true, {64, 1, 1}, 1, 4, kernel.kStep, 4, 0};
    auto estimate = static_cast<double>(
        gemvRegisters(linear, tile, device(32, 64), strategy));
    for (int64_t registers : kernel.registers)
      EXPECT_NEAR(estimate, static_cast<double>(registers),
                  static_cast<double>(registers) / 4)
          << formatName(kernel.format);
  }
}

/// What the drivers' compilers take (Mesa 26.2.6) for kernels of 2048x2048
/// weights and 128 rows; pairs on Mali of the tested models' sizes and 32 rows,
/// by Mesa 26.1.6.
struct MeasuredGemm {
  WeightFormat format;
  bool isInt8;
  int64_t numLinears, rows, kStep, registers;
};

void expectEstimates(const std::vector<MeasuredGemm> &kernels,
                     const DeviceLimits &limits, const GemmStrategy &strategy) {
  for (const MeasuredGemm &kernel : kernels) {
    LinearShape linear = shape(kernel.format, 128, kernel.numLinears);
    linear.isInt8 = kernel.isInt8;
    LinearTile tile{false,           {16, 4, 1}, kernel.rows, 4, kernel.kStep,
                    4 * kernel.rows, 0};
    auto estimate =
        static_cast<double>(gemmRegisters(linear, tile, limits, strategy));
    EXPECT_NEAR(estimate, static_cast<double>(kernel.registers),
                static_cast<double>(kernel.registers) / 4)
        << formatName(kernel.format) << ", " << kernel.numLinears
        << " linears, " << kernel.rows << " rows, int8 " << kernel.isInt8;
  }
}

TEST(GemmRegisters, maliG610) {
  using Format = WeightFormat;
  GemmStrategy strategy;
  strategy.decode = "bytes";
  expectEstimates(
      {{Format::Q4_0, false, 1, 4, 8, 58}, {Format::Q4_0, false, 2, 4, 8, 64},
       {Format::Q8_0, false, 1, 4, 8, 53}, {Format::Q8_0, false, 2, 4, 8, 59},
       {Format::F16, false, 1, 4, 8, 47},  {Format::F16, false, 2, 4, 8, 55},
       {Format::Q4_K, false, 1, 4, 8, 60}, {Format::Q4_K, false, 2, 2, 8, 49},
       {Format::Q5_K, false, 1, 2, 8, 53}, {Format::Q5_K, false, 2, 2, 8, 57},
       {Format::Q6_K, false, 1, 4, 8, 64}, {Format::Q6_K, false, 2, 2, 8, 53},
       {Format::Q4_0, true, 1, 4, 32, 57}, {Format::Q4_0, true, 2, 4, 32, 53},
       {Format::Q8_0, true, 1, 4, 32, 57}, {Format::Q8_0, true, 2, 4, 32, 53},
       {Format::Q4_K, true, 1, 4, 32, 58}, {Format::Q4_K, true, 2, 4, 32, 55},
       {Format::Q5_K, true, 2, 4, 32, 59}, {Format::Q6_K, true, 1, 4, 16, 60},
       {Format::Q6_K, true, 2, 4, 16, 59}},
      device(32, 64), strategy);
}

TEST(GemmRegisters, maliG76) {
  using Format = WeightFormat;
  GemmStrategy strategy;
  strategy.decode = "bytes";
  expectEstimates({{Format::Q4_0, false, 1, 4, 8, 57},
                   {Format::Q4_0, false, 2, 4, 8, 58},
                   {Format::Q8_0, false, 1, 4, 8, 59},
                   {Format::Q8_0, false, 2, 4, 8, 59},
                   {Format::F16, false, 1, 4, 8, 56},
                   {Format::F16, false, 2, 4, 8, 60},
                   {Format::Q4_K, false, 1, 4, 8, 59},
                   {Format::Q4_K, false, 2, 4, 8, 59},
                   {Format::Q5_K, false, 1, 2, 8, 53},
                   {Format::Q5_K, false, 2, 2, 8, 54},
                   {Format::Q6_K, false, 1, 4, 8, 62},
                   {Format::Q6_K, false, 2, 4, 8, 63},
                   {Format::Q4_0, false, 1, 4, 32, 58},
                   {Format::Q8_0, false, 1, 4, 32, 59},
                   {Format::F16, false, 1, 4, 16, 56},
                   {Format::Q4_K, false, 1, 4, 32, 59},
                   {Format::Q6_K, false, 1, 4, 16, 59}},
                  device(32, 64), strategy);
}

/// Its compiler counts vectors of four registers.
TEST(GemmRegisters, adreno840) {
  using Format = WeightFormat;
  GemmStrategy strategy;
  strategy.fillsOccupancyStep = true;
  expectEstimates(
      {{Format::Q4_0, false, 1, 8, 8, 100}, {Format::Q4_0, false, 2, 8, 8, 128},
       {Format::Q8_0, false, 2, 8, 8, 128}, {Format::F16, false, 1, 8, 8, 100},
       {Format::F16, false, 2, 8, 8, 128},  {Format::Q4_K, false, 2, 8, 8, 128},
       {Format::Q5_K, false, 2, 8, 8, 128}, {Format::Q6_K, false, 2, 8, 8, 128},
       {Format::Q4_0, true, 1, 8, 8, 100},  {Format::Q8_0, true, 1, 8, 8, 100},
       {Format::Q4_K, true, 1, 8, 8, 128},  {Format::Q4_K, true, 2, 8, 8, 128},
       {Format::Q4_K, true, 2, 8, 8, 168}, // with a quantized result
       {Format::Q8_0, true, 2, 8, 8, 168},  {Format::Q5_K, true, 2, 8, 8, 128},
       {Format::Q6_K, true, 1, 8, 8, 128},  {Format::Q4_0, true, 1, 8, 32, 100},
       {Format::Q4_0, true, 2, 8, 32, 168}, {Format::Q4_K, true, 1, 8, 32, 100},
       {Format::Q6_K, true, 1, 8, 16, 100}},
      device(64, 192), strategy);
}

/// Of gemv kernels, with the columns of the linears or tiles side by side.
TEST(GemvRegisters, adreno840) {
  using Format = WeightFormat;
  GemvStrategy strategy;
  strategy.loadsEarly = true;
  struct MeasuredGemv {
    Format format;
    int64_t rows, columns, kStep;
    bool hasNorm;
    int64_t registers;
  };
  for (const MeasuredGemv &kernel :
       std::vector<MeasuredGemv>{{Format::F16, 1, 4, 16, false, 64},
                                 {Format::F16, 1, 8, 16, true, 64},
                                 {Format::Q8_0, 1, 8, 64, true, 84},
                                 {Format::Q4_0, 1, 4, 64, false, 64},
                                 {Format::Q4_0, 1, 8, 64, true, 84},
                                 {Format::Q4_K, 1, 4, 64, false, 64},
                                 {Format::Q4_K, 1, 8, 64, true, 100},
                                 {Format::F16, 4, 4, 16, false, 72},
                                 {Format::F16, 4, 4, 16, true, 84},
                                 {Format::Q8_0, 1, 4, 32, true, 64},
                                 {Format::Q8_0, 1, 8, 32, true, 84},
                                 {Format::Q8_0, 4, 4, 32, false, 84},
                                 {Format::Q8_0, 4, 4, 32, true, 84},
                                 {Format::Q4_0, 1, 4, 32, true, 64},
                                 {Format::Q4_0, 1, 8, 32, true, 84},
                                 {Format::Q4_0, 4, 4, 32, false, 128},
                                 {Format::Q4_0, 4, 4, 32, true, 128},
                                 {Format::Q4_K, 1, 4, 32, true, 64},
                                 {Format::Q4_K, 1, 8, 32, true, 100},
                                 {Format::Q4_K, 4, 4, 32, true, 128},
                                 {Format::Q6_K, 1, 4, 32, false, 64},
                                 {Format::Q6_K, 1, 4, 32, true, 72},
                                 {Format::Q6_K, 4, 4, 16, false, 100},
                                 {Format::Q6_K, 4, 4, 16, true, 100}}) {
    LinearShape linear = shape(kernel.format, kernel.rows);
    linear.hasNorm = kernel.hasNorm;
    LinearTile tile{true,
                    {64, 1, 1},
                    kernel.rows,
                    kernel.columns,
                    kernel.kStep,
                    kernel.rows * kernel.columns,
                    0};
    auto estimate = static_cast<double>(
        gemvRegisters(linear, tile, device(64, 192), strategy));
    EXPECT_NEAR(estimate, static_cast<double>(kernel.registers),
                static_cast<double>(kernel.registers) / 4)
        << formatName(kernel.format) << ", " << kernel.rows << " rows, "
        << kernel.columns << " columns, norm " << kernel.hasNorm;
  }
}

} // namespace
} // namespace llmc::codegen
