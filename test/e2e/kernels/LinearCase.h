// SPDX-License-Identifier: Apache-2.0
//
// Fixtures of tests of linears: one linear, and a pair behind a norm, compared
// with sums in double precision.

#ifndef LLMC_TEST_E2E_KERNELS_LINEARCASE_H
#define LLMC_TEST_E2E_KERNELS_LINEARCASE_H

#include "codegen/Strategy/LinearTile.h"
#include "test/e2e/kernels/LinearText.h"

namespace llmc::test {

/// Rows of `columns` numbers, each row padded with zeros to a multiple of four.
std::vector<float> padRows(const std::vector<float> &x, int columns);

/// [rows, weight.rows], without padding.
std::vector<double> multiply(const std::vector<float> &x,
                             const TestWeight &weight);

/// y = x W^T.
std::string linearText(const TestWeight &weight, int maxRows);

/// y = residual + x W^T + bias
std::string epilogueText(const TestWeight &weight, int maxRows);

/// `text` with a config of choice for its region.
std::string configuredText(std::string text, const std::string &config);

/// Likewise, of a tile; `staged` columns, if any, and other choices.
std::string tiledText(const std::string &text, const codegen::LinearTile &tile,
                      const std::string &choices = "", int64_t staged = 0);

class LinearTest : public KernelTest {
protected:
  /// `config` is a lowering config's text for the region, or empty for what
  /// Strategy chooses.
  std::unique_ptr<ProgramRunner> compileFor(const std::string &target,
                                            const std::string &text,
                                            const std::string &config);
  /// The input's numbers are up to `size`; `config` as of compileFor.
  void checkLinear(const TestWeight &weight, int maxRows, int rows,
                   double tolerance, const std::string &target = "lavapipe",
                   float size = 1, const std::string &config = "");
  /// y = residual + x W^T + bias.
  void checkEpilogue(const TestWeight &weight, int rows, double tolerance,
                     const std::string &target = "lavapipe",
                     const std::string &config = "");
};

/// y = silu(n W^T) * (n V^T), n = rms_norm of x for up to eight rows, else x.
class GateTest : public LinearTest {
protected:
  struct Shape {
    int columns = 256, outputs = 40;
  };
  void checkConfig(const char *encoding, int rows, double tolerance,
                   const std::string &target, const std::string &config,
                   Shape shape);
  void check(const char *encoding, int rows, double tolerance,
             const std::string &target = "lavapipe",
             const codegen::LinearTile *tile = nullptr,
             const std::string &choices = "", int64_t staged = 0);
};

} // namespace llmc::test

#endif // LLMC_TEST_E2E_KERNELS_LINEARCASE_H
