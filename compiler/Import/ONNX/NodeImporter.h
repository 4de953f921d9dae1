// SPDX-License-Identifier: Apache-2.0
//
// What the handler of an op sees of its node: operands by kind, attributes,
// the opset, and the emitter.

#ifndef LLMC_COMPILER_IMPORT_ONNX_NODEIMPORTER_H
#define LLMC_COMPILER_IMPORT_ONNX_NODEIMPORTER_H

#include "compiler/Import/ONNX/GraphEmitter.h"

namespace llmc::onnx {

/// What all nodes of a graph share.
struct GraphState {
  const OnnxFile &file;
  GraphEmitter emit;
  llvm::StringMap<Operand> values;
  /// Rows of position tables limit the length of a text; 0: nothing does.
  int64_t maxSequence = 0;
  /// The function's argument of positions, and of ranges.
  Value positions, ranges;
  /// The step's first position, which is 0: for causal masks.
  Value position;

  void limitSequence(int64_t length) {
    if (maxSequence == 0 || length < maxSequence)
      maxSequence = length;
  }
};

class NodeImporter {
public:
  NodeImporter(GraphState &graph, const Node &node, int64_t opset)
      : graph(graph), emit(graph.emit), node(node), opset(opset) {}

  /// "file: node 'name' (Add of domain ai.onnx, opset 17): message".
  llvm::Error fail(const Twine &message) const;

  bool has(size_t index) const {
    return index < node.inputs.size() && !node.inputs[index].empty();
  }
  /// `has(index)` must hold.
  const Operand &operand(size_t index) const {
    return graph.values.find(node.inputs[index])->second;
  }
  /// The operand when it is of that kind, else null.
  template <typename T>
  const T *as(size_t index) const {
    return has(index) ? std::get_if<T>(&operand(index)) : nullptr;
  }
  llvm::Error requireInputs(size_t atLeast) const;

  int64_t integer(StringRef attribute, int64_t otherwise) const;
  float real(StringRef attribute, float otherwise) const;
  StringRef text(StringRef attribute, StringRef otherwise) const;
  /// An attribute's integers, or those of the input at `index` where a later
  /// opset has moved them; none when absent.
  llvm::Expected<std::optional<std::vector<int64_t>>>
  integers(StringRef attribute, size_t index) const;
  /// The axis, counted from the front.
  llvm::Expected<size_t> axis(int64_t value, size_t rank) const;

  /// The operand as a computed tensor: a constant becomes a weight, numbers and
  /// uniform masks constants. Refuses integers and what is half quantized.
  llvm::Expected<Activation> activation(size_t index);
  llvm::Expected<Activation> activation(const Operand &operand);

  /// The same numbers under other dimensions.
  llvm::Expected<Operand> reshaped(const Operand &operand, const Dims &dims);
  /// The stored shape, or an error for dimensions that llmc can't store.
  llvm::Expected<SmallVector<int64_t>> stored(ArrayRef<Dim> dims) const;
  /// The value of `input` as it stands beside values of `dims`: without ones
  /// where those have the batch.
  llvm::Expected<Value> aligned(const Activation &input, ArrayRef<Dim> dims);

  llvm::Error set(Operand value, size_t output = 0);
  llvm::Error setActivation(Value value, Dims dims) {
    return set(Activation{value, std::move(dims), false, std::nullopt});
  }

  GraphState &graph;
  GraphEmitter &emit;
  const Node &node;
  int64_t opset;
};

/// lhs op rhs, where op is Add, Sub, Mul or Div; becomes graph ops.
llvm::Expected<Activation> combine(NodeImporter &n, StringRef op,
                                   const Operand &lhs, const Operand &rhs);

/// input [.., K] times a matrix [K, N] of the file.
llvm::Expected<Activation> multiply(NodeImporter &n, const Activation &input,
                                    const Constant &weight);

/// input [.., K] times the transpose of a weight [N, K].
llvm::Expected<Activation>
multiplyTurned(NodeImporter &n, const Activation &input, Value weight);

/// gain * input / root of the mean square, or layer_norm with a bias: the
/// inputs of the node at `gain` and `bias`, which may be absent.
enum class NormKind { Layer, Rms };
llvm::Error normalize(NodeImporter &n, NormKind kind, const Activation &input,
                      size_t gain, size_t bias, float epsilon);

/// Rows of a table by token or by position.
llvm::Expected<Activation> embed(NodeImporter &n, const Constant &table,
                                 const Index &index);

/// An element-wise op, also Where and Cast, that reads distances, or the
/// difference of two positions, is done here: true then, false for others.
llvm::Expected<bool> importDistances(NodeImporter &n, StringRef op);
/// Rows of a table of biases [buckets, heads] by distance.
llvm::Error gatherBiases(NodeImporter &n, const HostTensor &table,
                         const Distances &buckets);
/// scores + bias.
llvm::Expected<Activation> addRelativeBias(NodeImporter &n,
                                           const Activation &scores,
                                           const RelativeBias &bias);

using Handler = llvm::Error (*)(NodeImporter &);

/// An op, by domain and name.
struct OpEntry {
  StringRef domain;
  StringRef opType;
  Handler handler;
};

/// The ops of each file.
ArrayRef<OpEntry> elementwiseOps();
ArrayRef<OpEntry> shapeOps();
ArrayRef<OpEntry> selectionOps();
ArrayRef<OpEntry> linearOps();
ArrayRef<OpEntry> quantizedOps();
ArrayRef<OpEntry> rowOps();
ArrayRef<OpEntry> attentionOps();

} // namespace llmc::onnx

#endif // LLMC_COMPILER_IMPORT_ONNX_NODEIMPORTER_H
