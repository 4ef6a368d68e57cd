"""ONNX models written field by field, right ones and wrong ones. Needs nothing but Python."""
import struct

FLOAT, UINT8, INT32, INT64, STRING, BOOL, DOUBLE = 1, 2, 6, 7, 8, 9, 11


def number(n):
    n &= (1 << 64) - 1
    out = b""
    while n > 127:
        out += bytes([n & 127 | 128])
        n >>= 7
    return out + bytes([n])


def field(tag, value):
    """An int as a number, a float as four bytes, anything else as bytes behind their length."""
    if isinstance(value, int):
        return number(tag << 3) + number(value)
    if isinstance(value, float):
        return number(tag << 3 | 5) + struct.pack("<f", value)
    data = value.encode() if isinstance(value, str) else value
    return number(tag << 3 | 2) + number(len(data)) + data


def fields(tag, values):
    return b"".join(field(tag, v) for v in values)


def tensor(name, element, dims, data):
    return fields(1, dims) + field(2, element) + field(8, name) + field(9, data)


def floats(name, dims, *values):
    return tensor(name, FLOAT, dims, struct.pack(f"<{len(values)}f", *values))


def ints(name, *values):
    return tensor(name, INT64, [len(values)], struct.pack(f"<{len(values)}q", *values))


def whole(name, value):
    return tensor(name, INT64, [], struct.pack("<q", value))


def elsewhere(name, element, dims, **entries):
    """A tensor whose data lie in another file."""
    return (fields(1, dims) + field(2, element) + field(8, name) +
            fields(13, (field(1, k) + field(2, str(v)) for k, v in entries.items())) + field(14, 1))


class Graph(bytes):
    """A graph as an attribute."""


class Tensor(bytes):
    """A tensor as an attribute."""


def attribute(name, value):
    if isinstance(value, Graph):
        return field(1, name) + field(6, bytes(value)) + field(20, 5)
    if isinstance(value, Tensor):
        return field(1, name) + field(5, bytes(value)) + field(20, 4)
    if isinstance(value, int):
        return field(1, name) + field(3, value) + field(20, 2)
    if isinstance(value, float):
        return field(1, name) + field(2, value) + field(20, 1)
    if isinstance(value, str):
        return field(1, name) + field(4, value) + field(20, 3)
    if value and isinstance(value[0], str):
        return field(1, name) + fields(9, value) + field(20, 8)
    if value and isinstance(value[0], float):
        return field(1, name) + fields(7, value) + field(20, 6)
    return field(1, name) + fields(8, value) + field(20, 7)


def node(op, inputs, outputs, name="n", domain="", **attributes):
    return (fields(1, inputs) + fields(2, outputs) + field(3, name) + field(4, op) +
            fields(5, (attribute(n, v) for n, v in attributes.items())) + (field(7, domain) if domain else b""))


def value(name, dims=None, element=FLOAT):
    if dims is None:
        return field(1, name)
    shape = b"".join(field(1, field(2, d) if isinstance(d, str) else field(1, d)) for d in dims)
    return field(1, name) + field(2, field(1, field(1, element) + field(2, shape)))


def graph(nodes, inputs=(), outputs=("y",), tensors=()):
    named = [value(o) if isinstance(o, str) else o for o in outputs]
    return Graph(fields(1, nodes) + field(2, "g") + fields(5, tensors) + fields(11, inputs) + fields(12, named))


def function(name, inputs, outputs, nodes, more=b""):
    return (field(1, name) + fields(4, inputs) + fields(5, outputs) + fields(7, nodes) + field(9, field(2, 18)) +
            field(9, field(1, "own") + field(2, 1)) + field(10, "own") + more)


def opset(version, domain=""):
    return field(8, (field(1, domain) if domain else b"") + field(2, version))


def model(body, functions=(), version=18):
    own = opset(1, "own") if functions else b""
    return field(1, 8) + field(2, "by hand") + field(7, body) + fields(25, functions) + own + opset(1, "ai.onnx.ml") + \
        opset(version)


def one(op, inputs, given=(), outputs=("y",), tensors=(), version=18, domain="", **attributes):
    """A model of one node, named "n"."""
    return model(graph([node(op, inputs, list(outputs), domain=domain, **attributes)], given, outputs, tensors),
                 version=version)


def npy(code, dims, data):
    """A .npy file, as --input reads it."""
    shape = "(" + "".join(f"{d}, " for d in dims) + ")"
    header = f"{{'descr': '{code}', 'fortran_order': False, 'shape': {shape}, }}"
    header += " " * (-(len(header) + 11) % 64) + "\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode() + data
