#!/usr/bin/env python3
"""GPT-2's tokens again: by its pattern and merges in Python, and by the tokenizers library where that is installed.

usage: tokenizer_oracle.py TOKEN_DUMP FOLDER WORK_FOLDER [TEXT...]

FOLDER has encoder.json and vocab.bpe. The texts: those named, and random Unicode, of characters that this Python knows and
that are not younger than Unicode 15.0.
Exit status 77 where the files are not there.
"""
import array
import json
import pathlib
import random
import re
import subprocess
import sys
import unicodedata

# Unicode's White_Space, which a pattern means by \\s.
SPACES = {0x20, 0x85, 0xA0, 0x1680, 0x2028, 0x2029, 0x202F, 0x205F, 0x3000, *range(0x9, 0xE), *range(0x2000, 0x200B)}
# GPT-2's pattern over the letters of `class_letter`.
PATTERN = re.compile(r"'s|'t|'re|'ve|'m|'ll|'d| ?[A-Za-z]+| ?[0-9]+| ?[^\s0-9A-Za-z]+|\s+(?!\S)|\s+", re.ASCII)


def class_letter(c):
    """A letter of ASCII of the same class, so that the pattern needs to know of no others. What contractions and blanks
    are made of stays."""
    if ord(c) < 128 and (c.isalnum() or c in "' "):
        return c
    if ord(c) in SPACES:
        return "\t"
    return {"L": "A", "N": "0"}.get(unicodedata.category(c)[0], "!")


def words(text):
    classes = "".join(map(class_letter, text))
    return [text[m.start():m.end()] for m in PATTERN.finditer(classes)]


def byte_letters():
    shown = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    letters = {b: chr(b) for b in shown}
    for n, b in enumerate(b for b in range(256) if b not in letters):
        letters[b] = chr(256 + n)
    return letters


class Reference:
    def __init__(self, encoder, merges):
        self.numbers = json.loads(encoder.read_text(encoding="utf-8"))
        pairs = [tuple(line.split()) for line in merges.read_text(encoding="utf-8").split("\n")[1:-1]]
        self.ranks = {pair: rank for rank, pair in enumerate(pairs)}
        self.letters = byte_letters()
        self.known = {}

    def merged(self, word):
        parts = [self.letters[b] for b in word.encode()]
        while len(parts) > 1:
            best = min(zip(parts, parts[1:]), key=lambda pair: self.ranks.get(pair, len(self.ranks)))
            if best not in self.ranks:
                break
            at, joined = 0, []
            while at < len(parts):
                here = tuple(parts[at:at + 2]) == best
                joined.append("".join(parts[at:at + 2]) if here else parts[at])
                at += 2 if here else 1
            parts = joined
        return [self.numbers[part] for part in parts]

    def tokens(self, text):
        found = []
        for word in words(text):
            if word not in self.known:
                self.known[word] = self.merged(word)
            found += self.known[word]
        return found


def library(encoder, merges):
    """text -> tokens by another implementation, or None."""
    try:
        import tokenizers
    except ImportError:
        return None
    model = tokenizers.models.BPE.from_file(str(encoder), str(merges))
    tokenizer = tokenizers.Tokenizer(model)
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)
    return lambda text: tokenizer.encode(text).ids


def random_text(length):
    chance = random.Random(5)
    # Python does not say since when a character has been there, but which were in Unicode 3.2.
    version = tuple(map(int, unicodedata.unidata_version.split(".")))
    category = (unicodedata if version <= (15, 0, 0) else unicodedata.ucd_3_2_0).category
    known = [chr(c) for c in range(0x110000) if category(chr(c)) not in ("Cn", "Cs", "Co")]
    often = list(" \n\t'stredlvma   aeiou 019.,!?\u00a0\u00e9\u4f60")
    return "".join(chance.choice(often if chance.random() < 0.6 else known) for _ in range(length))


def main():
    tool, folder, work = sys.argv[1], pathlib.Path(sys.argv[2]), pathlib.Path(sys.argv[3])
    files = folder / "encoder.json", folder / "vocab.bpe"
    if not all(f.exists() for f in files):
        print(f"skipped: {folder} has no tokenizer")
        sys.exit(77)
    work.mkdir(parents=True, exist_ok=True)
    (work / "random.txt").write_text(random_text(30000), encoding="utf-8", newline="")
    reference, other = Reference(*files), library(*files)
    for path in [work / "random.txt", *map(pathlib.Path, sys.argv[4:])]:
        text = path.read_bytes().decode()
        subprocess.run([tool, *map(str, files), str(path), str(work / "tokens")], check=True)
        found = array.array("i", (work / "tokens").read_bytes()).tolist()
        expected = reference.tokens(text)
        for name, wanted in (("the pattern", expected), ("tokenizers", other(text) if other else None)):
            if wanted is None or found == wanted:
                continue
            at = next(i for i, pair in enumerate(zip([*found, None], [*wanted, None])) if pair[0] != pair[1])
            sys.exit(f"{path}: token {at} of {len(found)}: found {found[at:at + 4]}, {name} has {wanted[at:at + 4]} of "
                     f"{len(wanted)}")
        print(f"{path.name}: {len(text)} characters, {len(found)} tokens{', tokenizers agrees' if other else ''}")


main()
