// SPDX-License-Identifier: Apache-2.0
//
// Recognises scaled dot-product attention between two matmuls. The matmuls'
// operands are views (transposes and reshapes) of [rows, heads, head
// dimension]; the views are followed by labelling each dimension with what it
// stands for, so that any spelling of them is understood. Rotary embedding,
// norms and caches before the views stay as they are.

#include "compiler/Fusion/Constants.h"
#include "compiler/Fusion/Passes.h"

#include "mlir/Dialect/Utils/IndexingUtils.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

#include <cmath>
#include <optional>

#define DEBUG_TYPE "llmc-fuse-sdpa"

namespace llmc::fusion {

#define GEN_PASS_DEF_FUSESDPAPASS
#include "compiler/Fusion/Passes.h.inc"

namespace {

//===----------------------------------------------------------------------===//
// Views of [sequence, heads, head dimension]
//===----------------------------------------------------------------------===//

// What a dimension of a matmul operand stands for: its sequence (rows or keys),
// its head dimension, or else a batch dimension, named by its index. The order
// of the labels is the order of dimensions that sdpa wants.
constexpr int kSequence = -1;
constexpr int kHeadDim = INT_MAX;

/// A part of a dimension.
struct Factor {
  int label;
  int64_t size;
};

/// The factors of one dimension, outermost first; those of size 1 are left out.
using Dimension = SmallVector<Factor, 2>;
using Dimensions = SmallVector<Dimension, 4>;

SmallVector<Factor> flatten(ArrayRef<Dimension> dimensions) {
  SmallVector<Factor> factors;
  for (const Dimension &dimension : dimensions)
    factors.append(dimension.begin(), dimension.end());
  return factors;
}

/// Whether the elements lie in the order sequence, heads, head dimension.
bool isSequenceMajor(ArrayRef<Dimension> dimensions) {
  return llvm::is_sorted(flatten(dimensions),
                         [](Factor a, Factor b) { return a.label < b.label; });
}

/// The dimensions of a reshape's other side, of type |type|. None if one of
/// them cuts a factor in two.
std::optional<Dimensions> reshapeDimensions(ArrayRef<Dimension> dimensions,
                                            RankedTensorType type) {
  SmallVector<Factor> factors = flatten(dimensions);
  ArrayRef<Factor> rest = factors;
  Dimensions result;
  for (int64_t size : type.getShape()) {
    Dimension &dimension = result.emplace_back();
    if (ShapedType::isDynamic(size)) {
      if (rest.empty() || !ShapedType::isDynamic(rest.front().size))
        return std::nullopt;
      dimension.push_back(rest.front());
      rest = rest.drop_front();
      continue;
    }
    int64_t product = 1;
    for (; product < size && !rest.empty() &&
           !ShapedType::isDynamic(rest.front().size);
         rest = rest.drop_front()) {
      product *= rest.front().size;
      dimension.push_back(rest.front());
    }
    if (product != size)
      return std::nullopt;
  }
  return rest.empty() ? std::optional(std::move(result)) : std::nullopt;
}

/// One of the three inputs of attention, as its matmul has it.
struct Operand {
  /// |isTransposed|: the last two dimensions are [head dimension, sequence]
  /// instead of [sequence, head dimension].
  Operand(Value value, bool isTransposed) : value(value) {
    RankedTensorType type = getType();
    batchRank = type.getRank() - 2;
    sequenceDim = isTransposed ? batchRank + 1 : batchRank;
    headDimDim = isTransposed ? batchRank : batchRank + 1;
  }

  RankedTensorType getType() const {
    return cast<RankedTensorType>(value.getType());
  }
  ArrayRef<int64_t> getBatch() const {
    return getType().getShape().take_front(batchRank);
  }
  int64_t getHeadDim() const { return getType().getDimSize(headDimDim); }

  /// [sequence, heads, head dimension]: what sdpa reads.
  RankedTensorType getSdpaType() const {
    int64_t numHeads = 1;
    for (int64_t size : getBatch())
      numHeads *= size;
    return getType().clone(
        {getType().getDimSize(sequenceDim), numHeads, getHeadDim()});
  }

  Dimensions getDimensions() const {
    Dimensions dimensions;
    for (auto [index, size] : llvm::enumerate(getType().getShape())) {
      int dim = static_cast<int>(index);
      int label = dim == sequenceDim  ? kSequence
                  : dim == headDimDim ? kHeadDim
                                      : dim;
      dimensions.emplace_back();
      if (size != 1)
        dimensions.back().push_back({label, size});
    }
    return dimensions;
  }

  /// The permutation that puts the sequence first and the head dimension last.
  SmallVector<int64_t> getSequenceMajorPermutation() const {
    SmallVector<int64_t> permutation = {sequenceDim};
    for (int64_t dim = 0; dim != batchRank; ++dim)
      permutation.push_back(dim);
    permutation.push_back(headDimDim);
    return permutation;
  }

  Value value;
  int64_t batchRank;
  int64_t sequenceDim;
  int64_t headDimDim;
};

//===----------------------------------------------------------------------===//
// Constant factors
//===----------------------------------------------------------------------===//

/// |value| = |input| * |factor|, element by element.
struct Scaling {
  Value input;
  double factor;
};

/// Recognises a mul by a constant, on either side, and a div by one.
std::optional<Scaling> matchScaling(Value value) {
  std::optional<Scaling> scaling;
  if (auto mul = value.getDefiningOp<graph::MulOp>()) {
    if (std::optional<double> factor = getConstant(mul.getRhs()))
      scaling = {mul.getLhs(), *factor};
    else if (std::optional<double> factor = getConstant(mul.getLhs()))
      scaling = {mul.getRhs(), *factor};
  } else if (auto div = value.getDefiningOp<graph::DivOp>()) {
    if (std::optional<double> divisor = getConstant(div.getRhs()))
      scaling = {div.getLhs(), 1.0 / *divisor};
  }
  bool isUsable = scaling && std::isfinite(scaling->factor) &&
                  scaling->factor > 0 &&
                  scaling->input.getType() == value.getType();
  return isUsable ? scaling : std::nullopt;
}

//===----------------------------------------------------------------------===//
// The chain between the matmuls
//===----------------------------------------------------------------------===//

/// What lies between the two matmuls.
struct Chain {
  graph::MatmulOp scores;
  Value position; // null without a causal mask
  int64_t window = 0;
  double scale = 1.0;
  double softCap = 0.0;
  Value bias;     // [rows, heads or 1, keys], or null
  Value relative; // the table of a relative_bias, or null
  Value ranges;   // of a range_mask, or null
};

/// Whether what is added to scores of type |type| is [rows, keys] for all
/// heads; keys must be static, as sdpa wants them.
bool isBias(Value addend, RankedTensorType type) {
  auto bias = cast<RankedTensorType>(addend.getType());
  if (bias.getRank() < 2 || ShapedType::isDynamic(bias.getShape().back()))
    return false;
  return bias.getShape().take_back(2) == type.getShape().take_back(2) &&
         llvm::all_of(bias.getShape().drop_back(2),
                      [](int64_t size) { return size == 1; });
}

/// Takes one op between matmul and softmax, the one that gives |value|, into
/// |chain|, and gives its input; null if the op does not belong there. Ops are
/// met last first: mask or bias, then cap, then scale.
Value takeChainOp(Value value, Chain &chain) {
  if (auto mask = value.getDefiningOp<graph::CausalMaskOp>()) {
    if (chain.position || chain.relative || chain.softCap != 0.0)
      return {};
    chain.position = mask.getPosition();
    chain.window = static_cast<int64_t>(mask.getWindow());
    return mask.getInput();
  }
  if (auto mask = value.getDefiningOp<graph::RangeMaskOp>()) {
    if (chain.ranges || chain.softCap != 0.0)
      return {};
    chain.ranges = mask.getRanges();
    return mask.getInput();
  }
  if (auto add = value.getDefiningOp<graph::RelativeBiasOp>()) {
    if (chain.relative || chain.position || chain.softCap != 0.0 ||
        chain.scale != 1.0)
      return {};
    chain.relative = add.getTable();
    return add.getInput();
  }
  if (auto add = value.getDefiningOp<graph::AddOp>()) {
    auto type = cast<RankedTensorType>(value.getType());
    if (chain.bias || chain.softCap != 0.0 || chain.scale != 1.0 ||
        !isBias(add.getRhs(), type))
      return {};
    chain.bias = add.getRhs();
    return add.getLhs();
  }
  if (auto tanh = value.getDefiningOp<graph::TanhOp>()) {
    // c tanh(x / c): the factor met so far is c, and part of the scale again.
    if (chain.softCap != 0.0)
      return {};
    chain.softCap = chain.scale;
    return tanh.getInput();
  }
  std::optional<Scaling> scaling = matchScaling(value);
  if (!scaling)
    return {};
  chain.scale *= scaling->factor;
  return scaling->input;
}

/// Walks up from |weighted|, the matmul of probabilities and values.
FailureOr<Chain> matchChain(graph::MatmulOp weighted,
                            PatternRewriter &rewriter) {
  auto fail = [&](const Twine &reason) -> FailureOr<Chain> {
    return rewriter.notifyMatchFailure(weighted, reason);
  };
  auto softmax = weighted.getLhs().getDefiningOp<graph::SoftmaxOp>();
  if (!softmax)
    return fail("lhs is not a softmax");
  if (!softmax->hasOneUse())
    return fail("the probabilities have another user");
  Chain chain;
  Value value = softmax.getInput();
  while (!(chain.scores = value.getDefiningOp<graph::MatmulOp>())) {
    if (!value.hasOneUse())
      return fail("the scores have another user");
    value = takeChainOp(value, chain);
    if (!value)
      return fail("between matmul and softmax is more than a positive scale, a "
                  "soft cap, biases and one mask of each kind");
  }
  if (!value.hasOneUse())
    return fail("the scores have another user");
  return chain;
}

/// Whether heads may be numbered through: |batch| equals the query's batch
/// dimensions up to some dimension and is 1 from there on. Missing leading
/// dimensions count as 1.
bool groupsQueries(ArrayRef<int64_t> queryBatch, ArrayRef<int64_t> batch) {
  if (batch.size() > queryBatch.size())
    return false;
  SmallVector<int64_t> padded(queryBatch.size() - batch.size(), 1);
  padded.append(batch.begin(), batch.end());
  size_t equal = 0;
  while (equal != padded.size() && padded[equal] == queryBatch[equal])
    ++equal;
  return llvm::all_of(ArrayRef(padded).drop_front(equal),
                      [](int64_t size) { return size == 1; });
}

//===----------------------------------------------------------------------===//
// Rewriting
//===----------------------------------------------------------------------===//

Value createReshape(OpBuilder &builder, Location loc, Value value,
                    RankedTensorType type) {
  return value.getType() == type
             ? value
             : graph::ReshapeOp::create(builder, loc, type, value).getResult();
}

Value createTranspose(OpBuilder &builder, Location loc, Value value,
                      ArrayRef<int64_t> permutation) {
  auto type = cast<RankedTensorType>(value.getType());
  SmallVector<int64_t> shape;
  for (int64_t dim : permutation)
    shape.push_back(type.getDimSize(dim));
  return graph::TransposeOp::create(builder, loc, type.clone(shape), value,
                                    permutation);
}

/// |bias| as [rows, 1, keys]; null stays null.
Value createBias(OpBuilder &builder, Value bias) {
  if (!bias)
    return {};
  auto type = cast<RankedTensorType>(bias.getType());
  ArrayRef<int64_t> sizes = type.getShape().take_back(2);
  return createReshape(builder, bias.getLoc(), bias,
                       type.clone({sizes[0], 1, sizes[1]}));
}

/// Gives |operand| as [sequence, heads, head dimension]: the earliest value of
/// that type that it is a view of, or else a view of it. Multiplies |scale|,
/// unless it is null, by the constant factors passed on the way.
Value createSdpaOperand(OpBuilder &builder, const Operand &operand,
                        double *scale) {
  RankedTensorType type = operand.getSdpaType();
  Scaling best = {Value(), 1.0};
  Scaling current = {operand.value, 1.0};
  Dimensions dimensions = operand.getDimensions();
  while (true) {
    bool isExact = current.input.getType() == type;
    if (isSequenceMajor(dimensions) &&
        (isExact || !best.input || best.input.getType() != type))
      best = current;
    if (auto transpose = current.input.getDefiningOp<graph::TransposeOp>()) {
      Dimensions permuted(dimensions.size());
      for (auto [index, dim] : llvm::enumerate(transpose.getPermutation()))
        permuted[dim] = dimensions[index];
      dimensions = permuted;
      current.input = transpose.getInput();
    } else if (auto reshape = current.input.getDefiningOp<graph::ReshapeOp>()) {
      std::optional<Dimensions> reshaped =
          reshapeDimensions(dimensions, reshape.getInput().getType());
      if (!reshaped)
        break;
      dimensions = *reshaped;
      current.input = reshape.getInput();
    } else if (std::optional<Scaling> scaling = matchScaling(current.input);
               scale && scaling) {
      current = {scaling->input, current.factor * scaling->factor};
    } else {
      break;
    }
  }
  if (scale)
    *scale *= best.factor;
  Location loc = operand.value.getLoc();
  if (!best.input)
    best.input = createTranspose(builder, loc, operand.value,
                                 operand.getSequenceMajorPermutation());
  return createReshape(builder, loc, best.input, type);
}

/// The last view of |operand|'s value that is [sequence, heads, head dimension]
/// or a reshape of it, or null. Views on the way have no other user.
Value findSequenceMajorUser(const Operand &operand) {
  Value found;
  Value value = operand.value;
  Dimensions dimensions = operand.getDimensions();
  while (true) {
    if (isSequenceMajor(dimensions))
      found = value;
    if (!value.hasOneUse())
      return found;
    Operation *user = *value.user_begin();
    if (auto transpose = dyn_cast<graph::TransposeOp>(user)) {
      Dimensions permuted;
      for (int64_t dim : transpose.getPermutation())
        permuted.push_back(dimensions[dim]);
      dimensions = permuted;
    } else if (auto reshape = dyn_cast<graph::ReshapeOp>(user)) {
      std::optional<Dimensions> reshaped =
          reshapeDimensions(dimensions, reshape.getType());
      if (!reshaped)
        return found;
      dimensions = *reshaped;
    } else {
      return found;
    }
    value = user->getResult(0);
  }
}

/// Replaces |result|, the weighted sum of values, by |attention|: [sequence,
/// heads, head dimension].
void replaceResult(PatternRewriter &rewriter, const Operand &result,
                   Value attention) {
  Location loc = attention.getLoc();
  if (Value user = findSequenceMajorUser(result)) {
    rewriter.replaceOp(user.getDefiningOp(),
                       createReshape(rewriter, loc, attention,
                                     cast<RankedTensorType>(user.getType())));
    return;
  }
  SmallVector<int64_t> permutation = result.getSequenceMajorPermutation();
  SmallVector<int64_t> shape;
  for (int64_t dim : permutation)
    shape.push_back(result.getType().getDimSize(dim));
  Value view =
      createReshape(rewriter, loc, attention, result.getType().clone(shape));
  rewriter.replaceOp(
      result.value.getDefiningOp(),
      createTranspose(rewriter, loc, view,
                      mlir::invertPermutationVector(permutation)));
}

/// matmul(softmax([causal_mask](cap(matmul(%q, %k) * scale) [+ bias])), %v)
/// →  sdpa(%q', %k', %v')
struct FuseAttentionChain final : mlir::OpRewritePattern<graph::MatmulOp> {
  FuseAttentionChain(MLIRContext *context, mlir::Pass::Statistic &numFused)
      : OpRewritePattern(context), numFused(numFused) {}

  LogicalResult matchAndRewrite(graph::MatmulOp weighted,
                                PatternRewriter &rewriter) const override {
    FailureOr<Chain> chain = matchChain(weighted, rewriter);
    if (failed(chain))
      return failure();
    auto isMatrix = [](Value value) {
      return cast<RankedTensorType>(value.getType()).getRank() >= 2;
    };
    if (!llvm::all_of(ArrayRef<Value>{chain->scores.getLhs(),
                                      chain->scores.getRhs(),
                                      weighted.getRhs()},
                      isMatrix))
      return rewriter.notifyMatchFailure(weighted,
                                         "an operand without rows and columns");
    Operand query(chain->scores.getLhs(), /*isTransposed=*/false);
    Operand key(chain->scores.getRhs(),
                /*isTransposed=*/!chain->scores.getTransposeRhs());
    Operand value(weighted.getRhs(),
                  /*isTransposed=*/weighted.getTransposeRhs());
    if (llvm::any_of(query.getBatch(), ShapedType::isDynamic))
      return rewriter.notifyMatchFailure(weighted, "a dynamic batch dimension");
    if (query.getHeadDim() != value.getHeadDim())
      return rewriter.notifyMatchFailure(
          weighted, "values have another head dimension than queries");
    if (key.getSdpaType() != value.getSdpaType() ||
        !groupsQueries(query.getBatch(), key.getBatch()) ||
        !groupsQueries(query.getBatch(), value.getBatch()))
      return rewriter.notifyMatchFailure(
          weighted,
          "keys or values do not broadcast over trailing batch dimensions");

    Value queryView = createSdpaOperand(rewriter, query, &chain->scale);
    Value keyView = createSdpaOperand(rewriter, key, &chain->scale);
    Value valueView = createSdpaOperand(rewriter, value, /*scale=*/nullptr);
    auto scale = static_cast<float>(chain->scale),
         softCap = static_cast<float>(chain->softCap);
    auto sdpa = graph::SdpaOp::create(
        rewriter, weighted.getLoc(), queryView.getType(), queryView, keyView,
        valueView, chain->position, createBias(rewriter, chain->bias),
        chain->relative, chain->ranges, llvm::APFloat(scale),
        /*causal=*/static_cast<bool>(chain->position), chain->window,
        llvm::APFloat(softCap));
    replaceResult(rewriter,
                  Operand(weighted.getResult(), /*isTransposed=*/false), sdpa);
    ++numFused;
    return success();
  }

  mlir::Pass::Statistic &numFused;
};

//===----------------------------------------------------------------------===//
// llmc-fuse-sdpa
//===----------------------------------------------------------------------===//

struct FuseSdpaPass final : impl::FuseSdpaPassBase<FuseSdpaPass> {
  using FuseSdpaPassBase::FuseSdpaPassBase;

  void runOnOperation() override {
    RewritePatternSet patterns(&getContext());
    patterns.add<FuseAttentionChain>(&getContext(), numSdpasFused);
    if (failed(
            mlir::applyPatternsGreedily(getOperation(), std::move(patterns))))
      signalPassFailure();
  }
};

} // namespace
} // namespace llmc::fusion
