// SPDX-License-Identifier: Apache-2.0
//
// The search for scales. Loops over a group's numbers are float loops without
// branches in eight lanes, which compilers make vectors of.

#include "dialects/Graph/RowEncoder.h"

#include "dialects/Graph/Encoding.h"

#include <algorithm>
#include <cfloat>
#include <cmath>
#include <cstring>
#include <vector>

namespace llmc::graph {

namespace {

/// What is stored for a group.
struct Scaling {
  float d = 0, z = 0;
};

/// The codes of an encoding and how it stores a group's numbers.
struct CodeRange {
  float least, most;
  bool isAsymmetric;
  /// Numbers are binary16, else float.
  bool isHalf;
  /// Zero point of a symmetric encoding.
  float bias;
};

constexpr float kLargestHalf = 65504;

/// To the nearest whole number, halves to even, for |x| < 2^22.
inline float roundEven(float x) {
  constexpr float kMagic = 12582912.0f; // 1.5 * 2^23
  return (x + kMagic) - kMagic;
}

/// Sum of |term|(i) for i below |count|: in floats over eight lanes for a short
/// while, then in double.
template <typename Term>
double sumOver(int64_t count, Term term) {
  constexpr int64_t kLanes = 8, kRun = 256;
  double total = 0;
  int64_t i = 0;
  while (i + kLanes <= count) {
    float lanes[kLanes] = {};
    for (int64_t end = std::min(i + kRun, count); i + kLanes <= end;
         i += kLanes)
      for (int64_t lane = 0; lane < kLanes; ++lane)
        lanes[lane] += term(i + lane);
    for (float lane : lanes)
      total += lane;
  }
  for (; i < count; ++i)
    total += term(i);
  return total;
}

float stored(float value, bool isHalf) {
  return isHalf ? halfToFloat(floatToHalf(value)) : value;
}

/// A group at work.
class GroupSearch {
public:
  GroupSearch(const float *x, int64_t count, const CodeRange &range)
      : x(x), count(count), range(range), weights(count), codes(count),
        stepSize(range.least < 0 ? 0.004f : 0.035f) {
    setWeights();
    low = *std::min_element(x, x + count);
    high = *std::max_element(x, x + count);
  }

  /// The best scaling; codesFor() of it are the codes.
  Scaling run() {
    if (low == 0 && high == 0)
      return {};
    range.isAsymmetric ? searchAsymmetric() : searchSymmetric();
    return best;
  }

  /// The nearest codes for a scaling as it is stored.
  const std::vector<float> &codesFor(Scaling scaling) {
    float inverse = scaling.d != 0 ? 1 / scaling.d : 0;
    // A scale so small that its inverse is infinite: all codes are the zero
    // point's.
    if (!std::isfinite(inverse))
      inverse = 0;
    for (int64_t i = 0; i < count; ++i)
      codes[i] = std::clamp(roundEven(std::clamp(x[i] * inverse + scaling.z,
                                                 range.least, range.most)),
                            range.least, range.most);
    return codes;
  }

private:
  void setWeights() {
    if (range.least < 0) { // codes of 8 bits
      std::fill(weights.begin(), weights.end(), 1.0f);
      return;
    }
    auto mean = static_cast<float>(
        sumOver(count, [&](int64_t i) { return x[i] * x[i]; }) /
        static_cast<double>(count));
    for (int64_t i = 0; i < count; ++i)
      weights[i] = x[i] * x[i] + mean;
  }

  double errorOf(Scaling scaling) {
    codesFor(scaling);
    return sumOver(count, [&](int64_t i) {
      float error = x[i] - scaling.d * (codes[i] - scaling.z);
      return weights[i] * error * error;
    });
  }

  /// Rounds to what is stored, and keeps it if it is the best so far.
  void consider(float d, float z) {
    Scaling scaling{stored(d, range.isHalf), stored(z, range.isHalf)};
    if (!std::isfinite(scaling.d) || !std::isfinite(scaling.z))
      return;
    double error = errorOf(scaling);
    if (error < leastError) {
      leastError = error;
      best = scaling;
    }
  }

  void searchSymmetric() {
    float largest = std::max(-low, high),
          negative = range.bias - range.least; // the most codes below zero
    float positive = range.most - range.bias;
    consider(largest / positive, range.bias); // round to nearest by the maximum
    // A negative scale gives the larger side of the codes to the numbers of
    // largest magnitude if these are positive.
    float sign = -low >= high ? 1.0f : -1.0f;
    for (int step = -kSteps; step <= kSteps; ++step) {
      float codesUsed = negative * (1 + stepSize * static_cast<float>(step));
      refineSymmetric(sign * largest / codesUsed);
    }
  }

  /// The best scale for the codes that |d| gives: sum(w x q) / sum(w q^2).
  void refineSymmetric(float d) {
    codesFor({d, range.bias});
    auto code = [&](int64_t i) { return codes[i] - range.bias; };
    double product =
        sumOver(count, [&](int64_t i) { return weights[i] * x[i] * code(i); });
    double square = sumOver(
        count, [&](int64_t i) { return weights[i] * code(i) * code(i); });
    if (square > 0)
      consider(static_cast<float>(product / square), range.bias);
  }

  void searchAsymmetric() {
    float codesUsed = range.most - range.least;
    if (low == high) { // one number: code 1 above the zero point, or below
      consider(std::abs(low), range.least + (low > 0 ? 0.0f : 1.0f));
      return;
    }
    float withZeroLow = std::min(low, 0.0f),
          withZeroHigh = std::max(high, 0.0f);
    float d = (withZeroHigh - withZeroLow) / codesUsed;
    consider(d, roundEven(range.least - withZeroLow / d));
    for (int step = -2; step <= kSteps; ++step) {
      float shrunk =
          (high - low) * (1 - stepSize * static_cast<float>(step)) / codesUsed;
      float middle = (high + low) / 2;
      refineAsymmetric(shrunk, range.least + codesUsed / 2 - middle / shrunk);
    }
  }

  /// The best d and m for the codes that the scaling gives, of x = d q + m.
  void refineAsymmetric(float d, float z) {
    consider(d, z);
    codesFor({d, z});
    double w = sumOver(count, [&](int64_t i) { return weights[i]; });
    double wq =
        sumOver(count, [&](int64_t i) { return weights[i] * codes[i]; });
    double wx = sumOver(count, [&](int64_t i) { return weights[i] * x[i]; });
    double wqq = sumOver(
        count, [&](int64_t i) { return weights[i] * codes[i] * codes[i]; });
    double wqx =
        sumOver(count, [&](int64_t i) { return weights[i] * codes[i] * x[i]; });
    double determinant = w * wqq - wq * wq;
    if (determinant <= 0)
      return;
    double slope = (w * wqx - wq * wx) / determinant;
    if (slope == 0)
      return;
    double offset = (wx - slope * wq) / w;
    consider(static_cast<float>(slope), static_cast<float>(-offset / slope));
  }

  const float *x;
  int64_t count;
  const CodeRange &range;
  std::vector<float> weights, codes;
  float low, high;
  /// How far apart the scales that are tried lie: sixteen codes bear clipping,
  /// 256 do not.
  static constexpr int kSteps = 6;
  float stepSize;
  Scaling best;
  double leastError = INFINITY;
};

CodeRange rangeOf(Encoding encoding) {
  const EncodingFacts &facts = encodingFacts(encoding);
  bool isByte = facts.rowCodeBits == 8;
  return {isByte ? -128.0f : 0.0f, isByte ? 127.0f : 15.0f,
          isAsymmetric(encoding), !facts.isRow(), isByte ? 0.0f : 8.0f};
}

void storeNumber(float value, bool isHalf, uint8_t *&to) {
  uint32_t bits;
  std::memcpy(&bits, &value, sizeof(bits));
  if (isHalf)
    bits = floatToHalf(value);
  for (int byte = 0; byte < (isHalf ? 2 : 4); ++byte)
    *to++ = static_cast<uint8_t>(bits >> 8 * byte);
}

void encodeGroup(const CodeRange &range, const float *x, int64_t count,
                 uint8_t *to) {
  GroupSearch search(x, count, range);
  Scaling scaling = search.run();
  storeNumber(scaling.d, range.isHalf, to);
  if (range.isAsymmetric)
    storeNumber(scaling.z, range.isHalf, to);
  else
    scaling.z = range.bias;
  const std::vector<float> &codes = search.codesFor(scaling);
  for (int64_t i = 0; i < count; ++i) {
    auto code = static_cast<uint8_t>(static_cast<int>(codes[i]));
    if (range.least < 0)
      to[i] = code;
    else if (i % 2 == 0)
      to[i / 2] = code;
    else
      to[i / 2] = static_cast<uint8_t>(to[i / 2] | code << 4);
  }
}

/// The largest magnitude of a number that can be encoded.
float largestOf(Encoding encoding) {
  if (encoding == Encoding::F32)
    return FLT_MAX;
  if (encoding == Encoding::F16)
    return kLargestHalf;
  // A scale is a half, or the errors of a row have to stay finite.
  return encodingFacts(encoding).isRow() ? 1e8f : 7 * kLargestHalf;
}

} // namespace

uint16_t floatToHalf(float value) {
  uint32_t bits;
  std::memcpy(&bits, &value, sizeof(bits));
  auto sign = static_cast<uint16_t>(bits >> 16 & 0x8000);
  uint32_t magnitude = bits & 0x7fffffff;
  if (magnitude > 0x7f800000)
    return sign | 0x7e00; // NaN
  if (magnitude >= 0x477ff000)
    return sign | 0x7c00;       // rounds to 65536 or more
  if (magnitude < 0x38800000) { // below the normal halves: a whole number of
                                // 2^-24
    float scaled;
    std::memcpy(&scaled, &magnitude, sizeof(scaled));
    return static_cast<uint16_t>(sign |
                                 static_cast<int>(roundEven(scaled * 0x1p24f)));
  }
  uint32_t rounded = magnitude + 0xfff + (magnitude >> 13 & 1);
  return static_cast<uint16_t>(sign | (rounded - 0x38000000) >> 13);
}

bool canEncode(Encoding encoding) {
  return encoding == Encoding::F32 || encoding == Encoding::F16 ||
         encodingFacts(encoding).ggmlType == kNoGgmlType;
}

std::optional<std::string> encodeRow(Encoding encoding, const float *values,
                                     int64_t count, uint8_t *result) {
  const float largest = largestOf(encoding);
  for (int64_t i = 0; i < count; ++i)
    if (!(std::abs(values[i]) <= largest))
      return "number " + std::to_string(i) + " is " +
             std::to_string(values[i]) + ", allowed for " +
             encodingFacts(encoding).name + " are finite ones up to " +
             std::to_string(largest);
  const EncodingFacts &facts = encodingFacts(encoding);
  if (encoding == Encoding::F32 || encoding == Encoding::F16) {
    for (int64_t i = 0; i < count; ++i)
      storeNumber(values[i], encoding == Encoding::F16, result);
    return std::nullopt;
  }
  const CodeRange range = rangeOf(encoding);
  const int64_t group = facts.isRow() ? count : facts.blockElements;
  for (int64_t first = 0; first < count; first += group) {
    encodeGroup(range, values + first, group, result);
    result += facts.blockBytes;
  }
  return std::nullopt;
}

double weightedError(Encoding encoding, const float *values,
                     const float *decoded, int64_t count) {
  const bool isByte = encodingFacts(encoding).rowCodeBits == 8;
  double mean = 0, sum = 0;
  for (int64_t i = 0; i < count; ++i)
    mean += double(values[i]) * values[i] / static_cast<double>(count);
  for (int64_t i = 0; i < count; ++i) {
    double error = double(values[i]) - decoded[i];
    const double weight = isByte ? 1 : double(values[i]) * values[i] + mean;
    sum += weight * error * error;
  }
  return sum;
}

} // namespace llmc::graph
