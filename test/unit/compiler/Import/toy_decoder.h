// SPDX-License-Identifier: Apache-2.0
//
// GGUF files of decoders that are as small as can be: 2 layers, hidden size 8,
// 2 heads of 4, 1 KV head, feed-forward 12, 16 tokens; all weights are 1. Of
// qwen3moe, a token takes 2 of 3 experts.

#ifndef LLMC_TEST_UNIT_COMPILER_IMPORT_TOY_DECODER_H
#define LLMC_TEST_UNIT_COMPILER_IMPORT_TOY_DECODER_H

#include "test/unit/compiler/Import/gguf_builder.h"

#include <utility>

namespace llmc::test {

struct ToyDecoder {
  explicit ToyDecoder(std::string architecture)
      : architecture(std::move(architecture)) {}

  std::string architecture;
  uint64_t headDim = 4;
  size_t alignment = 32;
  uint32_t statedLayers = 2, contextLength = 64;
  /// A tensor and a metadata key (without architecture) to leave out.
  std::string leftOut, keyLeftOut;
  /// Of lfm2, by layer.
  std::vector<uint32_t> kvHeads = {0, 1};

  GgufBuilder file() const {
    GgufBuilder builder;
    builder.alignTo(alignment);
    builder.text("general.architecture", architecture);
    number(builder, "block_count", statedLayers);
    number(builder, "context_length", contextLength);
    number(builder, "embedding_length", 8);
    number(builder,
           hasExperts() ? "expert_feed_forward_length" : "feed_forward_length",
           12);
    if (hasExperts()) {
      number(builder, "expert_count", 3);
      number(builder, "expert_used_count", 2);
    }
    number(builder, "attention.head_count", 2);
    if (architecture == "lfm2") {
      builder.numbers("lfm2.attention.head_count_kv", kvHeads);
      number(builder, "shortconv.l_cache", 3);
    } else {
      number(builder, "attention.head_count_kv", 1);
    }
    if (keyLeftOut != "attention.layer_norm_rms_epsilon")
      builder.real(architecture + ".attention.layer_norm_rms_epsilon", 1e-5f);
    if (isGemma())
      number(builder, "attention.sliding_window", 16);
    for (const auto &[name, shape] : tensors())
      if (name != leftOut)
        builder.ones(name, shape);
    return builder;
  }

  std::vector<std::string> tensorNames() const {
    std::vector<std::string> names;
    for (const auto &[name, shape] : tensors())
      names.push_back(name);
    return names;
  }

private:
  using Entry = std::pair<std::string, std::vector<uint64_t>>;

  void number(GgufBuilder &builder, const std::string &key,
              uint32_t value) const {
    if (key != keyLeftOut)
      builder.number(architecture + "." + key, value);
  }

  bool isGemma() const { return architecture.rfind("gemma", 0) == 0; }
  bool hasExperts() const { return architecture == "qwen3moe"; }

  /// Innermost dimension first.
  std::vector<Entry> tensors() const {
    bool isHybrid = architecture == "lfm2";
    std::vector<Entry> list = {
        {"token_embd.weight", {8, 16}},
        {isHybrid ? "token_embd_norm.weight" : "output_norm.weight", {8}}};
    for (const char *layer : {"blk.0.", "blk.1."}) {
      auto add = [&](const char *name, std::vector<uint64_t> shape) {
        list.push_back({layer + std::string(name), std::move(shape)});
      };
      add("attn_norm.weight", {8});
      bool isConv = isHybrid && layer == std::string("blk.0.");
      if (isConv) {
        add("shortconv.in_proj.weight", {8, 24});
        add("shortconv.conv.weight", {3, 8});
        add("shortconv.out_proj.weight", {8, 8});
      } else {
        add("attn_q.weight", {8, 2 * headDim});
        add("attn_k.weight", {8, headDim});
        add("attn_v.weight", {8, headDim});
        add("attn_output.weight", {2 * headDim, 8});
      }
      add("ffn_norm.weight", {8});
      if (hasExperts()) {
        add("ffn_gate_inp.weight", {8, 3});
        add("ffn_gate_exps.weight", {8, 12, 3});
        add("ffn_up_exps.weight", {8, 12, 3});
        add("ffn_down_exps.weight", {12, 8, 3});
      } else {
        add("ffn_gate.weight", {8, 12});
        add("ffn_up.weight", {8, 12});
        add("ffn_down.weight", {12, 8});
      }
      if (architecture == "qwen2") {
        add("attn_q.bias", {2 * headDim});
        add("attn_k.bias", {headDim});
        add("attn_v.bias", {headDim});
      }
      if (isGemma()) {
        add("post_attention_norm.weight", {8});
        add("post_ffw_norm.weight", {8});
      }
      if (architecture == "qwen3" || hasExperts() || architecture == "gemma3" ||
          (isHybrid && !isConv)) {
        add("attn_q_norm.weight", {headDim});
        add("attn_k_norm.weight", {headDim});
      }
    }
    return list;
  }
};

} // namespace llmc::test

#endif // LLMC_TEST_UNIT_COMPILER_IMPORT_TOY_DECODER_H
