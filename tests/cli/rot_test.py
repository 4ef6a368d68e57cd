#!/usr/bin/env python3
"""Unfinished runs that are killed at random leaves and whose files change a bit on the disk at random places: resumed,
each ends with the roots of the run that nothing befell, or it is refused and nothing is signed. With --slow 300 kills and
100 flipped bits."""
import os
import random
import shutil
import signal
from collections import Counter

from isobit_cli import DIGITS, SLOW, Case, files_of, leaves_of, main, overrides

KILLS, FLIPS = (300, 100) if SLOW else (6, 6)
SEED = int(os.environ.get("ISOBIT_TEST_SEED", "27"))
# Heads, committed states and checkpoints at steps of their own, so that kept checkpoints are of both kinds.
SMALL = overrides("job.steps=22", "schedule.warmup=2", "data.batch=8", "commit.every=5", "checkpoint.every=2", "checkpoint.keep=4")
LOGGED = [*SMALL, *overrides("job.arithmetic=logged-1", "job.steps=10", "rounding.divergence=65536")]
JOBS = {"ordered": SMALL, "sparse": LOGGED, "ovt": [*LOGGED, *overrides("rounding.log=ovt")]}
if not SLOW:
    del JOBS["ovt"]
ROOTS = ("final_state_root", "transcript_root", "job_root", "test_top1")


class Rot(Case):
    def begin(self):
        """Trains each job once, undisturbed."""
        self.random = random.Random(SEED)
        self.counts = Counter()
        self.expected = {}
        self.isobit("-q", "train", DIGITS, *SMALL, "--out", "keys_are_made")
        for job in JOBS:
            self.expected[job] = self.isobit_json(*self.training(job), "--out", f"whole-{job}")

    def training(self, job):
        return ["train", DIGITS, *JOBS[job]]

    def start_until_random_leaf(self, name, job, *arguments):
        """Any leaf that is left, up to a little after the last: then the run ends undisturbed."""
        steps = self.expected[job]["steps"]
        left = steps + 2 + steps // 10 - leaves_of(self.path(name))
        return self.start_until("transcript", self.random.randrange(1, max(left, 2)), *arguments)

    def state(self, name):
        if not os.path.exists(self.path(name, "transcript")):
            return "absent"
        return "finished" if os.path.exists(self.path(name, "manifest.json")) else "unfinished"

    def killed(self, name, job):
        """Begins the run or goes on with it, and kills it; whether the kill came before the end."""
        more = ["train", "--resume", name] if self.state(name) == "unfinished" else [*self.training(job), "--out", name]
        process = self.start_until_random_leaf(name, job, *more)
        process.kill()
        _, err = process.communicate()
        self.assertIn(process.returncode, (0, -signal.SIGKILL), f"{err}\nseed {SEED}")
        return process.returncode != 0

    def flip(self, name):
        """One bit of one file: of any file, or of any byte that the run has."""
        files = [f for f in files_of(self.path(name)) if os.path.getsize(self.path(name, f)) > 0]
        sizes = [os.path.getsize(self.path(name, f)) for f in files]
        file = self.random.choice(files) if self.random.random() < 0.7 else self.random.choices(files, sizes)[0]
        bit = self.random.randrange(os.path.getsize(self.path(name, file)) * 8)
        with open(self.path(name, file), "r+b") as f:
            f.seek(bit // 8)
            byte = f.read(1)[0]
            f.seek(bit // 8)
            f.write(bytes([byte ^ 1 << bit % 8]))
        where = f"bit {bit} of {file} of {name}, seed {SEED}"
        return "checkpoint" if "step-" in file else os.path.basename(file), where

    def is_whole(self, name, job, where):
        for field in ROOTS:
            self.assertEqual(self.isobit_json("info", name)[field], self.expected[job][field], f"{field}; {where}")
        self.assertEqual(self.isobit_json("audit", name)["verdict"], "accepted", where)
        self.counts["audited and accepted"] += 1
        shutil.rmtree(self.path(name))

    def test_kills(self):
        self.begin()
        kills = runs = 0
        while kills < KILLS:
            job = list(JOBS)[runs % len(JOBS)]
            name = f"killed{runs}"
            runs += 1
            # At most three times each, so that there are many runs.
            for _ in range(3):
                if kills == KILLS or self.state(name) == "finished" or not self.killed(name, job):
                    break
                kills += 1
                self.counts[f"killed, then {self.state(name)}"] += 1
            if self.state(name) == "absent":
                self.isobit("-q", *self.training(job), "--out", name)
            elif self.state(name) == "unfinished":
                self.isobit("-q", "train", "--resume", name)
            self.is_whole(name, job, f"{name} of job {job}, seed {SEED}")
        print(f"{kills} kills in {runs} runs: {dict(sorted(self.counts.items()))}", flush=True)

    def test_flips(self):
        self.begin()
        flips = tries = 0
        while flips < FLIPS:
            job = list(JOBS)[tries % len(JOBS)]
            name = f"flipped{tries}"
            tries += 1
            self.killed(name, job)
            if self.state(name) != "unfinished":
                shutil.rmtree(self.path(name), ignore_errors=True)
                continue
            kind, where = self.flip(name)
            flips += 1
            # What notices the damage may be killed in its turn.
            while self.random.random() < 0.25 and self.state(name) == "unfinished":
                process = self.start_until_random_leaf(name, job, "train", "--resume", name)
                process.kill()
                process.communicate()
            if self.state(name) == "unfinished":
                result = self.isobit("--json", "train", "--resume", name, code=(0, 1, 3, 4))
                if result.code != 0:
                    self.is_refused(name, kind, result, where)
                    continue
            self.counts[f"{kind}: the same roots"] += 1
            self.is_whole(name, job, where)
        print(f"{flips} flipped bits: {dict(sorted(self.counts.items()))}", flush=True)

    def is_refused(self, name, kind, result, where):
        self.assertEqual(self.state(name), "unfinished", f"{where}\n{result}")
        self.assertTrue(result.err.startswith("isobit: ") and result.err.count("\n") == 1, f"{where}\n{result}")
        self.assertIn(name, result.err, f"it does not say what is wrong; {where}\n{result}")
        self.assertNotEqual(self.isobit("audit", name, code=(1, 3)).code, 0, where)
        self.counts[f"{kind}: refused"] += 1
        shutil.rmtree(self.path(name))


if __name__ == "__main__":
    main()
