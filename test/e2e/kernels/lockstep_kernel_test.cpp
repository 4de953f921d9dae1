// SPDX-License-Identifier: Apache-2.0
//
// What runs kernels in lockstep finds what a kernel must not do.

#include "test/e2e/support/LockstepKernel.h"

#include "compiler/Pipelines/Registration.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Parser/Parser.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace llmc::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;

constexpr uint32_t kLanes = 64;

/// 64 lanes, two subgroups, a workgroup; i32 values in %in and %out.
class LockstepKernelTest : public testing::Test {
protected:
  LockstepKernelTest() {
    mlir::DialectRegistry registry;
    pipelines::registerAllDialects(registry);
    context.appendDialectRegistry(registry);
    context.loadAllAvailableDialects();
    for (uint32_t lane = 0; lane < kLanes; ++lane)
      in.push_back(static_cast<int32_t>(1000 + lane));
  }

  /// What went wrong, or nothing.
  std::string run(const std::string &body) {
    std::string text =
        "module { gpu.module @k { gpu.func @main(%in: memref<?xi32>, %out: "
        "memref<?xi32>) kernel attributes {spirv.entry_point_abi = "
        "#spirv.entry_point_abi<workgroup_size = [64, 1, 1]>} {\n"
        "  %i = gpu.thread_id x\n  %c1 = arith.constant 1 : index\n"
        "  %c32 = arith.constant 32 : index\n" +
        body + "\n  gpu.return\n} } }";
    auto module = mlir::parseSourceString<mlir::ModuleOp>(text, &context);
    if (!module)
      return "no module";
    auto kernel = LockstepKernel::read(
        *module->getOps<mlir::gpu::GPUModuleOp>().begin(), 32);
    if (!kernel)
      return llvm::toString(kernel.takeError());
    out.assign(kLanes, -1);
    return llvm::toString(kernel->run(
        {1, 1, 1}, {{in.data(), in.size() * 4}, {out.data(), out.size() * 4}}));
  }

  mlir::MLIRContext context;
  std::vector<int32_t> in, out;
};

const char *const kShared =
    "  %m = memref.alloc() : memref<64xi32, #spirv.storage_class<Workgroup>>\n"
    "  %x = memref.load %in[%i] : memref<?xi32>\n"
    "  memref.store %x, %m[%i] : memref<64xi32, "
    "#spirv.storage_class<Workgroup>>\n";
/// From lane i ^ distance.
std::string loadOfOther(const char *distance) {
  return std::string("  %o = arith.xori %i, ") + distance +
         " : index\n  %y = memref.load %m[%o] : memref<64xi32, "
         "#spirv.storage_class<Workgroup>>\n"
         "  memref.store %y, %out[%i] : memref<?xi32>\n";
}
const char *const kSubgroupBarrier =
    "  spirv.ControlBarrier <Subgroup>, <Subgroup>, "
    "<AcquireRelease|WorkgroupMemory>\n";

TEST_F(LockstepKernelTest, lanesShareMemoryBehindABarrier) {
  EXPECT_EQ(run(kShared + std::string("  gpu.barrier\n") + loadOfOther("%c32")),
            "");
  for (uint32_t lane = 0; lane < kLanes; ++lane)
    EXPECT_EQ(out[lane], in[lane ^ 32]);
}

TEST_F(LockstepKernelTest, sharingWithoutABarrierIsFound) {
  EXPECT_THAT(run(kShared + loadOfOther("%c1")), HasSubstr("with no barrier"));
}

TEST_F(LockstepKernelTest, aSubgroupsBarrierIsForItsOwnLanes) {
  EXPECT_EQ(run(kShared + std::string(kSubgroupBarrier) + loadOfOther("%c1")),
            "");
  EXPECT_THAT(
      run(kShared + std::string(kSubgroupBarrier) + loadOfOther("%c32")),
      HasSubstr("with no barrier"));
}

/// Subgroup 0 alone comes to it.
TEST_F(LockstepKernelTest, aSubgroupsBarrierIsForNoOther) {
  std::string text = kShared +
                     std::string("  %c = arith.cmpi ult, %i, %c32 : index\n"
                                 "  scf.if %c {\n") +
                     kSubgroupBarrier + "  }\n";
  std::string load = "  scf.if %c {\n" + loadOfOther("%c1") + "  }\n";
  EXPECT_EQ(run(text + load), "");
  EXPECT_THAT(run(text + loadOfOther("%c1")),
              HasSubstr("by lane 32 at byte 132, which lanes share"));
}

TEST_F(LockstepKernelTest, aStoreOverWhatOthersReadIsFound) {
  std::string text = kShared + std::string("  gpu.barrier\n") +
                     loadOfOther("%c1") +
                     "  memref.store %y, %m[%i] : memref<64xi32, "
                     "#spirv.storage_class<Workgroup>>\n";
  EXPECT_THAT(run(text), AllOf(HasSubstr("a store to memory"),
                               HasSubstr("with no barrier")));
}

TEST_F(LockstepKernelTest, accessesBeyondABufferAreFound) {
  std::string text = "  %o = arith.addi %i, %c1 : index\n"
                     "  %x = memref.load %in[%o] : memref<?xi32>\n";
  EXPECT_THAT(run(text), HasSubstr("ends at byte 260 of 256"));
}

TEST_F(LockstepKernelTest, aBarrierThatNotAllReachIsFound) {
  std::string text = "  %c = arith.cmpi ult, %i, %c32 : index\n"
                     "  scf.if %c {\n    gpu.barrier\n  }\n";
  EXPECT_THAT(run(text), HasSubstr("not reached by all lanes"));
}

TEST_F(LockstepKernelTest, lanesThatAreNotThereAreNotReadByShuffles) {
  std::string shuffle = "    %x = memref.load %in[%i] : memref<?xi32>\n"
                        "    %a = arith.constant 1 : i32\n"
                        "    %w = arith.constant 32 : i32\n"
                        "    %y, %v = gpu.shuffle xor %x, %a, %w : i32\n"
                        "    memref.store %y, %out[%i] : memref<?xi32>\n";
  EXPECT_EQ(run(shuffle), "");
  for (uint32_t lane = 0; lane < kLanes; ++lane)
    EXPECT_EQ(out[lane], in[lane ^ 1]);
  EXPECT_THAT(run("  %c = arith.cmpi ult, %i, %c1 : index\n  scf.if %c {\n" +
                  shuffle + "  }\n"),
              HasSubstr("lane 1, which does not come to it"));
}

/// Lanes leave a loop one after the other.
TEST_F(LockstepKernelTest, loopsEndForEachLane) {
  std::string text =
      "  %c0 = arith.constant 0 : index\n"
      "  %z = arith.constant 0 : i32\n"
      "  %one = arith.constant 1 : i32\n"
      "  %s = scf.for %k = %c0 to %i step %c1 iter_args(%a = %z) "
      "-> (i32) {\n    %n = arith.addi %a, %one : i32\n    "
      "scf.yield %n : i32\n  }\n"
      "  memref.store %s, %out[%i] : memref<?xi32>\n";
  EXPECT_EQ(run(text), "");
  for (uint32_t lane = 0; lane < kLanes; ++lane)
    EXPECT_EQ(out[lane], static_cast<int32_t>(lane));
}

TEST_F(LockstepKernelTest, productsOfMatricesTakeWholeSubgroups) {
  std::string text = "  %c = arith.cmpi ult, %i, %c1 : index\n"
                     "  %h = arith.constant 1.0 : f16\n"
                     "  %f = arith.constant 1.0 : f32\n"
                     "  %a = gpu.subgroup_mma_constant_matrix %h : "
                     "!gpu.mma_matrix<16x16xf16, \"AOp\">\n"
                     "  %b = gpu.subgroup_mma_constant_matrix %h : "
                     "!gpu.mma_matrix<16x8xf16, \"BOp\">\n"
                     "  %s = gpu.subgroup_mma_constant_matrix %f : "
                     "!gpu.mma_matrix<16x8xf32, \"COp\">\n"
                     "  scf.if %c {\n"
                     "    %p = gpu.subgroup_mma_compute %a, %b, %s : "
                     "!gpu.mma_matrix<16x16xf16, \"AOp\">, "
                     "!gpu.mma_matrix<16x8xf16, \"BOp\"> -> "
                     "!gpu.mma_matrix<16x8xf32, \"COp\">\n  }\n";
  EXPECT_THAT(run(text), HasSubstr("a product of matrices is reached by 1 "
                                   "lanes of a subgroup alone"));
}

/// What was never stored is not lost on the way to a result.
TEST_F(LockstepKernelTest, minimumsOfNoNumberAreNone) {
  for (const char *op : {"FMin", "FMax"}) {
    EXPECT_EQ(run("  %x = memref.load %in[%i] : memref<?xi32>\n"
                  "  %f = arith.bitcast %x : i32 to f32\n"
                  "  %n = arith.constant 0x7FC00000 : f32\n"
                  "  %m = spirv.GL." +
                  std::string(op) +
                  " %f, %n : f32\n"
                  "  %y = arith.bitcast %m : f32 to i32\n"
                  "  memref.store %y, %out[%i] : memref<?xi32>\n"),
              "");
    EXPECT_GT(out[3] & 0x7fffffff, 0x7f800000);
  }
}

TEST_F(LockstepKernelTest, subgroupsReduceIntegers) {
  in[3] = -7;
  in[40] = -1;
  auto reduce = [&](const char *operation) {
    return run(std::string("  %x = memref.load %in[%i] : memref<?xi32>\n"
                           "  %y = gpu.subgroup_reduce ") +
               operation +
               " %x : (i32) -> i32\n"
               "  memref.store %y, %out[%i] : memref<?xi32>\n");
  };
  EXPECT_EQ(reduce("maxsi"), "");
  for (uint32_t lane = 0; lane < kLanes; ++lane)
    EXPECT_EQ(out[lane], lane < 32 ? 1031 : 1063);
  EXPECT_EQ(reduce("minui"), "");
  for (uint32_t lane = 0; lane < kLanes; ++lane)
    EXPECT_EQ(out[lane], lane < 32 ? 1000 : 1032);
  EXPECT_THAT(reduce("minsi"), HasSubstr("not known here"));
}

/// Each subgroup fills its matrix with its own number, and a number that its
/// lanes do not share is none.
TEST_F(LockstepKernelTest, matricesAreFilledByEachSubgroup) {
  std::string fill = "    %b = gpu.subgroup_mma_constant_matrix %f : "
                     "!gpu.mma_matrix<16x8xf32, \"COp\">\n"
                     "    %c0 = arith.constant 0 : index\n"
                     "    %e = gpu.subgroup_mma_extract_thread_local %b[%c0] : "
                     "!gpu.mma_matrix<16x8xf32, \"COp\"> -> f32\n"
                     "    %y = arith.bitcast %e : f32 to i32\n"
                     "    memref.store %y, %out[%i] : memref<?xi32>\n";
  std::string number = "  %s = gpu.subgroup_id : index\n"
                       "  %x = memref.load %in[%s] : memref<?xi32>\n"
                       "  %f = arith.bitcast %x : i32 to f32\n";
  EXPECT_EQ(run(number + fill), "");
  for (uint32_t lane = 0; lane < kLanes; ++lane)
    EXPECT_EQ(out[lane], in[lane / 32]);
  EXPECT_THAT(run("  %x = memref.load %in[%i] : memref<?xi32>\n"
                  "  %f = arith.bitcast %x : i32 to f32\n" +
                  fill),
              HasSubstr("a matrix of one number has other numbers"));
}

TEST_F(LockstepKernelTest, opsThatAreNotKnownAreNamed) {
  EXPECT_THAT(run("  %x = arith.divsi %i, %c1 : index\n"),
              HasSubstr("not known here: %0 = arith.divsi"));
}

} // namespace
} // namespace llmc::test
