# SPDX-License-Identifier: Apache-2.0
"""A small BERT as exporters of several kinds and years write it."""

import numpy as np

from onnx_writer import Graph

HIDDEN, HEADS, WIDE, LAYERS, VOCABULARY, POSITIONS = 32, 4, 64, 2, 40, 16
LOWEST = float(np.finfo(np.float32).min)


def decomposed_norm(g, x, gain, bias, epsilon, axes_as_input):
    """ReduceMean, Sub, Pow, ReduceMean, Add, Sqrt, Div, Mul, Add."""
    def mean(value):
        if axes_as_input:
            return g.node("ReduceMean", [value, g.i64([-1])], keepdims=1)
        return g.node("ReduceMean", [value], axes=[-1], keepdims=1)

    centred = g.node("Sub", [x, mean(x)])
    variance = mean(g.node("Pow", [centred, g.f32(2)]))
    root = g.node("Sqrt", [g.node("Add", [variance, g.f32(epsilon)])])
    return g.node("Add", [g.node("Mul", [g.node("Div", [centred, root]), gain]), bias])


class Encoder:
    """Options, by name: opset; norm (fused, decomposed, skip); mask (none, subtract, where, expand, bool); positions
    (table, ids, range, input, cumsum); shapes (zeros, computed); scale (scores, divide, roots); gelu (erf, op); relative (MPNet's biases by distance);
    linear (matmul, gemm, bias-first, qdq, dynamic, nbits); packed (one matrix for q, k, v)."""

    def __init__(self, options):
        self.options = {"opset": 14, "norm": "decomposed", "mask": "subtract", "positions": "ids", "shapes": "computed",
                        "scale": "divide", "gelu": "erf", "linear": "matmul", "packed": False, "relative": False, **options}
        self.random = np.random.default_rng(7)
        self.arrays = []  # all that were made, in order
        linear = self.options["linear"]
        self.g = Graph(self.options["opset"], microsoft=self.options["norm"] == "skip" or linear == "nbits")

    # Pieces.

    def random_array(self, *shape, scale=1.0):
        self.arrays.append((self.random.standard_normal(shape) * scale).astype(np.float32))
        return self.arrays[-1]

    def unsqueeze(self, x, axes):
        if self.options["opset"] < 13:
            return self.g.node("Unsqueeze", [x], axes=axes)
        return self.g.node("Unsqueeze", [x, self.g.i64(axes)])

    def size(self, x, axis):
        """A dimension of x as a vector of one number."""
        scalar = self.g.node("Gather", [self.g.node("Shape", [x]), self.g.constant("axis", np.array(axis, np.int64))], axis=0)
        return self.unsqueeze(scalar, [0])

    def norm(self, x, skip=None):
        gain = self.g.constant("gain", 1 + self.random_array(HIDDEN, scale=0.1))
        bias = self.g.constant("bias", self.random_array(HIDDEN, scale=0.1))
        kind = self.options["norm"]
        if kind == "skip" and skip:
            return self.g.node("SkipLayerNormalization", [x, skip, gain, bias], domain="com.microsoft", epsilon=1e-12)
        if skip:
            x = self.g.node("Add", [x, skip])
        if kind == "decomposed":
            return decomposed_norm(self.g, x, gain, bias, 1e-12, self.options["opset"] >= 18)
        return self.g.node("LayerNormalization", [x, gain, bias], axis=-1, epsilon=1e-12)

    def linear(self, x, inputs, outputs):
        g = self.g
        weight = self.random_array(inputs, outputs, scale=inputs ** -0.5)
        bias = g.constant("b", self.random_array(outputs, scale=0.1))
        kind = self.options["linear"]
        if kind in ("qdq", "dynamic"):
            product = self.int8_product(x, weight, kind)
        elif kind in ("nbits", "nbits-reference"):
            product = self.nbits_product(x, weight, kind)
        elif kind == "gemm":
            rows = g.node("Reshape", [x, g.i64([-1, inputs])])
            rows = g.node("Gemm", [rows, g.constant("w", np.ascontiguousarray(weight.T)), bias], transB=1)
            shape = g.node("Concat", [self.size("input_ids", 0), self.size("input_ids", 1), g.i64([outputs])], axis=0)
            return g.node("Reshape", [rows, shape])
        else:
            product = g.node("MatMul", [x, g.constant("w", weight)])
        return g.node("Add", [bias, product] if kind == "bias-first" else [product, bias])

    def int8_product(self, x, weight, kind):
        """Asymmetric uint8, a scale and a zero point for each output."""
        g = self.g
        low, high = np.minimum(weight.min(0), 0), np.maximum(weight.max(0), 0)
        scale = ((high - low) / 255).astype(np.float32)
        zero = np.clip(np.rint(-low / scale), 0, 255).astype(np.uint8)
        codes = np.clip(np.rint(weight / scale) + zero, 0, 255).astype(np.uint8)
        codes, zero, scale = g.constant("q", codes), g.constant("z", zero), g.constant("s", scale)
        if kind == "qdq":
            return g.node("MatMul", [x, g.node("DequantizeLinear", [codes, scale, zero], axis=1)])
        quantized = g.node("DynamicQuantizeLinear", [x], outputs=3)
        product = g.node("MatMulInteger", [quantized[0], codes, quantized[2], zero])
        return g.node("Mul", [g.node("Cast", [product], to=1), g.node("Mul", [quantized[1], scale])])

    def nbits_product(self, x, weight, kind):
        """Blocks of 32 along the inputs, with zero points."""
        g = self.g
        inputs, outputs = weight.shape
        blocks = weight.T.reshape(outputs, inputs // 32, 32)
        low, high = np.minimum(blocks.min(2), 0), np.maximum(blocks.max(2), 0)
        scale = ((high - low) / 15).astype(np.float16).astype(np.float32)
        zero = np.clip(np.rint(-low / scale), 0, 15)
        codes = np.clip(np.rint(blocks / scale[..., None]) + zero[..., None], 0, 15)
        if kind == "nbits-reference":
            exact = ((codes - zero[..., None]) * scale[..., None]).astype(np.float32).reshape(outputs, inputs)
            return g.node("MatMul", [x, g.constant("w", np.ascontiguousarray(exact.T))])
        packed = (codes[..., 0::2].astype(np.uint8) | codes[..., 1::2].astype(np.uint8) << 4)
        padded = np.pad(zero.astype(np.uint8), ((0, 0), (0, zero.shape[1] % 2)))
        zeros = (padded[:, 0::2] | padded[:, 1::2] << 4).reshape(-1)
        operands = [g.constant("q", packed), g.constant("s", scale.reshape(-1)), g.constant("z", zeros)]
        return g.node("MatMulNBits", [x] + operands, domain="com.microsoft", K=inputs, N=outputs, bits=4, block_size=32)

    def gelu(self, x):
        g = self.g
        if self.options["gelu"] == "op":
            return g.node("Gelu", [x])
        erf = g.node("Erf", [g.node("Div", [x, g.f32(2 ** 0.5)])])
        return g.node("Mul", [g.node("Mul", [x, g.node("Add", [erf, g.f32(1)])]), g.f32(0.5)])

    # Mask and positions.

    def mask(self):
        g, kind = self.g, self.options["mask"]
        if kind == "none":
            return None
        wide = self.unsqueeze(self.unsqueeze("attention_mask", [1]), [2])
        if kind == "subtract":
            floats = g.node("Cast", [wide], to=1)
            return g.node("Mul", [g.node("Sub", [g.f32(1), floats]), g.f32(-10000.0)])
        batch, sequence = self.size("input_ids", 0), self.size("input_ids", 1)
        shape = g.node("Concat", [batch, g.i64([1]), sequence, sequence], axis=0)
        ones = g.node("ConstantOfShape", [g.i64([4])], value=np.array([1], np.int64))
        chosen = g.node("Where", [g.node("Equal", [shape, g.node("Mul", [ones, g.i64(-1)])]), ones, shape])
        expanded = g.node("Expand", [wide, chosen])
        if kind == "expand":
            inverted = g.node("Sub", [g.f32(1), g.node("Cast", [expanded], to=1)])
            return g.node("Where", [g.node("Cast", [inverted], to=9), g.f32(LOWEST), inverted])
        keep = g.node("Cast", [expanded], to=9)  # bool
        return g.node("Where", [g.node("Not", [keep]), g.f32(-np.inf), g.f32(0)])

    def positions(self):
        """The position embeddings, [1 or batch, sequence, hidden]."""
        g, kind = self.g, self.options["positions"]
        table = self.random_array(POSITIONS + 2, HIDDEN, scale=0.5)
        rows = table[2:] if kind != "cumsum" else table
        end = self.size("input_ids", 1)
        if kind == "table":
            name = g.constant("positions", rows[None])
            return g.node("Slice", [name, g.i64([0]), end, g.i64([1])])
        name = g.constant("positions", np.ascontiguousarray(rows))
        if kind == "ids":
            ids = g.constant("position_ids", np.arange(POSITIONS, dtype=np.int64)[None])
            ids = g.node("Slice", [ids, g.i64([0]), end, g.i64([1]), g.i64([1])])
        elif kind == "range":
            scalar = g.node("Squeeze", [end, g.i64([0])])
            ids = g.node("Range", [g.constant("zero", np.array(0, np.int64)), scalar, g.constant("one", np.array(1, np.int64))])
            ids = self.unsqueeze(ids, [0])
        elif kind == "input":
            ids = "position_ids"
        else:  # roberta: padding is token 1, positions begin at 2
            keep = g.node("Cast", [g.node("Not", [g.node("Equal", ["input_ids", g.constant("pad", np.array(1, np.int64))])])], to=7)
            count = g.node("Mul", [g.node("CumSum", [keep, g.constant("axis", np.array(1, np.int64))]), keep])
            ids = g.node("Add", [count, g.constant("pad", np.array(1, np.int64))])
        return g.node("Gather", [name, ids])

    def relative_bias(self):
        """[batch, heads, sequence, sequence], as torch exports MPNet's compute_position_bias."""
        g, buckets = self.g, 32
        def integer(number):
            return g.constant("number", np.array(number, np.int64))

        length = g.node("Squeeze", [self.size("input_ids", 1), g.i64([0])])
        places = g.node("Range", [integer(0), length, integer(1)])
        distance = g.node("Neg", [g.node("Sub", [self.unsqueeze(places, [0]), self.unsqueeze(places, [1])])])
        behind = g.node("Mul", [g.node("Cast", [g.node("Less", [distance, integer(0)])], to=7), integer(buckets // 2)])
        far, exact = g.node("Abs", [distance]), buckets // 4
        logarithm = g.node("Log", [g.node("Div", [g.node("Cast", [far], to=1), g.f32(exact)])])
        steps = g.node("Mul", [g.node("Div", [logarithm, g.f32(np.log(128 / exact))]), g.f32(buckets // 2 - exact)])
        large = g.node("Add", [g.node("Cast", [steps], to=7), integer(exact)])
        most = g.node("ConstantOfShape", [g.node("Shape", [large])], value=np.array([buckets // 2 - 1], np.int64))
        inside = g.node("Where", [g.node("Less", [far, integer(exact)]), far, g.node("Min", [large, most])])
        table = g.constant("biases", self.random_array(buckets, HEADS))
        values = g.node("Transpose", [g.node("Gather", [table, g.node("Add", [behind, inside])])], perm=[2, 0, 1])
        shape = g.node("Concat", [self.size("input_ids", 0), g.i64([1, 1, 1])], axis=0)
        return g.node("Expand", [self.unsqueeze(values, [0]), shape])

    # Layers.

    def heads(self, x, permutation):
        g = self.g
        if self.options["shapes"] == "zeros":
            shape = g.i64([0, 0, HEADS, HIDDEN // HEADS])
        else:
            shape = g.node("Concat", [self.size(x, 0), self.size(x, 1), g.i64([HEADS]), g.i64([HIDDEN // HEADS])], axis=0)
        return g.node("Transpose", [g.node("Reshape", [x, shape])], perm=permutation)

    def query_key_value(self, x):
        if not self.options["packed"]:
            return [self.linear(x, HIDDEN, HIDDEN) for _ in range(3)]
        packed = self.linear(x, HIDDEN, 3 * HIDDEN)
        if self.options["opset"] < 13:
            return self.g.node("Split", [packed], outputs=3, axis=2, split=[HIDDEN] * 3)
        return self.g.node("Split", [packed, self.g.i64([HIDDEN] * 3)], outputs=3, axis=2)

    def attention(self, x, mask, relative):
        g, kind = self.g, self.options["scale"]
        q, k, v = self.query_key_value(x)
        q, k, v = self.heads(q, [0, 2, 1, 3]), self.heads(k, [0, 2, 3, 1]), self.heads(v, [0, 2, 1, 3])
        size = HIDDEN // HEADS
        if kind == "roots":  # scaled_dot_product_attention of torch
            width = g.node("Cast", [self.size(q, 3)], to=1)
            root = g.node("Sqrt", [g.node("Div", [g.f32([1]), g.node("Sqrt", [width])])])
            q, k = g.node("Mul", [q, root]), g.node("Mul", [k, root])
        scores = g.node("MatMul", [q, k])
        if kind == "divide":
            scores = g.node("Div", [scores, g.f32(size ** 0.5)])
        elif kind == "scores":
            scores = g.node("Mul", [scores, g.f32(size ** -0.5)])
        if relative:
            scores = g.node("Add", [scores, relative])
        if mask:
            scores = g.node("Add", [scores, mask])
        weights = g.node("Softmax", [scores], axis=3)
        mixed = g.node("Transpose", [g.node("MatMul", [weights, v])], perm=[0, 2, 1, 3])
        if self.options["shapes"] == "zeros":
            shape = g.i64([0, 0, HIDDEN])
        else:
            shape = g.node("Concat", [self.size(mixed, 0), self.size(mixed, 1), g.i64([HIDDEN])], axis=0)
        return self.linear(g.node("Reshape", [mixed, shape]), HIDDEN, HIDDEN)

    def build(self):
        g = self.g
        dims = ["batch", "sequence"]
        for name in ["input_ids", "attention_mask", "token_type_ids"]:
            g.input(name, "int64", dims)
        if self.options["positions"] == "input":
            g.input("position_ids", "int64", dims)
        words = g.node("Gather", [g.constant("words", self.random_array(VOCABULARY, HIDDEN)), "input_ids"])
        types = g.node("Gather", [g.constant("types", self.random_array(2, HIDDEN, scale=0.5)), "token_type_ids"])
        mask = self.mask()
        x = self.norm(g.node("Add", [g.node("Add", [words, types]), self.positions()]))
        relative = self.relative_bias() if self.options["relative"] else None
        for _ in range(LAYERS):
            x = self.norm(self.attention(x, mask, relative), x)
            x = self.norm(self.linear(self.gelu(self.linear(x, HIDDEN, WIDE)), WIDE, HIDDEN), x)
        g.output("last_hidden_state", dims + [HIDDEN], x)
        return g


def feeds(options):
    """Two texts, one shorter; without a mask, one. Those of biases by distance reach beyond the buckets of one distance."""
    random = np.random.default_rng(11)
    lengths = [6] if options.get("mask") == "none" else [POSITIONS, 11] if options.get("relative") else [6, 4]
    keep = np.arange(lengths[0])[None, :] < np.array(lengths)[:, None]
    ids = np.where(keep, random.integers(2, VOCABULARY, keep.shape), 1).astype(np.int64)
    result = {"input_ids": ids, "attention_mask": keep.astype(np.int64), "token_type_ids": np.zeros_like(ids)}
    if options.get("positions") == "input":
        result["position_ids"] = np.broadcast_to(np.arange(lengths[0], dtype=np.int64), ids.shape).copy()
    return result


VARIANTS = {
    "11": {"opset": 11, "positions": "table", "shapes": "zeros"},
    "14": {"opset": 14},
    "17": {"opset": 17, "norm": "fused", "mask": "where", "scale": "roots", "packed": True},
    "18": {"opset": 18, "mask": "expand", "positions": "range", "scale": "scores"},
    "20": {"opset": 20, "norm": "fused", "gelu": "op", "linear": "gemm", "positions": "input"},
    "no-mask": {"opset": 17, "norm": "fused", "mask": "none", "shapes": "zeros", "linear": "bias-first"},
    "roberta": {"opset": 17, "positions": "cumsum", "mask": "where"},
    "mpnet": {"opset": 17, "norm": "fused", "positions": "cumsum", "mask": "where", "relative": True},
    "skip-norm": {"opset": 17, "norm": "skip", "positions": "table"},
    "qdq": {"opset": 17, "norm": "fused", "linear": "qdq"},
    "dynamic": {"opset": 17, "norm": "fused", "linear": "dynamic"},
    "nbits": {"opset": 17, "norm": "fused", "linear": "nbits"},
}

# What int8 and 4-bit models would give without quantized activations.
REFERENCES = {"dynamic": {"linear": "qdq"}, "nbits": {"linear": "nbits-reference"}}


def build(options):
    return Encoder(options).build(), feeds(options)
