#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes a GGUF file of plain numbers as a Hugging Face directory: names, order of rows and gains as transformers has them.

  gguf_to_hf.py MODEL.gguf FOLDER [--type f16|f32|bf16] [--shards N]
                [--pack gptq|awq|compressed --group N [--asymmetric] [--dequantized]]

--pack quantizes the layers' matrices to 4 bits and packs them as the tools of that name do; --dequantized writes the
numbers that these codes stand for as F32 instead. Needs numpy.
"""

import argparse
import json
import os
import re
import struct

import numpy as np

GGUF_SCALARS = ["<u1", "<i1", "<u2", "<i2", "<u4", "<i4", "<f4", "?", None, None, "<u8", "<i8", "<f8"]
STRING, ARRAY = 8, 9
GGML_TYPES = {0: "<f4", 1: "<f2", 30: "<u2"}
AWQ_ORDER = [0, 2, 4, 6, 1, 3, 5, 7]


class GgufReader:
    """Metadata and float32 tensors of a file."""

    def __init__(self, path):
        with open(path, "rb") as file:
            self.data = file.read()
        self.at = 8
        num_tensors, num_pairs = self.take("<u8"), self.take("<u8")
        self.metadata = dict((self.string(), self.value(self.take("<u4"))) for _ in range(num_pairs))
        infos = [(self.string(), [int(self.take("<u8")) for _ in range(self.take("<u4"))], int(self.take("<u4")),
                  int(self.take("<u8"))) for _ in range(num_tensors)]
        start = (self.at + 31) // 32 * 32
        self.kinds = {name: kind for name, _, kind, _ in infos}
        self.tensors = {name: self.tensor(start + offset, shape, kind) for name, shape, kind, offset in infos}

    def take(self, dtype):
        value = np.frombuffer(self.data, dtype, 1, self.at)[0]
        self.at += np.dtype(dtype).itemsize
        return value

    def string(self):
        size = int(self.take("<u8"))
        self.at += size
        return self.data[self.at - size:self.at].decode()

    def value(self, kind):
        if kind == STRING:
            return self.string()
        if kind == ARRAY:
            element, count = self.take("<u4"), int(self.take("<u8"))
            return [self.value(element) for _ in range(count)]
        return self.take(GGUF_SCALARS[kind]).item()

    def tensor(self, offset, shape, kind):
        numbers = np.frombuffer(self.data, GGML_TYPES[kind], int(np.prod(shape)), offset).reshape(shape[::-1])
        if kind == 30:
            return (numbers.astype(np.uint32) << 16).view(np.float32)
        return numbers.astype(np.float32)


# ---------------------------------------------------------------- names and conventions

LAYER_NAMES = {
    "attn_norm": "input_layernorm", "attn_q": "self_attn.q_proj", "attn_k": "self_attn.k_proj",
    "attn_v": "self_attn.v_proj", "attn_output": "self_attn.o_proj", "attn_q_norm": "self_attn.q_norm",
    "attn_k_norm": "self_attn.k_norm", "ffn_norm": "post_attention_layernorm", "ffn_gate": "mlp.gate_proj",
    "ffn_up": "mlp.up_proj", "ffn_down": "mlp.down_proj"}
GEMMA_NAMES = {
    "post_attention_norm": "post_attention_layernorm", "ffn_norm": "pre_feedforward_layernorm",
    "post_ffw_norm": "post_feedforward_layernorm"}
LFM2_NAMES = {
    "attn_norm": "operator_norm", "attn_output": "self_attn.out_proj", "attn_q_norm": "self_attn.q_layernorm",
    "attn_k_norm": "self_attn.k_layernorm", "ffn_norm": "ffn_norm", "ffn_gate": "feed_forward.w1",
    "ffn_up": "feed_forward.w3", "ffn_down": "feed_forward.w2", "shortconv.conv": "conv.conv",
    "shortconv.in_proj": "conv.in_proj", "shortconv.out_proj": "conv.out_proj"}
MOE_NAMES = {
    "ffn_gate_inp": "mlp.gate", "ffn_gate_exps": "mlp.experts.{}.gate_proj", "ffn_up_exps": "mlp.experts.{}.up_proj",
    "ffn_down_exps": "mlp.experts.{}.down_proj"}
BERT_NAMES = {
    "attn_q": "attention.self.query", "attn_k": "attention.self.key", "attn_v": "attention.self.value",
    "attn_output": "attention.output.dense", "attn_output_norm": "attention.output.LayerNorm",
    "ffn_up": "intermediate.dense", "ffn_down": "output.dense", "layer_output_norm": "output.LayerNorm"}
FAMILY_NAMES = {"gemma2": GEMMA_NAMES, "gemma3": GEMMA_NAMES, "lfm2": LFM2_NAMES, "qwen3moe": MOE_NAMES, "bert": BERT_NAMES}
MODEL_NAMES = {
    "token_embd": "model.embed_tokens", "output_norm": "model.norm", "output": "lm_head",
    "token_embd_norm": "model.embedding_norm"}
BERT_MODEL_NAMES = {
    "token_embd": "embeddings.word_embeddings", "token_types": "embeddings.token_type_embeddings",
    "position_embd": "embeddings.position_embeddings", "token_embd_norm": "embeddings.LayerNorm"}


def hf_name(name, architecture, is_encoder):
    """Liquid's encoders have no head, hence no name before those of the model."""
    if is_encoder and architecture == "lfm2":
        return hf_name(name, architecture, False).removeprefix("model.")
    stem, kind = name.rsplit(".", 1)
    match = re.fullmatch(r"blk\.(\d+)\.(.+)", stem)
    if not match:
        return (BERT_MODEL_NAMES if architecture == "bert" else MODEL_NAMES)[stem] + "." + kind
    layers = "encoder.layer" if architecture == "bert" else "model.layers"
    return f"{layers}.{match[1]}.{ {**LAYER_NAMES, **FAMILY_NAMES.get(architecture, {})}[match[2]]}.{kind}"


def hf_tensor(name, tensor, architecture, heads, kv_heads):
    """GGUF files of llama have pairs of rows side by side, those of gemma gains plus 1, those of lfm2 taps without a
    dimension between."""
    if architecture == "llama" and re.search(r"attn_[qk]\.", name):
        count = heads if "attn_q" in name else kv_heads
        return tensor.reshape(count, -1, 2, *tensor.shape[1:]).swapaxes(1, 2).reshape(tensor.shape)
    if architecture.startswith("gemma") and name.endswith("norm.weight"):
        return tensor - np.float32(1)
    if name.endswith("shortconv.conv.weight"):
        return tensor[:, None, :]
    return tensor


def hf_parts(name, tensor):
    """Experts' matrices are a tensor each."""
    if "{}" not in name:
        return {name: tensor}
    return {name.format(expert): matrix for expert, matrix in enumerate(tensor)}


def config_of(metadata, tensors):
    architecture = metadata["general.architecture"]

    def get(key, absent=None):
        return metadata.get(f"{architecture}.{key}", absent)

    config = {
        "architectures": ["made by gguf_to_hf.py"],
        "model_type": {"gemma3": "gemma3_text", "qwen3moe": "qwen3_moe"}.get(architecture, architecture),
        "hidden_size": get("embedding_length"), "intermediate_size": get("feed_forward_length"),
        "num_hidden_layers": get("block_count"), "num_attention_heads": get("attention.head_count"),
        "max_position_embeddings": get("context_length"), "vocab_size": len(tensors["token_embd.weight"])}
    if architecture == "bert":
        config.update(layer_norm_eps=get("attention.layer_norm_epsilon"), type_vocab_size=2, hidden_act="gelu")
        return config
    config.update(num_key_value_heads=get("attention.head_count_kv"), head_dim=get("attention.key_length"),
                  rms_norm_eps=get("attention.layer_norm_rms_epsilon"), rope_theta=get("rope.freq_base"),
                  tie_word_embeddings="output.weight" not in tensors)
    if architecture == "lfm2":
        kv_heads = config["num_key_value_heads"]
        config.update(num_key_value_heads=max(kv_heads), norm_eps=config.pop("rms_norm_eps"),
                      conv_L_cache=get("shortconv.l_cache"), block_auto_adjust_ff_dim=False,
                      layer_types=["full_attention" if count else "conv" for count in kv_heads])
        del config["head_dim"]
        if not get("attention.causal", True):
            config["architectures"] = ["Lfm2BidirectionalModel"]
    if architecture == "qwen3moe":
        config.update(num_experts=get("expert_count"), num_experts_per_tok=get("expert_used_count"),
                      moe_intermediate_size=get("expert_feed_forward_length"), norm_topk_prob=True, mlp_only_layers=[])
    if architecture.startswith("gemma"):
        config.update(sliding_window=get("attention.sliding_window"), hidden_activation="gelu_pytorch_tanh",
                      query_pre_attn_scalar=get("attention.key_length"),
                      attn_logit_softcapping=get("attn_logit_softcapping"),
                      final_logit_softcapping=get("final_logit_softcapping"))
    return config


# ---------------------------------------------------------------- 4 bits

def quantize(weight, group, asymmetric):
    """Codes 0 … 15 [N, K], half scales and whole zero points [N, G]."""
    rows, columns = weight.shape
    group = columns if group < 0 else group
    parts = weight.reshape(rows, columns // group, group)
    if asymmetric:
        low, high = np.minimum(parts.min(2), 0), np.maximum(parts.max(2), 0)
        scales = ((high - low) / 15).astype(np.float16)
        zeros = np.clip(np.rint(-low / scales.astype(np.float32)), 1, 15)
    else:
        scales = (np.abs(parts).max(2) / 7).astype(np.float16)
        zeros = np.full(scales.shape, 8.0)
    codes = np.rint(parts / scales.astype(np.float32)[..., None]) + zeros[..., None]
    return np.clip(codes, 0, 15).astype(np.uint32).reshape(rows, columns), scales, zeros.astype(np.uint32)


def pack_words(codes, axis, order=range(8)):
    """Eight codes along an axis become a word; nibble i is code order[i]."""
    codes = np.moveaxis(codes, axis, -1)
    codes = codes.reshape(*codes.shape[:-1], -1, 8)
    words = sum(codes[..., column].astype(np.uint32) << np.uint32(4 * i) for i, column in enumerate(order))
    return np.ascontiguousarray(np.moveaxis(words, -1, axis)).view(np.int32)


def packed(name, weight, form, group, asymmetric):
    codes, scales, zeros = quantize(weight, group, asymmetric)
    stem = name[:-len(".weight")]
    if form == "gptq":
        groups = np.arange(codes.shape[1], dtype=np.int32) // (codes.shape[1] // scales.shape[1])
        return {stem + ".qweight": pack_words(codes.T, 0), stem + ".qzeros": pack_words(zeros.T - 1, 1),
                stem + ".scales": np.ascontiguousarray(scales.T), stem + ".g_idx": groups}
    if form == "awq":
        return {stem + ".qweight": pack_words(codes.T, 1, AWQ_ORDER),
                stem + ".qzeros": pack_words(zeros.T, 1, AWQ_ORDER),
                stem + ".scales": np.ascontiguousarray(scales.T)}
    result = {stem + ".weight_packed": pack_words(codes, 1), stem + ".weight_scale": scales,
              stem + ".weight_shape": np.array(codes.shape, np.int64)}
    if asymmetric:
        result[stem + ".weight_zero_point"] = pack_words(zeros, 0)
    return result


def dequantized(weight, group, asymmetric):
    codes, scales, zeros = quantize(weight, group, asymmetric)
    spread = [np.repeat(part.astype(np.float32), codes.shape[1] // part.shape[1], 1) for part in (scales, zeros)]
    return spread[0] * (codes.astype(np.float32) - spread[1])


def quantization_config(form, group, asymmetric):
    if form == "compressed":
        weights = {"num_bits": 4, "type": "int", "symmetric": not asymmetric, "group_size": group if group > 0 else None,
                   "strategy": "group" if group > 0 else "channel", "dynamic": False, "actorder": None}
        return {"quant_method": "compressed-tensors", "format": "pack-quantized", "ignore": ["lm_head"],
                "config_groups": {"group_0": {"targets": ["Linear"], "weights": weights, "input_activations": None}}}
    if form == "awq":
        return {"quant_method": "awq", "bits": 4, "group_size": group, "zero_point": asymmetric, "version": "gemm"}
    return {"quant_method": "gptq", "bits": 4, "group_size": group, "sym": not asymmetric, "desc_act": False}


# ---------------------------------------------------------------- safetensors

def to_bytes(tensor, kind):
    """Type name and bytes; integers and halves stay what they are."""
    if tensor.dtype == np.float32 and kind == "f16":
        tensor = tensor.astype(np.float16)
    if tensor.dtype == np.float32 and kind == "bf16":
        bits = tensor.view(np.uint32)
        return "BF16", ((bits + 0x7fff + (bits >> 16 & 1)) >> 16).astype("<u2").tobytes()
    names = {"float32": "F32", "float16": "F16", "int32": "I32", "int64": "I64"}
    return names[tensor.dtype.name], tensor.tobytes()


def write_safetensors(path, tensors):
    """tensors: name → (type name, shape, bytes)"""
    header, offset = {}, 0
    for name, (kind, shape, data) in tensors.items():
        header[name] = {"dtype": kind, "shape": shape, "data_offsets": [offset, offset + len(data)]}
        offset += len(data)
    text = json.dumps(header).encode()
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text)
        for _, _, data in tensors.values():
            file.write(data)


def write_folder(folder, config, tensors, num_shards):
    os.makedirs(folder, exist_ok=True)
    with open(os.path.join(folder, "config.json"), "w") as file:
        json.dump(config, file, indent=1)
    if num_shards == 1:
        write_safetensors(os.path.join(folder, "model.safetensors"), tensors)
        return
    shards = [f"model-{i + 1:05}-of-{num_shards:05}.safetensors" for i in range(num_shards)]
    weight_map = {name: shards[i % num_shards] for i, name in enumerate(tensors)}
    for shard in shards:
        write_safetensors(os.path.join(folder, shard),
                          {name: tensor for name, tensor in tensors.items() if weight_map[name] == shard})
    with open(os.path.join(folder, "model.safetensors.index.json"), "w") as file:
        json.dump({"metadata": {}, "weight_map": weight_map}, file, indent=1)


def write_modules(folder):
    """What sentence-transformers reads: the first token's row is the embedding."""
    os.makedirs(os.path.join(folder, "1_Pooling"), exist_ok=True)
    prefix = "sentence_transformers.models."
    modules = [{"idx": 0, "name": "0", "path": "", "type": prefix + "Transformer"},
               {"idx": 1, "name": "1", "path": "1_Pooling", "type": prefix + "Pooling"}]
    for name, content in (("modules.json", modules),
                          ("1_Pooling/config.json", {"pooling_mode_cls_token": True, "pooling_mode_mean_tokens": False})):
        with open(os.path.join(folder, name), "w") as file:
            json.dump(content, file)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model")
    parser.add_argument("folder")
    parser.add_argument("--type", default="f16", choices=["f16", "f32", "bf16"], help="of tensors that are not F32 in the file")
    parser.add_argument("--shards", type=int, default=1)
    parser.add_argument("--pack", choices=["gptq", "awq", "compressed"])
    parser.add_argument("--group", type=int, default=32, help="columns that share a scale; -1: all")
    parser.add_argument("--asymmetric", action="store_true")
    parser.add_argument("--dequantized", action="store_true")
    options = parser.parse_args()

    gguf = GgufReader(options.model)
    architecture = gguf.metadata["general.architecture"]
    config = config_of(gguf.metadata, gguf.tensors)
    if options.pack and not options.dequantized:
        config["quantization_config"] = quantization_config(options.pack, options.group, options.asymmetric)
    is_encoder = not gguf.metadata.get(f"{architecture}.attention.causal", True)
    tensors = {}
    for name, tensor in gguf.tensors.items():
        tensor = hf_tensor(name, tensor, architecture, config["num_attention_heads"],
                           config.get("num_key_value_heads"))
        kind = "f32" if GGML_TYPES[gguf.kinds[name]] == "<f4" else options.type
        for name, tensor in hf_parts(hf_name(name, architecture, is_encoder), tensor).items():
            parts = {name: tensor}
            if options.pack and name.endswith("_proj.weight"):
                kind = "f32"
                parts = ({name: dequantized(tensor, options.group, options.asymmetric)} if options.dequantized else
                         packed(name, tensor, options.pack, options.group, options.asymmetric))
            for part, values in parts.items():
                type_name, data = to_bytes(values, kind)
                tensors[part] = (type_name, list(values.shape), data)
    write_folder(options.folder, config, tensors, options.shards)
    if is_encoder and architecture == "lfm2":
        write_modules(options.folder)


if __name__ == "__main__":
    main()
