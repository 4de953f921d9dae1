#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes a tiny MPNet with random weights as a Hugging Face directory, and the hidden states that its definition gives.

  make_mpnet.py FOLDER

FOLDER/hidden.f32 has a row of 64 numbers for each id in tokens48.txt, computed here in float64 as the definition in the
transformers library says: positions from 2 on, one table of biases by bucket of distance for all layers, exact GELU.
Needs numpy.
"""

import json
import math
import os
import struct
import sys

import numpy as np

HIDDEN, HEADS, INNER, LAYERS, VOCABULARY, POSITIONS, BUCKETS, EPSILON = 64, 4, 96, 2, 512, 130, 32, 1e-5


def make_weights():
    random = np.random.Generator(np.random.SFC64(7))

    def normal(*shape, scale=1.0, mean=0.0):
        return (mean + scale * random.standard_normal(shape)).astype(np.float32)

    weights = {"embeddings.word_embeddings.weight": normal(VOCABULARY, HIDDEN),
               "embeddings.position_embeddings.weight": normal(POSITIONS, HIDDEN, scale=0.5),
               "encoder.relative_attention_bias.weight": normal(BUCKETS, HEADS)}

    def add_norm(name):
        weights[name + ".weight"] = normal(HIDDEN, scale=0.1, mean=1.0)
        weights[name + ".bias"] = normal(HIDDEN, scale=0.1)

    def add_linear(name, outputs, inputs):
        weights[name + ".weight"] = normal(outputs, inputs, scale=inputs ** -0.5)
        weights[name + ".bias"] = normal(outputs, scale=0.1)

    add_norm("embeddings.LayerNorm")
    for layer in range(LAYERS):
        prefix = f"encoder.layer.{layer}."
        for part in "qkvo":
            add_linear(prefix + "attention.attn." + part, HIDDEN, HIDDEN)
        add_norm(prefix + "attention.LayerNorm")
        add_linear(prefix + "intermediate.dense", INNER, HIDDEN)
        add_linear(prefix + "output.dense", HIDDEN, INNER)
        add_norm(prefix + "output.LayerNorm")
    return weights


def bucket_of(distance):
    """Of key - row: half of the buckets are for keys behind the row, of each half the first half for one distance each."""
    half, first = BUCKETS // 2, BUCKETS // 2 if distance > 0 else 0
    far, exact = abs(distance), BUCKETS // 4
    if far < exact:
        return first + far
    return first + min(exact + int(math.log(far / exact) / math.log(128 / exact) * (half - exact)), half - 1)


def hidden_states(weights, tokens):
    weights = {name: tensor.astype(np.float64) for name, tensor in weights.items()}

    def linear(x, name):
        return x @ weights[name + ".weight"].T + weights[name + ".bias"]

    def norm(x, name):
        x = x - x.mean(1, keepdims=True)
        return x / np.sqrt((x * x).mean(1, keepdims=True) + EPSILON) * weights[name + ".weight"] + weights[name + ".bias"]

    def heads(x):
        return x.reshape(len(x), HEADS, -1).swapaxes(0, 1)

    count = len(tokens)
    buckets = [[bucket_of(key - row) for key in range(count)] for row in range(count)]
    bias = weights["encoder.relative_attention_bias.weight"][buckets].transpose(2, 0, 1)
    x = weights["embeddings.word_embeddings.weight"][tokens] + weights["embeddings.position_embeddings.weight"][2:2 + count]
    x = norm(x, "embeddings.LayerNorm")
    for layer in range(LAYERS):
        prefix = f"encoder.layer.{layer}."
        query, key, value = (heads(linear(x, prefix + "attention.attn." + part)) for part in "qkv")
        scores = query @ key.swapaxes(1, 2) / math.sqrt(HIDDEN // HEADS) + bias
        scores = np.exp(scores - scores.max(2, keepdims=True))
        mixed = (scores / scores.sum(2, keepdims=True) @ value).swapaxes(0, 1).reshape(count, HIDDEN)
        x = norm(linear(mixed, prefix + "attention.attn.o") + x, prefix + "attention.LayerNorm")
        inner = linear(x, prefix + "intermediate.dense")
        inner = inner / 2 * (1 + np.vectorize(math.erf)(inner / math.sqrt(2)))
        x = norm(linear(inner, prefix + "output.dense") + x, prefix + "output.LayerNorm")
    return x.astype("<f4")


def write_safetensors(path, weights):
    header, offset = {}, 0
    for name, tensor in weights.items():
        header[name] = {"dtype": "F32", "shape": list(tensor.shape), "data_offsets": [offset, offset + tensor.nbytes]}
        offset += tensor.nbytes
    text = json.dumps(header).encode()
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text)
        for tensor in weights.values():
            file.write(tensor.tobytes())


def main():
    folder = sys.argv[1]
    os.makedirs(folder, exist_ok=True)
    with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "tokens48.txt")) as file:
        tokens = [int(word) for word in file.read().split()]
    weights = make_weights()
    config = {"model_type": "mpnet", "hidden_size": HIDDEN, "num_hidden_layers": LAYERS, "num_attention_heads": HEADS,
              "intermediate_size": INNER, "vocab_size": VOCABULARY, "max_position_embeddings": POSITIONS,
              "relative_attention_num_buckets": BUCKETS, "layer_norm_eps": EPSILON, "hidden_act": "gelu"}
    with open(os.path.join(folder, "config.json"), "w") as file:
        json.dump(config, file)
    write_safetensors(os.path.join(folder, "model.safetensors"), weights)
    hidden_states(weights, tokens).tofile(os.path.join(folder, "hidden.f32"))


main()
