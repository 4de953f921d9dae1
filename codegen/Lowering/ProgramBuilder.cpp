// SPDX-License-Identifier: Apache-2.0
//
// Program ops of an entry, and the sharing of equal kernels.

#include "codegen/Lowering/ProgramBuilder.h"

#include "mlir/IR/Builders.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/MathExtras.h"

#include <algorithm>

namespace llmc::codegen {

/// `Linear q4_k 2048x2048` → `linear_q4_k_2048x2048`.
static std::string symbolFromLabel(StringRef label) {
  std::string symbol;
  for (char c : label)
    symbol += llvm::isAlnum(c) ? llvm::toLower(c) : '_';
  return symbol;
}

StringAttr KernelCache::intern(mlir::gpu::GPUModuleOp kernelModule,
                               StringRef label, ArrayRef<int64_t> workgroup,
                               int64_t numBindings, int64_t workgroupBytes,
                               Attribute config) {
  Builder builder(module.getContext());
  kernelModule.setName("kernel");
  std::string text;
  llvm::raw_string_ostream stream(text);
  // Otherwise printing verifies the kernel and names all values of the program.
  kernelModule->print(stream,
                      mlir::OpPrintingFlags().useLocalScope().assumeVerified());
  stream << workgroup.size() << label;
  auto [known, isNew] = symbolOfText.try_emplace(text);
  if (!isNew) {
    kernelModule.erase();
    return known->second;
  }
  std::string symbol = symbolFromLabel(label);
  if (unsigned number = numWithName[symbol]++)
    symbol += "_" + std::to_string(number);
  kernelModule.setName(symbol + "_gpu");
  known->second = builder.getStringAttr(symbol);

  OpBuilder ops(kernelModule);
  program::KernelOp::create(ops, kernelModule.getLoc(), symbol, label,
                            workgroup, numBindings, workgroupBytes, config,
                            /*spirv=*/nullptr);
  return known->second;
}

Value EntryBuilder::slice(Location loc, program::Storage storage,
                          StringRef symbol, int64_t bytes, Type valueType) {
  OpBuilder builder = OpBuilder::atBlockEnd(&entry.getBody().front());
  StringAttr symbolAttr =
      symbol.empty() ? StringAttr() : builder.getStringAttr(symbol);
  return program::SliceOp::create(
      builder, loc, program::SliceType::get(loc.getContext()), storage,
      symbolAttr,
      /*plane=*/0, bytes, /*offset=*/IntegerAttr(),
      valueType ? TypeAttr::get(valueType) : TypeAttr());
}

Value EntryBuilder::stepSlice(Location loc) {
  Value &shared = sharedSlices["step"];
  if (!shared)
    shared = slice(loc, program::Storage::Step, "", kStepBytes);
  return shared;
}

Value EntryBuilder::weightSlice(Location loc, StringRef weight, unsigned plane,
                                int64_t bytes, int64_t offset) {
  Value &shared = sharedSlices
      [("weight " + Twine(plane) + " " + Twine(offset) + " " + weight).str()];
  if (!shared) {
    shared = slice(loc, program::Storage::Weight, weight, bytes);
    auto op = shared.getDefiningOp<program::SliceOp>();
    op.setPlane(plane);
    if (offset)
      op.setOffset(offset);
  }
  return shared;
}

Value EntryBuilder::stateSlice(Location loc, StringRef state, int64_t bytes,
                               Type valueType) {
  Value &shared = sharedSlices[("state " + state).str()];
  if (!shared)
    shared = slice(loc, program::Storage::State, state, bytes, valueType);
  return shared;
}

Value EntryBuilder::counterSlice(Location loc, int64_t count) {
  Value &shared = sharedSlices["counters"];
  int64_t bytes = 4 * llvm::alignTo(count, kCountersPerGroup);
  if (!shared)
    shared = slice(loc, program::Storage::Arena, "", bytes);
  auto op = shared.getDefiningOp<program::SliceOp>();
  op.setBytes(std::max<int64_t>(bytes, op.getBytes()));
  return shared;
}

program::SliceOp EntryBuilder::findCounters() {
  Value shared = sharedSlices.lookup("counters");
  return shared ? shared.getDefiningOp<program::SliceOp>() : program::SliceOp();
}

void EntryBuilder::dispatch(Location loc, StringAttr kernel,
                            ArrayRef<int64_t> groups, ValueRange bindings,
                            ArrayRef<program::Access> access, StringRef label) {
  OpBuilder builder = OpBuilder::atBlockEnd(&entry.getBody().front());
  SmallVector<int32_t> accessCodes;
  for (program::Access one : access)
    accessCodes.push_back(static_cast<int32_t>(one));
  program::DispatchOp::create(builder, loc, kernel.getValue(), groups,
                              accessCodes, bindings,
                              builder.getStringAttr(label));
}

} // namespace llmc::codegen
