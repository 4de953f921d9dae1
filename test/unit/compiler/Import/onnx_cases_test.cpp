// SPDX-License-Identifier: Apache-2.0
//
// Small ONNX models, op by op and as whole encoders, against what onnxruntime
// computed (test/data/onnx). Each is evaluated as imported and after fusion.

#include "compiler/Fusion/Passes.h"
#include "compiler/Import/Import.h"
#include "compiler/Reference/Evaluator.h"

#include "mlir/IR/MLIRContext.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/Passes.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/MemoryBuffer.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include <filesystem>
#include <map>

namespace llmc {
namespace {

using reference::Evaluator;
using reference::Tensor;

/// onnxruntime computes in f32: sums of 32 to 96 products.
constexpr double kTolerance = 1e-5;

std::vector<std::string> caseNames() {
  std::vector<std::string> names;
  for (const auto &entry : std::filesystem::directory_iterator(LLMC_ONNX_DIR))
    if (entry.path().extension() == ".onnx")
      names.push_back(entry.path().stem());
  std::sort(names.begin(), names.end());
  return names;
}

Tensor tensorOf(const llvm::json::Value &value) {
  const llvm::json::Object &object = *value.getAsObject();
  Tensor tensor;
  for (const llvm::json::Value &size : *object.getArray("dims"))
    tensor.shape.push_back(*size.getAsInteger());
  for (const llvm::json::Value &number : *object.getArray("data"))
    tensor.values.push_back(*number.getAsNumber());
  return tensor;
}

/// Inputs and outputs of a case.
struct Case {
  explicit Case(const std::string &name) {
    auto file = llvm::MemoryBuffer::getFile(LLMC_ONNX_DIR "/" + name + ".json");
    json = llvm::cantFail(llvm::json::parse((*file)->getBuffer()));
    const llvm::json::Object &object = *json.getAsObject();
    for (const auto &[key, value] : *object.getObject("inputs"))
      inputs.try_emplace(key, tensorOf(value));
    for (const auto &[key, value] : *object.getObject("outputs"))
      output = tensorOf(value);
    const Tensor &first = inputs.begin()->second;
    isEncoder = inputs.count("input_ids") != 0;
    texts = first.shape[0];
    length = reference::numElements(first.shape) / texts;
  }

  /// Whether token `i` of all texts is none of padding.
  bool isKept(int64_t i) const {
    auto mask = inputs.find("attention_mask");
    return mask == inputs.end() || mask->second.values[i] != 0;
  }

  llvm::json::Value json = nullptr;
  llvm::StringMap<Tensor> inputs;
  Tensor output;
  bool isEncoder;
  /// Of encoders: texts, and tokens of each with padding.
  int64_t texts, length;
};

/// What a function's argument of that name gets: rows without padding.
Tensor argumentOf(const Case &test, StringRef name, RankedTensorType type) {
  if (name == "position")
    return Tensor({}, {0});
  if (!test.isEncoder) {
    Tensor tensor = test.inputs.find(name)->second;
    reference::Shape shape(type.getShape().begin(), type.getShape().end());
    int64_t known = 1;
    for (int64_t size : shape)
      known *= ShapedType::isDynamic(size) ? 1 : size;
    for (int64_t &size : shape)
      if (ShapedType::isDynamic(size))
        size = reference::numElements(tensor.shape) / known;
    tensor.shape = shape;
    return tensor;
  }
  std::vector<double> numbers;
  for (int64_t text = 0, first = 0; text != test.texts; ++text) {
    int64_t count = 0;
    for (int64_t t = 0; t != test.length; ++t)
      count += test.isKept(text * test.length + t);
    for (int64_t t = 0; t != test.length; ++t) {
      int64_t i = text * test.length + t;
      if (!test.isKept(i))
        continue;
      if (name == "tokens")
        numbers.push_back(test.inputs.find("input_ids")->second.values[i]);
      else if (name == "positions")
        numbers.push_back(static_cast<double>(t));
      else
        numbers.insert(numbers.end(), {double(first), double(first + count)});
    }
    first += count;
  }
  auto size = static_cast<int64_t>(numbers.size());
  return name == "ranges" ? Tensor({size / 2, 2}, numbers)
                          : Tensor({size}, numbers);
}

/// The passes that make bigger ops of primitives, in the model phase's order.
bool fuse(ModuleOp module) {
  using mlir::func::FuncOp;
  mlir::PassManager manager(module.getContext());
  manager.addPass(mlir::createCSEPass());
  manager.addPass(mlir::createCanonicalizerPass());
  manager.addNestedPass<FuncOp>(fusion::createFuseGeluPass());
  manager.addNestedPass<FuncOp>(fusion::createFuseLayerNormPass());
  manager.addNestedPass<FuncOp>(fusion::createFuseQuantizedLinearPass());
  manager.addNestedPass<FuncOp>(fusion::createFuseSdpaPass());
  manager.addPass(fusion::createFuseHorizontalLinearsPass());
  manager.addPass(mlir::createCanonicalizerPass());
  manager.addPass(mlir::createCSEPass());
  return succeeded(manager.run(module));
}

class OnnxCase : public testing::TestWithParam<std::string> {
protected:
  void expectOutput(ModuleOp module, const Case &test) {
    auto evaluator = Evaluator::create(module);
    ASSERT_TRUE(bool(evaluator)) << llvm::toString(evaluator.takeError());
    auto function = *module.getOps<mlir::func::FuncOp>().begin();
    std::vector<Tensor> arguments;
    for (auto [index, type] : llvm::enumerate(function.getArgumentTypes()))
      arguments.push_back(argumentOf(
          test,
          function.getArgAttrOfType<StringAttr>(index, "graph.name").getValue(),
          cast<RankedTensorType>(type)));
    auto results = evaluator->run(function.getName(), arguments);
    ASSERT_TRUE(bool(results)) << llvm::toString(results.takeError());
    compare(results->front(), test);
  }

  static void compare(const Tensor &result, const Case &test) {
    double largest = 0, error = 0;
    size_t next = 0, row = test.isEncoder ? test.output.shape.back() : 1;
    for (size_t i = 0; i != test.output.values.size(); ++i) {
      if (test.isEncoder && !test.isKept(static_cast<int64_t>(i / row)))
        continue;
      ASSERT_LT(next, result.values.size());
      largest = std::max(largest, std::abs(test.output.values[i]));
      error = std::max(error,
                       std::abs(result.values[next++] - test.output.values[i]));
    }
    EXPECT_EQ(next, result.values.size());
    EXPECT_LE(error, kTolerance * largest);
  }

  MLIRContext context;
};

TEST_P(OnnxCase, GivesWhatOnnxruntimeGives) {
  Case test(GetParam());
  auto module = importer::importModel(
      context, LLMC_ONNX_DIR "/" + GetParam() + ".onnx", {});
  ASSERT_TRUE(bool(module)) << llvm::toString(module.takeError());
  {
    SCOPED_TRACE("as imported");
    expectOutput(**module, test);
  }
  ASSERT_TRUE(fuse(**module));
  SCOPED_TRACE("after fusion");
  expectOutput(**module, test);
  if (!test.isEncoder)
    return;
  // Nothing of norms, attention and GELU is left in pieces.
  (*module)->walk([](Operation *op) {
    bool isPiece = isa<graph::MatmulOp, graph::SoftmaxOp, graph::ErfOp,
                       graph::ReduceMeanOp, graph::SqrtOp, graph::SubOp,
                       graph::DivOp, graph::TransposeOp>(op);
    EXPECT_FALSE(isPiece) << op->getName().getStringRef().str();
  });
}

/// How often each op occurs after fusion.
std::map<std::string, int> fusedOps(const std::string &name) {
  MLIRContext context;
  auto module =
      importer::importModel(context, LLMC_ONNX_DIR "/" + name + ".onnx", {});
  std::map<std::string, int> counts;
  if (!module) {
    ADD_FAILURE() << llvm::toString(module.takeError());
    return counts;
  }
  EXPECT_TRUE(fuse(**module));
  (*module)->walk(
      [&](Operation *op) { ++counts[op->getName().getStringRef().str()]; });
  return counts;
}

TEST(OnnxFusion, ExportersOfAllKindsGiveTheSameOps) {
  std::map<std::string, int> wanted = fusedOps("encoder-14");
  EXPECT_EQ(wanted["graph.sdpa"], 2);
  EXPECT_EQ(wanted["graph.layer_norm"], 5);
  EXPECT_EQ(wanted["graph.gelu"], 2);
  EXPECT_EQ(wanted["graph.quantized_linear"], 8); // q, k, v are one
  for (const char *name :
       {"encoder-11", "encoder-18", "encoder-20", "encoder-no-mask",
        "encoder-roberta", "encoder-skip-norm"})
    EXPECT_EQ(fusedOps(name), wanted) << name;
}

std::string testName(const testing::TestParamInfo<std::string> &info) {
  std::string name = info.param;
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
}
INSTANTIATE_TEST_SUITE_P(All, OnnxCase, testing::ValuesIn(caseNames()),
                         testName);

} // namespace
} // namespace llmc
