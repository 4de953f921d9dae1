#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""make_bert_folder.py VARIANT FOLDER: writes a variant of encoder_graph.py as FOLDER/model.onnx, and the same weights as a
Hugging Face directory of BERT in FOLDER. Needs numpy."""

import json
import pathlib
import struct
import sys

import numpy as np

import encoder_graph as graph


def tensors(arrays):
    """Names of transformers' BertModel for the arrays, in the order in which the graph makes them."""
    left = iter(arrays)
    result = {}

    def add(name, tensor):
        result[name] = np.ascontiguousarray(tensor)

    def add_norm(name):
        add(name + ".weight", 1 + next(left))
        add(name + ".bias", next(left))

    def add_linear(name):
        add(name + ".weight", next(left).T)
        add(name + ".bias", next(left))

    add("embeddings.word_embeddings.weight", next(left))
    add("embeddings.token_type_embeddings.weight", next(left))
    add("embeddings.position_embeddings.weight", next(left)[2:])
    add_norm("embeddings.LayerNorm")
    for layer in range(graph.LAYERS):
        prefix = f"encoder.layer.{layer}."
        for part in ["self.query", "self.key", "self.value", "output.dense"]:
            add_linear(prefix + "attention." + part)
        add_norm(prefix + "attention.output.LayerNorm")
        add_linear(prefix + "intermediate.dense")
        add_linear(prefix + "output.dense")
        add_norm(prefix + "output.LayerNorm")
    return result


def write_safetensors(path, weights):
    header, offset = {}, 0
    for name, tensor in weights.items():
        header[name] = {"dtype": "F32", "shape": list(tensor.shape), "data_offsets": [offset, offset + tensor.nbytes]}
        offset += tensor.nbytes
    text = json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(text)) + text + b"".join(tensor.tobytes() for tensor in weights.values()))


def main():
    folder = pathlib.Path(sys.argv[2])
    folder.mkdir(parents=True, exist_ok=True)
    encoder = graph.Encoder(graph.VARIANTS[sys.argv[1]])
    (folder / "model.onnx").write_bytes(encoder.build().model())
    config = {"model_type": "bert", "hidden_size": graph.HIDDEN, "num_hidden_layers": graph.LAYERS,
              "num_attention_heads": graph.HEADS, "intermediate_size": graph.WIDE, "vocab_size": graph.VOCABULARY,
              "max_position_embeddings": graph.POSITIONS, "layer_norm_eps": 1e-12, "hidden_act": "gelu"}
    (folder / "config.json").write_text(json.dumps(config))
    write_safetensors(folder / "model.safetensors", tensors(encoder.arrays))


main()
