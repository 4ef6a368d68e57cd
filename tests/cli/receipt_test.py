#!/usr/bin/env python3
"""Receipts as a person makes and audits them: isobit run --receipt, audit RECEIPT, verify RECEIPT."""
import json
import os
import struct

from isobit_cli import Case, main
from onnx_by_hand import floats, graph, model, node, npy, value

LAYER = model(graph([node("MatMul", ["x", "w"], ["h"], "product"), node("Add", ["h", "b"], ["a"], "sum"),
                     node("Softmax", ["a"], ["y"], "softmax")],
                    [value("x", ["batch", 3])], [value("y", ["batch", 2])],
                    [floats("w", [3, 2], .1, 2, .3, 4, .5, 6), floats("b", [2], -1, .1)]))
OTHER = model(graph([node("MatMul", ["x", "w"], ["y"], "product")],
                    [value("x", ["batch", 3])], [value("y", ["batch", 2])], [floats("w", [3, 2], 1, 2, 3, 4, 5, 7)]))


def f32(*values):
    return struct.pack(f"<{len(values)}f", *values)


class Receipts(Case):
    def setUp(self):
        super().setUp()
        self.model = self.write("m.onnx", LAYER)
        self.x = self.write("x.npy", npy("<f4", [2, 3], f32(1, .7, 1, -1, 0, .2)))
        self.receipt = self.path("r.receipt")
        self.isobit("keygen", "--role", "server")
        self.run_arguments = ["run", self.model, "--input", self.x]
        self.made = self.isobit_json(*self.run_arguments, "--out", self.path("out"), "--receipt", self.receipt)
        self.y = self.path("out", self.made["outputs"][0]["file"])
        self.audit = ["audit", self.receipt, "--model", self.model, "--input", self.x]

    def rejected(self, part, *arguments):
        told = self.isobit_json(*arguments, code=1)
        self.assertEqual((told["verdict"], told["finding"]["part"]), ("rejected", part), told["reason"])
        self.assertTrue(told["reason"])
        return told

    def test_an_honest_receipt_is_accepted_everywhere(self):
        for platform in ("ordered@reference/1t", "ordered@portable/1t", "ordered/3t"):
            told = self.isobit_json(*self.audit, "--platform", platform, "--output", self.y)
            self.assertEqual((told["verdict"], told["replayed"], told["outputs_compared"]), ("accepted", True, 1))
        said = self.made["receipt"]
        self.assertEqual(said["outputs"][0]["digest"], self.made["outputs"][0]["digest"])
        self.assertEqual(told["receipt"], said)
        text = self.isobit(*self.audit).out
        self.assertIn("verdict       accepted", text)
        self.assertIn("1 output, run again on ordered@", text)
        self.assertEqual(self.isobit_json("verify", self.receipt)["replayed"], False)

    def test_correct_arithmetic_and_traces(self):
        for arithmetic in ("ordered-1", "correct-1"):
            file = self.path(arithmetic)
            self.isobit(*self.run_arguments, "-a", arithmetic, "--trace", "--receipt", file)
            told = self.isobit_json("audit", file, *self.audit[2:], "--platform", "ordered@portable/1t", "-a", arithmetic)
            self.assertIsNotNone(told["receipt"]["trace"])
            self.rejected("arithmetic", "audit", file, *self.audit[2:], "-a",
                          "correct-1" if arithmetic == "ordered-1" else "ordered-1")

    def test_the_challenge_is_the_one_that_was_given(self):
        file, challenge = self.path("asked"), "0123456789abcdef" * 2
        self.isobit(*self.run_arguments, "--receipt", file, "--challenge", challenge)
        told = self.isobit_json("audit", file, *self.audit[2:], "--challenge", challenge)
        self.assertEqual(told["receipt"]["challenge"], challenge)
        self.rejected("challenge", *self.audit, "--challenge", challenge)
        again = self.isobit_json(*self.run_arguments, "--receipt", self.path("again"))["receipt"]
        self.assertEqual(again["computation"], self.made["receipt"]["computation"])
        self.assertNotEqual(again["id"], self.made["receipt"]["id"])

    def test_what_is_another_is_rejected_by_name(self):
        other = self.write("other.onnx", OTHER)
        self.rejected("model", "audit", self.receipt, "--model", other, "--input", self.x)
        x = self.write("z.npy", npy("<f4", [2, 3], f32(1, .7, 1, -1, 0, .3)))
        self.rejected("input", "audit", self.receipt, "--model", self.model, "--input", x)
        self.rejected("input", "audit", self.receipt, "--model", self.model, "--dim", "batch=2")
        y = self.write("y.npy", npy("<f4", [2, 2], f32(1, 0, 1, 0)))
        told = self.rejected("output", *self.audit, "--output", f"y={y}")
        self.assertFalse(told["replayed"])
        self.rejected("output", *self.audit, "--output", f"q={self.y}")
        self.isobit("keygen", "--out", self.path("stranger"))
        stranger = self.path("stranger.pub")
        self.rejected("server", *self.audit, "--server-key", stranger)
        self.rejected("server", "verify", self.receipt, "--server-key", stranger)
        self.assertIn("reason        ", self.isobit("verify", self.receipt, "--server-key", stranger, code=1).out)

    def test_every_changed_byte_is_noticed(self):
        with open(self.receipt, "rb") as f:
            good = f.read()
        for at in range(0, len(good), 7):
            bad = self.write("bad", good[:at] + bytes([good[at] ^ 4]) + good[at + 1:])
            result = self.isobit("audit", bad, *self.audit[2:], code=(1, 2, 3))
            self.assertNotIn("accepted", result.out)
        short = self.write("short", good[:-1])
        self.fails("audit", short, *self.audit[2:], code=3, says=["short"])
        self.fails("verify", short, code=3, says=["short"])

    def test_keys(self):
        self.isobit("keygen", "--out", self.path("service"))
        file = self.path("signed")
        self.isobit(*self.run_arguments, "--receipt", file, "--key", self.path("service.key"))
        self.isobit("audit", file, *self.audit[2:], "--server-key", self.path("service.pub"))
        self.isobit("verify", file, "--server-key", self.path("service.pub"))
        self.rejected("server", "audit", file, *self.audit[2:])
        self.fails("audit", file, *self.audit[2:], "--keys", self.path("nobody"), code=2, says=["--server-key"])
        made = self.isobit(*self.run_arguments, "--receipt", self.path("first"), "--keys", self.path("new"))
        self.assertIn("server.key", made.err)

    def cheat(self, node, *more):
        file = self.path(f"false{node}.receipt")
        self.isobit("cheat", self.model, "--input", self.x, "--kind", "value", "--at", str(node), "--out", file, *more)
        return file

    def test_spot_checks(self):
        spot = ["--spot", "60", "--seed", "07" * 16]
        told = self.isobit_json(*self.audit, *spot, "--platform", "ordered@portable/1t")
        self.assertEqual((told["verdict"], told["nodes"], told["step"]), ("accepted", 3, None))
        self.assertEqual({e["operator"] for e in told["elements"]}, {"MatMul", "Add", "Softmax"})
        self.assertAlmostEqual(told["missed_in_one_node"], (1 - 0.01 / 3) ** 60)
        self.assertIn("60 elements of the inference, of 3 of its 3 nodes", self.isobit(*self.audit, *spot).out)
        # What is drawn follows from the receipt, too, whose key is new each time: draws enough to find an element of eight.
        many = ["--spot", "600", "--seed", "07" * 16]
        for node, operator in ((0, "MatMul"), (1, "Add"), (2, "Softmax")):
            file = self.cheat(node)
            told = self.isobit_json("audit", file, *self.audit[2:], *many, "--cheat", f"value@{node}", code=1)
            self.assertEqual((told["finding"]["operator"], told["finding"]["element"]), (operator, 0))
            trace = self.isobit_json("audit", file, *self.audit[2:], *spot, code=1)["finding"]
            self.assertEqual(trace["level"], "trace", "honest answers do not lead to a false receipt")
            self.rejected("output", "audit", file, *self.audit[2:])
        other = self.write("other.onnx", OTHER)
        self.rejected("model", "audit", self.receipt, "--model", other, "--input", self.x, *spot, "--output", self.y)
        self.fails("audit", self.receipt, *self.audit[2:], "--spot", "0", code=2, says=["--spot 0"])
        self.fails(*self.audit, "--seed", "07" * 16, code=2, says=["--spot"])
        self.fails(*self.audit, "--cheat", "value@1", code=2, says=["--spot"])
        self.fails(*self.audit, "--spot", "1", "--cheat", "rate@1", code=2, says=["value@NODE"])

    def test_what_a_spot_check_finds_convinces_others(self):
        file, found = self.cheat(1), self.path("found")
        spot = ["--spot", "400", "--seed", "07" * 16, "--out", found]
        told = self.isobit_json("audit", file, *self.audit[2:], *spot, "--cheat", "value@1", code=1)
        self.assertEqual(told["file"], found)
        # Nothing but the file: no model, no input, no key.
        proved = self.isobit_json("verify", found)
        self.assertEqual((proved["verdict"], proved["finding"], proved["server_pinned"]),
                         ("accepted", told["finding"], False))
        self.assertEqual(proved["receipt"], self.isobit_json("verify", file)["receipt"]["id"])
        text = self.isobit("verify", found).out
        for words in ("false in an inference", "(Add), element 0", "name the server's with --server-key"):
            self.assertIn(words, text)
        pinned = self.isobit_json("verify", found, "--server-key", self.path("keys", "server.pub"))
        self.assertTrue(pinned["server_pinned"])
        self.isobit("keygen", "--out", self.path("stranger"))
        told = self.isobit_json("verify", found, "--server-key", self.path("stranger.pub"), code=1)
        self.assertIn("another server's key", told["reason"])
        self.fails("verify", found, "--job", file, code=2, says=["--job"])
        self.fails("audit", file, *self.audit[2:], *spot, "--cheat", "value@1", code=2, says=["found"])
        self.isobit(*self.audit, "--spot", "20", "--out", self.path("none"))
        self.assertFalse(os.path.exists(self.path("none")), "an honest receipt gives no such file")

    def test_the_server_answers_from_another_machine(self):
        file, found = self.cheat(2), self.path("found")
        # What is false is one of eight elements of one node of three.
        for receipt, cheat, code, draws in ((self.receipt, [], 0, "40"), (file, ["--cheat", "value@2"], 1, "400")):
            between = self.path(f"between{code}")
            os.makedirs(between)
            asking = self.start("--json", "audit", receipt, *self.audit[2:], "--spot", draws, "--through", between, "--out",
                                found)
            answered = self.isobit_json("answer", receipt, *self.audit[2:], *cheat, "--through", between)["answered"]
            out = asking.communicate(timeout=120)[0]
            self.assertEqual(asking.returncode, code, out)
            told = json.loads(out)
            self.assertEqual((len(told["elements"]), told["trainer_memory"]), (answered - 1, None))
        self.assertEqual(self.isobit_json("verify", found)["finding"]["operator"], "Softmax")
        self.fails(*self.audit, "--spot", "4", "--through", self.path("between0"), code=2, says=["not empty"])
        self.fails(*self.audit, "--spot", "4", "--through", "b", "--cheat", "value@1", code=2, says=["--through"])
        self.fails(*self.audit, "--through", "b", code=2, says=["--spot"])
        other = self.write("other.onnx", OTHER)
        self.fails("answer", self.receipt, "--model", other, "--input", self.x, "--through", self.path("between0"), code=2,
                   says=["not of this model"])
        self.fails("answer", self.receipt, *self.audit[2:], "--data", "x", "--through", self.path("between0"), code=2,
                   says=["--data"])

    def test_disputes(self):
        mine = self.path("mine.receipt")
        self.isobit(*self.run_arguments, "--receipt", mine, "--keys", self.path("me"))
        with_model = ["--model", self.model, "--input", self.x]
        for node, operator in ((0, "MatMul"), (1, "Add"), (2, "Softmax")):
            file, record = self.cheat(node, "--trace"), self.path(f"{node}.dispute")
            told = self.isobit_json("dispute", file, mine, *with_model, "--cheat", f"value@{node}", "--out", record, code=1)
            self.assertEqual((told["verdict"], told["level"], told["operator"], told["node"], told["element"]["element"]),
                             ("trainer wrong", "element", operator, node, 0))
            checked = self.isobit_json("verify", record, "--server-key", self.path("keys", "server.pub"), code=1)
            self.assertTrue(checked["genuine"] and checked["server_pinned"])
            self.assertEqual(checked["element"], told["element"])
            said = self.isobit("verify", record, code=1).out
            self.assertIn("whose key that is nobody has said", said, "anybody can be server and challenger at once")
            self.fails("dispute", file, mine, *with_model, "--out", record, code=2, says=["is there already"])
            no = self.isobit_json("verify", record, "--server-key", self.path("me", "server.pub"), code=1)
            self.assertFalse(no["genuine"])
            lost = self.isobit_json("dispute", self.receipt, file, *with_model, "--challenger-cheat", f"value@{node}")
            self.assertEqual(lost["verdict"], "challenger wrong")
        with open(record, "rb") as f:
            good = f.read()
        for at in range(40, len(good), len(good) // 40):
            bad = self.write("bad.dispute", good[:at] + bytes([good[at] ^ 1]) + good[at + 1:])
            self.assertNotIn("trainer wrong", self.isobit("verify", bad, code=(1, 3)).out, at)
        self.fails("dispute", self.receipt, mine, *with_model, code=2, says=["nothing to dispute"])
        self.fails("dispute", self.receipt, mine, code=2, says=["--model"])
        self.fails("dispute", "a.run", "b.run", *with_model, code=2, says=["receipts"])
        self.fails("verify", record, "--job", "x.toml", code=2, says=["--job"])

    def test_false_receipts_are_asked_for_in_full(self):
        said = ["cheat", self.model, "--input", self.x, "--out", self.path("f")]
        self.fails(*said, "--kind", "rate", code=2, says=["--kind value"])
        self.fails(*said, "--kind", "value", code=2, says=["--at NODE"])
        self.fails(*said, "--kind", "value", "--at", "99", code=2, says=["--at 99"])
        self.assertFalse(os.path.exists(self.path("f")))
        self.fails("cheat", "job.toml", "--trace", "--kind", "rate", "--out", "r", code=2, says=["--trace"])

    def test_what_does_not_go_together_is_said(self):
        self.fails(*self.run_arguments, "--trace", code=2, says=["--receipt"])
        self.fails(*self.run_arguments, "--challenge", "00" * 16, code=2, says=["--receipt"])
        self.fails(*self.run_arguments, "--receipt", self.path("c"), "--challenge", "00", code=2, says=["1 bytes", "16"])
        self.fails(*self.run_arguments, "--receipt", self.receipt, code=2, says=["r.receipt"])
        self.fails(*self.run_arguments, "--receipt", self.path("f"), "-a", "float32", code=2, says=["float32", "ordered-1"])
        self.assertFalse(os.path.exists(self.path("f")))
        self.fails("audit", self.receipt, "--input", self.x, code=2, says=["--model"])
        self.fails(*self.audit, "--from", "1", code=2, says=["receipt"])
        self.fails("audit", "some.run", "--model", self.model, code=2, says=["--model", "some.run"])
        self.fails("verify", self.x, "--server-key", self.path("keys", "server.pub"), code=2, says=["--server-key"])


if __name__ == "__main__":
    main()
