// SPDX-License-Identifier: Apache-2.0

#ifndef LLMC_DIALECTS_GRAPH_GRAPHOPS_TD
#define LLMC_DIALECTS_GRAPH_GRAPHOPS_TD

include "dialects/Graph/GraphOpBase.td"
include "dialects/Graph/GraphExpertOps.td"
include "dialects/Graph/GraphRowOps.td"

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
    The element type says what a cache keeps of a number: f16 rounds it; i8 keeps a code, and a scale for each row of a
    head, as `quantize_activations` gives them for a row. How they lie in memory is in docs/architecture.md.

    - state_c1: the dimensions are static and at least 1
    - state_c2: a state of i8 has rank 3 and a last dimension that is a multiple of 4

    ```mlir
    graph.state @blk.0.k : tensor<2x2048x64xf32>
    ```
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, TypeAttrOf<Graph_StateTensor>:$type);
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

def Graph_ConvertOp : Graph_Op<"convert", [Pure, Graph_WorksByElement, SameOperandsAndResultShape]> {
  let summary = "the same numbers in another element type, rounded to the nearest";
  let description = [{
    Says where numbers lie in memory as f16: a region that ends in a `convert` stores f16, one that begins with it reads
    f16. Arithmetic is on f32.

    ```mlir
    %h = graph.convert %x : tensor<?x256xf32> -> tensor<?x256xf16>
    ```
  }];
  let arguments = (ins Graph_Tensor:$input);
  let results = (outs Graph_Tensor:$result);
  let assemblyFormat = "$input attr-dict `:` type($input) `->` type($result)";
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
