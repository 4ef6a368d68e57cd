#!/usr/bin/env python3
"""What a careless user does to a run that is honest must not become a verdict against its trainer, nor lose a result."""
import os

from isobit_cli import DIGITS, SHORT, Case, main, overrides


class Careless(Case):
    def test_a_changed_job_is_no_verdict(self):
        self.train("r")
        for changed in ("job.seed=9", "optimizer.lr=0.06", "data.batch=16", "job.arithmetic=correct-1", "model.builder=logistic"):
            for command in ("audit", "eval"):
                more = ("--verdict", "v") if command == "audit" else ()
                self.fails(command, "r", "--set", changed, *more, code=2, says=["--set changes the job", "--job"])
            self.assertFalse(os.path.exists(self.path("v")))
        # Saying the same again changes nothing.
        self.assertEqual(self.isobit_json("audit", "r", "--set", "commit.every=1")["verdict"], "accepted")
        # Another job that is wanted is a reason to reject: the trainer's run is not what was asked for.
        self.isobit_json("audit", "r", "--job", DIGITS, *SHORT, *overrides("job.seed=9"), code=1)

    def test_nothing_is_lost_where_a_verdict_cannot_be_written(self):
        self.train("r")
        self.fails("audit", "r", "--verdict", "no/folder/v", code=4, says=["there is no folder no/folder"])
        written = self.isobit("audit", "r", "--verdict", "v")
        self.assertIn("wrote         v", written.out)

    def test_empty_values_are_no_values(self):
        self.train("r")
        for command in (["audit", "r", "--client-key"], ["audit", "r", "--job"], ["audit", "r", "--engagement"],
                        ["audit", "r", "--verdict"], ["audit", "r", "--sample"], ["verify", "r", "--client-key"],
                        ["verify", "r", "--auditor-key"], ["train", DIGITS, "--out"], ["train", DIGITS, "--engagement"]):
            self.fails(*command, "", code=2, says=[command[-1]])

    def test_a_cheat_that_finds_nothing_to_do_leaves_nothing(self):
        logged = overrides("job.arithmetic=logged-1", "rounding.bits=22", "job.steps=3", "schedule.warmup=1")
        self.fails("-q", "cheat", DIGITS, *logged, "--kind", "log-nudge", "--at", "2", "--out", "y", code=2, says=["step 2"])
        self.assertFalse(os.path.exists(self.path("y")))

    def test_the_engagement_names_who_is_trusted(self):
        self.train("r")
        stranger = {"env": {**os.environ, "HOME": self.path("elsewhere"), "ISOBIT_HOME": self.path("elsewhere")}}
        self.fails("verify", "r", code=3, says=["--client-key", "--engagement"], **stranger)
        for command in (["verify", "r"], ["eval", "r"], ["export", "r", "--out", "w"]):
            self.isobit(*command, "--engagement", "r/engagement", **stranger)
        self.fails("verify", "r", "--engagement", "r/job.toml", code=3, says=["r/job.toml"], **stranger)

    def test_a_verdict_that_is_not_genuine_does_not_look_like_one(self):
        self.train("r")
        self.isobit("keygen", "--out", "other")
        self.isobit("audit", "r", "--verdict", "v")
        said = self.isobit("verify", "v", "--client-key", "other.pub", code=1).out
        self.assertTrue(said.startswith("genuine       no"), said)
        self.assertNotIn("\nverdict", said)


if __name__ == "__main__":
    main()
