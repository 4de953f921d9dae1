// SPDX-License-Identifier: Apache-2.0
//
// A region is taken out of its model into a module of its own, where all that
// it reads is an argument or a weight, and goes through the same phases.

#include "compiler/Tuning/CandidateCompiler.h"

#include "codegen/Lowering/WeightType.h"
#include "codegen/Strategy/Tuning.h"
#include "compiler/Driver/Diagnostics.h"
#include "compiler/Pipelines/Phases.h"
#include "dialects/Graph/Encoding.h"
#include "dialects/Program/Program.h"
#include "dialects/Support/Location.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"

namespace llmc::tuner {

using mlir::func::FuncOp;

namespace {

constexpr StringRef kNameAttr = "graph.name";

int64_t rowsOf(graph::RegionOp region) {
  auto rows = region->getParentOfType<FuncOp>()->getAttrOfType<IntegerAttr>(
      "graph.rows");
  return rows ? rows.getInt() : 1;
}

/// Builds the module for one region.
class Isolator {
public:
  Isolator(graph::RegionOp region, graph::LoweringConfigAttr config)
      : region(region), config(config), builder(region.getContext()) {}

  OwningOpRef<ModuleOp> run();

private:
  /// Maps what the region reads to its like in the new module.
  void take(Value input);
  Value addArgument(Value input);
  StringRef scalarName(Value input) const;

  graph::RegionOp region;
  graph::LoweringConfigAttr config;
  OpBuilder builder;
  ModuleOp module;
  FuncOp func;
  mlir::IRMapping mapping;
  llvm::StringSet<> symbols;
};

/// The name of a scalar of the step ("position"), or nothing.
StringRef Isolator::scalarName(Value input) const {
  auto argument = dyn_cast<mlir::BlockArgument>(input);
  auto type = dyn_cast<RankedTensorType>(input.getType());
  if (!argument || !type || type.getRank() != 0)
    return {};
  auto name = region->getParentOfType<FuncOp>().getArgAttrOfType<StringAttr>(
      argument.getArgNumber(), kNameAttr);
  return name ? name.getValue() : StringRef();
}

Value Isolator::addArgument(Value input) {
  StringRef scalar = scalarName(input);
  unsigned number = func.getNumArguments();
  std::string name =
      scalar.empty() ? "input" + std::to_string(number) : scalar.str();
  auto attributes = builder.getDictionaryAttr(
      builder.getNamedAttr(kNameAttr, builder.getStringAttr(name)));
  (void)func.insertArgument(number, input.getType(), attributes,
                            region.getLoc());
  return func.getArgument(number);
}

/// Only such tensors may be arguments: the layout of others is the business of
/// the region that makes them.
bool mayBeArgument(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  return tensor && (tensor.getElementType().isF32() ||
                    tensor.getElementType().isInteger(32));
}

void Isolator::take(Value input) {
  if (mapping.contains(input))
    return;
  if (auto load = input.getDefiningOp<graph::LoadWeightOp>()) {
    StringRef symbol = load.getWeightAttr().getValue();
    if (symbols.insert(symbol).second) {
      OpBuilder::InsertionGuard guard(builder);
      builder.setInsertionPoint(func);
      builder.clone(
          *SymbolTable::lookupNearestSymbolFrom(region, load.getWeightAttr()));
    }
    builder.clone(*load, mapping);
    return;
  }
  auto producer = input.getDefiningOp<graph::RegionOp>();
  if (!producer || llvm::all_of(producer.getResultTypes(), mayBeArgument)) {
    mapping.map(input, addArgument(input));
    return;
  }
  for (Value further : producer.getInputs())
    take(further);
  builder.clone(*producer, mapping);
}

OwningOpRef<ModuleOp> Isolator::run() {
  Location loc = region.getLoc();
  auto oldModule = region->getParentOfType<ModuleOp>();
  auto oldFunc = region->getParentOfType<FuncOp>();
  OwningOpRef<ModuleOp> owned(ModuleOp::create(loc));
  module = *owned;
  module->setAttrs(oldModule->getAttrDictionary());
  builder.setInsertionPointToEnd(module.getBody());
  func = FuncOp::create(builder, loc, "candidate",
                        builder.getFunctionType({}, region.getResultTypes()));
  func->setAttr("graph.rows", builder.getI64IntegerAttr(rowsOf(region)));
  if (auto function = oldFunc->getAttr("graph.function"))
    func->setAttr("graph.function", function);
  builder.setInsertionPointToEnd(func.addEntryBlock());
  for (Value input : region.getInputs())
    take(input);
  auto copy = cast<graph::RegionOp>(builder.clone(*region, mapping));
  copy.setLoweringConfigAttr(config);
  for (unsigned number = 0; number < copy.getNumResults(); ++number)
    func.setResultAttr(
        number, kNameAttr,
        builder.getStringAttr("result" + std::to_string(number)));
  mlir::func::ReturnOp::create(builder, loc, copy.getResults());
  return owned;
}

/// "binding:bits" of each binding that holds codes of a matrix.
std::string describeWeights(ModuleOp module, program::DispatchOp dispatch) {
  SmallVector<std::string> parts;
  for (auto [number, binding] : llvm::enumerate(dispatch.getBindings())) {
    auto slice = binding.getDefiningOp<program::SliceOp>();
    if (slice.getStorage() != program::Storage::Weight || slice.getPlane() != 0)
      continue;
    auto weight = module.lookupSymbol<graph::WeightOp>(*slice.getSymbol());
    auto type = weight ? dyn_cast<RankedTensorType>(weight.getType())
                       : RankedTensorType();
    auto layout = type ? codegen::layoutOf(type) : std::nullopt;
    if (!layout || layout->name == "vector")
      continue;
    // 128 bits hold four rows of some columns.
    int64_t bits = 32 / codegen::columnsPerUnit(layout->format);
    parts.push_back(std::to_string(number) + ":" + std::to_string(bits));
  }
  return llvm::join(parts, ",");
}

std::string encodingOf(graph::RegionOp region) {
  graph::QuantizedLinearOp linear =
      *region.getBody().getOps<graph::QuantizedLinearOp>().begin();
  auto type = cast<RankedTensorType>(linear.getWeight().getType());
  auto encoded = cast<graph::EncodedType>(type.getElementType());
  return graph::encodingFacts(encoded.getEncoding()).name;
}

} // namespace

/// Where the program of a file has the region.
static LinearPlace placeOf(graph::RegionOp region) {
  auto func = region->getParentOfType<FuncOp>();
  auto name = func->getAttrOfType<StringAttr>("graph.function");
  return {0, (name ? name.getValue() : func.getName()).str(), rowsOf(region),
          describeLocation(region.getLoc())};
}

/// Strategy's own choice for a region that it computes as `kind`; false for
/// kinds that have no tuning entries.
static bool setChoice(StringRef kind, LinearOccurrence &linear) {
  const codegen::LinearProblem &problem = linear.problem;
  if (kind == "gemm_matrix") {
    linear.matrix = codegen::selectMatrixTile(problem.shape, problem.limits);
    return linear.matrix.has_value();
  }
  if (kind == "gemv_matrix")
    linear.rowInMatrices = codegen::selectGemvMatrixTile(
        problem.shape, problem.limits, problem.strategy.gemv);
  auto tile = codegen::selectLinearTile(problem.shape, problem.limits,
                                        problem.strategy);
  if (tile)
    linear.chosen = *tile;
  return tile && (kind == "gemv" || kind == "gemv_matrix" || kind == "gemm");
}

std::vector<LinearOccurrence> findLinears(ModuleOp module,
                                          target::DeviceAttr device) {
  std::vector<LinearOccurrence> found;
  llvm::StringMap<size_t> places; // in `found`, by key
  module.walk([&](graph::RegionOp region) {
    auto linears =
        llvm::to_vector(region.getBody().getOps<graph::QuantizedLinearOp>());
    if (linears.empty())
      return;
    auto problem = codegen::linearProblemOf({region, device, rowsOf(region)});
    auto config = codegen::selectLinear({region, device, rowsOf(region)});
    if (failed(problem) || failed(config))
      return;
    LinearOccurrence linear{codegen::tuningEntryOf(region, problem->shape),
                            *problem,
                            {},
                            std::nullopt,
                            std::nullopt,
                            *config,
                            region,
                            0,
                            encodingOf(region),
                            {placeOf(region)}};
    if (!setChoice(config->getKind().getValue(), linear))
      return;
    auto [known, isNew] =
        places.try_emplace(codegen::tuningKey(linear.entry), found.size());
    if (!isNew) {
      found[known->second].places.push_back(linear.places.front());
      return;
    }
    auto type = cast<RankedTensorType>(linears.front().getWeight().getType());
    linear.weightBytes =
        codegen::layoutOf(type)->bytes * static_cast<int64_t>(linears.size());
    found.push_back(std::move(linear));
  });
  return found;
}

StatusOr<CandidateKernel> compileCandidate(const LinearOccurrence &linear,
                                           const codegen::LinearTile &tile) {
  OwningOpRef<ModuleOp> module =
      Isolator(linear.region, codegen::toConfig(tile, linear.problem,
                                                linear.region->getContext()))
          .run();
  driver::DiagnosticCollector diagnostics(*module->getContext());
  bool isReached = false;
  for (const pipelines::Phase &phase : pipelines::targetPhases()) {
    isReached |= phase.name == "configs"; // of what makes its input
    if (!isReached)
      continue;
    mlir::PassManager manager(module->getContext());
    phase.addPasses(manager);
    if (failed(manager.run(*module)))
      return Status(StatusCode::Unsupported, diagnostics.sentences());
    if (phase.name == "spirv")
      break;
  }
  // A linear that takes several dispatches begins with the one that reads the
  // weights.
  CandidateKernel kernel;
  module->walk([&](program::DispatchOp dispatch) {
    auto op = module->lookupSymbol<program::KernelOp>(dispatch.getKernel());
    std::string weights = describeWeights(*module, dispatch);
    if (weights.empty() || !op || !op.getSpirv())
      return mlir::WalkResult::advance();
    kernel.spirv.assign(op.getSpirv()->begin(), op.getSpirv()->end());
    kernel.weights = std::move(weights);
    return mlir::WalkResult::interrupt();
  });
  if (kernel.spirv.empty())
    return Status(StatusCode::Unsupported, "no kernel reads the weights");
  return kernel;
}

} // namespace llmc::tuner
