# SPDX-License-Identifier: Apache-2.0
"""Writes ONNX files with the standard library and numpy: a graph is put together node by node."""

import struct

import numpy as np

TYPES = {"float32": 1, "uint8": 2, "int8": 3, "int32": 6, "int64": 7, "bool": 9, "float16": 10}


def varint(number):
    number &= (1 << 64) - 1
    out = b""
    while True:
        low, number = number & 127, number >> 7
        out += bytes([low | 128 if number else low])
        if not number:
            return out


def integer(field, number):
    return varint(field << 3) + varint(number)


def data(field, content):
    content = content.encode() if isinstance(content, str) else content
    return varint(field << 3 | 2) + varint(len(content)) + content


def tensor(name, array):
    array = np.asarray(array)
    dims = b"".join(integer(1, size) for size in array.shape)
    return dims + integer(2, TYPES[str(array.dtype)]) + data(8, name) + data(9, np.ascontiguousarray(array).tobytes())


def external_tensor(name, array, location, offset):
    array = np.asarray(array)
    dims = b"".join(integer(1, size) for size in array.shape)
    entries = {"location": location, "offset": str(offset), "length": str(array.nbytes)}
    return (dims + integer(2, TYPES[str(array.dtype)]) + data(8, name)
            + b"".join(data(13, data(1, key) + data(2, value)) for key, value in entries.items()) + integer(14, 1))


def attribute(name, value):
    if isinstance(value, float):
        return data(1, name) + varint(2 << 3 | 5) + struct.pack("<f", value) + integer(20, 1)
    if isinstance(value, int):
        return data(1, name) + integer(3, value) + integer(20, 2)
    if isinstance(value, str):
        return data(1, name) + data(4, value) + integer(20, 3)
    if isinstance(value, np.ndarray):
        return data(1, name) + data(5, tensor("", value)) + integer(20, 4)
    return data(1, name) + b"".join(integer(8, number) for number in value) + integer(20, 7)


def value_info(name, dtype, dims):
    shape = b"".join(data(1, data(2, dim) if isinstance(dim, str) else integer(1, dim)) for dim in dims)
    return data(1, name) + data(2, data(1, integer(1, TYPES[dtype]) + data(2, shape)))


class Graph:
    """Nodes, initializers, inputs and outputs of one model."""

    def __init__(self, opset, microsoft=False):
        self.opsets = {"": opset}
        if microsoft:
            self.opsets["com.microsoft"] = 1
        self.nodes, self.initializers, self.inputs, self.outputs = [], [], [], []
        self.names = set()

    def fresh(self, stem):
        name, count = stem, 1
        while name in self.names:
            count += 1
            name = f"{stem}_{count}"
        self.names.add(name)
        return name

    def input(self, name, dtype, dims):
        self.inputs.append(value_info(name, dtype, dims))
        return name

    def output(self, name, dims, source):
        self.nodes.append(data(1, source) + data(2, name) + data(3, name + "_out") + data(4, "Identity"))
        self.outputs.append(value_info(name, "float32", dims))

    def constant(self, stem, array):
        name = self.fresh(stem)
        self.initializers.append(tensor(name, array))
        return name

    def f32(self, number):
        return self.constant("number", np.array(number, np.float32))

    def i64(self, numbers):
        return self.constant("integers", np.array(numbers, np.int64))

    def node(self, op, inputs, outputs=1, domain="", **attributes):
        """Gives the name of the output, or a list of them."""
        name = self.fresh(op)
        results = [name] if outputs == 1 else [f"{name}_{index}" for index in range(outputs)]
        text = b"".join(data(1, item) for item in inputs) + b"".join(data(2, item) for item in results)
        text += data(3, name) + data(4, op)
        text += b"".join(data(5, attribute(key, value)) for key, value in attributes.items())
        if domain:
            text += data(7, domain)
        self.nodes.append(text)
        return results[0] if outputs == 1 else results

    def alias(self, source, name):
        """Gives a value a name of one's own choice."""
        self.nodes.append(data(1, source) + data(2, name) + data(3, name + "_alias") + data(4, "Identity"))

    def model(self):
        graph = b"".join(data(1, item) for item in self.nodes) + data(2, "toy")
        graph += b"".join(data(5, item) for item in self.initializers)
        graph += b"".join(data(11, item) for item in self.inputs) + b"".join(data(12, item) for item in self.outputs)
        opsets = b"".join(data(8, data(1, domain) + integer(2, version)) for domain, version in self.opsets.items())
        return integer(1, 7) + data(7, graph) + opsets
