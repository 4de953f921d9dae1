#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Computes what LFM2.5-Embedding's definition gives for a GGUF file of plain numbers, in float64.

  lfm2_embedding.py MODEL.gguf OUT.f32

OUT has the rows of hidden states for the ids in tokens48.txt, as one text. The definition is that of Liquid's
modeling_lfm2_bidirectional.py: lfm2 whose attention sees all of the text and whose convolutions are centred on their row
(as many taps before it as behind, zeros beyond the text). Needs numpy.
"""

import os
import sys

import numpy as np

from gguf_to_hf import GgufReader


def rms_norm(x, gain, epsilon):
    return x / np.sqrt((x * x).mean(-1, keepdims=True) + epsilon) * gain


def rotated(x, base):
    """Halves of each head [rows, heads, size] are turned against each other."""
    rows, _, size = x.shape
    angles = np.arange(rows)[:, None] * base ** (-np.arange(size // 2) * 2 / size)
    cosine, sine = np.cos(angles)[:, None], np.sin(angles)[:, None]
    first, second = x[..., :size // 2], x[..., size // 2:]
    return np.concatenate([first * cosine - second * sine, second * cosine + first * sine], -1)


def centred_convolution(x, taps):
    """x [rows, channels], taps [channels, n]."""
    half = taps.shape[1] // 2
    padded = np.pad(x, ((half, half), (0, 0)))
    return sum(padded[j:j + len(x)] * taps[:, j] for j in range(taps.shape[1]))


class Model:
    def __init__(self, gguf):
        self.tensors = {name: tensor.astype(np.float64) for name, tensor in gguf.tensors.items()}
        self.get = lambda key: gguf.metadata["lfm2." + key]
        self.epsilon = self.get("attention.layer_norm_rms_epsilon")

    def norm(self, x, name):
        return rms_norm(x, self.tensors[name + ".weight"], self.epsilon)

    def linear(self, x, name):
        return x @ self.tensors[name + ".weight"].T

    def convolution(self, x, prefix):
        before, behind, inner = np.split(self.linear(x, prefix + "shortconv.in_proj"), 3, 1)
        mixed = centred_convolution(before * inner, self.tensors[prefix + "shortconv.conv.weight"])
        return self.linear(behind * mixed, prefix + "shortconv.out_proj")

    def attention(self, x, prefix, kv_heads):
        heads, size, base = self.get("attention.head_count"), self.get("attention.key_length"), self.get("rope.freq_base")

        def part(name, count):
            y = self.linear(x, prefix + "attn_" + name).reshape(len(x), count, size)
            return y if name == "v" else rotated(self.norm(y, prefix + f"attn_{name}_norm"), base)

        query, key, value = part("q", heads), part("k", kv_heads), part("v", kv_heads)
        result = []
        for head in range(heads):
            group = head // (heads // kv_heads)
            scores = query[:, head] @ key[:, group].T / np.sqrt(size)
            weights = np.exp(scores - scores.max(1, keepdims=True))
            result.append(weights / weights.sum(1, keepdims=True) @ value[:, group])
        return self.linear(np.concatenate(result, 1), prefix + "attn_output")

    def hidden_states(self, tokens):
        x = self.tensors["token_embd.weight"][tokens]
        for layer, kv_heads in enumerate(self.get("attention.head_count_kv")):
            prefix = f"blk.{layer}."
            normed = self.norm(x, prefix + "attn_norm")
            x = x + (self.attention(normed, prefix, kv_heads) if kv_heads else self.convolution(normed, prefix))
            normed = self.norm(x, prefix + "ffn_norm")
            gate = self.linear(normed, prefix + "ffn_gate")
            gate = gate / (1 + np.exp(-gate)) * self.linear(normed, prefix + "ffn_up")
            x = x + self.linear(gate, prefix + "ffn_down")
        return self.norm(x, "token_embd_norm")


def main():
    with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "tokens48.txt")) as file:
        tokens = [int(word) for word in file.read().split()]
    Model(GgufReader(sys.argv[1])).hidden_states(tokens).astype("<f4").tofile(sys.argv[2])


main()
