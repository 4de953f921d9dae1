// SPDX-License-Identifier: Apache-2.0
//
// Metadata keys and tensor names of BERT in GGUF files.

#include "compiler/Import/GGUF/GgufEncoder.h"

#include "compiler/Import/GGUF/GgufModelReader.h"

namespace llmc::gguf {

namespace {

using importer::EncoderLayer;
using importer::EncoderModel;
using importer::LayerNorm;
using importer::Weight;

/// Fills in an EncoderModel from a file. Every method adds one part of it.
class EncoderReader : GgufModelReader {
public:
  EncoderReader(const GgufFile &file, const importer::ImportOptions &options)
      : GgufModelReader(file, options) {}

  llvm::Expected<EncoderModel> read();

private:
  llvm::Error readSizes();
  llvm::Error readHeads();
  llvm::Error refuseCausal();
  llvm::Error readNorm(const Twine &name, LayerNorm &norm);
  llvm::Error readEmbeddings();
  llvm::Error readTokenType();
  llvm::Error readLayer(size_t index, EncoderLayer &layer);

  EncoderModel model;
  /// Rows of the table of positions.
  int64_t numPositions = 0;
};

//===----------------------------------------------------------------------===//
// Metadata
//===----------------------------------------------------------------------===//

llvm::Error EncoderReader::readSizes() {
  int64_t numLayers;
  if (llvm::Error error =
          readSize("block_count", numLayers, std::nullopt, kMaxLayers))
    return error;
  model.layers.resize(numLayers);
  if (llvm::Error error = readSize("embedding_length", model.hiddenSize))
    return error;
  if (llvm::Error error =
          readSize("feed_forward_length", model.feedForwardSize))
    return error;
  if (llvm::Error error = readSize("context_length", numPositions))
    return error;
  if (llvm::Error error =
          readContextLength(importer::kDefaultTextLength, model.contextLength))
    return error;
  return readReal("attention.layer_norm_epsilon", model.normEpsilon);
}

llvm::Error EncoderReader::readHeads() {
  if (llvm::Error error = readSize("attention.head_count", model.numHeads))
    return error;
  int64_t kvHeads;
  if (llvm::Error error =
          readSize("attention.head_count_kv", kvHeads, model.numHeads))
    return error;
  if (kvHeads != model.numHeads || model.hiddenSize % model.numHeads != 0)
    return fail("metadata '" + key("attention.head_count") + "' is " +
                Twine(model.numHeads) + " and '" +
                key("attention.head_count_kv") + "' " + Twine(kvHeads) +
                ", allowed are equal divisors of '" + key("embedding_length") +
                "', which is " + Twine(model.hiddenSize));
  model.headDim = model.hiddenSize / model.numHeads;
  return llvm::Error::success();
}

/// An encoder whose rows see only earlier ones would need another graph.
llvm::Error EncoderReader::refuseCausal() {
  auto isCausal = file.findBool(key("attention.causal"));
  if (!isCausal)
    return isCausal.takeError();
  if (isCausal->value_or(false))
    return fail("metadata '" + key("attention.causal") +
                "' is true, allowed is false");
  return llvm::Error::success();
}

//===----------------------------------------------------------------------===//
// Tensors
//===----------------------------------------------------------------------===//

llvm::Error EncoderReader::readNorm(const Twine &name, LayerNorm &norm) {
  if (llvm::Error error =
          readWeight(name + ".weight", {model.hiddenSize}, norm.gain))
    return error;
  return readWeight(name + ".bias", {model.hiddenSize}, norm.bias.emplace());
}

/// Texts are of type 0 throughout, so its row is a bias of all embeddings.
llvm::Error EncoderReader::readTokenType() {
  const char *name = "token_types.weight";
  const Tensor *table = file.findTensor(name);
  if (!table)
    return llvm::Error::success();
  int64_t numTypes = table->shape.empty() ? 0 : table->shape[0];
  Weight &row = model.tokenType.emplace();
  if (llvm::Error error = readWeight(name, {numTypes, model.hiddenSize}, row))
    return error;
  row.shape = {model.hiddenSize};
  return llvm::Error::success();
}

llvm::Error EncoderReader::readEmbeddings() {
  int64_t hidden = model.hiddenSize;
  if (llvm::Error error = readVocabularySize(model.vocabularySize))
    return error;
  if (llvm::Error error = readWeight(
          "token_embd.weight", {model.vocabularySize, hidden}, model.embedding))
    return error;
  if (llvm::Error error = readWeight("position_embd.weight",
                                     {numPositions, hidden}, model.positions))
    return error;
  if (llvm::Error error = readTokenType())
    return error;
  return readNorm("token_embd_norm", model.embeddingNorm);
}

llvm::Error EncoderReader::readLayer(size_t index, EncoderLayer &layer) {
  std::string prefix = "blk." + std::to_string(index) + ".";
  int64_t hidden = model.hiddenSize, inner = model.feedForwardSize;
  struct Part {
    const char *name;
    int64_t outputs, inputs;
    importer::Linear *linear;
  };
  for (const Part &part : {Part{"attn_q", hidden, hidden, &layer.query},
                           Part{"attn_k", hidden, hidden, &layer.key},
                           Part{"attn_v", hidden, hidden, &layer.value},
                           Part{"attn_output", hidden, hidden, &layer.output},
                           Part{"ffn_up", inner, hidden, &layer.up},
                           Part{"ffn_down", hidden, inner, &layer.down}})
    if (llvm::Error error =
            readLinear(prefix + part.name, part.outputs, part.inputs,
                       Bias::Required, *part.linear))
      return error;
  if (llvm::Error error =
          readNorm(prefix + "attn_output_norm", layer.attentionNorm))
    return error;
  return readNorm(prefix + "layer_output_norm", layer.outputNorm);
}

llvm::Expected<EncoderModel> EncoderReader::read() {
  if (llvm::Error error = readSource(model))
    return error;
  if (llvm::Error error = readSizes())
    return error;
  if (llvm::Error error = readHeads())
    return error;
  if (llvm::Error error = refuseCausal())
    return error;
  importer::PoolingOption pooling;
  if (llvm::Error error = readPooling(pooling))
    return error;
  model.pooling = pooling.mode;
  model.isNormalized = pooling.isNormalized;
  if (llvm::Error error = readEmbeddings())
    return error;
  for (auto [index, layer] : llvm::enumerate(model.layers))
    if (llvm::Error error = readLayer(index, layer))
      return error;
  if (llvm::Error error = refuseUnusedTensors())
    return error;
  return std::move(model);
}

} // namespace

llvm::Expected<EncoderModel>
readEncoder(const GgufFile &file, const importer::ImportOptions &options) {
  return EncoderReader(file, options).read();
}

} // namespace llmc::gguf
