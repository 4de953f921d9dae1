// SPDX-License-Identifier: Apache-2.0

#include "compiler/Serialization/SelfTestProgram.h"

#include "dialects/Program/Program.h"
#include "dialects/Program/SelfTestFunctions.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringSet.h"

namespace llmc::serialization {

static void eraseEntries(ModuleOp module,
                         llvm::function_ref<bool(program::EntryOp)> isErased) {
  for (auto entry :
       llvm::make_early_inc_range(module.getOps<program::EntryOp>()))
    if (isErased(entry))
      entry.erase();
}

static void eraseKernels(ModuleOp module, const llvm::StringSet<> &kept) {
  for (auto kernel :
       llvm::make_early_inc_range(module.getOps<program::KernelOp>()))
    if (!kept.contains(kernel.getSymName()))
      kernel.erase();
}

OwningOpRef<ModuleOp> splitSelfTests(ModuleOp module) {
  auto isTest = [](program::EntryOp entry) {
    return entry.getFunction().starts_with(program::kSelfTestPrefix);
  };
  OwningOpRef<ModuleOp> tests(module.clone());
  eraseEntries(module, isTest);
  llvm::StringSet<> kernels;
  module.walk([&](program::DispatchOp dispatch) {
    kernels.insert(dispatch.getKernel());
  });
  eraseEntries(*tests, [&](program::EntryOp entry) {
    return !isTest(entry) ||
           llvm::any_of(entry.getBody().getOps<program::DispatchOp>(),
                        [&](program::DispatchOp dispatch) {
                          return !kernels.contains(dispatch.getKernel());
                        });
  });
  eraseKernels(module, kernels);
  eraseKernels(*tests, kernels);
  return tests;
}

} // namespace llmc::serialization
