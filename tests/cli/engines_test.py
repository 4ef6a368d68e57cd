#!/usr/bin/env python3
"""isobit measure over the Python engines that the interpreter of ISOBIT_PYTHON has."""
import os
import re
import sqlite3
import subprocess
import time
import unittest

from isobit_cli import Case, main, shared_data
from measure_test import ROUNDS


class Engines(Case):
    def installed(self):
        listed = self.isobit_json("platforms", "--engines")
        here = {e["engine"]: e["platforms"] for e in listed if e["installed"]}
        if not here:
            raise unittest.SkipTest("skipped: no Python engines; name an interpreter that has some in ISOBIT_PYTHON")
        return here

    def test_every_setting_of_every_engine_computes_the_same_function(self):
        names = [f"{p}/1t" for platforms in self.installed().values() for p in platforms]
        told = self.isobit_json("measure", self.write("rounds.onnx", ROUNDS), "--platforms", ",".join(["ordered/1t", *names]),
                                "--out", self.path("m.lab"))
        subject = told["comparison"]["subjects"][0]
        failed = {p["name"]: p["error"] for p in subject["platforms"] if p.get("error")}
        # Caps on instruction sets may name what this CPU lacks, and OpenCV takes no shapes as data.
        self.assertLessEqual({n.split("/")[0].split("@")[0] for n in failed}, {"opencv"}, failed)
        self.assertEqual(subject["beyond_rounding"], [])
        self.assertGreaterEqual(subject["remaining_precision"]["least"], 0)
        self.assertLess(subject["largest_difference"]["absolute"], 1e-3)

    def test_an_image_network_on_many_platforms(self):
        here = self.installed()
        if len(here) < 4:
            self.skipTest(f"skipped: {len(here)} Python engines here")
        network = os.path.join(shared_data("models"), "resnet20-cifar10.onnx")
        vendors = {v["float32_digest"]: v["platform"] for v in self.isobit_json("platforms", "--vendors")
                   if v.get("float32_digest")}
        names = ["ordered/1t", *(f"{p}/1t" for p in vendors.values()), *(f"{p[0]}/1t" for p in here.values())]
        self.assertGreaterEqual(len(names), 12)
        begin = time.monotonic()
        told = self.isobit_json("measure", network, "--platforms", ",".join(names), "--out", self.path("m.lab"))
        print(f"{len(names)} platforms in {time.monotonic() - begin:.1f} s")
        subject = told["comparison"]["subjects"][0]
        self.assertGreaterEqual(len(subject["classes"]), 8)
        self.assertEqual(subject["beyond_rounding"], [])
        self.assertIsNotNone(subject["operators"]["first_fork"])

    def test_opencv_shows_its_operators(self):
        names = [f"{p}/1t" for p in self.installed().get("opencv", [])]
        if not names:
            self.skipTest("skipped: no OpenCV here")
        network = os.path.join(shared_data("models"), "mnist-cnn.onnx")
        self.isobit("measure", network, "--platforms", ",".join(names), "--keep", "none", "--out", self.path("m.lab"))
        with sqlite3.connect(self.path("m.lab")) as lab:
            self.assertEqual(lab.execute("SELECT tapped, error FROM runs ORDER BY platform, tapped").fetchall(), [(0, ""), (1, "")] * len(names))

    def test_what_a_report_says_of_a_fork_holds_in_numpy(self):
        here = self.installed()
        if "onnxruntime" not in here:
            self.skipTest("skipped: no ONNX Runtime here")
        network = os.path.join(shared_data("models"), "resnet20-cifar10.onnx")
        expected = {"openblas@nehalem/1t": "channel, row, column, ascending, rounded, bias last",
                    "openblas@haswell/1t": None, "eigen@avx2/1t": "channel, row, column, ascending, fused, bias last"}
        libraries = {v["platform"] for v in self.isobit_json("platforms", "--vendors") if v.get("float32_digest")}
        expected = {p: order for p, order in expected.items() if p.split("/")[0] in libraries}
        if not expected:
            self.skipTest("skipped: no product library here")
        names = ["ordered/1t", *expected, "onnxruntime@disabled/1t"]
        image = "import numpy; numpy.save('x.npy', numpy.random.default_rng(1).normal(size=(1, 3, 32, 32)).astype('f'))"
        subprocess.run([os.environ["ISOBIT_PYTHON"], "-c", image], cwd=self.dir, check=True)
        self.isobit("measure", network, "--input", "x.npy", "--platforms", ",".join(names), "--out", "m.lab")
        told = self.isobit("--json", "explain", "m.lab", "--model", network, "--input", "x.npy", code=1)
        with open(self.path("report.json"), "w", encoding="utf-8") as file:
            file.write(told.out)
        script = os.path.join(os.path.dirname(__file__), "..", "..", "scripts", "recompute_fork")
        for more in (["--report", "report.json"], [w for p, o in expected.items() if o for w in ("--expect", f"{p}={o}")]):
            done = subprocess.run([os.environ["ISOBIT_PYTHON"], script, "m.lab", network, "--input", "x=x.npy", *more], cwd=self.dir,
                                  capture_output=True, text=True, check=False)
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
            self.assertNotIn("none of the orders", "".join(re.findall(r"ordered.*\n.*", done.stdout)))


if __name__ == "__main__":
    main()
