// SPDX-License-Identifier: Apache-2.0
//
// An entry `next` beside `logits`: the same linears, but their result stays on
// the device, where the next token is chosen and handed to the next step.

#include "codegen/Lowering/Passes.h"
#include "codegen/Lowering/SamplingKernels.h"
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

SamplingSlices addSlices(EntryBuilder &entry, Location loc) {
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
  slices.tokens = slice(Storage::Input, "tokens", 1, integer);
  slices.chosen = slice(Storage::Output, "chosen", kSamplingRing, integer);
  return slices;
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
    OpBuilder builder = OpBuilder::atBlockEnd(module.getBody());
    auto next = program::EntryOp::create(builder, loc, "next_r1", "next",
                                         /*rows=*/1, /*arena_bytes=*/nullptr);
    next.getBody().emplaceBlock();
    KernelCache kernels(module);
    EntryBuilder entry(kernels, next);
    Value row = copyBody(logits, entry, result);
    SamplingSlices slices = addSlices(entry, loc);
    slices.logits = row;
    slices.vocabularySize = result.getRowElements();
    emitSampling(entry, *device, loc, slices);
  }
};

} // namespace

} // namespace llmc::codegen
