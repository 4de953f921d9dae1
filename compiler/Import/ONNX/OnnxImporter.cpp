// SPDX-License-Identifier: Apache-2.0
//
// Gives inputs their meaning, orders the nodes that the outputs need, and runs
// the handler of each.

#include "compiler/Import/ONNX/OnnxImporter.h"

#include "compiler/Import/ONNX/NodeImporter.h"

#include "mlir/IR/Verifier.h"
#include "llvm/ADT/StringSwitch.h"

namespace llmc::onnx {

namespace {

/// What an input of an encoder is, by its name.
enum class Role { Tokens, Mask, TokenTypes, Positions, Other };

Role roleOf(StringRef name) {
  return llvm::StringSwitch<Role>(name)
      .Case("input_ids", Role::Tokens)
      .Cases({"attention_mask", "input_mask"}, Role::Mask)
      .Cases({"token_type_ids", "segment_ids"}, Role::TokenTypes)
      .Case("position_ids", Role::Positions)
      .Default(Role::Other);
}

bool isInteger(DataType type) {
  return type == DataType::Int64 || type == DataType::Int32;
}

/// Handlers by domain and name.
class OpTable {
public:
  OpTable() {
    for (ArrayRef<OpEntry> entries :
         {elementwiseOps(), shapeOps(), selectionOps(), linearOps(),
          quantizedOps(), rowOps(), attentionOps()})
      for (const OpEntry &entry : entries)
        handlers[key(entry.domain, entry.opType)] = entry.handler;
  }
  Handler find(StringRef domain, StringRef opType) const {
    return handlers.lookup(key(domain, opType));
  }

private:
  static std::string key(StringRef domain, StringRef opType) {
    return (domain + ":" + opType).str();
  }
  llvm::StringMap<Handler> handlers;
};

class OnnxImporter {
public:
  OnnxImporter(MLIRContext &context, const OnnxFile &file,
               const importer::ImportOptions &options)
      : file(file), options(options), builder(&context),
        graph{file, GraphEmitter(context, file), {}, 0, {}, {}, {}} {}

  llvm::Expected<OwningOpRef<ModuleOp>> run();

private:
  llvm::Error fail(const Twine &message) const {
    return llvm::createStringError(file.path() + ": " + message);
  }
  Type indices(ArrayRef<int64_t> shape) {
    return RankedTensorType::get(shape, builder.getI32Type());
  }

  llvm::Error checkOpsets() const;
  llvm::Error nameSymbols();
  llvm::Expected<Dims> dimsOfInput(const ValueInfo &input) const;
  llvm::Error startFunction();
  llvm::Error bindInputs();
  llvm::Error bindInput(const ValueInfo &input, Value argument);
  SmallVector<const ValueInfo *> chosenOutputs() const;
  llvm::Expected<std::vector<const Node *>>
  orderNodes(ArrayRef<const ValueInfo *> outputs) const;
  llvm::Error importNode(const Node &node);
  llvm::Expected<Value> output(const ValueInfo &info);
  llvm::Error setAttributes(ModuleOp module);

  const OnnxFile &file;
  const importer::ImportOptions &options;
  Builder builder;
  GraphState graph;
  OpTable ops;
  /// Names of dimensions of the inputs.
  llvm::StringMap<Symbol> symbols;
  bool isEncoder = false;
  /// The function's argument of the rows of each text.
  Value spans;
};

//===----------------------------------------------------------------------===//
// Opsets
//===----------------------------------------------------------------------===//

llvm::Error OnnxImporter::checkOpsets() const {
  std::optional<int64_t> standard = file.opset("");
  if (!standard)
    return fail("imports no opset of domain ai.onnx");
  if (*standard < kFirstOpset || *standard > kLastOpset)
    return fail("imports opset " + Twine(*standard) +
                " of domain ai.onnx, supported are " + Twine(kFirstOpset) +
                " to " + Twine(kLastOpset));
  std::optional<int64_t> microsoft = file.opset("com.microsoft");
  if (microsoft && *microsoft != kMicrosoftOpset)
    return fail("imports opset " + Twine(*microsoft) +
                " of domain com.microsoft, supported is " +
                Twine(kMicrosoftOpset));
  return llvm::Error::success();
}

//===----------------------------------------------------------------------===//
// Inputs
//===----------------------------------------------------------------------===//

/// The names of an integer input [texts, tokens] are those of batch and
/// sequence; without one, those of the first input with names.
llvm::Error OnnxImporter::nameSymbols() {
  auto take = [&](const ValueInfo &input, size_t rank) {
    SmallVector<StringRef> names;
    for (const InputDim &dim : input.shape)
      if (!dim.size)
        names.push_back(dim.name);
    if (names.empty() || names.size() > 2 || input.shape.size() < rank)
      return false;
    if (names.size() == 2)
      symbols[names[0]] = Symbol::Batch;
    symbols[names.back()] = Symbol::Sequence;
    return true;
  };
  for (const ValueInfo &input : file.inputs())
    isEncoder |= roleOf(input.name) == Role::Tokens;
  for (const ValueInfo &input : file.inputs())
    if (isInteger(input.type) && input.shape.size() == 2 && take(input, 2))
      return llvm::Error::success();
  for (const ValueInfo &input : file.inputs())
    if (take(input, 1))
      return llvm::Error::success();
  if (isEncoder)
    return fail("input 'input_ids' has no dynamic dimension; export it with "
                "dynamic batch and sequence");
  return llvm::Error::success();
}

llvm::Expected<Dims> OnnxImporter::dimsOfInput(const ValueInfo &input) const {
  constexpr int64_t kMaxSize = int64_t{1} << 31;
  if (!input.hasShape)
    return fail("input '" + input.name + "' has no shape");
  Dims dims;
  for (auto [index, dim] : llvm::enumerate(input.shape)) {
    if (dim.size && (*dim.size < 1 || *dim.size > kMaxSize))
      return fail("dimension " + Twine(index) + " of input '" + input.name +
                  "' is " + Twine(*dim.size) + ", allowed is 1 to 2^31");
    if (dim.size) {
      dims.push_back(Dim::of(*dim.size));
      continue;
    }
    auto found = symbols.find(dim.name);
    bool isIds = isInteger(input.type) && input.shape.size() == 2;
    if (found == symbols.end() && !isIds)
      return fail("dimension '" + dim.name + "' of input '" + input.name +
                  "' is neither that of texts nor that of tokens");
    dims.push_back(Dim::of(isIds
                               ? (index == 0 ? Symbol::Batch : Symbol::Sequence)
                               : found->second));
  }
  if (!numElements(dims))
    return fail("input '" + input.name + "' is too large");
  return dims;
}

/// An encoder takes what docs/import.md says, other graphs their own inputs and
/// the ranges of attention.
llvm::Error OnnxImporter::startFunction() {
  const int64_t rows = ShapedType::kDynamic;
  std::vector<Argument> arguments;
  auto addPlaces = [&] {
    arguments.push_back({"positions", indices({rows})});
    arguments.push_back({"ranges", indices({rows, 2})});
    arguments.push_back({"spans", indices({rows, 2})});
    arguments.push_back({"position", indices({})});
  };
  if (isEncoder)
    arguments.push_back({"tokens", indices({rows})});
  for (const ValueInfo &input : file.inputs()) {
    if (isEncoder && roleOf(input.name) != Role::Other)
      continue;
    if (isEncoder && input.name.starts_with("past_"))
      return fail("input '" + input.name +
                  "' is a cache of keys and values, which is not supported; "
                  "export the model without a past");
    llvm::Expected<Dims> dims = dimsOfInput(input);
    if (!dims)
      return dims.takeError();
    auto shape = storedShape(*dims);
    if (!shape)
      return fail("input '" + input.name + "' can't be stored");
    bool isReal =
        input.type == DataType::Float || input.type == DataType::Float16;
    if (!isReal && !isInteger(input.type))
      return fail("input '" + input.name + "' is of " +
                  dataTypeName(input.type) +
                  ", allowed are FLOAT, FLOAT16, INT32 and INT64");
    arguments.push_back({input.name.str(),
                         isReal ? graph.emit.tensor(*shape) : indices(*shape)});
  }
  addPlaces();
  graph.emit.startFunction(isEncoder ? "encode" : "main", arguments);
  graph.positions = graph.emit.argument(arguments.size() - 4);
  graph.ranges = graph.emit.argument(arguments.size() - 3);
  spans = graph.emit.argument(arguments.size() - 2);
  graph.position = graph.emit.argument(arguments.size() - 1);
  return llvm::Error::success();
}

llvm::Error OnnxImporter::bindInput(const ValueInfo &input, Value argument) {
  llvm::Expected<Dims> dims = dimsOfInput(input);
  if (!dims)
    return dims.takeError();
  switch (isEncoder ? roleOf(input.name) : Role::Other) {
  case Role::Tokens:
    graph.values[input.name] = Index{graph.emit.argument(0), *dims};
    break;
  case Role::Mask:
    graph.values[input.name] = Uniform{*dims, 1, 0};
    break;
  case Role::TokenTypes:
    graph.values[input.name] = Uniform{*dims, 0, 0};
    break;
  case Role::Positions:
    graph.values[input.name] = Index{graph.positions, *dims, true, 0};
    break;
  case Role::Other:
    if (isInteger(input.type))
      graph.values[input.name] = Index{argument, *dims};
    else
      graph.values[input.name] =
          Activation{argument, *dims, false, std::nullopt};
  }
  return llvm::Error::success();
}

llvm::Error OnnxImporter::bindInputs() {
  size_t next = isEncoder ? 1 : 0;
  for (const ValueInfo &input : file.inputs()) {
    bool isOwn = !isEncoder || roleOf(input.name) == Role::Other;
    Value argument = isOwn ? graph.emit.argument(next++) : Value();
    if (llvm::Error error = bindInput(input, argument))
      return error;
  }
  for (const Tensor &tensor : file.initializers())
    graph.values[tensor.name] = constantOperand(tensor);
  return llvm::Error::success();
}

//===----------------------------------------------------------------------===//
// Nodes
//===----------------------------------------------------------------------===//

/// Of several outputs of an encoder, the hidden states or logits; else all.
SmallVector<const ValueInfo *> OnnxImporter::chosenOutputs() const {
  SmallVector<const ValueInfo *> all;
  for (const ValueInfo &output : file.outputs()) {
    if (isEncoder &&
        (output.name == "last_hidden_state" ||
         output.name == "token_embeddings" || output.name == "logits"))
      return {&output};
    all.push_back(&output);
  }
  return all;
}

/// The nodes that the outputs need, each after those that it reads.
llvm::Expected<std::vector<const Node *>>
OnnxImporter::orderNodes(ArrayRef<const ValueInfo *> outputs) const {
  enum class Mark : uint8_t { New, Open, Done };
  llvm::DenseMap<const Node *, Mark> marks;
  struct Visit {
    const Node *node;
    size_t nextInput = 0;
  };
  std::vector<const Node *> order;
  std::vector<Visit> stack;
  auto open = [&](StringRef value, StringRef reader) -> llvm::Error {
    if (value.empty() || graph.values.count(value))
      return llvm::Error::success();
    const Node *node = file.producer(value);
    if (!node)
      return fail("'" + reader + "' reads '" + value +
                  "', which no node computes and which is no input or "
                  "initializer");
    Mark &mark = marks[node];
    if (mark == Mark::Open)
      return fail("node '" + node->name + "' depends on its own result '" +
                  value + "'");
    if (mark == Mark::New) {
      mark = Mark::Open;
      stack.push_back({node});
    }
    return llvm::Error::success();
  };
  for (const ValueInfo *output : outputs) {
    if (llvm::Error error = open(output->name, "the graph's output"))
      return error;
    while (!stack.empty()) {
      Visit &visit = stack.back();
      const Node *node = visit.node;
      if (visit.nextInput == node->inputs.size()) {
        marks[node] = Mark::Done;
        order.push_back(node);
        stack.pop_back();
        continue;
      }
      if (llvm::Error error = open(node->inputs[visit.nextInput++], node->name))
        return error;
    }
  }
  return order;
}

llvm::Error OnnxImporter::importNode(const Node &node) {
  std::optional<int64_t> opset = file.opset(node.domain);
  NodeImporter importer(graph, node, opset.value_or(0));
  if (!opset)
    return importer.fail("the file imports no opset of this domain");
  Handler handler = ops.find(node.domain, node.opType);
  if (!handler)
    return importer.fail("this op is not supported");
  if (node.outputs.empty())
    return importer.fail("has no output");
  graph.emit.at(node.name.empty() ? node.outputs.front() : node.name);
  for (StringRef input : node.inputs)
    if (!input.empty() && !graph.values.count(input))
      return importer.fail("reads '" + input +
                           "', an output that llmc does "
                           "not compute");
  return handler(importer);
}

//===----------------------------------------------------------------------===//
// Outputs
//===----------------------------------------------------------------------===//

llvm::Expected<Value> OnnxImporter::output(const ValueInfo &info) {
  auto found = graph.values.find(info.name);
  if (found == graph.values.end())
    return fail("output '" + info.name + "' is not computed");
  const auto *value = std::get_if<Activation>(&found->second);
  if (!value || value->numerator)
    return fail("output '" + info.name + "' is " + describe(found->second) +
                ", allowed are activations");
  int64_t sequences = llvm::count_if(
      value->dims, [](const Dim &dim) { return dim.has(Symbol::Sequence); });
  if (sequences > 1)
    return fail("output '" + info.name + "' is " + describe(found->second) +
                ", which has no rows of texts alone");
  if (!isEncoder)
    return value->value;
  int64_t size = value->dims.back().number().value_or(0);
  if (sequences != 1 || size == 0)
    return fail("output '" + info.name + "' of an encoder is " +
                describe(found->second) +
                ", allowed is [batch, sequence, size]");
  return graph.emit.reshape(value->value, {kRows, size});
}

llvm::Error OnnxImporter::setAttributes(ModuleOp module) {
  module->setAttr("graph.architecture",
                  builder.getStringAttr(isEncoder ? "encoder" : "onnx"));
  module->setAttr("graph.name", builder.getStringAttr(file.graphName()));
  if (!isEncoder)
    return llvm::Error::success();
  int64_t most = graph.maxSequence != 0 ? graph.maxSequence
                                        : importer::kDefaultContextLength;
  if (options.contextLength > most)
    return fail("the model's position tables have " + Twine(most) +
                " rows, but a context of " + Twine(options.contextLength) +
                " is asked for");
  int64_t context = options.contextLength != 0 ? options.contextLength : most;
  module->setAttr("graph.context_length", builder.getI64IntegerAttr(context));
  auto function = module.lookupSymbol<mlir::func::FuncOp>("encode");
  function->setAttr("graph.min_rows",
                    builder.getI64IntegerAttr(std::min(context, kLongestText)));
  return llvm::Error::success();
}

llvm::Expected<OwningOpRef<ModuleOp>> OnnxImporter::run() {
  if (llvm::Error error = checkOpsets())
    return error;
  if (llvm::Error error = nameSymbols())
    return error;
  if (llvm::Error error = startFunction())
    return error;
  if (llvm::Error error = bindInputs())
    return error;
  SmallVector<const ValueInfo *> outputs = chosenOutputs();
  auto nodes = orderNodes(outputs);
  if (!nodes)
    return nodes.takeError();
  for (const Node *node : *nodes)
    if (llvm::Error error = importNode(*node))
      return error;
  SmallVector<Value> results;
  SmallVector<std::string> names;
  for (const ValueInfo *info : outputs) {
    llvm::Expected<Value> value = output(*info);
    if (!value)
      return value.takeError();
    results.push_back(*value);
    names.push_back(isEncoder && outputs.size() == 1 ? "hidden"
                                                     : info->name.str());
  }
  if (isEncoder && options.pooling && options.pooling->mode) {
    graph.emit.at("pooling");
    results.push_back(graph.emit.pool(results.front(), spans,
                                      *options.pooling->mode,
                                      options.pooling->isNormalized));
    names.push_back("embedding");
  }
  OwningOpRef<ModuleOp> module = graph.emit.finish(results, names);
  if (llvm::Error error = setAttributes(*module))
    return error;
  return module;
}

} // namespace

llvm::Expected<OwningOpRef<ModuleOp>>
importOnnx(MLIRContext &context, const OnnxFile &file,
           const importer::ImportOptions &options) {
  auto module = OnnxImporter(context, file, options).run();
  if (!module)
    return module.takeError();
  std::string messages;
  mlir::ScopedDiagnosticHandler handler(
      &context, [&](mlir::Diagnostic &diagnostic) {
        llvm::raw_string_ostream(messages)
            << ": " << diagnostic.getLocation() << ": " << diagnostic;
      });
  if (failed(mlir::verify(**module)))
    return llvm::createStringError(file.path() + messages);
  return module;
}

} // namespace llmc::onnx
