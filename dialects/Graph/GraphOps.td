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
// A run-time integer of a step, such as the position.
def Graph_Scalar : Type<Graph_IsScalar, "tensor<i32>", "::mlir::RankedTensorType">,
    BuildableType<"::mlir::RankedTensorType::get({}, $_builder.getI32Type())">;

//===----------------------------------------------------------------------===//
// Symbols: weights and states
//===----------------------------------------------------------------------===//

def Graph_WeightOp : Graph_Op<"weight", [Symbol]> {
  let summary = "a constant of the model: a shape, an encoding and where its bytes lie";
  let arguments = (ins SymbolNameAttr:$sym_name, TypeAttrOf<Graph_EncodedTensor>:$type,
    TypedArrayAttrBase<Graph_SourceAttr, "pieces of the weight, first rows first">:$sources);
  let assemblyFormat = "$sym_name `:` $type `from` $sources attr-dict";
}

def Graph_StateOp : Graph_Op<"state", [Symbol]> {
  let summary = "memory that lives from step to step: shape [KV heads, context length, head dimension] for a KV cache";
  let arguments = (ins SymbolNameAttr:$sym_name, TypeAttrOf<Graph_Tensor>:$type);
  let assemblyFormat = "$sym_name `:` $type attr-dict";
}

def Graph_LoadWeightOp : Graph_Op<"load_weight", [Pure, DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "the weight of that name, still encoded";
  let arguments = (ins FlatSymbolRefAttr:$weight);
  let results = (outs Graph_EncodedTensor:$result);
  let assemblyFormat = "$weight attr-dict `:` type($result)";
}

//===----------------------------------------------------------------------===//
// Primitives
//===----------------------------------------------------------------------===//

def Graph_ConstantOp : Graph_Op<"constant", [Pure]> {
  let summary = "a scalar of the model, such as a scale";
  let arguments = (ins F32Attr:$value);
  let results = (outs Graph_Tensor:$result);
  let assemblyFormat = "$value attr-dict `:` type($result)";
}

def Graph_DequantizeOp : Graph_Op<"dequantize", [Pure]> {
  let summary = "the numbers that a weight's bytes encode";
  let arguments = (ins Graph_EncodedTensor:$input);
  let results = (outs Graph_Tensor:$result);
  let assemblyFormat = "$input attr-dict `:` type($input) `->` type($result)";
}

def Graph_EmbeddingOp : Graph_Op<"embedding", [Pure]> {
  let summary = "y[t, :] = table[tokens[t], :]";
  let arguments = (ins Graph_IndexTensor:$tokens, Graph_Tensor:$table);
  let results = (outs Graph_Tensor:$result);
  let assemblyFormat = "$tokens `,` $table attr-dict `:` type($tokens) `,` type($table) `->` type($result)";
}

def Graph_MatmulOp : Graph_Op<"matmul", [Pure]> {
  let summary = "y[.., m, n] = sum over k of lhs[.., m, k] * rhs[.., k, n]; leading dimensions broadcast (1 or equal)";
  let arguments = (ins Graph_Tensor:$lhs, Graph_Tensor:$rhs, UnitAttr:$transpose_rhs);
  let results = (outs Graph_Tensor:$result);
  let assemblyFormat = "$lhs `,` $rhs (`transpose_rhs` $transpose_rhs^)? attr-dict `:` type($lhs) `,` type($rhs) `->` type($result)";
}

class Graph_BinaryOp<string mnemonic, string sign, list<Trait> traits = []> : Graph_Op<mnemonic, !listconcat([Pure], traits)> {
  let summary = "y = lhs " # sign # " rhs, element by element; dimensions of size 1 and missing leading dimensions of rhs broadcast";
  let arguments = (ins Graph_Tensor:$lhs, Graph_Tensor:$rhs);
  let results = (outs Graph_Tensor:$result);
  let assemblyFormat = "$lhs `,` $rhs attr-dict `:` type($lhs) `,` type($rhs) `->` type($result)";
}
def Graph_AddOp : Graph_BinaryOp<"add", "+">;
def Graph_SubOp : Graph_BinaryOp<"sub", "-">;
def Graph_MulOp : Graph_BinaryOp<"mul", "*">;
def Graph_DivOp : Graph_BinaryOp<"div", "/">;

class Graph_UnaryOp<string mnemonic, string formula> : Graph_Op<mnemonic, [Pure, SameOperandsAndResultType]> {
  let summary = "y = " # formula # ", element by element";
  let arguments = (ins Graph_Tensor:$input);
  let results = (outs Graph_Tensor:$result);
  let assemblyFormat = "$input attr-dict `:` type($input)";
}
def Graph_SiluOp : Graph_UnaryOp<"silu", "x / (1 + exp(-x))">;
def Graph_GeluOp : Graph_UnaryOp<"gelu", "x/2 * (1 + erf(x / sqrt 2))">;
def Graph_GeluTanhOp : Graph_UnaryOp<"gelu_tanh", "x/2 * (1 + tanh(sqrt(2/pi) * (x + 0.044715 x^3)))">;
def Graph_TanhOp : Graph_UnaryOp<"tanh", "tanh x">;

def Graph_RmsNormOp : Graph_Op<"rms_norm", [Pure]> {
  let summary = "y = x * gain / sqrt(mean over the last dimension of x^2 + epsilon)";
  let arguments = (ins Graph_Tensor:$input, Graph_Tensor:$gain, F32Attr:$epsilon);
  let results = (outs Graph_Tensor:$result);
  let assemblyFormat = "$input `,` $gain `epsilon` $epsilon attr-dict `:` type($input) `,` type($gain) `->` type($result)";
}

def Graph_SoftmaxOp : Graph_Op<"softmax", [Pure, SameOperandsAndResultType]> {
  let summary = "softmax over the last dimension; a row whose every element is -inf gives zeros";
  let arguments = (ins Graph_Tensor:$input);
  let results = (outs Graph_Tensor:$result);
  let assemblyFormat = "$input attr-dict `:` type($input)";
}

def Graph_RotaryOp : Graph_Op<"rotary", [Pure]> {
  let summary = "rotates pairs of each head of row t by (position + t) * base^(-2i/rotary_dim) / factors[i]";
  let arguments = (ins Graph_Tensor:$input, Graph_Scalar:$position, Optional<Graph_Tensor>:$factors,
    F32Attr:$base, I64Attr:$rotary_dim, DefaultValuedAttr<F32Attr, "1.0f">:$position_scale,
    EnumAttr<GraphDialect, Graph_RotaryPairsEnum, "pairs">:$pairs);
  let results = (outs Graph_Tensor:$result);
  let assemblyFormat = [{
    $input `,` $position (`factors` $factors^ `:` type($factors))? `pairs` $pairs `base` $base `dim` $rotary_dim attr-dict
    `:` type($input) `->` type($result)
  }];
}

def Graph_ReshapeOp : Graph_Op<"reshape", [Pure]> {
  let summary = "the same elements in the same order under another shape";
  let arguments = (ins Graph_Tensor:$input);
  let results = (outs Graph_Tensor:$result);
  let assemblyFormat = "$input attr-dict `:` type($input) `->` type($result)";
}

def Graph_TransposeOp : Graph_Op<"transpose", [Pure]> {
  let summary = "dimension i of the result is dimension permutation[i] of the input";
  let arguments = (ins Graph_Tensor:$input, DenseI64ArrayAttr:$permutation);
  let results = (outs Graph_Tensor:$result);
  let assemblyFormat = "$input $permutation attr-dict `:` type($input) `->` type($result)";
}

def Graph_SliceOp : Graph_Op<"slice", [Pure]> {
  let summary = "size elements of dimension dim from offset on";
  let arguments = (ins Graph_Tensor:$input, I64Attr:$dim, I64Attr:$offset, I64Attr:$size);
  let results = (outs Graph_Tensor:$result);
  let assemblyFormat = "$input `dim` $dim `offset` $offset `size` $size attr-dict `:` type($input) `->` type($result)";
}

def Graph_SelectRowsOp : Graph_Op<"select_rows", [Pure]> {
  let summary = "rows first, first + 1, … of the input, as many as the step has";
  let arguments = (ins Graph_Tensor:$input, Graph_Scalar:$first);
  let results = (outs Graph_Tensor:$result);
  let assemblyFormat = "$input `,` $first attr-dict `:` type($input) `->` type($result)";
}

def Graph_CausalMaskOp : Graph_Op<"causal_mask", [Pure, AllTypesMatch<["input", "result"]>]> {
  let summary = "y[.., t, j] = x[.., t, j] where j <= position + t, else -inf";
  let arguments = (ins Graph_Tensor:$input, Graph_Scalar:$position);
  let results = (outs Graph_Tensor:$result);
  let assemblyFormat = "$input `,` $position attr-dict `:` type($input)";
}

def Graph_KvAppendOp : Graph_Op<"kv_append", [DeclareOpInterfaceMethods<SymbolUserOpInterface>,
    MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "writes row t of the input at position + t of the cache; gives positions 0 … position + rows - 1";
  let description = [{
    The input is [rows, KV heads, head dimension], the cache [KV heads, context length, head dimension], the result
    [keys, KV heads, head dimension] where keys = position + rows.
  }];
  let arguments = (ins FlatSymbolRefAttr:$state, Graph_Tensor:$input, Graph_Scalar:$position);
  let results = (outs Graph_Tensor:$result);
  let assemblyFormat = "$state `,` $input `,` $position attr-dict `:` type($input) `->` type($result)";
}

//===----------------------------------------------------------------------===//
// After fusion
//===----------------------------------------------------------------------===//

def Graph_QuantizedLinearOp : Graph_Op<"quantized_linear", [Pure]> {
  let summary = "y[t, n] = sum over k of x[t, k] * decode(weight)[n, k]";
  let arguments = (ins Graph_Tensor:$input, Graph_EncodedTensor:$weight);
  let results = (outs Graph_Tensor:$result);
  let assemblyFormat = "$input `,` $weight attr-dict `:` type($input) `,` type($weight) `->` type($result)";
}

def Graph_QuantizedEmbeddingOp : Graph_Op<"quantized_embedding", [Pure]> {
  let summary = "y[t, :] = decode(table)[tokens[t], :]";
  let arguments = (ins Graph_IndexTensor:$tokens, Graph_EncodedTensor:$table);
  let results = (outs Graph_Tensor:$result);
  let assemblyFormat = "$tokens `,` $table attr-dict `:` type($tokens) `,` type($table) `->` type($result)";
}

def Graph_SdpaOp : Graph_Op<"sdpa", [Pure]> {
  let summary = "softmax(scale * query key^T, keys after position + t hidden) value; query head h reads KV head h / group";
  let description = [{
    query [rows, heads, head dimension], key and value [keys, KV heads, head dimension], result [rows, heads, head dimension].
    `position` is there exactly when the op is causal; without it every key is visible.
  }];
  let arguments = (ins Graph_Tensor:$query, Graph_Tensor:$key, Graph_Tensor:$value,
    Optional<Graph_Scalar>:$position, F32Attr:$scale, UnitAttr:$causal);
  let results = (outs Graph_Tensor:$result);
  let assemblyFormat = [{
    $query `,` $key `,` $value (`,` $position^)? `scale` $scale (`causal` $causal^)? attr-dict
    `:` type($query) `,` type($key) `,` type($value) `->` type($result)
  }];
}

def Graph_RegionOp : Graph_Op<"region", [IsolatedFromAbove, SingleBlock, AutomaticAllocationScope]> {
  let summary = "ops that run as one dispatch: a root and its element-wise neighbours";
  let description = [{
    Block arguments stand for the operands, in order. `lowering_config` is set by Strategy.
  }];
  let arguments = (ins Variadic<AnyRankedTensor>:$inputs, OptionalAttr<Graph_LoweringConfigAttr>:$lowering_config);
  let results = (outs Variadic<AnyRankedTensor>:$results);
  let regions = (region SizedRegion<1>:$body);
  let hasCustomAssemblyFormat = 1;
}

def Graph_YieldOp : Graph_Op<"yield", [Pure, Terminator, ReturnLike, HasParent<"RegionOp">]> {
  let summary = "the results of a region";
  let arguments = (ins Variadic<AnyRankedTensor>:$values);
  let assemblyFormat = "attr-dict ($values^ `:` type($values))?";
}

#endif // LLMC_DIALECTS_GRAPH_GRAPHOPS_TD
