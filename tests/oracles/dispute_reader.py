"""Reads disputes, spot checks and all that they show, from docs/formats/*.md alone, with nothing of isobit's."""
import bisect
import hashlib
import struct

SIZES = {1: 4, 2: 8, 3: 8, 4: 4, 5: 1, 6: 1, 7: 1, 8: 2, 9: 2, 10: 4, 11: 8, 12: 2, 13: 2}
BODIES = ["challenge", "steps", "values", "tiles", "parts", "leaf", "node", "states", "grounds", "loss", "batch", "sample",
          "log", "entry", "outputs"]


def sha(b):
    return hashlib.sha256(b).digest()


def u32(n):
    return struct.pack("<I", n)


def u64(n):
    return struct.pack("<Q", n)


def i64(n):
    return struct.pack("<q", n)


def text(s):
    s = s.encode() if isinstance(s, str) else s
    return u64(len(s)) + s


def tagged(tag, version, payload):
    return sha(text(tag) + u32(version) + u64(len(payload)) + payload)


def product(numbers):
    result = 1
    for n in numbers:
        result *= n
    return result


class Thing:
    """Fields of whatever was read."""


class Reader:
    def __init__(self, b):
        self.b, self.at = b, 0

    def raw(self, n):
        assert self.at + n <= len(self.b), f"ends at {len(self.b)}, {n} more bytes wanted at {self.at}"
        self.at += n
        return self.b[self.at - n:self.at]

    def u8(self):
        return self.raw(1)[0]

    def u32(self):
        return struct.unpack("<I", self.raw(4))[0]

    def u64(self):
        return struct.unpack("<Q", self.raw(8))[0]

    def i64(self):
        return struct.unpack("<q", self.raw(8))[0]

    def bytes(self):
        return self.raw(self.u64())

    def text(self):
        return self.bytes().decode()

    def digest(self):
        return self.raw(32)

    def flag(self):
        f = self.u8()
        assert f in (0, 1), f
        return f == 1

    def optional(self, read):
        return read() if self.flag() else None

    def many(self, read):
        return [read() for _ in range(self.u64())]

    def tag(self, tag, version=1):
        assert (self.text(), self.u32()) == (tag, version), tag

    def end(self):
        assert self.at == len(self.b), f"{len(self.b) - self.at} bytes follow"


def whole(read, b):
    r = Reader(b)
    result = read(r)
    r.end()
    return result


# Ed25519 as in RFC 8032.
P = 2**255 - 19
D = -121665 * pow(121666, -1, P) % P


def ed_add(a, b):
    x = (a[1] - a[0]) * (b[1] - b[0]) % P, (a[1] + a[0]) * (b[1] + b[0]) % P, 2 * a[3] * b[3] * D % P, 2 * a[2] * b[2] % P
    e, f, g, h = x[1] - x[0], x[3] - x[2], x[3] + x[2], x[1] + x[0]
    return e * f % P, g * h % P, f * g % P, e * h % P


def ed_times(n, a):
    result = (0, 1, 1, 0)
    while n:
        if n & 1:
            result = ed_add(result, a)
        a, n = ed_add(a, a), n >> 1
    return result


def ed_point(b):
    y = int.from_bytes(b, "little")
    sign, y = y >> 255, y & (2**255 - 1)
    x2 = (y * y - 1) * pow(D * y * y + 1, -1, P) % P
    x = pow(x2, (P + 3) // 8, P)
    if (x * x - x2) % P:
        x = x * pow(2, (P - 1) // 4, P) % P
    assert (x * x - x2) % P == 0, "no point"
    x = P - x if x & 1 != sign else x
    return x, y, 1, x * y % P


L = 2**252 + 27742317777372353535851937790883648493  # the order of the base point
BASE = ed_point((4 * pow(5, -1, P) % P).to_bytes(32, "little"))


def check_signature(key, signature, message):
    s = int.from_bytes(signature[32:], "little")
    k = int.from_bytes(hashlib.sha512(signature[:32] + key + message).digest(), "little") % L
    assert s < L
    a, b = ed_times(s, BASE), ed_add(ed_point(signature[:32]), ed_times(k, ed_point(key)))
    assert (a[0] * b[2] - b[0] * a[2]) % P == 0 and (a[1] * b[2] - b[1] * a[2]) % P == 0, "the signature is not valid"


def signed(tag, job_root, run_id, key, size, root):
    return text("isobit.signed") + u32(1) + text(tag) + job_root + run_id + key + u64(size) + root


# merkle.md
def leaf_hash(b):
    return sha(b"\0" + b)


def node_hash(left, right):
    return sha(b"\1" + left + right)


def split(n):
    return 1 << (n - 1).bit_length() - 1


def root_of(hashes):
    if len(hashes) < 2:
        return hashes[0] if hashes else sha(b"")
    k = split(len(hashes))
    return node_hash(root_of(hashes[:k]), root_of(hashes[k:]))


def inclusion(proof, leaf):
    """index, size and the root that it leads to"""
    r = Reader(proof)
    r.tag("isobit.inclusion-proof")
    index, size = r.u64(), r.u64()
    assert index < size
    sides, n, i = [], size, index
    while n > 1:
        k = split(n)
        sides.append(i >= k)
        i, n = (i - k, n - k) if i >= k else (i, k)
    h = leaf_hash(leaf)
    for right in reversed(sides):
        other = r.digest()
        h = node_hash(other, h) if right else node_hash(h, other)
    r.end()
    return index, size, h


def multi(proof, hashes):
    """indices, size and the root that it leads to"""
    r = Reader(proof)
    r.tag("isobit.multi-proof")
    size, indices = r.u64(), r.many(r.u64)
    assert indices and len(indices) == len(hashes) and indices == sorted(set(indices)) and indices[-1] < size

    def walk(begin, n):
        a, b = bisect.bisect_left(indices, begin), bisect.bisect_left(indices, begin + n)
        if a == b:
            return r.digest()
        if n == 1:
            return hashes[a]
        left = walk(begin, split(n))
        return node_hash(left, walk(begin + split(n), n - split(n)))

    root = walk(0, size)
    r.end()
    return indices, size, root


class Layout:
    """tensor_root.md"""

    def __init__(self, name, dtype, dims, at):
        self.dims, self.dtype, self.n, self.flat = dims, dtype, product(dims), len(dims) < 2
        at = 0 if self.flat else at
        self.rows, self.columns = ((self.n + 15) // 16, 16) if self.flat else (product(dims[:at]), product(dims[at:]))
        self.across = (self.columns + 15) // 16
        self.tiles = self.across * ((self.rows + 15) // 16) if self.n else 0
        self.header = tagged("isobit.tensor-header", 1, text(name) + bytes([dtype]) + u32(len(dims)) +
                             b"".join(map(i64, dims)) + bytes([not self.flat]) + u32(at))

    def elements(self, tile):
        row, column = divmod(tile, self.across)
        rows = range(16 * row, min(16 * row + 16, self.rows))
        columns = range(16 * column, min(16 * column + 16, self.columns))
        return [e for e in (self.columns * y + x for y in rows for x in columns) if e < self.n]

    def tile_of(self, e):
        return e // self.columns // 16 * self.across + e % self.columns // 16

    def root(self, tiles, root):
        return tagged("isobit.tensor-root", 1, self.header + u64(tiles) + root)

    def read(self, tile, leaf):
        size, elements = SIZES[self.dtype], self.elements(tile)
        assert leaf[:48] == self.header + u64(tile // self.across) + u64(tile % self.across)
        assert len(leaf) == 48 + size * len(elements)
        return {e: int.from_bytes(leaf[48 + size * i:48 + size * (i + 1)], "little") for i, e in enumerate(elements)}


def state_root(step, roots):
    leaves = [leaf_hash(text(name) + root) for name, root in sorted(roots.items())]
    return tagged("isobit.state-root", 1, u64(step) + u64(len(leaves)) + root_of(leaves))


# graph.md, trace-schema.md, job.md
def read_value(r):
    v = Thing()
    v.id = r.i64()
    if v.id != -1:
        v.name, v.dtype, v.dims = r.text(), r.u8(), r.many(r.i64)
    return v


def read_attribute(r):
    kind = r.u8()
    return [r.i64, lambda: struct.unpack("<d", r.raw(8))[0], r.text, lambda: r.many(r.i64),
            lambda: r.many(lambda: struct.unpack("<d", r.raw(8))[0]), r.digest, r.digest][kind]()


def node_proof(b):
    """the node, the head's digest and the graph root"""
    r = Reader(b)
    r.tag("isobit.graph-node-proof")
    head, leaf, path = r.digest(), r.bytes(), r.bytes()
    r.end()
    r, node = Reader(leaf), Thing()
    r.tag("isobit.graph-node")
    node.index, node.op, node.inputs = r.u64(), r.text(), r.many(r.i64)
    node.outputs = r.many(lambda: read_value(r))
    node.attributes = dict(r.many(lambda: (r.text(), read_attribute(r))))
    r.end()
    index, nodes, root = inclusion(path, leaf)
    assert index == node.index
    return node, head, tagged("isobit.graph", 2, head + u64(nodes) + root)


def read_head(b):
    r, head = Reader(b), Thing()
    head.digest = tagged("isobit.graph-head", 1, b)
    head.inputs, head.outputs = r.many(lambda: read_value(r)), r.many(r.i64)
    head.initializers = dict(r.many(lambda: (r.i64(), r.digest())))
    r.end()
    return head


def read_schema(b):
    r, entries = Reader(b), []
    r.tag("isobit.trace-schema")
    leaves = r.many(r.bytes)
    r.end()
    for i, leaf in enumerate(leaves):
        e, r = Thing(), Reader(leaf)
        r.tag("isobit.trace-entry")
        e.index, e.kind, e.node, e.place, e.name, e.dtype, e.dims = (r.u64(), r.u8(), r.i64(), r.i64(), r.text(), r.u8(),
                                                                    r.many(r.i64))
        e.layout = Layout(e.name, e.dtype, e.dims, r.u32())
        r.end()
        assert e.index == i
        entries.append(e)
    return entries, tagged("isobit.trace-schema", 1, u64(len(leaves)) + root_of([leaf_hash(b) for b in leaves]))


def read_parts_of_root(b):
    """the parts, and the job root that they make"""
    r, p = Reader(b), {}
    r.tag("isobit.job-root-parts")
    p["job"], p["dataset.root"], p["dataset.train"], p["dataset.test"] = r.digest(), r.digest(), r.u64(), r.u64()
    p["graph.step"], p["graph.eval"], p["graph.scored"] = r.digest(), r.digest(), r.optional(r.digest)
    p["trace"], p["state.initial"] = r.optional(r.digest), r.digest()
    if r.flag():
        p["frozen.count"], p["frozen.root"] = r.u64(), r.digest()
    r.end()
    p["versions"] = "generator:philox4x32-10/1 samples:1 preprocessing:1 tensor-root:1 graph:2 trace:1"
    p = {name: value for name, value in p.items() if value is not None}
    kinds = {int: lambda v: b"\3" + u64(v), str: lambda v: b"\5" + text(v), bytes: lambda v: b"\10" + v}
    fields = u64(len(p)) + b"".join(text(name) + kinds[type(p[name])](p[name]) for name in sorted(p))
    return p, tagged("isobit.job-root", 2, fields)


def read_engagement(b):
    e, r = Thing(), Reader(b)
    r.tag("isobit.engagement", 2)
    begin = r.at
    assert r.u32() == 1
    e.job_root, _, e.run_id, e.client, e.keys = r.digest(), r.digest(), r.raw(16), r.digest(), r.many(r.digest)
    e.referee = r.optional(r.digest)
    r.raw(5 * 8 + 2 * 9)
    terms, of_client, e.trainer, of_trainer = b[begin:r.at], r.raw(64), r.digest(), r.raw(64)
    r.end()
    check_signature(e.client, of_client, text("isobit.engagement.client") + u32(2) + terms)
    check_signature(e.trainer, of_trainer, text("isobit.engagement.trainer") + u32(2) + terms + of_client + e.trainer)
    return e


def read_transcript_leaf(b):
    leaf, r = Thing(), Reader(b)
    r.tag("isobit.leaf", 2)
    leaf.kind = r.u8()
    if leaf.kind == 1:
        leaf.step, _, _, _, leaf.state = r.u64(), r.digest(), r.raw(9), r.optional(r.digest), r.optional(r.digest)
        r.end()
    else:  # of the initial leaf the job root comes first, of the final one the number of steps
        leaf.step, leaf.state = (0, r.digest() and r.digest()) if leaf.kind == 0 else (r.u64(), r.digest())
    return leaf


def read_signed_head(b):
    h, r = Thing(), Reader(b)
    r.tag("isobit.head")
    h.size, h.root, h.job_root, h.run_id, h.key = r.u64(), r.digest(), r.digest(), r.raw(16), r.digest()
    check_signature(h.key, r.raw(64), signed("isobit.head", h.job_root, h.run_id, h.key, h.size, h.root))
    r.end()
    return h
