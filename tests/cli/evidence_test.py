#!/usr/bin/env python3
"""Two histories under one run id: found, written down, and checked by somebody who has nothing but the file."""
import os
import shutil

from isobit_cli import Case, contents, main
from parties import Parties


class Fork(Parties):
    def two_histories(self):
        self.offer()
        self.accept()
        # A register keeps an honest trainer from beginning a run id twice; who wants to copies the home first.
        shutil.copytree(self.trainer.path("home"), self.trainer.path("home2"))
        self.trainer("train", "job.toml", "--engagement", "engagement", "--out", "one")
        self.trainer("cheat", "job.toml", "--engagement", "engagement", "--keys", "home2", "--kind", "rate", "--at", "7",
                     "--out", "two")
        for run in ("one", "two"):
            self.trainer.gives(run, self.auditor)
        self.client.gives("home/client.pub", self.auditor)

    def test_found_written_and_checked(self):
        self.two_histories()
        pinned = ["--client-key", "client.pub"]
        for run in ("one", "two"):
            self.assertEqual(self.auditor.json("verify", run, *pinned)["verdict"], "accepted", "each is well-formed")
        found = self.auditor.json("verify", "one", "two", "--out", "fork", *pinned, code=1)
        self.assertTrue(found["evidence"])
        self.assertEqual(found["common_leaves"], 8, "the loss of step 8 tells first")
        self.assertLess(found["fork"]["older_head"]["leaves"], 13)
        self.assertEqual(self.auditor.json("verify", "two", "one", code=1)["fork"]["run_id"], found["fork"]["run_id"])
        # Never overwritten, and nothing is written before it is known.
        self.auditor.fails("verify", "one", "two", "--out", "fork", *pinned, code=2, says=["fork"])
        # Somebody with no key and no run.
        self.auditor.gives("fork", self.client)
        checked = self.client.json("verify", "fork")
        self.assertEqual((checked["verdict"], checked["fork"]), ("accepted", found["fork"]))
        shown = self.client("verify", "fork").out
        with open(self.client.path("trainer.pub")) as f:
            self.assertEqual(found["fork"]["signer"], f.read().split()[-1])
        self.assertEqual(shown.count(found["fork"]["signer"]), 1, "one key answers for both heads")
        evidence = contents(self.client.path())["fork"]
        for at in range(0, len(evidence), 7):
            changed = bytearray(evidence)
            changed[at] ^= 1 << at % 8
            self.write(os.path.join("client", "changed"), bytes(changed))
            self.client("verify", "changed", code=(1, 3))

    def test_of_the_client_that_is_asked_for(self):
        self.two_histories()
        self.auditor("verify", "one", "two", "--out", "fork", "--client-key", "client.pub", code=1)
        self.auditor("keygen", "--out", "other")
        self.trainer.gives("engagement", self.auditor)
        for own in (["--client-key", "client.pub"], ["--engagement", "engagement"]):
            self.assertEqual(self.auditor.json("verify", "fork", *own)["verdict"], "accepted", own)
        checked = self.auditor.json("verify", "fork", "--client-key", "other.pub", code=1)
        self.assertEqual((checked["verdict"], "fork" in checked), ("rejected", False))
        self.assertIn("client_key", checked["reason"])
        # The same client's other engagement.
        self.offer(name="offer2")
        self.accept("offer2", "engagement2")
        self.trainer.gives("engagement2", self.auditor)
        checked = self.auditor.json("verify", "fork", "--engagement", "engagement2", code=1)
        self.assertIn("another one", checked["reason"])
        self.auditor.fails("verify", "fork", "--client-key", "none.pub", code=3, says=["none.pub"])
        self.auditor.fails("verify", "fork", "--engagement", "none", code=3, says=["none"])
        # Of nobody in particular, where nobody is named: a client's key in one's own home is no such name.
        self.auditor("keygen", "--role", "client")
        self.assertEqual(self.auditor.json("verify", "fork")["verdict"], "accepted")
        self.auditor.json("verify", "fork", "--keys", "home", code=1)

    def test_a_copy_that_was_taken_on_the_way(self):
        self.two_histories()
        # The other history, as far as it had come after nine leaves: no manifest, its heads as they were.
        for name in ("manifest.json", "manifest.sig"):
            os.remove(self.auditor.path("two", name))
        found = self.auditor.json("verify", "one", "two", "--client-key", "client.pub", code=1)
        self.assertTrue(found["evidence"])


class TwoTrainers(Parties):
    def test_convict_nobody(self):
        # The client lists a key beside the trainer's, accepts with that as well, and makes another run of it.
        self.client("keygen", "--role", "trainer")
        self.offer("--trainer", "home/trainer.pub")
        accepted = self.accept()
        with open(self.client.path("home", "trainer.pub")) as f:
            other = f.read().split()[-1]
        self.assertEqual(accepted["other_trainer_keys"], [other])
        accept = ["engage", "accept", "offer", "--job", "job.toml", "--out"]
        warned = [line for line in self.trainer(*accept, "e2").err.splitlines() if "warning" in line]
        self.assertEqual(len(warned), 1)
        self.assertIn(other, warned[0])
        self.client(*accept, "own")
        trained = self.train("one")
        self.client("cheat", "job.toml", "--engagement", "own", "--kind", "rate", "--at", "7", "--out", "two")
        self.client.gives("two", self.auditor)
        self.client.gives("home/client.pub", self.auditor)
        pinned = ["--client-key", "client.pub"]
        for pair in (["one", "two"], ["two", "one"]):
            found = self.auditor.json("verify", *pair, "--out", "fork", *pinned)
            self.assertEqual((found["evidence"], found["heads_contradict"]), (False, True))
            self.assertIn("two trainers convict nobody", self.auditor("verify", *pair, *pinned).out)
        self.assertFalse(os.path.exists(self.auditor.path("fork")))
        # Judged first or not, the other's run is not held against the trainer's.
        self.auditor.json("audit", "two", *pinned, code=1)
        audited = self.auditor.json("audit", "one", *pinned)
        self.assertEqual((audited["verdict"], audited["run"]["transcript_root"]), ("accepted", trained["transcript_root"]))

    def test_who_is_alone_is_not_warned(self):
        self.offer()
        self.assertEqual(self.accept()["other_trainer_keys"], [])
        self.assertNotIn("warning", self.trainer("engage", "accept", "offer", "--job", "job.toml", "--out", "e2").err)


class NoEvidence(Case):
    def test_copies_that_agree_and_other_runs(self):
        self.train("a")
        shutil.copytree(self.path("a"), self.path("copy"))
        found = self.isobit_json("verify", "a", "copy")
        self.assertEqual((found["evidence"], found["common_leaves"]), (False, found["leaves"][0]))
        self.assertFalse(found["heads_contradict"])
        self.assertIn("none", self.isobit("verify", "a", "a").out)
        self.train("b")
        self.fails("verify", "a", "b", code=2, says=["different runs", "no evidence"])
        self.fails("verify", "a", "b", "--out", "fork", code=2, says=["different runs"])
        self.assertFalse(os.path.exists(self.path("fork")))
        self.isobit_json("verify", "a", "copy", "--out", "fork")
        self.assertFalse(os.path.exists(self.path("fork")), "nothing to write down")
        self.fails("verify", "a", "--out", "fork", code=2, says=["--out"])
        self.write("text", "not evidence\n")
        self.fails("verify", "text", code=3, says=["text", "is no verdict, evidence"])


if __name__ == "__main__":
    main()
