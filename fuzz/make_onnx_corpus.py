#!/usr/bin/env python3
"""Writes fuzz/corpus/onnx_fuzz/: small models, some of which the importer refuses late. Standard library only.

usage: fuzz/make_onnx_corpus.py       Files that a fuzzer found and that were kept are not touched.
"""
import pathlib
import struct

FOLDER = pathlib.Path(__file__).parent / "corpus" / "onnx_fuzz"
FLOAT, INT64, BOOL, FLOAT16 = 1, 7, 9, 10


def number(n):
    n &= (1 << 64) - 1
    out = b""
    while n > 127:
        out += bytes([n & 127 | 128])
        n >>= 7
    return out + bytes([n])


def field(tag, value):
    """An int as a number, a float as four bytes, anything else as bytes behind their length."""
    if isinstance(value, int):
        return number(tag << 3) + number(value)
    if isinstance(value, float):
        return number(tag << 3 | 5) + struct.pack("<f", value)
    data = value.encode() if isinstance(value, str) else value
    return number(tag << 3 | 2) + number(len(data)) + data


def tensor(name, element, dims, data):
    return b"".join(field(1, d) for d in dims) + field(2, element) + field(8, name) + field(9, data)


def floats(name, dims, *values):
    return tensor(name, FLOAT, dims, struct.pack(f"<{len(values)}f", *values))


def ints(name, *values):
    return tensor(name, INT64, [len(values)], struct.pack(f"<{len(values)}q", *values))


def attribute(name, value):
    if isinstance(value, bool):
        raise TypeError(name)
    if isinstance(value, int):
        return field(1, name) + field(3, value) + field(20, 2)
    if isinstance(value, float):
        return field(1, name) + field(2, value) + field(20, 1)
    if isinstance(value, str):
        return field(1, name) + field(4, value) + field(20, 3)
    if isinstance(value, list):
        return field(1, name) + b"".join(field(8, v) for v in value) + field(20, 7)
    kind, data = value
    return field(1, name) + field({"tensor": 5, "graph": 6}[kind], data) + field(20, {"tensor": 4, "graph": 5}[kind])


def node(op, inputs, outputs, domain="", **attributes):
    return (b"".join(field(1, i) for i in inputs) + b"".join(field(2, o) for o in outputs) + field(4, op) +
            b"".join(field(5, attribute(n, v)) for n, v in attributes.items()) + (field(7, domain) if domain else b""))


def value(name, dims, element=FLOAT):
    shape = b"".join(field(1, field(2, d) if isinstance(d, str) else field(1, d)) for d in dims)
    return field(1, name) + field(2, field(1, field(1, element) + field(2, shape)))


def graph(nodes, inputs, outputs, initializers=()):
    return (b"".join(field(1, n) for n in nodes) + field(2, "g") + b"".join(field(5, t) for t in initializers) +
            b"".join(field(11, i) for i in inputs) + b"".join(field(12, o) for o in outputs))


def opsets(*versions):
    return b"".join(field(8, (field(1, d) if d else b"") + field(2, v)) for d, v in versions)


def model(body, opset=13, more=b""):
    return field(1, 8) + field(2, "corpus") + field(7, body) + opsets(("", opset)) + more


def function(name, inputs, outputs, nodes):
    return (field(1, name) + b"".join(field(4, i) for i in inputs) + b"".join(field(5, o) for o in outputs) +
            b"".join(field(7, n) for n in nodes) + field(9, field(2, 13)) + field(9, field(1, "own") + field(2, 1)) +
            field(10, "own"))


X, Y = value("x", [2, 3]), value("y", [])
MODELS = {
    "mlp": model(graph(
        [node("Gemm", ["x", "w", "b"], ["h"], transB=1), node("Relu", ["h"], ["r"]), node("Softmax", ["r"], ["y"], axis=-1)],
        [value("x", ["batch", 3])], [field(1, "y")],
        [floats("w", [2, 3], 1, 2, 3, 4, 5, 6), floats("b", [2], 1, 2)])),
    "conv": model(graph(
        [node("Conv", ["x", "w"], ["c"], kernel_shape=[3, 3], pads=[1, 1, 1, 1]),
         node("MaxPool", ["c"], ["p"], kernel_shape=[2, 2], strides=[2, 2]), node("Flatten", ["p"], ["y"], axis=1)],
        [value("x", [1, 1, 4, 4])], [field(1, "y")], [floats("w", [1, 1, 3, 3], *range(9))])),
    "view": model(graph(
        [node("Shape", ["x"], ["s"]), node("Constant", [], ["z"], value=("tensor", ints("", 0))),
         node("Gather", ["s", "z"], ["b"], axis=0), node("Concat", ["b", "m"], ["t"], axis=0),
         node("Reshape", ["x", "t"], ["y"])],
        [X], [field(1, "y")], [ints("m", -1)])),
    "slice": model(graph(
        [node("Slice", ["x", "starts", "ends", "axes"], ["y"])], [X], [field(1, "y")],
        [ints("starts", 1), ints("ends", 3), ints("axes", 1)])),
    "half": model(graph(
        [node("Transpose", ["x"], ["t"], perm=[1, 0]), node("Add", ["t", "t"], ["y"])], [value("x", [2, 3], FLOAT16)],
        [field(1, "y")])),
    "old_softmax": model(graph([node("Softmax", ["x"], ["y"])], [value("x", [2, 3, 4])], [field(1, "y")]), 11),
    "norm": model(graph(
        [node("BatchNormalization", ["x", "s", "b", "m", "v"], ["y"], epsilon=0.001)], [value("x", [1, 2, 2, 2])],
        [field(1, "y")], [floats(n, [2], 1, 1) for n in "sbmv"])),
    "function": model(
        graph([node("Twice", ["x"], ["y"], "own")], [X], [field(1, "y")]), 13,
        field(8, field(1, "own") + field(2, 1)) +
        field(25, function("Twice", ["a"], ["b"], [node("Relu", ["a"], ["i"]), node("Add", ["i", "i"], ["b"])]))),
    "itself": model(
        graph([node("Again", ["x"], ["y"], "own")], [X], [field(1, "y")]), 13,
        field(8, field(1, "own") + field(2, 1)) +
        field(25, function("Again", ["a"], ["b"], [node("Again", ["a"], ["b"], "own")]))),
    "if": model(graph(
        [node("If", ["c"], ["y"], then_branch=("graph", graph([node("Relu", ["x"], ["r"])], [], [field(1, "r")])),
              else_branch=("graph", graph([node("Neg", ["x"], ["r"])], [], [field(1, "r")])))],
        [value("c", [], BOOL), X], [field(1, "y")])),
    "loop": model(graph(
        [node("Loop", ["n", "", "x"], ["y"], body=("graph", graph(
            [node("Identity", ["go"], ["on"]), node("Add", ["s", "x"], ["m"])],
            [value("i", [], INT64), value("go", [], BOOL), value("s", [2, 3])], [field(1, "on"), field(1, "m")])))],
        [X], [field(1, "y")], [tensor("n", INT64, [], struct.pack("<q", 3))])),
    "scan": model(graph(
        [node("Scan", ["x", "x"], ["y", "z"], num_scan_inputs=1, body=("graph", graph(
            [node("Identity", ["a"], ["b"]), node("Relu", ["e"], ["f"])], [value("a", [2, 3]), value("e", [3])],
            [field(1, "b"), field(1, "f")])))],
        [X], [field(1, "y"), field(1, "z")])),
    "cycle": model(graph([node("Relu", ["b"], ["a"]), node("Relu", ["a"], ["b"])], [], [field(1, "b")])),
    "huge": model(graph([node("Expand", ["x", "s"], ["y"])], [X], [field(1, "y")], [ints("s", 1 << 62, 1 << 62, 2, 3)])),
    "outside": model(graph([node("Relu", ["w"], ["y"])], [], [field(1, "y")], [
        field(1, 2) + field(2, FLOAT) + field(8, "w") + field(14, 1) +
        field(13, field(1, "location") + field(2, "../secret"))])),
}

FOLDER.mkdir(parents=True, exist_ok=True)
for name, data in MODELS.items():
    (FOLDER / name).write_bytes(data)
