// SPDX-License-Identifier: Apache-2.0
//
// Attention as a graph, steps of it, and its formula in double precision.

#ifndef LLMC_TEST_E2E_KERNELS_SDPACASE_H
#define LLMC_TEST_E2E_KERNELS_SDPACASE_H

#include "test/e2e/kernels/KernelTest.h"

#include <string>
#include <vector>

namespace llmc::test::sdpa {

struct Shape {
  int heads, kvHeads, headDim, context, maxRows;
  int splits = 0; // 0: as Strategy chooses
  bool causal = true;
  std::string cacheType = "f32";
  int window = 0;
  double softCap = 0;
  int biasHeads = 0; // 0: no bias
  bool hasRanges = false;
  std::string target = "lavapipe";
  /// What a config says before its splits; empty: as Strategy chooses.
  std::string tile = {};

  int group() const { return heads / kvHeads; }
  int width() const { return heads * headDim; }
  size_t cacheElements() const { return size_t(kvHeads) * context * headDim; }
  double scale() const { return 1 / std::sqrt(float(headDim)); }
};

/// A module with a function @f: appends new keys and values, then attends.
std::string text(const Shape &shape);

/// A step: queries, new keys and values of its rows, and caches that hold
/// `position` keys (the rest is NaN).
struct Step {
  int position, rows;
  std::vector<float> q, newK, newV, k, v;
  /// [rows][biasHeads][context] and [rows][2], when the shape has them.
  std::vector<float> bias;
  std::vector<int32_t> ranges;
};

Step makeStep(const Shape &shape, int position, int rows);

/// Codes [KV heads][context][head dimension], then scales. Rows of NaN, which
/// nothing may read, become codes of -1 and scales of NaN.
std::vector<uint8_t> quantizedCache(const Shape &shape,
                                    const std::vector<float> &cache);

/// What is left of keys or values in an i8 cache.
void keepAsCodes(const Shape &shape, std::vector<float> &cache);

/// [rows][heads][head dimension]
std::vector<double> expected(const Shape &shape, const Step &step);

} // namespace llmc::test::sdpa

#endif // LLMC_TEST_E2E_KERNELS_SDPACASE_H
