#!/usr/bin/env python3
"""A client offers a job, a trainer accepts it, and an auditor judges the run by what was agreed."""
import os
import shutil
import time

from isobit_cli import DIGITS, SHORT, STEPS, Case, contents, files_of, main
from parties import Parties


class Honest(Parties):
    def test_the_whole_story(self):
        offered = self.offer()
        accepted = self.accept()
        self.assertTrue(accepted["accepted"])
        self.assertEqual(accepted["terms"], offered["terms"])
        self.assertEqual(accepted["job"], offered["job"], "each computes the same from its own copy")
        trained = self.train()
        self.assertEqual(trained["job_root"], offered["terms"]["job_root"])
        self.client.gives("home/client.pub", self.auditor)
        audited = self.auditor.json("audit", "run", "--client-key", "client.pub")
        self.assertEqual((audited["verdict"], audited["steps_checked"]), ("accepted", STEPS))
        self.client.gives("engagement", self.auditor)
        for wanted in (["--engagement", "engagement"], ["--engagement", "engagement", "--job", "job.toml"],
                       ["--client-key", "client.pub", "--job", "job.toml"],
                       ["--client-key", "client.pub", "--engagement", "engagement"]):
            self.assertEqual(self.auditor.json("audit", "run", *wanted)["verdict"], "accepted", wanted)
        self.auditor.fails("audit", "run", code=3, says=["client.pub", "--client-key", "--engagement"])
        # Secret keys never leave their owner: each home has its own and no other's.
        secrets = {}
        for home in (self.client, self.trainer):
            for name, data in contents(home.path()).items():
                if name.endswith(".key"):
                    secrets[home.name, name] = data.split()[-1]
        self.assertEqual(sorted(secrets), [("client", "home/client.key"), ("trainer", "home/trainer.key")])
        for home in (self.client, self.trainer, self.auditor):
            for name, data in contents(home.path()).items():
                for (owner, file), secret in secrets.items():
                    if (owner, file) != (home.name, name):
                        self.assertNotIn(secret, data, f"{owner}'s secret key in {home.name}/{name}")

    def test_resumed_under_its_engagement(self):
        self.offer()
        self.accept()
        # Killed between its steps, then continued: the same run.
        self.trainer("train", "job.toml", "--engagement", "engagement", "--out", "whole")
        whole = self.trainer.json("info", "whole")
        for name in ("manifest.json", "manifest.sig"):
            os.remove(self.trainer.path("whole", name))
        resumed = self.trainer.json("train", "--resume", "whole")
        self.assertEqual(resumed["transcript_root"], whole["transcript_root"])
        self.trainer.fails("train", "--resume", "whole", "--engagement", "engagement", code=2, says=["--engagement"])


class Refused(Parties):
    def test_offers_that_a_trainer_does_not_accept(self):
        self.offer()
        accept = ["engage", "accept", "offer", "--job", "job.toml", "--out", "engagement"]

        def refused(*options):
            result = self.trainer.json(*accept, *options, code=1)
            self.assertEqual((result["accepted"], result["engagement"]), (False, None))
            self.assertFalse(os.path.exists(self.trainer.path("engagement")))
            for problem in result["problems"]:
                text = self.trainer(*accept, *options, code=1).out
                for value in problem.values():
                    self.assertIn(value, text)
            return [problem["field"] for problem in result["problems"]]

        self.assertEqual(refused("--set", "job.steps=13"), ["job_digest"])
        self.trainer("keygen", "--salt", "my.salt")
        self.assertEqual(refused("--set", "data.salt=my.salt"), ["job_root"])
        self.trainer("keygen", "--out", "somebody")
        self.assertEqual(refused("--client-key", "somebody.pub"), ["client_key"])
        # Another trainer's offer.
        self.trainer("keygen", "--role", "trainer", "--keys", "other")
        self.assertEqual(refused("--keys", "other"), ["trainer_keys"])
        self.trainer.fails(*accept, "--keys", "none", code=3, says=["none/trainer.key", "keygen --role trainer"])
        # Altered by a byte, wherever that is.
        good = contents(self.trainer.path())["offer"]
        for at in range(0, len(good), 7):
            self.write("trainer/offer", good[:at] + bytes([good[at] ^ 1]) + good[at + 1:])
            result = self.trainer(*accept, code=(1, 3))
            self.assertIn("isobit: ", result.err, f"byte {at}")
        self.write("trainer/offer", good)
        self.trainer(*accept)
        self.trainer.fails(*accept, code=2, says=["engagement", "not overwritten"])

    def test_an_expired_offer(self):
        self.offer("--accept-within", "1s")
        time.sleep(2.1)
        result = self.trainer.json("engage", "accept", "offer", "--job", "job.toml", "--out", "engagement", code=1)
        self.assertEqual([problem["field"] for problem in result["problems"]], ["accept_until"])
        self.assertTrue(self.client.json("engage", "show", "offer")["expired"])

    def test_a_used_run_id(self):
        self.offer()
        self.accept()
        self.train()
        self.trainer.fails("train", "job.toml", "--engagement", "engagement", "--out", "again", code=2,
                           says=["run id", self.trainer.path("run"), "--resume"])
        self.assertFalse(os.path.exists(self.trainer.path("again")))
        replayed = self.trainer.json("engage", "accept", "offer", "--job", "job.toml", "--out", "anew", code=1)
        self.assertEqual([problem["field"] for problem in replayed["problems"]], ["run_id"])

    def test_another_job_under_the_engagement(self):
        self.offer()
        self.accept()
        self.trainer.fails("train", "job.toml", "--set", "job.seed=9", "--engagement", "engagement", "--out", "run",
                           code=1, says=["job_digest", "another job"])
        self.assertFalse(os.path.exists(self.trainer.path("run")))

    def test_a_run_that_the_client_did_not_engage(self):
        # The trainer is client and trainer in one person: perfect in itself, and not what this client ordered.
        self.trainer("train", "job.toml", "--out", "run")
        self.trainer.gives("run", self.auditor)
        self.offer()
        self.client.gives("home/client.pub", self.auditor)
        rejected = self.auditor.json("audit", "run", "--client-key", "client.pub", code=1)
        self.assertEqual((rejected["verdict"], rejected["steps_checked"]), ("rejected", 0))
        self.assertIn("client_key", rejected["reason"])

    def test_what_an_auditor_wants(self):
        self.offer()
        self.accept()
        self.train()
        self.client.gives("engagement", self.auditor)
        self.client.gives("home/client.pub", self.auditor)

        def reason(*options):
            rejected = self.auditor.json("audit", "run", *options, code=1)
            self.assertEqual((rejected["verdict"], rejected["steps_checked"]), ("rejected", 0))
            return rejected["reason"]

        self.assertIn("another job", reason("--client-key", "client.pub", "--job", "job.toml", "--set", "job.seed=9"))
        # The client ordered a second run of the same job, and is handed the first one again.
        self.offer(name="second")
        self.accept("second", "second.engagement")
        self.client.gives("second.engagement", self.auditor)
        self.assertIn("run_id", reason("--engagement", "second.engagement"))
        for command in (["pack", "run", "--out", "second.tar"], ["verify", "run", "run"]):
            self.auditor.fails(*command, "--engagement", "second.engagement", code=1, says=["run_id", "another one"])
        self.auditor("pack", "run", "--engagement", "engagement", "--out", "run.tar")
        self.auditor.fails("unpack", "run.tar", "--engagement", "second.engagement", "--out", "copy", code=1, says=["run_id"])
        self.assertFalse(os.path.exists(self.auditor.path("copy")) or os.path.exists(self.auditor.path("second.tar")))
        self.auditor("audit", "run", "--engagement", "engagement", "--verdict", "note")
        self.auditor("verify", "note", "--engagement", "engagement")
        self.assertIn("another one", self.auditor("verify", "note", "--engagement", "second.engagement", code=1).out)
        # The trainer's copy, made by the trainer with a client's key of its own.
        self.trainer("engage", "offer", "job.toml", "--trainer", "home/trainer.pub", "--out", "forged.offer")
        self.trainer("engage", "accept", "forged.offer", "--job", "job.toml", "--out", "forged")
        self.trainer.gives("forged", self.auditor)
        self.auditor.fails("audit", "run", "--client-key", "client.pub", "--engagement", "forged", code=2,
                           says=["--client-key", "another client"])
        self.assertIn("client_key", reason("--engagement", "forged"))
        good = contents(self.auditor.path())["engagement"]
        self.write("auditor/engagement", good[:-1] + bytes([good[-1] ^ 1]))
        # One's own copy, damaged: that is no word about a run.
        for command in (["audit", "run"], ["verify", "run"], ["eval", "run"], ["unpack", "run.tar", "--out", "copy"]):
            self.auditor.fails(*command, "--engagement", "engagement", code=3,
                               says=["engagement: ", "trainer_signature", "your own copy: ask the client for it again"])

    def test_a_cheat_under_an_engagement_is_found_at_its_step(self):
        self.offer()
        self.accept()
        self.trainer("cheat", "job.toml", "--kind", "rate", "--at", "10", "--engagement", "engagement", "--out", "run")
        self.trainer.gives("run", self.auditor)
        self.client.gives("engagement", self.auditor)
        rejected = self.auditor.json("audit", "run", "--engagement", "engagement", code=1)
        self.assertEqual((rejected["verdict"], rejected["first_difference"]["last_step"]), ("rejected", 10))


class Terms(Parties):
    def test_what_is_signed_is_shown(self):
        self.client("keygen", "--out", "referee")
        made = self.offer("--referee", "referee.pub", "--response", "5m", "--restart", "2h", "--message-bytes", "800000",
                          "--head-every", "4", "--accept-within", "0", "--checkpoints", "client:30d", "--salts", "nobody")
        terms = self.client.json("engage", "show", "offer")["terms"]
        self.assertEqual(terms, made["terms"])
        with open(self.client.path("referee.pub")) as f:
            self.assertEqual(terms["referee_key"], f.read().split()[-1])
        self.assertEqual([terms[key] for key in ("response_seconds", "restart_seconds", "message_bytes", "head_every",
                                                 "accept_until")], [300, 7200, 800000, 4, None])
        self.assertEqual(terms["checkpoints"]["kept_by"], "client")
        self.assertAlmostEqual(terms["checkpoints"]["until"]["unix"], time.time() + 30 * 86400, delta=600)
        self.assertRegex(terms["checkpoints"]["until"]["utc"], r"^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC$")
        self.assertEqual(terms["salts"], {"kept_by": "nobody", "until": None})
        text = self.client("engage", "show", "offer").out
        for words in ("5 minutes", "2 hours", terms["referee_key"], terms["run_id"], "every 4 steps", "no end",
                      terms["checkpoints"]["until"]["utc"], "kept by nobody", "signatures    valid"):
            self.assertIn(words, text)
        self.accept()
        shown = self.client.json("engage", "show", "engagement")
        self.assertEqual((shown["kind"], shown["valid"], shown["terms"]), ("engagement", True, terms))
        self.assertEqual(shown["accepted_by"], terms["trainer_keys"][0])
        # The last byte is one of the trainer's signature.
        good = contents(self.client.path())["engagement"]
        self.write("client/engagement", good[:-1] + bytes([good[-1] ^ 1]))
        self.assertFalse(self.client.json("engage", "show", "engagement", code=1)["valid"])
        # As many heads as agreed, no more: after steps 4, 8 and 12, at the start and at the end.
        self.trainer("train", "job.toml", "--set", "checkpoint.every=4", "--engagement", "engagement", "--out", "run",
                     code=0)
        heads = self.trainer.json("info", "run")
        self.assertEqual(heads["heads"], 2 + STEPS // max(4, heads["commit_every"]))

    def test_terms_that_cannot_be(self):
        offer = ["engage", "offer", "job.toml", "--trainer", "trainer.pub", "--out", "offer"]
        self.client("keygen", "--role", "client")
        for options, says in ((["--response", "0"], "response_seconds is 0"),
                              (["--restart", "31d"], "restart_seconds is 2678400, expected 1 to 2592000"),
                              (["--response", "soon"], "--response soon: expected a time like"),
                              (["--message-bytes", "12"], "message_bytes is 12"),
                              (["--head-every", "0"], "head_every is 0"),
                              (["--checkpoints", "me:3d"], "--checkpoints me:3d: expected trainer:TIME"),
                              (["--salts", "client"], "--salts client"),
                              (["--accept-within", "200000d"], "--accept-within"),
                              (["--referee", "trainer.pub"], "referee's key is a trainer's"),
                              (["--referee", "home/client.pub"], "referee's key is the client's")):
            self.client.fails(*offer, *options, code=2, says=[says])
        self.write("client/short.pub", "isobit-ed25519-public-1 0123\n")
        self.client.fails(*offer, "--referee", "short.pub", code=3, says=["short.pub", "64 hex digits"])
        self.client.fails(*offer[:3], "--out", "offer", code=2, says=["--trainer"])
        self.assertNotIn("offer", files_of(self.client.path()))
        self.write("client/other", "not an offer\n")
        self.client.fails("engage", "show", "other", code=3, says=["other: is neither an offer", "nor an engagement"])


class NoHome(Case):
    def test_nothing_comes_from_the_current_folder(self):
        none = {"ISOBIT_HOME": None, "HOME": None}
        self.train("r")
        shutil.copytree(self.path("keys"), self.path(".isobit"))
        before = files_of(self.dir)
        for command in (["train", DIGITS, *SHORT, "--out", "x"], ["audit", "r"], ["verify", "r"],
                        ["engage", "offer", DIGITS, "--trainer", "keys/trainer.pub", "--out", "o"],
                        ["cheat", DIGITS, *SHORT, "--kind", "rate", "--out", "x"], ["keygen", "--role", "client"]):
            self.fails(*command, code=2, says=["ISOBIT_HOME", "--keys"], env=none)
            self.fails(*command, code=2, says=["HOME", "absolute", "ISOBIT_HOME"], env={**none, "HOME": "."})
        self.assertEqual(files_of(self.dir), before)
        self.assertEqual(self.isobit_json("audit", "r", "--keys", "keys", env=none)["verdict"], "accepted")


if __name__ == "__main__":
    main()
