// SPDX-License-Identifier: Apache-2.0
//
// Attention as ops of com.microsoft. They become the primitives that an encoder
// of any format has, so that the fusion passes see no difference.

#include "compiler/Import/ONNX/NodeImporter.h"
#include "compiler/Import/ONNX/RotaryTables.h"

#include <cmath>

namespace llmc::onnx {

namespace {

/// Rows, and the keys that they see.
struct Attention {
  Activation query, key, value; // [batch, sequence, heads * size]
  int64_t heads = 0, kvHeads = 0;
  double scale = 0; // 0: by the root of the head size
  double softCap = 0;
  bool isCausal = false;
  int64_t window = 0;
  std::optional<RelativeBias> bias;

  int64_t size() const { return GraphEmitter::shapeOf(query.value)[1] / heads; }
};

/// The last dimension; 0 when it isn't known.
int64_t widthOf(const Activation &input) {
  return input.dims.empty() ? 0 : input.dims.back().number().value_or(0);
}

/// Whether the operand is stored [rows, size], its last dimension.
bool isRowsOf(const Activation &input, int64_t size) {
  return GraphEmitter::shapeOf(input.value) == ArrayRef<int64_t>({kRows, size});
}

llvm::Error checkSizes(NodeImporter &n, const Attention &attention) {
  int64_t width = widthOf(attention.query);
  bool fits = attention.heads > 0 && attention.kvHeads > 0 &&
              attention.heads % attention.kvHeads == 0 && width > 0 &&
              width % attention.heads == 0;
  int64_t keyWidth = fits ? width / attention.heads * attention.kvHeads : 0;
  if (!fits || !isRowsOf(attention.query, width) ||
      !isRowsOf(attention.key, keyWidth) ||
      !isRowsOf(attention.value, keyWidth))
    return n.fail("of " + describe(Operand(attention.query)) + ", " +
                  describe(Operand(attention.key)) + " and " +
                  describe(Operand(attention.value)) + " with " +
                  Twine(attention.heads) + " heads and " +
                  Twine(attention.kvHeads) +
                  " of keys is not supported, allowed are [batch, sequence, "
                  "heads * size]");
  bool isFinite =
      std::isfinite(attention.scale) && std::isfinite(attention.softCap);
  if (!isFinite || attention.softCap < 0)
    return n.fail("has scale " + describe(attention.scale) + " and soft cap " +
                  describe(attention.softCap) +
                  ", allowed are finite numbers, caps from 0 on");
  return llvm::Error::success();
}

/// [rows, heads * size] → [heads, rows, size], of grouped heads [KV heads,
/// group, rows, size].
Value perHead(GraphEmitter &emit, Value input, int64_t kvHeads, int64_t group,
              int64_t size) {
  if (group == 1)
    return emit.transpose(emit.reshape(input, {kRows, kvHeads, size}),
                          {1, 0, 2});
  return emit.transpose(emit.reshape(input, {kRows, kvHeads, group, size}),
                        {1, 2, 0, 3});
}

Value softCapped(GraphEmitter &emit, Value scores, double cap) {
  if (cap == 0)
    return scores;
  Value limit = emit.constant(cap);
  Value bent =
      emit.unary<graph::TanhOp>(emit.binary<graph::DivOp>(scores, limit));
  return emit.binary<graph::MulOp>(bent, limit);
}

/// Emits the primitives and sets output 0.
llvm::Error attend(NodeImporter &n, const Attention &attention) {
  if (llvm::Error error = checkSizes(n, attention))
    return error;
  GraphEmitter &emit = n.emit;
  int64_t kvHeads = attention.kvHeads, group = attention.heads / kvHeads;
  int64_t size = attention.size();
  Value query = perHead(emit, attention.query.value, kvHeads, group, size);
  Value key = perHead(emit, attention.key.value, kvHeads, 1, size);
  Value value = perHead(emit, attention.value.value, kvHeads, 1, size);
  if (group != 1) {
    key = emit.reshape(key, {kvHeads, 1, kRows, size});
    value = emit.reshape(value, {kvHeads, 1, kRows, size});
  }
  double scale = attention.scale != 0 ? attention.scale
                                      : 1 / std::sqrt(static_cast<float>(size));
  Value scores = emit.binary<graph::MulOp>(
      emit.matmul(query, key, /*transposeRhs=*/true), emit.constant(scale));
  scores = softCapped(emit, scores, attention.softCap);
  if (attention.bias) {
    Dim sequence = Dim::of(Symbol::Sequence);
    Activation given{
        scores, {Dim::of(attention.heads), sequence, sequence}, false, {}};
    llvm::Expected<Activation> sum = addRelativeBias(n, given, *attention.bias);
    if (!sum)
      return sum.takeError();
    scores = sum->value;
  }
  scores = emit.rangeMask(scores, n.graph.ranges);
  if (attention.isCausal)
    scores = emit.causalMask(scores, n.graph.position, attention.window);
  Value mixed = emit.matmul(emit.unary<graph::SoftmaxOp>(scores), value,
                            /*transposeRhs=*/false);
  mixed = group == 1 ? emit.transpose(mixed, {1, 0, 2})
                     : emit.transpose(mixed, {2, 0, 1, 3});
  return n.setActivation(emit.reshape(mixed, {kRows, attention.heads * size}),
                         attention.query.dims);
}

//===----------------------------------------------------------------------===//
// Operands
//===----------------------------------------------------------------------===//

/// What says which keys are tokens must hide padding and nothing else: it is
/// left out, since padding isn't there.
llvm::Error checkMask(NodeImporter &n, size_t index, int64_t lengthOffset) {
  if (!n.has(index))
    return llvm::Error::success();
  const auto *mask = n.as<Uniform>(index);
  const auto *length = n.as<Length>(index);
  if ((mask && mask->visible == 1 && mask->hidden == 0) ||
      (length && length->offset == lengthOffset))
    return llvm::Error::success();
  return n.fail("input " + Twine(index) + " is " + describe(n.operand(index)) +
                ", allowed is the attention mask or what counts its tokens");
}

/// An added bias: a mask of padding, or one by distance.
llvm::Error readBias(NodeImporter &n, size_t index, Attention &attention) {
  constexpr double kHiddenScore = -1000;
  if (!n.has(index))
    return llvm::Error::success();
  if (const auto *bias = n.as<RelativeBias>(index)) {
    attention.bias = *bias;
    return llvm::Error::success();
  }
  const auto *mask = n.as<Uniform>(index);
  if (mask && mask->visible == 0 && mask->hidden <= kHiddenScore)
    return llvm::Error::success();
  return n.fail("input " + Twine(index) + " is " + describe(n.operand(index)) +
                ", allowed are masks of padding and biases by distance");
}

llvm::Error refuseInputs(NodeImporter &n, ArrayRef<size_t> indices) {
  for (size_t index : indices)
    if (n.has(index))
      return n.fail("input " + Twine(index) +
                    " (a past, or a feature of decoders) is not supported; "
                    "export the model without a cache");
  return llvm::Error::success();
}

/// Columns of an activation [.., size].
Activation columns(NodeImporter &n, const Activation &input, int64_t offset,
                   int64_t size) {
  Activation result = input;
  auto last =
      static_cast<int64_t>(GraphEmitter::shapeOf(input.value).size()) - 1;
  result.value = n.emit.slice(input.value, last, offset, size);
  result.dims.back() = Dim::of(size);
  return result;
}

/// Three equal parts of [batch, sequence, 3 * size].
llvm::Error splitPacked(NodeImporter &n, const Activation &packed,
                        Attention &attention) {
  int64_t width = widthOf(packed);
  if (width == 0 || width % 3 != 0 || !isRowsOf(packed, width))
    return n.fail("packs queries, keys and values in " +
                  describe(Operand(packed)) +
                  ", allowed is [batch, sequence, 3 * size]");
  attention.query = columns(n, packed, 0, width / 3);
  attention.key = columns(n, packed, width / 3, width / 3);
  attention.value = columns(n, packed, 2 * (width / 3), width / 3);
  return llvm::Error::success();
}

//===----------------------------------------------------------------------===//
// Attention and MultiHeadAttention
//===----------------------------------------------------------------------===//

llvm::Error importAttention(NodeImporter &n) {
  if (llvm::Error error = n.requireInputs(2))
    return error;
  if (llvm::Error error = refuseInputs(n, {4, 6}))
    return error;
  const auto *weight = n.as<Constant>(1);
  if (!weight || n.node.find("qkv_hidden_sizes") || n.integer("do_rotary", 0))
    return n.fail("needs a constant matrix of equal parts, without rotation");
  llvm::Expected<Activation> input = n.activation(0);
  if (!input)
    return input.takeError();
  llvm::Expected<Activation> packed = multiply(n, *input, *weight);
  if (packed && n.has(2))
    packed = combine(n, "Add", *packed, n.operand(2));
  if (!packed)
    return packed.takeError();
  Attention attention;
  if (llvm::Error error = splitPacked(n, *packed, attention))
    return error;
  attention.heads = attention.kvHeads = n.integer("num_heads", 0);
  attention.scale = n.real("scale", 0);
  attention.isCausal = n.integer("unidirectional", 0) != 0;
  if (llvm::Error error = checkMask(n, 3, /*lengthOffset=*/0))
    return error;
  if (llvm::Error error = readBias(n, 5, attention))
    return error;
  return attend(n, attention);
}

/// Adds a part of the bias of queries, keys and values.
llvm::Error addPartOfBias(NodeImporter &n, size_t index, int64_t offset,
                          Activation &input) {
  if (!n.has(index))
    return llvm::Error::success();
  const auto *bias = n.as<Constant>(index);
  int64_t size = widthOf(input);
  if (!bias || bias->shape.size() != 1 || offset + size > bias->shape[0])
    return n.fail("the bias is " + describe(n.operand(index)) +
                  ", allowed is a constant of queries, keys and values");
  Constant part = *bias;
  part.firstElement += offset;
  part.shape = {size};
  llvm::Expected<Activation> sum = combine(n, "Add", input, part);
  if (!sum)
    return sum.takeError();
  input = *sum;
  return llvm::Error::success();
}

llvm::Error importMultiHeadAttention(NodeImporter &n) {
  if (llvm::Error error = n.requireInputs(3))
    return error;
  if (llvm::Error error = refuseInputs(n, {6, 7, 8, 9}))
    return error;
  Attention attention;
  Activation *parts[] = {&attention.query, &attention.key, &attention.value};
  int64_t offset = 0;
  for (auto [index, part] : llvm::enumerate(parts)) {
    llvm::Expected<Activation> input = n.activation(index);
    if (!input)
      return input.takeError();
    *part = *input;
    if (llvm::Error error = addPartOfBias(n, 3, offset, *part))
      return error;
    offset += widthOf(*part);
  }
  attention.heads = attention.kvHeads = n.integer("num_heads", 0);
  attention.scale = n.real("scale", 0);
  attention.isCausal = n.integer("unidirectional", 0) != 0;
  if (llvm::Error error = checkMask(n, 4, /*lengthOffset=*/0))
    return error;
  if (llvm::Error error = readBias(n, 5, attention))
    return error;
  return attend(n, attention);
}

//===----------------------------------------------------------------------===//
// RotaryEmbedding and GroupQueryAttention
//===----------------------------------------------------------------------===//

/// How heads are turned.
struct Rotation {
  double base;
  int64_t dim; // elements of a head that turn
  graph::RotaryPairs pairs;
};

/// The tensor of the file that is all of the operand; null for others.
const Tensor *wholeTensor(NodeImporter &n, size_t index) {
  const auto *constant = n.as<Constant>(index);
  bool isWhole = constant && !constant->isTransposed &&
                 !constant->quantization && constant->firstElement == 0 &&
                 constant->shape == constant->tensor->shape;
  return isWhole ? constant->tensor : nullptr;
}

/// From the tables of cosines and sines at two inputs.
llvm::Expected<Rotation> readRotation(NodeImporter &n, size_t cosines,
                                      size_t sines, StringRef interleaved) {
  const Tensor *cosine = wholeTensor(n, cosines), *sine = wholeTensor(n, sines);
  std::optional<double> base =
      cosine && sine ? rotaryBase(*cosine, *sine) : std::nullopt;
  if (!base)
    return n.fail("turns by tables which are not the cosines and sines of "
                  "position * base^(-i / half); others are not supported");
  n.graph.limitSequence(cosine->shape[0]);
  return Rotation{*base, 2 * cosine->shape[1],
                  n.integer(interleaved, 0) ? graph::RotaryPairs::Adjacent
                                            : graph::RotaryPairs::Half};
}

/// Positions must be those in the text: ids, or an offset of 0.
llvm::Error checkPositions(NodeImporter &n, size_t index) {
  const auto *ids = n.as<Index>(index);
  std::optional<double> offset =
      n.has(index) && !ids ? toScalar(n.operand(index)) : std::nullopt;
  bool isPlace = !n.has(index) ||
                 (ids && ids->isPosition && ids->offset == 0) ||
                 (offset && *offset == 0);
  if (isPlace)
    return llvm::Error::success();
  return n.fail("input " + Twine(index) + " is " + describe(n.operand(index)) +
                ", allowed are positions from 0 on");
}

/// [rows, heads * size], its heads turned.
llvm::Error rotate(NodeImporter &n, const Rotation &rotation, int64_t heads,
                   Activation &input) {
  int64_t width = widthOf(input);
  if (heads < 1 || width % heads != 0 || !isRowsOf(input, width) ||
      rotation.dim > width / heads)
    return n.fail("turns " + Twine(rotation.dim) + " elements of " +
                  Twine(heads) + " heads of " + describe(Operand(input)));
  Value perHead = n.emit.reshape(input.value, {kRows, heads, width / heads});
  perHead = n.emit.rotary(perHead, n.graph.positions, rotation.base,
                          rotation.dim, rotation.pairs);
  input.value = n.emit.reshape(perHead, {kRows, width});
  return llvm::Error::success();
}

/// Of [batch, sequence, heads * size] or [batch, heads, sequence, size].
llvm::Error importRotaryEmbedding(NodeImporter &n) {
  if (llvm::Error error = n.requireInputs(4))
    return error;
  llvm::Expected<Activation> input = n.activation(0);
  if (!input)
    return input.takeError();
  if (llvm::Error error = checkPositions(n, 1))
    return error;
  llvm::Expected<Rotation> rotation = readRotation(n, 2, 3, "interleaved");
  if (!rotation)
    return rotation.takeError();
  if (n.real("scale", 1) != 1)
    return n.fail("with a scale is not supported");
  SmallVector<int64_t> shape(GraphEmitter::shapeOf(input->value));
  bool isPerHead = shape.size() == 3 && shape[1] == kRows;
  if (isPerHead && rotation->dim <= shape[2]) {
    Value turned = n.emit.rotary(n.emit.transpose(input->value, {1, 0, 2}),
                                 n.graph.positions, rotation->base,
                                 rotation->dim, rotation->pairs);
    return n.setActivation(n.emit.transpose(turned, {1, 0, 2}), input->dims);
  }
  int64_t heads = n.integer("num_heads", 0);
  if (heads == 0)
    heads = widthOf(*input) / rotation->dim;
  if (llvm::Error error = rotate(n, *rotation, heads, *input))
    return error;
  return n.set(*input);
}

/// Queries, keys and values in one activation, or in three.
llvm::Error readGroups(NodeImporter &n, Attention &attention) {
  llvm::Expected<Activation> query = n.activation(0);
  if (!query)
    return query.takeError();
  if (!n.has(1) && !n.has(2)) {
    int64_t width = widthOf(*query);
    int64_t all = attention.heads + 2 * attention.kvHeads;
    if (width == 0 || width % all != 0 || !isRowsOf(*query, width))
      return n.fail("packs queries, keys and values in " +
                    describe(Operand(*query)));
    int64_t size = width / all, keys = attention.kvHeads * size;
    int64_t queries = attention.heads * size;
    attention.query = columns(n, *query, 0, queries);
    attention.key = columns(n, *query, queries, keys);
    attention.value = columns(n, *query, queries + keys, keys);
    return llvm::Error::success();
  }
  attention.query = *query;
  for (auto [index, part] : {std::pair(size_t{1}, &attention.key),
                             std::pair(size_t{2}, &attention.value)}) {
    if (!n.has(index))
      return n.fail("has no input " + Twine(index));
    llvm::Expected<Activation> input = n.activation(index);
    if (!input)
      return input.takeError();
    *part = *input;
  }
  return llvm::Error::success();
}

/// Always causal. Without a past, input 5 is the last row of each text and
/// input 6 the length of all.
llvm::Error importGroupQueryAttention(NodeImporter &n) {
  if (!n.has(0))
    return n.requireInputs(1);
  if (llvm::Error error = refuseInputs(n, {3, 4, 10, 11}))
    return error;
  Attention attention;
  attention.heads = n.integer("num_heads", 0);
  attention.kvHeads = n.integer("kv_num_heads", 0);
  int64_t window = n.integer("local_window_size", -1);
  constexpr int64_t kMost = int64_t{1} << 20;
  bool fits = attention.heads > 0 && attention.heads <= kMost &&
              attention.kvHeads > 0 && attention.kvHeads <= kMost &&
              (window == -1 || window > 0);
  if (!fits)
    return n.fail("has " + Twine(attention.heads) + " heads, " +
                  Twine(attention.kvHeads) + " of keys, and a window of " +
                  Twine(window) +
                  "; allowed are positive numbers, and -1 for no window");
  if (llvm::Error error = readGroups(n, attention))
    return error;
  attention.scale = n.real("scale", 0);
  attention.softCap = n.real("softcap", 0);
  attention.isCausal = true;
  attention.window = std::max<int64_t>(0, window);
  if (n.integer("smooth_softmax", 0) == 1)
    return n.fail("with smooth_softmax is not supported");
  if (llvm::Error error = checkMask(n, 5, /*lengthOffset=*/-1))
    return error;
  if (llvm::Error error = checkPositions(n, 9))
    return error;
  if (n.integer("do_rotary", 0) == 0)
    return attend(n, attention);
  llvm::Expected<Rotation> rotation =
      readRotation(n, 7, 8, "rotary_interleaved");
  if (!rotation)
    return rotation.takeError();
  if (llvm::Error error =
          rotate(n, *rotation, attention.heads, attention.query))
    return error;
  if (llvm::Error error =
          rotate(n, *rotation, attention.kvHeads, attention.key))
    return error;
  return attend(n, attention);
}

constexpr OpEntry kOps[] = {
    {"com.microsoft", "Attention", importAttention},
    {"com.microsoft", "MultiHeadAttention", importMultiHeadAttention},
    {"com.microsoft", "RotaryEmbedding", importRotaryEmbedding},
    {"com.microsoft", "GroupQueryAttention", importGroupQueryAttention},
};

} // namespace

ArrayRef<OpEntry> attentionOps() { return kOps; }

} // namespace llmc::onnx
