// SPDX-License-Identifier: Apache-2.0
//
// Metadata keys, tensor names and conventions of the decoder architectures in
// GGUF files. What architectures differ in is in the table kArchitectures.

#include "compiler/Import/GGUF/GgufDecoder.h"

#include "compiler/Import/GGUF/GgufEncoder.h"
#include "compiler/Import/GGUF/GgufModelReader.h"

namespace llmc::gguf {

namespace {

/// Of a convolution: more would take more registers than devices have.
constexpr uint64_t kMaxTaps = 9;

using graph::RotaryPairs;
using importer::DecoderLayer;
using importer::DecoderModel;
using importer::Linear;
using importer::Weight;

/// What is particular to an architecture.
struct Architecture {
  StringRef name;
  /// llama's converter permutes the rows of q and k so that pairs are adjacent.
  RotaryPairs rotaryPairs;
  Bias queryKeyValueBias;
  Bias otherBias;
  bool hasQueryKeyNorm;
  bool mayHaveRotaryFactors = false;
  /// What follows is gemma's: sqrt(hidden size) scales the embeddings, GELU the
  /// gate, and the parts are normed before they are added.
  bool isGemma = false;
  /// Every layer but the last of so many sees a window of keys only; 1: none.
  int64_t windowPattern = 1;
  /// Base of the rotation in layers with a window, which isn't scaled there; 0:
  /// as everywhere.
  float windowRotaryBase = 0.0f;
  bool hasSoftCaps = false;
  /// Layers without KV heads are gated convolutions, and the final norm is
  /// named after the embedding.
  bool hasShortConvs = false;
  /// The model of so many layers (27B) divides scores by the root of the hidden
  /// size per head, which differs from the head dimension there.
  size_t layersWithHiddenPerHead = 0;
  /// The feed-forward part of every layer is a mixture of experts.
  bool hasExperts = false;
};

constexpr Architecture kArchitectures[] = {
    {"llama", RotaryPairs::Adjacent, Bias::Optional, Bias::Optional,
     /*hasQueryKeyNorm=*/false, /*mayHaveRotaryFactors=*/true},
    {"qwen2", RotaryPairs::Half, Bias::Required, Bias::None,
     /*hasQueryKeyNorm=*/false},
    {"qwen3", RotaryPairs::Half, Bias::None, Bias::None,
     /*hasQueryKeyNorm=*/true},
    {"qwen3moe", RotaryPairs::Half, Bias::None, Bias::None,
     /*hasQueryKeyNorm=*/true, /*mayHaveRotaryFactors=*/false,
     /*isGemma=*/false, /*windowPattern=*/1, /*windowRotaryBase=*/0.0f,
     /*hasSoftCaps=*/false, /*hasShortConvs=*/false,
     /*layersWithHiddenPerHead=*/0, /*hasExperts=*/true},
    {"gemma2", RotaryPairs::Half, Bias::None, Bias::None,
     /*hasQueryKeyNorm=*/false, /*mayHaveRotaryFactors=*/false,
     /*isGemma=*/true, /*windowPattern=*/2, /*windowRotaryBase=*/0.0f,
     /*hasSoftCaps=*/true, /*hasShortConvs=*/false,
     /*layersWithHiddenPerHead=*/46},
    {"gemma3", RotaryPairs::Half, Bias::None, Bias::None,
     /*hasQueryKeyNorm=*/true, /*mayHaveRotaryFactors=*/false,
     /*isGemma=*/true, /*windowPattern=*/6, /*windowRotaryBase=*/10000.0f,
     /*hasSoftCaps=*/false, /*hasShortConvs=*/false,
     /*layersWithHiddenPerHead=*/62},
    {"lfm2", RotaryPairs::Half, Bias::None, Bias::None,
     /*hasQueryKeyNorm=*/true, /*mayHaveRotaryFactors=*/false,
     /*isGemma=*/false, /*windowPattern=*/1, /*windowRotaryBase=*/0.0f,
     /*hasSoftCaps=*/false, /*hasShortConvs=*/true},
};

std::string supportedArchitectures() {
  std::string names;
  for (const Architecture &candidate : kArchitectures)
    names += candidate.name.str() + ", ";
  return names + kEncoderArchitecture.str();
}

/// Fills in a DecoderModel from a file. Every method adds one part of it.
class DecoderReader : GgufModelReader {
public:
  DecoderReader(const GgufFile &file, const importer::ImportOptions &options)
      : GgufModelReader(file, options) {}

  llvm::Expected<DecoderModel> read();

private:
  // Metadata.
  llvm::Error readArchitecture();
  llvm::Error readEncoderUse();
  llvm::Error readSizes();
  llvm::Error readExpertCounts();
  llvm::Error readKvHeads();
  llvm::Error readHeads();
  llvm::Error readRotary();
  llvm::Error readRotaryScaling();
  llvm::Error readGemma();
  llvm::Error readWindows();

  // Tensors.
  llvm::Error readModelTensors();
  llvm::Error readLayer(size_t index, DecoderLayer &layer);
  llvm::Error readAttention(const Twine &prefix, DecoderLayer &layer);
  llvm::Error readShortConv(const Twine &prefix, importer::ShortConv &conv);
  llvm::Error readPostNorms(const Twine &prefix, DecoderLayer &layer);
  llvm::Error readFeedForward(const Twine &prefix, DecoderLayer &layer);
  llvm::Error readExperts(const Twine &prefix, importer::Experts &experts);
  llvm::Error readExpertWeight(const Twine &name, int64_t outputs,
                               int64_t inputs, importer::ExpertWeight &result);
  const Architecture *architecture = nullptr;
  DecoderModel model;
  /// Of a convolution.
  int64_t numTaps = 0;
  int64_t numExperts = 0, numUsedExperts = 0;
};

//===----------------------------------------------------------------------===//
// Metadata
//===----------------------------------------------------------------------===//

llvm::Error DecoderReader::readArchitecture() {
  llvm::Expected<StringRef> name = file.getString("general.architecture");
  if (!name)
    return name.takeError();
  for (const Architecture &candidate : kArchitectures)
    if (candidate.name == *name)
      architecture = &candidate;
  if (!architecture)
    return fail("metadata 'general.architecture' is '" + *name +
                "', supported are " + supportedArchitectures());
  return readSource(model, architecture->hasExperts);
}

/// A file whose rows see later ones, too, is an encoder.
llvm::Error DecoderReader::readEncoderUse() {
  std::string name = key("attention.causal");
  auto isCausal = file.findBool(name);
  if (!isCausal)
    return isCausal.takeError();
  if (isCausal->value_or(true))
    return llvm::Error::success();
  if (!architecture->hasShortConvs)
    return fail("metadata '" + name +
                "' is false, allowed is true for architecture " +
                architecture->name);
  return readPooling(model.pooling.emplace());
}

llvm::Error DecoderReader::readSizes() {
  int64_t numLayers;
  if (llvm::Error error =
          readSize("block_count", numLayers, std::nullopt, kMaxLayers))
    return error;
  model.layers.resize(numLayers);
  if (llvm::Error error = readSize("embedding_length", model.hiddenSize))
    return error;
  if (llvm::Error error =
          readSize(architecture->hasExperts ? "expert_feed_forward_length"
                                            : "feed_forward_length",
                   model.feedForwardSize))
    return error;
  if (llvm::Error error = readExpertCounts())
    return error;
  return readReal("attention.layer_norm_rms_epsilon", model.normEpsilon);
}

/// The chosen experts' weights add up to 1 and are a softmax; a file that says
/// otherwise is of another model.
llvm::Error DecoderReader::readExpertCounts() {
  if (!architecture->hasExperts)
    return llvm::Error::success();
  if (llvm::Error error = readSize("expert_count", numExperts, std::nullopt,
                                   importer::kMaxExperts))
    return error;
  if (llvm::Error error =
          readSize("expert_used_count", numUsedExperts, std::nullopt,
                   static_cast<uint64_t>(numExperts)))
    return error;
  constexpr uint64_t kSoftmax = 1;
  auto function = file.findUnsigned(key("expert_gating_func"));
  if (!function)
    return function.takeError();
  if (function->value_or(kSoftmax) != kSoftmax)
    return fail("metadata '" + key("expert_gating_func") + "' is " +
                Twine(**function) + ", allowed is 1 (softmax)");
  auto isNormalized = file.findBool(key("expert_weights_norm"));
  if (!isNormalized)
    return isNormalized.takeError();
  if (!isNormalized->value_or(true))
    return fail("metadata '" + key("expert_weights_norm") +
                "' is false, allowed is true");
  return llvm::Error::success();
}

/// The number of KV heads, or one for each layer, 0 where it is a convolution.
llvm::Error DecoderReader::readKvHeads() {
  if (!architecture->hasShortConvs)
    return readSize("attention.head_count_kv", model.numKvHeads,
                    model.numHeads);
  std::string name = key("attention.head_count_kv");
  llvm::Expected<std::vector<int64_t>> counts = file.getIntegers(name);
  if (!counts)
    return counts.takeError();
  if (counts->size() != model.layers.size())
    return fail("metadata '" + name + "' has " + Twine(counts->size()) +
                " numbers, allowed is one for each of the " +
                Twine(model.layers.size()) + " layers");
  model.numKvHeads = 0;
  for (auto [layer, count] : llvm::zip_equal(model.layers, *counts)) {
    if (count == 0)
      layer.conv.emplace();
    else if (model.numKvHeads == 0 && count > 0 && count <= model.numHeads)
      model.numKvHeads = count;
    else if (count != model.numKvHeads)
      return fail("metadata '" + name + "' has " + Twine(count) +
                  ", allowed are 0 and one number up to the " +
                  Twine(model.numHeads) + " heads");
  }
  if (model.numKvHeads == 0)
    return fail("metadata '" + name + "' has no layer of attention");
  if (llvm::Error error =
          readSize("shortconv.l_cache", numTaps, std::nullopt, kMaxTaps))
    return error;
  if (model.pooling && numTaps % 2 == 0)
    return fail("metadata '" + key("shortconv.l_cache") + "' is " +
                Twine(numTaps) + ", allowed are odd numbers in encoders");
  return llvm::Error::success();
}

llvm::Error DecoderReader::readHeads() {
  if (llvm::Error error = readSize("attention.head_count", model.numHeads))
    return error;
  if (llvm::Error error = readKvHeads())
    return error;
  if (model.numHeads % model.numKvHeads != 0)
    return fail("metadata '" + key("attention.head_count_kv") + "' is " +
                Twine(model.numKvHeads) + ", allowed are divisors of '" +
                key("attention.head_count") + "', which is " +
                Twine(model.numHeads));
  bool hasKeyLength = file.has(key("attention.key_length"));
  if (!hasKeyLength && model.hiddenSize % model.numHeads != 0)
    return fail("metadata '" + key("attention.key_length") +
                "' is missing and '" + key("embedding_length") + "' " +
                Twine(model.hiddenSize) + " is no multiple of the " +
                Twine(model.numHeads) + " heads");
  if (llvm::Error error = readSize("attention.key_length", model.headDim,
                                   model.hiddenSize / model.numHeads))
    return error;
  int64_t valueLength;
  if (llvm::Error error =
          readSize("attention.value_length", valueLength, model.headDim))
    return error;
  if (valueLength != model.headDim)
    return fail("metadata '" + key("attention.value_length") + "' is " +
                Twine(valueLength) + ", allowed is the length of keys, " +
                Twine(model.headDim));
  return llvm::Error::success();
}

llvm::Error DecoderReader::readRotary() {
  importer::Rotary &rotary = model.rotary;
  rotary.pairs = architecture->rotaryPairs;
  if (llvm::Error error = readReal("rope.freq_base", rotary.base, 10000.0f))
    return error;
  if (llvm::Error error =
          readSize("rope.dimension_count", rotary.dim, model.headDim))
    return error;
  if (rotary.dim % 2 != 0 || rotary.dim > model.headDim)
    return fail("metadata '" + key("rope.dimension_count") + "' is " +
                Twine(rotary.dim) + ", allowed are even numbers up to " +
                Twine(model.headDim));
  if (llvm::Error error = readRotaryScaling())
    return error;
  if (!architecture->mayHaveRotaryFactors)
    return llvm::Error::success();
  return readVector("rope_freqs.weight", rotary.dim / 2, rotary.factors);
}

/// Linear scaling by a factor f turns position p into p / f. Files of the time
/// before scaling types say `scale_linear` for the factor.
llvm::Error DecoderReader::readRotaryScaling() {
  auto type = file.findString(key("rope.scaling.type"));
  if (!type)
    return type.takeError();
  StringRef name = type->value_or("linear");
  if (name != "linear" && name != "none")
    return fail("metadata '" + key("rope.scaling.type") + "' is '" + name +
                "', supported are none, linear");
  float legacyFactor, factor;
  if (llvm::Error error = readReal("rope.scale_linear", legacyFactor, 1.0f))
    return error;
  if (llvm::Error error = readReal("rope.scaling.factor", factor, legacyFactor))
    return error;
  model.rotary.positionScale = name == "linear" ? 1.0f / factor : 1.0f;
  return llvm::Error::success();
}

/// Which layers see a window, and their rotation. Files say the window's
/// length; the pattern of layers only where it isn't the architecture's own.
llvm::Error DecoderReader::readWindows() {
  int64_t window, pattern;
  if (llvm::Error error = readSize("attention.sliding_window", window))
    return error;
  if (llvm::Error error = readSize("attention.sliding_window_pattern", pattern,
                                   architecture->windowPattern, kMaxLayers))
    return error;
  for (auto [index, layer] : llvm::enumerate(model.layers))
    if (static_cast<int64_t>(index) % pattern != pattern - 1)
      layer.window = window;
  if (architecture->windowRotaryBase == 0.0f)
    return llvm::Error::success();
  model.windowRotary.positionScale = 1.0f;
  return readReal("rope.freq_base_swa", model.windowRotary.base,
                  architecture->windowRotaryBase);
}

llvm::Error DecoderReader::readGemma() {
  model.windowRotary = model.rotary;
  model.scoreDivisor =
      model.layers.size() == architecture->layersWithHiddenPerHead
          ? model.hiddenSize / model.numHeads
          : model.headDim;
  if (!architecture->isGemma)
    return llvm::Error::success();
  model.activation = importer::Activation::GeluTanh;
  model.embeddingScale = std::sqrt(static_cast<float>(model.hiddenSize));
  if (architecture->hasSoftCaps) {
    if (llvm::Error error =
            readReal("attn_logit_softcapping", model.attentionSoftCap, 50.0f))
      return error;
    if (llvm::Error error =
            readReal("final_logit_softcapping", model.logitSoftCap, 30.0f))
      return error;
  }
  return readWindows();
}

//===----------------------------------------------------------------------===//
// Tensors
//===----------------------------------------------------------------------===//

/// A channel's taps are a row of the file's matrix; the model has them as one
/// vector.
llvm::Error DecoderReader::readShortConv(const Twine &prefix,
                                         importer::ShortConv &conv) {
  int64_t hidden = model.hiddenSize;
  if (llvm::Error error = readLinear(prefix + "shortconv.in_proj", 3 * hidden,
                                     hidden, Bias::None, conv.in))
    return error;
  if (llvm::Error error = readWeight(prefix + "shortconv.conv.weight",
                                     {hidden, numTaps}, conv.taps))
    return error;
  conv.taps.shape = {hidden * numTaps};
  return readLinear(prefix + "shortconv.out_proj", hidden, hidden, Bias::None,
                    conv.out);
}

llvm::Error DecoderReader::readAttention(const Twine &prefix,
                                         DecoderLayer &layer) {
  int64_t hidden = model.hiddenSize, dim = model.headDim;
  int64_t queries = model.numHeads * dim, keys = model.numKvHeads * dim;
  Bias bias = architecture->queryKeyValueBias;
  if (llvm::Error error =
          readLinear(prefix + "attn_q", queries, hidden, bias, layer.query))
    return error;
  if (llvm::Error error =
          readLinear(prefix + "attn_k", keys, hidden, bias, layer.key))
    return error;
  if (llvm::Error error =
          readLinear(prefix + "attn_v", keys, hidden, bias, layer.value))
    return error;
  if (llvm::Error error = readLinear(prefix + "attn_output", hidden, queries,
                                     architecture->otherBias, layer.output))
    return error;
  if (!architecture->hasQueryKeyNorm)
    return llvm::Error::success();
  if (llvm::Error error = readWeight(prefix + "attn_q_norm.weight", {dim},
                                     layer.queryNorm.emplace()))
    return error;
  return readWeight(prefix + "attn_k_norm.weight", {dim},
                    layer.keyNorm.emplace());
}

llvm::Error DecoderReader::readPostNorms(const Twine &prefix,
                                         DecoderLayer &layer) {
  if (!architecture->isGemma)
    return llvm::Error::success();
  if (llvm::Error error =
          readWeight(prefix + "post_attention_norm.weight", {model.hiddenSize},
                     layer.postAttentionNorm.emplace()))
    return error;
  return readWeight(prefix + "post_ffw_norm.weight", {model.hiddenSize},
                    layer.postFeedForwardNorm.emplace());
}

llvm::Error DecoderReader::readFeedForward(const Twine &prefix,
                                           DecoderLayer &layer) {
  int64_t hidden = model.hiddenSize, inner = model.feedForwardSize;
  Bias bias = architecture->otherBias;
  if (llvm::Error error =
          readLinear(prefix + "ffn_gate", inner, hidden, bias, layer.gate))
    return error;
  if (llvm::Error error =
          readLinear(prefix + "ffn_up", inner, hidden, bias, layer.up))
    return error;
  return readLinear(prefix + "ffn_down", hidden, inner, bias, layer.down);
}

/// The file's tensor [experts, outputs, inputs] is the experts' matrices behind
/// one another.
llvm::Error DecoderReader::readExpertWeight(const Twine &name, int64_t outputs,
                                            int64_t inputs,
                                            importer::ExpertWeight &result) {
  Weight weight;
  if (llvm::Error error =
          readWeight(name, {numExperts, outputs, inputs}, weight))
    return error;
  weight.shape = {numExperts * outputs, inputs};
  result = {weight.name, outputs, {weight}};
  return llvm::Error::success();
}

llvm::Error DecoderReader::readExperts(const Twine &prefix,
                                       importer::Experts &experts) {
  int64_t hidden = model.hiddenSize, inner = model.feedForwardSize;
  experts.numUsed = numUsedExperts;
  experts.isNormalized = true;
  if (llvm::Error error = readLinear(prefix + "ffn_gate_inp", numExperts,
                                     hidden, Bias::None, experts.router))
    return error;
  if (llvm::Error error = readExpertWeight(prefix + "ffn_gate_exps.weight",
                                           inner, hidden, experts.gate))
    return error;
  if (llvm::Error error = readExpertWeight(prefix + "ffn_up_exps.weight", inner,
                                           hidden, experts.up))
    return error;
  return readExpertWeight(prefix + "ffn_down_exps.weight", hidden, inner,
                          experts.down);
}

llvm::Error DecoderReader::readLayer(size_t index, DecoderLayer &layer) {
  std::string prefix = "blk." + std::to_string(index) + ".";
  int64_t hidden = model.hiddenSize;
  if (llvm::Error error = readWeight(prefix + "attn_norm.weight", {hidden},
                                     layer.attentionNorm))
    return error;
  if (llvm::Error error = layer.conv ? readShortConv(prefix, *layer.conv)
                                     : readAttention(prefix, layer))
    return error;
  if (llvm::Error error = readWeight(prefix + "ffn_norm.weight", {hidden},
                                     layer.feedForwardNorm))
    return error;
  if (llvm::Error error = architecture->hasExperts
                              ? readExperts(prefix, layer.experts.emplace())
                              : readFeedForward(prefix, layer))
    return error;
  return readPostNorms(prefix, layer);
}

llvm::Error DecoderReader::readModelTensors() {
  if (llvm::Error error = readVocabularySize(model.vocabularySize))
    return error;
  int64_t vocabulary = model.vocabularySize, hidden = model.hiddenSize;
  if (llvm::Error error = readWeight("token_embd.weight", {vocabulary, hidden},
                                     model.embedding))
    return error;
  if (llvm::Error error =
          readWeight(architecture->hasShortConvs ? "token_embd_norm.weight"
                                                 : "output_norm.weight",
                     {hidden}, model.outputNorm))
    return error;
  if (model.pooling)
    return llvm::Error::success();
  return readOptional("output.weight", {vocabulary, hidden}, model.output);
}

llvm::Expected<DecoderModel> DecoderReader::read() {
  if (llvm::Error error = readArchitecture())
    return error;
  if (llvm::Error error = readEncoderUse())
    return error;
  if (llvm::Error error = readSizes())
    return error;
  if (llvm::Error error = readHeads())
    return error;
  if (llvm::Error error =
          readContextLength(model.pooling ? importer::kDefaultTextLength
                                          : importer::kDefaultContextLength,
                            model.contextLength))
    return error;
  if (llvm::Error error = readRotary())
    return error;
  if (llvm::Error error = readGemma())
    return error;
  if (llvm::Error error = readModelTensors())
    return error;
  for (auto [index, layer] : llvm::enumerate(model.layers))
    if (llvm::Error error = readLayer(index, layer))
      return error;
  if (llvm::Error error = refuseUnusedTensors())
    return error;
  return std::move(model);
}

} // namespace

llvm::Expected<DecoderModel>
readDecoder(const GgufFile &file, const importer::ImportOptions &options) {
  return DecoderReader(file, options).read();
}

} // namespace llmc::gguf
