// SPDX-License-Identifier: Apache-2.0
//
// An entry `next` beside `logits`: the same linears, but their result stays on
// the device, where the next token is chosen and handed to the next step.

#include "codegen/Lowering/Passes.h"
#include "codegen/Lowering/SamplingKernels.h"
#include "dialects/Program/SelfTestFunctions.h"
#include "dialects/Target/ModuleDevice.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/SPIRV/IR/SPIRVDialect.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/IRMapping.h"

namespace llmc::codegen {

#define DEBUG_TYPE "llmc-add-sampling"
#define GEN_PASS_DEF_ADDSAMPLINGPASS
#include "codegen/Lowering/Passes.h.inc"

using program::Storage;

namespace {

/// The entry of a function for one row, or null.
program::EntryOp findEntryOfOneRow(ModuleOp module, StringRef function) {
  for (auto entry : module.getOps<program::EntryOp>())
    if (entry.getFunction() == function && entry.getRows() == 1)
      return entry;
  return {};
}

program::SliceOp findSlice(program::EntryOp entry, Storage storage,
                           StringRef symbol) {
  for (auto slice : entry.getBody().getOps<program::SliceOp>())
    if (slice.getStorage() == storage && slice.getSymbol() == symbol)
      return slice;
  return {};
}

/// Copies the body of `from`; gives the slice that stands for its `logits`.
Value copyBody(program::EntryOp from, EntryBuilder &to,
               program::SliceOp logits) {
  OpBuilder builder = OpBuilder::atBlockEnd(&to.getEntry().getBody().front());
  mlir::IRMapping map;
  Value inArena =
      to.slice(logits.getLoc(), Storage::Arena, "", logits.getBytes());
  for (Operation &op : from.getBody().front()) {
    if (&op == logits)
      map.map(logits.getResult(), inArena);
    else
      builder.clone(op, map);
  }
  return inArena;
}

/// An entry of one row behind all others.
program::EntryOp addEntry(ModuleOp module, Location loc, StringRef name,
                          StringRef function) {
  OpBuilder builder = OpBuilder::atBlockEnd(module.getBody());
  auto entry = program::EntryOp::create(builder, loc, name, function,
                                        /*rows=*/1, /*arena_bytes=*/nullptr);
  entry.getBody().emplaceBlock();
  return entry;
}

bool hasSelfTests(ModuleOp module) {
  return llvm::any_of(
      module.getOps<program::EntryOp>(), [](program::EntryOp entry) {
        return entry.getFunction().starts_with(program::kSelfTestPrefix);
      });
}

/// `numChosen`: places of `chosen` that are told; `tokens`: of what storage.
SamplingSlices addSlices(EntryBuilder &entry, Location loc, int64_t numChosen,
                         Storage tokens) {
  Builder builder(loc.getContext());
  auto slice = [&](Storage storage, StringRef name, int64_t count, Type type) {
    return entry.slice(loc, storage, name, count * 4,
                       RankedTensorType::get({1, count}, type));
  };
  Type integer = builder.getI32Type(), number = builder.getF32Type();
  SamplingSlices slices;
  slices.sampling =
      slice(Storage::Input, "sampling", kNumSamplingWords, integer);
  slices.recent = slice(Storage::Input, "recent", kSamplingRing, integer);
  slices.draws = slice(Storage::Input, "draws", kSamplingRing, number);
  slices.tokens = slice(tokens, "tokens", 1, integer);
  slices.chosen = entry.slice(loc, Storage::Output, "chosen", kSamplingRing * 4,
                              RankedTensorType::get({1, numChosen}, integer));
  return slices;
}

/// The two dispatches alone, on logits that the host gives; it reads the token
/// that the next step would evaluate.
void addTest(KernelCache &kernels, target::DeviceAttr device,
             program::SliceOp logits) {
  Location loc = logits.getLoc();
  EntryBuilder entry(kernels,
                     addEntry(kernels.getModule(), loc, "selftest_sampling",
                              program::kSamplingTest));
  int64_t size = logits.getRowElements();
  Type number = Builder(loc.getContext()).getF32Type();
  Value row = entry.slice(loc, Storage::Input, "logits", logits.getBytes(),
                          RankedTensorType::get({1, size}, number));
  SamplingSlices slices =
      addSlices(entry, loc, kNumTestedTokens, Storage::Output);
  slices.logits = row;
  slices.vocabularySize = size;
  emitSampling(entry, device, loc, slices);
}

//===----------------------------------------------------------------------===//
// llmc-add-sampling
//===----------------------------------------------------------------------===//

struct AddSamplingPass final : impl::AddSamplingPassBase<AddSamplingPass> {
  using Base::Base;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    FailureOr<target::DeviceAttr> device =
        target::getModuleDevice(module, "to sample on");
    if (failed(device))
      return signalPassFailure();
    program::EntryOp forward = findEntryOfOneRow(module, "forward"),
                     logits = findEntryOfOneRow(module, "logits");
    if (!forward || !logits || !findSlice(forward, Storage::Input, "tokens"))
      return;
    program::SliceOp result = findSlice(logits, Storage::Output, "logits");
    if (!result || !canSample(*device, result.getRowElements()))
      return;
    Location loc = logits.getLoc();
    KernelCache kernels(module);
    EntryBuilder entry(kernels, addEntry(module, loc, "next_r1", "next"));
    Value row = copyBody(logits, entry, result);
    SamplingSlices slices =
        addSlices(entry, loc, kSamplingRing, Storage::Input);
    slices.logits = row;
    slices.vocabularySize = result.getRowElements();
    emitSampling(entry, *device, loc, slices);
    if (hasSelfTests(module))
      addTest(kernels, *device, result);
  }
};

} // namespace

} // namespace llmc::codegen
