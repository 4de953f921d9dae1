// SPDX-License-Identifier: Apache-2.0
//
// PrefillPlan.h: full steps of the largest bucket while plenty of tokens
// remain, then the exact optimum for the rest.

#include "runtime/session/PrefillPlan.h"

#include <algorithm>
#include <functional>

namespace llmc::runtime {

namespace {

/// best[n]: the first step of the cheapest plan for n tokens.
std::vector<uint32_t>
cheapestFirstBuckets(uint32_t numTokens, const std::vector<uint32_t> &buckets) {
  std::vector<uint64_t> cost(numTokens + 1, 0);
  std::vector<uint32_t> best(numTokens + 1, 0);
  for (uint32_t n = 1; n <= numTokens; ++n) {
    cost[n] = UINT64_MAX;
    for (const uint32_t bucket : buckets) {
      const uint64_t candidate =
          uint64_t{bucket} + kStepCost + cost[n - std::min(n, bucket)];
      if (candidate < cost[n]) {
        cost[n] = candidate;
        best[n] = bucket;
      }
    }
  }
  return best;
}

} // namespace

std::vector<PrefillStep> planPrefill(uint32_t numTokens,
                                     std::vector<uint32_t> buckets) {
  std::vector<PrefillStep> steps;
  if (buckets.empty())
    return steps;
  std::sort(buckets.begin(), buckets.end(), std::greater<uint32_t>());
  const uint32_t largest = buckets.front();
  while (numTokens / 2 >= largest) {
    steps.push_back({largest, largest});
    numTokens -= largest;
  }
  const std::vector<uint32_t> best = cheapestFirstBuckets(numTokens, buckets);
  std::vector<uint32_t> rest;
  for (uint32_t left = numTokens; left > 0; left -= std::min(left, best[left]))
    rest.push_back(best[left]);
  // Padding belongs into the last step, whichever bucket comes first.
  std::sort(rest.begin(), rest.end(), std::greater<uint32_t>());
  for (const uint32_t bucket : rest) {
    steps.push_back({bucket, std::min(bucket, numTokens)});
    numTokens -= steps.back().rows;
  }
  return steps;
}

} // namespace llmc::runtime
