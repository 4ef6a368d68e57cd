#!/usr/bin/env python3
"""Receipts as a person makes and audits them: isobit run --receipt, audit RECEIPT, verify RECEIPT."""
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
