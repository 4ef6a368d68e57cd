#!/usr/bin/env python3
"""Prints the root of the small graph of graph_tree_test.cpp, from docs/formats/graph.md alone (hashlib, no isobit).

usage: graph_oracle.py            prints it
       graph_oracle.py ROOT       exit status 1 unless it is this one
"""
import os
import struct
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from tensor_root_oracle import tagged, tensor_root, text, tree  # noqa: E402

FLOAT32 = 1


def u64(n):
    return struct.pack("<Q", n)


def i64(n):
    return struct.pack("<q", n)


def value(number, name, dims):
    return i64(number) + text(name) + bytes([FLOAT32]) + u64(len(dims)) + b"".join(map(i64, dims))


def node(index, op, inputs, outputs, attributes):
    """attributes: {name: integer}"""
    return (text("isobit.graph-node") + struct.pack("<I", 1) + u64(index) + text(op)
            + u64(len(inputs)) + b"".join(map(i64, inputs)) + u64(len(outputs)) + b"".join(outputs)
            + u64(len(attributes)) + b"".join(text(k) + b"\0" + i64(attributes[k]) for k in sorted(attributes)))


def graph_root():
    """x [2, 3] times a constant c = (2, 2, 2), flattened at axis 1."""
    constant = tensor_root("c", "float32", [3], 1, struct.pack("<3f", 2, 2, 2))
    head = u64(1) + value(0, "x", [2, 3]) + u64(1) + i64(3) + u64(1) + i64(1) + constant
    nodes = [node(0, "Mul", [0, 1], [value(2, "y", [2, 3])], {}),
             node(1, "Flatten", [2], [value(3, "z", [2, 3])], {"axis": 1})]
    return tagged("isobit.graph", 2, tagged("isobit.graph-head", 1, head) + u64(len(nodes)) + tree(nodes)).hex()


if __name__ == "__main__":
    print(graph_root())
    sys.exit(len(sys.argv) > 1 and sys.argv[1] != graph_root())
