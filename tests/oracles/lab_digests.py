#!/usr/bin/env python3
"""Digests of docs/formats/lab.md, made from that page alone, and its schema, which is that of the source. They must be those of tests/golden/lab_digests.txt, with
which the C++ test compares its own.

usage: lab_digests.py tests/golden/lab_digests.txt
"""
import hashlib
import os
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


def subject_digest(kind, model, model_sha256, input_sha256, settings):
    return tagged("isobit.lab.subject", u8(kind) + text(model) + optional(model_sha256) + optional(input_sha256) +
                  text(settings))


def texts(items):
    return u64(len(items)) + b"".join(text(item) for item in items)


def platform_digest(name, engine, cores, fields, flags):
    pairs = u64(len(fields)) + b"".join(text(key) + text(fields[key]) for key in sorted(fields))
    return tagged("isobit.lab.platform", text(name) + text(engine) + struct.pack("<q", cores) + raw(pairs) +
                  raw(texts(flags)))


def value(name, op, dtype, shape, hash128, kernel, is_output):
    high, low = int(hash128[:16], 16), int(hash128[16:], 16)
    return (struct.pack("<q", 0) + text(name) + text(op) + text(dtype) + raw(dims(shape)) + u64(high) + u64(low) +
            text(kernel) + u8(is_output))


def run_digest(subject, platform, repeat, tapped, error, values):
    return tagged("isobit.lab.run", subject + platform + u32(repeat) + u8(tapped) + text(error) + u64(len(values)) +
                  b"".join(values))


def inputs_digest(inputs):
    """(name, type, shape, bytes) of each."""
    return tagged("isobit.lab.inputs", u64(len(inputs)) + b"".join(
        text(name) + text(dtype) + dims(shape) + hashlib.sha256(data).digest() for name, dtype, shape, data in inputs))


def schema_of_page(root):
    with open(os.path.join(root, "docs", "formats", "lab.md"), encoding="utf-8") as f:
        return f.read().split("```sql\n")[1].split("```")[0]


def main():
    with open(sys.argv[1], encoding="utf-8") as f:
        golden = dict(line.split() for line in f if line.strip() and not line.startswith("#"))
    subject = subject_digest(1, "m.onnx", bytes(range(32)), bytes(255 - i for i in range(32)), "batch 1")
    platform = platform_digest("openblas@haswell/1t", "openblas", 2, {"threads": "1"}, ["avx2", "fma"])
    # XXH3 of 01 02 03 04 and of 00 00 00 00 are taken from the golden file: Python has no XXH3 of its own.
    values = [value("hidden", "Gemm", "float32", [1, 1], golden["hash_01020304"], "sgemm", 0),
              value("out", "Softmax", "float32", [1], golden["hash_00000000"], "", 1)]
    run = run_digest(subject, platform, 0, 1, "", values)
    inputs = inputs_digest([("x", "float32", [3], struct.pack("<3f", 1, 1, 1)),
                            ("ids", "int64", [1, 2], struct.pack("<2q", 5, -1))])
    wrong = [(name, digest) for name, digest in (("subject", subject.hex()), ("platform", platform.hex()),
                                                 ("run", run.hex()), ("inputs", inputs.hex())) if golden.get(name) != digest]
    for name, digest in wrong:
        print(f"{sys.argv[1]}: {name}: found {golden.get(name)}, expected {digest}")
    root = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    with open(os.path.join(root, "isobit", "lab", "records", "lab_schema.cpp"), encoding="utf-8") as f:
        if schema_of_page(root) not in f.read():
            print("docs/formats/lab.md: its schema is not that of isobit/lab/records/lab_schema.cpp")
            wrong.append("schema")
    sys.exit(bool(wrong))


if __name__ == "__main__":
    main()
