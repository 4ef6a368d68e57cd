#!/usr/bin/env python3
"""isobit reveal: what it prints, its JSON and picture, and what it refuses."""
import importlib.util
import io
import os
import signal
import struct
import subprocess
import sys
import time
import unittest
import unittest.mock
import xml.etree.ElementTree

from isobit_cli import PROGRAM, SOURCE, Case, heeds_signals, main

CHUNKS = "2 blocks of 256 terms added one after another; each: 256 terms in ascending order"


class Reveal(Case):
    def test_our_matrix_product_adds_as_documented(self):
        told = self.isobit_json("reveal", "matmul", "--k", "512", "--m", "9", "--n", "7", "--platform", "ordered/1t", "--probes")
        self.assertEqual((told["verdict"], told["words"]), ("tree", CHUNKS))
        self.assertEqual(told["confirmation"]["tree"], told["confirmation"]["sums"])
        self.assertTrue(told["last_column_alike"])
        self.assertLess(told["queries"], 5 * 512 * 10)
        self.assertEqual(len(told["nodes"]), 511)
        found = {p["name"]: p["finding"] for p in told["probes"]}
        self.assertEqual(found, {"rounding": "to nearest even", "accumulator": "24 bits (float32)",
                                 "products": "fused multiply-add", "subnormal inputs": "kept",
                                 "subnormal results": "kept", "subnormal products": "kept"})

    def test_every_instruction_set_has_the_same_tree_and_bits(self):
        told = [self.isobit_json("reveal", "dot", "--platform", p) for p in ("ordered@reference/1t", "ordered@portable/1t", "ordered")]
        for other in told[1:]:
            self.assertEqual((other["digest"], other["confirmation"]), (told[0]["digest"], told[0]["confirmation"]))

    def test_a_small_tree_is_printed(self):
        text = self.isobit("reveal", "dot", "--k", "4").out
        self.assertIn("tree          (((0 1) 2) 3)", text)
        self.assertIn("order         4 terms in ascending order", text)

    def test_our_float32_sums_have_no_tree(self):
        told = self.isobit_json("reveal", "sum", "--k", "100")
        self.assertEqual(told["verdict"], "no unit lost")
        self.assertNotIn("tree", told)
        self.assertIn("correctly rounded", told["words"])
        refused = self.isobit("reveal", "sum", "--svg", self.path("no.svg"), code=4)
        self.assertIn("there is no tree to draw", refused.err)

    def test_float64_sums_and_softmax_have_one(self):
        for target in ("sum", "mean", "softmax"):
            told = self.isobit_json("reveal", target, "--type", "float64", "--k", "300")
            self.assertEqual(told["words"], "2 blocks added one after another, of 256, 44 terms; the largest: 256 terms in ascending order")

    def test_the_picture_is_well_formed(self):
        self.isobit("reveal", "dot", "--k", "512", "--svg", self.path("tree.svg"))
        root = xml.etree.ElementTree.parse(self.path("tree.svg")).getroot()
        self.assertTrue(root.tag.endswith("svg"))
        self.assertIn(CHUNKS, "".join(root.itertext()))

    def test_our_functions_are_correctly_rounded(self):
        for f in self.isobit_json("reveal", "functions")["functions"]:
            self.assertEqual((f["largest"], f["ulps"]), (0, [f["arguments"], 0, 0, 0]), f["function"])

    def test_functions_of_the_c_library_are_counted(self):
        for f in self.isobit_json("reveal", "functions", "--platform", "libm")["functions"]:
            self.assertEqual(sum(f["ulps"]), f["arguments"])

    def silent_python(self):
        path = self.write("silent", "#!/bin/sh\nexec sleep 1000\n")
        os.chmod(path, 0o700)
        return path

    def test_an_engine_that_answers_nothing_is_ended(self):
        words = ("reveal", "sum", "--platform", "numpy/1t", "--python", self.silent_python())
        self.assertIn("over its time (--max-seconds)", self.isobit(*words, "--max-seconds", "1", code=4).err)
        process = subprocess.Popen([PROGRAM, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, preexec_fn=heeds_signals)
        time.sleep(0.5)
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=20)
        self.assertEqual((process.returncode, said), (130, "isobit: stopped\n"))

    def test_an_engine_is_asked_of_aligned_operands_alone(self):
        if importlib.util.find_spec("numpy") is None:
            self.skipTest("skipped: no NumPy")
        import numpy
        sys.path.insert(0, os.path.join(SOURCE, "scripts", "engines"))
        import reveal_worker

        class Aligning(reveal_worker.Numpy):
            """Adds in another order where an array begins elsewhere."""
            def sum(self, setup):
                return reveal_worker.answer(lambda x: [x.ctypes.data % 64], 1, "where it begins")

            def softmax(self, setup):
                return reveal_worker.answer(lambda x: [reveal_worker.logits(numpy, x).ctypes.data % 64], 1, "where it begins")

        reveal_worker.ENGINES["aligning"] = Aligning
        self.addCleanup(reveal_worker.ENGINES.pop, "aligning")

        def text(word):
            return struct.pack("<Q", len(word)) + word.encode()
        for target in ("sum", "softmax"):
            for k in (3, 16, 17):
                setup = struct.pack("<I", 2) + text("aligning") + text(target) + text("float32") + struct.pack("<22Q", k, 1, 1, 0, 1, 1, *[1] * 16)
                asked, told = io.BytesIO(), io.BytesIO()
                for frame in (setup, b"q" + numpy.ones((5, k)).tobytes(), b"q" + numpy.ones((2, k)).tobytes()):
                    reveal_worker.write_frame(asked, frame)
                asked.seek(0)
                with unittest.mock.patch.dict(os.environ):
                    reveal_worker.serve(asked, told)
                told.seek(0)
                self.assertEqual(reveal_worker.read_frame(told)[:1], b"\0")
                self.assertEqual([list(numpy.frombuffer(reveal_worker.read_frame(told), "<f8", offset=1)) for _ in range(2)], [[0] * 5, [0] * 2])

    def test_what_makes_no_sense_is_refused(self):
        for words, expected in ((["summ"], "did you mean 'sum'"), (["sum", "--k", "0"], "--k: found 0"),
                                (["sum", "--k", "5000"], "expected 1 to 4096"), (["softmax", "--k", "513"], "expected 1 to 512"),
                                (["sum", "--type", "float16"], "expected float32 or float64"),
                                (["conv", "--k", "10"], "a multiple of 9"), (["matmul", "--column", "64"], "--column: found 64"),
                                (["matmul", "--m", "5000"], "--m: found 5000"), (["sum", "--platform", "nunpy"], "nunpy"), (["mean", "--m", "5"], "--m"), (["dot", "--n", "5"], "--n"),
                                (["conv", "--column", "0"], "--column"), (["matmul", "--window", "3"], "--window"),
                                (["functions", "--svg", "f.svg"], "--svg"), (["functions", "--probes"], "--probes"),
                                (["functions", "--k", "5"], "--k"), (["functions", "--type", "float32"], "--type"),
                                (["functions", "--seed", "1"], "--seed"),
                                (["sum", "--platform", "ordered/1t", "--python", "python3"], "--python: goes with"),
                                (["sum", "--max-seconds", "5"], "--max-seconds: goes with"),
                                (["softmax", "--probes"], "--probes: goes with"),
                                (["mean", "--type", "float64", "--probes"], "--probes: goes with"),
                                (["sum", "--platform", "jax/1t"], "numpy, onnxruntime, pytorch or tensorflow"),
                                (["sum", "--platform", "jax/1t"], "with --vendors and --engines"),
                                (["functions", "--platform", "numpy/0t"], "numpy/0t"),
                                (["sum", "--platform", "ordered/1t:correct-1"], "':correct-1'; an arithmetic"), (["functions", "--window", "3"], "--window")):
            self.assertIn(expected, self.isobit("reveal", *words, code=2).err)
        self.assertIn("/nowhere/python", self.isobit("reveal", "sum", "--platform", "numpy", "--python", "/nowhere/python", code=4).err)


if __name__ == "__main__":
    main()
