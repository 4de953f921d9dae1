// SPDX-License-Identifier: Apache-2.0

#ifndef LLMC_CODEGEN_STRATEGY_PASSES_TD
#define LLMC_CODEGEN_STRATEGY_PASSES_TD

include "mlir/Pass/PassBase.td"

def SelectLoweringConfigsPass : Pass<"llmc-select-lowering-configs", "::mlir::ModuleOp"> {
  let summary = "chooses for every region the kernel that computes it, its workgroup and its tile";
  let description = [{
    Sets `lowering_config` on each `graph.region` without one, from the module's `target.device`, the function's
    `graph.rows` and the region's shapes; rewrites nothing. A region that already has a config keeps it. A region that
    no kernel fits on the device is an error which names the limit.

    The dictionaries `target.tuning` and `target.tuning_defaults` of the module (key of a linear → lowering config,
    docs/tuning.md) go before its own choice; they are dropped afterwards. An entry of the first that does not fit its
    region or the device is an error, one of the second is passed over.

    ```mlir
    graph.region (%x = %0 : tensor<?x64xf32>, …) -> (tensor<?x64xf32>) { … graph.quantized_linear … }
    // with 4 rows
    graph.region (…) -> (…) attributes {lowering_config = #graph.lowering_config<"gemv", workgroup = [64, 1, 1],
      tile = [4, 4, 32], accumulators = 16, registers = 28>} { … }
    ```
  }];
  let statistics = [Statistic<"numConfigs", "configs", "regions that were given a config">];
}

#endif // LLMC_CODEGEN_STRATEGY_PASSES_TD
