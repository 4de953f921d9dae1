// SPDX-License-Identifier: Apache-2.0
//
// Threads take functions in turn; each has an evaluator of its own, since
// evaluators have states.

#include "compiler/Verify/SelfTestCases.h"

#include "compiler/Reference/Evaluator.h"
#include "compiler/Verify/Arithmetic.h"
#include "dialects/Graph/Graph.h"
#include "dialects/Program/SelfTestFunctions.h"
#include "runtime/format/SelfTestFormula.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <list>
#include <mutex>
#include <optional>
#include <thread>

namespace llmc::verify {

using mlir::func::FuncOp;
using reference::Tensor;
using serialization::SelfTestCase;
using serialization::SelfTestExpectation;
using serialization::SelfTestStep;

namespace {

/// Rows of a step at most, and products that one may cost the evaluator.
constexpr int64_t kMostRows = 9;
constexpr int64_t kMostProducts = int64_t{64} << 20;
/// Of a function of static shapes, which can't be given fewer rows.
constexpr int64_t kMostStaticProducts = int64_t{512} << 20;
/// Steps on a cache: of one row, and of several.
constexpr int64_t kNumDecodeSteps = 5, kNumPrefillSteps = 2;
/// Sums of a result.
constexpr int64_t kMostSums = 256;

std::string nameOf(FuncOp function, unsigned argument) {
  auto name = function.getArgAttrOfType<StringAttr>(argument, "graph.name");
  return name ? name.getValue().str() : "";
}

/// The size of the largest weight that is multiplied.
int64_t largestMatrix(FuncOp function) {
  int64_t most = 1;
  for (auto load : function.getOps<graph::LoadWeightOp>()) {
    bool isTable = llvm::any_of(load->getUsers(), [](Operation *user) {
      auto region = dyn_cast<graph::RegionOp>(user);
      return region &&
             !region.getBody().getOps<graph::QuantizedEmbeddingOp>().empty();
    });
    if (!isTable)
      most = std::max(most,
                      cast<RankedTensorType>(load.getType()).getNumElements());
  }
  return most;
}

/// Positions of the shortest cache that the function appends to.
int64_t shortestCache(FuncOp function) {
  int64_t least = INT64_MAX;
  function.walk([&](graph::KvAppendOp append) {
    auto state = SymbolTable::lookupNearestSymbolFrom<graph::StateOp>(
        append, append.getStateAttr());
    least =
        std::min(least, cast<RankedTensorType>(state.getType()).getDimSize(1));
  });
  return least;
}

/// Rows of the table that |argument| picks from; none: it is no list of ids.
std::optional<int64_t> tableRows(FuncOp function,
                                 mlir::BlockArgument argument) {
  for (auto region : function.getOps<graph::RegionOp>())
    for (auto embedding :
         region.getBody().getOps<graph::QuantizedEmbeddingOp>())
      if (auto tokens = dyn_cast<mlir::BlockArgument>(embedding.getTokens());
          tokens && region->getOperand(tokens.getArgNumber()) == argument)
        return cast<RankedTensorType>(embedding.getTable().getType())
            .getDimSize(0);
  return std::nullopt;
}

class CaseMaker {
public:
  CaseMaker(FuncOp function, reference::Evaluator &evaluator)
      : function(function), evaluator(evaluator) {}

  std::optional<SelfTestCase> make();

private:
  /// False when the evaluator would take too long.
  bool chooseRows();
  std::optional<Tensor> argument(unsigned number, SelfTestStep &step);
  std::optional<std::vector<int32_t>> indices(unsigned number,
                                              const Tensor &tensor);
  std::optional<SelfTestExpectation> expectation(unsigned number,
                                                 const Tensor &result);
  bool takesPosition() {
    for (unsigned i = 0; i < function.getNumArguments(); ++i)
      if (nameOf(function, i) == "position")
        return true;
    return false;
  }

  FuncOp function;
  reference::Evaluator &evaluator;
  int64_t rows = 1, numSteps = 1;
  double bound = 0;
  SelfTestCase result;
};

/// Whether rows can be left out: an input of several rows says how many.
static bool hasStaticRows(FuncOp function) {
  return llvm::none_of(function.getArgumentTypes(), [](Type type) {
    auto tensor = dyn_cast<RankedTensorType>(type);
    return tensor && tensor.getRank() > 0 && tensor.isDynamicDim(0);
  });
}

bool CaseMaker::chooseRows() {
  auto bucket = function->getAttrOfType<IntegerAttr>("graph.rows").getInt();
  if (hasStaticRows(function)) {
    rows = bucket;
    return rows <= kMostStaticProducts / largestMatrix(function);
  }
  rows = std::clamp<int64_t>(kMostProducts / largestMatrix(function), 1,
                             std::min(bucket, kMostRows));
  if (takesPosition())
    numSteps = rows == 1 ? kNumDecodeSteps : kNumPrefillSteps;
  int64_t capacity = shortestCache(function);
  rows = std::min(rows, capacity);
  numSteps = std::min(numSteps, capacity / rows);
  return true;
}

/// Ids, places or ranges by what the argument is for.
std::optional<std::vector<int32_t>> CaseMaker::indices(unsigned number,
                                                       const Tensor &tensor) {
  std::string name = nameOf(function, number);
  auto size = static_cast<size_t>(reference::numElements(tensor.shape));
  std::vector<int32_t> values(size);
  if (name == "positions") {
    for (size_t i = 0; i < size; ++i)
      values[i] = static_cast<int32_t>(i);
  } else if (auto table = tableRows(function, function.getArgument(number))) {
    for (size_t i = 0; i < size; ++i)
      values[i] = static_cast<int32_t>(
          format::scrambled(static_cast<uint32_t>(i + result.steps.size())) %
          static_cast<uint64_t>(*table));
  } else if (name == "ranges" || name == "spans") {
    // One text of all rows.
    for (size_t i = 1; i < (name == "spans" ? 2 : size); i += 2)
      values[i] = static_cast<int32_t>(rows);
  } else {
    return std::nullopt;
  }
  return values;
}

std::optional<Tensor> CaseMaker::argument(unsigned number, SelfTestStep &step) {
  auto type = dyn_cast<RankedTensorType>(function.getArgumentTypes()[number]);
  std::string name = nameOf(function, number);
  if (!type)
    return std::nullopt;
  if (type.getRank() == 0)
    return Tensor::scalar(name == "position" ? double(step.position) : 0);
  reference::Shape shape(type.getShape());
  if (ShapedType::isDynamic(shape[0]))
    shape[0] = rows;
  if (llvm::any_of(shape, ShapedType::isDynamic))
    return std::nullopt;
  Tensor tensor(shape);
  if (type.getElementType().isF32()) {
    uint32_t seed =
        format::selfTestSeed(name, static_cast<uint32_t>(result.steps.size()));
    for (auto [i, value] : llvm::enumerate(tensor.values))
      value = format::selfTestInput(seed, i);
    return tensor;
  }
  auto values = indices(number, tensor);
  if (!values)
    return std::nullopt;
  tensor.values.assign(values->begin(), values->end());
  step.indices[name] = std::move(*values);
  return tensor;
}

/// Of a pooled result only the one text's row counts.
std::optional<SelfTestExpectation>
CaseMaker::expectation(unsigned number, const Tensor &tensor) {
  SelfTestExpectation expected;
  auto name = function.getResultAttrOfType<StringAttr>(number, "graph.name");
  expected.output = name.getValue().str();
  bool isPooled = false;
  function.walk([&](graph::PoolOp) { isPooled = true; });
  expected.rows = isPooled ? 1 : tensor.shape[0];
  int64_t count =
      reference::numElements(tensor.shape) / tensor.shape[0] * expected.rows;
  ArrayRef<double> values =
      ArrayRef(tensor.values).take_front(static_cast<size_t>(count));
  double most = 0;
  for (double value : values) {
    if (!std::isfinite(value))
      return std::nullopt;
    most = std::max(most, std::abs(value));
  }
  expected.block = llvm::divideCeil(count, kMostSums);
  for (int64_t block = 0; block * expected.block < count; ++block)
    expected.sums.push_back(static_cast<float>(format::selfTestSum(
        values.data(), values.size(), static_cast<size_t>(expected.block),
        static_cast<size_t>(block))));
  expected.tolerance = static_cast<float>(
      bound * most * (1 + std::sqrt(static_cast<double>(expected.block))));
  if (!(expected.tolerance > 0))
    return std::nullopt;
  return expected;
}

std::optional<SelfTestCase> CaseMaker::make() {
  result.function =
      function->getAttrOfType<StringAttr>("graph.function").getValue().str();
  if (!chooseRows())
    return std::nullopt;
  for (auto region : function.getOps<graph::RegionOp>())
    bound += boundOf(arithmeticOf(region));
  evaluator.reset();
  std::vector<Tensor> results;
  for (int64_t number = 0; number < numSteps; ++number) {
    SelfTestStep step{number * rows, rows, {}};
    std::vector<Tensor> arguments;
    for (unsigned i = 0; i < function.getNumArguments(); ++i) {
      std::optional<Tensor> given = argument(i, step);
      if (!given)
        return std::nullopt;
      arguments.push_back(std::move(*given));
    }
    result.steps.push_back(std::move(step));
    auto given = evaluator.run(function.getSymName(), arguments);
    if (!given) {
      // The evaluator knows less than the kernels: no case.
      llvm::consumeError(given.takeError());
      return std::nullopt;
    }
    results = std::move(*given);
  }
  for (auto [i, tensor] : llvm::enumerate(results))
    if (auto expected = expectation(static_cast<unsigned>(i), tensor))
      result.expectations.push_back(std::move(*expected));
  if (result.expectations.empty())
    return std::nullopt;
  return std::move(result);
}

} // namespace

llvm::Expected<std::vector<SelfTestCase>>
evaluateSelfTests(ModuleOp module, importer::ConvertedRows &converted,
                  unsigned numThreads) {
  std::vector<FuncOp> functions;
  for (FuncOp function : module.getOps<FuncOp>())
    if (auto name = function->getAttrOfType<StringAttr>("graph.function");
        name && name.getValue().starts_with(program::kSelfTestPrefix))
      functions.push_back(function);
  std::list<reference::Evaluator> evaluators;
  for (unsigned i = 0; i < std::max(1u, numThreads); ++i) {
    auto evaluator = reference::Evaluator::create(
        module, reference::Precision::Double, &converted);
    if (!evaluator)
      return evaluator.takeError();
    evaluators.push_back(std::move(*evaluator));
  }
  std::vector<std::optional<SelfTestCase>> made(functions.size());
  std::atomic<size_t> next{0};
  auto work = [&](reference::Evaluator &evaluator) {
    for (size_t i = next++; i < functions.size(); i = next++)
      made[i] = CaseMaker(functions[i], evaluator).make();
  };
  std::vector<std::thread> threads;
  for (auto it = std::next(evaluators.begin()); it != evaluators.end(); ++it)
    threads.emplace_back(work, std::ref(*it));
  work(evaluators.front());
  for (std::thread &thread : threads)
    thread.join();
  std::vector<SelfTestCase> cases;
  for (auto &one : made)
    if (one)
      cases.push_back(std::move(*one));
  return cases;
}

} // namespace llmc::verify
