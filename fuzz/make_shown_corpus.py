#!/usr/bin/env python3
"""Writes fuzz/corpus/shown_sample_fuzz/ and shown_batch_fuzz/: what is accepted, and what is refused late. Standard library only.

usage: fuzz/make_shown_corpus.py      Files that a fuzzer found and that were kept are not touched.
"""
import pathlib
import struct
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "tests" / "oracles"))
from shown_batch_oracle import frame, sized, text, u64  # noqa: E402

CORPUS = pathlib.Path(__file__).parent / "corpus"


def put(target, name, data):
    (CORPUS / target).mkdir(parents=True, exist_ok=True)
    (CORPUS / target / name).write_bytes(data)


def dims(*sides):
    return struct.pack("<I", len(sides)) + struct.pack("<%dq" % len(sides), *sides)


def dataset_header(version, name, *parts):
    return sized(b"isobit dataset\n" + struct.pack("<I", version) + text(name) + b"".join(parts))


def proof(tag, numbers, digests):
    return sized(frame(tag) + u64(*numbers) + bytes(32 * digests))


# A byte of draws, the header, the sample.
pixels = dataset_header(1, "digits", b"\1\5\1", dims(1, 2, 3), u64(10, 9, 4), text("u8/16"))
colours = dataset_header(1, "cifar10", b"\1\5\1", dims(3, 2, 1), u64(10, 9, 4), text("cifar10-standardized-1"))
tokens = dataset_header(1, "text", b"\2\5\3", dims(4), u64(256, 9, 4), text("bytes"))
words = dataset_header(3, "text", text("gpt2"), bytes(64), b"\2\4\3", dims(2), u64(300, 9, 4), text("tokens"))
labels = dataset_header(2, "npy", struct.pack("<I", 2), text("a"), b"\5\1", dims(2), text("u8"), text("b"), b"\x0c\x0c", dims(),
                        text("as-stored"), b"\3\1", dims(2), u64(2, 5, 0))
numbers = dataset_header(2, "npy", struct.pack("<I", 1), text("a"), b"\6\6", dims(3), text("as-stored"), b"\4\1", dims(),
                         u64(0, 5, 0))
put("shown_sample_fuzz", "pixels", b"\3" + pixels + u64(7) + bytes(range(6)))
put("shown_sample_fuzz", "colours", b"\0" + colours + u64(9) + bytes(range(6)))
put("shown_sample_fuzz", "bad_label", b"\1" + pixels + u64(10) + bytes(range(6)))
put("shown_sample_fuzz", "tokens", b"\0" + tokens + b"hello")
put("shown_sample_fuzz", "words", b"\0" + words + struct.pack("<3i", 5, 299, 0))
put("shown_sample_fuzz", "bad_word", b"\0" + words + struct.pack("<3i", 5, 299, 300))
put("shown_sample_fuzz", "labels", b"\0" + labels + struct.pack("<ff", 0, 1) + bytes(4))
put("shown_sample_fuzz", "numbers", b"\0" + numbers + struct.pack("<f", 0.5) + bytes([1, 0, 1]))
put("shown_sample_fuzz", "short", b"\0" + numbers + struct.pack("<f", 0.5) + bytes([1, 0]))

trees = tokens + u64(9) + bytes(32) + u64(4) + bytes(32)
put("shown_batch_fuzz", "sample", frame("isobit.shown-sample") + trees + bytes(32) + sized(b"hello")
    + proof("isobit.inclusion-proof", [5, 9], 4))
put("shown_batch_fuzz", "leaves", frame("isobit.shown-leaves") + trees + proof("isobit.multi-proof", [9, 2, 2, 3], 3) + bytes(64))
put("shown_batch_fuzz", "leaves_huge", frame("isobit.shown-leaves") + trees
    + proof("isobit.multi-proof", [2**64 - 1, 1, 2**64 - 2], 63) + bytes(32))
