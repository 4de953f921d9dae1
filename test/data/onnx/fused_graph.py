# SPDX-License-Identifier: Apache-2.0
"""Small encoders and causal models of com.microsoft's fused ops."""

import numpy as np

from encoder_graph import POSITIONS, VOCABULARY
from onnx_writer import Graph

HEADS, SIZE = 2, 16  # onnxruntime turns heads of a multiple of 16 only
HIDDEN, WIDE, LAYERS = HEADS * SIZE, 48, 1
MICROSOFT = "com.microsoft"


class Fused:
    """Options, by name: attention (op, multihead, multihead-rotary, group); rotary base, interleaved, window, cap."""

    def __init__(self, options):
        self.options = {"attention": "op", "base": 10000.0, "interleaved": 0, "window": -1, "cap": 0.0, "kv": HEADS,
                        "packed": False, **options}
        self.random = np.random.default_rng(5)
        self.g = Graph(17, microsoft=True)

    def random_array(self, *shape, scale=1.0):
        return (self.random.standard_normal(shape) * scale).astype(np.float32)

    def vector(self, name, size=HIDDEN, mean=0.0):
        return self.g.constant(name, mean + self.random_array(size, scale=0.1))

    def matrix(self, inputs, outputs):
        return self.g.constant("w", self.random_array(inputs, outputs, scale=inputs ** -0.5))

    def product(self, x, inputs, outputs):
        return self.g.node("MatMul", [x, self.matrix(inputs, outputs)])

    def rotary_tables(self):
        angles = np.arange(64)[:, None] * self.options["base"] ** (-np.arange(SIZE // 2) * 2 / SIZE)
        return [self.g.constant("cos", np.cos(angles).astype(np.float32)),
                self.g.constant("sin", np.sin(angles).astype(np.float32))]

    def skip_norm(self, x, skip):
        return self.g.node("SkipLayerNormalization", [x, skip, self.vector("gain", mean=1), self.vector("bias")],
                           domain=MICROSOFT, epsilon=1e-12)

    def attention(self, x):
        g, kind = self.g, self.options["attention"]
        if kind == "op":
            return g.node("Attention", [x, self.matrix(HIDDEN, 3 * HIDDEN), self.vector("b", 3 * HIDDEN), "mask"],
                          domain=MICROSOFT, num_heads=HEADS)
        query, key, value = (self.product(x, HIDDEN, HIDDEN) for _ in range(3))
        if kind == "multihead":
            return g.node("MultiHeadAttention", [query, key, value, self.vector("b", 3 * HIDDEN), "mask"],
                          domain=MICROSOFT, num_heads=HEADS)
        tables = self.rotary_tables()
        query, key = (g.node("RotaryEmbedding", [part, "position_ids", *tables], domain=MICROSOFT, num_heads=HEADS,
                             interleaved=self.options["interleaved"]) for part in (query, key))
        return g.node("MultiHeadAttention", [query, key, value, "", "mask"], domain=MICROSOFT, num_heads=HEADS,
                      unidirectional=1, scale=0.5)

    def build_encoder(self):
        """EmbedLayerNormalization, attention, SkipLayerNormalization and BiasGelu."""
        g, dims = self.g, ["batch", "sequence"]
        rotates = self.options["attention"] == "multihead-rotary"
        for name in ["input_ids", "attention_mask", "token_type_ids"] + ["position_ids"] * rotates:
            g.input(name, "int64", dims)
        ids, types, mask = (g.node("Cast", [name], to=6) for name in ["input_ids", "token_type_ids", "attention_mask"])
        g.alias(mask, "mask")
        tables = [g.constant("words", self.random_array(VOCABULARY, HIDDEN)),
                  g.constant("positions", self.random_array(POSITIONS, HIDDEN, scale=0.5)),
                  g.constant("types", self.random_array(2, HIDDEN, scale=0.5))]
        x = g.node("EmbedLayerNormalization", [ids, types, *tables, self.vector("gain", mean=1), self.vector("bias"), mask],
                   outputs=2, domain=MICROSOFT, epsilon=1e-12)[0]
        for _ in range(LAYERS):
            mixed = g.node("Add", [self.product(self.attention(x), HIDDEN, HIDDEN), self.vector("b")])
            x = self.skip_norm(mixed, x)
            inner = g.node("BiasGelu", [self.product(x, HIDDEN, WIDE), self.vector("b", WIDE)], domain=MICROSOFT)
            x = self.skip_norm(g.node("Add", [self.product(inner, WIDE, HIDDEN), self.vector("b")]), x)
        g.output("last_hidden_state", dims + [HIDDEN], x)
        return g

    def group_attention(self, x):
        g, kv, options = self.g, self.options["kv"], self.options
        parts = [self.product(x, HIDDEN, (HEADS + 2 * kv) * SIZE), "", ""]
        if not options["packed"]:
            parts = [self.product(x, HIDDEN, count * SIZE) for count in (HEADS, kv, kv)]
        return g.node("GroupQueryAttention", parts + ["", "", "last", "total", *self.rotary_tables()], domain=MICROSOFT,
                      outputs=3, num_heads=HEADS, kv_num_heads=kv, do_rotary=1, rotary_interleaved=options["interleaved"],
                      local_window_size=options["window"], softcap=options["cap"])[0]

    def build_causal(self):
        """SimplifiedLayerNormalization, GroupQueryAttention without a past, SkipSimplifiedLayerNormalization."""
        g, dims = self.g, ["batch", "sequence"]
        for name in ["input_ids", "attention_mask"]:
            g.input(name, "int64", dims)
        lengths = g.node("ReduceSum", ["attention_mask", g.i64([1])], keepdims=0)
        g.alias(g.node("Cast", [g.node("Sub", [lengths, g.i64(1)])], to=6), "last")
        total = g.node("Gather", [g.node("Shape", ["attention_mask"]), g.i64(1)], axis=0)
        g.alias(g.node("Cast", [total], to=6), "total")
        x = g.node("Gather", [g.constant("words", self.random_array(VOCABULARY, HIDDEN)), "input_ids"])
        normed = g.node("SimplifiedLayerNormalization", [x, self.vector("gain", mean=1)], axis=-1, epsilon=1e-5)

        def add(x, part):
            results = g.node("SkipSimplifiedLayerNormalization", [x, part, self.vector("gain", mean=1)], outputs=4,
                             domain=MICROSOFT, epsilon=1e-5)
            return results[3], results[0]

        for _ in range(LAYERS):
            x, normed = add(x, self.product(self.group_attention(normed), HIDDEN, HIDDEN))
            gate = self.product(normed, HIDDEN, WIDE)
            inner = g.node("Mul", [g.node("Mul", [gate, g.node("Sigmoid", [gate])]), self.product(normed, HIDDEN, WIDE)])
            x, normed = add(x, self.product(inner, WIDE, HIDDEN))
        g.output("logits", dims + [VOCABULARY], self.product(normed, HIDDEN, VOCABULARY))
        return g


FUSED = {
    "attention": {"attention": "op"},
    "multihead": {"attention": "multihead"},
    "multihead-rotary": {"attention": "multihead-rotary"},
    "multihead-interleaved": {"attention": "multihead-rotary", "interleaved": 1, "base": 500000.0},
}
CAUSAL = {
    "group": {"kv": 1},
    "group-window": {"kv": HEADS, "window": 3, "interleaved": 1},
    "group-cap": {"kv": 1, "cap": 2.0, "packed": True, "base": 1e6},
}
