#!/usr/bin/env python3
"""isobit thresholds: figures over platforms that agree and platforms that do not, the file it writes, its errors."""
from isobit_cli import DIGITS, Case, main, overrides

FEW = ["--steps", "2", "--samples", "50"]
ORDERED = "ordered@portable/1t,ordered/2t,ordered@reference/1t"


class Thresholds(Case):
    def vendor(self):
        """A setting of a library here with a float64 product."""
        for entry in self.vendors():
            if entry.get("float64_digest"):
                return entry["platform"] + "/1t"
        self.skipTest("skipped: no vendor library")

    def test_ordered_platforms_agree(self):
        report = self.isobit_json("thresholds", DIGITS, "--platforms", ORDERED, *FEW)
        self.assertEqual(report["left_out"], 0)
        self.assertEqual(report["findings"], [])
        self.assertEqual([f["operator"] for f in report["operators"]],
                         ["Conv", "ConvGradSrc", "ConvGradWeights", "Gemm", "MatMul"])
        for f in report["operators"]:
            self.assertEqual((f["divergence"], f["straddles"]), (0, 0))
            self.assertIsNone(f["proposed_divergence"])
            self.assertGreater(f["samples"], 0)
            self.assertEqual(len(f["pairs"]), 3)
            self.assertEqual(len(set(f["errors"].values())), 1)
        text = self.isobit("thresholds", DIGITS, "-p", ORDERED, *FEW, "--draws", "0").out
        self.assertIn("all alike", text)

    def test_libraries_differ_and_the_file_fits_a_job(self):
        platforms = f"ordered@portable/1t,{self.vendor()}"
        report = self.isobit_json("thresholds", DIGITS, "-p", platforms, *FEW, "--out", "r.toml", "--margin", "8")
        largest = max(report["operators"], key=lambda f: f["divergence"])
        self.assertGreater(largest["divergence"], 0)
        self.assertLess(largest["share_of_sound_bound"], 1)
        self.assertGreaterEqual(largest["proposed_divergence"], 8 * largest["divergence"])
        with open(self.path("r.toml")) as f:
            fragment = f.read()
        self.assertIn(f"{largest['operator']} = {largest['proposed_divergence']:g}", fragment)
        with open(DIGITS) as f:
            job = self.write("job.toml", f.read().replace('"ordered-1"', '"logged-1"') + fragment)
        self.isobit("train", job, "--set", "job.steps=2", "--set", "schedule.warmup=0", "--out", "r", "-p",
                    "ordered@portable/1t")
        self.assertEqual(self.isobit_json("audit", "r", "-p", platforms.split(",")[1])["verdict"], "accepted")

    def test_beyond_the_job(self):
        platforms = f"ordered@portable/1t,{self.vendor()}"
        strict = overrides("job.arithmetic=logged-1", "rounding.divergence=1e-6")
        result = self.isobit("thresholds", DIGITS, "-p", platforms, *FEW, *strict, code=1)
        self.assertIn("BEYOND THE JOB", result.out)

    def test_errors(self):
        run = ["thresholds", DIGITS, "-p"]
        self.fails("thresholds", DIGITS, code=2, says=["--platforms"])
        self.fails("thresholds", "none.toml", "-p", ORDERED, code=3, says=["none.toml"])
        self.fails(*run, "ordered", code=2, says=["two or more"])
        self.fails(*run, "ordered/1t,ordered/1t", code=2, says=["named twice"])
        self.fails(*run, "ordered/1t,", code=2, says=["''"])
        self.fails(*run, "ordered/1t,oredred/1t", code=2, says=["oredred"])
        self.fails(*run, ORDERED, "--steps", "0", code=2, says=["--steps 0"])
        self.fails(*run, ORDERED, "--steps", "301", code=2, says=["300 steps"])
        self.fails(*run, ORDERED, "--samples", "9999999999", code=2, says=["--samples"])
        self.fails(*run, ORDERED, "--margin", "none", code=2, says=["--margin 'none'"])
        self.fails(*run, ORDERED, "--margin", "0", code=2, says=["--margin 0"])
        self.fails(*run, ORDERED, *FEW, "--out", "no/such/folder/f.toml", "-q", code=4, says=["no/such/folder"])


if __name__ == "__main__":
    main()
