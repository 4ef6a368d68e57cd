#!/usr/bin/env python3
"""examples/lab/run.py: two of its experiments from end to end, and that its sentences follow from what was measured.

Runs with the interpreter of ISOBIT_PYTHON where that one has onnx, NumPy and matplotlib.
"""
import json
import os
import re
import sqlite3
import struct
import subprocess
import sys
import xml.etree.ElementTree

from isobit_cli import PROGRAM, SOURCE, Case, main

PYTHON = os.environ.get("ISOBIT_PYTHON", sys.executable)
LAB = os.path.join(SOURCE, "examples", "lab")
SVG = "{http://www.w3.org/2000/svg}"

# Two names of one kernel and a third kernel: classes that are known beforehand.
FLAGS = """title = "Flags"
measures = "flag_clusters"
seed = 1
network = "{network}"
published_model = "none"
published_cohort = "none"
k = 64
[flags]
{flags}
"""


class Experiments(Case):
    def run_experiment(self, config, out, code=0):
        done = subprocess.run([PYTHON, os.path.join(LAB, "run.py"), config, "--isobit", PROGRAM, "--out", self.path(out)],
                              capture_output=True, text=True,
                              env={k: v for k, v in self.environment().items() if k != "ISOBIT_SHARED_DATA"})
        if done.returncode == 77:
            self.skipTest(done.stdout.strip() + "; name an interpreter that has it in ISOBIT_PYTHON")
        self.assertEqual(done.returncode, code, done.stderr)
        if code != 0:
            return done.stderr
        with open(self.path(out, "result.json")) as f:
            return json.load(f)

    def check_figures(self, result, out):
        self.assertTrue(result["figures"])
        for figure in result["figures"]:
            path = self.path(out, figure["file"])
            self.assertLess(os.path.getsize(path), 100_000)
            root = xml.etree.ElementTree.parse(path).getroot()
            self.assertEqual(root.get("role"), "img")
            self.assertTrue(root.find(f"{SVG}title").text)
            self.assertTrue(root.find(f"{SVG}desc").text)
            self.assertGreater(len(list(root.iter(f"{SVG}text"))), 5, "text is drawn as text")

    def claim(self, result, words):
        return next(c for c in result["claims"] if words in c["finding"])

    def classes_in(self, lab):
        """Bit-distinct outputs of one lab, counted by the hashes in its tables."""
        database = sqlite3.connect(self.path(lab))
        self.addCleanup(database.close)
        rows = database.execute("SELECT p.name, v.hash FROM runs r JOIN platforms p ON p.id = r.platform "
                                "JOIN run_values v ON v.run = r.id WHERE v.is_output = 1 AND r.error = ''").fetchall()
        return {name.split("/")[0]: hash_of for name, hash_of in rows}

    def test_flags_of_core_types(self):
        result = self.run_experiment(os.path.join(LAB, "flag_clusters.toml"), "flags")
        self.check_figures(result, "flags")
        hashes, classes = self.classes_in("flags/labs/here.lab"), result["numbers"]["classes"]
        self.assertGreaterEqual(len(classes), 3)
        for a in classes:
            for b in classes:
                self.assertEqual(classes[a] == classes[b], hashes[a] == hashes[b], (a, b))

    def test_a_sentence_follows_from_the_numbers(self):
        here = {v["platform"]: v.get("float32_digest") for v in self.isobit_json("platforms", "--vendors")}
        names = ["openblas@haswell", "openblas@zen", "openblas@nehalem"]
        if not all(here.get(n) for n in names):
            self.skipTest("skipped: no OpenBLAS with Haswell, Zen and Nehalem")
        findings = {}
        for title, others in (("alike", names[:2]), ("apart", names[1:])):
            flags = "\n".join(f'"{n}" = ["flag{i}"]' for i, n in enumerate(others))
            config = self.write(f"{title}.toml", FLAGS.format(network="medium", flags=flags))
            findings[title] = self.claim(self.run_experiment(config, title), "other flags make other classes")
        self.assertIs(findings["alike"]["appears"], False, findings)
        self.assertIs(findings["apart"]["appears"], True, findings)

    def test_layer_by_layer(self):
        result = self.run_experiment(os.path.join(LAB, "layers.toml"), "layers")
        self.check_figures(result, "layers")
        layers = result["numbers"]["layers"]
        self.assertEqual({(e["network"], e["state"]) for e in layers},
                         {(n, s) for n in ("ReLU and max-pooling", "sigmoid and average-pooling") for s in ("untrained", "trained")})
        values = next(e for e in layers if e["state"] == "trained" and e["network"].startswith("ReLU"))["values"]
        raised = sum(after["precision"] > before["precision"] for e in layers for before, after in zip(e["values"], e["values"][1:])
                     if after["operator"] == "Relu")
        self.assertIn(f"raised {raised} times", self.claim(result, "ReLU raises")["says"])
        self.assertEqual(values[-1]["classes"], len(set(self.classes_in("layers/labs/relu_trained.lab").values())))
        again = self.run_experiment(os.path.join(LAB, "layers.toml"), "layers")
        self.assertEqual((again["measured"], again["known"]), (0, result["measured"]))
        self.assertEqual((again["claims"], again["models"], again["numbers"]), (result["claims"], result["models"], result["numbers"]))
        self.assertIn("another configuration", self.run_experiment(os.path.join(LAB, "flag_clusters.toml"), "layers", code=1))

    def test_definitions(self):
        """Remaining precision and rank correlation against other ways to compute them."""
        pairs = [(1.0, 1.0), (1.0, 1.0 + 2.0 ** -23), (1.0, -1.0), (1.0, 0.99999994), (1.5, 1.75), (0.0, -0.0), (3.0, 3.25)]
        script = ("import sys, json, numpy; sys.path.insert(0, sys.argv[1])\n"
                  "from experiments import layers, multiplications\n"
                  "a, b = (numpy.array(x, dtype=numpy.float32) for x in json.loads(sys.argv[2]))\n"
                  "print(json.dumps([layers.remaining_precision(a, b).tolist(), multiplications.rank_correlation([1, 2, 3, 4], [9, 7, 7, 1]),"
                  " multiplications.rank_correlation([1, 2], [3, 3])]))")
        done = subprocess.run([PYTHON, "-c", script, LAB, json.dumps(list(zip(*pairs)))], capture_output=True, text=True)
        last = (done.stderr.strip().split("\n") or [""])[-1]
        if re.fullmatch(r"ModuleNotFoundError: No module named '(onnx|numpy|matplotlib)'", last):
            self.skipTest("skipped: " + last)
        self.assertEqual(done.returncode, 0, done.stderr)
        precision, rho, none = json.loads(done.stdout)
        self.assertEqual(precision, [by_text(a, b) for a, b in pairs])
        self.assertAlmostEqual(rho, -(4.5 / (5 * 4.5) ** 0.5))  # ranks 0..3 and 3, 1.5, 1.5, 0
        self.assertIsNone(none)


def by_text(a, b):
    """Remaining precision of two float32, by their bits written out."""
    one, other = (f"{struct.unpack('>I', struct.pack('>f', x))[0]:032b}" for x in (a, b))
    if a == b:
        return 23
    if one[:9] != other[:9]:
        return 0
    return next(i for i in range(23) if one[9 + i] != other[9 + i])


if __name__ == "__main__":
    main()
