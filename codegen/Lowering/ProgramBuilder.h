// SPDX-License-Identifier: Apache-2.0
//
// What grows while the functions of a module are lowered: program ops, and
// kernels of which equal ones are shared.

#ifndef LLMC_CODEGEN_LOWERING_PROGRAMBUILDER_H
#define LLMC_CODEGEN_LOWERING_PROGRAMBUILDER_H

#include "dialects/Program/Program.h"
#include "dialects/Target/Target.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "llvm/ADT/StringMap.h"

namespace llmc::codegen {

/// The kernels of a module. Kernels whose text is equal become one
/// `program.kernel` and one `gpu.module`.
class KernelCache {
public:
  explicit KernelCache(ModuleOp module) : module(module) {}

  /// Takes over `kernelModule`, which stands in the module under any name:
  /// names it, or erases it when an equal one is known. `kernel` describes it;
  /// its symbol is made from `label`. Returns the kernel's symbol.
  StringAttr intern(mlir::gpu::GPUModuleOp kernelModule, StringRef label,
                    ArrayRef<int64_t> workgroup, int64_t numBindings,
                    int64_t workgroupBytes, Attribute config);

  ModuleOp getModule() { return module; }

private:
  ModuleOp module;
  llvm::StringMap<StringAttr> symbolOfText;
  llvm::StringMap<unsigned> numWithName;
};

/// The program ops of one entry: slices and dispatches at the end of its body.
class EntryBuilder {
public:
  EntryBuilder(KernelCache &kernels, program::EntryOp entry)
      : kernels(kernels), entry(entry) {}

  KernelCache &getKernels() { return kernels; }
  program::EntryOp getEntry() { return entry; }

  /// A new slice of `bytes`. `symbol` may be empty.
  Value slice(Location loc, program::Storage storage, StringRef symbol,
              int64_t bytes, Type valueType = {});
  /// The slices of step words, of a plane of a weight and of a state exist once
  /// per entry.
  Value stepSlice(Location loc);
  /// The slice of a weight is `bytes` from `offset` of the plane on.
  Value weightSlice(Location loc, StringRef weight, unsigned plane,
                    int64_t bytes, int64_t offset = 0);
  Value stateSlice(Location loc, StringRef state, int64_t bytes,
                   Type valueType);
  /// Where the caller keeps a slice of the entry that it shares under a name,
  /// null at first.
  Value &sharedSlice(StringRef name) { return sharedSlices[name]; }
  /// At least `count` words of i32 that are zero when the entry begins: every
  /// kernel that has counted there leaves zeros (CounterReset.h). One slice an
  /// entry.
  Value counterSlice(Location loc, int64_t count);
  /// That slice, or null.
  program::SliceOp findCounters();

  void dispatch(Location loc, StringAttr kernel, ArrayRef<int64_t> groups,
                ValueRange bindings, ArrayRef<program::Access> access,
                StringRef label);

private:
  KernelCache &kernels;
  program::EntryOp entry;
  llvm::StringMap<Value> sharedSlices;
};

/// Counters are a multiple of that.
inline constexpr int64_t kCountersPerGroup = 64;

/// Bytes of the step buffer (docs/architecture.md §3).
inline constexpr int64_t kStepBytes = 64;

} // namespace llmc::codegen

#endif // LLMC_CODEGEN_LOWERING_PROGRAMBUILDER_H
