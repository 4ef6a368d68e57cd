#!/usr/bin/env python3
"""Prints the transcript root of the made-up run of testing.h (10 steps, a state root every 4), for transcript_test.

Written from docs/formats/transcript.md, evaluation.md and merkle.md with nothing but SHA-256, so that it shares no code
with isobit.
"""
import hashlib
import os
import struct
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "tests", "oracles"))
from evaluation_oracle import Total, evaluation_bytes  # noqa: E402


def sha(data):
    return hashlib.sha256(data).digest()


def u64(*numbers):
    return struct.pack("<%dQ" % len(numbers), *numbers)


def text(s):
    return u64(len(s)) + s.encode()


def tree(leaves):
    if len(leaves) == 1:
        return sha(b"\0" + leaves[0])
    half = 1
    while half * 2 < len(leaves):
        half *= 2
    return sha(b"\1" + tree(leaves[:half]) + tree(leaves[half:]))


def bits(x):
    return struct.unpack("<I", struct.pack("<f", x))


STEPS, EVERY = 10, 4
FRAME = text("isobit.leaf") + struct.pack("<I", 2)
state = sha(b"start")
leaves = [FRAME + b"\0" + sha(b"job") + state]
for t in range(1, STEPS + 1):
    batch = sha(b"batch %d" % t)
    state = sha(state + batch)
    loss = state[0] | state[1] << 8 | state[2] << 16 | 0x3F000000
    root = b"\1" + state if t % EVERY == 0 else b"\0"
    leaves.append(FRAME + b"\1" + u64(t) + batch + b"\1" + u64(loss) + b"\0" + root)
scored = [[Total(bits(0.125 * state[0])), Total(bits(1.0 - i % 2)), Total(bits(1.0))] for i in range(5)]
leaves.append(FRAME + b"\2" + u64(STEPS) + state + evaluation_bytes(["loss", "top1", "top5"], scored))

payload = u64(len(leaves)) + tree(leaves)
print(sha(text("isobit.transcript") + struct.pack("<I", 1) + u64(len(payload)) + payload).hex())
