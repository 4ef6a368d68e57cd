#!/usr/bin/env python3
"""Runs that are audited while another process trains them."""
import json
import os
import shutil
import signal
import subprocess
import time

from isobit_cli import DIGITS, PROGRAM, STEPS, Case, heeds_signals, main, overrides
from parties import Parties

JOB = [DIGITS, *overrides(f"job.steps={STEPS}", "schedule.warmup=2", "commit.every=1", "checkpoint.every=4")]


def head_noted(home):
    """Leaves of the head that a follower from this home has seen last; 0 where it has seen none."""
    for where, _, names in os.walk(os.path.join(home, "followed")):
        for name in names:
            if name.endswith(".tmp"):
                continue
            with open(os.path.join(where, name), "rb") as f:
                data = f.read()
            at = data.index(b"isobit.head") + len(b"isobit.head") + 4
            return int.from_bytes(data[at:at + 8], "little")
    return 0


class Followed:
    """A follower in a process of its own."""

    def __init__(self, case, home, inside, *arguments):
        self.case, self.home = case, home
        env = case.environment(ISOBIT_HOME=home)
        self.process = subprocess.Popen([PROGRAM, "--json", "audit", *arguments, "--follow"], stdin=subprocess.DEVNULL,
                                        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=env, cwd=inside,
                                        preexec_fn=heeds_signals)
        case.addCleanup(self.process.kill)

    def saw(self, leaves):
        """Waits until it has seen a head of so many."""
        end = time.monotonic() + 120
        while head_noted(self.home) < leaves:
            self.case.assertIsNone(self.process.poll(), "it has ended")
            self.case.assertLess(time.monotonic(), end, "it sees nothing")
            time.sleep(0.05)

    def ends(self, code):
        out, err = self.process.communicate(timeout=300)
        self.case.assertEqual(self.process.returncode, code, out + err)
        return json.loads(out)


class Follow(Case):
    def follow(self, *arguments):
        return Followed(self, self.path("keys"), self.dir, *arguments)

    def train_until(self, head):
        """A trainer that stands still behind that head, counted from 0 as the one of the initial leaf is there or not."""
        return self.start_until("heads", head, "train", *JOB, "--out", "r")

    def test_to_the_end(self):
        self.isobit("keygen", "--role", "client")
        follower = self.follow("r")
        self.isobit("train", *JOB, "--out", "r")
        followed = follower.ends(0)
        self.assertEqual((followed["verdict"], followed["complete"], followed["steps_checked"]), ("accepted", True, STEPS))
        audited = self.isobit_json("audit", "r")
        for field in ("run", "reason", "client_key"):
            self.assertEqual(followed[field], audited[field])
        self.assertEqual(self.isobit_json("audit", "r", "--follow")["verdict"], "accepted", "it has ended already")

    def test_a_trainer_that_is_killed_and_resumed(self):
        trainer = self.train_until(7)
        follower = self.follow("r", "--verdict", "v")
        follower.saw(6)
        seen = head_noted(self.path("keys"))
        trainer.kill()
        trainer.communicate()
        self.isobit("train", "--resume", "r")
        self.assertEqual(follower.ends(0)["steps_checked"], STEPS)
        self.assertGreaterEqual(head_noted(self.path("keys")), seen)
        self.assertIn("accepted", self.isobit("verify", "v").out)

    def test_it_goes_on_from_what_it_kept(self):
        trainer = self.train_until(7)
        follower = self.follow("r", "--keep", "kept")
        end = time.monotonic() + 120
        while not os.path.exists(self.path("kept")):
            self.assertLess(time.monotonic(), end, "it keeps nothing")
            time.sleep(0.02)
        follower.process.send_signal(signal.SIGTERM)
        stopped = follower.ends(130)
        self.assertEqual(stopped["before"], 0)
        again = self.follow("r", "--keep", "kept", "--verdict", "v")
        trainer.kill()
        trainer.communicate()
        self.isobit("train", "--resume", "r")
        out, err = again.process.communicate(timeout=300)
        told = json.loads(out)
        self.assertEqual((again.process.returncode, told["verdict"], told["complete"], told["steps_checked"]),
                         (0, "accepted", True, STEPS), err)
        self.assertIn(told["before"], (4, 5, 6, 7))
        self.assertEqual(told["reason"], self.isobit_json("audit", "r")["reason"])
        # After the end, too; a file that is something else is left alone, and so is one without its home.
        self.assertRegex(self.isobit("audit", "r", "--follow", "--keep", "kept").err,
                         r"goes on after step \d+, whose state is in kept")
        self.write("mine", b"a letter")
        self.fails("audit", "r", "--follow", "--keep", "mine", code=2, says=["mine", "is not what was kept"])
        shutil.rmtree(self.path("keys", "kept"))
        self.assertNotIn("goes on", self.isobit("audit", "r", "--follow", "--keep", "kept").err)
        self.fails("audit", "r", "--keep", "kept", code=2, says=["--keep goes with --follow"])

    def test_ctrl_c_says_how_far_it_came(self):
        trainer = self.train_until(7)
        for how in (signal.SIGINT, signal.SIGTERM):
            shutil.rmtree(self.path("keys", "followed"), ignore_errors=True)
            follower = self.follow("r", "--verdict", "v")
            follower.saw(6)  # so it heeds signals
            follower.process.send_signal(how)
            stopped = follower.ends(130)
            self.assertEqual(stopped["verdict"], "inconclusive")
            self.assertLessEqual(stopped["steps_checked"], stopped["signed_for"])
            self.assertRegex(stopped["reason"], rf"checked up to step \d+ of {STEPS}$|a head of the run was seen")
            self.assertEqual(stopped["last_head"]["leaves"], stopped["signed_for"] + 1)
            self.assertFalse(os.path.exists(self.path("v")))
        shown = self.isobit("audit", "r", "--follow", "--max-time", "2", code=4).out
        self.assertRegex(shown, rf"ran past --max-time of 2 s; (checked up to step \d+ of {STEPS}|no head)")
        trainer.kill()
        trainer.communicate()

    def test_a_trainer_that_does_not_come(self):
        self.isobit("keygen", "--role", "client")
        shown = self.isobit("audit", "none", "--follow", "--max-time", "1", code=4)
        self.assertIn("no head of the run was seen", shown.out)
        self.assertIn("waiting for the trainer: none", shown.err)

    def test_what_it_does_not_go_with(self):
        for options in (["--from", "4"], ["--sample", "2"], ["--spot", "2"]):
            self.fails("audit", "r", "--follow", *options, code=2, says=["--follow", "excludes"])


class Fork(Parties):
    def test_a_second_history_is_evidence(self):
        self.offer()
        self.accept()
        shutil.copytree(self.trainer.path("home"), self.trainer.path("home2"))
        self.client.gives("home/client.pub", self.auditor)
        self.trainer("cheat", "job.toml", "--engagement", "engagement", "--keys", "home2", "--kind", "rate", "--at", "4",
                     "--out", "two")
        os.remove(self.trainer.path("two", "manifest.json"))
        os.remove(self.trainer.path("two", "manifest.sig"))
        self.trainer("train", "job.toml", "--engagement", "engagement", "--out", "one")
        for name in ("manifest.json", "manifest.sig"):
            os.remove(self.trainer.path("one", name))
        self.trainer.gives("one", self.auditor, "run")
        follower = Followed(self, self.auditor.path("home"), self.auditor.path(), "run", "--client-key", "client.pub",
                            "--job", "job.toml", "--out", "fork", "--verdict", "v")
        follower.saw(STEPS + 1)
        os.rename(self.auditor.path("run"), self.auditor.path("before"))
        self.trainer.gives("two", self.auditor, "run")
        found = follower.ends(1)
        self.assertEqual((found["verdict"], found["file"]), ("rejected", "fork"))
        self.assertIn("two histories", found["reason"])
        with open(self.trainer.path("home", "trainer.pub")) as f:
            self.assertEqual(found["fork"]["signer"], f.read().split()[-1])
        self.assertEqual(self.auditor("verify", "v", code=1).code, 1)
        # A third person, with the file alone.
        self.auditor.gives("fork", self.client)
        self.assertEqual(self.client.json("verify", "fork")["verdict"], "accepted")
        # Who starts again remembers what was seen.
        again = ["audit", "run", "--client-key", "client.pub", "--job", "job.toml", "--follow"]
        self.assertEqual(self.auditor.json(*again, code=1)["fork"], found["fork"])
        shown = self.auditor(*again, code=1).out
        for words in ("two histories of one run were signed", "signed by", "older head", "--out FILE"):
            self.assertIn(words, shown)


if __name__ == "__main__":
    main()
