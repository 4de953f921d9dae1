// SPDX-License-Identifier: Apache-2.0
//
// Emits graph ops for the importer of ONNX: weights that stay in the model's
// files, and ops whose result type follows from their operands. Shapes are
// stored ones (SymbolicShape.h): rows are dynamic, there is no batch.

#ifndef LLMC_COMPILER_IMPORT_ONNX_GRAPHEMITTER_H
#define LLMC_COMPILER_IMPORT_ONNX_GRAPHEMITTER_H

#include "compiler/Import/ONNX/Operand.h"

#include "dialects/Graph/Graph.h"
#include "mlir/IR/Builders.h"
#include "llvm/ADT/StringMap.h"

namespace llmc::onnx {

/// The arguments that functions of the graph may read; those that nothing reads
/// are dropped at the end.
struct Argument {
  std::string name;
  Type type;
};

class GraphEmitter {
public:
  GraphEmitter(MLIRContext &context, const OnnxFile &file);

  /// Starts the function, with the builder in it.
  void startFunction(StringRef name, ArrayRef<Argument> arguments);
  Value argument(size_t index) { return function.getArgument(index); }
  /// Returns the values under these names, drops arguments that nothing reads,
  /// and gives the module.
  OwningOpRef<ModuleOp> finish(ArrayRef<Value> results,
                               ArrayRef<std::string> names);

  /// Names the place of the ops that follow.
  void at(StringRef part);

  RankedTensorType tensor(ArrayRef<int64_t> shape) {
    return RankedTensorType::get(shape, builder.getF32Type());
  }
  static ArrayRef<int64_t> shapeOf(Value value) {
    return cast<RankedTensorType>(value.getType()).getShape();
  }

  /// A constant of the file as numbers of its own shape (a vector or matrix,
  /// with ones where its shape has them). An error says what can't be a weight.
  llvm::Expected<Value> weight(const Constant &constant);
  /// A matrix [K, N] as [N, K], which linears want.
  llvm::Expected<Value> turnedWeight(const Constant &constant);
  /// MatMulNBits: [N, K] of 4 bits, with scales for groups of 32, 64 or a
  /// multiple of 128, which is divided.
  Value nbitsWeight(const Tensor &codes, const Tensor &scales,
                    const Tensor *zeros, ArrayRef<int64_t> shape,
                    int64_t group);
  /// Numbers that are known, as a weight.
  Value table(const HostTensor &host, StringRef name);
  Value constant(double value);

  Value reshape(Value input, ArrayRef<int64_t> shape);
  Value transpose(Value input, ArrayRef<int64_t> permutation);
  Value slice(Value input, int64_t dim, int64_t offset, int64_t size);
  Value concat(ArrayRef<Value> inputs, int64_t dim);
  /// Leading dimensions broadcast.
  Value matmul(Value lhs, Value rhs, bool transposeRhs);
  Value embedding(Value tokens, Value table);
  Value reduceMean(Value input);
  Value layerNorm(Value input, Value gain, Value bias, float epsilon);
  Value rmsNorm(Value input, Value gain, float epsilon);
  Value rangeMask(Value input, Value ranges);
  /// `window` 0: all keys up to the row.
  Value causalMask(Value input, Value position, int64_t window);
  Value relativeBias(Value input, Value table);
  /// Turns [rows, heads, size] by the rows' positions.
  Value rotary(Value input, Value positions, double base, int64_t dim,
               graph::RotaryPairs pairs);
  /// [rows, size] and [texts, 2] → [texts, size], of length 1 when normalized.
  Value pool(Value hidden, Value spans, graph::Pooling mode, bool isNormalized);

  template <typename OpT>
  Value unary(Value input) {
    return OpT::create(builder, loc, input.getType(), input);
  }
  /// The result has the shape of lhs.
  template <typename OpT>
  Value binary(Value lhs, Value rhs) {
    return OpT::create(builder, loc, lhs.getType(), lhs, rhs);
  }

private:
  /// The encoding of plain numbers; none for other types.
  static std::optional<graph::Encoding> plainEncoding(DataType type);
  /// A constant without its dimensions of size 1, as one that weights can have.
  struct Place {
    std::string name;
    SmallVector<int64_t, 2> shape;
    graph::Encoding encoding;
    graph::SourceAttr source;
  };
  llvm::Expected<Place> place(const Constant &constant, bool isTurned);
  llvm::Expected<Place> placeQuantized(const Constant &constant, Place place,
                                       bool isTransposedInFile);
  graph::PlaceAttr placeOf(const Tensor &tensor);
  int64_t addTable(ArrayRef<float> numbers);
  Value load(const Place &place);

  const OnnxFile &file;
  OpBuilder builder;
  Location loc;
  OwningOpRef<ModuleOp> module;
  mlir::func::FuncOp function;
  SmallVector<mlir::Attribute> files;
};

} // namespace llmc::onnx

#endif // LLMC_COMPILER_IMPORT_ONNX_GRAPHEMITTER_H
