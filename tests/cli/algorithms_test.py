#!/usr/bin/env python3
"""Convolution algorithms as platforms: what is listed, what a run says of them, what is refused."""
import json
import os
import subprocess
import sys

from isobit_cli import PROGRAM, SOURCE, Case, main
from onnx_by_hand import floats, graph, model, node, value

# Two convolutions: Winograd's algorithm computes the first alone.
NETWORK = model(graph([node("Conv", ["x", "w"], ["h"], "wide"), node("Relu", ["h"], ["r"], "relu"),
                       node("Conv", ["r", "p"], ["y"], "point")],
                      [value("x", [1, 3, 9, 8])], ["y"],
                      [floats("w", [4, 3, 3, 3], *(0.01 * i - 0.5 for i in range(108))),
                       floats("p", [5, 4, 1, 1], *(0.3 - 0.1 * i for i in range(20)))]))
FIXED = ["direct", "explicit-gemm", "implicit-gemm", "winograd2", "winograd2-nonfused", "winograd4",
         "winograd4-nonfused"]


class Algorithms(Case):
    def network(self):
        return self.write("network.onnx", NETWORK)

    def run_on(self, platform, *more):
        return self.isobit_json("run", self.network(), "--arithmetic", "float32", "--platform", platform, *more)

    def test_they_are_listed_each_with_its_bits(self):
        listed = {a["algorithm"]: a for a in self.isobit_json("platforms", "--algorithms")}
        self.assertEqual(list(listed), FIXED + ["fft", "autotune"])
        digests = [listed[name]["digest"] for name in FIXED]
        self.assertEqual(len(set(digests)), len(FIXED))
        self.assertTrue("digest" in listed["fft"] or "libfftw3-single3" in listed["fft"]["error"], listed["fft"])
        text = self.isobit("platforms", "--algorithms").out
        self.assertIn("+winograd4-nonfused", text)
        self.fails("platforms", "--algorithms", "--vendors", code=2, says=["choose one"])

    def test_a_run_says_what_computed_each_convolution(self):
        told = self.run_on("ordered@portable/1t+winograd4")
        self.assertEqual(told["platform"], "ordered@portable/1t+winograd4")
        self.assertEqual([(c["node"], c["kernel"], c["why"]) for c in told["chosen"]],
                         [("wide", "winograd4", ""),
                          ("point", "own", "winograd4: it has 3 x 3 taps only, not 1 x 1")])
        self.assertEqual((told["chosen"][0]["src"], told["chosen"][0]["weights"]), ("[1, 3, 9, 8]", "[4, 3, 3, 3]"))
        self.assertNotIn("chosen", self.run_on("ordered/1t"))
        text = self.isobit("run", self.network(), "-a", "float32", "-p", "ordered/1t+winograd4").out
        self.assertIn("convolution   point [1, 4, 7, 6] by [5, 4, 1, 1]  own (winograd4: it has 3 x 3 taps only", text)

    def test_bits_differ_between_algorithms_and_repeat_within_one(self):
        outputs = {name: self.run_on(f"ordered/1t+{name}", "--repeat", "2")["outputs"][0]["digest"] for name in FIXED}
        for name in ("direct", "winograd2", "winograd4"):
            self.assertEqual(outputs[name], self.run_on(f"ordered@portable/2t+{name}")["outputs"][0]["digest"], name)
        self.assertGreater(len(set(outputs.values())), 4)

    def test_the_autotuner_keeps_its_choice_for_a_process(self):
        told = self.run_on("ordered/1t+autotune", "--repeat", "4")  # which checks that the bits stay
        self.assertEqual(len(told["chosen"]), 2)
        for c in told["chosen"]:
            self.assertRegex(c["why"], r"^fastest of \d+, timed once: own [\d.]+ ms, ")
            self.assertIn(c["kernel"], FIXED + ["fft", "own"])

    def test_only_float32_may_name_one(self):
        for arithmetic in ("ordered-1", "correct-1"):
            self.fails("run", self.network(), "--arithmetic", arithmetic, "--platform", "ordered/1t+winograd2", code=2,
                       says=["promises no bits", "float32", "'+winograd2'"])

    def test_a_name_that_is_none(self):
        self.fails("run", self.network(), "-a", "float32", "-p", "ordered/1t+winogrd2", code=2,
                   says=["'winogrd2' after the plus", "did you mean 'winograd2'?", "autotune"])

    def test_the_experiment_counts_classes(self):
        done = subprocess.run([sys.executable, os.path.join(SOURCE, "examples", "lab", "convolutions.py"), PROGRAM,
                               self.network(), "--platform", "ordered/1t", "--processes", "3", "--json"],
                              capture_output=True, text=True, env=self.environment())
        self.assertEqual(done.returncode, 0, done.stderr)
        report = json.loads(done.stdout)
        self.assertEqual(len(report["autotuned"]), 3)
        self.assertGreaterEqual(report["classes_of_algorithms"], 5)
        self.assertEqual(report["classes_of_autotuned"], len(set(report["autotuned"])))
        self.assertEqual(sum(report["winners"]["[1, 3, 9, 8] by [4, 3, 3, 3]"].values()), 3)


if __name__ == "__main__":
    main()
