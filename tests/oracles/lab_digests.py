#!/usr/bin/env python3
"""Digests of docs/formats/lab.md, made from that page alone. They must be those of tests/golden/lab_digests.txt, with
which the C++ test compares its own.

usage: lab_digests.py tests/golden/lab_digests.txt
"""
import hashlib
import struct
import sys


def u8(n):
    return struct.pack("<B", n)


def u32(n):
    return struct.pack("<I", n)


def u64(n):
    return struct.pack("<Q", n)


def raw(data):
    return u64(len(data)) + data


def text(s):
    return raw(s.encode())


def tagged(tag, payload):
    return hashlib.sha256(text(tag) + u32(1) + raw(payload)).digest()


def optional(digest):
    return u8(0) if digest is None else u8(1) + digest


def dims(numbers):
    return u64(len(numbers)) + b"".join(struct.pack("<q", n) for n in numbers)


def value(name, op, dtype, shape, hash128, kernel, is_output):
    high, low = int(hash128[:16], 16), int(hash128[16:], 16)
    return (struct.pack("<q", 0) + text(name) + text(op) + text(dtype) + raw(dims(shape)) + u64(high) + u64(low) +
            text(kernel) + u8(is_output))


def main():
    model, inputs = bytes(range(32)), bytes(255 - i for i in range(32))
    subject = tagged("isobit.lab.subject", u8(1) + text("m.onnx") + optional(model) + optional(inputs) +
                     text("batch 1"))
    fields = u64(1) + text("threads") + text("1")
    flags = u64(2) + text("avx2") + text("fma")
    platform = tagged("isobit.lab.platform", text("openblas@haswell/1t") + text("openblas") + struct.pack("<q", 2) +
                      raw(fields) + raw(flags))
    with open(sys.argv[1], encoding="utf-8") as f:
        golden = dict(line.split() for line in f if line.strip() and not line.startswith("#"))
    # XXH3 of 01 02 03 04 and of 00 00 00 00 are taken from the golden file: Python has no XXH3 of its own.
    values = (value("hidden", "Gemm", "float32", [1, 1], golden["hash_01020304"], "sgemm", 0) +
              value("out", "Softmax", "float32", [1], golden["hash_00000000"], "", 1))
    run = tagged("isobit.lab.run", subject + platform + u32(0) + u8(1) + text("") + u64(2) + values)
    wrong = [(name, digest) for name, digest in (("subject", subject.hex()), ("platform", platform.hex()),
                                                 ("run", run.hex())) if golden.get(name) != digest]
    for name, digest in wrong:
        print(f"{sys.argv[1]}: {name}: found {golden.get(name)}, expected {digest}")
    sys.exit(bool(wrong))


if __name__ == "__main__":
    main()
