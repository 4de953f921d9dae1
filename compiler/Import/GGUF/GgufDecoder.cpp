// SPDX-License-Identifier: Apache-2.0
//
// Metadata keys, tensor names and conventions of the decoder architectures in
// GGUF files. What architectures differ in is in the table kArchitectures.

#include "compiler/Import/GGUF/GgufDecoder.h"

#include "llvm/ADT/StringSet.h"
#include "llvm/Support/Path.h"

namespace llmc::gguf {

namespace {

using graph::RotaryPairs;
using importer::DecoderLayer;
using importer::DecoderModel;
using importer::Linear;
using importer::Weight;

/// Sizes beyond it are refused, so that products of two of them can't wrap.
constexpr uint64_t kMaxSize = uint64_t(1) << 28;
constexpr uint64_t kMaxLayers = 1024;

/// Whether a linear's bias is part of an architecture.
enum class Bias { None, Optional, Required };

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
  /// The model of so many layers (27B) divides scores by the root of the hidden
  /// size per head, which differs from the head dimension there.
  size_t layersWithHiddenPerHead = 0;
};

constexpr Architecture kArchitectures[] = {
    {"llama", RotaryPairs::Adjacent, Bias::Optional, Bias::Optional,
     /*hasQueryKeyNorm=*/false, /*mayHaveRotaryFactors=*/true},
    {"qwen2", RotaryPairs::Half, Bias::Required, Bias::None,
     /*hasQueryKeyNorm=*/false},
    {"qwen3", RotaryPairs::Half, Bias::None, Bias::None,
     /*hasQueryKeyNorm=*/true},
    {"gemma2", RotaryPairs::Half, Bias::None, Bias::None,
     /*hasQueryKeyNorm=*/false, /*mayHaveRotaryFactors=*/false,
     /*isGemma=*/true, /*windowPattern=*/2, /*windowRotaryBase=*/0.0f,
     /*hasSoftCaps=*/true, /*layersWithHiddenPerHead=*/46},
    {"gemma3", RotaryPairs::Half, Bias::None, Bias::None,
     /*hasQueryKeyNorm=*/true, /*mayHaveRotaryFactors=*/false,
     /*isGemma=*/true, /*windowPattern=*/6, /*windowRotaryBase=*/10000.0f,
     /*hasSoftCaps=*/false, /*layersWithHiddenPerHead=*/62},
};

/// Fills in a DecoderModel from a file. Every method adds one part of it.
class DecoderReader {
public:
  DecoderReader(const GgufFile &file, const importer::ImportOptions &options)
      : file(file), options(options) {}

  llvm::Expected<DecoderModel> read();

private:
  llvm::Error fail(const Twine &message) const {
    return llvm::createStringError(file.path() + ": " + message);
  }
  std::string key(const Twine &name) const {
    return (architecture->name + "." + name).str();
  }

  // Metadata. `name` is the key without the architecture.
  llvm::Error readSize(const Twine &name, int64_t &result,
                       std::optional<int64_t> absent = std::nullopt,
                       uint64_t most = kMaxSize);
  llvm::Error readReal(const Twine &name, float &result,
                       std::optional<float> absent = std::nullopt);
  llvm::Error readArchitecture();
  llvm::Error readSizes();
  llvm::Error readHeads();
  llvm::Error readContextLength();
  llvm::Error readRotary();
  llvm::Error readRotaryScaling();
  llvm::Error readGemma();
  llvm::Error readWindows();
  llvm::Error refuseExperts();

  // Tensors.
  llvm::Error readWeight(const Twine &name, ArrayRef<int64_t> shape,
                         Weight &result);
  llvm::Error readOptional(const Twine &name, ArrayRef<int64_t> shape,
                           std::optional<Weight> &result);
  llvm::Error readVector(const Twine &name, int64_t size,
                         std::optional<Weight> &result);
  llvm::Error readLinear(const Twine &name, int64_t outputs, int64_t inputs,
                         Bias bias, Linear &result);
  llvm::Error readModelTensors();
  llvm::Error readLayer(size_t index, DecoderLayer &layer);
  llvm::Error readAttention(const Twine &prefix, DecoderLayer &layer);
  llvm::Error readPostNorms(const Twine &prefix, DecoderLayer &layer);
  llvm::Error readVocabulary();
  llvm::Error refuseUnusedTensors();

  const GgufFile &file;
  const importer::ImportOptions &options;
  const Architecture *architecture = nullptr;
  DecoderModel model;
  llvm::StringSet<> used;
};

//===----------------------------------------------------------------------===//
// Metadata
//===----------------------------------------------------------------------===//

llvm::Error DecoderReader::readSize(const Twine &name, int64_t &result,
                                    std::optional<int64_t> absent,
                                    uint64_t most) {
  std::string fullKey = key(name);
  if (absent && !file.has(fullKey)) {
    result = *absent;
    return llvm::Error::success();
  }
  llvm::Expected<uint64_t> size = file.getUnsigned(fullKey);
  if (!size)
    return size.takeError();
  if (*size < 1 || *size > most)
    return fail("metadata '" + fullKey + "' is " + Twine(*size) +
                ", allowed are 1 to " + Twine(most));
  result = static_cast<int64_t>(*size);
  return llvm::Error::success();
}

/// Reads a positive, finite number.
llvm::Error DecoderReader::readReal(const Twine &name, float &result,
                                    std::optional<float> absent) {
  std::string fullKey = key(name);
  if (absent && !file.has(fullKey)) {
    result = *absent;
    return llvm::Error::success();
  }
  llvm::Expected<double> number = file.getFloat(fullKey);
  if (!number)
    return number.takeError();
  result = static_cast<float>(*number);
  if (!(result > 0) || !std::isfinite(result))
    return fail("metadata '" + fullKey + "' is " + std::to_string(*number) +
                ", allowed are positive finite numbers");
  return llvm::Error::success();
}

llvm::Error DecoderReader::readArchitecture() {
  llvm::Expected<StringRef> name = file.getString("general.architecture");
  if (!name)
    return name.takeError();
  std::string supported;
  for (const Architecture &candidate : kArchitectures) {
    if (candidate.name == *name)
      architecture = &candidate;
    supported += (supported.empty() ? "" : ", ") + candidate.name.str();
  }
  if (!architecture)
    return fail("metadata 'general.architecture' is '" + *name +
                "', supported are " + supported);
  model.files = {file.path().str()};
  model.architecture = name->str();
  llvm::Expected<std::optional<StringRef>> title =
      file.findString("general.name");
  if (!title)
    return title.takeError();
  model.name = title->value_or(llvm::sys::path::stem(file.path())).str();
  return refuseExperts();
}

/// The same architecture names also stand for mixtures of experts.
llvm::Error DecoderReader::refuseExperts() {
  auto count = file.findUnsigned(key("expert_count"));
  if (!count)
    return count.takeError();
  if (count->value_or(0) > 0)
    return fail("metadata '" + key("expert_count") + "' is " + Twine(**count) +
                ", allowed is 0: mixtures of experts are not supported");
  return llvm::Error::success();
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
          readSize("feed_forward_length", model.feedForwardSize))
    return error;
  return readReal("attention.layer_norm_rms_epsilon", model.normEpsilon);
}

llvm::Error DecoderReader::readHeads() {
  if (llvm::Error error = readSize("attention.head_count", model.numHeads))
    return error;
  if (llvm::Error error =
          readSize("attention.head_count_kv", model.numKvHeads, model.numHeads))
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

llvm::Error DecoderReader::readContextLength() {
  int64_t most;
  if (llvm::Error error = readSize("context_length", most))
    return error;
  if (options.contextLength < 0 || options.contextLength > most)
    return fail("the requested context length is " +
                Twine(options.contextLength) + ", allowed are 1 to " +
                Twine(most) + " (metadata '" + key("context_length") + "')");
  model.contextLength = options.contextLength != 0
                            ? options.contextLength
                            : std::min(most, importer::kDefaultContextLength);
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

/// "[2048, 256]", outermost dimension first.
std::string shapeText(ArrayRef<int64_t> shape) {
  std::string text;
  for (int64_t size : shape)
    text += (text.empty() ? "[" : ", ") + std::to_string(size);
  return text + "]";
}

llvm::Error DecoderReader::readWeight(const Twine &name,
                                      ArrayRef<int64_t> shape, Weight &result) {
  std::string fullName = name.str();
  const Tensor *tensor = file.findTensor(fullName);
  if (!tensor)
    return fail("tensor '" + fullName + "' is missing; architecture " +
                architecture->name + " needs it with shape " +
                shapeText(shape));
  if (ArrayRef<int64_t>(tensor->shape) != shape)
    return fail("tensor '" + fullName + "' has shape " +
                shapeText(tensor->shape) + ", the metadata allow " +
                shapeText(shape) + " (outermost dimension first)");
  used.insert(fullName);
  result = {fullName, SmallVector<int64_t, 2>(shape), tensor->encoding,
            tensor->offset};
  return llvm::Error::success();
}

llvm::Error DecoderReader::readOptional(const Twine &name,
                                        ArrayRef<int64_t> shape,
                                        std::optional<Weight> &result) {
  if (!file.findTensor(name.str()))
    return llvm::Error::success();
  return readWeight(name, shape, result.emplace());
}

llvm::Error DecoderReader::readVector(const Twine &name, int64_t size,
                                      std::optional<Weight> &result) {
  return readOptional(name, {size}, result);
}

llvm::Error DecoderReader::readLinear(const Twine &name, int64_t outputs,
                                      int64_t inputs, Bias bias,
                                      Linear &result) {
  if (llvm::Error error =
          readWeight(name + ".weight", {outputs, inputs}, result.weight))
    return error;
  switch (bias) {
  case Bias::None:
    return llvm::Error::success();
  case Bias::Optional:
    return readVector(name + ".bias", outputs, result.bias);
  case Bias::Required:
    return readWeight(name + ".bias", {outputs}, result.bias.emplace());
  }
  return llvm::Error::success();
}

llvm::Error DecoderReader::readAttention(const Twine &prefix,
                                         DecoderLayer &layer) {
  int64_t hidden = model.hiddenSize, dim = model.headDim;
  int64_t queries = model.numHeads * dim, keys = model.numKvHeads * dim;
  Bias bias = architecture->queryKeyValueBias;
  if (llvm::Error error = readWeight(prefix + "attn_norm.weight", {hidden},
                                     layer.attentionNorm))
    return error;
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

llvm::Error DecoderReader::readLayer(size_t index, DecoderLayer &layer) {
  std::string prefix = "blk." + std::to_string(index) + ".";
  int64_t hidden = model.hiddenSize, inner = model.feedForwardSize;
  Bias bias = architecture->otherBias;
  if (llvm::Error error = readAttention(prefix, layer))
    return error;
  if (llvm::Error error = readWeight(prefix + "ffn_norm.weight", {hidden},
                                     layer.feedForwardNorm))
    return error;
  if (llvm::Error error =
          readLinear(prefix + "ffn_gate", inner, hidden, bias, layer.gate))
    return error;
  if (llvm::Error error =
          readLinear(prefix + "ffn_up", inner, hidden, bias, layer.up))
    return error;
  if (llvm::Error error =
          readLinear(prefix + "ffn_down", hidden, inner, bias, layer.down))
    return error;
  return readPostNorms(prefix, layer);
}

/// The vocabulary's size is the embedding's number of rows; what else states it
/// must agree.
llvm::Error DecoderReader::readVocabulary() {
  const Tensor *embedding = file.findTensor("token_embd.weight");
  if (!embedding)
    return fail("tensor 'token_embd.weight' is missing");
  std::string found =
      "tensor 'token_embd.weight' has shape " + shapeText(embedding->shape);
  if (embedding->shape.size() != 2)
    return fail(found + ", allowed is [vocabulary, embedding length]");
  model.vocabularySize = embedding->shape[0];
  int64_t stated;
  if (llvm::Error error = readSize("vocab_size", stated, model.vocabularySize))
    return error;
  if (stated != model.vocabularySize)
    return fail("metadata '" + key("vocab_size") + "' is " + Twine(stated) +
                ", but " + found);
  const Value *tokens = file.findValue("tokenizer.ggml.tokens");
  if (tokens && tokens->count != static_cast<uint64_t>(model.vocabularySize))
    return fail("metadata 'tokenizer.ggml.tokens' has " + Twine(tokens->count) +
                " tokens, but " + found);
  return llvm::Error::success();
}

llvm::Error DecoderReader::readModelTensors() {
  if (llvm::Error error = readVocabulary())
    return error;
  int64_t vocabulary = model.vocabularySize, hidden = model.hiddenSize;
  if (llvm::Error error = readWeight("token_embd.weight", {vocabulary, hidden},
                                     model.embedding))
    return error;
  if (llvm::Error error =
          readWeight("output_norm.weight", {hidden}, model.outputNorm))
    return error;
  return readOptional("output.weight", {vocabulary, hidden}, model.output);
}

/// A tensor that the model leaves out would silently change its answers.
llvm::Error DecoderReader::refuseUnusedTensors() {
  for (const Tensor &tensor : file.tensors())
    if (!used.contains(tensor.name))
      return fail("tensor '" + tensor.name + "' is not used by architecture " +
                  architecture->name + ", allowed are only tensors that are");
  return llvm::Error::success();
}

llvm::Expected<DecoderModel> DecoderReader::read() {
  if (llvm::Error error = readArchitecture())
    return error;
  if (llvm::Error error = readSizes())
    return error;
  if (llvm::Error error = readHeads())
    return error;
  if (llvm::Error error = readContextLength())
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
