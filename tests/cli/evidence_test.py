#!/usr/bin/env python3
"""Two histories under one run id: found, written down, and checked by somebody who has nothing but the file."""
import os
import shutil

from engage_test import Parties
from isobit_cli import Case, contents, main


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
        self.assertIn(found["fork"]["older_head"]["signer"], shown)
        evidence = contents(self.client.path())["fork"]
        for at in range(0, len(evidence), 7):
            changed = bytearray(evidence)
            changed[at] ^= 1 << at % 8
            self.write(os.path.join("client", "changed"), bytes(changed))
            self.client("verify", "changed", code=(1, 3))

    def test_a_copy_that_was_taken_on_the_way(self):
        self.two_histories()
        # The other history, as far as it had come after nine leaves: no manifest, its heads as they were.
        for name in ("manifest.json", "manifest.sig"):
            os.remove(self.auditor.path("two", name))
        found = self.auditor.json("verify", "one", "two", "--client-key", "client.pub", code=1)
        self.assertTrue(found["evidence"])


class NoEvidence(Case):
    def test_copies_that_agree_and_other_runs(self):
        self.train("a")
        shutil.copytree(self.path("a"), self.path("copy"))
        found = self.isobit_json("verify", "a", "copy")
        self.assertEqual((found["evidence"], found["common_leaves"]), (False, found["leaves"][0]))
        self.assertIn("none", self.isobit("verify", "a", "a").out)
        self.train("b")
        self.fails("verify", "a", "b", code=2, says=["different runs", "no evidence"])
        self.fails("verify", "a", "b", "--out", "fork", code=2, says=["different runs"])
        self.assertFalse(os.path.exists(self.path("fork")))
        self.isobit_json("verify", "a", "copy", "--out", "fork")
        self.assertFalse(os.path.exists(self.path("fork")), "nothing to write down")
        self.fails("verify", "a", "--out", "fork", code=2, says=["--out"])
        self.write("text", "not evidence\n")
        self.fails("verify", "text", code=3, says=["text", "nor evidence"])


if __name__ == "__main__":
    main()
