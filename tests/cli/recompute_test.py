#!/usr/bin/env python3
"""--recompute: a matter of who computes. Runs, audits and lists of values are the same with and without."""
import os

from isobit_cli import JOBS, Case, main, overrides

RESNET = [os.path.join(JOBS, "digits.toml"), *overrides("model.builder=resnet", "model.width=8", "job.steps=4", "commit.every=2",
                                                       "data.batch=32", "evaluate.samples=20", "schedule.warmup=0")]
ROOTS = ("final_state_root", "transcript_root", "job_root")


class Recompute(Case):
    def trained(self, out, *more):
        return self.isobit_json("train", *RESNET, "--out", out, *more)

    def test_the_run_is_the_same_and_takes_less_memory(self):
        plain = self.trained("plain")
        self.assertEqual(plain["recompute"], "none")
        least = plain["step_bytes"]
        for what in ("cheap", "all"):
            again = self.trained(what, "--recompute", what)
            self.assertEqual([again[root] for root in ROOTS], [plain[root] for root in ROOTS])
            self.assertEqual(again["recompute"], what)
            self.assertLess(again["step_bytes"], least)
            least = again["step_bytes"]
            self.assertEqual(self.isobit_json("audit", what)["step_bytes"], plain["step_bytes"])
            audited = self.isobit_json("audit", "plain", "--recompute", what)
            self.assertEqual((audited["verdict"], audited["step_bytes"]), ("accepted", again["step_bytes"]))
            self.assertEqual(self.isobit_json("open", "plain", "--step", "3", "--recompute", what)["trace_root"],
                             self.isobit_json("open", what, "--step", "3")["trace_root"])
        price = [self.isobit_json("job", "check", *RESNET, *more) for more in ([], ["--recompute", "all"])]
        self.assertLess(price[1]["memory_bytes"], price[0]["memory_bytes"])
        result = self.isobit("train", *RESNET, "--out", "told", "--recompute", "all", "--profile")
        self.assertRegex(result.out, r"(?m)^memory +\d.* at most in the values of a step, computing again: all$")
        self.assertRegex(result.out, r"computing again \d+\.\d %")

    def test_what_cannot_be_computed_again(self):
        logged = overrides("job.arithmetic=logged-1")
        self.fails("job", "check", *RESNET, *logged, "--recompute", "all", code=2,
                   says=["logged-1", "what their log decides is decided once", "'cheap'"])
        self.fails("job", "check", *RESNET, *overrides("job.arithmetic=float32"), "--recompute", "all", code=2,
                   says=["float32", "nothing promises"])
        self.fails("train", *RESNET, "--recompute", "some", "--out", "r", code=2,
                   says=["--recompute 'some': expected none, cheap or all"])
        self.fails("job", "check", *RESNET, "--trace-schema", "--recompute", "all", code=2, says=["--recompute"])
        self.fails("dispute", "--connect", "a:1", "--connect", "b:2", "--recompute", "all", code=2, says=["--recompute"])
        self.assertFalse(os.path.exists(os.path.join(self.dir, "r")))


if __name__ == "__main__":
    main()
