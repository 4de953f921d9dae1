// SPDX-License-Identifier: Apache-2.0

#ifndef LLMC_CODEGEN_SPIRV_PASSES_TD
#define LLMC_CODEGEN_SPIRV_PASSES_TD

include "mlir/Pass/PassBase.td"

def ConvertKernelsToSpirvPass : Pass<"llmc-convert-kernels-to-spirv", "::mlir::ModuleOp"> {
  let summary = "turns each kernel's gpu.module into optimised, validated SPIR-V words";
  let description = [{
    For every `program.kernel` without `spirv`: converts the `gpu.module` of its name plus `_gpu` for the SPIR-V
    version and the features of the module's `target.device`, marks every loop DontUnroll (what should be unrolled is
    unrolled when kernels are built), serializes, runs SPIRV-Tools' performance passes and validator for the device's
    Vulkan version, sets `spirv` and erases the `gpu.module`. A kernel that does not convert or does not validate is
    an error that names it. Kernels are converted in parallel.
  }];
  let dependentDialects = ["::mlir::spirv::SPIRVDialect"];
  let statistics = [Statistic<"numKernels", "kernels", "kernels converted">];
}

#endif // LLMC_CODEGEN_SPIRV_PASSES_TD
