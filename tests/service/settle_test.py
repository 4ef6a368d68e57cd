#!/usr/bin/env python3
"""A dispute between three processes over TLS ends as the one on one machine."""

from disputing import AT, Disputing, main


class Settle(Disputing):
    def test_the_verdict_is_that_of_one_machine(self):
        self.assertEqual((self.local["verdict"], self.local["level"], self.local["step"]), ("trainer wrong", "element", AT))
        trainer, challenger = self.trainer(), self.challenger()
        record = self.fresh("dispute")
        told = self.settle(trainer.address, challenger.address, "--out", record, "--state", self.fresh("state"))
        self.assert_same(told)
        again = self.run_isobit("--json", "verify", record, "--job", "job.toml", home="stranger", code=1).stdout
        self.assertIn('"genuine": true', again)
        for server in (trainer, challenger):
            self.assertEqual(server.stop(), 0)
            ended = server.events("ended")
            self.assertEqual([e["outcome"] for e in ended], ["trainer wrong"])
            self.assertEqual(server.events("stopped")[0]["finished"], True)


class FalseAlarm(Disputing):
    liar = "challenger"

    def test_who_doubts_falsely_is_wrong(self):
        self.assertEqual((self.local["verdict"], self.local["step"]), ("challenger wrong", AT))
        trainer, challenger = self.trainer(), self.challenger()
        self.assert_same(self.settle(trainer.address, challenger.address, code=0))


class AFalseLog(Disputing):
    """Of a logged job, where the challenger judges by the trainer's log and names an entry of it."""
    cheat = f"log-foreign@{AT}"
    files = [*Disputing.files, "log"]
    settings = {"arithmetic": '"logged-1"'}
    tables = "\n[rounding]\ndivergence = 65536\n"  # so that steps have entries

    def test_an_entry_that_may_not_stand(self):
        self.assertEqual((self.local["verdict"], self.local["level"], self.local["step"]), ("trainer wrong", "log", AT))
        trainer, challenger = self.trainer(), self.challenger()
        self.assert_same(self.settle(trainer.address, challenger.address))
        self.assertIn("entry", [e["question"] for e in challenger.events("answered")])


class AnInflatedEvaluation(Disputing):
    """The steps are the same; the challenger says what the evaluation comes to instead."""
    cheat = f"inflate@{AT}"

    def test_the_sample_is_found(self):
        self.assertEqual((self.local["verdict"], self.local["sample"], self.local["metric"]), ("trainer wrong", 0, "loss"))
        trainer, challenger = self.trainer(), self.challenger()
        told = self.settle(trainer.address, challenger.address)
        self.assert_same(told)
        self.assertEqual((told["sample"], told["metric"]), (0, "loss"))
        asked = [e["question"] for e in challenger.events("answered")]
        self.assertEqual([asked[0], asked[1], asked[-1]], ["challenge", "sums", "score"])


if __name__ == "__main__":
    main()
