// SPDX-License-Identifier: Apache-2.0
//
// TestPlan.h.

#include "runtime/session/TestPlan.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <string>

namespace llmc::runtime {

namespace {

std::vector<bool> kernelsOfFewRows(const format::Variant &variant) {
  std::map<std::string, uint32_t> smallest; // by function
  for (const format::Entry &entry : variant.entries()) {
    auto [rows, isNew] = smallest.emplace(entry.function(), entry.rows());
    if (!isNew)
      rows->second = std::min(rows->second, entry.rows());
  }
  std::vector<bool> isFirst(static_cast<size_t>(variant.kernels_size()));
  for (const format::Entry &entry : variant.entries())
    if (entry.rows() <= std::max(kFewRows, smallest[entry.function()]))
      for (const uint32_t kernel : kernelsOf(entry))
        isFirst[kernel] = true;
  return isFirst;
}

} // namespace

std::vector<uint32_t> kernelsOf(const format::Entry &entry) {
  std::vector<uint32_t> kernels;
  for (const format::Command &command : entry.commands())
    if (command.has_dispatch())
      kernels.push_back(command.dispatch().kernel());
  return kernels;
}

TestPlan planTests(const format::Variant &variant) {
  TestPlan plan;
  plan.isFirst = kernelsOfFewRows(variant);
  const format::SelfTest &test = variant.self_test();
  std::vector<std::vector<uint32_t>> kernels; // by case
  for (const format::SelfTestCase &one : test.cases())
    kernels.push_back(
        kernelsOf(test.program().entries(static_cast<int>(one.entry()))));
  const auto isFirst = [&](uint32_t kernel) { return plan.isFirst[kernel]; };
  std::vector<bool> isTested(plan.isFirst.size()), comesFirst(kernels.size());
  const auto take = [&](size_t number) {
    comesFirst[number] = true;
    for (const uint32_t kernel : kernels[number])
      isTested[kernel] = true;
  };
  for (size_t number = 0; number < kernels.size(); ++number)
    if (std::all_of(kernels[number].begin(), kernels[number].end(), isFirst))
      take(number);
  // Kernels that are tested only together with others.
  for (size_t number = 0; number < kernels.size(); ++number)
    if (std::any_of(kernels[number].begin(), kernels[number].end(),
                    [&](uint32_t kernel) {
                      return isFirst(kernel) && !isTested[kernel];
                    }))
      take(number);
  for (size_t number = 0; number < kernels.size(); ++number)
    (comesFirst[number] ? plan.firstCases : plan.laterCases)
        .push_back(static_cast<uint32_t>(number));
  return plan;
}

std::vector<uint32_t> buildOrder(const format::Variant &variant,
                                 const TestPlan &plan) {
  std::vector<uint32_t> order(plan.isFirst.size());
  std::iota(order.begin(), order.end(), 0);
  const auto size = [&](uint32_t kernel) {
    return variant.kernels(static_cast<int>(kernel)).code_size();
  };
  std::sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) {
    if (plan.isFirst[a] != plan.isFirst[b])
      return bool(plan.isFirst[a]);
    return size(a) != size(b) ? size(a) > size(b) : a < b;
  });
  return order;
}

} // namespace llmc::runtime
