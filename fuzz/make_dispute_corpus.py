#!/usr/bin/env python3
"""Inputs for dispute_fuzz out of records of disputes ('isobit dispute --out'): one of each body, a message, a record.

usage: fuzz/make_dispute_corpus.py RECORD...
"""
import os
import struct
import sys

KINDS = ["challenge", "steps", "values", "tiles", "parts", "leaf", "node", "states", "grounds", "loss", "batch", "sample"]
FOLDER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "corpus", "dispute_fuzz")


def take(data, at):
    (size,) = struct.unpack_from("<Q", data, at)
    return data[at + 8:at + 8 + size], at + 8 + size


def messages_of(record):
    tag, at = take(record, 0)
    assert tag == b"isobit.dispute-record"
    _, at = take(record, at + 4)
    (count,) = struct.unpack_from("<Q", record, at)
    at += 8
    for _ in range(count):
        message, at = take(record, at)
        yield message


def body_of(message):
    _, at = take(message, 0)
    return take(message, at + 4 + 8 + 32 + 32 + 64)[0]  # version, turn, history, key, signature


def put(name, kind, data):
    with open(os.path.join(FOLDER, name), "wb") as f:
        f.write(bytes([kind]) + data)


def main():
    os.makedirs(FOLDER, exist_ok=True)
    smallest = {}
    for path in sys.argv[1:]:
        with open(path, "rb") as f:
            record = f.read()
        for message in messages_of(record):
            body = body_of(message)
            kind = take(body, 0)[0].decode().rsplit(".", 1)[1]
            if kind not in smallest or len(body) < len(smallest[kind]):
                smallest[kind] = body
        first = next(messages_of(record))
        put("message", len(KINDS), first)
        tag, at = take(record, 0)
        engagement, at = take(record, at + 4)
        head = record[:at] + struct.pack("<QQ", 1, len(first)) + first
        put("record", len(KINDS) + 1, head)
    for kind, body in smallest.items():
        put(kind, KINDS.index(kind), body)


if __name__ == "__main__":
    main()
