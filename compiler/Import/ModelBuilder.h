// SPDX-License-Identifier: Apache-2.0
//
// What builders of models share: weights, states, functions, and single ops on
// [rows, size] activations.

#ifndef LLMC_COMPILER_IMPORT_MODELBUILDER_H
#define LLMC_COMPILER_IMPORT_MODELBUILDER_H

#include "compiler/Import/ModelParts.h"

#include "dialects/Graph/Graph.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/OwningOpRef.h"

namespace llmc::importer {

/// An argument or result of a function: what the runtime calls it, and its
/// type.
struct NamedType {
  StringRef name;
  Type type;
};

/// Emits the ops of one module; `builder` stands in the current function and
/// `loc` names the current part of the model.
class ModelBuilder {
protected:
  static constexpr int64_t kDynamic = ShapedType::kDynamic;

  explicit ModelBuilder(MLIRContext &context)
      : builder(&context), loc(builder.getUnknownLoc()),
        owner(ModuleOp::create(loc)), module(*owner) {}

  // Module level. Weights and states are declared before the functions, when
  // they are first used.
  void setAttributes(const ModelSource &source, int64_t contextLength);
  mlir::func::FuncOp startFunction(StringRef name, ArrayRef<NamedType> inputs,
                                   ArrayRef<NamedType> results);
  mlir::FlatSymbolRefAttr state(StringRef name, ArrayRef<int64_t> shape);

  // Encoders (docs/architecture.md, section 1).
  enum EncodeArgument : unsigned { Tokens, Positions, Ranges, Spans };
  /// Starts @encode; `isPooled`: texts get an embedding, too.
  mlir::func::FuncOp startEncode(int64_t hiddenSize, int64_t contextLength,
                                 bool isPooled);
  /// The embeddings of the texts, of length 1 if normalized.
  Value pooled(Value hidden, Value spans, graph::Pooling mode,
               bool isNormalized);

  // Single ops.
  Value decoded(const Weight &weight);
  Value linear(Value input, const Linear &parameters);
  Value matmul(Value lhs, Value rhs, bool transposeRhs,
               ArrayRef<int64_t> shape);
  /// `input` [rows, k] or [rows, chosen, k], `chosen` [rows, chosen].
  Value expertLinear(Value input, const ExpertWeight &weight, Value chosen);
  Value embedding(Value tokens, const Weight &table);
  Value constant(float value);
  Value activated(Value input, Activation activation);
  Value reshape(Value input, ArrayRef<int64_t> shape);
  Value transpose(Value input, ArrayRef<int64_t> permutation);
  Value columns(Value input, int64_t offset, int64_t size);
  template <typename OpT>
  Value binary(Value lhs, Value rhs) {
    return OpT::create(builder, loc, lhs.getType(), lhs, rhs);
  }

  RankedTensorType tensor(ArrayRef<int64_t> shape) {
    return RankedTensorType::get(shape, builder.getF32Type());
  }
  RankedTensorType integers(ArrayRef<int64_t> shape) {
    return RankedTensorType::get(shape, builder.getI32Type());
  }
  void at(const Twine &part) {
    loc = mlir::NameLoc::get(builder.getStringAttr(part));
  }
  /// The part of the model that a weight belongs to.
  void atPartOf(const Weight &weight) {
    at(StringRef(weight.name).rsplit('.').first);
  }

  OpBuilder builder;
  Location loc;
  OwningOpRef<ModuleOp> owner;
  ModuleOp module;

private:
  graph::PackingAttr packingOf(const Weight &weight);
  graph::SourceAttr sourceOf(const Weight &weight);
  /// Rows of `parts`, which have one encoding and width, behind one another.
  Value load(const std::string &name, ArrayRef<Weight> parts);
  void toModuleStart();
};

} // namespace llmc::importer

#endif // LLMC_COMPILER_IMPORT_MODELBUILDER_H
