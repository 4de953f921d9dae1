// SPDX-License-Identifier: Apache-2.0
//
// Reads the regions back from text, so that they are those of one compilation,
// and numbers them as the pass that exposes them does.

#include "compiler/Verify/ReferenceRun.h"

#include "compiler/Pipelines/Registration.h"
#include "compiler/Reference/Evaluator.h"
#include "compiler/Verify/Arithmetic.h"
#include "dialects/Support/Location.h"

#include "mlir/IR/DialectRegistry.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Parser/Parser.h"

namespace llmc::verify {

struct ReferenceRun::State {
  MLIRContext context;
  OwningOpRef<ModuleOp> module;
  std::optional<reference::Evaluator> evaluator;
};

namespace {

mlir::DialectRegistry makeRegistry() {
  mlir::DialectRegistry registry;
  pipelines::registerAllDialects(registry);
  return registry;
}

std::string labelOf(graph::RegionOp region) {
  std::string label = describeLocation(region.getLoc());
  if (auto config = region.getLoweringConfig())
    label = config->getKind().getValue().str() + " " + label;
  return label;
}

Numbers toNumbers(const reference::Tensor &tensor) {
  return {{tensor.shape.begin(), tensor.shape.end()}, tensor.values};
}

} // namespace

ReferenceRun::ReferenceRun(std::unique_ptr<State> state)
    : state(std::move(state)) {}
ReferenceRun::~ReferenceRun() = default;

StatusOr<std::unique_ptr<ReferenceRun>>
ReferenceRun::create(const std::string &regions) {
  auto state = std::make_unique<State>();
  state->context.appendDialectRegistry(makeRegistry());
  state->module = mlir::parseSourceString<ModuleOp>(regions, &state->context);
  if (!state->module)
    return Status(StatusCode::InvalidFile, "the regions can't be read back");
  auto evaluator = reference::Evaluator::create(*state->module);
  if (!evaluator)
    return Status(StatusCode::InvalidFile,
                  llvm::toString(evaluator.takeError()));
  state->evaluator.emplace(std::move(*evaluator));
  return std::unique_ptr<ReferenceRun>(new ReferenceRun(std::move(state)));
}

StatusOr<NamedNumbers> ReferenceRun::run(const std::string &function,
                                         int64_t bucket,
                                         const NamedNumbers &arguments,
                                         const Observer &observer) {
  std::string name = function + "_r" + std::to_string(bucket);
  auto op = state->module->lookupSymbol<mlir::func::FuncOp>(name);
  if (!op)
    return Status(StatusCode::NotFound, "there is no function " + name);
  std::vector<reference::Tensor> tensors;
  for (unsigned i = 0; i < op.getNumArguments(); ++i) {
    auto wanted = op.getArgAttrOfType<StringAttr>(i, "graph.name");
    auto given = arguments.find(wanted ? wanted.getValue().str() : "");
    if (given == arguments.end())
      return Status(StatusCode::NotFound,
                    "function " + name + " takes an argument '" +
                        (wanted ? wanted.getValue().str() : "") +
                        "', which is not given");
    tensors.emplace_back(given->second.shape, given->second.values);
  }
  int64_t number = 0;
  state->evaluator->observeRegions(
      [&](graph::RegionOp region, MutableArrayRef<reference::Tensor> results) {
        for (auto [index, result] : llvm::enumerate(results)) {
          Numbers numbers = toNumbers(result);
          if (observer)
            observer({"region." + std::to_string(number) + "." +
                          std::to_string(index),
                      labelOf(region), boundOf(arithmeticOf(region)),
                      cast<RankedTensorType>(region.getResult(index).getType())
                          .getElementType()
                          .isF16(),
                      numbers});
          result.values = std::move(numbers.values);
        }
        ++number;
      });
  auto results = state->evaluator->run(name, tensors);
  if (!results)
    return Status(StatusCode::InvalidArgument,
                  llvm::toString(results.takeError()));
  NamedNumbers named;
  for (auto [i, result] : llvm::enumerate(*results))
    if (auto key = op.getResultAttrOfType<StringAttr>(static_cast<unsigned>(i),
                                                      "graph.name"))
      named[key.getValue().str()] = toNumbers(result);
  return named;
}

void ReferenceRun::reset() { state->evaluator->reset(); }

} // namespace llmc::verify
