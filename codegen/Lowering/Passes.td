// SPDX-License-Identifier: Apache-2.0

#ifndef LLMC_CODEGEN_LOWERING_PASSES_TD
#define LLMC_CODEGEN_LOWERING_PASSES_TD

include "mlir/Pass/PassBase.td"

def LowerRegionsPass : Pass<"llmc-lower-regions", "::mlir::ModuleOp"> {
  let summary = "turns functions of regions into entries, slices, dispatches and gpu kernels";
  let description = [{
    Each `func.func` becomes a `program.entry` of the same name and is erased. Each region obeys its `lowering_config`
    and becomes one `program.dispatch` or two; equal kernels are one `program.kernel` with a `gpu.module` beside it.
    Slices have no offsets yet. Weights and states keep their symbols.

    - Needs `target.device` on the module; on a function `graph.rows` (rows that it is recorded for) and
      `graph.function`, and `graph.name` on arguments and results.
    - Outside of regions only load_weight, constant, and reshape and slice of what is in memory may stand.
    - A result named like an argument of another function is kept; others are outputs, other arguments inputs.
      Scalars named `position` and `first_row` are words of the step buffer.

    ```mlir
    func.func @f_r1(%x: tensor<?x64xf32> {graph.name = "x"}) -> (tensor<?x64xf32> {graph.name = "y"})
        attributes {graph.rows = 1 : i64, graph.function = "f"} { … graph.region … }
    // becomes
    program.entry @f_r1 "f" rows 1 {
      %0 = program.slice input "x" bytes 256 value tensor<?x64xf32>
      %1 = program.slice output "y" bytes 256 value tensor<?x64xf32>
      …
      program.dispatch @gemv_q8_0_64x64 groups [4, 1, 1] (…) access […] "gemv q8_0 64x64"
    }
    ```
  }];
  let dependentDialects = ["::llmc::program::ProgramDialect", "::mlir::arith::ArithDialect", "::mlir::gpu::GPUDialect",
    "::mlir::math::MathDialect", "::mlir::memref::MemRefDialect", "::mlir::scf::SCFDialect",
    "::mlir::spirv::SPIRVDialect", "::mlir::vector::VectorDialect"];
  let statistics = [Statistic<"numRegions", "regions", "regions lowered">];
}

def AddSamplingPass : Pass<"llmc-add-sampling", "::mlir::ModuleOp"> {
  let summary = "adds the entry `next`, which chooses the next token on the device";
  let description = [{
    `next` does what `logits` does for one row, keeps the logits, and chooses a token with two more dispatches. The last of them
    writes the token where `forward` reads it and the step words of the step that evaluates it, so that steps can be
    submitted one behind the other without the host in between. Inputs and outputs are described in docs/file-format.md.

    Nothing is added to a module that is no language model, nor where the vocabulary has more shares than a workgroup of
    the device has invocations.

    Where the module has entries of self-tests, one more tests the two dispatches: `selftest_sampling` takes the logits as an input.

    - Needs `target.device` on the module.

    ```mlir
    program.entry @next_r1 "next" rows 1 {
      … the slices and dispatches of @logits_r1 …
      program.dispatch @sample_top_32000 groups [8, 1, 1] (…) access […] "sample top 32000"
      program.dispatch @sample_draw_32000 groups [1, 1, 1] (…) access […] "sample draw 32000"
    }
    ```
  }];
  let dependentDialects = ["::llmc::graph::GraphDialect", "::llmc::program::ProgramDialect", "::mlir::arith::ArithDialect", "::mlir::gpu::GPUDialect",
    "::mlir::math::MathDialect", "::mlir::memref::MemRefDialect", "::mlir::scf::SCFDialect",
    "::mlir::spirv::SPIRVDialect", "::mlir::vector::VectorDialect"];
}

#endif // LLMC_CODEGEN_LOWERING_PASSES_TD
