#!/usr/bin/env python3
"""Killed at random steps and resumed: the same roots. With --slow twenty times over the whole digits job."""
import json
import os
import random
import shutil
import signal

from isobit_cli import DIGITS, SHORT, SLOW, Case, contents, leaves_of, main, overrides

KILLS = 20 if SLOW else 8
JOB = [DIGITS] if SLOW else [DIGITS] + overrides("job.steps=40", "schedule.warmup=2", "commit.every=3",
                                                  "checkpoint.every=7", "checkpoint.keep=2")
# What is written of a run before its first step, in the order in which it comes.
BEGINNING = ("job.toml", "engagement", "heads", "transcript")
SEED = int(os.environ.get("ISOBIT_TEST_SEED", "20"))


class Killed(Case):
    def state(self, name):
        """"absent" (train begins it), "unfinished" (--resume continues it) or "finished"."""
        if not os.path.isdir(self.path(name)) or not os.path.exists(self.path(name, "transcript")):
            return "absent"
        return "finished" if os.path.exists(self.path(name, "manifest.json")) else "unfinished"

    def continuing(self, name):
        return ["train", "--resume", name] if self.state(name) == "unfinished" else ["train", *JOB, "--out", name]

    def same(self, name, expected):
        info = self.isobit_json("info", name)
        for field in ("final_state_root", "transcript_root", "job_root", "test_top1"):
            self.assertEqual(info[field], expected[field], f"{field} of {name}, seed {SEED}")
        self.assertEqual(self.isobit_json("verify", name)["verdict"], "accepted")

    def test_killed_again_and_again(self):
        expected = self.isobit_json("train", *JOB, "--out", "whole")
        generator = random.Random(SEED)
        kills, runs, seen = 0, 0, set()
        while kills < KILLS:
            name = f"r{runs}"
            # At any leaf that is left; a little behind the last the run ends undisturbed.
            left = expected["steps"] + 4 - leaves_of(self.path(name))
            process = self.start_until("transcript", generator.randrange(1, left), *self.continuing(name))
            process.kill()
            out, err = process.communicate()
            self.assertIn(process.returncode, (0, -signal.SIGKILL), err)
            kills += process.returncode != 0
            seen.add(self.state(name))
            if self.state(name) == "finished":
                self.same(name, expected)
                runs += 1
        name = f"r{runs}"
        if self.state(name) != "finished":
            trained = self.isobit_json(*self.continuing(name))
            for field in ("final_state_root", "transcript_root", "job_root", "test_top1", "steps"):
                self.assertEqual(trained[field], expected[field], f"{field}, seed {SEED}")
        self.same(name, expected)
        self.assertEqual(self.isobit_json("audit", name)["verdict"], "accepted")
        self.assertIn("unfinished", seen, f"no kill fell into the training: {seen}")

    def test_killed_while_the_folder_is_being_made(self):
        expected = self.train("whole")
        for number, file in enumerate(BEGINNING):
            name = f"begin{number}"
            process = self.start_until(file, 1, "train", DIGITS, *SHORT, "--out", name)
            process.kill()
            process.communicate()
            self.assertEqual(process.returncode, -signal.SIGKILL, f"nothing is written to {file}")
            state = self.state(name)
            again = ["--resume", name] if state == "unfinished" else [DIGITS, *SHORT, "--out", name]
            trained = self.isobit_json("train", *again)
            self.assertEqual(trained["transcript_root"], expected["transcript_root"], f"{name}, seed {SEED}")
            shutil.rmtree(self.path(name))


class Interrupted(Case):
    LONG = ["train", DIGITS, *overrides("job.steps=40", "commit.every=1", "checkpoint.every=10")]

    def interrupt(self, arguments, how):
        process = self.start_until("transcript", 4, *arguments)  # it is at work, whatever was there
        process.send_signal(how)
        process.send_signal(signal.SIGCONT)
        out, err = process.communicate()
        return process.returncode, out, err

    def test_a_profile_of_what_was_done(self):
        arguments = [*self.LONG, "--profile", "--trace", "steps.json", "--out", "p"]
        code, out, err = self.interrupt(arguments, signal.SIGINT)
        self.assertEqual(code, 130, err)
        self.assertIn("profile", out)
        with open(self.path("steps.json")) as f:
            self.assertIn("traceEvents", json.load(f))
        code, out, err = self.interrupt(["--json", *self.LONG, "--profile", "--out", "j"], signal.SIGINT)
        self.assertEqual(code, 130, err)
        told = json.loads(out)
        self.assertEqual((told["finished"], len(told["profile"]["nodes"]) > 0), (False, True))

    def test_it_says_how_to_go_on(self):
        for how in (signal.SIGINT, signal.SIGTERM):
            code, out, err = self.interrupt([*self.LONG, "--out", "r"], how)
            self.assertEqual((code, out), (130, ""), err)
            self.assertRegex(err.splitlines()[-1],
                             r"^stopped after step \d+ of 40; continue with: isobit train --resume r$")
            info = self.isobit_json("info", "r")
            self.assertEqual((info["finished"], info["steps"]), (False, 40))
            self.assertGreaterEqual(info["steps_done"], 0)
            if info["steps_done"] > 0:
                self.assertIn(info["steps_done"], info["checkpoints"], "a checkpoint where it stopped")
            self.fails("audit", "r", code=3, says=["unfinished", f"{info['steps_done']} of 40", "resume"])
            self.fails(*self.LONG, "--out", "r", code=2, says=["--resume"])
            shutil.rmtree(self.path("r"))

    def test_an_audit_ends_as_the_system_ends_a_process(self):
        """It leaves nothing to go on with, so the signals are not held back."""
        self.isobit(*self.LONG, "--out", "r")
        run_id = self.isobit_json("info", "r")["run_id"]
        for how in (signal.SIGINT, signal.SIGTERM):
            shutil.rmtree(self.path("keys", "judged"), ignore_errors=True)
            ignored = signal.signal(how, signal.SIG_IGN)  # as a shell does for what runs in its background
            process = self.start_until(run_id, 1, "audit", "r", "--verdict", "v")  # it notes what it judges
            signal.signal(how, ignored)
            process.send_signal(how)
            process.send_signal(signal.SIGCONT)
            out, err = process.communicate()
            self.assertEqual((process.returncode, out, err), (-how, "", ""))
            self.assertFalse(os.path.exists(self.path("v")))

    def test_resumed_it_is_the_same(self):
        expected = self.isobit_json(*self.LONG, "--out", "whole")
        code, out, err = self.interrupt(["--json", *self.LONG, "--out", "r"], signal.SIGINT)
        self.assertEqual(code, 130, err)
        self.assertIn('"finished": false', out)
        # Elsewhere and with another number of threads.
        os.rename(self.path("r"), self.path("moved"))
        self.fails("train", "--resume", "moved", code=2, says=[self.path("r"), "--moved", "no longer"])
        trained = self.isobit_json("train", "--resume", "moved", "--moved", "--platform", "ordered/1t")
        for field in ("final_state_root", "transcript_root", "job_root", "final_loss", "test_top1"):
            self.assertEqual(trained[field], expected[field], field)

    def test_one_copy_goes_on(self):
        """Two that both go on would sign two histories of one run."""
        code, out, err = self.interrupt([*self.LONG, "--out", "r"], signal.SIGINT)
        self.assertEqual(code, 130, err)
        shutil.copytree(self.path("r"), self.path("copy"))
        before = contents(self.path("copy"))
        for options in ([], ["--moved"]):
            self.fails("train", "--resume", "copy", *options, code=2, says=["a copy of the run", self.path("r"), "evidence"])
        self.assertEqual(contents(self.path("copy")), before)
        # However its folder is spelled, the noted one goes on.
        os.symlink("r", self.path("alias"))
        code, out, err = self.interrupt(["train", "--resume", "alias/"], signal.SIGINT)
        self.assertEqual(code, 130, err)
        # From when it has been moved, the place where it was is another's.
        os.rename(self.path("r"), self.path("moved"))
        self.isobit("train", "--resume", "moved/", "--moved")
        os.rename(self.path("copy"), self.path("r"))
        self.fails("train", "--resume", "r", code=2, says=["a copy of the run", self.path("moved")])
        self.fails("train", DIGITS, "--moved", "--out", "x", code=2, says=["--moved", "--resume"])

    def test_only_one_process_writes(self):
        process = self.start_until("transcript", 2, *self.LONG, "--out", "r")  # the run has begun
        self.fails("train", "--resume", "r", code=2, says=["r: another process is writing this run"])
        process.kill()
        process.communicate()
        before = contents(self.path("r"))
        self.fails("train", "--resume", "r", "--keys", "other_keys", code=3, says=["other_keys/trainer.key", "--keys"])
        self.assertFalse(os.path.exists(self.path("other_keys")), "no keys are made for a run that has its own")
        self.train("other", "--keys", "other_keys")
        self.fails("train", "--resume", "r", "--keys", "other_keys", code=2, says=["not engaged"])
        self.assertEqual({k: v for k, v in contents(self.path("r")).items() if k != "lock"},
                         {k: v for k, v in before.items() if k != "lock"})


if __name__ == "__main__":
    main()
