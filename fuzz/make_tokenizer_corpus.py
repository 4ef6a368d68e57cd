#!/usr/bin/env python3
"""Writes fuzz/corpus/byte_pairs_fuzz/: tokenizers that are accepted, and some that are refused late. Standard library only.

usage: fuzz/make_tokenizer_corpus.py      Files that a fuzzer found and that were kept are not touched.
"""
import json
import pathlib

CORPUS = pathlib.Path(__file__).parent / "corpus" / "byte_pairs_fuzz"
SHOWN = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
OTHERS = [b for b in range(256) if b not in SHOWN]


def letter(byte):
    return chr(byte if byte in SHOWN else 0x100 + OTHERS.index(byte))


def tokenizer(tokens, merges):
    numbers = {token: number for number, token in enumerate([*map(letter, range(256)), *tokens])}
    return json.dumps(numbers).encode() + b"\n====\n#version: 0.2\n" + "".join(m + "\n" for m in merges).encode()


FILES = {
    "bytes": tokenizer([], []),
    "merges": tokenizer(["ab", "aba", "<|end|>"], ["a b", "ab a"]),
    "twice": tokenizer(["ab"], ["a b", "a b"]),
    "too_early": tokenizer(["ab", "aba"], ["ab a", "a b"]),
}
CORPUS.mkdir(parents=True, exist_ok=True)
for name, data in FILES.items():
    (CORPUS / name).write_bytes(data)
