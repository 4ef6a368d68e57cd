#!/usr/bin/env python3
"""Whom one trusts and which engagement one holds: what does not fit together, and documents of other engagements."""
import os
import shutil

from isobit_cli import contents, main
from parties import Parties


class Trust(Parties):
    def setUp(self):
        super().setUp()
        self.offer()
        self.accept()
        self.train()
        self.client.gives("engagement", self.auditor)
        self.client.gives("home/client.pub", self.auditor)
        self.auditor("audit", "run", "--engagement", "engagement", "--verdict", "note")

    def test_options_that_contradict_one_another(self):
        """They say nothing of the run, and it is not looked at for them; a mistake of one's own is no rejection."""
        self.auditor("keygen", "--out", "other")
        both = ["--client-key", "other.pub", "--engagement", "engagement"]
        for command in (["verify", "run"], ["eval", "run"], ["export", "run", "--out", "weights"], ["verify", "run", "run"],
                        ["pack", "run", "--out", "run.tar"], ["verify", "note"], ["eval", "nowhere"],
                        ["audit", "run", "--verdict", "none"], ["audit", "nowhere"]):
            self.auditor.fails(*command, *both, code=2, says=["--client-key", "another client than --engagement"])
        self.assertFalse(os.path.exists(self.auditor.path("none")))

    def test_a_verdict_is_of_one_engagement(self):
        self.assertTrue(self.auditor.json("verify", "note", "--engagement", "engagement")["genuine"])
        # An unsigned one is a note, which anybody may write: that of another job under the run id.
        root = bytes.fromhex(self.auditor.json("verify", "note")["run"]["job_root"])
        self.write("auditor/other", contents(self.auditor.path())["note"].replace(root, bytes(32)))
        said = self.auditor.json("verify", "other", "--engagement", "engagement", code=1)
        self.assertIn("field 'job_root': found 0000", said["problem"])
        # On a bundle whose engagement is not valid: on no engagement's run.
        shutil.copytree(self.auditor.path("run"), self.auditor.path("damaged"))
        held = contents(self.auditor.path())["damaged/engagement"]
        self.write("auditor/damaged/engagement", held[:-1] + bytes([held[-1] ^ 1]))
        self.auditor("audit", "damaged", "--client-key", "client.pub", "--verdict", "nobody", code=1)
        self.assertTrue(self.auditor.json("verify", "nobody", "--client-key", "client.pub", code=1)["genuine"])
        said = self.auditor.json("verify", "nobody", "--engagement", "engagement", code=1)
        self.assertEqual((said["genuine"], said["run"]), (False, None))
        self.assertIn("no valid engagement", said["problem"])

    def test_a_rejection_for_which_the_trainer_signed_nothing(self):
        """Whoever has the engagement can hand over a folder with nothing else of the run's: what the auditor then signs
        has the run id of an honest run, and must not look like a word about it."""
        self.write("auditor/junk/engagement", contents(self.auditor.path())["engagement"])
        for name in ("manifest.json", "manifest.sig", "job.toml", "transcript", "heads"):
            self.write(os.path.join("auditor", "junk", name), "x\n")
        self.auditor("keygen", "--role", "auditor")
        document = ["--verdict", "junk.verdict", "--sign", "home/auditor.key"]
        audited = self.auditor("audit", "junk", "--engagement", "engagement", *document, code=1).out
        check = ["verify", "junk.verdict", "--engagement", "engagement", "--auditor-key", "home/auditor.pub"]
        shown = self.auditor.json(*check, code=1)
        self.assertEqual((shown["genuine"], shown["verdict"], shown["run"]["named_by"]), (True, "rejected", "engagement"))
        self.assertEqual(self.auditor.json("audit", "junk", "--engagement", "engagement", code=1)["run"], shown["run"])
        for text in (audited, self.auditor(*check, code=1).out):
            self.assertRegex(text, f"run id +{shown['run']['run_id']} +.named by the engagement alone; .*nothing.* the trainer's")
        # The honest run itself: the trainer's signatures name it.
        self.assertEqual(self.auditor.json("verify", "note")["run"]["named_by"], "trainer")
        honest = self.auditor("audit", "run", "--engagement", "engagement").out + self.auditor("verify", "note").out
        self.assertEqual(honest.count(shown["run"]["run_id"]), 2)
        self.assertNotIn("engagement alone", honest)


if __name__ == "__main__":
    main()
