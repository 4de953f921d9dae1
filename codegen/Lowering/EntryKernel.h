// SPDX-License-Identifier: Apache-2.0
//
// A kernel while it is built, and the dispatch of it in an entry.

#ifndef LLMC_CODEGEN_LOWERING_ENTRYKERNEL_H
#define LLMC_CODEGEN_LOWERING_ENTRYKERNEL_H

#include "codegen/Lowering/KernelBuilder.h"
#include "codegen/Lowering/ProgramBuilder.h"
#include "dialects/Graph/Graph.h"

namespace llmc::codegen {

/// Words of the step buffer.
enum class StepWord { Position = 0, Rows = 1, FirstRow = 2 };

class EntryKernel {
public:
  /// `workgroup` has three sizes.
  EntryKernel(EntryBuilder &entry, target::DeviceAttr device, Location loc,
              ArrayRef<int64_t> workgroup);
  EntryKernel(const EntryKernel &) = delete;
  EntryKernel &operator=(const EntryKernel &) = delete;

  /// Inserts at the end of the kernel's body, or where the caller left it.
  KernelBuilder &builder() { return kernelBuilder; }

  /// The kernel's argument for `slice` as memref<? x element>; one per slice
  /// and element type. `access` is merged.
  Value bind(Value slice, Type element, program::Access access);
  /// The step words, as memref<? x i32>.
  Value stepWords(program::Access access);
  /// A word of the step buffer as i32, loaded once at the kernel's start.
  Value stepWord(StepWord word);

  /// Ends the kernel and emits its dispatch, in a grid that the device launches
  /// (GroupGrid.h). `label` says what it computes and names the kernel, unless
  /// dispatches of several labels share it: then `kernelLabel` does.
  void finish(StringRef label, ArrayRef<int64_t> groups,
              graph::LoweringConfigAttr config, StringRef kernelLabel = "");

private:
  struct Binding {
    Value slice;
    Type element;
    program::Access access;
  };

  EntryBuilder &entry;
  target::DeviceAttr device;
  SmallVector<int64_t> workgroup;
  gpu::GPUModuleOp module;
  gpu::GPUFuncOp function;
  KernelBuilder kernelBuilder;
  SmallVector<Binding> bindings;
  DenseMap<int, Value> loadedWords;
};

} // namespace llmc::codegen

#endif // LLMC_CODEGEN_LOWERING_ENTRYKERNEL_H
