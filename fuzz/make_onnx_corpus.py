#!/usr/bin/env python3
"""Writes fuzz/corpus/onnx_fuzz/: small models, some of which the importer refuses late. Standard library only.

usage: fuzz/make_onnx_corpus.py       Files that a fuzzer found and that were kept are not touched.
"""
import pathlib
import struct
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "tests" / "cli"))
from onnx_by_hand import BOOL, FLOAT, INT64, Graph, Tensor, attribute, field, floats, ints, tensor  # noqa: E402

FOLDER = pathlib.Path(__file__).parent / "corpus" / "onnx_fuzz"
FLOAT16 = 10


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
        [node("Shape", ["x"], ["s"]), node("Constant", [], ["z"], value=Tensor(ints("", 0))),
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
        [node("If", ["c"], ["y"], then_branch=Graph(graph([node("Relu", ["x"], ["r"])], [], [field(1, "r")])),
              else_branch=Graph(graph([node("Neg", ["x"], ["r"])], [], [field(1, "r")])))],
        [value("c", [], BOOL), X], [field(1, "y")])),
    "loop": model(graph(
        [node("Loop", ["n", "", "x"], ["y"], body=Graph(graph(
            [node("Identity", ["go"], ["on"]), node("Add", ["s", "x"], ["m"])],
            [value("i", [], INT64), value("go", [], BOOL), value("s", [2, 3])], [field(1, "on"), field(1, "m")])))],
        [X], [field(1, "y")], [tensor("n", INT64, [], struct.pack("<q", 3))])),
    "scan": model(graph(
        [node("Scan", ["x", "x"], ["y", "z"], num_scan_inputs=1, body=Graph(graph(
            [node("Identity", ["a"], ["b"]), node("Relu", ["e"], ["f"])], [value("a", [2, 3]), value("e", [3])],
            [field(1, "b"), field(1, "f")])))],
        [X], [field(1, "y"), field(1, "z")])),
    "cycle": model(graph([node("Relu", ["b"], ["a"]), node("Relu", ["a"], ["b"])], [], [field(1, "b")])),
    "huge": model(graph([node("Expand", ["x", "s"], ["y"])], [X], [field(1, "y")], [ints("s", 1 << 62, 1 << 62, 2, 3)])),
    "outside": model(graph([node("Relu", ["w"], ["y"])], [], [field(1, "y")], [
        field(1, 2) + field(2, FLOAT) + field(8, "w") + field(14, 1) +
        field(13, field(1, "location") + field(2, "../secret"))])),
}


def whole(name, value):
    return tensor(name, INT64, [], struct.pack("<q", value))


def truth(name, value):
    return tensor(name, BOOL, [], bytes([value]))


def bytes_of(name, dims, *values, element=2):
    return tensor(name, element, dims, bytes(v & 255 for v in values))


def one(op, inputs, given=(), tensors=(), outputs=("y",), opset=18, domain="", **attributes):
    return model(graph([node(op, list(inputs), list(outputs), domain, **attributes)], list(given),
                       [field(1, o) for o in outputs if o], list(tensors)), opset, opsets(("ai.onnx.ml", 3)))


IMAGE = value("x", [1, 1, 4, 4])
BODY = [value("i", [], INT64), value("go", [], BOOL), value("s", [])]
TREE = {"nodes_treeids": [0, 0, 0], "nodes_nodeids": [0, 1, 2], "nodes_featureids": [0, 0, 0],
        "nodes_truenodeids": [1, 0, 0], "nodes_falsenodeids": [2, 0, 0], "nodes_modes": ["BRANCH_LEQ", "LEAF", "LEAF"],
        "nodes_values": [0.5, 0.0, 0.0], "target_treeids": [0, 0], "target_nodeids": [1, 2], "target_ids": [0, 0],
        "target_weights": [1.0, 2.0], "n_targets": 1}
# Operators whose indices, extents or counts come from data or attributes.
MODELS |= {
    "lstm": one("LSTM", ["x", "w", "r", "", "n"], [value("x", [3, 1, 1]), value("n", [1], 6)],
                [floats("w", [1, 4, 1], 1, 2, 3, 4), floats("r", [1, 4, 1], 1, 2, 3, 4)], hidden_size=1),
    "gru": one("GRU", ["x", "w", "r"], [value("x", [2, 1, 1])],
               [floats("w", [2, 3, 1], *range(6)), floats("r", [2, 3, 1], *range(6))], hidden_size=1,
               direction="bidirectional", linear_before_reset=1),
    "topk": one("TopK", ["x", "k"], [X, value("k", [1], INT64)], outputs=("y", "z"), axis=1),
    "suppression": one("NonMaxSuppression", ["b", "s", "m", "i"], [value("b", [1, 3, 4]), value("s", [1, 2, 3])],
                       [whole("m", 2), floats("i", [], 0.5)]),
    "trees": one("TreeEnsembleRegressor", ["x"], [value("x", [2, 1])], domain="ai.onnx.ml", **TREE),
    "resize": one("Resize", ["x", "", "f"], [IMAGE], [floats("f", [4], 1, 1, 2, 0.5)], mode="cubic", antialias=1),
    "crop": one("Resize", ["x", "r", "", "s"], [IMAGE], [floats("r", [8], 0, 0, 0.2, 0.1, 1, 1, 0.8, 2),
                                                           ints("s", 1, 1, 3, 9)],
                coordinate_transformation_mode="tf_crop_and_resize", mode="linear"),
    "grid": one("GridSample", ["x", "g"], [IMAGE, value("g", [1, 2, 2, 2])], padding_mode="reflection", mode="bicubic"),
    "affine": one("AffineGrid", ["t", "s"], [value("t", [1, 2, 3])], [ints("s", 1, 1, 2, 3)], opset=20),
    "regions": one("RoiAlign", ["x", "r", "b"], [IMAGE, value("r", [2, 4]), value("b", [2], INT64)], output_height=2,
                   output_width=2, sampling_ratio=0),
    "old_regions": one("MaxRoiPool", ["x", "r"], [IMAGE, value("r", [2, 5])], pooled_shape=[2, 2]),
    "deform": one("DeformConv", ["x", "w", "o"], [IMAGE, value("o", [1, 8, 3, 3])], [floats("w", [1, 1, 2, 2], 1, 2, 3, 4)],
                  opset=19, kernel_shape=[2, 2]),
    "einsum": one("Einsum", ["x", "x"], [X], equation="ij,ik->jk"),
    "dft": one("DFT", ["x", "n", "a"], [value("x", [1, 4, 1])], [whole("n", 6), whole("a", 1)], opset=20),
    "stft": one("STFT", ["x", "s", "w"], [value("x", [1, 8])], [whole("s", 2), floats("w", [4], 1, 2, 2, 1)]),
    "mel": one("MelWeightMatrix", "abcde", [], [whole("a", 2), whole("b", 8), whole("c", 8000), floats("d", [], 0),
                                                floats("e", [], 4000)]),
    "window": one("HannWindow", ["n"], [value("n", [], INT64)], periodic=0),
    "quantized": one("QLinearConv", ["x", "s", "z", "w", "s", "z", "s", "z"], [value("x", [1, 1, 4, 4], 2)],
                     [floats("s", [], 0.5), bytes_of("z", [], 3), bytes_of("w", [1, 1, 2, 2], 1, 2, 3, 4)], pads=[1, 0, 0, 1]),
    "integers": one("MatMulInteger", ["x", "w", "z"], [value("x", [2, 3], 2)],
                    [bytes_of("w", [3, 2], 1, 2, 3, 4, 5, 6), bytes_of("z", [], 3)]),
    "dynamic": one("DynamicQuantizeLinear", ["x"], [X], outputs=("y", "s", "z")),
    "dequantize": one("DequantizeLinear", ["x", "s", "z"], [value("x", [2, 3], 3)],
                      [floats("s", [3], 1, 0, 2), bytes_of("z", [3], 1, 2, -3, element=3)], axis=1),
    "scatter": one("ScatterND", ["x", "i", "u"], [value("x", [4]), value("i", [2, 1], INT64), value("u", [2])],
                   reduction="add"),
    "scatter_elements": one("ScatterElements", ["x", "i", "u"], [X, value("i", [1, 2], INT64), value("u", [1, 2])], axis=1),
    "gather_nd": one("GatherND", ["x", "i"], [X, value("i", [2, 1], INT64)], batch_dims=0),
    "gather_elements": one("GatherElements", ["x", "i"], [X, value("i", [2, 2], INT64)], axis=1),
    "pad": one("Pad", ["x", "p", "v"], [X, value("p", [4], INT64)], [floats("v", [], 9)], mode="reflect"),
    "one_hot": one("OneHot", ["i", "d", "v"], [value("i", [2], INT64), value("d", [], INT64)], [floats("v", [2], 0, 1)]),
    "range": one("Range", ["a", "b", "c"], [value(n, [], INT64) for n in "abc"]),
    "cumsum": one("CumSum", ["x", "a"], [X, value("a", [], INT64)], exclusive=1, reverse=1),
    "triangle": one("Trilu", ["x", "k"], [value("x", [3, 3]), value("k", [], INT64)], upper=0),
    "unpool": model(graph([node("MaxPool", ["x"], ["p", "i"], kernel_shape=[2, 2], strides=[2, 2]),
                           node("MaxUnpool", ["p", "i"], ["y"], kernel_shape=[2, 2], strides=[2, 2])], [IMAGE],
                          [field(1, "y")])),
    "places": one("MaxUnpool", ["x", "i"], [value("x", [1, 1, 2, 2]), value("i", [1, 1, 2, 2], INT64)],
                  kernel_shape=[2, 2], strides=[2, 2]),
    "transposed": one("ConvTranspose", ["x", "w"], [IMAGE], [floats("w", [1, 2, 2, 2], *range(8))], strides=[2, 1],
                      output_padding=[1, 0], pads=[0, 1, 1, 0], dilations=[1, 2]),
    "columns": one("Col2Im", ["x", "s", "b"], [value("x", [1, 4, 9])], [ints("s", 4, 4), ints("b", 2, 2)]),
    "pools": one("AveragePool", ["x"], [IMAGE], kernel_shape=[3, 2], strides=[2, 1], pads=[1, 0, 1, 1], ceil_mode=1, opset=19,
                 dilations=[1, 2]),
    "lp": one("LpPool", ["x"], [value("x", [1, 1, 3, 3, 3])], kernel_shape=[2, 2, 2], p=3),
    "sequence": model(graph([node("SplitToSequence", ["x"], ["s"], axis=1, keepdims=0), node("SequenceAt", ["s", "i"], ["a"]),
                             node("SequenceInsert", ["s", "a", "i"], ["t"]), node("ConcatFromSequence", ["t"], ["y"], axis=0)],
                            [X], [field(1, "y")], [whole("i", 1)]), 18),
    "labels": one("LabelEncoder", ["x"], [value("x", [3], INT64)], domain="ai.onnx.ml", keys_int64s=[1, 2],
                  values_floats=[0.5, 1.5]),
    "stacked": model(graph(
        [node("Loop", ["n", "t", "x"], ["v", "y"], body=Graph(graph(
            [node("Less", ["i", "n"], ["on"]), node("Concat", ["s", "s"], ["d"], axis=0), node("Slice", ["d", "a", "b"], ["m"]),
             node("Mul", ["m", "m"], ["e"])], BODY, [field(1, o) for o in ("on", "m", "e")])))],
        [X], [field(1, "v"), field(1, "y")], [whole("n", 3), truth("t", 1), ints("a", 0), ints("b", 2)]), 18),
    "chosen": model(graph([node("NonZero", ["x"], ["i"]), node("Transpose", ["i"], ["t"]), node("GatherND", ["x", "t"], ["g"]),
                           node("Shape", ["g"], ["n"]), node("ConstantOfShape", ["n"], ["z"]), node("Add", ["g", "z"], ["y"])],
                          [X], [field(1, "y")]), 18),
    "compress": one("Compress", ["x", "c"], [X, value("c", [3], BOOL)], axis=1),
    "unique": one("Unique", ["x"], [value("x", [4])], outputs=("y", "i", "j", "c")),
    "expand": model(graph([node("Expand", ["x", "s"], ["e"]), node("Tile", ["e", "t"], ["y"])],
                          [value("x", [1, 2]), value("s", [2], INT64), value("t", [2], INT64)], [field(1, "y")]), 18),
    "loss": one("SoftmaxCrossEntropyLoss", ["x", "l"], [X, value("l", [2], INT64)], ignore_index=1),
    "attention": one("Attention", ["q", "q", "q"], [value("q", [1, 2, 4])], opset=23, q_num_heads=2, kv_num_heads=2),
    "reductions": model(graph([node("ReduceLogSumExp", ["x", "a"], ["r"], keepdims=0), node("ArgMax", ["x"], ["m"], axis=1),
                               node("Cast", ["m"], ["f"], to=1), node("Softmax", ["x"], ["y"], axis=0)],
                              [X], [field(1, o) for o in ("r", "f", "y")], [ints("a", -1)]), 18),
    "division": model(graph([node("Div", ["a", "b"], ["q"]), node("Mod", ["a", "b"], ["r"]), node("BitShift", ["u", "u"], ["s"], direction="LEFT"),
                             node("Cast", ["x"], ["c"], to=6)], [value("a", [3], INT64), value("b", [3], INT64), value("u", [2], 13), X],
                            [field(1, o) for o in "qrsc"]), 18),
    "dropout": one("Dropout", ["x"], [X], outputs=("y", "m"), opset=13),
    "strides": one("Slice", ["x", "a", "b", "c", "d"], [X, value("a", [1], INT64), value("b", [1], INT64), value("d", [1], INT64)],
                   [ints("c", 1)]),
    "blocks": one("DepthToSpace", ["x"], [value("x", [1, 4, 2, 2])], blocksize=2, mode="CRD"),
    "centre": one("CenterCropPad", ["x", "s"], [X], [ints("s", 3, 1)]),
    "norms": one("LRN", ["x"], [value("x", [1, 3, 2, 2])], size=3, opset=13),
    "random": one("RandomNormal", [], shape=[2], opset=13),
}

FOLDER.mkdir(parents=True, exist_ok=True)
for name, data in MODELS.items():
    (FOLDER / name).write_bytes(data)
