// SPDX-License-Identifier: Apache-2.0
//
// Hugging Face directories of decoders that are as small as can be: 2 layers,
// hidden size 8, 2 heads of 4, 1 KV head, feed-forward 12, 16 tokens; all
// weights are 1. Of qwen3_moe, a token takes 2 of 3 experts.

#ifndef LLMC_TEST_UNIT_COMPILER_IMPORT_TOY_FOLDER_H
#define LLMC_TEST_UNIT_COMPILER_IMPORT_TOY_FOLDER_H

#include "test/unit/compiler/Import/safetensors_builder.h"

#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"

#include <nlohmann/json.hpp>

#include <fstream>
#include <utility>

namespace llmc::test {

/// A folder that vanishes with the object.
class TemporaryDirectory {
public:
  TemporaryDirectory() {
    llvm::sys::fs::createUniqueDirectory("llmc-folder", folder);
  }
  ~TemporaryDirectory() { llvm::sys::fs::remove_directories(folder); }
  TemporaryDirectory(const TemporaryDirectory &) = delete;
  TemporaryDirectory &operator=(const TemporaryDirectory &) = delete;

  std::string path(const std::string &name = "") const {
    llvm::SmallString<128> result = folder;
    llvm::sys::path::append(result, name);
    return result.str().str();
  }
  void write(const std::string &name, const std::string &bytes) const {
    std::ofstream(path(name), std::ios::binary) << bytes;
  }

private:
  llvm::SmallString<128> folder;
};

struct ToyFolder {
  explicit ToyFolder(std::string modelType) : modelType(std::move(modelType)) {
    config = {{"model_type", this->modelType},
              {"num_hidden_layers", 2},
              {"hidden_size", 8},
              {"intermediate_size", 12},
              {"vocab_size", 16},
              {"num_attention_heads", 2},
              {"num_key_value_heads", 1},
              {"head_dim", 4},
              {"max_position_embeddings", 64},
              {"rms_norm_eps", 1e-5},
              {"tie_word_embeddings", true}};
    if (isGemma())
      config["sliding_window"] = 16;
    if (hasExperts()) {
      config["num_experts"] = 3;
      config["num_experts_per_tok"] = 2;
      config["moe_intermediate_size"] = 12;
    }
  }

  std::string modelType;
  nlohmann::json config;
  /// A tensor to leave out, and others to add.
  std::string leftOut;
  std::vector<std::pair<std::string, std::vector<int64_t>>> added;

  /// Writes config.json and model.safetensors.
  void write(const TemporaryDirectory &folder) const {
    folder.write("config.json", config.dump());
    SafetensorsBuilder builder;
    for (const auto &[name, shape] : tensors())
      if (name != leftOut)
        builder.numbers(name, shape);
    for (const auto &[name, shape] : added)
      builder.numbers(name, shape);
    folder.write("model.safetensors", builder.build());
  }

  std::vector<std::pair<std::string, std::vector<int64_t>>> tensors() const {
    if (modelType == "lfm2")
      return tensorsOfLfm2();
    std::vector<std::pair<std::string, std::vector<int64_t>>> list = {
        {"model.embed_tokens.weight", {16, 8}}, {"model.norm.weight", {8}}};
    for (const char *layer : {"model.layers.0.", "model.layers.1."}) {
      auto add = [&](const char *name, std::vector<int64_t> shape) {
        list.push_back({layer + std::string(name), std::move(shape)});
      };
      add("input_layernorm.weight", {8});
      add("self_attn.q_proj.weight", {8, 8});
      add("self_attn.k_proj.weight", {4, 8});
      add("self_attn.v_proj.weight", {4, 8});
      add("self_attn.o_proj.weight", {8, 8});
      add("post_attention_layernorm.weight", {8});
      if (hasExperts())
        add("mlp.gate.weight", {3, 8});
      for (const std::string &part :
           hasExperts()
               ? std::vector<std::string>{"mlp.experts.0.", "mlp.experts.1.",
                                          "mlp.experts.2."}
               : std::vector<std::string>{"mlp."}) {
        add((part + "gate_proj.weight").c_str(), {12, 8});
        add((part + "up_proj.weight").c_str(), {12, 8});
        add((part + "down_proj.weight").c_str(), {8, 12});
      }
      if (modelType == "qwen2") {
        add("self_attn.q_proj.bias", {8});
        add("self_attn.k_proj.bias", {4});
        add("self_attn.v_proj.bias", {4});
      }
      if (isGemma()) {
        add("pre_feedforward_layernorm.weight", {8});
        add("post_feedforward_layernorm.weight", {8});
      }
      if (modelType == "qwen3" || hasExperts() || modelType == "gemma3_text") {
        add("self_attn.q_norm.weight", {4});
        add("self_attn.k_norm.weight", {4});
      }
    }
    return list;
  }

private:
  /// The first layer is a convolution.
  static std::vector<std::pair<std::string, std::vector<int64_t>>>
  tensorsOfLfm2() {
    std::vector<std::pair<std::string, std::vector<int64_t>>> list = {
        {"model.embed_tokens.weight", {16, 8}},
        {"model.embedding_norm.weight", {8}},
        {"model.layers.0.conv.conv.weight", {8, 1, 3}},
        {"model.layers.0.conv.in_proj.weight", {24, 8}},
        {"model.layers.0.conv.out_proj.weight", {8, 8}},
        {"model.layers.1.self_attn.q_proj.weight", {8, 8}},
        {"model.layers.1.self_attn.k_proj.weight", {4, 8}},
        {"model.layers.1.self_attn.v_proj.weight", {4, 8}},
        {"model.layers.1.self_attn.out_proj.weight", {8, 8}},
        {"model.layers.1.self_attn.q_layernorm.weight", {4}},
        {"model.layers.1.self_attn.k_layernorm.weight", {4}}};
    for (const std::string layer : {"model.layers.0.", "model.layers.1."}) {
      list.push_back({layer + "operator_norm.weight", {8}});
      list.push_back({layer + "ffn_norm.weight", {8}});
      list.push_back({layer + "feed_forward.w1.weight", {12, 8}});
      list.push_back({layer + "feed_forward.w2.weight", {8, 12}});
      list.push_back({layer + "feed_forward.w3.weight", {12, 8}});
    }
    return list;
  }
  bool isGemma() const { return modelType.rfind("gemma", 0) == 0; }
  bool hasExperts() const { return modelType == "qwen3_moe"; }
};

} // namespace llmc::test

#endif // LLMC_TEST_UNIT_COMPILER_IMPORT_TOY_FOLDER_H
