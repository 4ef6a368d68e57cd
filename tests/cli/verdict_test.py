#!/usr/bin/env python3
"""What an auditor signs, whose word it is, and a client who takes a run only on it."""
import os
import re
import shutil

from isobit_cli import STEPS, contents, main
from parties import Parties


class Audited(Parties):
    def audited(self, *options, code=0):
        if not os.path.exists(self.auditor.path("home", "auditor.pub")):
            self.auditor("keygen", "--role", "auditor")
            self.client.gives("home/client.pub", self.auditor)
        return self.auditor.json("audit", "run", "--client-key", "client.pub", "--verdict", "verdict", "--sign",
                                 "home/auditor.key", *options, code=code)


class Verdicts(Audited):
    def test_a_signed_acceptance_names_its_run(self):
        made = self.offer()["terms"]
        self.accept()
        trained = self.train()
        audited = self.audited()
        self.auditor.gives("verdict", self.client)
        self.auditor.gives("home/auditor.pub", self.client)
        check = ["verify", "verdict", "--auditor-key", "auditor.pub"]
        shown = self.client.json(*check, "--client-key", "home/client.pub")
        self.assertEqual((shown["genuine"], shown["verdict"], shown["complete"]), (True, "accepted", True))
        run = shown["run"]
        self.assertEqual([run[key] for key in ("job_root", "run_id", "transcript_root", "final_state_root")],
                         [made["job_root"], made["run_id"], trained["transcript_root"], trained["final_state_root"]])
        self.assertEqual(run["last_head"]["leaves"], STEPS + 2)
        self.assertEqual((audited["run"], audited["client_key"]), (run, made["client_key"]))
        self.assertEqual(shown["client_key"], made["client_key"])
        text = self.auditor("audit", "run", "--client-key", "client.pub").out + self.client(*check).out
        for value in (run["job_root"], run["run_id"], run["transcript_root"], run["last_head"]["root"]):
            self.assertEqual(text.count(value), 2, value)
        self.auditor.fails("audit", "run", "--client-key", "client.pub", "--verdict", "verdict", code=2,
                           says=["verdict", "not overwritten"])
        # Whoever else stands by it, and whatever else it says.
        self.client("keygen", "--out", "other")
        for options, says in ((["--auditor-key", "other.pub"], "another auditor"),
                              (["--client-key", "other.pub"], "another client")):
            wrong = self.client.json("verify", "verdict", *options, code=1)
            self.assertEqual(wrong["genuine"], False)
            self.assertIn(says, wrong["problem"])
        good = contents(self.client.path())["verdict"]
        for at in range(0, len(good), 5):
            self.write("client/verdict", good[:at] + bytes([good[at] ^ 1]) + good[at + 1:])
            self.client(*check, code=(1, 3))

    def test_a_rejection_says_where_and_has_its_exit_code(self):
        self.offer()
        self.accept()
        self.trainer("cheat", "job.toml", "--kind", "rate", "--at", "10", "--engagement", "engagement", "--out", "run")
        self.trainer.gives("run", self.auditor)
        audited = self.audited(code=1)
        shown = self.auditor.json("verify", "verdict", code=1)
        self.assertEqual((shown["genuine"], shown["verdict"]), (True, "rejected"))
        self.assertEqual(shown["first_difference"], audited["first_difference"])

    def test_rejected_before_it_could_say_which_run(self):
        self.trainer("train", "job.toml", "--out", "run")
        self.trainer.gives("run", self.auditor)
        self.client("keygen", "--role", "client")
        self.audited(code=1)
        shown = self.auditor.json("verify", "verdict", code=1)
        self.assertEqual((shown["genuine"], shown["run"]), (True, None))
        self.assertNotIn("run/", shown["reason"], "where the auditor keeps the run is nobody's business")

    def test_an_unsigned_verdict_is_a_note(self):
        self.offer()
        self.accept()
        self.train()
        self.client.gives("home/client.pub", self.auditor)
        self.auditor("audit", "run", "--client-key", "client.pub", "--verdict", "note", "--from", "0")
        self.assertIn("nobody has signed", self.auditor("verify", "note").err)
        unsigned = self.auditor.json("verify", "note", "--auditor-key", "client.pub", code=1)
        self.assertIn("not signed", unsigned["problem"])
        self.auditor.fails("audit", "run", "--client-key", "client.pub", "--sign", "x", code=2, says=["--verdict"])
        self.auditor.fails("verify", "run", "--auditor-key", "client.pub", code=2, says=["--auditor-key"])
        self.auditor.fails("verify", "job.toml", code=3, says=["job.toml", "is no verdict"])


class Taken(Audited):
    """A run that was audited, and a client who takes it only as it was accepted."""
    COMMANDS = (["verify", "run"], ["eval", "run"], ["export", "run", "--out", "w"])
    TAKEN = ["--verdict", "verdict", "--auditor-key", "auditor.pub"]

    def setUp(self):
        super().setUp()
        for home in (self.client, self.trainer, self.auditor):
            with open(home.path("job.toml")) as f:
                text = re.sub(r"(?m)^every *=.*$", "every = 4", f.read())
            self.write(os.path.join(home.name, "job.toml"), text)
        self.offer()
        self.accept()
        self.train()
        self.audited()
        for name in ("verdict", "home/auditor.pub"):
            self.auditor.gives(name, self.client)
        self.trainer.gives("run", self.client)

    def taken(self, command, *options):
        shown = self.client.json(*command, *options)["audited"]
        if command[0] == "export":
            os.remove(self.client.path("w"))
        return shown

    def refuses(self, said, options=TAKEN):
        for command in self.COMMANDS:
            result = self.client(*command, *options, code=1)
            self.assertIn(said, result.out + result.err, str(result))
        self.assertFalse(os.path.exists(self.client.path("w")))

    def test_as_it_was_accepted(self):
        for command in self.COMMANDS:
            shown = self.taken(command, *self.TAKEN)
            self.assertEqual((shown["complete"], shown["steps_checked"], shown["findings"]), (True, STEPS, []), command)
            self.assertIn(shown["auditor_key"], self.client("verify", "run", *self.TAKEN).out)
            self.client.fails(*command, "--verdict", "verdict", code=2, says=["--auditor-key"])
            self.client.fails(*command, "--auditor-key", "auditor.pub", code=2, says=["--verdict"])
        self.client("keygen", "--out", "other")
        self.refuses("another auditor", ["--verdict", "verdict", "--auditor-key", "other.pub"])
        # The engagement that a client names is the one that the run must have been made under.
        self.offer(name="offer2")
        self.accept("offer2", "engagement2")
        self.refuses("another one", [*self.TAKEN, "--engagement", "engagement2"])
        shown = self.client.json("verify", "run", *self.TAKEN, "--engagement", "engagement")
        self.assertIsNotNone(shown["audited"])
        self.auditor.fails("export", "run", *self.TAKEN[:2], "--out", "w", code=2, says=["--client-key"])

    def test_a_part_is_one_only_for_those_who_say_so_and_of_no_single_step(self):
        self.auditor("audit", "run", "--client-key", "client.pub", "--from", "8", "--verdict", "part", "--sign",
                     "home/auditor.key")
        self.auditor.gives("part", self.client)
        part = ["--verdict", "part", "--auditor-key", "auditor.pub"]
        self.refuses(f"a part of the run, {STEPS - 8} of {STEPS} steps", part)
        for command in self.COMMANDS:
            shown = self.taken(command, *part, "--partial")
            self.assertEqual((shown["complete"], shown["steps_checked"], shown["steps"], shown["sample"]),
                             (False, STEPS - 8, STEPS, None))
            if command[0] != "verify":
                self.client.fails(*command, *part, "--partial", "--step", "8", code=2, says=["--step"])
        self.client.fails("verify", "run", "--partial", code=2, says=["--partial"])

    def test_a_trainers_word_for_the_own_run(self):
        self.client.gives("home/client.pub", self.trainer)
        self.trainer("audit", "run", "--client-key", "client.pub", "--verdict", "own", "--sign", "home/trainer.key")
        self.trainer.gives("own", self.client)
        self.refuses("nobody audits their own run", ["--verdict", "own", "--auditor-key", "trainer.pub"])

    def test_another_run_and_what_was_rejected_before_it_could_be_named(self):
        # As good, under another id, and nobody audited it.
        os.rename(self.client.path("run"), self.client.path("audited"))
        self.client("keygen", "--role", "trainer")
        self.client("train", "job.toml", "--out", "run")
        self.refuses("field 'run_id'")
        shutil.rmtree(self.client.path("run"))
        os.rename(self.client.path("audited"), self.client.path("run"))
        self.auditor.fails("verify", "verdict", "--verdict", "verdict", code=2, says=["--verdict"])
        os.remove(self.auditor.path("verdict"))
        checkpoint = self.auditor.path("run", "checkpoints", f"step-{STEPS}.safetensors")
        os.chmod(checkpoint, 0o600)
        with open(checkpoint, "r+b") as f:
            f.write(b"x")
        self.audited(code=1)
        os.remove(self.client.path("verdict"))
        self.auditor.gives("verdict", self.client)
        self.refuses("names no run")


if __name__ == "__main__":
    main()
