// SPDX-License-Identifier: Apache-2.0
//
// Matrix products: by matrices of the file, and of activations in attention.

#include "compiler/Import/ONNX/NodeImporter.h"

namespace llmc::onnx {

namespace {

/// Of activations: leading dimensions broadcast.
llvm::Error multiplyActivations(NodeImporter &n, const Activation &lhs,
                                const Activation &rhs) {
  size_t leftRank = lhs.dims.size(), rightRank = rhs.dims.size();
  if (leftRank < 2 || rightRank < 2)
    return n.fail("of vectors is not supported");
  const Dim &inner = lhs.dims[leftRank - 1];
  if (inner.size() != rhs.dims[rightRank - 2].size())
    return n.fail("of " + describe(n.operand(0)) + " and " +
                  describe(n.operand(1)) + ": the inner dimensions differ");
  bool sumsOverRows = inner.has(Symbol::Sequence);
  if (sumsOverRows && !lhs.isBlockDiagonal)
    return n.fail("sums over the sequence something else than the result of a "
                  "softmax, which would mix texts");
  std::optional<Dims> dims = broadcast(ArrayRef(lhs.dims).drop_back(2),
                                       ArrayRef(rhs.dims).drop_back(2));
  if (!dims)
    return n.fail("of " + describe(n.operand(0)) + " and " +
                  describe(n.operand(1)) + ": the batch dimensions differ");
  // Each side beside the result's batch dimensions.
  auto beside = [&](const Activation &input) {
    Dims whole = *dims;
    whole.append(input.dims.end() - 2, input.dims.end());
    return n.aligned(input, whole);
  };
  llvm::Expected<Value> left = beside(lhs);
  if (!left)
    return left.takeError();
  llvm::Expected<Value> right = beside(rhs);
  if (!right)
    return right.takeError();
  dims->push_back(lhs.dims[leftRank - 2]);
  dims->push_back(rhs.dims[rightRank - 1]);
  llvm::Expected<SmallVector<int64_t>> shape = n.stored(*dims);
  if (!shape)
    return shape.takeError();
  Value product = n.emit.matmul(*left, *right, /*transposeRhs=*/false);
  if (GraphEmitter::shapeOf(product) != ArrayRef(*shape))
    return n.fail("of " + describe(n.operand(0)) + " and " +
                  describe(n.operand(1)) + " is not supported");
  return n.setActivation(product, std::move(*dims));
}

llvm::Error importMatMul(NodeImporter &n) {
  if (llvm::Error error = n.requireInputs(2))
    return error;
  llvm::Expected<Activation> lhs = n.activation(0);
  if (!lhs)
    return lhs.takeError();
  const auto *weight = n.as<Constant>(1);
  if (weight && n.as<Activation>(0)) {
    llvm::Expected<Activation> result = multiply(n, *lhs, *weight);
    return result ? n.set(*result) : result.takeError();
  }
  llvm::Expected<Activation> rhs = n.activation(1);
  if (!rhs)
    return rhs.takeError();
  return multiplyActivations(n, *lhs, *rhs);
}

/// alpha * A * B + beta * C
llvm::Error importGemm(NodeImporter &n) {
  if (llvm::Error error = n.requireInputs(2))
    return error;
  const auto *weight = n.as<Constant>(1);
  llvm::Expected<Activation> input = n.activation(0);
  if (!input)
    return input.takeError();
  if (!weight || n.integer("transA", 0) != 0)
    return n.fail("is supported for a constant B and transA = 0");
  Constant matrix = *weight;
  if (n.integer("transB", 0) != 0 && matrix.shape.size() == 2) {
    std::swap(matrix.shape[0], matrix.shape[1]);
    matrix.isTransposed = !matrix.isTransposed;
  }
  llvm::Expected<Activation> result = multiply(n, *input, matrix);
  if (!result)
    return result.takeError();
  HostTensor factor{{}, true, {}, {n.real("alpha", 1)}};
  if (factor.reals[0] != 1)
    result = combine(n, "Mul", *result, factor);
  if (!result)
    return result.takeError();
  factor.reals[0] = n.real("beta", 1);
  if (!n.has(2) || factor.reals[0] == 0)
    return n.set(*result);
  Operand addend = n.operand(2);
  if (factor.reals[0] != 1) {
    llvm::Expected<Activation> scaled = combine(n, "Mul", addend, factor);
    if (!scaled)
      return scaled.takeError();
    addend = *scaled;
  }
  result = combine(n, "Add", *result, addend);
  return result ? n.set(*result) : result.takeError();
}

constexpr OpEntry kOps[] = {{"", "MatMul", importMatMul},
                            {"", "Gemm", importGemm}};

} // namespace

llvm::Expected<Activation>
multiplyTurned(NodeImporter &n, const Activation &input, Value weight) {
  ArrayRef<int64_t> shape = GraphEmitter::shapeOf(input.value);
  int64_t columns = shape.back();
  ArrayRef<int64_t> others = shape.drop_back();
  // Linears read [rows, K]: dimensions of 1 and known ones join the rows.
  int64_t rows = 1, numDynamic = 0;
  for (int64_t size : others) {
    numDynamic += size == kRows;
    rows *= size == kRows ? 1 : size;
  }
  bool isMatrix = numDynamic == 0 || (numDynamic == 1 && rows == 1);
  Value lhs = input.value;
  if (isMatrix)
    lhs = n.emit.reshape(lhs, {numDynamic != 0 ? kRows : rows, columns});
  Value product = n.emit.matmul(lhs, weight, /*transposeRhs=*/true);
  SmallVector<int64_t> result(shape);
  result.back() = GraphEmitter::shapeOf(weight)[0];
  Dims dims = input.dims;
  dims.back() = Dim::of(result.back());
  return Activation{n.emit.reshape(product, result), std::move(dims), false,
                    std::nullopt};
}

llvm::Expected<Activation> multiply(NodeImporter &n, const Activation &input,
                                    const Constant &weight) {
  bool fits = weight.shape.size() == 2 && !input.dims.empty() &&
              input.dims.back().number() == weight.shape[0] &&
              weight.shape[0] > 0 && weight.shape[1] > 0;
  if (!fits)
    return n.fail(
        "of " + describe(Operand(input)) + " and " + describe(Operand(weight)) +
        ": the inner dimensions differ, or the constant is no matrix");
  llvm::Expected<Value> turned = n.emit.turnedWeight(weight);
  if (!turned)
    return n.fail(llvm::toString(turned.takeError()));
  return multiplyTurned(n, input, *turned);
}

ArrayRef<OpEntry> linearOps() { return kOps; }

} // namespace llmc::onnx
