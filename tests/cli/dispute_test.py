#!/usr/bin/env python3
"""Disputes as people have them: isobit dispute and isobit verify, beside a reader of docs/formats/dispute.md."""
import hashlib
import os
import struct

from isobit_cli import DIGITS, SHORT, STEPS, Case, main


def tagged(tag, version, payload):
    return hashlib.sha256(struct.pack("<Q", len(tag)) + tag.encode() + struct.pack("<IQ", version, len(payload))
                          + payload).digest()


class Reader:
    def __init__(self, data):
        self.data, self.at = data, 0

    def fixed(self, n):
        self.at += n
        assert self.at <= len(self.data)
        return self.data[self.at - n:self.at]

    def u64(self):
        return struct.unpack("<Q", self.fixed(8))[0]

    def bytes(self):
        return self.fixed(self.u64())

    def frame(self, tag):
        assert self.bytes() == tag.encode() and self.fixed(4) == struct.pack("<I", 1), tag


def messages_of(record):
    """(turn, history, key, body) of each message."""
    r = Reader(record)
    r.frame("isobit.dispute-record")
    r.bytes()
    found = []
    for _ in range(r.u64()):
        m = Reader(r.bytes())
        m.frame("isobit.dispute-message")
        turn, history, key = m.u64(), m.fixed(32), m.fixed(32)
        m.fixed(64)
        found.append((turn, history, key, m.bytes()))
        assert m.at == len(m.data)
    assert r.fixed(1) == b"\0" and r.at == len(record)  # the messages lead to the verdict
    return found


class Dispute(Case):
    def setUp(self):
        super().setUp()
        self.train("honest.run")
        self.isobit("cheat", DIGITS, *SHORT, "--kind", "sample", "--at", "7", "--out", "false.run")
        self.job = os.path.join(self.dir, "honest.run", "job.toml")

    def settle(self, *more, code=1):
        return self.isobit_json("dispute", "false.run", "honest.run", "--cheat", "sample@7", *more, code=code)

    def test_the_false_element_is_named(self):
        told = self.settle()
        self.assertEqual((told["verdict"], told["level"], told["step"], told["operator"], told["node"]),
                         ("trainer wrong", "element", 7, "Conv", 0))
        element = told["element"]
        self.assertEqual(element["right"], element["challenger"])
        self.assertNotEqual(element["trainer"], element["challenger"])
        self.assertLess(told["referee_bytes"] - told["list_bytes"], 1 << 20)
        text = self.isobit("dispute", "false.run", "honest.run", "--cheat", "sample@7", code=1).out
        for words in ("trainer wrong", "step          7", "Conv, node 0", element["trainer"], element["challenger"]):
            self.assertIn(words, text)

    def test_who_doubts_falsely_is_wrong(self):
        told = self.isobit_json("dispute", "honest.run", "false.run", "--challenger-cheat", "sample@7", code=0)
        self.assertEqual((told["verdict"], told["step"], told["operator"]), ("challenger wrong", 7, "Conv"))

    def test_a_cheat_that_answers_honestly_is_found_at_its_step(self):
        told = self.isobit_json("dispute", "false.run", "honest.run", code=1)
        self.assertEqual((told["verdict"], told["step"]), ("trainer wrong", 7))

    def test_an_inflated_evaluation_is_found_at_its_sample(self):
        self.isobit("cheat", DIGITS, *SHORT, "--kind", "inflate", "--out", "inflated.run")
        cheat = ("dispute", "inflated.run", "honest.run", "--cheat", f"inflate@{STEPS}")
        told = self.isobit_json(*cheat, "--out", "inflated.dispute", code=1)
        self.assertEqual((told["verdict"], told["level"], told["sample"], told["metric"], told["operator"]),
                         ("trainer wrong", "element", 0, "loss", "isobit.CrossEntropy"))
        self.assertEqual(told["element"]["right"], told["element"]["challenger"])
        self.assertIn("evaluation    sample 0, loss", self.isobit(*cheat, code=1).out)
        again = self.isobit_json("verify", "inflated.dispute", "--job", self.job, code=1)
        self.assertEqual((again["verdict"], again["sample"]), ("trainer wrong", 0))
        self.assertEqual(self.isobit_json("dispute", "honest.run", "inflated.run", "--challenger-cheat",
                                          f"inflate@{STEPS}", code=0)["verdict"], "challenger wrong")

    def test_the_record_gives_the_verdict_to_anybody(self):
        told = self.settle("--out", "settled.dispute")
        again = self.isobit_json("verify", "settled.dispute", "--job", self.job, code=1, env={"ISOBIT_HOME": None})
        for key in ("verdict", "step", "node", "operator", "element", "value", "rounds"):
            self.assertEqual(again[key], told[key], key)
        with open(self.path("settled.dispute"), "rb") as f:
            record = f.read()
        messages = messages_of(record)
        history = messages[0][1]  # what was said before the first turn binds the run
        self.assertEqual(tagged("isobit.dispute-history", 1, bytes.fromhex(again["job_root"]) + bytes.fromhex(again["run_id"])
                                + bytes.fromhex(again["challenger"])), history)
        turn = 0
        said = []
        for number, before, key, body in messages:
            if number != turn:
                for party, earlier in said:
                    history = tagged("isobit.dispute-history", 1, history + bytes([party]) + hashlib.sha256(earlier).digest())
                turn, said = number, []
            self.assertEqual(before, history)
            said.append((0 if key.hex() == again["trainer"] else 1, body))
        self.assertEqual(turn + 1, told["rounds"])
        self.fails("dispute", "false.run", "honest.run", "--out", "settled.dispute", code=2, says=["is there already"])
        for place in (40, len(record) // 2, len(record) - 1):
            bent = bytearray(record)
            bent[place] ^= 1
            self.write("bent.dispute", bytes(bent))
            told = self.isobit("--json", "verify", "bent.dispute", "--job", self.job, code=(1, 2, 3)).out
            self.assertNotIn('"genuine": true', told)
        self.write("cut.dispute", record[:-1])
        self.fails("verify", "cut.dispute", "--job", self.job, code=3, says=["cut.dispute"])

    def test_whose_engagement_and_which_job_it_is(self):
        self.settle("--out", "whose.dispute")
        self.isobit("keygen", "--role", "client", "--keys", self.path("other"))
        told = self.isobit_json("verify", "whose.dispute", "--job", self.job, "--client-key",
                                self.path("other", "client.pub"), code=1)
        self.assertFalse(told["genuine"])
        self.fails("verify", "whose.dispute", "--job", DIGITS, code=2, says=["engagement is of", "name that job"])
        self.fails("verify", "whose.dispute", code=2, says=["--job"])
        self.fails("verify", "honest.run", "--job", self.job, code=2, says=["--job"])

    def test_a_log_convicts_by_its_entry(self):
        logged = ("--set", "job.arithmetic=logged-1")
        for kind, level in (("log-move", "element"), ("log-foreign", "log")):
            name = kind + ".run"
            self.isobit("cheat", DIGITS, *SHORT, *logged, "--set", "rounding.divergence=4096", "--kind", kind, "--at", "7", "--out", name)
            self.train("of-" + name, *logged, "--set", "rounding.divergence=4096")
            told = self.isobit_json("dispute", name, "of-" + name, "--cheat", kind + "@7", "--out", kind + ".dispute", code=1)
            self.assertEqual((told["verdict"], told["level"], told["step"], told["finding"]),
                             ("trainer wrong", level, 7, None))
            again = self.isobit_json("verify", kind + ".dispute", "--job", self.path(name, "job.toml"), code=1)
            self.assertEqual((again["level"], again["element"]), (level, told["element"]))

    def test_what_cannot_be_disputed(self):
        self.train("again.run")
        self.fails("dispute", "honest.run", "again.run", code=2, says=["nothing to dispute"])
        self.train("other.run", "--set", "job.seed=9")
        self.fails("dispute", "honest.run", "other.run", code=2, says=["different jobs"])
        self.fails("dispute", "false.run", "honest.run", "--cheat", "sample", code=2, says=["--cheat", "KIND@STEP"])
        self.fails("dispute", "false.run", "honest.run", "--cheat", "sampel@7", code=2, says=["sample"])
        self.isobit("keygen", "--role", "trainer", "--keys", self.path("other"))
        self.fails("dispute", "false.run", "honest.run", "--trainer-key", self.path("other", "trainer.key"), code=2,
                   says=["trainer"])
        self.fails("dispute", "false.run", "nothing.run", code=3, says=["nothing.run"])
        self.fails("dispute", "false.run", "honest.run", "--out", self.path("honest.run", "settled.dispute"), code=2,
                   says=["lies in the run"])
        self.fails("dispute", "false.run", "honest.run", "--trainer-key", self.path("keys", "trainer.key"), "--out",
                   self.path("keys", "trainer.key"), code=2, says=["is there already and is not overwritten"])


if __name__ == "__main__":
    main()
