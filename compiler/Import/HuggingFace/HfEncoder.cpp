// SPDX-License-Identifier: Apache-2.0
//
// Fields, tensor names and conventions of BERT and MPNet in Hugging Face
// directories, as the transformers library's model definitions have them.

#include "compiler/Import/HuggingFace/HfEncoder.h"

#include "compiler/Import/HuggingFace/ConfigReader.h"
#include "compiler/Import/HuggingFace/SentenceModules.h"
#include "compiler/Import/HuggingFace/TensorReader.h"

#include "llvm/Support/Path.h"

namespace llmc::huggingface {

namespace {

using importer::EncoderLayer;
using importer::EncoderModel;
using importer::LayerNorm;
using importer::Weight;

constexpr int64_t kMaxLayers = 1024;

/// What is particular to a model type.
struct EncoderType {
  StringRef name;
  /// The first row of the table of positions that a text uses: MPNet counts
  /// from behind its padding id on.
  int64_t firstPosition;
  bool hasTokenTypes, hasRelativeBias;
  /// Tensors of a layer.
  const char *query, *key, *value, *output, *attentionNorm;
};

constexpr EncoderType kTypes[] = {
    {"bert", /*firstPosition=*/0, /*hasTokenTypes=*/true,
     /*hasRelativeBias=*/false, "attention.self.query", "attention.self.key",
     "attention.self.value", "attention.output.dense",
     "attention.output.LayerNorm"},
    {"mpnet", /*firstPosition=*/2, /*hasTokenTypes=*/false,
     /*hasRelativeBias=*/true, "attention.attn.q", "attention.attn.k",
     "attention.attn.v", "attention.attn.o", "attention.LayerNorm"},
};

/// Where MPNet's ranges of distances end; its configuration can't say another.
constexpr int64_t kMaxDistance = 128;

const EncoderType *findType(const ModelFolder &folder) {
  auto name = folder.config().find("model_type");
  if (name == folder.config().end() || !name->is_string())
    return nullptr;
  for (const EncoderType &type : kTypes)
    if (name->get_ref<const std::string &>() == type.name.str())
      return &type;
  return nullptr;
}

/// Fills in an EncoderModel from a folder. Every method adds one part of it.
class EncoderReader {
public:
  EncoderReader(const ModelFolder &folder,
                const importer::ImportOptions &options)
      : folder(folder), options(options),
        config(folder.config(), folder.configPath()), tensors(folder),
        type(*findType(folder)) {}

  llvm::Expected<EncoderModel> read();

private:
  llvm::Error readSizes();
  llvm::Error readContextLength();
  llvm::Error readActivation();
  llvm::Error refuseFeatures();
  llvm::Error readPooling();

  llvm::Error readNorm(const std::string &name, const std::string &symbol,
                       LayerNorm &norm);
  llvm::Error readEmbeddings();
  llvm::Error readTokenType();
  llvm::Error readRelativeBias();
  llvm::Error readLayer(size_t index, EncoderLayer &layer);
  void ignoreHeads();

  const ModelFolder &folder;
  const importer::ImportOptions &options;
  ConfigReader config;
  TensorReader tensors;
  const EncoderType &type;
  /// Before all names, where the file is that of a model with a head.
  std::string prefix;
  int64_t numPositions = 0;
  EncoderModel model;
};

//===----------------------------------------------------------------------===//
// Configuration
//===----------------------------------------------------------------------===//

llvm::Error EncoderReader::readSizes() {
  int64_t numLayers;
  if (llvm::Error error = config.readSize("num_hidden_layers", numLayers,
                                          std::nullopt, kMaxLayers))
    return error;
  model.layers.resize(numLayers);
  if (llvm::Error error = config.readSize("hidden_size", model.hiddenSize))
    return error;
  if (llvm::Error error =
          config.readSize("intermediate_size", model.feedForwardSize))
    return error;
  if (llvm::Error error = config.readSize("vocab_size", model.vocabularySize))
    return error;
  if (llvm::Error error =
          config.readSize("num_attention_heads", model.numHeads))
    return error;
  if (model.hiddenSize % model.numHeads != 0)
    return config.refuse("num_attention_heads",
                         "are divisors of hidden_size, " +
                             Twine(model.hiddenSize));
  model.headDim = model.hiddenSize / model.numHeads;
  return config.readReal("layer_norm_eps", model.normEpsilon, 1e-12f);
}

llvm::Error EncoderReader::readContextLength() {
  if (llvm::Error error =
          config.readSize("max_position_embeddings", numPositions))
    return error;
  int64_t most = numPositions - type.firstPosition;
  if (most < 1)
    return config.refuse("max_position_embeddings",
                         "are numbers above " + Twine(type.firstPosition));
  auto length = options.chooseContextLength(folder.configPath(),
                                            "field 'max_position_embeddings'",
                                            most, importer::kDefaultTextLength);
  if (!length)
    return length.takeError();
  model.contextLength = *length;
  return llvm::Error::success();
}

llvm::Error EncoderReader::readActivation() {
  std::string name;
  if (llvm::Error error = config.readText("hidden_act", name, "gelu"))
    return error;
  if (name == "gelu")
    model.activation = importer::Activation::Gelu;
  else if (name == "gelu_new" || name == "gelu_pytorch_tanh")
    model.activation = importer::Activation::GeluTanh;
  else if (name == "relu")
    model.activation = importer::Activation::Relu;
  else
    return config.refuse("hidden_act",
                         "are gelu, gelu_new, gelu_pytorch_tanh, relu");
  return llvm::Error::success();
}

llvm::Error EncoderReader::refuseFeatures() {
  std::string positions;
  if (llvm::Error error =
          config.readText("position_embedding_type", positions, "absolute"))
    return error;
  if (positions != "absolute")
    return config.refuse("position_embedding_type", "is absolute");
  for (const char *field : {"is_decoder", "add_cross_attention"}) {
    bool isSet;
    if (llvm::Error error = config.readFlag(field, isSet, false))
      return error;
    if (isSet)
      return config.refuse(field, "is false");
  }
  if (config.has("quantization_config"))
    return config.refuse("quantization_config", "is its absence in encoders");
  return llvm::Error::success();
}

llvm::Error EncoderReader::readPooling() {
  auto pooling = huggingface::readPooling(folder, options);
  if (!pooling)
    return pooling.takeError();
  model.pooling = pooling->mode;
  model.isNormalized = pooling->isNormalized;
  return llvm::Error::success();
}

//===----------------------------------------------------------------------===//
// Tensors
//===----------------------------------------------------------------------===//

/// Old checkpoints say gamma and beta.
llvm::Error EncoderReader::readNorm(const std::string &name,
                                    const std::string &symbol,
                                    LayerNorm &norm) {
  bool isOld = tensors.has(name + ".gamma") && !tensors.has(name + ".weight");
  if (llvm::Error error =
          tensors.readWeight(name + (isOld ? ".gamma" : ".weight"),
                             symbol + ".weight", {model.hiddenSize}, norm.gain))
    return error;
  return tensors.readWeight(name + (isOld ? ".beta" : ".bias"),
                            symbol + ".bias", {model.hiddenSize},
                            norm.bias.emplace());
}

/// Texts are of type 0 throughout, so its row is a bias of all embeddings.
llvm::Error EncoderReader::readTokenType() {
  if (!type.hasTokenTypes)
    return llvm::Error::success();
  int64_t numTypes;
  if (llvm::Error error = config.readSize("type_vocab_size", numTypes, 2))
    return error;
  Weight &row = model.tokenType.emplace();
  if (llvm::Error error = tensors.readWeight(
          prefix + "embeddings.token_type_embeddings.weight",
          "token_types.weight", {numTypes, model.hiddenSize}, row))
    return error;
  row.shape = {model.hiddenSize};
  return llvm::Error::success();
}

/// All layers share one table of biases by bucket of distance; the model has
/// them by distance.
llvm::Error EncoderReader::readRelativeBias() {
  if (!type.hasRelativeBias)
    return llvm::Error::success();
  int64_t numBuckets;
  if (llvm::Error error =
          config.readSize("relative_attention_num_buckets", numBuckets, 32))
    return error;
  if (numBuckets % 4 != 0 || numBuckets / 4 >= kMaxDistance)
    return config.refuse("relative_attention_num_buckets",
                         "are multiples of 4 below " + Twine(4 * kMaxDistance));
  Weight &bias = model.relativeBias.emplace();
  std::string name = prefix + "encoder.relative_attention_bias.weight";
  if (llvm::Error error = tensors.readWeight(
          name, "relative_bias.weight", {numBuckets, model.numHeads}, bias))
    return error;
  std::vector<float> buckets(numBuckets * model.numHeads);
  graph::dequantizeRow(bias.encoding,
                       folder.tensorBytes(*folder.findTensor(name)).data(),
                       static_cast<int64_t>(buckets.size()), buckets.data());
  std::vector<float> table = importer::relativeBiasTable(
      buckets, numBuckets, model.contextLength - 1, kMaxDistance);
  bias = {"relative_bias.weight",
          {static_cast<int64_t>(table.size())},
          graph::Encoding::F32,
          /*offsetInBytes=*/0,
          static_cast<int64_t>(model.files.size() + model.tables.size())};
  model.tables.push_back(std::move(table));
  return llvm::Error::success();
}

llvm::Error EncoderReader::readEmbeddings() {
  int64_t hidden = model.hiddenSize;
  std::string embeddings = prefix + "embeddings.";
  if (llvm::Error error = tensors.readWeight(
          embeddings + "word_embeddings.weight", "token_embd.weight",
          {model.vocabularySize, hidden}, model.embedding))
    return error;
  if (llvm::Error error = tensors.readWeight(
          embeddings + "position_embeddings.weight", "position_embd.weight",
          {numPositions, hidden}, model.positions))
    return error;
  model.positions.shape[0] -= type.firstPosition;
  model.positions.offsetInBytes += *graph::encodedSizeInBytes(
      model.positions.encoding, type.firstPosition, hidden);
  tensors.ignore(embeddings + "position_ids");
  if (llvm::Error error = readTokenType())
    return error;
  return readNorm(embeddings + "LayerNorm", "token_embd_norm",
                  model.embeddingNorm);
}

llvm::Error EncoderReader::readLayer(size_t index, EncoderLayer &layer) {
  std::string from = prefix + "encoder.layer." + std::to_string(index) + ".";
  std::string to = "blk." + std::to_string(index) + ".";
  int64_t hidden = model.hiddenSize, inner = model.feedForwardSize;
  struct Part {
    const char *name, *symbol;
    int64_t outputs, inputs;
    importer::Linear *linear;
  };
  for (const Part &part :
       {Part{type.query, "attn_q", hidden, hidden, &layer.query},
        Part{type.key, "attn_k", hidden, hidden, &layer.key},
        Part{type.value, "attn_v", hidden, hidden, &layer.value},
        Part{type.output, "attn_output", hidden, hidden, &layer.output},
        Part{"intermediate.dense", "ffn_up", inner, hidden, &layer.up},
        Part{"output.dense", "ffn_down", hidden, inner, &layer.down}})
    if (llvm::Error error = tensors.readLinear(
            from + part.name, to + part.symbol, part.outputs, part.inputs,
            /*hasBias=*/true, *part.linear))
      return error;
  if (llvm::Error error =
          readNorm(from + type.attentionNorm, to + "attn_output_norm",
                   layer.attentionNorm))
    return error;
  return readNorm(from + "output.LayerNorm", to + "layer_output_norm",
                  layer.outputNorm);
}

void EncoderReader::ignoreHeads() {
  for (const char *head : {"cls.", "lm_head.", "pooler.", "classifier."}) {
    tensors.ignoreBelow(head);
    tensors.ignoreBelow(prefix + head);
  }
}

llvm::Expected<EncoderModel> EncoderReader::read() {
  model.files = folder.filePaths();
  model.architecture = type.name.str();
  model.name = llvm::sys::path::filename(folder.path().rtrim('/')).str();
  std::string withPrefix = (type.name + ".").str();
  if (tensors.has(withPrefix + "embeddings.word_embeddings.weight"))
    prefix = withPrefix;
  if (llvm::Error error = readSizes())
    return error;
  if (llvm::Error error = readContextLength())
    return error;
  if (llvm::Error error = readActivation())
    return error;
  if (llvm::Error error = refuseFeatures())
    return error;
  if (llvm::Error error = readPooling())
    return error;
  if (llvm::Error error = readEmbeddings())
    return error;
  if (llvm::Error error = readRelativeBias())
    return error;
  for (auto [index, layer] : llvm::enumerate(model.layers))
    if (llvm::Error error = readLayer(index, layer))
      return error;
  ignoreHeads();
  if (llvm::Error error = tensors.refuseUnused(type.name))
    return error;
  return std::move(model);
}

} // namespace

bool isEncoder(const ModelFolder &folder) {
  return findType(folder) != nullptr;
}

llvm::Expected<EncoderModel>
readEncoder(const ModelFolder &folder, const importer::ImportOptions &options) {
  return EncoderReader(folder, options).read();
}

} // namespace llmc::huggingface
