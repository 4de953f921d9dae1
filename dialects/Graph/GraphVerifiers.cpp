// SPDX-License-Identifier: Apache-2.0
//
// The constraints of the graph dialect's ops. The labels (matmul_c2) are those
// of the ops' documentation and begin each message.

#include "dialects/Graph/Encoding.h"
#include "dialects/Graph/VerifierSupport.h"

#include "mlir/IR/SymbolTable.h"

namespace llmc::graph {

namespace {

/// Counted from the last, each size of `shape` is 1 or that of `other`.
bool broadcastsTo(ArrayRef<int64_t> shape, ArrayRef<int64_t> other) {
  if (shape.size() > other.size())
    return false;
  for (auto [size, otherSize] :
       llvm::zip(llvm::reverse(shape), llvm::reverse(other)))
    if (size != 1 && size != otherSize)
      return false;
  return true;
}

/// The shape that two leading shapes have together; none when sizes differ and
/// neither is 1.
std::optional<SmallVector<int64_t>> broadcastShape(ArrayRef<int64_t> lhs,
                                                   ArrayRef<int64_t> rhs) {
  ArrayRef<int64_t> longer = lhs.size() >= rhs.size() ? lhs : rhs;
  ArrayRef<int64_t> shorter = lhs.size() >= rhs.size() ? rhs : lhs;
  SmallVector<int64_t> result(longer);
  for (size_t i = 1; i <= shorter.size(); ++i) {
    int64_t &size = result[result.size() - i];
    int64_t other = shorter[shorter.size() - i];
    if (size == 1)
      size = other;
    else if (other != 1 && other != size)
      return std::nullopt;
  }
  return result;
}

/// What embeddings have in common; `label` begins the message.
LogicalResult verifyEmbedding(Operation *op, RankedTensorType tokens,
                              RankedTensorType table, RankedTensorType result,
                              StringRef label) {
  if (tokens.getRank() == 1 && table.getRank() == 2 && result.getRank() == 2 &&
      result.getDimSize(0) == tokens.getDimSize(0) &&
      result.getDimSize(1) == table.getDimSize(1))
    return success();
  return op->emitOpError()
         << label << ": tokens [rows] and table [vocabulary, size] must give "
         << "[rows, size], got " << tokens << ", " << table << " and "
         << result;
}

LogicalResult verifyBinary(Operation *op) {
  ArrayRef<int64_t> lhs = shapeOf(op->getOperand(0));
  if (!broadcastsTo(shapeOf(op->getOperand(1)), lhs))
    return op->emitOpError()
           << "binary_c1: rhs " << op->getOperand(1).getType()
           << " doesn't broadcast to lhs " << op->getOperand(0).getType();
  if (shapeOf(op->getResult(0)) != lhs)
    return op->emitOpError()
           << "binary_c2: the result " << op->getResult(0).getType()
           << " must have the shape of lhs " << op->getOperand(0).getType();
  return success();
}

} // namespace

//===----------------------------------------------------------------------===//
// Symbols
//===----------------------------------------------------------------------===//

/// Whether `rows` rows of `columns` numbers, or `rows` numbers of a vector
/// (`columns` is 0), are whole blocks of at most int64 bytes.
static bool isWholeBlocks(Encoding encoding, int64_t rows, int64_t columns) {
  if (columns == 0)
    return !encodingFacts(encoding).isRow() &&
           encodedSizeInBytes(encoding, rows).has_value();
  return encodedSizeInBytes(encoding, rows, columns).has_value();
}

LogicalResult WeightOp::verify() {
  auto type = cast<RankedTensorType>(getType());
  ArrayRef<int64_t> shape = type.getShape();
  bool isMatrix = shape.size() == 2;
  if ((shape.size() != 1 && !isMatrix) ||
      llvm::any_of(shape, [](int64_t size) { return size < 1; }))
    return emitOpError("weight_c1: the type must have 1 or 2 static dimensions "
                       "of at least 1, got ")
           << type;
  Encoding encoding = cast<EncodedType>(type.getElementType()).getEncoding();
  int64_t rowSize = isMatrix ? shape[1] : 1;
  if (isMatrix && !isWholeBlocks(encoding, 1, rowSize))
    return emitOpError("weight_c2: a row of ")
           << rowSize << " numbers is no whole number of "
           << encodingFacts(encoding).name << " blocks of "
           << encodingFacts(encoding).blockElements;
  int64_t rowsLeft = shape[0];
  for (auto source : getSources().getAsRange<SourceAttr>()) {
    int64_t rows = source.getRows();
    if (source.getFile() < 0 || source.getOffset() < 0 || rows < 1 ||
        rows > INT64_MAX / rowSize)
      return emitOpError("weight_c4: file, offset and rows are out of range: ")
             << source;
    if (rows > rowsLeft)
      return emitOpError("weight_c3: the sources have more than the ")
             << shape[0] << " rows of the type";
    if (!isWholeBlocks(encoding, rows, isMatrix ? rowSize : 0))
      return emitOpError(isMatrix ? "weight_c4" : "weight_c2")
             << ": the source's " << rows * rowSize
             << " numbers are no whole number of "
             << encodingFacts(encoding).name << " blocks, or too many bytes";
    rowsLeft -= rows;
  }
  if (rowsLeft != 0)
    return emitOpError("weight_c3: the sources have ")
           << shape[0] - rowsLeft << " rows, the type " << shape[0];
  return success();
}

LogicalResult StateOp::verify() {
  auto type = cast<RankedTensorType>(getType());
  ArrayRef<int64_t> shape = type.getShape();
  if (llvm::any_of(shape, [](int64_t size) { return size < 1; }))
    return emitOpError("state_c1: dimensions must be static and at least 1, "
                       "got ")
           << type;
  if (type.getElementType().isInteger(8) &&
      (shape.size() != 3 || shape.back() % 4 != 0))
    return emitOpError("state_c2: a cache of i8 must have rank 3 and a "
                       "multiple of 4 elements a head, got ")
           << type;
  return success();
}

LogicalResult
LoadWeightOp::verifySymbolUses(SymbolTableCollection &symbolTable) {
  auto weight =
      symbolTable.lookupNearestSymbolFrom<WeightOp>(*this, getWeightAttr());
  if (!weight)
    return emitOpError("load_weight_c1: names no weight: ") << getWeightAttr();
  if (weight.getType() != getType())
    return emitOpError("load_weight_c2: has type ")
           << getType() << " but the weight has type " << weight.getType();
  return success();
}

//===----------------------------------------------------------------------===//
// Primitives
//===----------------------------------------------------------------------===//

LogicalResult ConstantOp::verify() {
  if (typeOf(getResult()).getRank() != 0)
    return emitOpError("constant_c1: the result must have rank 0, got ")
           << getType();
  return success();
}

LogicalResult DequantizeOp::verify() {
  if (shapeOf(getInput()) != shapeOf(getResult()))
    return emitOpError("dequantize_c1: input and result must have the same "
                       "shape, got ")
           << getInput().getType() << " and " << getType();
  return success();
}

LogicalResult EmbeddingOp::verify() {
  return verifyEmbedding(*this, typeOf(getTokens()), typeOf(getTable()),
                         typeOf(getResult()), "embedding_c1");
}

LogicalResult MatmulOp::verify() {
  ArrayRef<int64_t> lhs = shapeOf(getLhs()), rhs = shapeOf(getRhs());
  if (lhs.size() < 2 || rhs.size() < 2)
    return emitOpError("matmul_c1: lhs and rhs must have at least 2 "
                       "dimensions, got ")
           << getLhs().getType() << " and " << getRhs().getType();
  ArrayRef<int64_t> lhsMatrix = lhs.take_back(2), rhsMatrix = rhs.take_back(2);
  int64_t k = getTransposeRhs() ? rhsMatrix[1] : rhsMatrix[0];
  int64_t n = getTransposeRhs() ? rhsMatrix[0] : rhsMatrix[1];
  if (lhsMatrix[1] != k)
    return emitOpError("matmul_c2: lhs and rhs must have the same k, got ")
           << getLhs().getType() << " and " << getRhs().getType();
  auto shape = broadcastShape(lhs.drop_back(2), rhs.drop_back(2));
  if (!shape)
    return emitOpError("matmul_c3: leading dimensions must be equal or 1, got ")
           << getLhs().getType() << " and " << getRhs().getType();
  shape->append({lhsMatrix[0], n});
  if (shapeOf(getResult()) != ArrayRef<int64_t>(*shape))
    return emitOpError("matmul_c4: the result must be ")
           << RankedTensorType::get(*shape, getType().getElementType())
           << ", got " << getType();
  return success();
}

LogicalResult AddOp::verify() { return verifyBinary(*this); }
LogicalResult SubOp::verify() { return verifyBinary(*this); }
LogicalResult MulOp::verify() { return verifyBinary(*this); }
LogicalResult DivOp::verify() { return verifyBinary(*this); }

LogicalResult ReshapeOp::verify() {
  ArrayRef<int64_t> input = shapeOf(getInput()), result = shapeOf(getResult());
  if (countDynamic(input) != countDynamic(result) || countDynamic(input) > 1)
    return emitOpError("reshape_c1: input and result must have one dynamic "
                       "dimension each, or none, got ")
           << getInput().getType() << " and " << getType();
  if (staticProduct(input) != staticProduct(result))
    return emitOpError("reshape_c2: the static dimensions must have the same "
                       "product, got ")
           << getInput().getType() << " and " << getType();
  if (typeOf(getInput()).getElementType() != getType().getElementType())
    return emitOpError("reshape_c3: the element types differ: ")
           << getInput().getType() << " and " << getType();
  return success();
}

LogicalResult TransposeOp::verify() {
  ArrayRef<int64_t> input = shapeOf(getInput()), order = getPermutation();
  SmallVector<int64_t> sorted(order);
  llvm::sort(sorted);
  if (!llvm::equal(sorted, llvm::seq<int64_t>(0, input.size())))
    return emitOpError("transpose_c1: the permutation must hold each of the ")
           << input.size() << " dimensions once";
  SmallVector<int64_t> shape;
  for (int64_t dim : order)
    shape.push_back(input[dim]);
  auto type = RankedTensorType::get(shape, typeOf(getInput()).getElementType());
  if (type != getType())
    return emitOpError("transpose_c2: the result must be ")
           << type << ", got " << getType();
  return success();
}

LogicalResult SliceOp::verify() {
  ArrayRef<int64_t> input = shapeOf(getInput());
  auto dim = static_cast<int64_t>(getDim());
  auto offset = static_cast<int64_t>(getOffset());
  auto size = static_cast<int64_t>(getSize());
  if (dim < 0 || dim >= static_cast<int64_t>(input.size()) ||
      ShapedType::isDynamic(input[dim]))
    return emitOpError("slice_c1: dim ")
           << dim << " is no static dimension of " << getInput().getType();
  if (offset < 0 || size < 1 || size > input[dim] || offset > input[dim] - size)
    return emitOpError("slice_c2: offset ")
           << offset << " and size " << size << " leave dimension " << dim
           << " of size " << input[dim];
  SmallVector<int64_t> shape(input);
  shape[dim] = size;
  auto type = RankedTensorType::get(shape, typeOf(getInput()).getElementType());
  if (type != getType())
    return emitOpError("slice_c3: the result must be ")
           << type << ", got " << getType();
  return success();
}

LogicalResult ConcatOp::verify() {
  auto dim = static_cast<int64_t>(getDim());
  auto isStatic = [&](Value input) {
    ArrayRef<int64_t> shape = shapeOf(input);
    return dim >= 0 && dim < static_cast<int64_t>(shape.size()) &&
           !ShapedType::isDynamic(shape[dim]);
  };
  if (getInputs().empty() || !llvm::all_of(getInputs(), isStatic))
    return emitOpError("concat_c1: there must be inputs with a static "
                       "dimension ")
           << dim << ", got " << getInputs().getTypes();
  SmallVector<int64_t> shape(shapeOf(getInputs().front()));
  shape[dim] = 0;
  bool fits = true;
  for (Value input : getInputs()) {
    shape[dim] += shapeOf(input)[dim];
    SmallVector<int64_t> others(shapeOf(input));
    fits &= others.size() == shape.size();
    if (fits)
      others[dim] = shapeOf(getInputs().front())[dim];
    fits = fits && typeOf(input).clone(others) == getInputs().front().getType();
  }
  auto type = typeOf(getInputs().front()).clone(shape);
  if (!fits || type != getType())
    return emitOpError("concat_c2: inputs and result may differ in dimension ")
           << dim << " only, whose sizes add up, got " << getInputs().getTypes()
           << " and " << getType();
  return success();
}

LogicalResult SelectRowsOp::verify() {
  RankedTensorType input = typeOf(getInput()), result = typeOf(getResult());
  if (input.getRank() < 1 || result.getRank() != input.getRank() ||
      input.getShape().drop_front() != result.getShape().drop_front() ||
      input.getElementType() != result.getElementType())
    return emitOpError("select_rows_c1: the result may differ from the input "
                       "in the first dimension only, got ")
           << input << " and " << result;
  return success();
}

//===----------------------------------------------------------------------===//
// After fusion
//===----------------------------------------------------------------------===//

LogicalResult QuantizeActivationsOp::verify() {
  RankedTensorType input = typeOf(getInput());
  if (input.getRank() != 2 || !input.getElementType().isF32() ||
      input.isDynamicDim(1) || input.getDimSize(1) % kQuantizedBlock != 0)
    return emitOpError("quantize_activations_c1: the input must be [rows, k] "
                       "of f32, k a multiple of 32, got ")
           << input;
  if (getGroup() != 0 && getGroup() != kQuantizedBlock)
    return emitOpError("quantize_activations_c2: group must be 0 or 32, got ")
           << getGroup();
  QuantizedTypes types = quantizedTypesOf(input, getGroup());
  if (getCodes().getType() != types.codes ||
      getScales().getType() != types.scales ||
      getSums().getType() != types.sums)
    return emitOpError("quantize_activations_c3: the results must be ")
           << types.codes << ", " << types.scales << " and " << types.sums
           << ", got " << getResultTypes();
  return success();
}

/// Codes with their scales and sums, against the input that they stand for.
static LogicalResult verifyQuantizedInput(QuantizedLinearOp op) {
  RankedTensorType codes = typeOf(op.getInput());
  bool fits = codes.getRank() == 2 && !codes.isDynamicDim(1) &&
              codes.getDimSize(1) % kQuantizedBlock == 0;
  if (fits) {
    auto input = cast<RankedTensorType>(
        codes.clone(mlir::Float32Type::get(op.getContext())));
    QuantizedTypes byRow = quantizedTypesOf(input, 0),
                   byBlock = quantizedTypesOf(input, kQuantizedBlock);
    fits = op.getSums().getType() == byRow.sums &&
           (op.getScales().getType() == byRow.scales ||
            op.getScales().getType() == byBlock.scales);
  }
  if (!fits)
    return op.emitOpError("quantized_linear_c4: scales must be [rows] or "
                          "[rows, k/32], sums [rows, k/32] for codes [rows, "
                          "k], got ")
           << op.getScales().getType() << " and " << op.getSums().getType()
           << " for " << codes;
  return success();
}

LogicalResult QuantizedLinearOp::verify() {
  ArrayRef<int64_t> input = shapeOf(getInput()), weight = shapeOf(getWeight());
  if (input.empty() || weight.size() != 2 || weight[1] != input.back())
    return emitOpError("quantized_linear_c1: input [.., k] and weight [n, k] "
                       "don't fit: ")
           << getInput().getType() << " and " << getWeight().getType();
  SmallVector<int64_t> shape(input);
  shape.back() = weight[0];
  if (shapeOf(getResult()) != ArrayRef<int64_t>(shape))
    return emitOpError("quantized_linear_c2: the result must be ")
           << RankedTensorType::get(shape, getType().getElementType())
           << ", got " << getType();
  bool isQuantized = typeOf(getInput()).getElementType().isInteger(8);
  if (getNumOperands() != (isQuantized ? 4 : 2))
    return emitOpError("quantized_linear_c3: an input of i8 has scales and "
                       "sums, any other has neither, got ")
           << getInput().getType() << " with " << getNumOperands() - 2
           << " of them";
  return isQuantized ? verifyQuantizedInput(*this) : success();
}

LogicalResult QuantizedEmbeddingOp::verify() {
  return verifyEmbedding(*this, typeOf(getTokens()), typeOf(getTable()),
                         typeOf(getResult()), "quantized_embedding_c1");
}

static LogicalResult verifyBias(SdpaOp op) {
  ArrayRef<int64_t> query = shapeOf(op.getQuery()), key = shapeOf(op.getKey());
  ArrayRef<int64_t> bias = shapeOf(op.getBias());
  bool fits = bias.size() == 3 && bias[0] == query[0] &&
              (bias[1] == 1 || bias[1] == query[1]) &&
              !ShapedType::isDynamic(bias[2]) &&
              (ShapedType::isDynamic(key[0]) || bias[2] >= key[0]);
  if (!fits)
    return op.emitOpError("sdpa_c7: the bias must be [rows, 1 or heads, keys "
                          "or more], the last static, got ")
           << op.getBias().getType();
  return success();
}

LogicalResult SdpaOp::verify() {
  ArrayRef<int64_t> query = shapeOf(getQuery()), key = shapeOf(getKey());
  if (query.size() != 3 || key.size() != 3 || shapeOf(getValue()) != key)
    return emitOpError("sdpa_c1: query, key and value must have rank 3, key "
                       "and value one shape, got ")
           << getQuery().getType() << ", " << getKey().getType() << " and "
           << getValue().getType();
  if (query[2] != key[2])
    return emitOpError("sdpa_c2: the head dimensions differ: ")
           << query[2] << " and " << key[2];
  if (key[1] < 1 || query[1] < 1 || query[1] % key[1] != 0)
    return emitOpError("sdpa_c3: the heads must be a multiple of the KV heads, "
                       "got ")
           << query[1] << " and " << key[1];
  if (shapeOf(getResult()) != query)
    return emitOpError("sdpa_c4: the result must have the query's shape, got ")
           << getQuery().getType() << " and " << getType();
  if (!getScale().isFinite())
    return emitOpError("sdpa_c5: scale must be finite, got ") << getScaleAttr();
  if (getCausal() && !getPosition())
    return emitOpError("sdpa_c6: a causal op must have a position");
  if (getBias() && failed(verifyBias(*this)))
    return failure();
  if (getRanges() && shapeOf(getRanges()) != ArrayRef<int64_t>({query[0], 2}))
    return emitOpError("sdpa_c8: the ranges must be [rows, 2], got ")
           << getRanges().getType();
  auto window = static_cast<int64_t>(getWindow());
  if (window < 0 || (window != 0 && !getCausal()))
    return emitOpError("sdpa_c9: the window must not be negative, and 0 when "
                       "the op is not causal, got ")
           << window;
  if (!getSoftCap().isFinite() || getSoftCap().isNegative())
    return emitOpError("sdpa_c10: soft_cap must be finite and not negative, "
                       "got ")
           << getSoftCapAttr();
  if (getRelative() &&
      (getPosition() || !isRelativeTable(getRelative(), query[1])))
    return emitOpError("sdpa_c11: relative must be [an odd number * heads], "
                       "without a position, got ")
           << getRelative().getType();
  return success();
}

LogicalResult RegionOp::verifyRegions() {
  if (getBody().getArgumentTypes() != getInputs().getTypes())
    return emitOpError("region_c1: block arguments must have the operands' "
                       "types, in order");
  auto yield = dyn_cast<YieldOp>(getBody().front().back());
  if (!yield || yield.getValues().getTypes() != getResultTypes())
    return emitOpError("region_c2: the body must end in graph.yield of the "
                       "results' types");
  return success();
}

} // namespace llmc::graph
