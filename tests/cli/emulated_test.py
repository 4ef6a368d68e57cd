#!/usr/bin/env python3
"""Processors that this machine does not have, emulated: platforms of isobit measure."""
import glob
import os
import platform
import shutil
import sqlite3
import unittest

from isobit_cli import PROGRAM, Case, main
from onnx_by_hand import floats, graph, model, node, value

# A product of few rows: libraries add its 70 terms in an order that depends on the width of their vectors.
PRODUCT = model(graph([node("MatMul", ["x", "w"], ["h"], "product"), node("Softmax", ["h"], ["p"], "softmax")],
                      [value("x", [5, 70])], [value("p", [5, 33])],
                      [floats("w", [70, 33], *[((i * 7919) % 1009 - 504) / 311 for i in range(70 * 33)])]))


class Emulated(Case):
    def measured(self, *platforms):
        path = self.write("product.onnx", PRODUCT)
        told = self.isobit_json("measure", path, "--platforms", ",".join(platforms), "--out", self.path("m.lab"))
        return told["comparison"]["subjects"][0]

    @unittest.skipUnless(shutil.which("qemu-x86_64") and platform.machine() == "x86_64", "skipped: no emulator of x86-64")
    def test_processors_of_x86(self):
        here = "ordered@portable/1t:ordered-1"
        there = [f"ordered/1t:ordered-1~{cpu}" for cpu in ("nehalem", "haswell", "zen")]
        # OpenBLAS takes the kernels of the processor that it finds.
        vendors = ["openblas/1t~nehalem", "openblas/1t~haswell"]
        found = self.measured(here, *there, *vendors)
        classes = {p["name"]: p["class"] for p in found["platforms"]}
        self.assertEqual({classes[name] for name in there}, {classes[here]})
        self.assertEqual(len({classes[name] for name in (here, *vendors)}), 3)
        cores = {p["name"]: p["fields"].get("core") for p in found["platforms"]}
        self.assertEqual([cores[name].lower() for name in vendors], ["nehalem", "haswell"])
        self.assertTrue(any(c["platforms_of"].startswith("openblas under qemu-x86_64 ") for c in found["flag_clusters"]))
        with sqlite3.connect(self.path("m.lab")) as lab:
            rows = lab.execute("select name, cpu_flags from platforms").fetchall()
        flags = {name: texts for name, texts in rows}
        self.assertNotIn(b"avx2", flags["openblas/1t~nehalem"])
        self.assertIn(b"avx2", flags["openblas/1t~haswell"])
        cpu = {p["name"]: p["fields"]["cpu"] for p in found["platforms"]}
        self.assertEqual(cpu["openblas/1t~haswell"], "haswell, emulated by qemu-x86_64")
        again = self.isobit_json("measure", self.path("product.onnx"), "--platforms", "openblas/1t~haswell", "--out",
                                 self.path("m.lab"))
        self.assertEqual((again["measured"], again["known"]), (0, 1))

    @unittest.skipUnless(shutil.which("qemu-x86_64") and platform.machine() == "x86_64", "skipped: no emulator of x86-64")
    def test_what_the_processor_lacks_is_an_error_of_its_platform(self):
        found = self.measured("ordered@portable/1t", "ordered@avx2/1t~nehalem")
        errors = {p["name"]: p.get("error", "") for p in found["platforms"]}
        self.assertIn("has no avx2", errors["ordered@avx2/1t~nehalem"])

    @unittest.skipUnless(glob.glob(os.path.join(os.path.dirname(PROGRAM), "isobit-worker-*")),
                         "skipped: no workers of other machines: scripts/emulated_workers builds them")
    def test_other_machines(self):
        workers = glob.glob(os.path.join(os.path.dirname(PROGRAM), "isobit-worker-*"))
        machines = [os.path.basename(w).removeprefix("isobit-worker-") for w in workers]
        for arithmetic in ("ordered-1", "correct-1"):
            here = f"ordered@portable/1t:{arithmetic}"
            there = [f"ordered/2t:{arithmetic}~{m}" for m in machines]
            classes = {p["name"]: p["class"] for p in self.measured(here, *there)["platforms"]}
            self.assertEqual({classes[name] for name in there}, {classes[here]})
        self.fails("measure", self.path("product.onnx"), "--platforms", f"openblas/1t~{machines[0]}", "--out",
                   self.path("m.lab"), code=2, says=["isobit's own"])

    def test_what_makes_no_sense_is_refused(self):
        path = self.write("product.onnx", PRODUCT)
        out = ("--out", self.path("m.lab"))
        self.fails("measure", path, "--platforms", "ordered/1t~z80", *out, code=2, says=["z80", "haswell", "riscv64"])
        self.fails("measure", path, "--platforms", "nosuch/1t~haswell", *out, code=2, says=["nosuch"])
        self.fails("measure", path, "--platforms", "ordered/xt~haswell", *out, code=2, says=["xt"])
        self.fails("run", path, "--platform", "ordered/1t~haswell", code=2, says=["~haswell"])
        self.assertFalse(os.path.exists(self.path("m.lab")))

    def test_what_is_missing_says_what_gets_it(self):
        path = self.write("product.onnx", PRODUCT)
        empty = {"PATH": self.path("")}
        self.fails("measure", path, "--platforms", "ordered/1t~haswell", "--out", self.path("m.lab"), code=4,
                   says=["qemu-x86_64", "qemu-user"], env=empty)
        told = self.isobit_json("platforms", "--processors", env=empty)
        self.assertEqual({p["here"] for p in told}, {False})
        if shutil.which("qemu-riscv64"):
            self.fails("measure", path, "--platforms", "ordered/1t~riscv64", "--emulated", self.path(""), "--out",
                       self.path("m.lab"), code=4, says=["isobit-worker-riscv64", "scripts/emulated_workers"])


if __name__ == "__main__":
    main()
