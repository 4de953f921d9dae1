// SPDX-License-Identifier: Apache-2.0
//
// Walks the functions of a module: decides the storage of every value, keeps
// track of where values lie, and asks the lowering of each region's kind for
// its dispatches. How a region is computed is in the Lower….cpp files.

#include "codegen/Lowering/CounterReset.h"
#include "codegen/Lowering/Passes.h"
#include "codegen/Lowering/RegionLowering.h"
#include "dialects/Graph/RegionResults.h"
#include "dialects/Target/ModuleDevice.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/SPIRV/IR/SPIRVDialect.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "llvm/ADT/StringSet.h"

namespace llmc::codegen {

#define DEBUG_TYPE "llmc-lower-regions"
#define GEN_PASS_DEF_LOWERREGIONSPASS
#include "codegen/Lowering/Passes.h.inc"

namespace {

using mlir::func::FuncOp;

constexpr StringRef kNameAttr = "graph.name";

StringRef functionOf(FuncOp func) {
  auto name = func->getAttrOfType<StringAttr>("graph.function");
  return name ? name.getValue() : func.getName();
}

StringRef argumentName(FuncOp func, unsigned number) {
  auto name = func.getArgAttrOfType<StringAttr>(number, kNameAttr);
  return name ? name.getValue() : StringRef();
}

StringRef resultName(FuncOp func, unsigned number) {
  auto name = func.getResultAttrOfType<StringAttr>(number, kNameAttr);
  return name ? name.getValue() : StringRef();
}

/// Names that are results of one function and arguments of another.
llvm::StringSet<> findKeptNames(ModuleOp module) {
  llvm::StringMap<StringRef> resultOf;
  for (FuncOp func : module.getOps<FuncOp>())
    for (unsigned i = 0; i < func.getNumResults(); ++i)
      resultOf[resultName(func, i)] = functionOf(func);
  llvm::StringSet<> kept;
  for (FuncOp func : module.getOps<FuncOp>())
    for (unsigned i = 0; i < func.getNumArguments(); ++i) {
      StringRef name = argumentName(func, i);
      auto writer = resultOf.find(name);
      if (!name.empty() && writer != resultOf.end() &&
          writer->second != functionOf(func))
        kept.insert(name);
    }
  return kept;
}

/// Lowers one function into one entry.
class FunctionLowering {
public:
  FunctionLowering(KernelCache &kernels, FuncOp func, program::EntryOp entry,
                   target::DeviceAttr device,
                   const llvm::StringSet<> &keptNames)
      : entry(kernels, entry), func(func), device(device), keptNames(keptNames),
        rows(static_cast<int64_t>(entry.getRows())) {}

  LogicalResult run(unsigned &numRegions);

private:
  LogicalResult addArguments();
  LogicalResult addReturned();
  LogicalResult addRegionResults(graph::RegionOp region);
  LogicalResult lower(Operation *op);
  LogicalResult lower(graph::RegionOp region);
  View stateView(graph::KvAppendOp append);
  LogicalResult addQuantized(graph::RegionOp region);
  View quantizedView(OpResult result);
  View newView(Location loc, program::Storage storage, StringRef name,
               RankedTensorType type);

  EntryBuilder entry;
  FuncOp func;
  target::DeviceAttr device;
  const llvm::StringSet<> &keptNames;
  int64_t rows;
  RegionContext::Values values;
  /// Where returned values go, by the value before reshapes.
  DenseMap<Value, std::pair<program::Storage, StringRef>> returned;
};

/// A slice for `type`: rows of activations, f32 or f16, are padded to four
/// elements; index tensors are dense.
View FunctionLowering::newView(Location loc, program::Storage storage,
                               StringRef name, RankedTensorType type) {
  View view{{}, 0, 0, type, {}};
  int64_t numRows = type.isDynamicDim(0) ? rows : type.getDimSize(0);
  view.isHalf = type.getElementType().isF16();
  view.rowStride = type.getElementType().isInteger()
                       ? view.columns()
                       : paddedRow(view.columns());
  int64_t rowBytes = view.rowStride * (view.isHalf ? 2 : 4);
  // The host reads rows of f16 as words of two, padding included.
  RankedTensorType stored = type;
  if (view.isHalf && storage != program::Storage::Arena)
    stored = RankedTensorType::get({type.getDimSize(0), view.rowStride / 2},
                                   IntegerType::get(type.getContext(), 32));
  view.slice = entry.slice(loc, storage, name, numRows * rowBytes, stored);
  if (storage != program::Storage::Arena) {
    Builder builder(loc.getContext());
    Operation *slice = view.slice.getDefiningOp();
    slice->setAttr("row_bytes", builder.getI64IntegerAttr(rowBytes));
    slice->setAttr("rows", builder.getI64IntegerAttr(numRows));
  }
  return view;
}

/// The cache that `append` writes. Behind codes of i8 lie their scales.
View FunctionLowering::stateView(graph::KvAppendOp append) {
  auto state = SymbolTable::lookupNearestSymbolFrom<graph::StateOp>(
      append, append.getStateAttr());
  auto type = cast<RankedTensorType>(state.getType());
  int64_t bytes = type.getNumElements() * type.getElementTypeBitWidth() / 8;
  if (type.getElementType().isInteger(8))
    bytes += 4 * type.getDimSize(0) * type.getDimSize(1);
  return {entry.stateSlice(append.getLoc(), append.getState(), bytes, type),
          0,
          0,
          cast<RankedTensorType>(append.getType()),
          type,
          /*isHalf=*/type.getElementType().isF16()};
}

LogicalResult FunctionLowering::addArguments() {
  for (auto [number, argument] : llvm::enumerate(func.getArguments())) {
    StringRef name = argumentName(func, number);
    auto type = dyn_cast<RankedTensorType>(argument.getType());
    if (type && type.getRank() == 0) {
      if (name != "position" && name != "first_row")
        return func.emitOpError("has a scalar argument '")
               << name << "'; a step has only position and first_row";
      values.words[argument] =
          name == "position" ? StepWord::Position : StepWord::FirstRow;
      continue;
    }
    if (!type || name.empty())
      return func.emitOpError("has an argument of type ")
             << argument.getType() << " without a tensor's " << kNameAttr;
    auto storage = keptNames.contains(name) ? program::Storage::Kept
                                            : program::Storage::Input;
    values.views[argument] = newView(func.getLoc(), storage, name, type);
  }
  return success();
}

LogicalResult FunctionLowering::addReturned() {
  Operation *terminator = func.getBody().front().getTerminator();
  for (auto [number, operand] : llvm::enumerate(terminator->getOperands())) {
    StringRef name = resultName(func, number);
    Value value = graph::throughReshapes(operand);
    if (name.empty() || !value.getDefiningOp<graph::RegionOp>())
      return func.emitOpError("returns result ")
             << number << ", which has no " << kNameAttr
             << " or no region computes";
    auto storage = keptNames.contains(name) ? program::Storage::Kept
                                            : program::Storage::Output;
    if (!returned.try_emplace(value, storage, name).second)
      return func.emitOpError("returns one value twice, as '")
             << name << "' too";
  }
  return success();
}

/// Codes, scales or sums of a quantize_activations: rows are padded to four,
/// which lie together.
View FunctionLowering::quantizedView(OpResult result) {
  View view{{}, 0, 0, cast<RankedTensorType>(result.getType()), {}};
  int64_t numRows = view.type.isDynamicDim(0) ? rows : view.type.getDimSize(0);
  view.rowStride = view.columns();
  int64_t bytes = llvm::alignTo(numRows, 4) * view.rowStride *
                  view.type.getElementTypeBitWidth() / 8;
  auto [storage, name] = returned.lookup_or(
      result, std::pair(program::Storage::Arena, StringRef()));
  view.slice = entry.slice(result.getLoc(), storage, name, bytes, view.type);
  return view;
}

/// The results of a quantize_activations that |region| ends in, if any.
LogicalResult FunctionLowering::addQuantized(graph::RegionOp region) {
  Operation *yield = region.getBody().front().getTerminator();
  SmallVector<Value> found;
  for (OpResult result : region.getResults()) {
    Value inBody = yield->getOperand(result.getResultNumber());
    if (!inBody.getDefiningOp<graph::QuantizeActivationsOp>())
      continue;
    found.push_back(inBody);
    values.views[result] = quantizedView(result);
  }
  if (found.empty() ||
      llvm::equal(found, found.front().getDefiningOp()->getResults()))
    return success();
  return region.emitOpError("yields not just the three results of one "
                            "quantize_activations, in order");
}

LogicalResult FunctionLowering::addRegionResults(graph::RegionOp region) {
  if (failed(addQuantized(region)))
    return failure();
  Operation *yield = region.getBody().front().getTerminator();
  for (OpResult result : region.getResults()) {
    if (values.views.contains(result))
      continue;
    if (auto append = yield->getOperand(result.getResultNumber())
                          .getDefiningOp<graph::KvAppendOp>()) {
      values.views[result] = stateView(append);
      continue;
    }
    auto type = cast<RankedTensorType>(result.getType());
    bool isIndices = type.getElementType().isInteger(32); // experts of rows
    bool isActivation = isa<mlir::FloatType>(type.getElementType());
    if (type.getRank() == 0 || (!isActivation && !isIndices))
      return region.emitOpError("has a result of type ")
             << type << ", which is no f32 or f16 activation and no indices";
    auto place = returned.find(result);
    values.views[result] =
        place == returned.end()
            ? newView(region.getLoc(), program::Storage::Arena, "", type)
            : newView(region.getLoc(), place->second.first,
                      place->second.second, type);
  }
  return success();
}

LogicalResult FunctionLowering::lower(graph::RegionOp region) {
  if (failed(addRegionResults(region)))
    return failure();
  std::optional<graph::LoweringConfigAttr> config = region.getLoweringConfig();
  if (!config)
    return region.emitOpError("has no lowering_config");
  RegionLowering lowering = findRegionLowering(config->getKind().getValue());
  if (!lowering)
    return region.emitOpError("has a lowering_config of unknown kind ")
           << config->getKind();
  RegionContext context(entry, values, region, device, rows);
  FailureOr<std::vector<RowRange>> parts = context.weightParts();
  if (failed(parts))
    return failure();
  for (RowRange part : *parts) {
    context.selectPart(part);
    if (failed(lowering(context)))
      return failure();
  }
  return success();
}

LogicalResult FunctionLowering::lower(Operation *op) {
  if (auto load = dyn_cast<graph::LoadWeightOp>(op)) {
    values.weights[load] = load.getWeightAttr().getAttr();
    return success();
  }
  if (isa<graph::ReshapeOp, graph::SliceOp>(op)) {
    auto producer = values.views.find(op->getOperand(0));
    if (producer == values.views.end())
      return op->emitOpError(
          "stands outside of a region on an operand that is not in memory");
    FailureOr<View> view = viewThrough(op, producer->second);
    if (failed(view))
      return failure();
    values.views[op->getResult(0)] = *view;
    return success();
  }
  if (isa<graph::ConstantOp, mlir::func::ReturnOp>(op))
    return success();
  return op->emitOpError("stands outside of a region");
}

LogicalResult FunctionLowering::run(unsigned &numRegions) {
  if (failed(addArguments()) || failed(addReturned()))
    return failure();
  for (Operation &op : func.getBody().front()) {
    auto region = dyn_cast<graph::RegionOp>(op);
    if (failed(region ? lower(region) : lower(&op)))
      return failure();
    numRegions += region ? 1 : 0;
  }
  emitCounterReset(entry, device, func.getLoc());
  return success();
}

/// Errors at dispatches and kernels that the device cannot run.
LogicalResult verifyLimits(ModuleOp module, target::DeviceAttr device) {
  for (auto kernel : module.getOps<program::KernelOp>()) {
    int64_t invocations = 1;
    for (int64_t size : kernel.getWorkgroup())
      invocations *= size;
    if (invocations > device.getMaxInvocations())
      return kernel.emitError("kernel '")
             << kernel.getSymName() << "' has workgroups of " << invocations
             << " invocations; device '" << device.getName() << "' allows "
             << device.getMaxInvocations();
    for (auto [size, most] :
         llvm::zip(kernel.getWorkgroup(), device.getMaxWorkgroupSize()))
      if (size > most)
        return kernel.emitError("kernel '")
               << kernel.getSymName() << "' has workgroups of " << size
               << " invocations in one dimension; device '" << device.getName()
               << "' allows " << most;
    if (static_cast<int64_t>(kernel.getWorkgroupMemoryBytes()) >
        device.getWorkgroupMemoryBytes())
      return kernel.emitError("kernel '")
             << kernel.getSymName() << "' takes "
             << kernel.getWorkgroupMemoryBytes()
             << " bytes of workgroup memory; device '" << device.getName()
             << "' has " << device.getWorkgroupMemoryBytes();
    if (device.getMaxStorageBuffers() &&
        static_cast<int64_t>(kernel.getNumBindings()) >
            device.getMaxStorageBuffers())
      return kernel.emitError("kernel '")
             << kernel.getSymName() << "' binds " << kernel.getNumBindings()
             << " storage buffers; device '" << device.getName() << "' allows "
             << device.getMaxStorageBuffers();
  }
  LogicalResult ok = success();
  module.walk([&](program::DispatchOp dispatch) {
    for (auto [count, most] :
         llvm::zip(dispatch.getGroups(), device.getMaxWorkgroupCount()))
      if (count > most)
        ok = dispatch.emitError("kernel '")
             << dispatch.getKernel() << "' needs " << count
             << " workgroups in one dimension; device '" << device.getName()
             << "' allows " << most;
  });
  return ok;
}

//===----------------------------------------------------------------------===//
// llmc-lower-regions
//===----------------------------------------------------------------------===//

struct LowerRegionsPass final : impl::LowerRegionsPassBase<LowerRegionsPass> {
  using Base::Base;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    FailureOr<target::DeviceAttr> device =
        target::getModuleDevice(module, "to lower for");
    if (failed(device))
      return signalPassFailure();
    KernelCache kernels(module);
    llvm::StringSet<> keptNames = findKeptNames(module);
    unsigned lowered = 0;
    for (FuncOp func : llvm::make_early_inc_range(module.getOps<FuncOp>())) {
      if (failed(lowerFunction(kernels, func, *device, keptNames, lowered)))
        return signalPassFailure();
      func.erase();
    }
    if (failed(verifyLimits(module, *device)))
      return signalPassFailure();
    numRegions += lowered;
  }

  static LogicalResult lowerFunction(KernelCache &kernels, FuncOp func,
                                     target::DeviceAttr device,
                                     const llvm::StringSet<> &keptNames,
                                     unsigned &lowered) {
    if (func.isExternal())
      return func.emitOpError("has no body");
    auto rows = func->getAttrOfType<IntegerAttr>("graph.rows");
    OpBuilder builder(func);
    auto entry = program::EntryOp::create(
        builder, func.getLoc(), func.getName(), functionOf(func),
        rows ? rows.getInt() : 1, /*arena_bytes=*/nullptr);
    entry.getBody().emplaceBlock();
    return FunctionLowering(kernels, func, entry, device, keptNames)
        .run(lowered);
  }
};

} // namespace

} // namespace llmc::codegen
