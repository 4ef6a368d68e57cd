#!/usr/bin/env python3
"""Spot checks as a person runs them: isobit audit --spot, and isobit answer on another machine."""
import json
import os
import shutil
import subprocess
import time

from isobit_cli import DIGITS, PROGRAM, SHORT, Case, heeds_signals, main


def without_seconds(elements):
    return [{key: value for key, value in element.items() if key != "seconds"} for element in elements]


class Spot(Case):
    def setUp(self):
        super().setUp()
        self.train("d.run")

    def test_an_honest_run_passes(self):
        first = self.isobit_json("audit", "d.run", "--spot", "40", "--step", "7", "--seed", "00" * 16)
        self.assertEqual((first["verdict"], first["complete"], first["step"]), ("accepted", False, 7))
        self.assertEqual(len(first["elements"]), 40)
        for element in first["elements"]:
            self.assertLess(element["bytes"], 1 << 20)
        nodes, missed = first["nodes"], first["missed_in_one_node"]
        self.assertAlmostEqual(missed, (1 - 0.01 / nodes) ** 40)
        self.assertAlmostEqual(first["missed_in_every_node"], 0.99 ** 40)
        again = self.isobit_json("audit", "d.run", "--spot", "40", "--step", "7", "--seed", "00" * 16)
        self.assertEqual(without_seconds(again["elements"]), without_seconds(first["elements"]))
        other = self.isobit_json("audit", "d.run", "--spot", "40", "--step", "7")
        self.assertNotEqual(without_seconds(other["elements"]), without_seconds(first["elements"]))
        self.assertNotEqual(other["seed"], first["seed"])
        told = self.isobit("audit", "d.run", "--spot", "3").out
        self.assertIn("accepted (the elements that were checked)", told)

    def test_a_false_run_is_rejected(self):
        self.isobit("-q", "cheat", DIGITS, *SHORT, "--kind", "rate", "--at", "5", "--out", "false.run")
        found = self.isobit_json("audit", "false.run", "--spot", "300", "--step", "5", "--seed", "01" * 16, "--cheat",
                                 "rate@5", code=1)
        self.assertEqual(found["verdict"], "rejected")
        finding = found["finding"]
        self.assertEqual((finding["step"], finding["operator"], finding["level"]), (5, "isobit.Sgd", "element"))
        self.assertNotEqual(finding["claimed"], finding["right"])
        # Honest answers do not lead to the states that it signed.
        trace = self.isobit_json("audit", "false.run", "--spot", "1", "--step", "5", code=1)["finding"]
        self.assertEqual(trace["level"], "trace")
        told = self.isobit("audit", "false.run", "--spot", "300", "--step", "5", "--cheat", "rate@5", code=1).out
        self.assertIn("isobit.Sgd", told)

    def test_what_was_found_convinces_a_third_person(self):
        self.isobit("-q", "cheat", DIGITS, *SHORT, "--kind", "rate", "--at", "5", "--out", "false.run")
        told = self.isobit("audit", "false.run", "--spot", "300", "--step", "5", "--cheat", "rate@5", "--out", "found", code=1)
        self.assertIn("isobit verify found", told.out)
        job = shutil.copy(self.path("false.run", "job.toml"), self.path("job.toml"))
        nobody = {"ISOBIT_HOME": self.path("nobody")}  # neither keys nor run
        proved = self.isobit_json("verify", "found", "--job", job, env=nobody)
        self.assertEqual((proved["verdict"], proved["finding"]["operator"], proved["finding"]["step"]),
                         ("accepted", "isobit.Sgd", 5))
        self.assertEqual(proved["run_id"], self.isobit_json("info", "false.run")["run_id"])
        self.assertIn("isobit.Sgd", self.isobit("verify", "found", "--job", job, env=nobody).out)
        self.isobit("keygen", "--out", "other")
        self.assertIn("client_key", self.isobit_json("verify", "found", "--job", job, "--client-key", "other.pub", code=1)["reason"])
        self.fails("verify", "found", code=2, says=["--job"])
        self.fails("verify", "found", "--job", job, "--set", "job.seed=9", code=2, says=["name that job"])
        self.fails("audit", "false.run", "--spot", "3", "--out", "found", code=2, says=["found"])
        with open(self.path("found"), "rb") as f:
            whole = f.read()
        for at in range(0, len(whole), len(whole) // 23):
            changed = bytearray(whole)
            changed[at] ^= 1 << at % 8
            self.write("changed", bytes(changed))
            self.isobit("verify", "changed", "--job", job, code=(1, 2, 3), env=nobody)
        # Of an honest run there is nothing to write.
        self.isobit("audit", "d.run", "--spot", "5", "--out", "nothing")
        self.assertFalse(os.path.exists(self.path("nothing")))

    def test_what_does_not_go_together_is_said(self):
        self.fails("audit", "d.run", "--through", "x", code=2, says=["--through", "--spot"])
        self.fails("audit", "d.run", "--spot", "5", "--through", "x", "--cheat", "rate@1", code=2, says=["--through"])
        self.fails("answer", "d.run", "--through", "none", code=3, says=["none", "--spot N --through"])
        self.fails("audit", "d.run", "--spot", "0", code=2, says=["--spot 0"])
        self.fails("audit", "d.run", "--spot", "5", "--step", "13", code=2, says=["--step 13", "1 to 12"])
        self.fails("audit", "d.run", "--spot", "5", "--sample", "1", code=2, says=["--sample"])
        self.fails("audit", "d.run", "--step", "5", code=2, says=["--spot"])
        self.fails("audit", "d.run", "--cheat", "rate@1", code=2, says=["--spot"])
        self.fails("audit", "d.run", "--spot", "5", "--cheat", "rate", code=2, says=["KIND@STEP"])
        self.fails("audit", "d.run", "--spot", "5", "--seed", "00", code=2, says=["seed"])


class TwoMachines(Case):
    """The auditor has a copy of the run, the client's public key and no other; the trainer keeps its home."""

    def setUp(self):
        super().setUp()
        self.train("d.run")
        os.makedirs(self.path("there"))
        shutil.copytree(self.path("d.run"), self.path("there", "d.run"))
        shutil.copy(self.path("keys", "client.pub"), self.path("there"))
        self.auditor = {"ISOBIT_HOME": self.path("there", "home")}

    def asks(self, run="d.run", *options, draws="30", through="between"):
        return subprocess.Popen([PROGRAM, "--json", "audit", run, "--client-key", "client.pub", "--spot", draws, "--step", "7",
                                 "--through", self.path(through), *options], stdin=subprocess.DEVNULL,
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=self.path("there"),
                                env=self.environment(**self.auditor), preexec_fn=heeds_signals)

    def wait_for(self, *name):
        end = time.monotonic() + 120
        while not os.path.exists(self.path("between", *name)):
            self.assertLess(time.monotonic(), end, "it does not come")
            time.sleep(0.02)

    def ends(self, process, code):
        out, err = process.communicate(timeout=300)
        self.assertEqual(process.returncode, code, out + err)
        return out, err

    def test_they_exchange_files(self):
        asking = self.asks()
        self.wait_for("0.question")
        # A trainer that is stopped goes on where it was.
        trainer = self.start("answer", "d.run", "--through", "between")
        self.wait_for("6.answer")
        trainer.kill()
        trainer.communicate()
        answered = self.isobit_json("answer", "d.run", "--through", "between")["answered"]
        checked = json.loads(self.ends(asking, 0)[0])
        self.assertEqual((checked["verdict"], len(checked["elements"]), checked["trainer_memory"]), ("accepted", 30, None))
        self.assertGreaterEqual(answered, 32)
        self.assertTrue(os.path.exists(self.path("between", "end")))
        # What was drawn once is known.
        self.assertIn("not empty", self.ends(self.asks(), 2)[1])
        # The values were signed before anything of them was asked for.
        with open(self.path("between", "1.question"), "rb") as f:
            question = f.read()
        stage = question.index(b"isobit.spot.question") + len("isobit.spot.question") + 4 + 8 + 32
        self.assertEqual(question[stage], 1)

    def test_a_trainer_that_cannot_answer_says_so(self):
        asking = self.asks()
        self.wait_for("0.question")
        self.isobit("keygen", "--role", "trainer", "--keys", "other")
        self.isobit("answer", "d.run", "--through", "between", "--trainer-key", "other/trainer.key", code=2)
        self.write("between/0.answer", b"half of it")  # neither whole nor an answer: it is not there yet
        problem = self.path("between", "0.question")
        with open(problem, "rb") as f:
            question = f.read()
        self.assertIsNone(asking.poll())
        # A question of somebody else's making.
        os.makedirs(self.path("forged"))
        self.write("forged/0.question", question[:-40] + b"junk" + question[-36:])
        self.isobit("answer", "d.run", "--through", "forged", "--max-time", "3", code=4)
        self.assertFalse(os.path.exists(self.path("forged", "0.answer")))
        asking.kill()
        asking.communicate()

    def test_what_no_copying_makes_whole(self):
        for name, make, says in (("pipe", os.mkfifo, "no plain file"), ("folder", os.makedirs, "no plain file"),
                                 ("link", lambda path: os.symlink("/dev/zero", path), "no plain file"),
                                 ("long", lambda path: self.write(path, bytes(3 << 20)), "at most")):
            os.makedirs(self.path(name))
            make(self.path(name, "0.question"))
            self.fails("answer", "d.run", "--through", name, "--max-time", "60", code=3, says=["0.question", says])

    def test_what_is_false_is_found_from_afar(self):
        self.isobit("-q", "cheat", DIGITS, *SHORT, "--kind", "rate", "--at", "7", "--out", "false.run")
        shutil.copytree(self.path("false.run"), self.path("there", "false.run"))
        asking = self.asks("false.run", "--out", "found", draws="300")
        self.wait_for("0.question")
        self.isobit("answer", "false.run", "--through", "between", "--cheat", "rate@7")
        found = json.loads(self.ends(asking, 1)[0])
        self.assertEqual((found["finding"]["operator"], found["file"]), ("isobit.Sgd", "found"))
        proved = self.isobit_json("verify", "there/found", "--job", "there/false.run/job.toml", env=self.auditor)
        self.assertEqual(proved["finding"], found["finding"])


if __name__ == "__main__":
    main()
