// SPDX-License-Identifier: Apache-2.0

#ifndef LLMC_DIALECTS_GRAPH_GRAPHATTRS_TD
#define LLMC_DIALECTS_GRAPH_GRAPHATTRS_TD

include "dialects/Graph/GraphDialect.td"
include "mlir/IR/AttrTypeBase.td"

def Graph_SourceAttr : AttrDef<GraphDialect, "Source"> {
  let mnemonic = "source";
  let summary = "where some rows of a weight lie: file (index into the module's `graph.files`), byte offset, rows";
  let parameters = (ins "int64_t":$file, "int64_t":$offset, "int64_t":$rows);
  let assemblyFormat = "`<` struct(params) `>`";
}

def Graph_LoweringConfigAttr : AttrDef<GraphDialect, "LoweringConfig"> {
  let mnemonic = "lowering_config";
  let summary = "what Strategy chose for a region; Lowering obeys it";
  let description = [{
    `kind` names the lowering (`gemv`, `gemm`, `sdpa`, `rms_norm`, `embedding`, `heads`, `elementwise`).
    `workgroup` is the local size. `tile` is what one invocation computes (linear: rows, columns, K per step;
    sdpa: queries per workgroup, lanes per query, keys per block). `splits` is the number of workgroups that share
    one result (K splits, key splits). `accumulators` and `registers` are the estimate that the choice rests on,
    in 32-bit registers per invocation.
  }];
  let parameters = (ins
    "::mlir::StringAttr":$kind,
    ArrayRefParameter<"int64_t">:$workgroup,
    ArrayRefParameter<"int64_t">:$tile,
    DefaultValuedParameter<"int64_t", "1">:$splits,
    DefaultValuedParameter<"int64_t", "0">:$accumulators,
    DefaultValuedParameter<"int64_t", "0">:$registers);
  let assemblyFormat = [{
    `<` $kind `,` `workgroup` `=` `[` $workgroup `]` `,` `tile` `=` `[` $tile `]`
    `` custom<LoweringEstimates>($splits, $accumulators, $registers) `>`
  }];
}

#endif // LLMC_DIALECTS_GRAPH_GRAPHATTRS_TD
