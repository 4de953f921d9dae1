// SPDX-License-Identifier: Apache-2.0
//
// Runs functions of a graph module on the CPU, before or after fusion: the
// oracle for compiled programs. Weights are streamed from their files row by
// row; states live from call to call.

#ifndef LLMC_COMPILER_REFERENCE_EVALUATOR_H
#define LLMC_COMPILER_REFERENCE_EVALUATOR_H

#include "compiler/Import/WeightFiles.h"
#include "compiler/Reference/Numerics.h"
#include "compiler/Reference/Tensor.h"
#include "dialects/Support/LLVM.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/Error.h"

#include <functional>
#include <variant>

namespace llmc::reference {

class Evaluator {
public:
  /// Opens the files of a verified module, which must outlive the evaluator,
  /// as must |converted|, where rows that are quantized are kept unless it is
  /// null.
  static llvm::Expected<Evaluator>
  create(ModuleOp module, Precision precision = Precision::Double,
         importer::ConvertedRows *converted = nullptr);

  /// Calls a function with one tensor per argument, in order. With
  /// Precision::Single every op's results are rounded to float. Fails, naming
  /// the op's location, for arguments that don't fit the function's types,
  /// tokens beyond the table, and positions beyond a state's capacity. Caches
  /// hold what their element type keeps of each number.
  /// `select_rows` gives all rows from the first on unless its type says how
  /// many; rows beyond the input's end are zeros.
  llvm::Expected<std::vector<Tensor>> run(StringRef function,
                                          ArrayRef<Tensor> arguments);

  /// Is shown what each graph.region gives, and may put other numbers there,
  /// with which the function goes on.
  using RegionObserver = std::function<void(graph::RegionOp region,
                                            MutableArrayRef<Tensor> results)>;
  void observeRegions(RegionObserver observer) {
    this->observer = std::move(observer);
  }

  /// Makes every state empty, as it is at first.
  void reset() { states.clear(); }

private:
  /// A tensor, or a weight that is read when used.
  using RuntimeValue = std::variant<Tensor, graph::WeightOp>;
  using Values = llvm::DenseMap<Value, RuntimeValue>;

  Evaluator(ModuleOp module, importer::WeightFiles files, Precision precision)
      : module(module), files(std::move(files)), precision(precision) {}

  llvm::Error runBlock(Block &block, Values &values,
                       std::vector<Tensor> &results);
  llvm::Error runOp(Operation &op, Values &values);
  llvm::Error runRegion(Operation &op, Values &values);
  // The ops with several results.
  void runQuantize(Operation &op, Values &values);
  void runRoute(Operation &op, Values &values);
  llvm::Expected<Tensor> evaluate(Operation &op, Values &values);
  llvm::Expected<Tensor> evaluateMatmul(Operation &op, Values &values);
  llvm::Expected<Tensor> evaluateBinary(Operation &op, Values &values);
  llvm::Expected<Tensor> evaluateUnary(Operation &op, Values &values);
  llvm::Expected<Tensor> evaluateAttention(Operation &op, Values &values);
  llvm::Expected<Tensor> evaluateRows(Operation &op, Values &values);
  llvm::Expected<Tensor> evaluatePool(Operation &op, Values &values);
  llvm::Expected<Tensor> evaluateShortConv(Operation &op, Values &values);
  llvm::Expected<Tensor> evaluateSdpa(graph::SdpaOp op, Values &values);
  llvm::Expected<Tensor> evaluateView(Operation &op, Values &values);
  llvm::Expected<Tensor> evaluateLinear(Tensor input, Value weight,
                                        Values &values);
  llvm::Expected<Tensor> evaluateEmbedding(Operation &op, Values &values);
  Tensor evaluateExpertLinear(Operation &op, Values &values);
  llvm::Expected<Tensor> evaluateKvAppend(Operation &op, Values &values);

  /// The value as numbers; decodes a weight whole.
  Tensor dense(Value value, Values &values) const;
  int64_t integer(Value value, Values &values) const;
  Tensor decodeWhole(graph::WeightOp weight) const;

  ModuleOp module;
  importer::WeightFiles files;
  Precision precision;
  /// By state name: of a cache, rows of [KV heads, head dimension], as many as
  /// written; of a short_conv, its past.
  llvm::StringMap<std::vector<double>> states;
  RegionObserver observer;
};

} // namespace llmc::reference

#endif // LLMC_COMPILER_REFERENCE_EVALUATOR_H
