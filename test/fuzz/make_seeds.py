#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the seeds of the fuzz targets: small valid files of each kind, from which mutation sets out.

    make_seeds.py FOLDER      one folder for each target below FOLDER
"""

import glob
import json
import os
import shutil
import struct
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
TEST = os.path.dirname(HERE)
MARK = "\u2581"


# GGUF

def text(value):
    data = value.encode()
    return struct.pack("<Q", len(data)) + data


def string(value):
    return struct.pack("<I", 8) + text(value)


def number(value):
    return struct.pack("<II", 4, value)


def flag(value):
    return struct.pack("<IB", 7, value)


def strings(values):
    return struct.pack("<IIQ", 9, 8, len(values)) + b"".join(map(text, values))


def numbers(values, code, kind):
    return struct.pack("<IIQ", 9, kind, len(values)) + struct.pack(f"<{len(values)}{code}", *values)


def gguf(pairs, tensors=()):
    body = b"".join(text(key) + value for key, value in pairs.items())
    data = b""
    for name, shape, kind, content in tensors:
        body += text(name) + struct.pack("<I", len(shape)) + struct.pack(f"<{len(shape)}Q", *shape)
        body += struct.pack("<IQ", kind, len(data))
        data += content + bytes(-len(content) % 32)
    header = b"GGUF" + struct.pack("<IQQ", 3, len(tensors), len(pairs)) + body
    return header + bytes(-len(header) % 32) + data


def gguf_seeds():
    spm = {"tokenizer.ggml.model": string("llama"),
           "tokenizer.ggml.tokens": strings(["<unk>", "<s>", "</s>", MARK, "H", "el", "lo", "e", "l", "o", "<0x41>"]),
           "tokenizer.ggml.scores": numbers([0, 0, 0, -1, -2, -3, -4, -5, -6, -7, 0], "f", 6),
           "tokenizer.ggml.token_type": numbers([2, 3, 3, 1, 1, 1, 1, 1, 1, 1, 6], "i", 5)}
    bpe = {"tokenizer.ggml.model": string("gpt2"), "tokenizer.ggml.pre": string("qwen2"),
           "tokenizer.ggml.tokens": strings(["H", "e", "l", "o", "\u0120", "ll", "<|im_end|>"]),
           "tokenizer.ggml.token_type": numbers([1, 1, 1, 1, 1, 1, 3], "i", 5),
           "tokenizer.ggml.merges": strings(["l l"]), "tokenizer.ggml.eos_token_id": number(6),
           "tokenizer.ggml.add_bos_token": flag(0), "tokenizer.chat_template": string("{{ x }}")}
    bert = {"tokenizer.ggml.model": string("bert"),
            "tokenizer.ggml.tokens": strings(["[UNK]", "[CLS]", "[SEP]", MARK + "hello", "s", MARK + "world"]),
            "tokenizer.ggml.unknown_token_id": number(0), "tokenizer.ggml.cls_token_id": number(1),
            "tokenizer.ggml.seperator_token_id": number(2)}
    gemma = dict(spm, **{"tokenizer.ggml.model": string("gemma4"), "tokenizer.ggml.merges": strings(["el lo"])})
    tensors = [("token_embd.weight", [4, 2], 0, struct.pack("<8f", *range(8))),
               ("blk.0.attn_q.weight", [32, 2], 2, bytes(36)), ("output_norm.weight", [4], 1, bytes(8))]
    yield gguf(spm)
    yield gguf(bpe)
    yield gguf(bert)
    yield gguf(gemma)
    yield gguf({"general.architecture": string("llama"), "general.alignment": number(32),
                "llama.block_count": number(1)}, tensors)


# tokenizer.json

def tokenizer_json_seeds():
    added = [{"id": 3, "content": "<s>", "special": True, "lstrip": True, "rstrip": False, "normalized": False}]
    byte_level = {"type": "ByteLevel", "add_prefix_space": False, "use_regex": True}
    template = {"type": "TemplateProcessing",
                "single": [{"SpecialToken": {"id": "<s>", "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}}],
                "special_tokens": {"<s>": {"id": "<s>", "ids": [3], "tokens": ["<s>"]}}}
    qwen2 = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+"
             r"|\s+(?!\S)|\s+")
    split = {"type": "Split", "pattern": {"Regex": qwen2}, "behavior": "Isolated", "invert": False}
    for pre in (byte_level, {"type": "Sequence", "pretokenizers": [split, dict(byte_level, use_regex=False)]}):
        yield {"added_tokens": added, "normalizer": {"type": "NFC"}, "pre_tokenizer": pre, "post_processor": template,
               "model": {"type": "BPE", "vocab": {"l": 0, "o": 1, "lo": 2}, "merges": ["l o"], "ignore_merges": False}}
    replace = {"type": "Replace", "pattern": {"String": " "}, "content": MARK}
    yield {"added_tokens": added, "pre_tokenizer": None, "post_processor": template,
           "normalizer": {"type": "Sequence", "normalizers": [{"type": "Prepend", "prepend": MARK}, replace]},
           "model": {"type": "BPE", "unk_token": "<unk>", "fuse_unk": True, "byte_fallback": True,
                     "vocab": {"<unk>": 0, "l": 1, "<0x41>": 2, "<s>": 3, MARK: 4, "ll": 5}, "merges": [["l", "l"]]}}
    yield {"added_tokens": added, "normalizer": {"type": "BertNormalizer", "lowercase": True},
           "pre_tokenizer": {"type": "BertPreTokenizer"},
           "post_processor": {"type": "BertProcessing", "sep": ["[SEP]", 1], "cls": ["<s>", 3]},
           "model": {"type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "##",
                     "max_input_chars_per_word": 100,
                     "vocab": {"[UNK]": 0, "[SEP]": 1, "hello": 2, "<s>": 3, "##s": 4}}}
    yield {"added_tokens": [], "pre_tokenizer": {"type": "Metaspace", "replacement": MARK, "prepend_scheme": "first"},
           "model": {"type": "Unigram", "unk_id": 0, "byte_fallback": True,
                     "vocab": [["<unk>", 0], [MARK, -1], ["Hello", -2.5], ["l", -3], ["<0x41>", -4]]}}


# The manifest of a .llmc file, in protobuf's wire format.

def varint(value):
    value &= (1 << 64) - 1
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    return bytes(out) + bytes([value])


def field(index, value):
    """One field, or one for each element of a list."""
    if isinstance(value, list):
        return b"".join(field(index, element) for element in value)
    if isinstance(value, float):
        return varint(index << 3 | 5) + struct.pack("<f", value)
    if isinstance(value, int):
        return varint(index << 3) + varint(value)
    data = value.encode() if isinstance(value, str) else value
    return varint(index << 3 | 2) + varint(len(data)) + data


def message(fields):
    return b"".join(field(index, value) for index, value in fields)


def tokenizer_manifests():
    ids = [(7, -1), (8, -1), (9, 0), (10, -1)]
    yield message([(1, 1), (3, ["<unk>", "<s>", MARK, "l", "ll"]), (4, [0.0, 0.0, -1.0, -2.0, -3.0]), (5, [2, 3, 1, 1, 1]),
                   (14, 1), (19, 1), (20, 1), *ids])
    yield message([(1, 2), (2, "gpt-2"), (3, ["l", "o", "lo"]), (6, ["l o"]), (16, [1, 3]), (15, "{{ x }}"), *ids])
    yield message([(1, 3), (3, ["[UNK]", "hello", "##s"]), (16, [6, 7, 2, 4, 3]), (21, "##"), (22, 100), *ids])
    yield message([(1, 4), (2, "words"), (3, ["<unk>", MARK, "l"]), (4, [0.0, -1.0, -2.0]), (5, [2, 1, 1]), (17, 1), *ids])


def manifest_seeds():
    piece = lambda buffer, offset, size: message([(1, buffer), (2, offset), (3, size)])
    port = lambda name, buffer, offset: message([(1, name), (2, "f32"), (3, piece(buffer, offset, 64)), (4, 3), (5, 16)])
    sections = [message([(1, 1), (2, 4096), (3, 100), (5, "w"), (6, "rows"), (7, "F32"), (8, 25)]),
                message([(1, 2), (2, 8192), (3, 100), (5, "code")])]
    dispatch = message([(2, [piece(0, 128, 128), piece(1, 0, 512)]), (3, [1, 65535, 2]), (4, "k")])
    entry = message([(1, "f"), (2, 4), (3, [message([(1, dispatch)]), message([(2, b"")])]), (4, port("in", 2, 64)),
                     (5, port("out", 3, 0)), (6, piece(2, 0, 64))])
    kernel = message([(1, "k"), (2, 1), (3, 20), (4, 80), (5, 2), (6, [8, 4, 2]), (7, 1024)])
    buffers = [message([(1, kind), (2, 1024)]) for kind in (1, 2, 4, 5)]
    variant = message([(1, message([(1, "t"), (5, 1)])), (2, buffers), (3, message([(2, 0)])), (4, kernel), (5, entry)])
    yield message([(1, "llmc"), (4, sections), (5, variant)])
    for tokenizer in tokenizer_manifests():
        yield message([(1, "llmc"), (3, tokenizer), (4, sections), (5, variant)])


# The others

def safetensors_seeds():
    for header, data in (({"__metadata__": {"format": "pt"}}, b""),
                         ({"a": {"dtype": "F32", "shape": [2, 3], "data_offsets": [0, 24]},
                           "b": {"dtype": "BF16", "shape": [4], "data_offsets": [24, 32]},
                           "c": {"dtype": "I64", "shape": [0, 7], "data_offsets": [32, 32]}}, bytes(range(32)))):
        head = json.dumps(header).encode()
        head += b" " * (-len(head) % 8)
        yield struct.pack("<Q", len(head)) + head + data


def chat_seeds():
    for path in sorted(glob.glob(os.path.join(TEST, "unit/runtime/text/templates/*.jinja"))):
        with open(path, "rb") as file:
            template = file.read()
        yield template + b"\x1esYou are terse.\x1eHello\x1ea<think>\nHm\n</think>\n\nHi\x1eBye"
        yield template + b"\x1eHello\x1eaHi\x1e?tool"


def onnx_seeds():
    for path in sorted(glob.glob(os.path.join(TEST, "data/onnx/*.onnx"))):
        if os.path.getsize(path) <= 16384:
            with open(path, "rb") as file:
                yield file.read()


SEEDS = {
    "Gguf": gguf_seeds,
    "TokenizerJson": lambda: (json.dumps(seed).encode() for seed in tokenizer_json_seeds()),
    "LlmcFile": manifest_seeds,
    "Safetensors": safetensors_seeds,
    "ChatTemplate": chat_seeds,
    "Onnx": onnx_seeds,
}


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    for target, seeds in SEEDS.items():
        folder = os.path.join(sys.argv[1], target)
        shutil.rmtree(folder, ignore_errors=True)
        os.makedirs(folder)
        for index, seed in enumerate(seeds()):
            with open(os.path.join(folder, f"seed{index}"), "wb") as file:
                file.write(seed)


if __name__ == "__main__":
    main()
