// SPDX-License-Identifier: Apache-2.0
//
// Buckets of distances between tokens.

#include "compiler/Import/EncoderModel.h"

#include <algorithm>
#include <cmath>

namespace llmc::importer {

/// The bucket of a distance key - row. The logarithm is that of the original
/// implementations, in f32, which decides where a range ends.
static int64_t bucketOf(int64_t distance, int64_t numBuckets,
                        int64_t maxDistance) {
  int64_t half = numBuckets / 2, first = distance > 0 ? half : 0;
  int64_t far = std::abs(distance), exact = half / 2;
  if (far < exact)
    return first + far;
  float ratio = std::log(static_cast<float>(far) / static_cast<float>(exact)) /
                static_cast<float>(std::log(static_cast<double>(maxDistance) /
                                            static_cast<double>(exact)));
  auto beyond = static_cast<int64_t>(ratio * static_cast<float>(half - exact));
  return first + std::min(exact + beyond, half - 1);
}

std::vector<float> relativeBiasTable(const std::vector<float> &buckets,
                                     int64_t numBuckets, int64_t span,
                                     int64_t maxDistance) {
  int64_t heads = static_cast<int64_t>(buckets.size()) / numBuckets;
  std::vector<float> table;
  for (int64_t distance = -span; distance <= span; ++distance) {
    auto row =
        buckets.begin() + bucketOf(distance, numBuckets, maxDistance) * heads;
    table.insert(table.end(), row, row + heads);
  }
  return table;
}

} // namespace llmc::importer
