#!/usr/bin/env python3
"""isobit run: what it prints and writes, and that the bits are the same wherever it runs."""
import os
import struct
from concurrent.futures import ThreadPoolExecutor

from isobit_cli import Case, main, shared_data
from onnx_by_hand import INT64, floats, graph, ints, model, node, npy, value

PLATFORMS = ["ordered@reference/1t", "ordered@portable/1t", "ordered/3t"]

# y = relu(x w + b): whole numbers, so that what comes out is known.
LAYER = model(graph([node("MatMul", ["x", "w"], ["h"], "product"), node("Add", ["h", "b"], ["a"], "sum"),
                     node("Relu", ["a"], ["y"], "relu")],
                    [value("x", ["batch", 3])], [value("y", ["batch", 2])],
                    [floats("w", [3, 2], 1, 2, 3, 4, 5, 6), floats("b", [2], -10, 1)]))
# The same product, whose weights are turned around first: once, since they are constants.
TURNED = model(graph([node("Transpose", ["v"], ["w"], "turn"), node("MatMul", ["x", "w"], ["y"], "product")],
                     [value("x", ["batch", 3])], [value("y", ["batch", 2])], [floats("v", [2, 3], 1, 3, 5, 2, 4, 6)]))
# Rounding matters in these: a softmax over 256 columns, and a sum.
ROUNDS = model(graph([node("MatMul", ["x", "x"], ["h"], "product"), node("Softmax", ["h"], ["p"], "softmax"),
                      node("ReduceSum", ["h", "axes"], ["s"], "sum")],
                     [value("x", [256, 256])], ["p", "s"], [ints("axes", 0)]))


def f32(*values):
    return struct.pack(f"<{len(values)}f", *values)


class RunModel(Case):
    def layer(self):
        return self.write("layer.onnx", LAYER)

    def test_outputs_are_printed_and_written(self):
        x = self.write("x.npy", npy("<f4", [2, 3], f32(1, 1, 1, -1, 0, 2)))
        told = self.isobit_json("run", self.layer(), "--input", f"x={x}", "--out", self.path("out"))
        self.assertEqual([(o["name"], o["dtype"], o["shape"]) for o in told["outputs"]], [("y", "float32", [2, 2])])
        self.assertEqual((told["arithmetic"], told["runs"]), ("ordered-1", 1))
        self.assertGreater(told["seconds"], 0)
        with open(self.path("out", told["outputs"][0]["file"]), "rb") as f:
            self.assertTrue(f.read().endswith(f32(0, 13, 0, 11)))
        text = self.isobit("run", self.layer(), "--input", x).out
        self.assertIn(f"output        y float32 [2, 2]  {told['outputs'][0]['digest']}", text)

    def test_the_bits_are_the_same_everywhere(self):
        path = self.write("rounds.onnx", ROUNDS)
        told = [self.isobit_json("run", path, "--platform", p)["outputs"] for p in PLATFORMS]
        for other in told[1:]:
            self.assertEqual(other, told[0])
        correct = [self.isobit_json("run", path, "--arithmetic", "correct-1", "--platform", p)["outputs"]
                   for p in PLATFORMS]
        self.assertEqual(correct[1:], correct[:1] * 2)
        self.assertNotEqual(correct[0][1], told[0][1], "an inner product rounded once is another than one in order")

    def test_what_is_drawn_follows_from_the_seed(self):
        path = self.write("rounds.onnx", ROUNDS)
        one, again, other = (self.isobit_json("run", path, "--seed", s) for s in ("1", "1", "2"))
        self.assertEqual(one["outputs"], again["outputs"])
        self.assertNotEqual(one["inputs"], other["inputs"])

    def test_a_run_is_repeated(self):
        self.assertEqual(self.isobit_json("run", self.layer(), "--repeat", "3", "--dim", "batch=4")["runs"], 3)

    def test_where_the_time_goes(self):
        path = self.write("rounds.onnx", ROUNDS)
        plain = self.isobit_json("run", path, "--repeat", "3")
        told = self.isobit_json("run", path, "--repeat", "3", "--profile")
        self.assertEqual(told["outputs"], plain["outputs"])
        profile = told["profile"]
        self.assertEqual(profile["steps"], 2, "all runs but the first")
        self.assertEqual([n["operator"] for n in profile["nodes"]], ["MatMul", "Softmax", "ReduceSum"])
        self.assertEqual(profile["nodes"][0]["operations"], 2 * 256**3)
        self.assertAlmostEqual(sum(n["seconds"] - n["of_which_stages"] for n in profile["nodes"]), profile["seconds"]["kernels"])
        self.assertLessEqual(profile["seconds"]["kernels"], profile["seconds"]["step"])
        text = self.isobit("run", path, "--repeat", "3", "--profile").out
        self.assertIn("ms a run", text)
        self.assertNotIn("step", text)
        self.fails("run", path, "--profile", "--receipt", self.path("r"), code=2, says=["--profile"])

    def test_what_is_made_once_takes_no_time_in_later_runs(self):
        path = self.write("turned.onnx", TURNED)
        for runs, made in (("1", True), ("3", False)):
            told = self.isobit_json("run", path, "--dim", "batch=2", "--repeat", runs, "--profile")
            seconds = {n["operator"]: n["seconds"] for n in told["profile"]["nodes"]}
            self.assertEqual((seconds["Transpose"] > 0, seconds["MatMul"] > 0), (made, True), runs)

    def test_inputs_that_do_not_fit_are_refused(self):
        wide = self.write("wide.npy", npy("<f4", [2, 4], bytes(32)))
        whole = self.write("whole.npy", npy("<i8", [2, 3], bytes(48)))
        good = self.write("good.npy", npy("<f4", [2, 3], bytes(24)))
        layer = self.layer()
        for says, arguments in {
                "expected float32": ["--input", f"x={whole}"], "[2, 4]": ["--input", f"x={wide}"],
                "'z'": ["--input", f"z={good}"], "absent.npy": ["--input", self.path("absent.npy")]}.items():
            with self.subTest(says):
                result = self.fails("run", layer, *arguments, "--out", self.path("out"), code=(2, 3), says=[says])
                self.assertEqual(result.out, "")
                self.assertFalse(os.path.exists(self.path("out")), "nothing is written")
        self.fails("run", layer, "--input", good, "--input", f"x={good}", code=(2, 3), says=["x"])
        self.fails("run", layer, "--dim", "rows=2", code=(2, 3), says=["rows"])
        self.fails("run", layer, "--dim", "batch=2", "--dim", "batch=2", code=2, says=["--dim: batch is given twice"])
        self.fails("run", layer, "--input", good, "--dim", "batch=3", code=2, says=["batch=3", "'x' has 2 there"])
        self.fails("run", layer, "--arithmetic", "logged-1", code=2, says=["logged-1", "ordered-1"])

    def test_a_given_input_is_never_drawn_instead(self):
        """The graph has names of its own for inputs whose names cannot be shown, and for the one that has that name."""
        unseen = self.write("unseen.onnx", model(graph(
            [node("Relu", ["x\t"], ["y"], "relu"), node("Neg", ["x\\x09"], ["z"], "neg")],
            [value("x\t", [3]), value("x\\x09", [3])], ["y", "z"])))
        first, second = (self.write(f"{i}.npy", npy("<f4", [3], f32(i, 2, 3))) for i in (1, 7))
        told = self.isobit_json("run", unseen, "--input", first, "--input", second, "--out", self.path("out"))
        with open(self.path("out", told["outputs"][0]["file"]), "rb") as f:
            self.assertTrue(f.read().endswith(f32(1, 2, 3)))
        with open(self.path("out", told["outputs"][1]["file"]), "rb") as f:
            self.assertTrue(f.read().endswith(f32(-7, -2, -3)))

    def test_outputs_are_written_all_or_none(self):
        deep = self.write("deep.onnx", model(graph(
            [node("Relu", ["x"], ["y"], "relu"), node("Reshape", ["x", "s"], ["z"], "deep")], [value("x", [1])],
            ["y", "z"], [ints("s", *[1] * 33)])))
        self.fails("run", deep, "--out", self.path("deep"), code=3, says=["output 'z' has 33 axes", "at most 32"])
        self.assertFalse(os.path.exists(self.path("deep")))
        file = self.write("file", b"")
        self.fails("run", deep, "--out", file, code=2, says=["not an empty folder"])

    def test_of_two_runs_into_one_folder_one_is_refused(self):
        layer = self.layer()
        for turn in range(5):
            out = self.path(f"out{turn}")
            with ThreadPoolExecutor(2) as both:
                runs = [both.submit(self.isobit, "run", layer, "--seed", str(s), "--out", out, code=(0, 2))
                        for s in (1, 2)]
                codes = [r.result().code for r in runs]
            self.assertEqual(sorted(codes), [0, 2])
            self.assertEqual(len(os.listdir(out)), 1)
            alone = self.isobit_json("run", layer, "--seed", str(1 + codes.index(0)), "--out", out + ".alone")
            file = alone["outputs"][0]["file"]
            with open(os.path.join(out, file), "rb") as f, open(os.path.join(out + ".alone", file), "rb") as g:
                self.assertEqual(f.read(), g.read(), "the outputs are those of the run that said so")

    def test_indices_of_an_operand_are_looked_at(self):
        picks = self.write("picks.onnx", model(graph([node("Gather", ["w", "i"], ["y"], "picks")],
                                                     [value("i", [1], INT64)], tensors=[floats("w", [2], 1, 2)])))
        far = self.write("far.npy", npy("<i8", [1], struct.pack("<q", 2)))
        self.fails("run", picks, "--input", far, code=3, says=["node 'picks'", "index 0 is 2, expected less than 2"])

    def test_models_of_others_run(self):
        folder = os.path.join(shared_data("models"))
        for name, extents in (("mnist-cnn", ""), ("resnet20-cifar10", ""), ("ultraface-version-RFB-320", ""),
                              ("silero_vad_16k_op15", "sequence=512")):
            with self.subTest(name):
                dim = ["--dim", extents] if extents else []
                told = [self.isobit_json("run", os.path.join(folder, name + ".onnx"), "--platform", p, *dim)["outputs"]
                        for p in PLATFORMS]
                self.assertEqual(told[1:], told[:1] * 2)


if __name__ == "__main__":
    main()
