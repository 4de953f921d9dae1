// SPDX-License-Identifier: Apache-2.0
//
// Rewrites of whole functions that fusion and lowering build on.

#ifndef LLMC_COMPILER_TRANSFORMS_PASSES_TD
#define LLMC_COMPILER_TRANSFORMS_PASSES_TD

include "mlir/Pass/PassBase.td"

def ExpandRowBucketsPass : Pass<"llmc-expand-row-buckets", "::mlir::ModuleOp"> {
  let summary = "clone each function for the row buckets of the module's device";
  let description = [{
    A function is compiled for several upper limits of its number of rows (the leading `?` of its arguments). For each
    of the device's `row_buckets` up to the function's `graph.max_rows`, a clone named after the bucket is made, with
    `graph.rows` and `graph.function`; the original goes. Types keep their `?`.

    ```mlir
    func.func @logits(…) attributes {graph.max_rows = 8}   →   func.func @logits_r1(…)
                                                                 attributes {graph.function = "logits", graph.rows = 1}
                                                               func.func @logits_r8(…)
                                                                 attributes {graph.function = "logits", graph.rows = 8}
    ```

    A function with `graph.min_rows` = N takes whole texts of up to N rows, several of them if they fit: its buckets are
    N and those of the device below N and above 64 (decision 0007).

    A function without a dynamic dimension gets one clone, for the largest leading dimension of its arguments of two
    and more dimensions.

    Errors: a module without `target.device`, a device without a bucket for a function, a name that is taken.
  }];
  let statistics = [
    Statistic<"numClones", "num-clones", "functions made">
  ];
}

def SetCacheTypesPass : Pass<"llmc-set-cache-types", "::mlir::ModuleOp"> {
  let summary = "give KV caches the element type that the module's device keeps them in";
  let description = [{
    States of f32 that a kv_append writes get the device's `kv_type`; other states, and caches that have another type
    already, stay. From there on lowering, planning and the evaluator go by the state's type.

    ```mlir
    graph.state @blk.0.k : tensor<2x2048x64xf32>   →   graph.state @blk.0.k : tensor<2x2048x64xi8>
    ```

    Errors: a module without `target.device`, heads that an i8 cache cannot hold.
  }];
  let statistics = [
    Statistic<"numCaches", "num-caches", "caches with another type than f32">
  ];
}

def NarrowActivationsPass : Pass<"llmc-narrow-activations", "::mlir::ModuleOp"> {
  let summary = "let values lie between dispatches as f16 where they fit for certain";
  let description = [{
    For a device whose `activations` are `f16`. A result of a region becomes f16 when a bound of its numbers that holds for
    every input of the model is at most 65000, and every region that reads it can: the region ends in a `convert`, its
    readers begin with one. Bounds follow from the gains of norms and the lengths of weight rows, which are read from the
    model's files (Magnitude.h). Results of functions, caches and quantized activations stay as they are, and so does what
    no norm bounds, such as the residual stream of decoders (decision 0013).

    ```mlir
    %y = graph.region (%a = %x …) {            %y = graph.region (%a = %x …) {
      %0 = graph.rms_norm %a, %g                 %0 = graph.rms_norm %a, %g
                                                 %1 = graph.convert %0 : tensor<?x64xf32> -> tensor<?x64xf16>
      graph.yield %0 }                    →      graph.yield %1 }
    %z = graph.region (%b = %y …) {            %z = graph.region (%b = %y …) {
                                                 %2 = graph.convert %b : tensor<?x64xf16> -> tensor<?x64xf32>
      %3 = graph.quantized_linear %b, %w         %3 = graph.quantized_linear %2, %w
    ```

    Errors: a module without `target.device`, a file that cannot be read.
  }];
  let statistics = [
    Statistic<"numNarrowed", "num-narrowed", "values that lie in memory as f16">
  ];
  let dependentDialects = ["::llmc::graph::GraphDialect"];
}

def ExposeRegionsPass : Pass<"llmc-expose-regions", "::mlir::func::FuncOp"> {
  let summary = "return the results of all regions, to look at each dispatch";
  let description = [{
    Results of regions that the function does not return yet become further results, named `region.N.K` for result K of
    its region N. Results that lie in a state (kv_append) and quantized activations stay inside; those of f16 become
    results of f16. The kernels are the same
    as without this pass; only where they write changes.

    ```mlir
    %y = graph.region …            →   %y = graph.region …
    %z = graph.region (… = %y …)       %z = graph.region (… = %y …)
    return %z                          return %z, %y        // {graph.name = "region.0.0"}
    ```
  }];
  let options = [
    ListOption<"rowsOption", "rows", "int64_t", "only functions of these `graph.rows`; none: all">
  ];
  let statistics = [
    Statistic<"numExposed", "num-exposed", "results made visible">
  ];
}

def AddSelfTestsPass : Pass<"llmc-add-self-tests", "::mlir::ModuleOp"> {
  let summary = "a function for each kind of region, to test its kernel alone";
  let description = [{
    For each region that differs from all before by more than the names of weights and states: a function
    `selftest_N` (`graph.function = "selftest.N"`, the rows of the region's function) of that region. What it reads of other
    regions becomes an argument `inK`, what it computes a result `outK`. Regions that write a state which it reads, or quantized
    activations, come along, since no host writes those. Regions are lowered to the kernels that they have in the
    model, so the pass stands behind llmc-select-lowering-configs. A region without a result of f32 that is no state
    has no function of its own.

    ```mlir
    func.func @forward_r8(…) {
      %y = graph.region (%a = %x : …, %w = %gate : …) -> (tensor<?x512xf32>) {…}
        →
    func.func @selftest_0(%x: tensor<?x256xf32> {graph.name = "in0"}) -> (tensor<?x512xf32> {graph.name = "out0"})
      attributes {graph.function = "selftest.0", graph.rows = 8} {
      %gate = graph.load_weight @gate
      %y = graph.region (%a = %x : …, %w = %gate : …) -> (tensor<?x512xf32>) {…}
      return %y
    ```
  }];
  let statistics = [
    Statistic<"numTests", "num-tests", "functions made">
  ];
}

def QuantizeWeightsPass : Pass<"llmc-quantize-weights", "::mlir::ModuleOp"> {
  let summary = "give the matrices of linears and embeddings another encoding";
  let description = [{
    A matrix that only linears and embeddings read gets the encoding that the options say, and its sources remember the
    one of the file: rows are decoded and encoded anew (dialects/Graph/RowEncoder.h) when they are read. Vectors, that is
    norms and biases, stay. Works on primitives, before linears are fused.

    ```mlir
    graph.weight @gate : tensor<512x256x!graph.encoded<f16>> from [#graph.source<file = 0, offset = 4096, rows = 512>]
      →
    graph.weight @gate : tensor<512x256x!graph.encoded<i4_g64>> from [#graph.source<file = 0, offset = 4096, rows = 512,
      packing = <form = "rows", encoding = f16>>]
    ```

    A `weights` type whose groups do not divide a row gives way to smaller groups, at last to F16. Errors: an unknown type,
    a rule whose type does not fit a row, a rule that matches no matrix, a weight that is packed with scales already.
  }];
  let options = [
    Option<"typeOption", "weights", "std::string", "\"\"", "type of all matrices that no rule names; none: as in the file">,
    ListOption<"rulesOption", "weights-for", "std::string", "REGEX=TYPE, the first that matches a weight's name counts">
  ];
  let statistics = [
    Statistic<"numWeights", "num-weights", "weights with another encoding">
  ];
}

#endif // LLMC_COMPILER_TRANSFORMS_PASSES_TD
