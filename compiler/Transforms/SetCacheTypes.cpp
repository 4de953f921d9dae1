// SPDX-License-Identifier: Apache-2.0
//
// Element types of KV caches, which are the device's choice. What a short_conv
// remembers stays f32: it is small, and steps go on from it.

#include "compiler/Transforms/Passes.h"

#include "dialects/Graph/Graph.h"
#include "dialects/Target/ModuleDevice.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/SetVector.h"

#define DEBUG_TYPE "llmc-set-cache-types"

namespace llmc::transforms {

#define GEN_PASS_DEF_SETCACHETYPESPASS
#include "compiler/Transforms/Passes.h.inc"

namespace {

Type elementTypeOf(target::DeviceAttr device) {
  Builder builder(device.getContext());
  if (device.getKvType() == "i8")
    return builder.getI8Type();
  return device.getKvType() == "f16" ? Type(builder.getF16Type())
                                     : Type(builder.getF32Type());
}

//===----------------------------------------------------------------------===//
// llmc-set-cache-types
//===----------------------------------------------------------------------===//

struct SetCacheTypesPass final
    : impl::SetCacheTypesPassBase<SetCacheTypesPass> {
  using SetCacheTypesPassBase::SetCacheTypesPassBase;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    FailureOr<target::DeviceAttr> device =
        target::getModuleDevice(module, "to choose the type of caches for");
    if (failed(device))
      return signalPassFailure();
    llvm::SetVector<graph::StateOp> caches;
    module.walk([&](graph::KvAppendOp append) {
      if (auto state = module.lookupSymbol<graph::StateOp>(append.getState()))
        caches.insert(state);
    });
    Type element = elementTypeOf(*device);
    for (graph::StateOp cache : caches)
      if (failed(setType(cache, element)))
        return signalPassFailure();
  }

  LogicalResult setType(graph::StateOp cache, Type element) {
    auto type = cast<RankedTensorType>(cache.getType());
    if (!type.getElementType().isF32() || element.isF32())
      return success();
    if (element.isInteger(8) && type.getShape().back() % 4 != 0)
      return cache.emitError("has heads of ")
             << type.getShape().back()
             << " elements; a cache of i8 takes multiples of 4";
    cache.setTypeAttr(mlir::TypeAttr::get(type.clone(element)));
    ++numCaches;
    return success();
  }
};

} // namespace
} // namespace llmc::transforms
