// SPDX-License-Identifier: Apache-2.0
//
// Fields, tensor names and conventions of decoders in Hugging Face directories,
// as the model definitions of the transformers library have them. What types
// differ in is in DecoderTypes.cpp.

#include "compiler/Import/HuggingFace/HfDecoder.h"

#include "compiler/Import/HuggingFace/ConfigReader.h"
#include "compiler/Import/HuggingFace/DecoderTypes.h"
#include "compiler/Import/HuggingFace/ExpertReader.h"
#include "compiler/Import/HuggingFace/FeedForwardConfig.h"
#include "compiler/Import/HuggingFace/Json.h"
#include "compiler/Import/HuggingFace/RotaryConfig.h"
#include "compiler/Import/HuggingFace/SentenceModules.h"
#include "compiler/Import/HuggingFace/TensorReader.h"

#include "llvm/Support/Path.h"

#include <cmath>

namespace llmc::huggingface {

namespace {

using importer::DecoderLayer;
using importer::DecoderModel;
using importer::Linear;
using importer::Weight;

constexpr int64_t kMaxLayers = 1024;
/// Of a convolution: more would take more registers than devices have.
constexpr int64_t kMaxTaps = 9;
constexpr const char *kBidirectionalLfm2 = "Lfm2BidirectionalModel";

/// Fills in a DecoderModel from a folder. Every method adds one part of it.
class DecoderReader {
public:
  DecoderReader(const ModelFolder &folder,
                const importer::ImportOptions &options)
      : folder(folder), options(options),
        config(folder.config(), folder.configPath()), tensors(folder) {}

  llvm::Expected<DecoderModel> read();

private:
  // Configuration.
  llvm::Error readType();
  llvm::Error readEncoderUse();
  llvm::Error readSizes();
  llvm::Error readFeedForwardSize();
  llvm::Error readHeads();
  llvm::Error readContextLength();
  llvm::Error readActivation();
  llvm::Error readRotary();
  void addRotaryFactors(const std::vector<float> &factors,
                        importer::Rotary &rotary);
  llvm::Error readGemma();
  llvm::Error readWindows();
  llvm::Error readConvolutions();
  llvm::Error readBiases();
  llvm::Error readQuantization();

  // Tensors.
  llvm::Error readGain(const Twine &name, const Twine &symbol, int64_t size,
                       Weight &result);
  llvm::Error readModelTensors();
  llvm::Error readOutput();
  llvm::Error readLayer(size_t index, DecoderLayer &layer);
  llvm::Error readAttention(const std::string &prefix,
                            const std::string &symbol, DecoderLayer &layer);
  llvm::Error readShortConv(const std::string &prefix,
                            const std::string &symbol,
                            importer::ShortConv &conv);
  llvm::Error readFeedForward(const std::string &prefix,
                              const std::string &symbol, DecoderLayer &layer);
  llvm::Error readNorms(const std::string &prefix, const std::string &symbol,
                        DecoderLayer &layer);

  const ModelFolder &folder;
  const importer::ImportOptions &options;
  ConfigReader config;
  TensorReader tensors;
  const DecoderType *type = nullptr;
  bool hasQueryKeyValueBias = false, hasOutputBias = false;
  bool hasFeedForwardBias = false;
  /// Of a convolution.
  int64_t numTaps = 0;
  /// Before the names of all tensors but `lm_head`.
  std::string root = "model.";
  std::optional<ExpertReader> experts;
  DecoderModel model;
};

//===----------------------------------------------------------------------===//
// Configuration
//===----------------------------------------------------------------------===//

llvm::Error DecoderReader::readType() {
  std::string name;
  if (llvm::Error error = config.readText("model_type", name))
    return error;
  type = findDecoderType(name);
  if (!type)
    return config.refuse("model_type",
                         "are " + supportedDecoderTypes() + ", bert, mpnet");
  model.files = folder.filePaths();
  model.architecture = type->architecture.str();
  model.name = llvm::sys::path::filename(folder.path().rtrim('/')).str();
  return llvm::Error::success();
}

/// Liquid's models of rows that see later ones, too, share the type of the
/// decoder; a model without a head has no prefix before its tensors.
llvm::Error DecoderReader::readEncoderUse() {
  std::vector<std::string> architectures;
  if (llvm::Error error =
          config.readTexts("architectures", architectures, architectures))
    return error;
  if (!llvm::any_of(architectures,
                    [](StringRef name) { return name.contains("Bidir"); }))
    return llvm::Error::success();
  if (!type->isLfm2 || architectures.front() != kBidirectionalLfm2)
    return config.refuse("architectures",
                         "is " + Twine(kBidirectionalLfm2) +
                             " among those whose rows see later ones, too");
  auto pooling = readPooling(folder, options);
  if (!pooling)
    return pooling.takeError();
  model.pooling = *pooling;
  if (tensors.has("embed_tokens.weight"))
    root.clear();
  return llvm::Error::success();
}

llvm::Error DecoderReader::readSizes() {
  int64_t numLayers;
  if (llvm::Error error = config.readSize("num_hidden_layers", numLayers,
                                          std::nullopt, kMaxLayers))
    return error;
  model.layers.resize(numLayers);
  if (llvm::Error error = config.readSize("hidden_size", model.hiddenSize))
    return error;
  if (llvm::Error error = readFeedForwardSize())
    return error;
  if (llvm::Error error = config.readSize("vocab_size", model.vocabularySize))
    return error;
  return type->isLfm2
             ? config.readReal("norm_eps", model.normEpsilon, 1e-5f)
             : config.readReal("rms_norm_eps", model.normEpsilon, 1e-6f);
}

llvm::Error DecoderReader::readFeedForwardSize() {
  if (type->hasExperts) {
    auto reader = ExpertReader::create(config, model.hiddenSize);
    if (!reader)
      return reader.takeError();
    model.feedForwardSize = reader->feedForwardSize();
    experts = *reader;
    return llvm::Error::success();
  }
  return huggingface::readFeedForwardSize(config, type->isLfm2,
                                          model.feedForwardSize);
}

llvm::Error DecoderReader::readHeads() {
  if (llvm::Error error =
          config.readSize("num_attention_heads", model.numHeads))
    return error;
  if (llvm::Error error = config.readSize("num_key_value_heads",
                                          model.numKvHeads, model.numHeads))
    return error;
  if (model.numHeads % model.numKvHeads != 0)
    return config.refuse("num_key_value_heads",
                         "are divisors of num_attention_heads, " +
                             Twine(model.numHeads));
  int64_t absent = type->defaultHeadDim;
  if (absent == 0) {
    if (!config.has("head_dim") && model.hiddenSize % model.numHeads != 0)
      return config.refuse("head_dim",
                           "is its absence only where hidden_size is a "
                           "multiple of num_attention_heads");
    absent = model.hiddenSize / model.numHeads;
  }
  if (llvm::Error error = config.readSize("head_dim", model.headDim, absent))
    return error;
  if (model.headDim % 2 != 0)
    return config.refuse("head_dim", "are even numbers");
  model.scoreDivisor = model.headDim;
  return llvm::Error::success();
}

llvm::Error DecoderReader::readContextLength() {
  int64_t most;
  if (llvm::Error error = config.readSize("max_position_embeddings", most))
    return error;
  auto length = options.chooseContextLength(
      folder.configPath(), "field 'max_position_embeddings'", most,
      model.pooling ? importer::kDefaultTextLength
                    : importer::kDefaultContextLength);
  if (!length)
    return length.takeError();
  model.contextLength = *length;
  return llvm::Error::success();
}

llvm::Error DecoderReader::readActivation() {
  const char *field = type->isGemma ? "hidden_activation" : "hidden_act";
  const char *wanted = type->isGemma ? "gelu_pytorch_tanh" : "silu";
  std::string found;
  if (llvm::Error error = config.readText(field, found, wanted))
    return error;
  if (found != wanted)
    return config.refuse(field, "is " + Twine(wanted));
  if (type->isGemma)
    model.activation = importer::Activation::GeluTanh;
  return llvm::Error::success();
}

/// Factors that are all 1 change nothing and are left out.
void DecoderReader::addRotaryFactors(const std::vector<float> &factors,
                                     importer::Rotary &rotary) {
  if (llvm::all_of(factors, [](float factor) { return factor == 1.0f; }))
    return;
  Weight &weight = rotary.factors.emplace();
  weight.name = "rope_freqs.weight";
  weight.shape = {static_cast<int64_t>(factors.size())};
  weight.encoding = graph::Encoding::F32;
  weight.offsetInBytes = 0;
  weight.file = static_cast<int64_t>(model.files.size() + model.tables.size());
  model.tables.push_back(factors);
}

llvm::Error DecoderReader::readRotary() {
  auto rotary = readRotaryConfig(config, model.headDim, type->defaultRotaryBase,
                                 "full_attention");
  if (!rotary)
    return rotary.takeError();
  model.rotary = {graph::RotaryPairs::Half, rotary->base, model.headDim,
                  rotary->positionScale, std::nullopt};
  addRotaryFactors(rotary->factors, model.rotary);
  model.windowRotary = model.rotary;
  if (!type->hasLocalRotary)
    return llvm::Error::success();
  float localBase;
  if (llvm::Error error =
          config.readReal("rope_local_base_freq", localBase, 10000.0f))
    return error;
  model.windowRotary = {graph::RotaryPairs::Half, localBase, model.headDim,
                        1.0f, std::nullopt};
  auto parameters = config.findObject("rope_parameters");
  if (!parameters)
    return parameters.takeError();
  if (!*parameters || !(*parameters)->has("sliding_attention"))
    return llvm::Error::success();
  auto local =
      readRotaryConfig(config, model.headDim, localBase, "sliding_attention");
  if (!local)
    return local.takeError();
  model.windowRotary.base = local->base;
  model.windowRotary.positionScale = local->positionScale;
  addRotaryFactors(local->factors, model.windowRotary);
  return llvm::Error::success();
}

llvm::Error DecoderReader::readGemma() {
  if (!type->isGemma)
    return llvm::Error::success();
  model.embeddingScale = std::sqrt(static_cast<float>(model.hiddenSize));
  if (llvm::Error error =
          config.readSize("query_pre_attn_scalar", model.scoreDivisor, 256))
    return error;
  for (auto [field, absent, cap] :
       {std::tuple("attn_logit_softcapping", 50.0f, &model.attentionSoftCap),
        std::tuple("final_logit_softcapping", 30.0f, &model.logitSoftCap)}) {
    // Null means none, so absent is not the same here.
    if (!config.has(field) &&
        (!type->hasSoftCaps || folder.config().contains(field)))
      continue;
    if (llvm::Error error = config.readReal(field, *cap, absent))
      return error;
  }
  bool isBidirectional;
  if (llvm::Error error = config.readFlag("use_bidirectional_attention",
                                          isBidirectional, false))
    return error;
  if (isBidirectional)
    return config.refuse("use_bidirectional_attention", "is false");
  return llvm::Error::success();
}

/// Which layers see a window: `layer_types`, where absent gemma's pattern, or
/// qwen's layers from `max_window_layers` on if `use_sliding_window`.
llvm::Error DecoderReader::readWindows() {
  int64_t pattern, firstWithWindow = kMaxLayers;
  bool usesWindow;
  const char *patternField = config.has("_sliding_window_pattern")
                                 ? "_sliding_window_pattern"
                                 : "sliding_window_pattern";
  if (llvm::Error error = config.readSize(patternField, pattern,
                                          type->windowPattern, kMaxLayers))
    return error;
  std::vector<std::string> types =
      layerTypesOfPattern(model.layers.size(), pattern);
  if (llvm::Error error = config.readFlag("use_sliding_window", usesWindow,
                                          /*absent=*/type->isGemma))
    return error;
  if (usesWindow && !type->isGemma) {
    if (llvm::Error error =
            config.readSize("max_window_layers", firstWithWindow, 28))
      return error;
    for (size_t index = firstWithWindow; index < types.size(); ++index)
      types[index] = "sliding_attention";
  }
  if (llvm::Error error = config.readTexts("layer_types", types, types))
    return error;
  if (types.size() != model.layers.size())
    return config.refuse("layer_types", "are as many as there are layers");
  for (auto [layerType, layer] : llvm::zip_equal(types, model.layers)) {
    if (layerType == "full_attention")
      continue;
    if (layerType == "conv" && type->isLfm2) {
      layer.conv.emplace();
      continue;
    }
    if (layerType != "sliding_attention" || type->isLfm2)
      return config.refuse("layer_types",
                           type->isLfm2
                               ? "are full_attention and conv"
                               : "are full_attention and sliding_attention");
    if (llvm::Error error = config.readSize("sliding_window", layer.window))
      return error;
  }
  return llvm::Error::success();
}

llvm::Error DecoderReader::readConvolutions() {
  if (!type->isLfm2)
    return llvm::Error::success();
  bool hasBias;
  if (llvm::Error error = config.readFlag("conv_bias", hasBias, false))
    return error;
  if (hasBias)
    return config.refuse("conv_bias", "is false");
  if (!config.has("layer_types"))
    return config.refuse("layer_types",
                         "are arrays of full_attention and conv");
  if (llvm::Error error = config.readSize("conv_L_cache", numTaps, 3, kMaxTaps))
    return error;
  if (model.pooling && numTaps % 2 == 0)
    return config.refuse("conv_L_cache", "are odd numbers in encoders");
  return llvm::Error::success();
}

llvm::Error DecoderReader::readBiases() {
  if (llvm::Error error =
          config.readFlag("attention_bias", hasOutputBias, false))
    return error;
  hasQueryKeyValueBias = type->queryKeyValueBias == Bias::Yes || hasOutputBias;
  hasOutputBias = hasOutputBias && type->queryKeyValueBias != Bias::Yes;
  if (llvm::Error error =
          config.readFlag("mlp_bias", hasFeedForwardBias, false))
    return error;
  if (hasFeedForwardBias && !type->mayHaveFeedForwardBias)
    return config.refuse("mlp_bias", "is false");
  return llvm::Error::success();
}

llvm::Error DecoderReader::readQuantization() {
  auto quantization = readQuantizationConfig(config);
  if (!quantization)
    return quantization.takeError();
  tensors.setQuantization(*quantization);
  return llvm::Error::success();
}

//===----------------------------------------------------------------------===//
// Tensors
//===----------------------------------------------------------------------===//

llvm::Error DecoderReader::readGain(const Twine &name, const Twine &symbol,
                                    int64_t size, Weight &result) {
  if (llvm::Error error = tensors.readWeight(name, symbol, {size}, result))
    return error;
  result.addend = type->isGemma ? 1.0f : 0.0f;
  return llvm::Error::success();
}

llvm::Error DecoderReader::readAttention(const std::string &prefix,
                                         const std::string &symbol,
                                         DecoderLayer &layer) {
  int64_t hidden = model.hiddenSize, dim = model.headDim;
  int64_t queries = model.numHeads * dim, keys = model.numKvHeads * dim;
  bool bias = hasQueryKeyValueBias;
  std::string self = prefix + "self_attn.";
  if (llvm::Error error =
          tensors.readLinear(self + "q_proj", symbol + "attn_q", queries,
                             hidden, bias, layer.query))
    return error;
  if (llvm::Error error = tensors.readLinear(self + "k_proj", symbol + "attn_k",
                                             keys, hidden, bias, layer.key))
    return error;
  if (llvm::Error error = tensors.readLinear(self + "v_proj", symbol + "attn_v",
                                             keys, hidden, bias, layer.value))
    return error;
  if (llvm::Error error = tensors.readLinear(
          prefix + type->names().output, symbol + "attn_output", hidden,
          queries, hasOutputBias, layer.output))
    return error;
  if (!type->hasQueryKeyNorm)
    return llvm::Error::success();
  if (llvm::Error error = readGain(prefix + type->names().queryNorm + ".weight",
                                   symbol + "attn_q_norm.weight", dim,
                                   layer.queryNorm.emplace()))
    return error;
  return readGain(prefix + type->names().keyNorm + ".weight",
                  symbol + "attn_k_norm.weight", dim, layer.keyNorm.emplace());
}

/// A channel's taps are a row of the file's tensor; the model has them as one
/// vector.
llvm::Error DecoderReader::readShortConv(const std::string &prefix,
                                         const std::string &symbol,
                                         importer::ShortConv &conv) {
  int64_t hidden = model.hiddenSize;
  if (llvm::Error error = tensors.readLinear(
          prefix + "conv.in_proj", symbol + "shortconv.in_proj", 3 * hidden,
          hidden, /*hasBias=*/false, conv.in))
    return error;
  if (llvm::Error error = tensors.readWeight(prefix + "conv.conv.weight",
                                             symbol + "shortconv.conv.weight",
                                             {hidden, 1, numTaps}, conv.taps))
    return error;
  conv.taps.shape = {hidden * numTaps};
  return tensors.readLinear(prefix + "conv.out_proj",
                            symbol + "shortconv.out_proj", hidden, hidden,
                            /*hasBias=*/false, conv.out);
}

llvm::Error DecoderReader::readFeedForward(const std::string &prefix,
                                           const std::string &symbol,
                                           DecoderLayer &layer) {
  int64_t hidden = model.hiddenSize, inner = model.feedForwardSize;
  bool bias = hasFeedForwardBias;
  if (llvm::Error error =
          tensors.readLinear(prefix + type->names().gate, symbol + "ffn_gate",
                             inner, hidden, bias, layer.gate))
    return error;
  if (llvm::Error error =
          tensors.readLinear(prefix + type->names().up, symbol + "ffn_up",
                             inner, hidden, bias, layer.up))
    return error;
  return tensors.readLinear(prefix + type->names().down, symbol + "ffn_down",
                            hidden, inner, bias, layer.down);
}

/// `post_attention_layernorm` comes before the feed-forward part, but in gemma
/// before the sum.
llvm::Error DecoderReader::readNorms(const std::string &prefix,
                                     const std::string &symbol,
                                     DecoderLayer &layer) {
  int64_t hidden = model.hiddenSize;
  if (llvm::Error error =
          readGain(prefix + type->names().attentionNorm + ".weight",
                   symbol + "attn_norm.weight", hidden, layer.attentionNorm))
    return error;
  if (!type->isGemma)
    return readGain(prefix + type->names().feedForwardNorm + ".weight",
                    symbol + "ffn_norm.weight", hidden, layer.feedForwardNorm);
  if (llvm::Error error = readGain(prefix + "post_attention_layernorm.weight",
                                   symbol + "post_attention_norm.weight",
                                   hidden, layer.postAttentionNorm.emplace()))
    return error;
  if (llvm::Error error =
          readGain(prefix + "pre_feedforward_layernorm.weight",
                   symbol + "ffn_norm.weight", hidden, layer.feedForwardNorm))
    return error;
  return readGain(prefix + "post_feedforward_layernorm.weight",
                  symbol + "post_ffw_norm.weight", hidden,
                  layer.postFeedForwardNorm.emplace());
}

llvm::Error DecoderReader::readLayer(size_t index, DecoderLayer &layer) {
  std::string prefix = root + "layers." + std::to_string(index) + ".";
  std::string symbol = "blk." + std::to_string(index) + ".";
  if (llvm::Error error = readNorms(prefix, symbol, layer))
    return error;
  if (llvm::Error error = layer.conv
                              ? readShortConv(prefix, symbol, *layer.conv)
                              : readAttention(prefix, symbol, layer))
    return error;
  // Old checkpoints carry the table of frequencies that follows from the base.
  tensors.ignore(prefix + "self_attn.rotary_emb.inv_freq");
  if (experts)
    return experts->read(tensors, prefix, symbol, layer.experts.emplace());
  return readFeedForward(prefix, symbol, layer);
}

/// The output matrix is the embedding when the configuration ties them; a copy
/// of it may be there all the same.
llvm::Error DecoderReader::readOutput() {
  constexpr const char *kName = "lm_head.weight";
  bool isTied;
  if (llvm::Error error = config.readFlag(
          type->isLfm2 && config.has("tie_embedding") ? "tie_embedding"
                                                      : "tie_word_embeddings",
          isTied, type->defaultTied))
    return error;
  if (!isTied) {
    Linear output;
    if (llvm::Error error =
            tensors.readLinear("lm_head", "output", model.vocabularySize,
                               model.hiddenSize, /*hasBias=*/false, output))
      return error;
    model.output = output.weight;
    return llvm::Error::success();
  }
  std::optional<PlacedTensor> copy = folder.findTensor(kName);
  if (!copy)
    return llvm::Error::success();
  auto embedding = folder.findTensor("model.embed_tokens.weight");
  if (copy->tensor->dtype != embedding->tensor->dtype ||
      folder.tensorBytes(*copy) != folder.tensorBytes(*embedding))
    return llvm::createStringError(
        folder.path() + ": tensor '" + kName +
        "' differs from 'model.embed_tokens.weight', but config.json says "
        "tie_word_embeddings");
  tensors.ignore(kName);
  return llvm::Error::success();
}

llvm::Error DecoderReader::readModelTensors() {
  if (llvm::Error error = tensors.readWeight(
          root + "embed_tokens.weight", "token_embd.weight",
          {model.vocabularySize, model.hiddenSize}, model.embedding))
    return error;
  if (llvm::Error error =
          readGain(root + type->names().outputNorm + ".weight",
                   Twine(type->names().outputNormSymbol) + ".weight",
                   model.hiddenSize, model.outputNorm))
    return error;
  return model.pooling ? llvm::Error::success() : readOutput();
}

llvm::Expected<DecoderModel> DecoderReader::read() {
  if (llvm::Error error = readType())
    return error;
  if (llvm::Error error = readEncoderUse())
    return error;
  if (llvm::Error error = readSizes())
    return error;
  if (llvm::Error error = readHeads())
    return error;
  if (llvm::Error error = readContextLength())
    return error;
  if (llvm::Error error = readActivation())
    return error;
  if (llvm::Error error = readRotary())
    return error;
  if (llvm::Error error = readGemma())
    return error;
  if (llvm::Error error = readWindows())
    return error;
  if (llvm::Error error = readConvolutions())
    return error;
  if (llvm::Error error = readBiases())
    return error;
  if (llvm::Error error = readQuantization())
    return error;
  if (llvm::Error error = readModelTensors())
    return error;
  for (auto [index, layer] : llvm::enumerate(model.layers))
    if (llvm::Error error = readLayer(index, layer))
      return error;
  if (llvm::Error error = tensors.refuseUnused(type->name))
    return error;
  return std::move(model);
}

} // namespace

llvm::Expected<DecoderModel>
readDecoder(const ModelFolder &folder, const importer::ImportOptions &options) {
  return DecoderReader(folder, options).read();
}

} // namespace llmc::huggingface
