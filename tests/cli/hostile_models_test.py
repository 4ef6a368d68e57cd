#!/usr/bin/env python3
"""ONNX models that nobody meant well: isobit run and isobit info end with one line that names who is wrong.

Each runs in a process whose memory and time are measured and limited: a check that is taken out shows as a signal, as
memory, or as time.
"""
import json
import os
import random
import struct

from isobit_cli import SLOW, main
from limits_test import MEGABYTE, Limited
from onnx_by_hand import (BOOL, FLOAT, INT32, INT64, STRING, UINT8, Tensor, elsewhere, field, fields, floats, function,
                          graph, ints, model, node, npy, number, one, opset, tensor, value, whole)

MEMORY = 256 * MEGABYTE             # what --max-memory allows
RESIDENT = MEMORY + 64 * MEGABYTE   # with the program itself
SECONDS = 60                        # of processor time: most take a twentieth of one
LEAST, MOST = -(1 << 63), (1 << 63) - 1

X = value("x", [2, 3])
PLAIN = model(graph([node("MatMul", ["x", "w"], ["h"], "first"), node("Relu", ["h"], ["y"], "second")], [X],
                    tensors=[floats("w", [3, 2], 1, 2, 3, 4, 5, 6)]))
LOOP_INPUTS = [value("i", [], INT64), value("go", [], BOOL)]


def loop(nodes, carried=(), outputs=("go",)):
    return graph(nodes, LOOP_INPUTS + list(carried), outputs)


class Hostile(Limited):
    def refused(self, content, *arguments, says=(), info=True, seconds=SECONDS):
        """isobit run: exit code 3 and one short line. isobit info: the reason in its report, or the same line."""
        path = self.write("m.onnx", content)
        result = self.limited("run", path, "--max-memory", "256M", *arguments, code=3, says=says, resident=RESIDENT,
                              seconds=seconds)
        self.assertEqual(result.out, "", str(result))
        self.assertTrue(result.err.startswith("isobit: "), str(result))
        self.assertEqual(result.err.count("\n"), 1, str(result))
        self.assertLess(len(result.err), 5000)
        self.assertTrue(result.err[:-1].isprintable(), str(result))
        if info:
            self.described(path)
        return result

    def described(self, path):
        told = self.limited("--json", "info", path, "--max-memory", "256M", code=(0, 3), resident=RESIDENT)
        if told.code == 0:
            json.loads(told.out)
        else:
            self.assertEqual(told.err.count("\n"), 1, str(told))

    def each(self, cases):
        """{what: (model, words that are said ...)}"""
        for what, (content, *says) in cases.items():
            with self.subTest(what):
                self.refused(content, says=says)


class Files(Hostile):
    def test_a_model_that_is_cut_short(self):
        for at in [*range(0, len(PLAIN) - 1, 9), len(PLAIN) - 1]:
            with self.subTest(at):
                self.refused(PLAIN[:at], says=["m.onnx: "], info=at % 4 == 0)

    def test_a_model_with_changed_bytes_is_run_or_refused(self):
        dice = random.Random(7)
        shapes = one("Expand", ["x", "s"], [X], tensors=[ints("s", 2, 2, 3)])
        for i in range(120 if SLOW else 30):
            data = bytearray(PLAIN if i % 2 else shapes)
            for _ in range(1 + i % 5):
                data[dice.randrange(len(data))] = dice.randrange(256)
            with self.subTest(bytes(data).hex()):
                path = self.write("m.onnx", bytes(data))
                result = self.limited("run", path, "--max-memory", "256M", "--max-trips", "1000", code=(0, 3),
                                      resident=RESIDENT, seconds=SECONDS)
                self.assertLessEqual(result.err.count("\n"), 1, str(result))

    def test_files_of_two_gigabytes(self):
        for size in (2 << 30, (2 << 30) - 1, 5 << 30):
            path = self.sparse("large.onnx", PLAIN, size)
            for command in ("run", "info"):
                self.limited(command, path, "--max-memory", "256M", code=3, says=["large.onnx", "more than"],
                             resident=RESIDENT)
        # Lengths that announce more than there is.
        body = number(5 << 3 | 2) + number(2 << 30) + b"w"
        self.refused(field(1, 8) + number(7 << 3 | 2) + number(2 << 30) + body, says=["m.onnx: graph", "are announced"])
        inside = field(1, 8) + field(7, body) + opset(18)
        self.refused(inside, says=["graph.initializer[0]", "are announced"])

    def test_messages_that_lie_deep_in_one_another(self):
        deep = b""
        for _ in range(20000):
            deep = field(1, field(5, field(6, deep)))
        self.refused(field(1, 8) + field(7, deep) + opset(18), says=["m.onnx: graph.node[0]", "deep"])

    def test_many_empty_messages_cost_no_more_than_the_limit(self):
        self.refused(field(1, 8) + field(7, b"\x0a\x00" * (4 << 20)), says=["m.onnx: graph.node[", "--max-memory"])

    def test_what_cannot_be_seen_is_spelled_out(self):
        name = "a\nisobit: all is well\x1b[2J\u202e"
        result = self.refused(model(graph([node("Odd", ["x"], ["y"], name)], [X])), says=["Odd"])
        self.assertNotIn("\x1b", result.err)
        self.refused(model(graph([node("Relu", ["absent"], ["y"], "n" * MEGABYTE)], [X])), says=["nnn", "absent"])


class Elsewhere(Hostile):
    """Tensors in other files."""

    def weights(self, dims=(2, 3), **entries):
        return model(graph([node("Add", ["x", "w"], ["y"])], [X], tensors=[elsewhere("w", FLOAT, dims, **entries)]))

    def test_only_files_of_the_models_folder_are_read(self):
        outside = self.write("outside/secret", bytes(24))
        inner = "inner/m.onnx"
        os.makedirs(self.path("inner", "sub"))
        os.symlink(outside, self.path("inner", "link"))
        os.symlink("..", self.path("inner", "up"))
        self.write("inner/own", bytes(24))
        self.limited("run", self.write(inner, self.weights(location="own")), code=0)
        for location in ("../outside/secret", outside, "sub/../../outside/secret", "link", "up/outside/secret",
                         "/proc/self/environ", "absent", "sub", "", ".", "own\0", "/"):
            with self.subTest(location):
                result = self.limited("run", self.write(inner, self.weights(location=location)), code=3,
                                      says=["initializer 'w'"], resident=RESIDENT)
                self.assertEqual(result.err.count("\n"), 1, str(result))

    def test_places_that_are_not_in_the_file(self):
        self.write("own", bytes(24))
        for offset, length in ((1, None), (24, 24), (MOST, 24), ((1 << 64) - 24, 24), (0, 25), (0, (1 << 64) - 1)):
            with self.subTest((offset, length)):
                entries = {"location": "own", "offset": offset} | ({} if length is None else {"length": length})
                self.refused(self.weights(**entries), says=["initializer 'w'", "external data"])
        for text in ("-1", "0x10", "1e3", " 1", "99999999999999999999999"):
            self.refused(self.weights(location="own", offset=text), says=["initializer 'w'", "offset"])

    def test_what_is_no_file_does_not_wait(self):
        os.mkfifo(self.path("pipe"))
        self.refused(self.weights(location="pipe"), says=["initializer 'w'"])

    def test_large_files_count_as_tensors(self):
        self.sparse("own", b"", 6 << 30)
        self.refused(self.weights([1 << 29], location="own"), says=["initializer 'w'", "--max-memory"])
        both = [elsewhere(n, FLOAT, [40 << 20], location="own") for n in ("v", "w")]
        content = model(graph([node("Add", ["v", "w"], ["y"])], tensors=both))
        self.refused(content, says=["initializer 'w'", "--max-memory"])


class Shapes(Hostile):
    def test_shapes_that_multiply_past_what_can_be_counted(self):
        wide = [1 << 32, 1 << 32]
        size = ints("s", *wide)
        self.each({
            "an initializer": (model(graph([node("Relu", ["w"], ["y"])], tensors=[tensor("w", FLOAT, wide, b"")])),
                               "initializer 'w'"),
            "an empty initializer": (model(graph([node("Relu", ["w"], ["y"])],
                                                 tensors=[tensor("w", FLOAT, [0, *wide], b"")])), "initializer 'w'"),
            "an input": (one("Relu", ["x"], [value("x", wide)]), "input 'x'"),
            "a negative extent": (model(graph([node("Relu", ["w"], ["y"])],
                                              tensors=[tensor("w", FLOAT, [-1, -2], bytes(8))])), "initializer 'w'"),
            "Expand": (one("Expand", ["x", "s"], [value("x", [1, 1])], tensors=[size]), "node 'n' (Expand"),
            "ConstantOfShape": (one("ConstantOfShape", ["s"], tensors=[size]), "node 'n' (ConstantOfShape"),
            "Tile": (one("Tile", ["x", "s"], [X], tensors=[size]), "node 'n' (Tile"),
            "Pad": (one("Pad", ["x", "s"], [X], tensors=[ints("s", MOST, 0, MOST, 0)]), "node 'n' (Pad"),
            "Reshape": (one("Reshape", ["x", "s"], [X], tensors=[ints("s", 1 << 62, 4)]), "node 'n' (Reshape"),
            "Range": (one("Range", ["a", "b", "c"], tensors=[whole("a", LEAST), whole("b", MOST), whole("c", 1)]),
                      "node 'n' (Range"),
            "OneHot": (one("OneHot", ["i", "d", "v"],
                           tensors=[ints("i", 1), whole("d", 1 << 62), floats("v", [2], 0, 1)]), "node 'n' (OneHot"),
            "Resize": (one("Resize", ["x", "", "f"], [value("x", [1, 1, 2, 2])],
                           tensors=[floats("f", [4], 1, 1, 1e30, 1e30)]), "node 'n' (Resize"),
            "Gather": (one("Gather", ["w", "i"], tensors=[tensor("w", FLOAT, [1 << 31, 0], b""),
                                                          tensor("i", INT64, [1 << 31, 0], b"")]), "initializer 'w'"),
            "Unsqueeze": (model(graph([node("Unsqueeze", ["x", "s"], ["y"])], [X],
                                      tensors=[ints("s", *range(70))])), "node 'n' (Unsqueeze", "axes"),
        })

    def test_shapes_that_are_known_in_the_run_alone(self):
        given = self.write("s.npy", npy("<i8", [2], struct.pack("<2q", 1 << 40, 1 << 40)))
        for op, inputs, tensors in (("Expand", ["w", "s"], [floats("w", [1, 1], 1)]), ("ConstantOfShape", ["s"], []),
                                    ("Tile", ["w", "s"], [floats("w", [2, 2], 1, 2, 3, 4)])):
            content = one(op, inputs, [value("s", [2], INT64)], tensors=tensors)
            self.refused(content, "--input", given, says=[f"node 'n' ({op})"], info=False)
        given = self.write("s.npy", npy("<i8", [2], struct.pack("<2q", 1 << 14, 1 << 13)))
        content = one("Expand", ["w", "s"], [value("s", [2], INT64)], tensors=[floats("w", [1, 1], 1)])
        self.refused(content, "--input", given, says=["node 'n' (Expand)", "--max-tensor"], info=False)
        self.refused(content, "--input", given, "--max-tensor", "1M", says=["over the limit of 1.0 M", "--max-tensor"])

    def test_numbers_of_attributes(self):
        image = value("x", [1, 1, 5, 5])
        kernel = floats("w", [1, 1, 3, 3], *range(9))
        cases = {}
        for op in ("MaxPool", "AveragePool", "LpPool"):
            for name, numbers in (("kernel_shape", [1 << 62, 1 << 62]), ("kernel_shape", [LEAST, 3]),
                                  ("kernel_shape", [0, 0]), ("strides", [0, 1]), ("strides", [LEAST, 1]),
                                  ("dilations", [MOST, MOST]), ("pads", [MOST, MOST, MOST, MOST]),
                                  ("pads", [-3, -3, -3, -3]), ("pads", [1])):
                attributes = {"kernel_shape": [3, 3]} | {name: numbers}
                cases[f"{op} {name} {numbers}"] = (one(op, ["x"], [image], **attributes), f"node 'n' ({op}")
        for name, numbers in (("strides", [0, 0]), ("dilations", [LEAST, 1]), ("pads", [MOST] * 4), ("group", 0),
                              ("group", 1 << 62), ("kernel_shape", [MOST, 1])):
            for op in ("Conv", "ConvTranspose"):
                content = one(op, ["x", "w"], [image], tensors=[kernel], **{name: numbers})
                cases[f"{op} {name}"] = (content, f"node 'n' ({op}")
        for op in ("Softmax", "Concat", "Flatten", "CumSum", "TopK", "ArgMax"):
            inputs = {"CumSum": ["x", "s"], "TopK": ["x", "s"]}.get(op, ["x"])
            if op != "CumSum":
                cases[f"{op} axis"] = (one(op, inputs, [X], tensors=[ints("s", 1)], axis=LEAST), f"node 'n' ({op}")
        cases |= {
            "Transpose": (one("Transpose", ["x"], [value("x", [1, 2, 3])], perm=[1 << 30, 0, 1]),
                          "node 'n' (Transpose"),
            "Transpose twice": (one("Transpose", ["x"], [X], perm=[0, 0]), "node 'n' (Transpose"),
            "Slice": (one("Slice", ["x", "a", "b", "c", "d"], [X],
                          tensors=[ints("a", LEAST), ints("b", MOST), ints("c", 0), ints("d", 0)]), "node 'n' (Slice"),
            "Split": (one("Split", ["x", "s"], [X], tensors=[ints("s", MOST, 2)], outputs=("y", "z"), axis=1),
                      "node 'n' (Split"),
            "Cast": (one("Cast", ["x"], [X], to=99), "node 'n' (Cast"),
            "SpaceToDepth": (one("SpaceToDepth", ["x"], [image], blocksize=1 << 40), "node 'n' (SpaceToDepth"),
            "DepthToSpace": (one("DepthToSpace", ["x"], [image], blocksize=LEAST), "node 'n' (DepthToSpace"),
            "Col2Im": (one("Col2Im", ["x", "a", "b"], [value("x", [1, 9, 9]), value("a", [1 << 40], INT64),
                                                       value("b", [2], INT64)]), "node 'n' (Col2Im"),
            "GridSample": (one("GridSample", ["x", "g"], [value("x", [1, 1] + [2] * 12),
                                                          value("g", [1] + [2] * 12 + [12])], version=22),
                           "node 'n' (GridSample"),
            "Einsum": (one("Einsum", ["x"], [X], equation="...(,)->;"), "node 'n' (Einsum"),
            "Einsum's operands": (one("Einsum", ["x"] * 5000, [value("x", [])], equation="," * 4999),
                                  "node 'n' (Einsum"),
            "DFT": (one("DFT", ["x", "l"], [value("x", [1, 4, 1])], tensors=[whole("l", 1 << 27)]), "node 'n' (DFT"),
            "HannWindow": (one("HannWindow", ["l"], tensors=[whole("l", 1 << 26)]), "node 'n' (HannWindow"),
            "LSTM": (one("LSTM", ["x", "w", "r"], [value("x", [1 << 40, 1, 1])], outputs=("y",), hidden_size=1,
                         tensors=[floats("w", [1, 4, 1], 1, 1, 1, 1), floats("r", [1, 4, 1], 1, 1, 1, 1)]), "x"),
            "a tree with a circle": (one(
                "TreeEnsemble", ["x"], [X], domain="ai.onnx.ml", n_targets=1, tree_roots=[0], nodes_featureids=[0],
                nodes_modes=Tensor(tensor("", UINT8, [1], b"\0")), nodes_splits=Tensor(floats("", [1], 1)),
                nodes_truenodeids=[0], nodes_trueleafs=[0], nodes_falsenodeids=[0], nodes_falseleafs=[0],
                leaf_targetids=[0], leaf_weights=Tensor(floats("", [1], 1))), "node 'n' (ai.onnx.ml.TreeEnsemble"),
        }
        self.each(cases)

    def test_indices_that_point_outside(self):
        given = self.write("i.npy", npy("<i8", [1, 1], struct.pack("<q", 1 << 40)))
        index = value("i", [1, 1], INT64)
        table = floats("w", [3, 1], 1, 2, 3)
        update = floats("u", [1, 1], 1)
        for op, inputs in (("Gather", ["w", "i"]), ("GatherElements", ["w", "i"]), ("GatherND", ["w", "i"]),
                           ("ScatterElements", ["w", "i", "u"]), ("ScatterND", ["w", "i", "u"])):
            content = one(op, inputs, [index], tensors=[table, update])
            self.refused(content, "--input", given, says=["node 'n'"], info=False)
        many = one("TopK", ["w", "i"], [value("i", [1], INT64)], outputs=("y", "z"), tensors=[table], axis=0)
        given = self.write("k.npy", npy("<i8", [1], struct.pack("<q", 1 << 60)))
        self.refused(many, "--input", given, says=["node 'n' (TopK"], info=False)


class Types(Hostile):
    def test_operands_and_attributes_of_other_types(self):
        flag, text = value("x", [2, 3], BOOL), field(1, 2) + field(2, STRING) + field(8, "w") + fields(6, ["a", "b"])
        branch = graph([node("Identity", ["x"], ["r"])], outputs=("r",))
        twice = field(5, field(1, "a") + field(20, 2)) * 2
        self.each({
            "numbers of bools": (one("MatMul", ["x", "x"], [flag]), "node 'n' (MatMul"),
            "two types": (one("Add", ["x", "w"], [X], tensors=[ints("w", 1, 2, 3)]), "node 'n' (Add"),
            "an axis as text": (one("Softmax", ["x"], [X], axis="1"), "node 'n' (Softmax", "axis"),
            "an axis as a graph": (one("Softmax", ["x"], [X], axis=branch), "node 'n' (Softmax"),
            "a body that is a number": (one("Loop", ["", "", "x"], [X], body=3), "node 'n' (Loop"),
            "a condition of floats": (one("If", ["x"], [X], then_branch=branch, else_branch=branch), "node 'n' (If"),
            "trips of floats": (one("Loop", ["x", ""], [X], outputs=("y",), body=loop([], outputs=("go", "i"))),
                                "node 'n' (Loop"),
            "text": (model(graph([node("Relu", ["w"], ["y"])], tensors=[text])), "node 'n' (Relu", "string"),
            "no type": (one("Relu", ["x"], [value("x", [2], 99)]), "input 'x'", "type 99"),
            "ints in float_data": (model(graph([node("Relu", ["w"], ["y"])], tensors=[
                field(1, 2) + field(2, INT32) + field(4, struct.pack("<2f", 1, 2)) + field(8, "w")])),
                                   "initializer 'w'"),
            "too few data": (model(graph([node("Relu", ["w"], ["y"])], tensors=[tensor("w", FLOAT, [4], bytes(8))])),
                             "initializer 'w'"),
            "an index of floats": (one("Gather", ["x", "x"], [X]), "node 'n' (Gather"),
            "an output of another type": (model(graph([node("Relu", ["x"], ["y"])], [X],
                                                      [value("y", [2, 3], INT64)])), "output 'y'"),
            "an attribute twice": (model(graph([node("Relu", ["x"], ["y"]) + twice], [X])), "node 'n'"),
            "a sequence as a tensor": (model(graph([node("SequenceConstruct", ["x"], ["s"]),
                                                    node("Relu", ["s"], ["y"], "m")], [X])),
                                       "node 'm' (Relu", "sequence"),
            "too many inputs": (one("Relu", ["x"] * 100000, [X]), "node 'n' (Relu"),
            "no inputs": (one("MatMul", []), "node 'n' (MatMul"),
            "too many outputs": (one("Relu", ["x"], [X], outputs=[f"y{i}" for i in range(1000)]), "node 'n' (Relu"),
        })


class Endless(Hostile):
    """Cycles, loops, and graphs that are much larger than their files."""

    def test_cycles(self):
        itself = function("F", ["a"], ["b"], [node("F", ["a"], ["b"], domain="own")])
        two = [function("F", ["a"], ["b"], [node("G", ["a"], ["b"], domain="own")]),
               function("G", ["a"], ["b"], [node("F", ["a"], ["b"], domain="own")])]
        call = graph([node("F", ["x"], ["y"], domain="own")], [X])
        self.each({
            "two nodes": (model(graph([node("Relu", ["b"], ["a"], "p"), node("Relu", ["a"], ["b"], "q")], [], ["b"])),
                          "node 'p' (Relu", "cycle"),
            "one node": (one("Relu", ["y"]), "node 'n' (Relu"),
            "a function that calls itself": (model(call, [itself]), "node '", "(own.F", "deep"),
            "two functions that call each other": (model(call, two), "node '", "(own.", "deep"),
        })

    def test_a_loop_without_an_end(self):
        forever = one("Loop", ["", "t", "x"], [X], tensors=[tensor("t", BOOL, [], b"\1")],
                      body=loop([node("Identity", ["go"], ["on"]), node("Neg", ["s"], ["r"])], [value("s")],
                                ("on", "r")))
        self.refused(forever, "--max-trips", "1000", says=["node 'n' (Loop", "1000 trips", "--max-trips"])
        self.refused(forever, says=["node 'n' (Loop", "1048576 trips", "--max-trips"], info=False)

    def test_loops_within_loops_count_together(self):
        inner = loop([node("Identity", ["go"], ["on"]), node("Neg", ["s"], ["r"])], [value("s")], ("on", "r"))
        outer = loop([node("Loop", ["m", "", "v"], ["r"], "inner", body=inner), node("Identity", ["go"], ["on"])],
                     [value("v")], ("on", "r"))
        content = one("Loop", ["m", "", "x"], [X], tensors=[whole("m", 1 << 40)], body=outer)
        self.refused(content, "--max-trips", "5000", says=["node 'n' (Loop", "--max-trips"])

    def test_loops_that_grow(self):
        start = value("x", [1024])
        grows = one("Loop", ["", "t", "x"], [start], tensors=[tensor("t", BOOL, [], b"\1")],
                    body=loop([node("Identity", ["go"], ["on"]), node("Concat", ["s", "s"], ["r"], "double", axis=0)],
                              [value("s")], ("on", "r")))
        self.refused(grows, says=["node 'n' (Loop", "node 'double' (Concat", "--max-"])
        keeps = one("Loop", ["", "t"], [start], tensors=[tensor("t", BOOL, [], b"\1")],
                    body=loop([node("Identity", ["go"], ["on"]), node("Neg", ["x"], ["r"])], [], ("on", "r")))
        self.refused(keeps, says=["node 'n' (Loop", "--max-memory"])
        # Hardly a byte each: what a tensor is besides its elements counts.
        many = one("Loop", ["", "t"], [start], tensors=[tensor("t", BOOL, [], b"\1")],
                   body=loop([node("Identity", ["go"], ["on"]), node("Neg", ["i"], ["r"])], [], ("on", "r")))
        self.refused(many, says=["node 'n' (Loop", "--max-memory"])

    def test_memory_of_the_whole_run(self):
        nodes = [node("Expand", ["x", "s"], [f"e{i}"], f"large{i}") for i in range(8)]
        nodes.append(node("Sum", [f"e{i}" for i in range(8)], ["y"], "all"))
        content = model(graph(nodes, [value("x", [1])], tensors=[ints("s", 10 << 20)]))
        self.refused(content, says=["large0", "--max-memory"])

    def test_functions_that_call_each_other_twice(self):
        steps = [function("F0", ["a"], ["b"], [node("Relu", ["a"], ["b"])])]
        for i in range(1, 30):
            calls = [node(f"F{i - 1}", [a], [b], domain="own") for a, b in (("a", "c"), ("c", "b"))]
            steps.append(function(f"F{i}", ["a"], ["b"], calls))
        content = model(graph([node("F29", ["x"], ["y"], domain="own")], [X]), steps)
        self.refused(content, says=["node '", "which is the limit"])

    def test_functions_with_long_lists(self):
        long = field(11, field(1, "l") + fields(8, range(100000)) + field(20, 7))
        inner = function("F", ["a"], ["b"], [node("Relu", ["a"], ["b"])], long)
        nodes = [node("F", ["x"], [f"y{i}"], f"call{i}", domain="own") for i in range(5000)]
        self.refused(model(graph(nodes, [X], ["y0"]), [inner]), says=["node 'call", "--max-memory"])
        wide = function("F", [f"a{i}" for i in range(60000)], ["b"], [node("Relu", ["a0"], ["b"])])
        self.refused(model(graph(nodes, [X], ["y0"]), [wide]), says=["node 'call", "--max-memory"])

    def test_graphs_that_lie_deep_in_one_another(self):
        branch = graph([node("Relu", ["x"], ["r"])], outputs=("r",))
        shallow = branch
        for i in range(29):
            level = node("If", ["c"], ["r"], f"level{i}", then_branch=branch, else_branch=shallow)
            branch = graph([level], outputs=("r",))
        content = one("If", ["c"], [X, value("c", [], BOOL)], then_branch=branch, else_branch=shallow)
        self.refused(content, says=["node '", "nodes, which is the limit"])

    def test_small_files_of_large_constants(self):
        self.each({
            "a mask": (model(graph([node("Dropout", ["x"], ["z", "y"])], [value("x", [1 << 30, 1 << 20])])), "x"),
            "matrices": (model(graph([node("DFT", ["x", "l"], [f"y{i}"], f"n{i}") for i in range(400)],
                                     [value("x", [1, 1000, 1])], ["y0"], [whole("l", 1000)])),
                         "node 'n", "that are left for it"),
            "sequences": (model(graph(
                [node("SequenceConstruct", ["x"], ["s0"], "n")] +
                [node("SequenceInsert", [f"s{i}", "x"], [f"s{i + 1}"], f"n{i}") for i in range(30000)] +
                [node("SequenceAt", ["s30000", "i"], ["y"], "at")], [X], tensors=[whole("i", 0)])),
                          "node 'n", "--max-memory"),
            "parts": (model(graph([node("SplitToSequence", ["x", "sizes"], ["s"], "n" * 1000),
                                   node("SequenceLength", ["s"], ["y"])], [X], tensors=[ints("sizes", *[0] * (1 << 20))])),
                      "node 'n", "a sequence of 1048576 values"),
        })


if __name__ == "__main__":
    main()
