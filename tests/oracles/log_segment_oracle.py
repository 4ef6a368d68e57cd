#!/usr/bin/env python3
"""Recomputes the segments of a golden file from docs/formats/rounding-log.md alone (hashlib, no isobit).

usage: log_segment_oracle.py GOLDEN            checks every line, exit status 1 at a difference
       log_segment_oracle.py GOLDEN --write    fills in bytes and digests again (only with a new format version)
"""
import hashlib
import re
import struct
import sys

KINDS = {"sparse": 0, "ovt": 1}
ENTRY = re.compile(r"(\d+)(?:([eo])|v([0-9a-f]{8}))$")


def text(s):
    return struct.pack("<Q", len(s)) + s.encode()


def varint(n):
    out = []
    while n >= 128:
        out.append(n % 128 + 128)
        n //= 128
    return bytes(out + [n])


def gaps(numbers):
    return [b - a - 1 for a, b in zip([-1] + numbers, numbers)]


def parameter(numbers):
    """By trying them all."""
    return min(range(64), key=lambda k: (sum((g >> k) + 1 + k for g in gaps(numbers)), k))


def golomb_rice(numbers, k):
    """A string of 0 and 1."""
    return "".join("0" * (g >> k) + "1" + "".join(str(g >> i & 1) for i in range(k)) for g in gaps(numbers))


def packed_bits(bits):
    bits += "0" * (-len(bits) % 8)
    return bytes(int(bits[i:i + 8][::-1], 2) for i in range(0, len(bits), 8))


def sparse_payload(nodes):
    out, next_node = varint(len(nodes)), 0
    for node, entries in nodes:
        positions = [p for p, _, _ in entries]
        values = [i for i, (_, _, value) in enumerate(entries) if value is not None]
        k = parameter(positions)
        out += varint(node - next_node) + varint(len(entries) - 1) + bytes([k]) + varint(len(values))
        next_node = node + 1
        bits = golomb_rice(positions, k)
        if values:
            out += bytes([parameter(values)])
            bits += golomb_rice(values, parameter(values))
        out += packed_bits(bits + "".join("01"[parity == "o"] for _, parity, _ in entries if parity))
        out += b"".join(struct.pack("<I", int(value, 16)) for _, _, value in entries if value is not None)
    return out


def ovt_payload(outputs):
    out = b""
    for (node, output), digits in outputs:
        out += struct.pack("<IIQ", node, output, len(digits))
        out += bytes(sum(int(d) * 3**i for i, d in enumerate(digits[at:at + 5])) for at in range(0, len(digits), 5))
    return out


def segment(kind, step, body):
    payload = ovt_payload(body) if kind == "ovt" else sparse_payload(body)
    return text("isobit.log-segment") + struct.pack("<IBQB", 1, KINDS[kind], step, 0) + payload


def tree(leaves):
    """RFC 6962, section 2.1."""
    if len(leaves) < 2:
        return hashlib.sha256(b"\0" + leaves[0] if leaves else b"").digest()
    half = 1
    while 2 * half < len(leaves):
        half *= 2
    return hashlib.sha256(b"\1" + tree(leaves[:half]) + tree(leaves[half:])).digest()


def chunks(kind, body):
    """The leaves of a log's tree."""
    out = []
    for place, items in body:
        node, output = (place, 0) if kind == "sparse" else place
        per_chunk = 4096 if kind == "sparse" else 65536
        for first in range(0, len(items), per_chunk) or [0]:
            part = items[first:first + per_chunk]
            head = struct.pack("<IBIIQQ", 1, KINDS[kind], node, output, first, len(items))
            if kind == "sparse":
                data = b"".join(struct.pack("<QBI", p, 2 if value else "eo".index(parity), int(value or "0", 16))
                                for p, parity, value in part)
            else:
                data = ovt_payload([((0, 0), part)])[16:]
            out.append(text("isobit.log-chunk") + head + data)
    return out


def log_root(kind, step, body):
    leaves = chunks(kind, body)
    payload = struct.pack("<QBQ", step, KINDS[kind], len(leaves)) + tree(leaves)
    return hashlib.sha256(text("isobit.log-segment") + struct.pack("<IQ", 2, len(payload)) + payload).digest()


def main():
    path, write = sys.argv[1], "--write" in sys.argv[2:]
    out, body, count, bad = [], [], 0, 0
    for line in open(path, encoding="utf-8").read().splitlines():
        fields = line.split()
        if fields[0] == "segment":
            _, name, kind, step = fields
            body = []
        elif fields[0] == "node":
            body.append((int(fields[1]), [(int(p), parity, value) for p, parity, value in
                                          (ENTRY.match(f).groups() for f in fields[2:])]))
        elif fields[0] == "output":
            body.append((tuple(map(int, fields[1].split("."))), fields[2].replace("-", "")))
        if fields[0] in ("bytes", "digest"):
            data = segment(kind, int(step), body)
            if fields[0] == "digest":
                data = log_root(kind, int(step), body)
                count += 1
            if not write and fields[1] != data.hex():
                print(f"{path}: {name}: {fields[0]} {fields[1]}\n  recomputed {data.hex()}")
                bad += 1
            line = f"{fields[0]} {data.hex()}"
        out.append(line)
    if write:
        open(path, "w", encoding="utf-8").write("\n".join(out) + "\n")
    print(f"{count} segments, {bad} differences")
    return 1 if bad or not count else 0


if __name__ == "__main__":
    sys.exit(main())
