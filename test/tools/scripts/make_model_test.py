# SPDX-License-Identifier: Apache-2.0
"""make-model writes whole GGUF files of the geometry and encodings it is asked for."""

import json
import os
import statistics
import struct
import tempfile
import unittest

from script_testing import run_python

# Of GGUF's metadata values with a fixed size.
FORMATS = {4: "<I", 5: "<i", 6: "<f", 7: "<?"}


class Gguf:
    """Just enough of a reader: metadata without arrays, tensors, where their bytes begin."""

    def __init__(self, path):
        with open(path, "rb") as file:
            self.data = file.read()
        self.at = 4
        version, num_tensors, num_values = self.take("<I"), self.take("<Q"), self.take("<Q")
        assert self.data[:4] == b"GGUF" and version == 3
        self.metadata = {self.text(): self.value(self.take("<I")) for _ in range(num_values)}
        self.tensors = {}
        for _ in range(num_tensors):
            name = self.text()
            shape = [self.take("<Q") for _ in range(self.take("<I"))]
            self.tensors[name] = (shape, self.take("<I"), self.take("<Q"))
        self.begin = -(-self.at // 32) * 32

    def take(self, code):
        value, = struct.unpack_from(code, self.data, self.at)
        self.at += struct.calcsize(code)
        return value

    def text(self):
        length = self.take("<Q")
        self.at += length
        return self.data[self.at - length:self.at].decode()

    def value(self, kind):
        if kind == 8:
            return self.text()
        if kind == 9:
            element, count = self.take("<I"), self.take("<Q")
            return [self.value(element) for _ in range(count)]
        return self.take(FORMATS[kind])

    def bytes_of(self, name, size):
        begin = self.begin + self.tensors[name][2]
        return self.data[begin:begin + size]


# Decoders by the formats' definitions, of the first block.
def q4_0(block):
    d, = struct.unpack_from("<e", block)
    return [d * ((byte >> shift & 15) - 8) for shift in (0, 4) for byte in block[2:18]]


def q4_k(block):
    d, dmin = struct.unpack_from("<ee", block)
    scales, codes = block[4:16], block[16:144]
    values = []
    for j in range(8):
        if j < 4:
            scale, minimum = scales[j] & 63, scales[j + 4] & 63
        else:
            scale = scales[j + 4] & 15 | scales[j - 4] >> 6 << 4
            minimum = scales[j + 4] >> 4 | scales[j] >> 6 << 4
        part = codes[j // 2 * 32:j // 2 * 32 + 32]
        values += [d * scale * (byte >> 4 * (j % 2) & 15) - dmin * minimum for byte in part]
    return values


class MakeModel(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)

    def make(self, *arguments, name="m.gguf"):
        path = os.path.join(self.folder.name, name)
        code, output = run_python("make-model", arguments[0], path, *arguments[1:])
        self.assertEqual(code, 0, output)
        return Gguf(path)

    def test_geometry_of_qwen3(self):
        model = self.make("qwen3-0.6b", "--type=Q4_0", "--layers=1", "--vocab=512")
        self.assertEqual(model.metadata["qwen3.embedding_length"], 1024)
        self.assertEqual(model.metadata["qwen3.attention.key_length"], 128)
        self.assertEqual(len(model.metadata["tokenizer.ggml.tokens"]), 512)
        shapes = {name: shape for name, (shape, _, _) in model.tensors.items()}
        self.assertEqual(shapes["blk.0.attn_q.weight"], [1024, 2048])
        self.assertEqual(shapes["blk.0.attn_k.weight"], [1024, 1024])
        self.assertEqual(shapes["blk.0.ffn_down.weight"], [3072, 1024])
        self.assertEqual(shapes["blk.0.attn_q_norm.weight"], [128])
        self.assertNotIn("output.weight", shapes)
        # Each tensor begins where the one before ends; the last ends with the file.
        size = 0
        for shape, kind, offset in model.tensors.values():
            self.assertEqual(offset, size)
            count = shape[0] * (shape[1] if len(shape) > 1 else 1)
            size += -(-{0: count * 4, 2: count // 32 * 18, 14: count // 256 * 210}[kind] // 32) * 32
        self.assertEqual(model.begin + size, len(model.data))

    def shapes(self, *arguments):
        return {name: shape for name, (shape, _, _) in self.make(*arguments, "--vocab=300").tensors.items()}

    def test_layers_of_other_families(self):
        lfm2 = self.shapes("lfm2-350m", "--type=Q4_0", "--layers=3")
        self.assertEqual(lfm2["blk.1.shortconv.conv.weight"], [3, 1024])
        self.assertNotIn("blk.2.shortconv.conv.weight", lfm2)
        self.assertEqual(lfm2["blk.2.attn_k.weight"], [1024, 512])
        gemma = self.shapes("gemma2-2b", "--type=Q4_0", "--layers=1")
        self.assertEqual(gemma["blk.0.post_ffw_norm.weight"], [2304])
        self.assertNotIn("blk.0.attn_q_norm.weight", gemma)
        gemma = self.shapes("gemma3-1b", "--type=Q4_0", "--layers=1")
        self.assertEqual(gemma["blk.0.post_ffw_norm.weight"], [1152])
        self.assertEqual(gemma["blk.0.attn_q.weight"], [1152, 1024])
        experts = self.shapes("qwen3-30b-a3b", "--type=Q4_0", "--layers=1", "--hidden=64", "--ffn=32")
        self.assertEqual(experts["blk.0.ffn_down_exps.weight"], [32, 64, 128])
        self.assertEqual(experts["blk.0.ffn_gate_inp.weight"], [64, 128])
        minilm = self.shapes("minilm", "--type=Q8_0", "--layers=1")
        self.assertEqual(minilm["position_embd.weight"], [384, 512])
        self.assertEqual(minilm["blk.0.ffn_up.bias"], [1536])

    def test_mpnet_is_a_folder(self):
        path = os.path.join(self.folder.name, "mpnet")
        code, output = run_python("make-model", "mpnet-base", path, "--type=F16", "--layers=1", "--vocab=300")
        self.assertEqual(code, 0, output)
        with open(os.path.join(path, "config.json"), encoding="utf-8") as file:
            self.assertEqual(json.load(file)["max_position_embeddings"], 514)
        with open(os.path.join(path, "model.safetensors"), "rb") as file:
            data = file.read()
        length, = struct.unpack_from("<Q", data)
        tensors = json.loads(data[8:8 + length])
        self.assertEqual(tensors["encoder.layer.0.intermediate.dense.weight"]["shape"], [3072, 768])
        self.assertEqual(tensors["encoder.relative_attention_bias.weight"],
                         {**tensors["encoder.relative_attention_bias.weight"], "dtype": "F32", "shape": [32, 12]})
        self.assertEqual(8 + length + max(tensor["data_offsets"][1] for tensor in tensors.values()), len(data))
        code, output = run_python("make-model", "mpnet-base", path)
        self.assertIn("--type is Q4_0, allowed for mpnet are F16 and F32", output)

    def test_encodings_of_a_mixed_file(self):
        model = self.make("tinyllama", "--type=Q4_K_M", "--layers=8", "--vocab=260", "--hidden=256", "--ffn=256",
                          "--heads=4")
        kinds = {name: kind for name, (_, kind, _) in model.tensors.items()}
        self.assertEqual(kinds["token_embd.weight"], 12)
        self.assertEqual(kinds["output.weight"], 14)
        # Of eight layers the first, the last and every third between are kept finer.
        sixes = self.make("gemma3-1b", "--type=Q6_K", "--layers=1", "--vocab=300").tensors
        self.assertEqual([sixes[f"blk.0.{name}.weight"][1] for name in ("attn_q", "attn_output", "ffn_down")], [8, 14, 14])
        self.assertEqual([layer for layer in range(8) if kinds[f"blk.{layer}.ffn_down.weight"] == 14], [0, 3, 6, 7])

    def test_weights_have_the_deviation_of_a_model(self):
        small = ("--layers=1", "--vocab=512", "--hidden=256", "--ffn=256", "--heads=4")
        for kind, decode, size in (("Q4_0", q4_0, 18), ("Q4_K_M", q4_k, 144)):
            model = self.make("tinyllama", f"--type={kind}", *small)
            data = model.bytes_of("blk.0.ffn_up.weight", 100 * size)
            values = [value for at in range(0, len(data), size) for value in decode(data[at:at + size])]
            self.assertAlmostEqual(statistics.pstdev(values), 256 ** -0.5, delta=0.1 * 256 ** -0.5)
            self.assertAlmostEqual(statistics.mean(values), 0, delta=0.1 * 256 ** -0.5)

    def test_the_same_seed_gives_the_same_file(self):
        small = ("tinyllama", "--type=Q8_0", "--layers=1", "--vocab=260")
        first, again = self.make(*small), self.make(*small, name="again.gguf")
        other = self.make(*small, "--seed=2", name="other.gguf")
        self.assertEqual(first.data, again.data)
        self.assertNotEqual(first.data, other.data)

    def test_sizes_that_make_no_model(self):
        for arguments, message in ((("--vocab=259",), "--vocab is 259"), (("--heads=7",), "--heads is 7"),
                                   (("--hidden=40",), "rows of 40, no multiple of the 32"), (("--layers=0",), "is 0")):
            path = os.path.join(self.folder.name, "m.gguf")
            code, output = run_python("make-model", "qwen3-0.6b", path, *arguments)
            self.assertNotEqual(code, 0)
            self.assertIn(message, output)
            self.assertFalse(os.path.exists(path))


if __name__ == "__main__":
    unittest.main()
