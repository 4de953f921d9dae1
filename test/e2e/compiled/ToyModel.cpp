// SPDX-License-Identifier: Apache-2.0
//
// ToyModel.h.

#include "test/e2e/compiled/ToyModel.h"

namespace llmc::test {

namespace {

constexpr uint64_t kInner = 96;
constexpr uint64_t kHeads = 4, kKvHeads = 2;

/// Adds what was not left out.
class ToyWriter {
public:
  explicit ToyWriter(const ToyOptions &options) : options(options) {
    file.alignTo(options.alignment).withVersion(options.version);
  }

  void addMetadata() {
    const std::string &name = options.architecture;
    if (options.leftOut != "general.architecture")
      file.text("general.architecture", name);
    if (options.alignment != 32)
      file.number("general.alignment",
                  static_cast<uint32_t>(options.alignment));
    number("context_length", 64);
    number("block_count", options.numLayers);
    number("embedding_length", kToyHidden);
    number("feed_forward_length", kInner);
    number("attention.head_count", kHeads);
    number("attention.head_count_kv", kKvHeads);
    number("attention.key_length", options.headDim);
    number("attention.value_length", options.headDim);
    const std::string epsilon = name + ".attention.layer_norm_rms_epsilon";
    if (options.leftOut != epsilon)
      file.real(epsilon, 1e-5f);
  }

  void addTensors() {
    const uint64_t queries = kHeads * options.headDim;
    const uint64_t keys = kKvHeads * options.headDim;
    tensor("token_embd.weight", {kToyHidden, kToyVocabulary});
    tensor("output_norm.weight", {kToyHidden});
    for (uint32_t layer = 0; layer < options.numLayers; ++layer)
      addLayer("blk." + std::to_string(layer) + ".", queries, keys);
  }

  void addLayer(const std::string &block, uint64_t queries, uint64_t keys) {
    tensor(block + "attn_norm.weight", {kToyHidden});
    tensor(block + "attn_q.weight", {kToyHidden, queries});
    tensor(block + "attn_k.weight", {kToyHidden, keys});
    tensor(block + "attn_v.weight", {kToyHidden, keys});
    tensor(block + "attn_output.weight", {queries, kToyHidden});
    tensor(block + "ffn_norm.weight", {kToyHidden});
    tensor(block + "ffn_gate.weight", {kToyHidden, kInner});
    tensor(block + "ffn_up.weight", {kToyHidden, kInner});
    tensor(block + "ffn_down.weight", {kInner, kToyHidden});
    if (options.architecture == "qwen2") {
      tensor(block + "attn_q.bias", {queries});
      tensor(block + "attn_k.bias", {keys});
      tensor(block + "attn_v.bias", {keys});
    }
    if (options.architecture == "qwen3") {
      tensor(block + "attn_q_norm.weight", {options.headDim});
      tensor(block + "attn_k_norm.weight", {options.headDim});
    }
  }

  GgufBuilder file;

private:
  void number(const std::string &key, uint64_t value) {
    const std::string name = options.architecture + "." + key;
    if (options.leftOut != name)
      file.number(name, static_cast<uint32_t>(value));
  }

  void tensor(const std::string &name,
              const std::vector<uint64_t> &dimensions) {
    ++numTensors; // the seed: the embedding is the first
    uint64_t count = 1;
    for (uint64_t size : dimensions)
      count *= size;
    if (options.leftOut != name)
      addTensor(file, name, dimensions, makeNumbers(count, numTensors));
  }

  const ToyOptions &options;
  uint32_t numTensors = 0;
};

} // namespace

std::vector<float> makeNumbers(uint64_t count, uint32_t seed) {
  std::vector<float> numbers;
  uint32_t state = seed * 2654435761u;
  for (uint64_t i = 0; i < count; ++i) {
    state = state * 1664525u + 1013904223u;
    numbers.push_back(static_cast<float>(state >> 8) / (1 << 24) - 0.5f);
  }
  return numbers;
}

void addTensor(GgufBuilder &file, const std::string &name,
               const std::vector<uint64_t> &dimensions,
               const std::vector<float> &numbers) {
  file.tensor(name, dimensions, 0,
              {reinterpret_cast<const char *>(numbers.data()),
               numbers.size() * sizeof(float)});
}

GgufBuilder makeToyModel(const ToyOptions &options) {
  ToyWriter writer(options);
  writer.addMetadata();
  writer.addTensors();
  return writer.file;
}

} // namespace llmc::test
