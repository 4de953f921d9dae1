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

def FuseHeadsPass : Pass<"llmc-fuse-heads", "::mlir::ModuleOp"> {
  let summary = "prepare the heads of one row in the kernel of their attention";
  let description = [{
    In functions of one row, a region of `rms_norm`, `rotary` and `kv_append` whose results only one attention reads
    joins the region of that attention: one dispatch less. The caches stay results of the region, since that is what
    says where they lie.

    ```mlir
    %h:3 = graph.region (%x = %qkv, …) { … rotary … kv_append @k … kv_append @v … }
    %y = graph.region (%q = %h#0, %k = %h#1, %v = %h#2, …) { graph.sdpa … }
    // becomes
    %y:3 = graph.region (%x = %qkv, …) { … kv_append @k … kv_append @v … graph.sdpa … }
    ```

    Left alone: heads whose query and key are not normed and turned alike, caches of codes, biases, ranges, and
    attention for which the device of the module has no tile that gives a workgroup all queries of a KV head. The
    strategy of the device's family says whether its registers leave room for heads at all.
  }];
  let statistics = [Statistic<"numFused", "fused", "attentions that prepare their heads">];
}

#endif // LLMC_CODEGEN_STRATEGY_PASSES_TD
