"""Canonical bytes, tagged hashes and trees, from docs/formats/merkle.md. What tests/oracles has is shared with it."""
import hashlib
import os
import struct
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "oracles"))
from tensor_root_oracle import sha, state_root, tagged, tensor_root, text, tree  # noqa: E402,F401


def u8(n):
    return struct.pack("<B", n)


def u32(n):
    return struct.pack("<I", n)


def u64(n):
    return struct.pack("<Q", n % (1 << 64))


def optional(value):
    return b"\0" if value is None else b"\1" + value


def frame(tag, version):
    """How every object begins."""
    return text(tag) + u32(version)


def leaf_hash(leaf):
    return sha(b"\0" + leaf)


def commitment(tag, version, leaves):
    """A sized root: of the leaves' bytes."""
    return tagged(tag, version, u64(len(leaves)) + tree(leaves))


def signed_payload(tag, job_root, run_id, key, size, root):
    """docs/formats/signature.md."""
    return text("isobit.signed") + u32(1) + text(tag) + job_root + run_id + key + u64(size) + root


def flipped(data, bit):
    """The same bytes with one bit changed."""
    changed = bytearray(data)
    changed[bit // 8] ^= 1 << bit % 8
    return bytes(changed)


class Reader:
    """Takes objects apart. Only ever shown what an honest isobit wrote: it checks nothing but the length."""

    def __init__(self, data):
        self.data, self.at = data, 0

    def fixed(self, size):
        piece = self.data[self.at:self.at + size]
        assert len(piece) == size, f"{size} bytes expected at {self.at}, {len(piece)} are there"
        self.at += size
        return piece

    def number(self, form):
        return struct.unpack("<" + form, self.fixed(struct.calcsize("<" + form)))[0]

    def u8(self):
        return self.number("B")

    def u32(self):
        return self.number("I")

    def u64(self):
        return self.number("Q")

    def text(self):
        return self.fixed(self.u64()).decode()

    def optional(self, size=32):
        return self.fixed(size) if self.u8() else None

    def frame(self, tag, version):
        found = self.text(), self.u32()
        assert found == (tag, version), f"{found} where {(tag, version)} was expected: has the format changed?"

    def rest(self):
        return self.fixed(len(self.data) - self.at)

    def done(self):
        return self.at == len(self.data)


def digest(data):
    return hashlib.sha256(data).digest()
