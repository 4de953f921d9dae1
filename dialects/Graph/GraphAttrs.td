// SPDX-License-Identifier: Apache-2.0

#ifndef LLMC_DIALECTS_GRAPH_GRAPHATTRS_TD
#define LLMC_DIALECTS_GRAPH_GRAPHATTRS_TD

include "dialects/Graph/GraphDialect.td"
include "dialects/Graph/GraphEnums.td"
include "mlir/IR/AttrTypeBase.td"

def Graph_PlaceAttr : AttrDef<GraphDialect, "Place"> {
  let mnemonic = "place";
  let summary = "where bytes of a model file begin: file (index into the module's `graph.files`), byte offset";
  let parameters = (ins "int64_t":$file, "int64_t":$offset);
  let assemblyFormat = "`<` struct(params) `>`";
}

def Graph_PackingAttr : AttrDef<GraphDialect, "Packing"> {
  let mnemonic = "packing";
  let summary = "how a source's numbers lie where they are not rows in the weight's encoding, one after another";
  let description = [{
    `form` names the arrangement; forms and their formulas are in dialects/Graph/Packing.h. `encoding` is that of the
    plain numbers in it: of the scales where codes have scales, else of the numbers themselves. `group` columns share a
    scale; 0: a row. `scales` and `zeros` (zero points) are where those tensors begin.
  }];
  let parameters = (ins
    StringRefParameter<>:$form,
    EnumParameter<Graph_EncodingEnum>:$encoding,
    DefaultValuedParameter<"int64_t", "0">:$group,
    OptionalParameter<"::llmc::graph::PlaceAttr">:$scales,
    OptionalParameter<"::llmc::graph::PlaceAttr">:$zeros);
  let assemblyFormat = "`<` struct(params) `>`";
}

def Graph_SourceAttr : AttrDef<GraphDialect, "Source"> {
  let mnemonic = "source";
  let summary = "where some rows of a weight lie: file (index into the module's `graph.files`), byte offset, rows";
  let description = [{
    The rows' bytes are in the weight's encoding, one row after another, unless there is a `packing`. A number is what
    the bytes encode plus the `addend` (of vectors only: gemma's gains are 1 + w).
  }];
  let parameters = (ins "int64_t":$file, "int64_t":$offset, "int64_t":$rows,
    OptionalParameter<"::mlir::FloatAttr">:$addend,
    OptionalParameter<"::llmc::graph::PackingAttr">:$packing);
  let builders = [
    // Rows in the weight's encoding.
    AttrBuilder<(ins "int64_t":$file, "int64_t":$offset, "int64_t":$rows),
    [{ return $_get($_ctxt, file, offset, rows, ::mlir::FloatAttr(), ::llmc::graph::PackingAttr()); }]>
  ];
  let assemblyFormat = "`<` struct(params) `>`";
}

def Graph_LoweringConfigAttr : AttrDef<GraphDialect, "LoweringConfig"> {
  let mnemonic = "lowering_config";
  let summary = "what Strategy chose for a region; Lowering obeys it";
  let description = [{
    `kind` names the lowering (`gemv`, `gemv_matrix`, `gemm`, `gemm_matrix`, `sdpa`, `sdpa_matrix`, `rms_norm`, `embedding`, `heads`,
    `expert_gemv`, `route`, `elementwise`). `workgroup` is the local size. `tile` is what one invocation computes (linear: rows, columns, K per
    step, and of a GEMV columns staged at once, of `expert_gemv` the number of experts; `gemm_matrix`: the same of a workgroup, then rows and
    columns of a subgroup; `gemv_matrix`: the same of a workgroup, then the workgroups that go over all tiles;
    sdpa: queries per workgroup, queries per invocation, invocations that share these, keys per block, invocations that share
    a value; `sdpa_matrix`: queries per workgroup, keys per block). `splits` is the number of workgroups that share
    one result (K splits, key splits) or, of a GEMV, a tile's quads. `arithmetic` is the type in which a linear multiplies weights and activations
    (`f32`, `f16`, `i8`), `reduction` how the invocations of a workgroup add their sums (`workgroup` memory or
    `subgroup` operations), `decode` how weights of at most 8 bits become numbers (`convert` words: shift, mask and
    convert; convert `bytes`; put the code into a float's mantissa under an `exponent`; likewise pairs of them into `halves`). `accumulators` and `registers` are the estimate that the choice rests on, in 32-bit
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
