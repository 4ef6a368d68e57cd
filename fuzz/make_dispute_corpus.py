#!/usr/bin/env python3
"""Writes fuzz/corpus/dispute_fuzz/ and some of spot_fuzz/: bodies, messages, records and what goes beside them, each well
formed. Standard library only.

usage: fuzz/make_dispute_corpus.py      Files that a fuzzer found and that were kept are not touched.
"""
import hashlib
import pathlib
import struct
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "tests" / "oracles"))
from shown_batch_oracle import frame, sized, u64  # noqa: E402

CORPUS = pathlib.Path(__file__).parent / "corpus" / "dispute_fuzz"
BODIES = 14  # kinds of bodies; then what dispute_fuzz.cpp reads after them


def put(name, kind, data, target="dispute_fuzz"):
    folder = CORPUS.parent / target
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_bytes(bytes([kind]) + data)


def digest(fill):
    return bytes([fill]) * 32


def u32(*numbers):
    return struct.pack("<%dI" % len(numbers), *numbers)


def statement(body):
    return u64(3) + digest(1) + digest(2) + digest(body) + digest(4) * 2


def text(words):
    return sized(words.encode())


def value(number, name):
    return u64(number) + text(name) + b"\1" + u64(1, 4)


question = u64(5) + digest(1) + b"\x04\1\1" + u64(0, 3, 6, 2, 17) + b"\1" + u64(7, 2) + b"\0\0" + u64(0, 40, 5, 0)
put("values", 2, frame("isobit.dispute.values") + u64(2) + digest(1) + digest(2) + b"\0")
put("tiles", 3, frame("isobit.dispute.tiles") + u64(9) + digest(1))
put("parts", 4, frame("isobit.dispute.parts") + u64(2) + digest(1) + digest(2))
put("leaf", 5, frame("isobit.dispute.leaf") + sized(b"a leaf"))
chunk = (frame("isobit.log-chunk") + b"\0" + u32(3, 0) + u64(0, 2, 5) + b"\1" + u32(0) + u64(9) + b"\2"
         + u32(0x3F000000))
in_tree = sized(chunk) + sized(frame("isobit.inclusion-proof") + u64(0, 1))
put("log", 12, frame("isobit.dispute.log") + sized(frame("isobit.log-absence-proof") + b"\1" + in_tree + b"\0"))
put("entry", 13, frame("isobit.dispute.entry") + sized(frame("isobit.log-chunk-proof") + in_tree) + u32(1))
put("outputs", BODIES + 6, frame("isobit.dispute.outputs") + u64(2) + digest(1) + digest(2))
total = b"\0" + bytes(48) + u64(1)
put("sums", BODIES + 7, frame("isobit.dispute.sums") + u64(1, 1) + total + u64(2) + digest(1) + total + digest(2) + total)
head = u64(1) + value(0, "x") + u64(1, 2) + u64(1, 1) + digest(5)
constant = text("c") + b"\1" + u64(1, 4) + u64(1) + digest(6) + b"\1" + sized(bytes(16))
node = frame("isobit.graph-node") + u64(0) + text("Add") + u64(2, 0, 1) + u64(1) + value(2, "y") + u64(0)
put("graph", BODIES + 8, frame("isobit.dispute.graph") + sized(head) + u64(1) + sized(node) + u64(0)
    + u64(1, 1) + constant + u64(1) + text("w") + digest(7) + u64(1) + text("f") + digest(8))
tiles = u64(1) + digest(1) + u64(0)
put("score", BODIES + 9, frame("isobit.dispute.score") + u64(2) + b"\0" + u32(1) + tiles + b"\0" + u32(2) + tiles)
evaluation = u64(3) + digest(1) + u64(1) + text("loss") + total + u64(2, 1) + digest(2) + u64(13) + digest(3)
put("challenge_evaluation", 0, (CORPUS / "challenge").read_bytes()[1:] + evaluation)
put("message", BODIES, frame("isobit.dispute-message") + u64(3) + digest(1) + digest(2) + digest(3) * 2 + sized(b"body"))
put("question", BODIES + 2, text("isobit.dispute-question") + u32(2) + digest(9) + question + u64(2) + b"\1" + digest(5) + b"\0"
    + digest(6) + digest(7) * 2)
put("restart", BODIES + 3, frame("isobit.dispute-restart") + u64(3) + digest(1) + digest(2) + digest(3) * 2)
put("closing", BODIES + 4, frame("isobit.dispute-closing") + digest(9) + u64(3) + digest(1) + b"\3" + digest(7) * 2)
put("equivocation", BODIES + 5, frame("isobit.dispute-equivocation") + statement(5) + statement(6))

engagement = (CORPUS.parent / "engagement_fuzz" / "one_key").read_bytes()
record = frame("isobit.spot.record", 2) + sized(engagement) + sized(digest(3))
put("record_steps", 5, record + u64(40) + b"\0" + u64(1) + sized(b"message"), "spot_fuzz")
put("record_values", 5, record + u64(1) + b"\1" + u64(7, 2) + sized(b"one") + sized(b"two"), "spot_fuzz")
receipt = (CORPUS.parent / "receipt_fuzz" / "plain").read_bytes()
put("record_receipt", 5, frame("isobit.receipt-spot.record", 2) + sized(receipt) + sized(digest(3)) + u64(40) + b"\0"
    + u64(1) + sized(b"message"), "spot_fuzz")
content = frame("isobit.spot.file") + sized(b"a question")
put("file", 6, content + hashlib.sha256(content).digest(), "spot_fuzz")
