"""Segments of the rounding log, from docs/formats/rounding-log.md. The encoding is that of tests/oracles."""
import ctypes
import ctypes.util
import struct

from canon import Reader, frame, u64, u8
from log_segment_oracle import log_root, ovt_payload, sparse_payload

SPARSE, OVT = 0, 1
STORED, ZSTD = 0, 1


def _library():
    name = ctypes.util.find_library("zstd") or "libzstd.so.1"
    zstd = ctypes.CDLL(name)
    zstd.ZSTD_getFrameContentSize.restype = ctypes.c_ulonglong
    zstd.ZSTD_decompress.restype = zstd.ZSTD_compress.restype = zstd.ZSTD_compressBound.restype = ctypes.c_size_t
    return zstd


_zstd = None


def zstd():
    global _zstd
    _zstd = _zstd or _library()
    return _zstd


def decompressed(data):
    size = zstd().ZSTD_getFrameContentSize(data, ctypes.c_size_t(len(data)))
    assert size < 1 << 32
    out = ctypes.create_string_buffer(size or 1)
    done = zstd().ZSTD_decompress(out, ctypes.c_size_t(size), data, ctypes.c_size_t(len(data)))
    assert done == size
    return out.raw[:size]


def compressed(data, level=3):
    room = zstd().ZSTD_compressBound(ctypes.c_size_t(len(data)))
    out = ctypes.create_string_buffer(room)
    size = zstd().ZSTD_compress(out, ctypes.c_size_t(room), data, ctypes.c_size_t(len(data)), level)
    assert size <= room
    return out.raw[:size]


class Signed(bytes):
    """A segment with the root of its entries, for the leaf of its step."""
    root = b""


class Segment:
    """nodes: of a sparse one (node, [(position, parity, value)]), of an ovt one ((node, output), digits)."""

    def __init__(self, data):
        r = Reader(data)
        r.frame("isobit.log-segment", 1)
        self.version, self.kind, self.step, self.compression = 1, r.u8(), r.u64(), r.u8()
        payload = r.rest()
        if self.compression == ZSTD:
            payload = decompressed(payload)
        self.nodes = ovt_nodes(payload) if self.kind == OVT else sparse_nodes(payload)

    def payload(self):
        return (ovt_payload if self.kind == OVT else sparse_payload)(self.nodes)

    def bytes(self, payload=None, compression=None):
        """As an honest trainer would write it, with its root; or around another payload, which may have none."""
        own = payload is None
        payload = self.payload() if own else payload
        if compression is None:
            smaller = compressed(payload)
            compression = ZSTD if len(smaller) < len(payload) else STORED
            payload = smaller if compression == ZSTD else payload
        data = Signed(frame("isobit.log-segment", self.version) + u8(self.kind) + u64(self.step) + u8(compression)
                      + payload)
        if own:
            data.root = self.root()
        return data

    def root(self):
        """Empty where a number does not fit the tree's leaves: no root can be that of such a log."""
        if self.kind == SPARSE and any(node >> 32 for node, _ in self.nodes):
            return b""
        return log_root("ovt" if self.kind == OVT else "sparse", self.step, self.nodes)


class Bits:
    def __init__(self, data, at):
        self.data, self.at, self.bit = data, at, 0

    def one(self):
        value = self.data[self.at] >> self.bit & 1
        self.bit += 1
        self.at, self.bit = self.at + self.bit // 8, self.bit % 8
        return value

    def number(self, size):
        return sum(self.one() << i for i in range(size))

    def gap(self, k):
        high = 0
        while not self.one():
            high += 1
        return high << k | self.number(k)

    def sorted_set(self, size, k):
        out, last = [], -1
        for _ in range(size):
            last += 1 + self.gap(k)
            out.append(last)
        return out

    def aligned(self):
        return self.at + (self.bit > 0)


def varint(data, at):
    value = shift = 0
    while True:
        value |= (data[at] & 127) << shift
        at, shift = at + 1, shift + 7
        if data[at - 1] < 128:
            return value, at


def sparse_nodes(data):
    count, at = varint(data, 0)
    nodes, node = [], -1
    for _ in range(count):
        skipped, at = varint(data, at)
        node += skipped + 1
        entries, at = varint(data, at)
        k = data[at]
        values, at = varint(data, at + 1)
        entries += 1
        k_values = 0
        if values:
            k_values, at = data[at], at + 1
        bits = Bits(data, at)
        positions = bits.sorted_set(entries, k)
        of_values = set(bits.sorted_set(values, k_values))
        parities = ["eo"[bits.one()] if i not in of_values else None for i in range(entries)]
        at = bits.aligned()
        out = []
        for position, parity in zip(positions, parities):
            value = None
            if parity is None:
                value, at = "%08x" % struct.unpack_from("<I", data, at)[0], at + 4
            out.append((position, parity, value))
        nodes.append((node, out))
    assert at == len(data)
    return nodes


def ovt_nodes(data):
    r, out = Reader(data), []
    while not r.done():
        node, output, elements = r.u32(), r.u32(), r.u64()
        packed = r.fixed(-(-elements // 5))
        digits = "".join("%d" % (b // 3**i % 3) for b in packed for i in range(5))
        out.append(((node, output), digits[:elements]))
    return out
