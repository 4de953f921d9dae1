// SPDX-License-Identifier: Apache-2.0
//
// EntryKernel.h.

#include "codegen/Lowering/EntryKernel.h"

#include "codegen/Lowering/GroupGrid.h"

#include "mlir/Dialect/SPIRV/IR/TargetAndABI.h"

namespace llmc::codegen {

EntryKernel::EntryKernel(EntryBuilder &entry, target::DeviceAttr device,
                         Location loc, ArrayRef<int64_t> workgroup)
    : entry(entry), device(device), workgroup(workgroup),
      kernelBuilder(loc, loc.getContext()) {
  KernelBuilder &b = kernelBuilder;
  b.setInsertionPointToEnd(entry.getKernels().getModule().getBody());
  module = gpu::GPUModuleOp::create(b, "kernel");
  b.setInsertionPointToStart(module.getBody());
  function = gpu::GPUFuncOp::create(b, "main", b.getFunctionType({}, {}));
  function->setAttr(gpu::GPUDialect::getKernelFuncAttrName(), b.getUnitAttr());
  SmallVector<int32_t> size(workgroup);
  function->setAttr(mlir::spirv::getEntryPointABIAttrName(),
                    mlir::spirv::getEntryPointABIAttr(b.getContext(), size));
  b.setInsertionPointToStart(&function.getBody().front());
  b.setInsertionPoint(gpu::ReturnOp::create(b));
}

Value EntryKernel::bind(Value slice, Type element, program::Access access) {
  for (auto [number, binding] : llvm::enumerate(bindings)) {
    if (binding.slice != slice || binding.element != element)
      continue;
    if (binding.access != access)
      binding.access = program::Access::ReadWrite;
    return function.getArgument(number);
  }
  bindings.push_back({slice, element, access});
  unsigned number = function.getNumArguments();
  (void)function.insertArgument(number, kernelBuilder.bufferType(element), {},
                                kernelBuilder.getLoc());
  return function.getArgument(number);
}

Value EntryKernel::stepWords(program::Access access) {
  return bind(entry.stepSlice(kernelBuilder.getLoc()),
              kernelBuilder.getI32Type(), access);
}

Value EntryKernel::stepWord(StepWord word) {
  Value &loaded = loadedWords[static_cast<int>(word)];
  if (loaded)
    return loaded;
  Value words = stepWords(program::Access::Read);
  OpBuilder::InsertionGuard guard(kernelBuilder);
  kernelBuilder.setInsertionPointToStart(&function.getBody().front());
  loaded = kernelBuilder.load(words,
                              kernelBuilder.index(static_cast<int64_t>(word)));
  return loaded;
}

void EntryKernel::finish(StringRef label, ArrayRef<int64_t> groups,
                         graph::LoweringConfigAttr config,
                         StringRef kernelLabel) {
  ArrayRef<int64_t> most = device.getMaxWorkgroupCount();
  GroupGrid wanted = {groups[0], groups[1], groups[2]};
  GroupGrid grid = foldGrid(wanted, {most[0], most[1], most[2]});
  if (grid != wanted)
    foldKernel(function, wanted, grid);
  SmallVector<Value> slices;
  SmallVector<program::Access> access;
  for (const Binding &binding : bindings) {
    slices.push_back(binding.slice);
    access.push_back(binding.access);
  }
  StringAttr kernel = entry.getKernels().intern(
      module, kernelLabel.empty() ? label : kernelLabel, workgroup,
      static_cast<int64_t>(bindings.size()), kernelBuilder.workgroupBytes(),
      config);
  entry.dispatch(kernelBuilder.getLoc(), kernel, grid, slices, access, label);
}

} // namespace llmc::codegen
