#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""make_cases.py [FOLDER]: writes small ONNX models, each NAME.onnx with its inputs in NAME.json; then
`node run_onnxruntime.js FOLDER/*.onnx` adds what onnxruntime gives. onnx_cases_test.cpp compares. A NAME.reference is
run instead of NAME.onnx: the same numbers without the rounding of activations."""

import json
import pathlib
import sys

import numpy as np

import encoder_graph
import fused_graph
from onnx_writer import Graph

FOLDER = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).parent)


def write(name, graph, feeds):
    (FOLDER / f"{name}.onnx").write_bytes(graph.model())
    inputs = {key: {"type": str(value.dtype), "dims": list(value.shape),
                    "data": [float(f"{number:.9g}") if value.dtype == np.float32 else int(number)
                             for number in value.ravel()]}
              for key, value in feeds.items()}
    (FOLDER / f"{name}.json").write_text(json.dumps({"inputs": inputs}) + "\n")


class Case:
    """One model of input x, [rows, …] unless the dimensions say otherwise."""

    def __init__(self, name, opset, dims=("rows", 8), shape=(5, 8), microsoft=False, scale=1.0):
        self.name, self.shape = name, shape
        self.random = np.random.default_rng(sum(map(ord, name)))
        self.graph = Graph(opset, microsoft)
        self.graph.input("x", "float32", dims)
        self.x = (self.random.standard_normal(shape) * scale).astype(np.float32)

    def weights(self, *shape):
        return (self.random.standard_normal(shape) / np.sqrt(shape[0])).astype(np.float32)

    def weight(self, *shape):
        return self.graph.constant("w", self.weights(*shape))

    def done(self, result, dims=("rows", 8)):
        self.graph.output("y", dims, result)
        write(self.name, self.graph, {"x": self.x})


def elementwise():
    for op in ["Erf", "Tanh", "Relu", "Sigmoid", "Neg"]:
        case = Case(op.lower(), 13)
        case.done(case.graph.node(op, ["x"]))
    for op in ["Add", "Sub", "Mul", "Div"]:
        case = Case(f"{op.lower()}-vector", 14)
        case.done(case.graph.node(op, ["x", case.weight(8)]))
        case = Case(f"{op.lower()}-number", 14)
        case.done(case.graph.node(op, ["x", case.graph.f32(1.7)]))
    case = Case("sub-from-number", 14)
    case.done(case.graph.node("Sub", [case.graph.f32(1.7), "x"]))
    case = Case("sub-from-vector", 14)
    case.done(case.graph.node("Sub", [case.weight(8), "x"]))
    case = Case("reciprocal", 13)
    g = case.graph
    positive = g.node("Add", [g.node("Mul", ["x", "x"]), g.f32(1)])
    case.done(g.node("Mul", [g.node("Mul", ["x", g.node("Reciprocal", [positive])]), g.node("Div", [g.f32(3), positive])]))
    for exponent in [2.0, 3.0]:
        case = Case(f"pow-{int(exponent)}", 13)
        case.done(case.graph.node("Pow", ["x", case.graph.f32(exponent)]))
    case = Case("sqrt", 13)
    g = case.graph
    case.done(g.node("Add", [g.node("Sqrt", [g.node("Mul", ["x", "x"])]), g.node("Pow", [g.node("Mul", ["x", "x"]), g.f32(0.5)])]))
    for approximate in ["none", "tanh"]:
        case = Case(f"gelu-20-{approximate}", 20)
        case.done(case.graph.node("Gelu", ["x"], approximate=approximate))
    case = Case("gelu-tanh-spelled", 13)
    g = case.graph
    inner = g.node("Mul", [g.f32(0.7978845608028654), g.node("Add", ["x", g.node("Mul", [g.f32(0.044715), g.node("Pow", ["x", g.f32(3)])])])])
    case.done(g.node("Mul", [g.node("Mul", [g.f32(0.5), "x"]), g.node("Add", [g.f32(1), g.node("Tanh", [inner])])]))
    case = Case("bias-gelu", 17, microsoft=True)
    case.done(case.graph.node("BiasGelu", ["x", case.weight(8)], domain="com.microsoft"))
    case = Case("fast-gelu", 17, microsoft=True)
    case.done(case.graph.node("FastGelu", ["x", case.weight(8)], domain="com.microsoft"))
    case = Case("quick-gelu", 17, microsoft=True)
    case.done(case.graph.node("QuickGelu", ["x"], domain="com.microsoft", alpha=1.5))
    case = Case("cast", 13)
    case.done(case.graph.node("Cast", [case.graph.node("Cast", ["x"], to=1)], to=1))


def rows():
    for opset in [11, 13]:  # the default axis is 1 up to opset 12, then the last one
        case = Case(f"softmax-{opset}", opset, (2, 2, 2), (2, 2, 2))
        case.x[...] = 0
        case.done(case.graph.node("Softmax", ["x"]), (2, 2, 2))
    case = Case("softmax-last", 13)
    case.done(case.graph.node("Softmax", ["x"], axis=1))
    case = Case("reduce-mean-13", 13)
    case.done(case.graph.node("ReduceMean", ["x"], axes=[1], keepdims=1), ("rows", 1))
    case = Case("reduce-mean-18", 18)
    case.done(case.graph.node("ReduceMean", ["x", case.graph.i64([-1])]), ("rows", 1))
    case = Case("reduce-mean-no-keep", 18, ("batch", "seq", 8), (1, 5, 8))
    case.done(case.graph.node("ReduceMean", ["x", case.graph.i64([2])], keepdims=0), ("batch", "seq"))
    case = Case("layer-norm-17", 17)
    case.done(case.graph.node("LayerNormalization", ["x", case.weight(8), case.weight(8)], epsilon=1e-3))
    case = Case("layer-norm-no-bias", 17)
    case.done(case.graph.node("LayerNormalization", ["x", case.weight(8)], axis=1))
    case = Case("skip-layer-norm", 17, microsoft=True)
    g = case.graph
    normed = g.node("SkipLayerNormalization", ["x", g.node("Relu", ["x"]), case.weight(8), case.weight(8), case.weight(8)],
                    outputs=4, domain="com.microsoft", epsilon=1e-3)
    case.done(g.node("Add", [normed[0], normed[3]]))
    for opset, axes in [(11, "attribute"), (18, "input")]:
        case = Case(f"layer-norm-decomposed-{opset}", opset)
        case.done(encoder_graph.decomposed_norm(case.graph, "x", case.weight(8), case.weight(8), 1e-3, axes == "input"))


def views():
    case = Case("transpose", 13, ("rows", 2, 4), (5, 2, 4))
    g = case.graph
    case.done(g.node("Reshape", [g.node("Transpose", ["x"], perm=[0, 2, 1]), g.i64([0, -1])]))
    case = Case("reshape-zero", 14)
    case.done(case.graph.node("Reshape", ["x", case.graph.i64([0, 2, -1])]), ("rows", 2, 4))
    case = Case("flatten", 13, ("rows", 2, 4), (5, 2, 4))
    case.done(case.graph.node("Flatten", ["x"]))
    for opset in [11, 13]:
        case = Case(f"unsqueeze-{opset}", opset)
        g = case.graph
        if opset == 11:
            wide = g.node("Unsqueeze", ["x"], axes=[1])
            case.done(g.node("Squeeze", [g.node("Relu", [wide])], axes=[1]))
        else:
            wide = g.node("Unsqueeze", ["x", g.i64([1])])
            case.done(g.node("Squeeze", [g.node("Relu", [wide]), g.i64([1])]))
    case = Case("gather-part", 13, ("rows", 3, 8), (5, 3, 8))
    case.done(case.graph.node("Gather", ["x", case.graph.i64(1)], axis=1))
    case = Case("slice", 13)
    g = case.graph
    case.done(g.node("Slice", ["x", g.i64([2]), g.i64([-1]), g.i64([1])]), ("rows", 5))
    case = Case("slice-steps", 13)
    g = case.graph
    case.done(g.node("Slice", ["x", g.i64([0]), g.i64([2**63 - 1]), g.i64([-1]), g.i64([1])]))
    for opset in [11, 13, 18]:
        case = Case(f"split-{opset}", opset)
        g = case.graph
        if opset == 11:
            parts = g.node("Split", ["x"], outputs=2, axis=1, split=[3, 5])
        elif opset == 13:
            parts = g.node("Split", ["x", g.i64([3, 5])], outputs=2, axis=1)
        else:
            parts = g.node("Split", ["x"], outputs=2, axis=-1, num_outputs=2)
        case.done(g.node("Concat", [parts[1], parts[0]], axis=1))
    case = Case("expand-batch", 13, ("batch", "seq", 8), (1, 5, 8))
    g = case.graph
    case.done(g.node("Add", [g.node("Expand", ["x", g.node("Shape", ["x"])]), "x"]), ("batch", "seq", 8))
    case = Case("where-constant", 13)
    g = case.graph
    case.done(g.node("Where", [g.constant("c", np.array([True])), "x", g.f32(0)]))


def linears():
    case = Case("matmul", 13)
    case.done(case.graph.node("MatMul", ["x", case.weight(8, 12)]), ("rows", 12))
    case = Case("matmul-transposed", 13)
    case.done(case.graph.node("MatMul", ["x", case.graph.node("Transpose", [case.weight(12, 8)], perm=[1, 0])]), ("rows", 12))
    case = Case("matmul-batch", 13, ("batch", "seq", 8), (2, 3, 8))
    case.done(case.graph.node("MatMul", ["x", case.weight(8, 12)]), ("batch", "seq", 12))
    case = Case("matmul-f16", 13)
    weight = case.graph.constant("h", case.weights(8, 12).astype(np.float16))
    case.done(case.graph.node("MatMul", ["x", case.graph.node("Cast", [weight], to=1)]), ("rows", 12))
    case = Case("gemm", 13)
    case.done(case.graph.node("Gemm", ["x", case.weight(12, 8), case.weight(12)], transB=1, alpha=0.5, beta=2.0), ("rows", 12))
    case = Case("gemm-plain", 13)
    case.done(case.graph.node("Gemm", ["x", case.weight(8, 12)]), ("rows", 12))


def wide_differences():
    """executorch#22775, onnxruntime#7524: codes minus their zero point exceed int8. Further rows and columns are zero."""
    case = Case("qdq-wide-difference", 13, ("rows", 32), (5, 32))
    g = case.graph
    case.x[...] = 0
    case.x[0, :3] = [72, -118, 127]  # codes 200, 10, 255 minus 128
    codes = np.full((32, 2), 7, np.int8)
    codes[:3] = [[-128, 127], [5, -6], [100, -100]]
    weight = g.node("DequantizeLinear", [g.constant("q", codes), g.f32(1), g.constant("z", np.array(7, np.int8))])
    case.done(g.node("MatMul", ["x", weight]), ("rows", 2))


def quantized():
    def codes(case, *shape, dtype=np.int8):
        low, high = (-127, 128) if dtype == np.int8 else (0, 256)
        return case.random.integers(low, high, shape).astype(dtype)

    for name, dtype, channels in [("int8-tensor", np.int8, False), ("int8-channel", np.int8, True), ("uint8-tensor", np.uint8, False), ("uint8-channel", np.uint8, True)]:
        case = Case(f"qdq-{name}", 13, ("rows", 32), (5, 32))
        g = case.graph
        scale = (case.random.random(12 if channels else ()) * 0.01 + 0.01).astype(np.float32)
        zero = np.asarray(codes(case, *scale.shape, dtype=dtype) // 8, dtype)
        weight = g.node("DequantizeLinear", [g.constant("q", codes(case, 32, 12, dtype=dtype)), g.constant("s", scale), g.constant("z", zero)], axis=1)
        case.done(g.node("MatMul", ["x", weight]), ("rows", 12))
    case = Case("qdq-no-zero", 13, ("rows", 32), (5, 32))
    g = case.graph
    weight = g.node("DequantizeLinear", [g.constant("q", codes(case, 12, 32)), g.constant("s", (case.random.random(12) * 0.02).astype(np.float32))], axis=0)
    bias = g.node("DequantizeLinear", [g.constant("b", case.random.integers(-1000, 1000, 12).astype(np.int32)), g.constant("t", np.full(12, 0.001, np.float32))], axis=0)
    case.done(g.node("Gemm", ["x", weight, bias], transB=1), ("rows", 12))


def main():
    elementwise()
    rows()
    views()
    linears()
    quantized()
    wide_differences()
    for variants, build in [(fused_graph.FUSED, "build_encoder"), (fused_graph.CAUSAL, "build_causal")]:
        for name, options in variants.items():
            rotates = options["attention"] == "multihead-rotary" if "attention" in options else False
            texts = encoder_graph.feeds({"positions": "input"} if rotates else {})
            if build == "build_causal":
                del texts["token_type_ids"]
            write(f"fused-{name}", getattr(fused_graph.Fused(options), build)(), texts)
    for name, options in encoder_graph.VARIANTS.items():
        graph, feeds = encoder_graph.build(options)
        write(f"encoder-{name}", graph, feeds)
        if name in encoder_graph.REFERENCES:
            reference, _ = encoder_graph.build({**options, **encoder_graph.REFERENCES[name]})
            (FOLDER / f"encoder-{name}.reference").write_bytes(reference.model())


if __name__ == "__main__":
    main()
