// SPDX-License-Identifier: Apache-2.0
//
// SelfTest.h on a session of the self-test's own program.

#include "runtime/session/SelfTest.h"

#include "runtime/format/SelfTestFormula.h"
#include "runtime/session/Session.h"
#include "runtime/session/TestPlan.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstring>
#include <vector>

namespace llmc::runtime {

namespace {

class SelfTester {
public:
  SelfTester(const format::SelfTest &test, Session &session,
             const SelfTestOptions &options)
      : test(test), session(session), options(options) {}

  /// `left`: the cases.
  StatusOr<SelfTestReport> run(std::vector<uint32_t> left);

private:
  using Results = std::vector<std::vector<float>>; // by output

  const format::SelfTestCase &caseAt(uint32_t number) const {
    return test.cases(static_cast<int>(number));
  }
  const format::Entry &entryOf(const format::SelfTestCase &one) const {
    return test.program().entries(static_cast<int>(one.entry()));
  }
  Status runStep(const format::SelfTestCase &one, uint32_t number);
  Status writeInput(const format::SelfTestCase &one, uint32_t number,
                    uint32_t input);
  StatusOr<Results> runCase(const format::SelfTestCase &one);
  static std::string compare(const format::Entry &entry,
                             const format::Expectation &expected,
                             const std::vector<float> &found);
  StatusOr<std::string> problemOf(const format::SelfTestCase &one);
  std::string nameOf(const format::SelfTestCase &one) const;

  const format::SelfTest &test;
  Session &session;
  const SelfTestOptions &options;
};

uint64_t rowsOf(const format::Port &port) {
  return port.slice().range() / port.row_bytes();
}

Status SelfTester::writeInput(const format::SelfTestCase &one, uint32_t number,
                              uint32_t input) {
  const format::Port &port = entryOf(one).inputs(static_cast<int>(input));
  const format::SelfTestStep &step = one.steps(static_cast<int>(number));
  for (const format::IndexInput &given : step.indices())
    if (given.input() == input)
      return session.writeInput(one.entry(), input, given.values().data(),
                                static_cast<uint64_t>(given.values_size()) /
                                    port.row_elements());
  // Tensors of a static number of rows are given whole.
  const bool hasRowsOfStep = rowsOf(port) == entryOf(one).rows();
  const uint64_t rows = hasRowsOfStep
                            ? std::min<uint64_t>(step.rows(), rowsOf(port))
                            : rowsOf(port);
  std::vector<float> numbers(rows * port.row_elements());
  const uint32_t seed = format::selfTestSeed(port.name(), number);
  for (size_t i = 0; i < numbers.size(); ++i)
    numbers[i] = format::selfTestInput(seed, i);
  return session.writeInput(one.entry(), input, numbers.data(), rows);
}

Status SelfTester::runStep(const format::SelfTestCase &one, uint32_t number) {
  const format::SelfTestStep &step = one.steps(static_cast<int>(number));
  session.writeStep(one.entry(), {static_cast<int32_t>(step.position()),
                                  static_cast<int32_t>(step.rows()), 0});
  for (int input = 0; input < entryOf(one).inputs_size(); ++input)
    LLMC_RETURN_IF_ERROR(writeInput(one, number, static_cast<uint32_t>(input)));
  return session.submit({one.entry()});
}

/// Elements of i32, which are no more than 2^24, become the numbers they are.
void widenIntegers(std::vector<float> &elements) {
  for (float &element : elements) {
    int32_t integer = 0;
    std::memcpy(&integer, &element, sizeof(integer));
    element = static_cast<float>(integer);
  }
}

StatusOr<SelfTester::Results>
SelfTester::runCase(const format::SelfTestCase &one) {
  for (int number = 0; number < one.steps_size(); ++number)
    LLMC_RETURN_IF_ERROR(runStep(one, static_cast<uint32_t>(number)));
  Results results;
  for (const format::Expectation &expected : one.expectations()) {
    const format::Port &port =
        entryOf(one).outputs(static_cast<int>(expected.output()));
    std::vector<float> numbers(expected.rows() * port.row_elements());
    LLMC_RETURN_IF_ERROR(session.readOutput(one.entry(), expected.output(),
                                            numbers.data(), expected.rows()));
    if (port.element_type() == "i32")
      widenIntegers(numbers);
    results.push_back(std::move(numbers));
  }
  return results;
}

/// What is wrong with a result; empty: nothing.
std::string SelfTester::compare(const format::Entry &entry,
                                const format::Expectation &expected,
                                const std::vector<float> &found) {
  const size_t size = expected.block();
  for (int block = 0; block < expected.sums_size(); ++block) {
    const double sum = format::selfTestSum(found.data(), found.size(), size,
                                           static_cast<size_t>(block));
    const double wanted = expected.sums(block);
    // Not a number is no small difference either.
    if (std::abs(sum - wanted) <= expected.tolerance())
      continue;
    const size_t first = static_cast<size_t>(block) * size;
    return "numbers " + std::to_string(first) + " to " +
           std::to_string(std::min(first + size, found.size()) - 1) +
           " of result " +
           entry.outputs(static_cast<int>(expected.output())).name() +
           " sum to " + std::to_string(sum) + ", expected is " +
           std::to_string(wanted) + " within " +
           std::to_string(expected.tolerance());
  }
  return "";
}

StatusOr<std::string> SelfTester::problemOf(const format::SelfTestCase &one) {
  Results first;
  for (unsigned run = 0; run < options.numRuns; ++run) {
    LLMC_ASSIGN_OR_RETURN(Results results, runCase(one));
    if (options.pretendsUnstable && run % 2)
      for (std::vector<float> &numbers : results)
        numbers.front() = std::nextafter(numbers.front(), HUGE_VALF);
    if (run == 0)
      first = results;
    for (size_t i = 0; i < results.size(); ++i) {
      if (std::memcmp(results[i].data(), first[i].data(),
                      first[i].size() * sizeof(float)) != 0)
        return "run " + std::to_string(run + 1) +
               " gave other bits than the first";
      std::string problem = compare(
          entryOf(one), one.expectations(static_cast<int>(i)), results[i]);
      if (!problem.empty())
        return problem;
    }
  }
  return std::string();
}

std::string SelfTester::nameOf(const format::SelfTestCase &one) const {
  std::string labels;
  for (const format::Command &command : entryOf(one).commands())
    if (command.has_dispatch())
      labels += (labels.empty() ? "" : ", ") + command.dispatch().label();
  return entryOf(one).function() + " (" + labels + ", " +
         std::to_string(entryOf(one).rows()) + " rows)";
}

StatusOr<SelfTestReport> SelfTester::run(std::vector<uint32_t> left) {
  SelfTestReport report;
  Status failure;
  std::vector<std::vector<uint32_t>> kernels; // of these
  for (const uint32_t number : left)
    kernels.push_back(kernelsOf(entryOf(caseAt(number))));
  while (!left.empty()) {
    const size_t next = session.module().pipelines().requireAny(kernels);
    const auto place = static_cast<std::ptrdiff_t>(next);
    const format::SelfTestCase &one = caseAt(left[next]);
    const StatusOr<std::string> problem = problemOf(one);
    if (problem.ok() && problem->empty()) {
      ++report.numCases;
      left.erase(left.begin() + place);
      kernels.erase(kernels.begin() + place);
      continue;
    }
    // What is told does not depend on which kernels were there first: a case
    // before this one may still be wrong instead.
    failure = problem.status();
    report.problem = problem.ok() ? nameOf(one) + ": " + *problem : "";
    left.resize(next);
    kernels.resize(next);
  }
  LLMC_RETURN_IF_ERROR(failure);
  return report;
}

} // namespace

StatusOr<SelfTestReport> runSelfTest(std::shared_ptr<const Module> module,
                                     const std::vector<uint32_t> &cases,
                                     const SelfTestOptions &options) {
  if (!module->variant().has_self_test())
    return SelfTestReport();
  const format::SelfTest &test = module->variant().self_test();
  LLMC_ASSIGN_OR_RETURN(
      std::unique_ptr<Session> session,
      Session::create(std::move(module), {}, &test.program()));
  return SelfTester(test, *session, options).run(cases);
}

} // namespace llmc::runtime
