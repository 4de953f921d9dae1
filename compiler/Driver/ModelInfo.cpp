// SPDX-License-Identifier: Apache-2.0
//
// Reads attributes of the graph and the tokenizer of the model file.

#include "compiler/Driver/ModelInfo.h"

#include "compiler/Import/ModelTokenizer.h"
#include "dialects/Graph/Graph.h"
#include "runtime/format/Checksum.h"

#include "llvm/ADT/StringSet.h"

namespace llmc::driver {

static std::string stringAttribute(ModuleOp module, StringRef name) {
  auto attribute = module->getAttrOfType<StringAttr>(name);
  return attribute ? attribute.str() : "";
}

/// Whether a step overwrites a state that an earlier position would need again.
static bool overwritesStates(ModuleOp module) {
  auto result = module.walk([](graph::ShortConvOp conv) {
    return conv.getState() ? mlir::WalkResult::interrupt()
                           : mlir::WalkResult::advance();
  });
  return result.wasInterrupted();
}

/// Rows of the table that an encoder looks its tokens up in; 0 if there is
/// none.
static uint64_t tokenTableRows(mlir::func::FuncOp function) {
  uint64_t rows = 0;
  function.walk([&](graph::QuantizedEmbeddingOp embedding) {
    auto argument = dyn_cast<mlir::BlockArgument>(embedding.getTokens());
    auto name = argument ? function.getArgAttrOfType<StringAttr>(
                               argument.getArgNumber(), "graph.name")
                         : StringAttr();
    auto table = cast<RankedTensorType>(embedding.getTable().getType());
    if (name && name.getValue() == "tokens")
      rows = static_cast<uint64_t>(table.getDimSize(0));
  });
  return rows;
}

/// The last dimension of the result named "logits", or else the rows of a table
/// of tokens; 0 if there is neither.
static uint64_t vocabularySize(ModuleOp module) {
  for (auto function : module.getOps<mlir::func::FuncOp>())
    for (unsigned i = 0; i < function.getNumResults(); ++i) {
      auto name = function.getResultAttrOfType<StringAttr>(i, "graph.name");
      auto type = dyn_cast<RankedTensorType>(function.getResultTypes()[i]);
      if (name && name.getValue() == "logits" && type && type.getRank() > 0 &&
          !type.isDynamicDim(type.getRank() - 1))
        return static_cast<uint64_t>(type.getShape().back());
    }
  for (auto function : module.getOps<mlir::func::FuncOp>())
    if (uint64_t rows = tokenTableRows(function))
      return rows;
  return 0;
}

/// How many N there are in names "blk.N.…" of weights.
static uint64_t numLayers(ModuleOp module) {
  llvm::StringSet<> layers;
  for (auto weight : module.getOps<graph::WeightOp>()) {
    auto [prefix, rest] = weight.getSymName().split('.');
    if (prefix == "blk")
      layers.insert(rest.split('.').first);
  }
  return layers.size();
}

/// A hash of the graph as text, without the paths of its files; tables among
/// them count.
static uint64_t hashGraph(ModuleOp module) {
  OwningOpRef<ModuleOp> copy(module.clone());
  if (auto files = module->getAttrOfType<ArrayAttr>("graph.files")) {
    SmallVector<Attribute> tables;
    llvm::copy_if(files, std::back_inserter(tables),
                  [](Attribute file) { return !isa<StringAttr>(file); });
    (*copy)->setAttr("graph.files", ArrayAttr::get(copy->getContext(), tables));
  }
  std::string text;
  llvm::raw_string_ostream stream(text);
  copy->print(stream);
  return format::checksum(text.data(), text.size());
}

static Status readTokenizer(StringRef inputPath, format::Manifest &manifest) {
  auto tokenizer = importer::readModelTokenizer(inputPath);
  if (!tokenizer)
    return Status(StatusCode::InvalidFile,
                  llvm::toString(tokenizer.takeError()));
  if (*tokenizer)
    manifest.set_tokenizer((*tokenizer)->SerializeAsString());
  return okStatus();
}

Status describeModel(ModuleOp module, StringRef inputPath,
                     format::Manifest &manifest) {
  manifest.set_producer("llmc " LLMC_VERSION);
  format::Model &model = *manifest.mutable_model();
  model.set_name(stringAttribute(module, "graph.name"));
  model.set_architecture(stringAttribute(module, "graph.architecture"));
  model.set_vocabulary_size(vocabularySize(module));
  if (auto length = module->getAttrOfType<IntegerAttr>("graph.context_length"))
    model.set_max_context(static_cast<uint64_t>(length.getInt()));
  model.set_num_layers(numLayers(module));
  model.set_cannot_go_back(overwritesStates(module));
  model.set_source_hash(hashGraph(module));
  return readTokenizer(inputPath, manifest);
}

} // namespace llmc::driver
