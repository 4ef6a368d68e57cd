#!/usr/bin/env python3
"""What people set when they train: lengths in epochs, metrics, scores on the way, groups, micro-batches."""
import json
import os
import signal

from isobit_cli import DIGITS, SHORT, STEPS, Case, main, overrides

LOGISTIC = """[job]
name = "logistic"
{length}
[model]
builder = "logistic"
[data]
dataset = "digits"
batch = 100
[optimizer]
lr = 0.1
"""


class Watched(Case):
    def lines(self, name):
        with open(self.path(name)) as f:
            return [json.loads(line) for line in f]

    def test_a_line_for_each_step(self):
        done = self.isobit_json("train", DIGITS, *SHORT, *overrides("evaluate.every=5"), "--metrics", "m.jsonl",
                                "--out", "watched")
        lines = self.lines("m.jsonl")
        self.assertEqual([line["step"] for line in lines], list(range(1, STEPS + 1)))
        for line in lines:
            self.assertEqual(list(line)[:6], ["step", "epoch", "loss", "lr", "seconds", "samples_per_second"])
            self.assertAlmostEqual(line["epoch"], line["step"] * 32 / 1437)
            self.assertAlmostEqual(line["samples_per_second"] * line["seconds"], 32)
        self.assertEqual([line["step"] for line in lines if "test_loss" in line], [5, 10, STEPS])
        for key in ("test_samples", "test_loss", "test_top1", "test_top5"):
            self.assertEqual(lines[-1][key], done[key])
        self.assertAlmostEqual(lines[-1]["loss"], done["final_loss"], places=6)

        plain = self.isobit_json("train", DIGITS, *SHORT, "--out", "plain")
        for root in ("final_state_root", "transcript_root", "job_root"):
            self.assertEqual(plain[root], done[root], root)
        self.assertEqual(self.isobit_json("audit", "watched")["verdict"], "accepted")

    def test_a_profile_accounts_for_the_steps(self):
        arguments = ["train", DIGITS, *SHORT, *overrides("job.arithmetic=logged-1"), "-p", "ordered/1t"]
        done = self.isobit_json(*arguments, "--profile", "--trace", "steps.json", "--out", "profiled")
        plain = self.isobit_json(*arguments, "--out", "plain")
        self.assertEqual(done["final_state_root"], plain["final_state_root"])
        profile, seconds = done["profile"], done["profile"]["seconds"]
        self.assertNotIn("profile", plain)
        self.assertEqual((profile["steps"], profile["threads"]), (STEPS - 1, 1))
        self.assertAlmostEqual(sum(seconds[p] for p in ("batch", "kernels", "stages", "rest")), seconds["step"])
        for rows in (profile["operators"], profile["kernels"]):
            self.assertAlmostEqual(sum(r["seconds"] for r in rows), seconds["kernels"] + seconds["stages"])
            self.assertEqual(sum(r["nodes"] for r in rows), len(profile["nodes"]))
        # 32 images of 8 x 8, 1 > 16 > 32 channels by 3 x 3.
        forward = 2 * 32 * 9 * 64 * (16 + 16 * 32)
        operations = {r["name"]: r["operations"] for r in profile["operators"]}
        self.assertEqual((operations["Conv"], operations["ConvGradWeights"]), (forward, forward))
        self.assertEqual(operations["Relu"], 0)
        with open(self.path("steps.json")) as f:
            events = [e for e in json.load(f)["traceEvents"] if e["ph"] == "X"]
        steps = [e for e in events if e["cat"] == "step"]
        self.assertEqual([e["args"]["step"] for e in steps], list(range(1, STEPS + 1)))
        for e in events:
            of = steps[e["args"]["step"] - 1]
            self.assertGreaterEqual(e["ts"], of["ts"] - 1e-3)
            self.assertLessEqual(e["ts"] + e["dur"], of["ts"] + of["dur"] + 1e-3)
        self.assertEqual(sum(e["cat"] == "operator" for e in events), STEPS * len(profile["nodes"]))
        self.assertIn("of the peak", self.isobit("train", DIGITS, *SHORT, "--profile", "--out", "told").out)
        os.mkdir(self.path("again"))  # a run may be made in a folder that is there and empty
        # A name under which the trace could not lie in the end is refused before anything is trained.
        for more, code, says in ((["--trace", "steps.json"], 2, "steps.json"),
                                 (["--trace", os.path.join("plain", "steps.json")], 2, "lies in the run"),
                                 (["--trace", os.path.join("nowhere", "steps.json")], 4, "no folder"),
                                 (["--trace", "new", "--metrics", "new"], 2, "--metrics and --trace"),
                                 (["--trace", "again"], 2, "lies in again"),
                                 (["--trace", os.path.join("again", "steps.json")], 2, "lies in again")):
            self.fails("train", DIGITS, *SHORT, *more, "--out", "again", code=code, says=[says])
            self.assertEqual(os.listdir(self.path("again")), [])
        self.assertEqual(self.isobit_json("audit", "plain")["verdict"], "accepted")

    def test_scores_are_told(self):
        told = self.isobit("train", DIGITS, *SHORT, *overrides("evaluate.every=5"), "--out", "told", code=0)
        for step in (5, 10):
            self.assertRegex(told.err, rf"step {step}: test \d+\.\d\d % right of 360")
        self.assertNotIn(f"step {STEPS}: test", told.err)

    def test_killed_and_resumed_no_step_is_there_twice(self):
        job = [DIGITS, *SHORT, *overrides("evaluate.every=3"), "--metrics", "m.jsonl", "--out", "killed"]
        process = self.start_until("transcript", 9, "train", *job)
        process.kill()
        process.communicate()
        self.assertEqual(process.returncode, -signal.SIGKILL)
        with open(self.path("m.jsonl"), "a") as f:
            f.write('{"step":9,"ep')  # what a write that was cut short leaves
        self.isobit("train", "--resume", "killed", "--metrics", "m.jsonl", code=0)
        lines = self.lines("m.jsonl")
        self.assertEqual([line["step"] for line in lines], list(range(1, STEPS + 1)))
        self.assertEqual([line["step"] for line in lines if "test_loss" in line], [3, 6, 9, STEPS])

    def test_files_that_are_not_touched(self):
        self.write("notes", "buy milk\n")
        refused = self.isobit("train", DIGITS, *SHORT, "--metrics", "notes", "--out", "r", code=2)
        self.assertIn("has something in it already", refused.err)
        self.assertFalse(os.path.exists(self.path("r")))
        self.isobit("train", DIGITS, *SHORT, "--metrics", "r/m.jsonl", "--out", "r", code=2)
        self.assertFalse(os.path.exists(self.path("r")))
        with open(self.path("notes")) as f:
            self.assertEqual(f.read(), "buy milk\n")


class Lengths(Case):
    def test_epochs_are_the_job_in_steps(self):
        self.write("epochs.toml", LOGISTIC.format(length="epochs = 2"))
        self.write("steps.toml", LOGISTIC.format(length="steps = 29"))
        a = self.isobit_json("train", "epochs.toml", "--out", "a")
        b = self.isobit_json("train", "steps.toml", "--out", "b")
        for key in ("job_root", "transcript_root", "steps"):
            self.assertEqual(a[key], b[key])
        self.assertEqual(a["steps"], 29)
        self.assertEqual(self.isobit_json("job", "check", "epochs.toml")["steps"], 29)
        self.assertEqual(self.isobit_json("audit", "b", "--job", "epochs.toml")["verdict"], "accepted")

    def test_one_length(self):
        self.write("both.toml", LOGISTIC.format(length="epochs = 2\nsteps = 29"))
        self.assertIn("job.epochs gives the length already", self.isobit("train", "both.toml", code=3).err)
        self.write("none.toml", LOGISTIC.format(length=""))
        self.assertIn("job.steps: is missing", self.isobit("train", "none.toml", code=3).err)


class Steps(Case):
    def test_groups_and_micro_batches_are_audited(self):
        job = LOGISTIC.format(length="steps = 5\narithmetic = \"{}\"")
        job += "[[optimizer.group]]\nmatch = \"*.bias\"\nlr_factor = 2\n[schedule]\nname = \"linear\"\n"
        for arithmetic in ("ordered-1", "logged-1"):
            name = self.write(f"{arithmetic}.toml", job.format(arithmetic))
            self.isobit("train", name, *overrides("data.micro_batches=4"), "--out", arithmetic, code=0)
            self.assertEqual(self.isobit_json("audit", arithmetic)["verdict"], "accepted")

    def test_a_group_of_nothing(self):
        self.write("job.toml", LOGISTIC.format(length="steps = 5") + '[[optimizer.group]]\nmatch = "fc.wait"\n')
        refused = self.isobit("train", "job.toml", code=3)
        self.assertIn("did you mean 'fc.weight'?", refused.err)


if __name__ == "__main__":
    main()
