// SPDX-License-Identifier: Apache-2.0
//
// Grids of workgroups folded below a device's limits.

#include "codegen/Lowering/GroupGrid.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Matchers.h"

#include "gtest/gtest.h"

namespace llmc::codegen {
namespace {

const GroupGrid kUsual = {65535, 65535, 65535};

int64_t numGroups(const GroupGrid &grid) { return grid[0] * grid[1] * grid[2]; }

TEST(GroupGrid, StaysWhenItFits) {
  EXPECT_EQ(foldGrid({65535, 1, 1}, kUsual), (GroupGrid{65535, 1, 1}));
  EXPECT_EQ(foldGrid({9496, 32, 2}, kUsual), (GroupGrid{9496, 32, 2}));
}

TEST(GroupGrid, AnyDimensionIsFolded) {
  EXPECT_EQ(foldGrid({65536, 1, 1}, kUsual), (GroupGrid{32768, 2, 1}));
  EXPECT_EQ(foldGrid({1, 65537, 1}, kUsual), (GroupGrid{32769, 2, 1}));
  EXPECT_EQ(foldGrid({3, 5, 7}, {10, 10, 6}), (GroupGrid{9, 6, 2}));
}

TEST(GroupGrid, HoldsAllGroupsWithFewTooMany) {
  const GroupGrid most = {7, 5, 9};
  for (int64_t x = 1; x <= 40; ++x)
    for (int64_t y = 1; y <= 7; ++y) {
      const GroupGrid wanted = {x, y, 1};
      const GroupGrid folded = foldGrid(wanted, most);
      for (size_t i = 0; i < 3; ++i)
        EXPECT_LE(folded[i], most[i]) << x << " " << y;
      EXPECT_GE(numGroups(folded), x * y);
      EXPECT_LE(numGroups(folded), x * y + folded[1] * folded[2] - 1);
    }
}

TEST(GroupGrid, StaysWhenNothingFits) {
  EXPECT_EQ(foldGrid({100, 1, 1}, {4, 4, 4}), (GroupGrid{100, 1, 1}));
  const GroupGrid huge = {int64_t{1} << 31, 1, 1};
  EXPECT_EQ(foldGrid(huge, kUsual), huge);
}

/// What a folded kernel asks of the grid is answered for the wanted one.
TEST(GroupGrid, AFoldedKernelKnowsTheWantedCounts) {
  mlir::MLIRContext context;
  context.loadDialect<mlir::arith::ArithDialect, gpu::GPUDialect>();
  KernelBuilder b(mlir::UnknownLoc::get(&context), &context);
  mlir::OwningOpRef<mlir::ModuleOp> module = mlir::ModuleOp::create(b.getLoc());
  b.setInsertionPointToStart(module->getBody());
  auto gpuModule = gpu::GPUModuleOp::create(b, "kernel");
  b.setInsertionPointToStart(gpuModule.getBody());
  auto function = gpu::GPUFuncOp::create(b, "main", b.getFunctionType({}, {}));
  b.setInsertionPointToStart(&function.getBody().front());
  Value sum = b.add(b.groupCount(gpu::Dimension::z), b.index(7));
  gpu::ReturnOp::create(b);
  foldKernel(function, {3, 5, 16}, {9, 6, 5});
  llvm::APInt count;
  ASSERT_TRUE(mlir::matchPattern(sum.getDefiningOp()->getOperand(0),
                                 mlir::m_ConstantInt(&count)));
  EXPECT_EQ(count.getSExtValue(), 16);
}

} // namespace
} // namespace llmc::codegen
