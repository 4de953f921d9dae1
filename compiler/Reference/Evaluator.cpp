// SPDX-License-Identifier: Apache-2.0
//
// Walks a function's ops in order and applies the formula of each.

#include "compiler/Reference/Evaluator.h"
#include "compiler/Reference/EvaluatorSupport.h"

#include "dialects/Graph/Graph.h"
#include "mlir/IR/SymbolTable.h"
#include "llvm/ADT/TypeSwitch.h"

#include <cmath>

namespace llmc::reference {

namespace {

/// Whether a shape has a type's rank and static sizes.
bool fits(ArrayRef<int64_t> shape, RankedTensorType type) {
  if (static_cast<int64_t>(shape.size()) != type.getRank())
    return false;
  for (auto [size, allowed] : llvm::zip_equal(shape, type.getShape()))
    if (!ShapedType::isDynamic(allowed) && size != allowed)
      return false;
  return true;
}

/// The sizes of a reshape's result: at most one is dynamic and follows from the
/// number of elements.
Shape inferShape(RankedTensorType type, int64_t count) {
  Shape shape(type.getShape());
  int64_t known = 1;
  for (int64_t size : shape)
    known *= ShapedType::isDynamic(size) ? 1 : size;
  for (int64_t &size : shape)
    if (ShapedType::isDynamic(size))
      size = known == 0 ? 0 : count / known;
  return shape;
}

/// Whether sizes are pairwise equal or 1, counted from the back.
bool canBroadcast(ArrayRef<int64_t> lhs, ArrayRef<int64_t> rhs) {
  for (auto [left, right] : llvm::zip(llvm::reverse(lhs), llvm::reverse(rhs)))
    if (left != right && left != 1 && right != 1)
      return false;
  return true;
}

} // namespace

//===----------------------------------------------------------------------===//
// Calls
//===----------------------------------------------------------------------===//

llvm::Expected<Evaluator>
Evaluator::create(ModuleOp module, Precision precision,
                  importer::ConvertedRows *converted) {
  auto files = importer::WeightFiles::open(module, converted);
  if (!files)
    return files.takeError();
  return Evaluator(module, std::move(*files), precision);
}

llvm::Expected<std::vector<Tensor>> Evaluator::run(StringRef name,
                                                   ArrayRef<Tensor> arguments) {
  auto function = module.lookupSymbol<mlir::func::FuncOp>(name);
  if (!function)
    return llvm::createStringError("the module has no function '" + name + "'");
  if (function.getNumArguments() != arguments.size())
    return fail(*function, "takes " + Twine(function.getNumArguments()) +
                               " arguments, but got " +
                               Twine(arguments.size()));
  Values values;
  for (auto [parameter, argument] :
       llvm::zip_equal(function.getArguments(), arguments)) {
    auto type = dyn_cast<RankedTensorType>(parameter.getType());
    if (!type || !fits(argument.shape, type))
      return fail(
          *function,
          "argument " + Twine(parameter.getArgNumber()) + " has shape " +
              describe(argument.shape) + ", allowed is " +
              (type ? describe(type.getShape()) : std::string("a tensor")));
    values[parameter] = argument;
  }
  std::vector<Tensor> results;
  if (llvm::Error error = runBlock(function.front(), values, results))
    return error;
  return results;
}

llvm::Error Evaluator::runBlock(Block &block, Values &values,
                                std::vector<Tensor> &results) {
  for (Operation &op : block.without_terminator())
    if (llvm::Error error = runOp(op, values))
      return error;
  for (Value result : block.getTerminator()->getOperands())
    results.push_back(dense(result, values));
  return llvm::Error::success();
}

llvm::Error Evaluator::runOp(Operation &op, Values &values) {
  if (isa<graph::RegionOp>(op))
    return runRegion(op, values);
  if (auto load = dyn_cast<graph::LoadWeightOp>(op)) {
    auto weight = module.lookupSymbol<graph::WeightOp>(load.getWeight());
    values[load.getResult()] = weight;
    return llvm::Error::success();
  }
  if (isa<graph::DequantizeOp>(op)) { // decoded when used
    RuntimeValue input = values[op.getOperand(0)];
    values[op.getResult(0)] = std::move(input);
    return llvm::Error::success();
  }
  if (isa<graph::QuantizeActivationsOp>(op)) {
    runQuantize(op, values);
    return llvm::Error::success();
  }
  if (isa<graph::RouteOp>(op)) {
    runRoute(op, values);
    return llvm::Error::success();
  }
  llvm::Expected<Tensor> result = evaluate(op, values);
  if (!result)
    return result.takeError();
  auto type = cast<RankedTensorType>(op.getResult(0).getType());
  if (!fits(result->shape, type))
    return fail(op, "gives shape " + describe(result->shape) +
                        ", its type allows " + describe(type.getShape()));
  roundTo(type.getElementType(), precision, *result);
  values[op.getResult(0)] = std::move(*result);
  return llvm::Error::success();
}

llvm::Error Evaluator::runRegion(Operation &op, Values &values) {
  auto region = cast<graph::RegionOp>(op);
  Values inner;
  for (auto [argument, operand] :
       llvm::zip_equal(region.getBody().getArguments(), region.getInputs()))
    inner[argument] = values[operand];
  std::vector<Tensor> results;
  if (llvm::Error error = runBlock(region.getBody().front(), inner, results))
    return error;
  if (observer)
    observer(region, results);
  for (auto [value, result] : llvm::zip_equal(op.getResults(), results))
    values[value] = std::move(result);
  return llvm::Error::success();
}

void Evaluator::runQuantize(Operation &op, Values &values) {
  auto quantizeOp = cast<graph::QuantizeActivationsOp>(op);
  QuantizedTensor result =
      quantize(dense(quantizeOp.getInput(), values),
               static_cast<int64_t>(quantizeOp.getGroup()));
  Type f32 = mlir::Float32Type::get(op.getContext());
  roundTo(f32, precision, result.scales);
  roundTo(f32, precision, result.sums);
  values[quantizeOp.getCodes()] = std::move(result.codes);
  values[quantizeOp.getScales()] = std::move(result.scales);
  values[quantizeOp.getSums()] = std::move(result.sums);
}

//===----------------------------------------------------------------------===//
// Operands
//===----------------------------------------------------------------------===//

Tensor Evaluator::decodeWhole(graph::WeightOp weight) const {
  auto type = cast<RankedTensorType>(weight.getType());
  Tensor result(type.getShape());
  int64_t size = type.getShape().back();
  std::vector<float> row(size);
  for (int64_t i = 0; i < numElements(type.getShape()) / size; ++i) {
    files.decodeRow(weight, i, row.data());
    std::copy(row.begin(), row.end(), result.values.begin() + i * size);
  }
  return result;
}

Tensor Evaluator::dense(Value value, Values &values) const {
  const RuntimeValue &found = values[value];
  if (const auto *weight = std::get_if<graph::WeightOp>(&found))
    return decodeWhole(*weight);
  return std::get<Tensor>(found);
}

int64_t Evaluator::integer(Value value, Values &values) const {
  return static_cast<int64_t>(std::get<Tensor>(values[value]).values.front());
}

//===----------------------------------------------------------------------===//
// Ops
//===----------------------------------------------------------------------===//

llvm::Expected<Tensor> Evaluator::evaluateLinear(Tensor input, Value weight,
                                                 Values &values) {
  auto symbol = std::get<graph::WeightOp>(values[weight]);
  auto type = cast<RankedTensorType>(symbol.getType());
  return linear(
      input, type.getShape()[0],
      [&](int64_t row, float *result) { files.decodeRow(symbol, row, result); },
      precision);
}

llvm::Expected<Tensor> Evaluator::evaluateEmbedding(Operation &op,
                                                    Values &values) {
  Tensor tokens = dense(op.getOperand(0), values);
  auto type = cast<RankedTensorType>(op.getOperand(1).getType());
  for (double token : tokens.values)
    if (token < 0 || token >= static_cast<double>(type.getShape()[0]))
      return fail(op,
                  "has token " + std::to_string(static_cast<int64_t>(token)) +
                      ", allowed are 0 to " + Twine(type.getShape()[0] - 1));
  int64_t size = type.getShape()[1];
  const RuntimeValue &table = values[op.getOperand(1)];
  return embedding(tokens, size, [&](int64_t row, float *result) {
    if (const auto *weight = std::get_if<graph::WeightOp>(&table))
      return files.decodeRow(*weight, row, result);
    auto begin = std::get<Tensor>(table).values.begin() + row * size;
    std::copy(begin, begin + size, result);
  });
}

/// Ops that move elements without arithmetic.
llvm::Expected<Tensor> Evaluator::evaluateView(Operation &op, Values &values) {
  Tensor input = dense(op.getOperand(0), values);
  auto type = cast<RankedTensorType>(op.getResult(0).getType());
  if (auto joined = dyn_cast<graph::ConcatOp>(op)) {
    std::vector<Tensor> inputs;
    for (Value operand : joined.getInputs())
      inputs.push_back(dense(operand, values));
    return concat(inputs, static_cast<int64_t>(joined.getDim()));
  }
  if (auto transposed = dyn_cast<graph::TransposeOp>(op))
    return transpose(input, transposed.getPermutation());
  if (auto sliced = dyn_cast<graph::SliceOp>(op)) {
    int64_t end = sliced.getOffset() + sliced.getSize();
    if (end > input.shape[sliced.getDim()])
      return fail(op, "ends at " + Twine(end) + " of shape " +
                          describe(input.shape));
    return slice(input, sliced.getDim(), sliced.getOffset(), sliced.getSize());
  }
  if (auto rows = dyn_cast<graph::SelectRowsOp>(op)) {
    int64_t first = integer(rows.getFirst(), values);
    if (first < 0 || first > input.shape[0])
      return fail(op, "begins at row " + Twine(first) + " of " +
                          Twine(input.shape[0]));
    int64_t wanted =
        type.isDynamicDim(0) ? input.shape[0] - first : type.getDimSize(0);
    int64_t present = std::min(wanted, input.shape[0] - first);
    Tensor result = slice(input, 0, first, present);
    result.shape[0] = wanted;
    result.values.resize(numElements(result.shape));
    return result;
  }
  Shape shape = inferShape(type, numElements(input.shape));
  if (numElements(shape) != numElements(input.shape))
    return fail(op, "can't give shape " + describe(input.shape) +
                        " the shape " + describe(type.getShape()));
  input.shape = shape;
  return input;
}

llvm::Expected<Tensor> Evaluator::evaluateMatmul(Operation &op,
                                                 Values &values) {
  auto product = cast<graph::MatmulOp>(op);
  bool isWeight =
      std::holds_alternative<graph::WeightOp>(values[product.getRhs()]);
  if (isWeight && product.getTransposeRhs())
    return evaluateLinear(dense(product.getLhs(), values), product.getRhs(),
                          values);
  Tensor lhs = dense(product.getLhs(), values);
  Tensor rhs = dense(product.getRhs(), values);
  int64_t k = rhs.fromBack(product.getTransposeRhs() ? 1 : 2);
  if (lhs.fromBack(1) != k || !canBroadcast(ArrayRef(lhs.shape).drop_back(2),
                                            ArrayRef(rhs.shape).drop_back(2)))
    return fail(op, "gets shapes " + describe(lhs.shape) + " and " +
                        describe(rhs.shape));
  return matmul(lhs, rhs, product.getTransposeRhs(), precision);
}

llvm::Expected<Tensor> Evaluator::evaluateBinary(Operation &op,
                                                 Values &values) {
  Tensor lhs = dense(op.getOperand(0), values);
  Tensor rhs = dense(op.getOperand(1), values);
  if (!canBroadcast(lhs.shape, rhs.shape))
    return fail(op, "gets shapes " + describe(lhs.shape) + " and " +
                        describe(rhs.shape));
  auto with = [&](auto function) { return broadcast(lhs, rhs, function); };
  return llvm::TypeSwitch<Operation *, Tensor>(&op)
      .Case([&](graph::AddOp) { return with(std::plus<double>()); })
      .Case([&](graph::SubOp) { return with(std::minus<double>()); })
      .Case([&](graph::MulOp) { return with(std::multiplies<double>()); })
      .Case([&](graph::DivOp) { return with(std::divides<double>()); });
}

llvm::Expected<Tensor> Evaluator::evaluateUnary(Operation &op, Values &values) {
  Tensor input = dense(op.getOperand(0), values);
  return llvm::TypeSwitch<Operation *, Tensor>(&op)
      .Case([&](graph::SiluOp) { return map(input, silu); })
      .Case([&](graph::GeluOp) { return map(input, gelu); })
      .Case([&](graph::GeluTanhOp) { return map(input, geluTanh); })
      .Case([&](graph::SigmoidOp) { return map(input, sigmoid); })
      .Case([&](graph::ReluOp) {
        return map(input, [](double x) { return std::max(x, 0.0); });
      })
      .Case([&](graph::TanhOp) {
        return map(input, [](double x) { return std::tanh(x); });
      })
      .Case([&](graph::ExpOp) {
        return map(input, [](double x) { return std::exp(x); });
      })
      .Case([&](graph::SqrtOp) {
        return map(input, [](double x) { return std::sqrt(x); });
      })
      .Case([&](graph::ErfOp) {
        return map(input, [](double x) { return std::erf(x); });
      });
}

/// Ops on the last dimension.
llvm::Expected<Tensor> Evaluator::evaluateRows(Operation &op, Values &values) {
  Tensor input = dense(op.getOperand(0), values);
  return llvm::TypeSwitch<Operation *, Tensor>(&op)
      .Case([&](graph::RmsNormOp norm) {
        return rmsNorm(input, dense(norm.getGain(), values),
                       norm.getEpsilon().convertToDouble(), precision);
      })
      .Case([&](graph::LayerNormOp norm) {
        Tensor bias;
        if (norm.getBias())
          bias = dense(norm.getBias(), values);
        return layerNorm(input, dense(norm.getGain(), values),
                         norm.getBias() ? &bias : nullptr,
                         norm.getEpsilon().convertToDouble(), precision);
      })
      .Case([&](graph::L2NormalizeOp norm) {
        return l2Normalize(input, norm.getEpsilon().convertToDouble(),
                           precision);
      })
      .Case([&](graph::ReduceMeanOp) { return reduceMean(input, precision); })
      .Case([&](graph::SoftmaxOp) { return softmax(input, precision); });
}

llvm::Expected<Tensor> Evaluator::evaluate(Operation &op, Values &values) {
  using Result = llvm::Expected<Tensor>;
  return llvm::TypeSwitch<Operation *, Result>(&op)
      .Case([&](graph::ConstantOp constant) -> Result {
        return Tensor::scalar(constant.getValue().convertToDouble());
      })
      .Case([&](graph::ConvertOp convert) -> Result {
        return dense(convert.getInput(), values);
      })
      .Case([&](graph::MatmulOp) { return evaluateMatmul(op, values); })
      .Case([&](graph::QuantizedLinearOp linearOp) {
        Tensor input = dense(linearOp.getInput(), values);
        if (linearOp.getScales())
          input = dequantize(input, dense(linearOp.getScales(), values));
        return evaluateLinear(std::move(input), linearOp.getWeight(), values);
      })
      .Case<graph::EmbeddingOp, graph::QuantizedEmbeddingOp>(
          [&](auto) { return evaluateEmbedding(op, values); })
      .Case([&](graph::KvAppendOp) { return evaluateKvAppend(op, values); })
      .Case<graph::ReshapeOp, graph::TransposeOp, graph::SliceOp,
            graph::SelectRowsOp, graph::ConcatOp>(
          [&](auto) { return evaluateView(op, values); })
      .Case<graph::AddOp, graph::SubOp, graph::MulOp, graph::DivOp>(
          [&](auto) { return evaluateBinary(op, values); })
      .Case<graph::CausalMaskOp, graph::RangeMaskOp, graph::RelativeBiasOp,
            graph::RotaryOp, graph::SdpaOp>(
          [&](auto) { return evaluateAttention(op, values); })
      .Case<graph::RmsNormOp, graph::LayerNormOp, graph::L2NormalizeOp,
            graph::ReduceMeanOp, graph::SoftmaxOp>(
          [&](auto) { return evaluateRows(op, values); })
      .Case([&](graph::ExpertLinearOp) -> Result {
        return evaluateExpertLinear(op, values);
      })
      .Case([&](graph::WeightedSumOp sum) -> Result {
        return weightedSum(dense(sum.getInput(), values),
                           dense(sum.getWeights(), values), precision);
      })
      .Case([&](graph::PoolOp) { return evaluatePool(op, values); })
      .Case([&](graph::ShortConvOp) { return evaluateShortConv(op, values); })
      .Default([&](Operation *) -> Result {
        if (graph::isElementwise(&op))
          return evaluateUnary(op, values);
        return fail(op, "is no op of the graph dialect that can be evaluated");
      });
}

} // namespace llmc::reference
