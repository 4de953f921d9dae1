// SPDX-License-Identifier: Apache-2.0
//
// Verifiers of the program dialect's ops. The labels are those of the op
// documentation.

#include "dialects/Program/Program.h"

#include "llvm/Support/MathExtras.h"

#define GET_OP_CLASSES
#include "dialects/Program/ProgramOps.cpp.inc"

namespace llmc::program {

/// Whether the sizes are the three positive numbers that Vulkan takes for
/// workgroups and group counts.
static bool isThreeSizes(ArrayRef<int64_t> sizes) {
  return sizes.size() == 3 &&
         llvm::all_of(sizes, [](int64_t size) { return size >= 1; });
}

//===----------------------------------------------------------------------===//
// KernelOp
//===----------------------------------------------------------------------===//

LogicalResult KernelOp::verify() {
  constexpr int32_t kSpirvMagic = 0x07230203;
  if (!isThreeSizes(getWorkgroup()))
    return emitOpError(
               "kernel_c1: workgroup is three sizes of at least 1, found [")
           << getWorkgroup() << "]";
  if (int64_t bindings = getNumBindings(); bindings < 1)
    return emitOpError("kernel_c2: at least one binding expected, found ")
           << bindings;
  if (int64_t bytes = getWorkgroupMemoryBytes(); bytes < 0)
    return emitOpError("kernel_c3: workgroup memory is not negative, found ")
           << bytes;
  if (auto words = getSpirv();
      words && (words->empty() || words->front() != kSpirvMagic))
    return emitOpError("kernel_c4: spirv does not begin with the magic number ")
           << kSpirvMagic;
  return success();
}

//===----------------------------------------------------------------------===//
// EntryOp
//===----------------------------------------------------------------------===//

LogicalResult EntryOp::verify() {
  if (int64_t rows = getRows(); rows < 1)
    return emitOpError("entry_c1: rows is at least 1, found ") << rows;
  return success();
}

LogicalResult EntryOp::verifyRegions() {
  for (Operation &op : *getBody().begin()) {
    if (!isa<SliceOp, DispatchOp, BarrierOp>(op))
      return op.emitOpError(
          "entry_c2: an entry holds slices, dispatches and barriers only");
    auto slice = dyn_cast<SliceOp>(op);
    if (!slice || slice.getStorage() != Storage::Arena || !slice.getOffset() ||
        !getArenaBytes())
      continue;
    // Compared without adding, which could wrap.
    if (slice.getBytes() > *getArenaBytes() ||
        *slice.getOffset() > *getArenaBytes() - slice.getBytes())
      return slice.emitOpError("entry_c3: ends after the arena of ")
             << *getArenaBytes() << " bytes";
  }
  return success();
}

//===----------------------------------------------------------------------===//
// SliceOp
//===----------------------------------------------------------------------===//

/// Whether the type is a tensor that a host can read or write row by row.
static bool isRowTensor(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  if (!tensor || !(tensor.getElementType().isF32() ||
                   tensor.getElementType().isInteger(32) ||
                   tensor.getElementType().isInteger(8)))
    return false;
  return llvm::none_of(
      tensor.getShape().drop_front(tensor.getRank() > 0 ? 1 : 0),
      ShapedType::isDynamic);
}

LogicalResult SliceOp::verify() {
  Storage storage = getStorage();
  int64_t bytes = getBytes(), plane = getPlane(),
          offset = getOffset().value_or(0);
  if (bytes < 1)
    return emitOpError("slice_c1: bytes is at least 1, found ") << bytes;
  bool hasName = storage != Storage::Arena && storage != Storage::Step;
  if (hasName != getSymbol().has_value())
    return emitOpError("slice_c2: a slice of storage ")
           << stringifyStorage(storage)
           << (hasName ? " has a symbol" : " has no symbol");
  if (plane < 0 || (plane != 0 && storage != Storage::Weight))
    return emitOpError("slice_c3: only a slice of a weight has a plane, found ")
           << plane;
  if (offset < 0 || offset % 4 != 0)
    return emitOpError(
               "slice_c4: offset is not negative and a multiple of 4, found ")
           << offset;
  bool isPort = storage == Storage::Input || storage == Storage::Output ||
                storage == Storage::Kept;
  if (isPort && !getValueType())
    return emitOpError("slice_c5: a slice of storage ")
           << stringifyStorage(storage) << " has a value type";
  if (isPort && !isRowTensor(*getValueType()))
    return emitOpError("slice_c5: value is a tensor of i8, i32 or f32 whose "
                       "dimensions are static but the first, found ")
           << *getValueType();
  return success();
}

int64_t SliceOp::getRowElements() {
  auto shape = cast<RankedTensorType>(*getValueType()).getShape();
  int64_t elements = 1;
  for (int64_t size : shape.drop_front(shape.empty() ? 0 : 1))
    elements *= size;
  return elements;
}

int64_t SliceOp::getRowBytes() {
  auto type = cast<RankedTensorType>(*getValueType());
  int64_t elements = getRowElements();
  if (type.getElementType().isF32())
    elements = llvm::alignTo(elements, 4);
  return elements * 4;
}

//===----------------------------------------------------------------------===//
// DispatchOp
//===----------------------------------------------------------------------===//

static bool hasDispatchBehind(DispatchOp dispatch) {
  for (Operation *op = dispatch->getNextNode(); op; op = op->getNextNode())
    if (isa<DispatchOp>(op))
      return true;
  return false;
}

LogicalResult DispatchOp::verify() {
  if (getAccess().size() != getBindings().size())
    return emitOpError(
               "dispatch_c2: one access for each binding expected, found ")
           << getAccess().size() << " for " << getBindings().size()
           << " bindings";
  for (auto [index, access, binding] :
       llvm::enumerate(getAccess(), getBindings())) {
    if (!symbolizeAccess(access))
      return emitOpError("dispatch_c2: access is 1 (read), 2 (write) or 3 "
                         "(both), found ")
             << access;
    auto slice = binding.getDefiningOp<SliceOp>();
    if (!slice || access == static_cast<int32_t>(Access::Read))
      continue;
    if (slice.getStorage() == Storage::Weight)
      return emitOpError("dispatch_c5: binding ")
             << index << " of storage weight is only read";
    bool isGiven = slice.getStorage() == Storage::Input ||
                   slice.getStorage() == Storage::Step;
    if (isGiven && hasDispatchBehind(*this))
      return emitOpError("dispatch_c6: binding ")
             << index << " of storage " << stringifyStorage(slice.getStorage())
             << " is written by an entry's last dispatch only";
  }
  if (!isThreeSizes(getGroups()))
    return emitOpError(
               "dispatch_c3: groups is three counts of at least 1, found [")
           << getGroups() << "]";
  return success();
}

LogicalResult DispatchOp::verifySymbolUses(SymbolTableCollection &symbolTable) {
  auto kernel =
      symbolTable.lookupNearestSymbolFrom<KernelOp>(*this, getKernelAttr());
  if (!kernel)
    return emitOpError("dispatch_c4: names no kernel: ") << getKernelAttr();
  if (kernel.getNumBindings() != getBindings().size())
    return emitOpError("dispatch_c1: the kernel has ")
           << kernel.getNumBindings() << " bindings, found "
           << getBindings().size();
  return success();
}

} // namespace llmc::program
