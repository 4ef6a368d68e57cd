#!/usr/bin/env python3
"""Recomputes the evaluations of a golden file from docs/formats/evaluation.md alone (hashlib, no isobit).

usage: evaluation_oracle.py GOLDEN            checks every line, exit status 1 at a difference
       evaluation_oracle.py GOLDEN --write    fills in the digests again (only with a new format version)

Lines: SAMPLES METRIC[,METRIC...] BYTES-DIGEST
The digest is SHA-256 of the evaluation as it stands in a final leaf. Sample i has i % 3 + 1 rows; row r of metric m has
the float32 value whose bits are bits_of(i, r, m).
"""
import hashlib
import struct
import sys
from fractions import Fraction

UNIT = 149
INFINITE = {0x7f800000: "+", 0xff800000: "-"}


def sha(data):
    return hashlib.sha256(data).digest()


def text(s):
    return struct.pack("<Q", len(s.encode())) + s.encode()


def u64(*numbers):
    return struct.pack("<%dQ" % len(numbers), *numbers)


def tagged(tag, version, payload):
    return sha(text(tag) + struct.pack("<I", version) + u64(len(payload)) + payload)


def bits_of(i, r, m):
    """Any finite float32, but for one infinity in sample 11 of every metric but the first."""
    if i == 11 and m > 0:
        return 0x7f800000
    bits = (i * 2654435761 + r * 40503 + m * 2246822519) % 2 ** 32
    return bits & 0xbfffffff


class Total:
    """An exact sum with its count."""

    def __init__(self, bits=()):
        self.units, self.specials, self.count = 0, set(), 0
        for b in bits:
            self.count += 1
            if b & 0x7f800000 == 0x7f800000:
                self.specials.add(INFINITE.get(b, "nan"))
            else:
                value = Fraction(struct.unpack("<f", struct.pack("<I", b))[0])
                self.units += int(value * 2 ** UNIT)

    def __add__(self, other):
        out = Total()
        out.units, out.count = self.units + other.units, self.count + other.count
        out.specials = self.specials | other.specials
        return out

    def bytes(self):
        kind = 0 if not self.specials else {("+",): 1, ("-",): 2}.get(tuple(self.specials), 3)
        value = self.units if kind == 0 else 0
        return bytes([kind]) + value.to_bytes(48, "little", signed=True) + u64(self.count)


def sums_bytes(sums):
    return b"".join(s.bytes() for s in sums)


def tree(nodes):
    """nodes: [(hash, sums)] of the samples; RFC 6962's shape."""
    if len(nodes) == 1:
        return nodes[0]
    half = 1
    while half * 2 < len(nodes):
        half *= 2
    (lh, ls), (rh, rs) = tree(nodes[:half]), tree(nodes[half:])
    payload = lh + sums_bytes(ls) + rh + sums_bytes(rs)
    return tagged("isobit.evaluation-node", 1, payload), [a + b for a, b in zip(ls, rs)]


def evaluation_bytes(names, samples):
    """samples: for each sample, a Total of every metric."""
    nodes = [(tagged("isobit.evaluation-sample", 1, u64(i) + sums_bytes(s)), s) for i, s in enumerate(samples)]
    root_hash, root_sums = tree(nodes) if nodes else (bytes(32), [Total() for _ in names])
    head = u64(len(samples), len(names)) + b"".join(map(text, names))
    digest = tagged("isobit.evaluation", 1, head + root_hash + sums_bytes(root_sums))
    return u64(len(samples)) + digest + u64(len(names)) + b"".join(
        text(n) + s.bytes() for n, s in zip(names, root_sums))


def line_digest(samples, names):
    scored = [[Total(bits_of(i, r, m) for r in range(i % 3 + 1)) for m in range(len(names))] for i in range(samples)]
    return sha(evaluation_bytes(names, scored)).hex()


def main():
    with open(sys.argv[1], encoding="utf-8") as f:
        lines = f.read().splitlines()
    checked = wrong = 0
    for i, line in enumerate(lines):
        if not line or line.startswith("#"):
            continue
        samples, names, claimed = line.split()
        found = line_digest(int(samples), names.split(","))
        checked += 1
        if claimed != found:
            wrong += 1
            print(f"{sys.argv[1]}:{i + 1}: found {found}")
            lines[i] = f"{samples} {names} {found}"
    if "--write" in sys.argv:
        with open(sys.argv[1], "w", encoding="utf-8") as f:
            f.write("\n".join(lines) + "\n")
        return
    print(f"{checked} evaluations, {wrong} wrong")
    sys.exit(wrong > 0 or checked == 0)


if __name__ == "__main__":
    main()
