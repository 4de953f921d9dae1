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
    sdpa: queries per workgroup, queries per invocation, invocations that share these, keys per block, invocations
    that share a value). `splits` is the number of workgroups that share
    one result (K splits, key splits). `arithmetic` is the type in which a linear multiplies weights and activations
    (`f32`, `f16`, `i8`), `reduction` how the invocations of a workgroup add their sums (`workgroup` memory or
    `subgroup` operations), `decode` how weights of at most 8 bits become numbers (`convert` words: shift, mask and
    convert; convert `bytes`; put the code into a float's mantissa under an `exponent`). `accumulators` and `registers` are the estimate that the choice rests on, in 32-bit
    registers per invocation.
  }];
  let parameters = (ins
    "::mlir::StringAttr":$kind,
    ArrayRefParameter<"int64_t">:$workgroup,
    ArrayRefParameter<"int64_t">:$tile,
    DefaultValuedParameter<"int64_t", "1">:$splits,
    DefaultValuedParameter<"int64_t", "0">:$accumulators,
    DefaultValuedParameter<"int64_t", "0">:$registers,
    StringRefParameter<"", "\"f32\"">:$arithmetic,
    StringRefParameter<"", "\"workgroup\"">:$reduction,
    StringRefParameter<"", "\"convert\"">:$decode);
  let builders = [
    // A kernel in f32 that adds through workgroup memory, if it adds.
    AttrBuilder<(ins "::mlir::StringAttr":$kind, "::llvm::ArrayRef<int64_t>":$workgroup,
                     "::llvm::ArrayRef<int64_t>":$tile, "int64_t":$splits, "int64_t":$accumulators,
                     "int64_t":$registers),
    [{
      return $_get($_ctxt, kind, workgroup, tile, splits, accumulators, registers, "f32", "workgroup", "convert");
    }]>
  ];
  let assemblyFormat = [{
    `<` $kind `,` `workgroup` `=` `[` $workgroup `]` `,` `tile` `=` `[` $tile `]`
    `` custom<LoweringChoices>($splits, $accumulators, $registers, $arithmetic, $reduction, $decode) `>`
  }];
}

#endif // LLMC_DIALECTS_GRAPH_GRAPHATTRS_TD
