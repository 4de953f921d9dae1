// SPDX-License-Identifier: Apache-2.0
//
// Passes that decide which ops run as one unit.

#ifndef LLMC_COMPILER_FUSION_PASSES_TD
#define LLMC_COMPILER_FUSION_PASSES_TD

include "mlir/Pass/PassBase.td"

//===----------------------------------------------------------------------===//
// Fusion of primitives into ops (once per model)
//===----------------------------------------------------------------------===//

def FuseGeluPass : Pass<"llmc-fuse-gelu", "::mlir::func::FuncOp"> {
  let summary = "recognise GELU in primitives";
  let description = [{
    A product of x, a half and 1 + erf(x / √2), in any order, becomes `graph.gelu`; with 1 + tanh(√(2/π) (x + 0.044715 x³))
    it becomes `graph.gelu_tanh`.

    ```mlir
    %a = graph.div %x, %sqrt2
    %b = graph.erf %a
    %c = graph.add %b, %one                  →    %y = graph.gelu %x
    %d = graph.mul %x, %c
    %y = graph.mul %d, %half
    ```

    Constants may be off by a thousandth, as after rounding to half precision. Inner products with another user are left alone.
  }];
  let statistics = [
    Statistic<"numGelusFused", "num-gelus-fused", "products that became a gelu">
  ];
  let dependentDialects = ["::llmc::graph::GraphDialect"];
}

def FuseLayerNormPass : Pass<"llmc-fuse-layer-norm", "::mlir::func::FuncOp"> {
  let summary = "recognise layer normalisation in primitives";
  let description = [{
    (x − mean) / √(mean of its square + epsilon) times a vector becomes `graph.layer_norm`, and a vector added to the
    result of one without bias becomes its bias.

    ```mlir
    %m = graph.reduce_mean %x
    %d = graph.sub %x, %m
    %q = graph.mul %d, %d
    %v = graph.reduce_mean %q
    %w = graph.add %v, %epsilon              →    %y = graph.layer_norm %x, %gain bias %bias epsilon 1.0e-12
    %r = graph.sqrt %w
    %n = graph.div %d, %r
    %g = graph.mul %n, %gain
    %y = graph.add %g, %bias
    ```

    The difference may be computed twice, as some exporters do.
  }];
  let statistics = [
    Statistic<"numNormsFused", "num-norms-fused", "products that became a layer_norm">
  ];
  let dependentDialects = ["::llmc::graph::GraphDialect"];
}

def FuseHorizontalLinearsPass : Pass<"llmc-fuse-horizontal-linears", "::mlir::ModuleOp"> {
  let summary = "join linears that read the same input into one linear on a concatenated weight";
  let description = [{
    `graph.quantized_linear` ops of one block with the same input value, the same encoding and the same K become
    one, on a new `graph.weight` whose `sources` are those of the joined weights, in program order. The new weight is
    named after the joined ones (`a+b+c`); weights that nothing uses any more are erased. Each old result becomes
    a `graph.slice` along dimension 1.

    ```mlir
    %q = graph.quantized_linear %x, %wq            %y = graph.quantized_linear %x, %"wq+wk"
    %k = graph.quantized_linear %x, %wk      →     %q = graph.slice %y dim 1 offset 0 size 64
                                                   %k = graph.slice %y dim 1 offset 64 size 32
    ```

    If every joined linear is followed by the addition of a 1-D weight of one encoding, the biases are joined in the
    same way and added once, before the slices.

    Linears whose results meet in an element-wise op (the gate and the up projection of SwiGLU) are left alone: they
    compute one result together. So are linears whose slices would start at an offset that is no multiple of 4
    elements, because activations are read four at a time.
  }];
  let statistics = [
    Statistic<"numLinearsJoined", "num-linears-joined", "linears that became a part of a joined one">
  ];
  let dependentDialects = ["::llmc::graph::GraphDialect"];
}

def FuseQuantizedLinearPass : Pass<"llmc-fuse-quantized-linear", "::mlir::func::FuncOp"> {
  let summary = "read encoded weights directly in linears and embeddings";
  let description = [{
    A `graph.matmul transpose_rhs` of a 2-D activation by a dequantized weight becomes a `graph.quantized_linear`, and
    a `graph.embedding` of a dequantized table a `graph.quantized_embedding`, so that no decoded weight is stored.

    ```mlir
    %d = graph.dequantize %w
    %y = graph.matmul %x, %d transpose_rhs    →    %y = graph.quantized_linear %x, %w
    ```

    A dequantize with other users stays for those. Matmuls whose weight is not transposed, or whose operands have
    batch dimensions, are left alone.
  }];
  let statistics = [
    Statistic<"numWeightsFused", "num-weights-fused", "linears and embeddings that read an encoded weight">
  ];
  let dependentDialects = ["::llmc::graph::GraphDialect"];
}

def FuseSdpaPass : Pass<"llmc-fuse-sdpa", "::mlir::func::FuncOp"> {
  let summary = "recognise scaled dot-product attention";
  let description = [{
    matmul, scale, mask, softmax and matmul become one `graph.sdpa`, so that the scores are never stored.

    ```mlir
    %s = graph.matmul %q, %k transpose_rhs
    %t = graph.mul %s, %scale
    %m = graph.causal_mask %t, %position      →    %y = graph.sdpa %q', %k', %v', %position scale 0.125 causal
    %p = graph.softmax %m
    %y = graph.matmul %p, %v
    ```

    - The scale is a product of any number of constant factors, on the scores, on the query or on the key, on either
      side of a mul; none at all is a scale of 1. It may stand before or after the mask, if it is positive.
    - Without a causal mask the result has neither `causal` nor a position. A `range_mask` gives it `ranges`, a
      `relative_bias` a table `relative`, an added mask of static size a `bias`.
    - Transposes and reshapes around the chain are undone: `%q'` is [rows, heads, head dimension], `%k'` and `%v'`
      [keys, KV heads, head dimension]. Where the IR holds no such value, a transpose or reshape is added.
    - Grouped queries are batch dimensions [KV heads, group] that broadcast against [KV heads, 1].

    Not fused: chains whose scores, masked scores or probabilities have another user, and chains with anything else
    between the matmuls.
  }];
  let statistics = [
    Statistic<"numSdpasFused", "num-sdpas-fused", "attention chains that became an sdpa">
  ];
  let dependentDialects = ["::llmc::graph::GraphDialect"];
}

//===----------------------------------------------------------------------===//
// Fusion of ops into dispatches (once per row bucket)
//===----------------------------------------------------------------------===//

def QuantizeActivationsPass : Pass<"llmc-quantize-activations", "::mlir::func::FuncOp"> {
  let summary = "read activations as int8 where a step has many rows";
  let description = [{
    Runs on a function of one row bucket (`graph.rows`) of more than 8 rows, for a device whose `prefill_activations` is
    `i8`; other functions stay as they are. Each tensor that linears on 4- to 8-bit weights read is quantized once, with
    a scale a row behind an rms_norm (its workgroup has the whole row), for 32 columns elsewhere. Linears behind a layer_norm,
    whose outliers codes do not bear (decision 0006), on f32, f16 and bf16 weights, and on Q2_K, whose offsets are for 16 columns,
    keep reading floats.

    ```mlir
    %y = graph.rms_norm %x, %g              %y = graph.rms_norm %x, %g
    %z = graph.quantized_linear %y, %w  →   %codes, %scales, %sums = graph.quantize_activations %y group 0
                                            %z = graph.quantized_linear %codes, %w scales %scales sums %sums
    ```

    Errors: a device that has no dot product of packed integers (`int_dot`).
  }];
  let statistics = [
    Statistic<"numTensorsQuantized", "num-tensors-quantized", "activations that linears read as int8">
  ];
  let dependentDialects = ["::llmc::graph::GraphDialect"];
}

def FormRegionsPass : Pass<"llmc-form-regions", "::mlir::func::FuncOp"> {
  let summary = "put every op into a graph.region, which runs as one dispatch";
  let description = [{
    Runs on a function of one row bucket (`graph.rows`). Afterwards only load_weight, regions and the return are
    outside of regions; dead ops are gone.

    | root | what its region holds |
    |---|---|
    | quantized_linear | [select_rows] [rms_norm] linear(s), element-wise ops behind them |
    | expert_linear | as quantized_linear; two share a region when their experts are the same, too |
    | weighted_sum | the sum over experts, element-wise ops behind it |
    | quantized_embedding | the embedding, a factor |
    | sdpa | attention and the reshapes behind it |
    | rotary, kv_append | all heads that one sdpa reads, with their norms: one dispatch |
    | short_conv | element-wise ops that only it reads, the convolution, element-wise ops behind it |
    | rms_norm | [select_rows] rms_norm, element-wise ops behind it |
    | layer_norm, l2_normalize | element-wise ops or a pool that only it reads, the norm, element-wise ops behind it |
    | pool | the pool, element-wise ops behind it |
    | anything else | itself; element-wise ops with the element-wise ops behind them |

    - Constants, dequantized vectors, slices and reshapes are copied into the regions that read them. A view that the
      function returns is a region of its own.
    - A norm is copied into the linears that read it when a step has at most 8 rows and nothing else reads it.
    - Two linears on one input, of equal encodings and shapes, share a region when element-wise ops make one result of
      them. With unequal ones the activation function moves to the later linear.
    - Element-wise ops join only as far as the region keeps one result. Heads have one result per query, key and value.
    - A quantize_activations joins the linear, attention, norm or element-wise op that computes its input; the input
      itself is a result only where something else reads it.

    ```mlir
    %y = graph.quantized_linear %x, %w       %z = graph.region (%a = %x, %b = %w, %c = %r) {
    %z = graph.add %r, %y                →     %y = graph.quantized_linear %a, %b
                                               %s = graph.add %c, %y
                                               graph.yield %s }
    ```
  }];
  let statistics = [
    Statistic<"numRegions", "num-regions", "regions formed">
  ];
  let dependentDialects = ["::llmc::graph::GraphDialect"];
}

#endif // LLMC_COMPILER_FUSION_PASSES_TD
