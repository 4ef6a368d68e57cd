#!/usr/bin/env python3
"""Prints the digests of shown_batch_test.cpp, from docs/formats/job.md and merkle.md alone (hashlib, no isobit).

usage: shown_batch_oracle.py                                  prints them
       shown_batch_oracle.py ROOT BATCH SAMPLE LEAVES         exit status 1 unless they are these
Thirteen training samples, of sample i the bytes i, 7, i * i mod 256; five of the test whose leaves are SHA-256 of nothing;
shown are training sample 6 and the leaves of the batch 11, 3, 4, 3 of step 2.
"""
import os
import struct
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from tensor_root_oracle import sha, tagged, text  # noqa: E402

TRAIN, BATCH, SHOWN = 13, [11, 3, 4, 3], 6


def u64(*numbers):
    return struct.pack("<%dQ" % len(numbers), *numbers)


def sized(data):
    return u64(len(data)) + data


def split(leaves):
    k = 1
    while 2 * k < len(leaves):
        k *= 2
    return k


def root(leaves):
    """RFC 6962, section 2.1, over hashes of leaves."""
    if len(leaves) == 1:
        return leaves[0]
    k = split(leaves)
    return sha(b"\x01" + root(leaves[:k]) + root(leaves[k:]))


def path(index, leaves):
    if len(leaves) == 1:
        return []
    k = split(leaves)
    if index < k:
        return path(index, leaves[:k]) + [root(leaves[k:])]
    return path(index - k, leaves[k:]) + [root(leaves[:k])]


def unopened(indices, begin, leaves):
    inside = [i for i in indices if begin <= i < begin + len(leaves)]
    if not inside:
        return [root(leaves)]
    if len(leaves) == 1:
        return []
    k = split(leaves)
    return unopened(indices, begin, leaves[:k]) + unopened(indices, begin + k, leaves[k:])


def frame(tag, version=1):
    return text(tag) + struct.pack("<I", version)


def salt(index):
    return tagged("isobit.sample-salt", 1, sha(b"salt") + b"\0" + struct.pack("<q", index))


def sample(index):
    return bytes([index, 7, index * index % 256])


def leaf(index):
    return sha(b"\0" + frame("isobit.sample") + salt(index) + u64(index) + sized(sample(index)))


def digests():
    leaves = [leaf(i) for i in range(TRAIN)]
    test = [sha(b"")] * 5
    trees = sized(b"head") + u64(TRAIN) + root(leaves) + u64(5) + root(test)
    batch = [leaves[i] for i in BATCH]
    one = (frame("isobit.shown-sample") + trees + salt(SHOWN) + sized(sample(SHOWN))
           + sized(frame("isobit.inclusion-proof") + u64(SHOWN, TRAIN) + b"".join(path(SHOWN, leaves))))
    indices = sorted(set(BATCH))
    several = (frame("isobit.shown-leaves") + trees
               + sized(frame("isobit.multi-proof") + u64(TRAIN, len(indices), *indices)
                       + b"".join(unopened(indices, 0, leaves)))
               + b"".join(leaves[i] for i in indices))
    return [d.hex() for d in (tagged("isobit.dataset", 1, trees),
                              tagged("isobit.batch", 1, u64(2, len(batch)) + root(batch)), sha(one), sha(several))]


if __name__ == "__main__":
    print("\n".join(digests()))
    sys.exit(len(sys.argv) > 1 and sys.argv[1:] != digests())
