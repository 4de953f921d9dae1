// SPDX-License-Identifier: Apache-2.0

#ifndef LLMC_DIALECTS_GRAPH_GRAPHOPS_TD
#define LLMC_DIALECTS_GRAPH_GRAPHOPS_TD

include "dialects/Graph/GraphAttrs.td"
include "dialects/Graph/GraphDialect.td"
include "dialects/Graph/GraphEnums.td"
include "dialects/Graph/GraphTypes.td"
include "mlir/IR/OpBase.td"
include "mlir/IR/SymbolInterfaces.td"
include "mlir/Interfaces/ControlFlowInterfaces.td"
include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

class Graph_Op<string mnemonic, list<Trait> traits = []> : Op<GraphDialect, mnemonic, traits>;

def Graph_IsScalar : CPred<"$_self == ::mlir::RankedTensorType::get({}, ::mlir::IntegerType::get($_self.getContext(), 32))">;
def Graph_Tensor : RankedTensorOf<[F32, F16]>;
def Graph_EncodedTensor : RankedTensorOf<[Graph_EncodedType]>;
def Graph_IndexTensor : RankedTensorOf<[I32]>;
def Graph_CodeTensor : RankedTensorOf<[I8]>;
// Each element of the result depends on one element of each operand only.
def Graph_WorksByElement : NativeOpTrait<"WorksByElement"> {
  let cppNamespace = "::llmc::graph";
}
// A run-time integer of a step, such as the position.
def Graph_Scalar : Type<Graph_IsScalar, "tensor<i32>", "::mlir::RankedTensorType">,
    BuildableType<"::mlir::RankedTensorType::get({}, $_builder.getI32Type())">;

//===----------------------------------------------------------------------===//
// Symbols: weights and states
//===----------------------------------------------------------------------===//

def Graph_WeightOp : Graph_Op<"weight", [Symbol]> {
  let summary = "a constant of the model: a shape, an encoding and where its bytes lie";
  let description = [{
    The rows (first dimension) come from the sources one after another; a matrix is [outputs, inputs]. Of a
    vector, rows are its numbers. Bytes are read when a model is packed or evaluated, never held in the IR.

    - weight_c1: the type has 1 or 2 static dimensions, each at least 1
    - weight_c2: a row, or of a vector each source, is a whole number of the encoding's blocks
    - weight_c3: there is a source, and the sources' rows add up to the first dimension
    - weight_c4: file and offset are not negative, rows are at least 1, and all bytes fit into int64

    ```mlir
    graph.weight @gate : tensor<512x256x!graph.encoded<q4_k>> from [#graph.source<file = 0, offset = 4096, rows = 512>]
    ```
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, TypeAttrOf<Graph_EncodedTensor>:$type,
    TypedArrayAttrBase<Graph_SourceAttr, "pieces of the weight, first rows first">:$sources);
  let assemblyFormat = "$sym_name `:` $type `from` $sources attr-dict";
  let hasVerifier = 1;
}

def Graph_StateOp : Graph_Op<"state", [Symbol]> {
  let summary = "memory that lives from step to step";
  let description = [{
    A KV cache is [KV heads, context length, head dimension], the past of a `short_conv` of n taps [n - 1, channels].

    - state_c1: the dimensions are static and at least 1

    ```mlir
    graph.state @blk.0.k : tensor<2x2048x64xf32>
    ```
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, TypeAttrOf<Graph_Tensor>:$type);
  let assemblyFormat = "$sym_name `:` $type attr-dict";
  let hasVerifier = 1;
}

def Graph_LoadWeightOp : Graph_Op<"load_weight", [Pure, DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "the weight of that name, still encoded";
  let description = [{
    - load_weight_c1: the symbol is a weight
    - load_weight_c2: the result has the weight's type

    ```mlir
    %w = graph.load_weight @gate : tensor<512x256x!graph.encoded<q4_k>>
    ```
  }];
  let arguments = (ins FlatSymbolRefAttr:$weight);
  let results = (outs Graph_EncodedTensor:$result);
  let assemblyFormat = "$weight attr-dict `:` type($result)";
}

//===----------------------------------------------------------------------===//
// Primitives
//===----------------------------------------------------------------------===//

def Graph_ConstantOp : Graph_Op<"constant", [Pure]> {
  let summary = "a scalar of the model, such as a scale";
  let description = [{
    - constant_c1: the result has rank 0

    ```mlir
    %c = graph.constant 0.125 : tensor<f32>
    ```
  }];
  let arguments = (ins F32Attr:$value);
  let results = (outs Graph_Tensor:$result);
  let assemblyFormat = "$value attr-dict `:` type($result)";
  let hasVerifier = 1;
}

def Graph_DequantizeOp : Graph_Op<"dequantize", [Pure]> {
  let summary = "the numbers that a weight's bytes encode";
  let description = [{
    The formula of each encoding is in dialects/Graph/Encoding.h.

    - dequantize_c1: input and result have the same shape

    ```mlir
    %m = graph.dequantize %w : tensor<512x256x!graph.encoded<q4_k>> -> tensor<512x256xf32>
    ```
  }];
  let arguments = (ins Graph_EncodedTensor:$input);
  let results = (outs Graph_Tensor:$result);
  let assemblyFormat = "$input attr-dict `:` type($input) `->` type($result)";
  let hasVerifier = 1;
}

def Graph_EmbeddingOp : Graph_Op<"embedding", [Pure]> {
  let summary = "y[t, :] = table[tokens[t], :]";
  let description = [{
    Every token must be a row of the table.

    - embedding_c1: tokens are [rows], the table is [vocabulary, size], the result [rows, size]

    ```mlir
    %y = graph.embedding %tokens, %table : tensor<?xi32>, tensor<512x256xf32> -> tensor<?x256xf32>
    ```
  }];
  let arguments = (ins Graph_IndexTensor:$tokens, Graph_Tensor:$table);
  let results = (outs Graph_Tensor:$result);
  let assemblyFormat = "$tokens `,` $table attr-dict `:` type($tokens) `,` type($table) `->` type($result)";
  let hasVerifier = 1;
}

def Graph_MatmulOp : Graph_Op<"matmul", [Pure]> {
  let summary = "y[.., m, n] = sum over k of lhs[.., m, k] * rhs[.., k, n]; leading dimensions broadcast (1 or equal)";
  let description = [{
    With `transpose_rhs`, rhs is [.., n, k].

    - matmul_c1: lhs and rhs have at least 2 dimensions
    - matmul_c2: both have the same k
    - matmul_c3: leading dimensions are equal, or 1 or missing on one side
    - matmul_c4: the result is [leading dimensions, m, n]

    ```mlir
    %y = graph.matmul %x, %m transpose_rhs : tensor<?x256xf32>, tensor<512x256xf32> -> tensor<?x512xf32>
    ```
  }];
  let arguments = (ins Graph_Tensor:$lhs, Graph_Tensor:$rhs, UnitAttr:$transpose_rhs);
  let results = (outs Graph_Tensor:$result);
  let assemblyFormat = "$lhs `,` $rhs (`transpose_rhs` $transpose_rhs^)? attr-dict `:` type($lhs) `,` type($rhs) `->` type($result)";
  let hasVerifier = 1;
}

class Graph_BinaryOp<string mnemonic, string sign, list<Trait> traits = []> : Graph_Op<mnemonic, !listconcat([Pure, Graph_WorksByElement], traits)> {
  let summary = "y = lhs " # sign # " rhs, element by element; dimensions of size 1 and missing leading dimensions of rhs broadcast";
  let description = [{
    - binary_c1: counted from the last, each dimension of rhs is 1 or the dimension of lhs
    - binary_c2: the result has the shape of lhs

    ```mlir
    %y = graph.}] # mnemonic # [{ %x, %bias : tensor<?x256xf32>, tensor<256xf32> -> tensor<?x256xf32>
    ```
  }];
  let arguments = (ins Graph_Tensor:$lhs, Graph_Tensor:$rhs);
  let results = (outs Graph_Tensor:$result);
  let assemblyFormat = "$lhs `,` $rhs attr-dict `:` type($lhs) `,` type($rhs) `->` type($result)";
  let hasVerifier = 1;
}
def Graph_AddOp : Graph_BinaryOp<"add", "+">;
def Graph_SubOp : Graph_BinaryOp<"sub", "-"> { let hasFolder = 1; }
def Graph_MulOp : Graph_BinaryOp<"mul", "*"> { let hasFolder = 1; }
def Graph_DivOp : Graph_BinaryOp<"div", "/"> { let hasFolder = 1; }

class Graph_UnaryOp<string mnemonic, string formula> : Graph_Op<mnemonic, [Pure, Graph_WorksByElement, SameOperandsAndResultType]> {
  let summary = "y = " # formula # ", element by element";
  let description = [{
    ```mlir
    %y = graph.}] # mnemonic # [{ %x : tensor<?x256xf32>
    ```
  }];
  let arguments = (ins Graph_Tensor:$input);
  let results = (outs Graph_Tensor:$result);
  let assemblyFormat = "$input attr-dict `:` type($input)";
}
def Graph_SiluOp : Graph_UnaryOp<"silu", "x / (1 + exp(-x))">;
def Graph_GeluOp : Graph_UnaryOp<"gelu", "x/2 * (1 + erf(x / sqrt 2))">;
def Graph_GeluTanhOp : Graph_UnaryOp<"gelu_tanh", "x/2 * (1 + tanh(sqrt(2/pi) * (x + 0.044715 x^3)))">;
def Graph_TanhOp : Graph_UnaryOp<"tanh", "tanh x">;
def Graph_SigmoidOp : Graph_UnaryOp<"sigmoid", "1 / (1 + exp(-x))">;
def Graph_ReluOp : Graph_UnaryOp<"relu", "max(x, 0)">;
def Graph_ExpOp : Graph_UnaryOp<"exp", "exp x">;
def Graph_SqrtOp : Graph_UnaryOp<"sqrt", "sqrt x">;
def Graph_ErfOp : Graph_UnaryOp<"erf", "erf x">;

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
  let summary = "y[t, c] = sum over j < n of taps[c * n + j] * x[t - n + 1 + j, c]: a causal convolution of each channel";
  let description = [{
    Rows before the step's first come from the state, which holds the last n - 1 inputs of earlier steps; those of
    positions below 0 are zeros, whatever it holds. The op leaves the last n - 1 inputs in the state. So steps follow one
    another, or begin again at position 0. Without a state, rows before ranges[t, 0] are zeros (texts behind one another).

    - short_conv_c1: the input is [rows, channels] and the result has its type; the taps are [channels * n], n at least 2
    - short_conv_c2: there are a state and a position, or ranges
    - short_conv_c3: the symbol is a state [n - 1, channels]
    - short_conv_c4: the ranges are [rows, 2]

    ```mlir
    %y = graph.short_conv %x, %taps state @blk.0.conv, %position : tensor<?x256xf32>, tensor<768xf32>
    %z = graph.short_conv %x, %taps ranges %r : tensor<?x2xi32> : tensor<?x256xf32>, tensor<768xf32>
    ```
  }];
  let arguments = (ins Graph_Tensor:$input, Graph_Tensor:$taps,
    OptionalAttr<FlatSymbolRefAttr>:$state, Optional<Graph_Scalar>:$position, Optional<Graph_IndexTensor>:$ranges);
  let results = (outs Graph_Tensor:$result);
  let assemblyFormat = [{
    $input `,` $taps (`state` $state^ `,` $position)? (`ranges` $ranges^ `:` type($ranges))? attr-dict
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

def Graph_ReshapeOp : Graph_Op<"reshape", [Pure]> {
  let summary = "the same elements in the same order under another shape";
  let description = [{
    - reshape_c1: input and result have one dynamic dimension each, or none
    - reshape_c2: their static dimensions have the same product
    - reshape_c3: they have the same element type

    ```mlir
    %y = graph.reshape %x : tensor<?x256xf32> -> tensor<?x4x64xf32>
    ```
  }];
  let arguments = (ins Graph_Tensor:$input);
  let results = (outs Graph_Tensor:$result);
  let assemblyFormat = "$input attr-dict `:` type($input) `->` type($result)";
  let hasVerifier = 1;
  let hasFolder = 1;
}

def Graph_TransposeOp : Graph_Op<"transpose", [Pure]> {
  let summary = "dimension i of the result is dimension permutation[i] of the input";
  let description = [{
    - transpose_c1: the permutation holds every dimension of the input once
    - transpose_c2: the result has the input's sizes so permuted, and its element type

    ```mlir
    %y = graph.transpose %x [1, 0, 2] : tensor<?x4x64xf32> -> tensor<4x?x64xf32>
    ```
  }];
  let arguments = (ins Graph_Tensor:$input, DenseI64ArrayAttr:$permutation);
  let results = (outs Graph_Tensor:$result);
  let assemblyFormat = "$input $permutation attr-dict `:` type($input) `->` type($result)";
  let hasVerifier = 1;
  let hasFolder = 1;
}

def Graph_SliceOp : Graph_Op<"slice", [Pure]> {
  let summary = "size elements of dimension dim from offset on";
  let description = [{
    - slice_c1: dim is a static dimension of the input
    - slice_c2: offset is not negative, size at least 1, and offset + size at most the dimension
    - slice_c3: the result is the input's type with `size` as dimension `dim`

    ```mlir
    %y = graph.slice %x dim 1 offset 256 size 128 : tensor<?x512xf32> -> tensor<?x128xf32>
    ```
  }];
  let arguments = (ins Graph_Tensor:$input, I64Attr:$dim, I64Attr:$offset, I64Attr:$size);
  let results = (outs Graph_Tensor:$result);
  let assemblyFormat = "$input `dim` $dim `offset` $offset `size` $size attr-dict `:` type($input) `->` type($result)";
  let hasVerifier = 1;
  let hasFolder = 1;
}

def Graph_ConcatOp : Graph_Op<"concat", [Pure]> {
  let summary = "the inputs behind one another along dimension dim";
  let description = [{
    - concat_c1: there is an input, and dim is a dimension of it that is static in all
    - concat_c2: the result has the sum of the inputs' sizes there, and is of their type otherwise

    ```mlir
    %y = graph.concat dim 1 %a, %b : (tensor<?x256xf32>, tensor<?x128xf32>) -> tensor<?x384xf32>
    ```
  }];
  let arguments = (ins Variadic<Graph_Tensor>:$inputs, I64Attr:$dim);
  let results = (outs Graph_Tensor:$result);
  let assemblyFormat = "`dim` $dim $inputs attr-dict `:` functional-type($inputs, results)";
  let hasVerifier = 1;
}

def Graph_SelectRowsOp : Graph_Op<"select_rows", [Pure]> {
  let summary = "rows first, first + 1, … of the input, as many as the step has";
  let description = [{
    A static first dimension of the result says how many rows; rows beyond the input's end hold anything.

    - select_rows_c1: the input has at least 1 dimension, and the result differs from its type in the first at most

    ```mlir
    %y = graph.select_rows %x, %first : tensor<?x256xf32> -> tensor<?x256xf32>
    ```
  }];
  let arguments = (ins Graph_Tensor:$input, Graph_Scalar:$first);
  let results = (outs Graph_Tensor:$result);
  let assemblyFormat = "$input `,` $first attr-dict `:` type($input) `->` type($result)";
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
    [keys, KV heads, head dimension] where keys = position + rows, at most the context length.

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

//===----------------------------------------------------------------------===//
// After fusion
//===----------------------------------------------------------------------===//

def Graph_QuantizeActivationsOp : Graph_Op<"quantize_activations", [Pure]> {
  let summary = "codes = round(x / scale) with scale = max |x| / 127 over a group; sums = scale * sum of the codes of 32 columns";
  let description = [{
    `group` is 0, one scale a row, or 32, one scale for 32 columns. Halves round to even; codes are -127 … 127; a group of
    zeros has scale 0 and codes 0. `sums` serve weights with an offset, for every 32 columns whatever the group.
    How the three lie in memory is in docs/architecture.md.

    - quantize_activations_c1: the input is [rows, k], k a multiple of 32, of f32
    - quantize_activations_c2: group is 0 or 32
    - quantize_activations_c3: codes are [rows, k] of i8, sums [rows, k/32], scales [rows] (group 0) or [rows, k/32] (group 32)

    ```mlir
    %codes, %scales, %sums = graph.quantize_activations %x group 32
      : tensor<?x256xf32> -> tensor<?x256xi8>, tensor<?x8xf32>, tensor<?x8xf32>
    ```
  }];
  let arguments = (ins Graph_Tensor:$input, I64Attr:$group);
  let results = (outs Graph_CodeTensor:$codes, Graph_Tensor:$scales, Graph_Tensor:$sums);
  let assemblyFormat = [{
    $input `group` $group attr-dict `:` type($input) `->` type($codes) `,` type($scales) `,` type($sums)
  }];
  let builders = [
    // The results' types follow from the input's.
    OpBuilder<(ins "::mlir::Value":$input, "int64_t":$group)>
  ];
  let hasVerifier = 1;
}

def Graph_QuantizedLinearOp : Graph_Op<"quantized_linear", [Pure, SameVariadicOperandSize]> {
  let summary = "y[t, n] = sum over k of x[t, k] * decode(weight)[n, k]";
  let description = [{
    Further leading dimensions of the input are rows too. An input of i8 is the codes of a `quantize_activations`, whose
    scales and sums come along: x[t, k] is then scale * code, with t's scale or that of its 32 columns.

    - quantized_linear_c1: the weight is [n, k], the input [.., k]
    - quantized_linear_c2: the result is [.., n] with the input's other dimensions
    - quantized_linear_c3: an input of i8 has scales and sums, any other has neither
    - quantized_linear_c4: an input of i8 is [rows, k], its sums [rows, k/32], its scales [rows] or [rows, k/32]

    ```mlir
    %y = graph.quantized_linear %x, %w : tensor<?x256xf32>, tensor<512x256x!graph.encoded<q4_k>> -> tensor<?x512xf32>
    %z = graph.quantized_linear %codes, %w scales %scales : tensor<?xf32> sums %sums : tensor<?x8xf32>
      : tensor<?x256xi8>, tensor<512x256x!graph.encoded<q4_k>> -> tensor<?x512xf32>
    ```
  }];
  let arguments = (ins RankedTensorOf<[F32, F16, I8]>:$input, Graph_EncodedTensor:$weight,
    Optional<Graph_Tensor>:$scales, Optional<Graph_Tensor>:$sums);
  let results = (outs Graph_Tensor:$result);
  let assemblyFormat = [{
    $input `,` $weight (`scales` $scales^ `:` type($scales) `sums` $sums `:` type($sums))? attr-dict
    `:` type($input) `,` type($weight) `->` type($result)
  }];
  let builders = [
    // Without scales and sums.
    OpBuilder<(ins "::mlir::Type":$result, "::mlir::Value":$input, "::mlir::Value":$weight),
    [{ build($_builder, $_state, result, input, weight, /*scales=*/nullptr, /*sums=*/nullptr); }]>
  ];
  let hasVerifier = 1;
}

def Graph_QuantizedEmbeddingOp : Graph_Op<"quantized_embedding", [Pure]> {
  let summary = "y[t, :] = decode(table)[tokens[t], :]";
  let description = [{
    Every token must be a row of the table.

    - quantized_embedding_c1: tokens are [rows], the table is [vocabulary, size], the result [rows, size]

    ```mlir
    %y = graph.quantized_embedding %tokens, %w : tensor<?xi32>, tensor<512x256x!graph.encoded<q4_k>> -> tensor<?x256xf32>
    ```
  }];
  let arguments = (ins Graph_IndexTensor:$tokens, Graph_EncodedTensor:$table);
  let results = (outs Graph_Tensor:$result);
  let assemblyFormat = "$tokens `,` $table attr-dict `:` type($tokens) `,` type($table) `->` type($result)";
  let hasVerifier = 1;
}

def Graph_SdpaOp : Graph_Op<"sdpa", [Pure, AttrSizedOperandSegments]> {
  let summary = "softmax(scale * query key^T, hidden keys left out) value; query head h reads KV head h / group";
  let description = [{
    query [rows, heads, head dimension], key and value [keys, KV heads, head dimension], result [rows, heads, head dimension].
    With `causal`, row t sees keys 0 … position + t, with a `window` other than 0 the last `window` of them. Row t sees keys
    ranges[t, 0] … ranges[t, 1] - 1 only when there are `ranges` (sequences of different lengths behind one another).
    With a `soft_cap` c other than 0, a scaled score s becomes c tanh(s / c). bias[t, h, j] is added to the score of key j
    after that; below -1e38 it hides the key. relative[(j - t + span) * heads + h] is added likewise, where span =
    (size / heads - 1) / 2. A row that sees no key gives zeros.

    - sdpa_c1: query, key and value have rank 3, key and value the same shape
    - sdpa_c2: all have the same head dimension
    - sdpa_c3: the heads are a multiple of the KV heads (group = heads / KV heads)
    - sdpa_c4: the result has the query's shape
    - sdpa_c5: scale is finite
    - sdpa_c6: a causal op must have a position
    - sdpa_c7: the bias is [rows, 1 or heads, keys or more], its last dimension static
    - sdpa_c8: the ranges are [rows, 2]
    - sdpa_c9: the window is not negative, and 0 when the op is not causal
    - sdpa_c10: soft_cap is finite and not negative
    - sdpa_c11: relative is [an odd number * heads], and there is no position

    ```mlir
    %y = graph.sdpa %q, %k, %v, %position scale 0.125 causal : tensor<?x4x64xf32>, tensor<?x2x64xf32>, tensor<?x2x64xf32>
      -> tensor<?x4x64xf32>
    %z = graph.sdpa %q, %k, %v bias %b : tensor<?x1x384xf32> ranges %r : tensor<?x2xi32> scale 0.125 soft_cap 50.0
      : tensor<?x4x64xf32>, tensor<?x2x64xf32>, tensor<?x2x64xf32> -> tensor<?x4x64xf32>
    ```
  }];
  let arguments = (ins Graph_Tensor:$query, Graph_Tensor:$key, Graph_Tensor:$value,
    Optional<Graph_Scalar>:$position, Optional<Graph_Tensor>:$bias, Optional<Graph_Tensor>:$relative,
    Optional<Graph_IndexTensor>:$ranges,
    F32Attr:$scale, UnitAttr:$causal, DefaultValuedAttr<I64Attr, "0">:$window,
    DefaultValuedAttr<F32Attr, "0.0f">:$soft_cap);
  let results = (outs Graph_Tensor:$result);
  let assemblyFormat = [{
    $query `,` $key `,` $value (`,` $position^)? (`bias` $bias^ `:` type($bias))? (`relative` $relative^ `:` type($relative))?
    (`ranges` $ranges^ `:` type($ranges))? `scale` $scale (`causal` $causal^)? (`window` $window^)? (`soft_cap` $soft_cap^)? attr-dict
    `:` type($query) `,` type($key) `,` type($value) `->` type($result)
  }];
  let hasVerifier = 1;
}

def Graph_RegionOp : Graph_Op<"region", [IsolatedFromAbove, SingleBlock, AutomaticAllocationScope]> {
  let summary = "ops that run as one dispatch: a root and its element-wise neighbours";
  let description = [{
    Block arguments stand for the operands, in order. `lowering_config` is set by Strategy.

    - region_c1: there is a block argument for each operand, of its type
    - region_c2: the body ends in a `yield` of the results' types

    ```mlir
    %y = graph.region (%a = %x : tensor<?x256xf32>) -> (tensor<?x256xf32>) {
      %0 = graph.silu %a : tensor<?x256xf32>
      graph.yield %0 : tensor<?x256xf32>
    }
    ```
  }];
  let arguments = (ins Variadic<AnyRankedTensor>:$inputs, OptionalAttr<Graph_LoweringConfigAttr>:$lowering_config);
  let results = (outs Variadic<AnyRankedTensor>:$results);
  let regions = (region SizedRegion<1>:$body);
  let hasCustomAssemblyFormat = 1;
  let hasRegionVerifier = 1;
}

def Graph_YieldOp : Graph_Op<"yield", [Pure, Terminator, ReturnLike, HasParent<"RegionOp">]> {
  let summary = "the results of a region";
  let arguments = (ins Variadic<AnyRankedTensor>:$values);
  let assemblyFormat = "attr-dict ($values^ `:` type($values))?";
}

#endif // LLMC_DIALECTS_GRAPH_GRAPHOPS_TD
