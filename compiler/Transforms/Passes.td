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

#endif // LLMC_COMPILER_TRANSFORMS_PASSES_TD
