// SPDX-License-Identifier: Apache-2.0
//
// Ops on the rows of a step: norms, pooling, positions, masks and what a step appends to a state.

#ifndef LLMC_DIALECTS_GRAPH_GRAPHROWOPS_TD
#define LLMC_DIALECTS_GRAPH_GRAPHROWOPS_TD

include "dialects/Graph/GraphOpBase.td"

def Graph_RmsNormOp : Graph_Op<"rms_norm", [Pure]> {
  let summary = "y = x * gain / sqrt(mean over the last dimension of x^2 + epsilon)";
  let description = [{
    Sum and epsilon are f32 at least, whatever the element type.

    - rms_norm_c1: the gain is [size of the input's last dimension]
    - rms_norm_c2: input and result have the same shape
    - rms_norm_c3: epsilon is finite and not negative

    ```mlir
    %y = graph.rms_norm %x, %gain epsilon 1.0e-6 : tensor<?x256xf32>, tensor<256xf32> -> tensor<?x256xf32>
    ```
  }];
  let arguments = (ins Graph_Tensor:$input, Graph_Tensor:$gain, F32Attr:$epsilon);
  let results = (outs Graph_Tensor:$result);
  let assemblyFormat = "$input `,` $gain `epsilon` $epsilon attr-dict `:` type($input) `,` type($gain) `->` type($result)";
  let hasVerifier = 1;
}

def Graph_LayerNormOp : Graph_Op<"layer_norm", [Pure]> {
  let summary = "y = (x - mean) / sqrt(variance + epsilon) * gain + bias, mean and variance over the last dimension";
  let description = [{
    The variance is the mean of (x - mean)^2. Sums and epsilon are f32 at least, whatever the element type.

    - layer_norm_c1: the gain, and the bias if there is one, are [size of the input's last dimension]
    - layer_norm_c2: input and result have the same shape
    - layer_norm_c3: epsilon is finite and not negative

    ```mlir
    %y = graph.layer_norm %x, %gain bias %bias : tensor<384xf32> epsilon 1.0e-12
      : tensor<?x384xf32>, tensor<384xf32> -> tensor<?x384xf32>
    ```
  }];
  let arguments = (ins Graph_Tensor:$input, Graph_Tensor:$gain, Optional<Graph_Tensor>:$bias, F32Attr:$epsilon);
  let results = (outs Graph_Tensor:$result);
  let assemblyFormat = [{
    $input `,` $gain (`bias` $bias^ `:` type($bias))? `epsilon` $epsilon attr-dict
    `:` type($input) `,` type($gain) `->` type($result)
  }];
  let hasVerifier = 1;
}

def Graph_L2NormalizeOp : Graph_Op<"l2_normalize", [Pure, SameOperandsAndResultType]> {
  let summary = "y = x / max(sqrt(sum over the last dimension of x^2), epsilon)";
  let description = [{
    - l2_normalize_c1: the rank is at least 1
    - l2_normalize_c2: epsilon is positive and finite

    ```mlir
    %y = graph.l2_normalize %x epsilon 1.0e-12 : tensor<?x384xf32>
    ```
  }];
  let arguments = (ins Graph_Tensor:$input, F32Attr:$epsilon);
  let results = (outs Graph_Tensor:$result);
  let assemblyFormat = "$input `epsilon` $epsilon attr-dict `:` type($input)";
  let hasVerifier = 1;
}

def Graph_ReduceMeanOp : Graph_Op<"reduce_mean", [Pure]> {
  let summary = "mean over the last dimension, which becomes 1";
  let description = [{
    - reduce_mean_c1: the rank is at least 1, and the result is the input's type with a last dimension of 1

    ```mlir
    %y = graph.reduce_mean %x : tensor<?x384xf32> -> tensor<?x1xf32>
    ```
  }];
  let arguments = (ins Graph_Tensor:$input);
  let results = (outs Graph_Tensor:$result);
  let assemblyFormat = "$input attr-dict `:` type($input) `->` type($result)";
  let hasVerifier = 1;
}

def Graph_PoolOp : Graph_Op<"pool", [Pure]> {
  let summary = "y[s, :] of rows spans[s, 0] … spans[s, 1] - 1 of the input: their mean, the first or the last";
  let description = [{
    A span is of rows of the input; one without rows gives zeros.

    - pool_c1: the input is [rows, size], the spans are [texts, 2], the result is [texts, size]

    ```mlir
    %y = graph.pool mean %x, %spans : tensor<?x384xf32>, tensor<?x2xi32> -> tensor<?x384xf32>
    ```
  }];
  let arguments = (ins Graph_Tensor:$input, Graph_IndexTensor:$spans,
    EnumAttr<GraphDialect, Graph_PoolingEnum, "pooling">:$mode);
  let results = (outs Graph_Tensor:$result);
  let assemblyFormat = "$mode $input `,` $spans attr-dict `:` type($input) `,` type($spans) `->` type($result)";
  let hasVerifier = 1;
}

def Graph_ShortConvOp : Graph_Op<"short_conv", [AttrSizedOperandSegments, AllTypesMatch<["input", "result"]>,
    DeclareOpInterfaceMethods<SymbolUserOpInterface>, DeclareOpInterfaceMethods<MemoryEffectsOpInterface>]> {
  let summary = "y[t, c] = sum over j < n of taps[c * n + j] * x[t - n + 1 + ahead + j, c]: a convolution of each channel";
  let description = [{
    Rows before the step's first come from the state, which holds the last n - 1 inputs of earlier steps; those of
    positions below 0 are zeros, whatever it holds. The op leaves the last n - 1 inputs in the state. So steps follow one
    another, or begin again at position 0. Without a state, rows before ranges[t, 0] and from ranges[t, 1] on are zeros (texts
    behind one another); `ahead` of the n taps are then for rows behind row t, which is otherwise under the last tap.

    - short_conv_c1: the input is [rows, channels] and the result has its type; the taps are [channels * n], n at least 2
    - short_conv_c2: there are a state and a position, or ranges
    - short_conv_c3: the symbol is a state [n - 1, channels] of f32
    - short_conv_c4: the ranges are [rows, 2]
    - short_conv_c5: ahead is 0 to n - 1, and 0 where there is a state

    ```mlir
    %y = graph.short_conv %x, %taps state @blk.0.conv, %position : tensor<?x256xf32>, tensor<768xf32>
    %z = graph.short_conv %x, %taps ranges %r : tensor<?x2xi32> ahead 1 : tensor<?x256xf32>, tensor<768xf32>
    ```
  }];
  let arguments = (ins Graph_Tensor:$input, Graph_Tensor:$taps,
    OptionalAttr<FlatSymbolRefAttr>:$state, Optional<Graph_Scalar>:$position, Optional<Graph_IndexTensor>:$ranges,
    DefaultValuedAttr<I64Attr, "0">:$ahead);
  let results = (outs Graph_Tensor:$result);
  let assemblyFormat = [{
    $input `,` $taps (`state` $state^ `,` $position)? (`ranges` $ranges^ `:` type($ranges))? (`ahead` $ahead^)? attr-dict
    `:` type($input) `,` type($taps)
  }];
  let hasVerifier = 1;
}

def Graph_SoftmaxOp : Graph_Op<"softmax", [Pure, SameOperandsAndResultType]> {
  let summary = "softmax over the last dimension; a row whose every element is -inf gives zeros";
  let description = [{
    y[.., j] = exp(x[.., j] - max) / sum over i of exp(x[.., i] - max)

    - softmax_c1: the rank is at least 1

    ```mlir
    %y = graph.softmax %x : tensor<2x4x?x?xf32>
    ```
  }];
  let arguments = (ins Graph_Tensor:$input);
  let results = (outs Graph_Tensor:$result);
  let assemblyFormat = "$input attr-dict `:` type($input)";
  let hasVerifier = 1;
}

def Graph_RotaryOp : Graph_Op<"rotary", [Pure, AttrSizedOperandSegments]> {
  let summary = "rotates pairs of each head of row t by its position * base^(-2i/rotary_dim) / factors[i]";
  let description = [{
    The input is [rows, .., head dimension]. Pair i of a head, (x, y), becomes (x cos a - y sin a, x sin a + y cos a) with
    a = p * position_scale * base^(-2i/dim) / factors[i], where p is position + t or positions[t]. Pairs are elements (2i, 2i + 1) when `adjacent`,
    (i, i + dim/2) when `half`. Elements from `dim` on stay as they are.

    - rotary_c1: the input has at least 2 dimensions, and the result its type
    - rotary_c2: dim is even, at least 2, and at most the last dimension
    - rotary_c3: factors are [dim/2]
    - rotary_c4: base and position_scale are positive and finite
    - rotary_c5: there are either a position or positions [rows]

    ```mlir
    %y = graph.rotary %x, %position pairs half base 1.0e4 dim 64 : tensor<?x4x64xf32> -> tensor<?x4x64xf32>
    %z = graph.rotary %x positions %p : tensor<?xi32> pairs half base 1.0e4 dim 64 : tensor<?x4x64xf32> -> tensor<?x4x64xf32>
    ```
  }];
  let arguments = (ins Graph_Tensor:$input, Optional<Graph_Scalar>:$position, Optional<Graph_IndexTensor>:$positions,
    Optional<Graph_Tensor>:$factors,
    F32Attr:$base, I64Attr:$rotary_dim, DefaultValuedAttr<F32Attr, "1.0f">:$position_scale,
    EnumAttr<GraphDialect, Graph_RotaryPairsEnum, "pairs">:$pairs);
  let results = (outs Graph_Tensor:$result);
  let assemblyFormat = [{
    $input (`,` $position^)? (`positions` $positions^ `:` type($positions))? (`factors` $factors^ `:` type($factors))? `pairs` $pairs `base` $base `dim` $rotary_dim attr-dict
    `:` type($input) `->` type($result)
  }];
  let hasVerifier = 1;
}

def Graph_CausalMaskOp : Graph_Op<"causal_mask", [Pure, AllTypesMatch<["input", "result"]>]> {
  let summary = "y[.., t, j] = x[.., t, j] where j <= position + t, and of the last `window` such keys, else -inf";
  let description = [{
    With a `window` other than 0, keys up to position + t - window are hidden too (sliding window).

    - causal_mask_c1: the rank is at least 2
    - causal_mask_c2: the window is not negative

    ```mlir
    %y = graph.causal_mask %x, %position window 512 : tensor<2x4x?x?xf32>
    ```
  }];
  let arguments = (ins Graph_Tensor:$input, Graph_Scalar:$position, DefaultValuedAttr<I64Attr, "0">:$window);
  let results = (outs Graph_Tensor:$result);
  let assemblyFormat = "$input `,` $position (`window` $window^)? attr-dict `:` type($input)";
  let hasVerifier = 1;
}

def Graph_RangeMaskOp : Graph_Op<"range_mask", [Pure, AllTypesMatch<["input", "result"]>]> {
  let summary = "y[.., t, j] = x[.., t, j] where ranges[t, 0] <= j < ranges[t, 1], else -inf";
  let description = [{
    Texts behind one another: row t sees the keys of its own text.

    - range_mask_c1: the input is [.., rows, keys], the ranges are [rows, 2]

    ```mlir
    %y = graph.range_mask %x, %ranges : tensor<12x?x?xf32>, tensor<?x2xi32>
    ```
  }];
  let arguments = (ins Graph_Tensor:$input, Graph_IndexTensor:$ranges);
  let results = (outs Graph_Tensor:$result);
  let assemblyFormat = "$input `,` $ranges attr-dict `:` type($input) `,` type($ranges)";
  let hasVerifier = 1;
}

def Graph_RelativeBiasOp : Graph_Op<"relative_bias", [Pure, AllTypesMatch<["input", "result"]>]> {
  let summary = "y[h, t, j] = x[h, t, j] + table[(j - t + span) * heads + h]: a bias by the distance of a key";
  let description = [{
    The heads are all dimensions before the last two together; the table, a vector, holds 2 * span + 1 distances, so that
    rows and keys are at most span + 1.

    - relative_bias_c1: the input is [.., rows, keys] with static heads, and the table [an odd number * heads]

    ```mlir
    %y = graph.relative_bias %x, %table : tensor<12x?x?xf32>, tensor<12276xf32>
    ```
  }];
  let arguments = (ins Graph_Tensor:$input, Graph_Tensor:$table);
  let results = (outs Graph_Tensor:$result);
  let assemblyFormat = "$input `,` $table attr-dict `:` type($input) `,` type($table)";
  let hasVerifier = 1;
}

def Graph_KvAppendOp : Graph_Op<"kv_append", [DeclareOpInterfaceMethods<SymbolUserOpInterface>,
    MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "writes row t of the input at position + t of the cache; gives positions 0 … position + rows - 1";
  let description = [{
    The input is [rows, KV heads, head dimension], the cache [KV heads, context length, head dimension], the result
    [keys, KV heads, head dimension] where keys = position + rows, at most the context length. What the result holds has
    been through the state's element type.

    - kv_append_c1: the symbol is a state of rank 3
    - kv_append_c2: input and result have rank 3 and the state's KV heads and head dimension
    - kv_append_c3: static rows are at most the context length

    ```mlir
    %y = graph.kv_append @blk.0.k, %x, %position : tensor<?x2x64xf32> -> tensor<?x2x64xf32>
    ```
  }];
  let arguments = (ins FlatSymbolRefAttr:$state, Graph_Tensor:$input, Graph_Scalar:$position);
  let results = (outs Graph_Tensor:$result);
  let assemblyFormat = "$state `,` $input `,` $position attr-dict `:` type($input) `->` type($result)";
}

#endif // LLMC_DIALECTS_GRAPH_GRAPHROWOPS_TD
