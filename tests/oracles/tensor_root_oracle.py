#!/usr/bin/env python3
"""Recomputes the tensor and state roots of a golden file from docs/formats/tensor_root.md alone (hashlib, no isobit).

usage: tensor_root_oracle.py GOLDEN            checks every line, exit status 1 at a difference
       tensor_root_oracle.py GOLDEN --write    fills in the digests again (only with a new format version)

Lines: tensor NAME DTYPE DIMS SPLIT DIGEST     DIMS is "-" for rank 0, else 3x5x7
       state STEP DIGEST                       over all tensor lines before it, each with its default layout
Element i of every tensor is the low bytes of i * 2654435761; of a bool tensor, its lowest bit.
"""
import hashlib
import struct
import sys

DTYPES = {"float32": (1, 4), "float64": (2, 8), "int64": (3, 8), "int32": (4, 4), "uint8": (5, 1), "bool": (6, 1)}


def sha(data):
    return hashlib.sha256(data).digest()


def text(s):
    return struct.pack("<Q", len(s.encode())) + s.encode()


def tagged(tag, version, payload):
    return sha(text(tag) + struct.pack("<I", version) + struct.pack("<Q", len(payload)) + payload)


def tree(leaves):
    """RFC 6962, section 2.1, over the leaves' bytes."""
    if not leaves:
        return sha(b"")
    if len(leaves) == 1:
        return sha(b"\x00" + leaves[0])
    k = 1
    while 2 * k < len(leaves):
        k *= 2
    return sha(b"\x01" + tree(leaves[:k]) + tree(leaves[k:]))


def element(i, dtype):
    size = DTYPES[dtype][1]
    value = i * 2654435761
    if dtype == "bool":
        value &= 1
    return (value % (1 << 64)).to_bytes(8, "little")[:size]


def product(values):
    out = 1
    for v in values:
        out *= v
    return out


def tensor_root(name, dtype, dims, split, data=None):
    """Of `data`, the bytes of all elements; without it of the golden file's made-up ones."""
    flat = len(dims) < 2
    size = DTYPES[dtype][1]
    if data is None:
        data = b"".join(element(i, dtype) for i in range(product(dims)))
    header = tagged("isobit.tensor-header", 1,
                    text(name) + bytes([DTYPES[dtype][0]]) + struct.pack("<I", len(dims))
                    + b"".join(struct.pack("<q", d) for d in dims)
                    + (struct.pack("<BI", 0, 0) if flat else struct.pack("<BI", 1, split)))
    n = product(dims)
    rows, cols = (-(-n // 16), 16) if flat else (product(dims[:split]), product(dims[split:]))
    leaves = []
    if n:
        for tile_row in range(-(-rows // 16)):
            for tile_col in range(-(-cols // 16)):
                leaf = header + struct.pack("<QQ", tile_row, tile_col)
                first, last = 16 * tile_col, min(16 * tile_col + 16, cols)
                for r in range(16 * tile_row, min(16 * tile_row + 16, rows)):
                    leaf += data[(r * cols + first) * size:min(r * cols + last, n) * size]
                leaves.append(leaf)
    return tagged("isobit.tensor-root", 1, header + struct.pack("<Q", len(leaves)) + tree(leaves))


def state_root(entries, step):
    leaves = [text(name) + root for name, root in sorted(entries, key=lambda e: e[0].encode())]
    return tagged("isobit.state-root", 1, struct.pack("<QQ", step, len(leaves)) + tree(leaves))


def main():
    path, write = sys.argv[1], "--write" in sys.argv[2:]
    entries, out, bad = [], [], 0
    for line in open(path, encoding="utf-8").read().splitlines():
        fields = line.split(" ")
        if fields[0] == "tensor":
            dims = [] if fields[3] == "-" else [int(d) for d in fields[3].split("x")]
            root = tensor_root(fields[1], fields[2], dims, int(fields[4])).hex()
            entries.append((fields[1], tensor_root(fields[1], fields[2], dims, 1)))
        elif fields[0] == "state":
            root = state_root(entries, int(fields[1])).hex()
        else:
            out.append(line)
            continue
        if not write and fields[-1] != root:
            print(f"{path}: {line}\n  recomputed {root}")
            bad += 1
        out.append(" ".join(fields[:-1] + [root]))
    if write:
        open(path, "w", encoding="utf-8").write("\n".join(out) + "\n")
    print(f"{len(entries)} tensors, {bad} differences")
    return 1 if bad or not entries else 0


if __name__ == "__main__":
    sys.exit(main())
