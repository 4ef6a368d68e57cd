"""Rounding logs that a dishonest trainer forged, padded or mixed up; every leaf, head and manifest is signed over them."""
import struct

import segments
from bundle import LOG
from canon import sha, u32, u64, u8
from falsehood import HARMLESS, LIE, LOGGED, REFUSED, falsehood, family, with_codes
from log_segment_oracle import ovt_payload, sparse_payload, varint
from segments import OVT, SPARSE, STORED, ZSTD, Segment, compressed

AT = 3  # in the interval of steps 3 and 4
LOG_LIE = LIE  # a bundle looks into no segment


def in_segment(name, verdict=LOG_LIE, says="log", only=LOGGED, step=AT, intervals=(1,), **more):
    """Decorates edit(segment): the new bytes of the segment of `step`."""
    def add(edit):
        @falsehood(f"log: {name}", verdict, says, only=only, intervals=intervals, **more)
        def _(run, arena, arithmetic):
            run.segments[step - 1] = edit(Segment(run.segments[step - 1]))
        return edit
    return add


def rows(only, table, **more):
    for name, edit in table.items():
        in_segment(name, only=only, **more)(edit)


# The frame of a segment.
def _bytes(edit):
    return lambda s: edit(s.bytes())


def _field(**fields):
    def edit(s):
        for name, value in fields.items():
            setattr(s, name, value)
        return s.bytes()
    return edit


def rle_frame(size, byte=b"\0"):
    """A zstd frame (RFC 8878) of `size` equal bytes in runs of 128 KiB, four bytes a run."""
    blocks, run = b"", 1 << 17
    for at in range(0, size, run):
        n = min(run, size - at)
        blocks += struct.pack("<I", n << 3 | 1 << 1 | (at + n == size))[:3] + byte
    return b"\x28\xb5\x2f\xfd" + b"\xe0" + u64(size) + blocks


def windowed_frame(log_size):
    """A frame that asks for a window of 2^log_size bytes and says nothing of its size."""
    return b"\x28\xb5\x2f\xfd" + b"\x00" + u8((log_size - 10) << 3) + b"\x01\0\0"


FRAMES = {
    "an empty segment": _bytes(lambda b: b""),
    "half a segment": _bytes(lambda b: b[:len(b) // 2]),
    "a segment cut by a byte": _bytes(lambda b: b[:-1]),
    "a byte after the segment": _bytes(lambda b: b + b"\0"),
    "a segment twice": _bytes(lambda b: b + b),
    "a segment of another tag": _bytes(lambda b: b.replace(b"log-segment", b"log-segmend")),
    "a segment of version 0": _field(version=0),
    "a segment of a later version": _field(version=9),
    "a segment of another step": _field(step=4),
    "a segment of step 0": _field(step=0),
    "a segment of step 2^64 - 1": _field(step=2**64 - 1),
    "a segment of no kind": _bytes(lambda b: b[:30] + b"\7" + b[31:]),
    "a segment of the other kind": _bytes(lambda b: b[:30] + bytes([1 - b[30]]) + b[31:]),
    "a compression nobody knows": lambda s: s.bytes(s.payload(), 2),
    "stored, and called compressed": lambda s: s.bytes(s.payload(), ZSTD),
    "compressed, and called stored": lambda s: s.bytes(compressed(s.payload()), STORED),
    "two frames": lambda s: s.bytes(compressed(s.payload()[:20]) + compressed(s.payload()[20:]), ZSTD),
    "a skippable frame before": lambda s: s.bytes(b"\x50\x2a\x4d\x18\4\0\0\0junk" + compressed(s.payload()), ZSTD),
    "a skippable frame after": lambda s: s.bytes(compressed(s.payload()) + b"\x50\x2a\x4d\x18\4\0\0\0junk", ZSTD),
    "no frame": lambda s: s.bytes(b"", ZSTD),
    "a frame of nothing": lambda s: s.bytes(compressed(b""), ZSTD),
    "a damaged frame": lambda s: s.bytes(compressed(s.payload())[:-3] + b"\xff\xff\xff", ZSTD),
    "a frame of 1 GiB in 32 KiB": lambda s: s.bytes(rle_frame(1 << 30), ZSTD),
    "a frame of 64 MiB of ones": lambda s: s.bytes(rle_frame(1 << 26, b"\1"), ZSTD),
    "a frame that says 2^63 bytes": lambda s: s.bytes(b"\x28\xb5\x2f\xfd\xe0" + u64(1 << 63) + b"\1\0\0", ZSTD),
    "a frame with a window of 1 TiB": lambda s: s.bytes(windowed_frame(40), ZSTD),
    "random bytes": lambda s: s.bytes(b"".join(sha(u32(i)) for i in range(64)), STORED),
    "40 KB of zeros": lambda s: s.bytes(bytes(40000), STORED),
}
rows(LOGGED, FRAMES)
rows(LOGGED, {"64 MiB of ones": lambda s: s.bytes(b"\1" * (1 << 26), STORED)}, verdict=REFUSED, says="log/segments: is 67")


@falsehood("log: the same entries, compressed otherwise", HARMLESS, only=LOGGED)
def _(run, arena, arithmetic):
    segment = Segment(run.segments[AT - 1])
    run.segments[AT - 1] = segment.bytes(compressed(segment.payload(), 19), ZSTD)


# Entries of a sparse segment.
def _entries(edit):
    """edit(entries of the first node) in place."""
    def act(s):
        edit(s.nodes[0][1])
        return s.bytes()
    return act


def _nodes(edit):
    def act(s):
        edit(s.nodes)
        return s.bytes()
    return act


def _flip(entries, i=0):
    position, parity, value = entries[i]
    if value is None:
        entries[i] = (position, "o" if parity == "e" else "e", None)


def _value(bits):
    def edit(entries):
        entries[0] = (entries[0][0], None, bits)
    return edit


SPARSE_ENTRIES = {
    "every entry says the other neighbour": _nodes(lambda nodes: [_flip(e, i) for _, e in nodes for i in range(len(e))]),
    "an entry of NaN": _entries(_value("7fc00000")),
    "an entry of infinity": _entries(_value("7f800000")),
    "an entry of minus infinity": _entries(_value("ff800000")),
    "an entry of the largest number": _entries(_value("7f7fffff")),
    "an entry of zero": _entries(_value("00000000")),
    "an entry of minus zero": _entries(_value("80000000")),
    "an entry of the smallest number": _entries(_value("00000001")),
    "an entry beyond the output": _entries(lambda e: e.append((1 << 24, "e", None))),
    "an entry at place 2^40": _entries(lambda e: e.append((1 << 40, "e", None))),
    "a node moved by one": _nodes(lambda n: n.__setitem__(-1, (n[-1][0] + 1, n[-1][1]))),
    "a node beyond the graph": _nodes(lambda n: n.append((100000, [(0, "e", None)]))),
    "node 2^60": _nodes(lambda n: n.append((1 << 60, [(0, "e", None)]))),
    "an entry of node 0": _nodes(lambda n: n.insert(0, (0, [(0, "e", None)])) if n[0][0] else n.append((1, []))),
}
rows(("sparse",), SPARSE_ENTRIES)

# What an auditor may do without: accepted if the values are the same, and said.
BEARABLE = with_codes(HARMLESS, audit=(0, 1), sample=(0, 1))
rows(("sparse",), {
    "an entry left out": _entries(lambda e: e.pop()),
    "all entries left out": _nodes(lambda n: n.clear()),
    "the first node left out": _nodes(lambda n: n.pop(0)),
    "an entry says the other neighbour": _entries(_flip),
    "an entry moved by one place": _entries(lambda e: e.__setitem__(-1, (e[-1][0] + 1, *e[-1][1:]))),
    "an entry more": _entries(lambda e: e.append((e[-1][0] + 2, "e", None))),
}, verdict=BEARABLE, says="")


@in_segment("every place of an output written down", only=("sparse",))
def _(s):
    node, entries = s.nodes[0]
    known = {e[0]: e for e in entries}
    s.nodes[0] = (node, [known.get(i, (i, "e", None)) for i in range(entries[-1][0] + 1)])
    return s.bytes()


@falsehood("log: a million entries in every step", LOG_LIE, "log", only=("sparse",), heavy=True)
def _(run, arena, arithmetic):
    for t in range(1, 6):
        s = Segment(run.segments[t - 1])
        s.nodes = [(n, [(i, "eo"[i % 2], None) for i in range(e[-1][0] + 1)]) for n, e in s.nodes]
        run.segments[t - 1] = s.bytes()


# Payloads of a sparse segment that are not written as they must be.
def _raw(edit):
    return lambda s: s.bytes(edit(s), STORED)


def _node(gap=0, entries=1, k=0, values=0, rest=b""):
    return varint(gap) + varint(entries - 1) + bytes([k]) + varint(values) + rest


SPARSE_PAYLOADS = {
    "no payload": _raw(lambda s: b""),
    "a number of nodes in two bytes where one would do": _raw(lambda s: b"\x80\0"),
    "a number of eleven bytes": _raw(lambda s: b"\xff" * 10 + b"\1"),
    "a number that never ends": _raw(lambda s: b"\xff" * 4096),
    "2^63 nodes": _raw(lambda s: varint(1 << 63)),
    "more nodes than there are": _raw(lambda s: varint(len(s.nodes) + 1) + sparse_payload(s.nodes)[1:]),
    "fewer nodes than there are": _raw(lambda s: varint(len(s.nodes) - 1) + sparse_payload(s.nodes)[1:]),
    "2^40 entries": _raw(lambda s: b"\1" + _node(s.nodes[0][0], 1 << 40)),
    "2^63 entries": _raw(lambda s: b"\1" + _node(s.nodes[0][0], 1 << 63)),
    "more values than entries": _raw(lambda s: b"\1" + _node(s.nodes[0][0], 1, 0, 2, b"\0\1")),
    "parameter 63": _raw(lambda s: b"\1" + _node(s.nodes[0][0], 1, 63, 0, b"\1" + bytes(8))),
    "parameter 64": _raw(lambda s: b"\1" + _node(s.nodes[0][0], 1, 64, 0, b"\1" + bytes(9))),
    "parameter 255": _raw(lambda s: b"\1" + _node(s.nodes[0][0], 1, 255, 0, b"\1" + bytes(32))),
    "a parameter that is not the best": _raw(lambda s: b"\1" + _node(s.nodes[0][0], 1, 5, 0, b"\1")),
    "a gap of 32,000 zero bits": _raw(lambda s: b"\1" + _node(s.nodes[0][0], 1, 0, 0, bytes(4000) + b"\1")),
    "padding that is not zero": _raw(lambda s: b"\1" + _node(s.nodes[0][0], 1, 0, 0, b"\x81")),
    "a value cut short": _raw(lambda s: b"\1" + _node(s.nodes[0][0], 1, 0, 1, b"\0\3\0\0")),
    "a byte after the payload": _raw(lambda s: sparse_payload(s.nodes) + b"\0"),
}
rows(("sparse",), SPARSE_PAYLOADS)


# Decisions of an ovt segment.
def _digits(edit, pick=0):
    """edit(digits) of one output."""
    def act(s):
        key, digits = s.nodes[pick]
        s.nodes[pick] = (key, edit(digits))
        return s.bytes()
    return act


def _swapped(digits):
    return digits.translate(str.maketrans("02", "20"))


OVT_NODES = {
    "an output without decisions": _digits(lambda d: ""),
    "an output with a decision less": _digits(lambda d: d[:-1]),
    "an output with a decision more": _digits(lambda d: d + "1"),
    "an output left out": _nodes(lambda n: n.pop(0)),
    "the last output left out": _nodes(lambda n: n.pop()),
    "an output twice": _nodes(lambda n: n.insert(0, n[0])),
    "outputs in another order": _nodes(lambda n: n.insert(0, n.pop())),
    "an output of a node that is none": _nodes(lambda n: n.append(((100000, 0), "1"))),
    "an output of number 2^32 - 1": _nodes(lambda n: n.append(((n[-1][0][0], 2**32 - 1), "1"))),
    "no outputs": _nodes(lambda n: n.clear()),
}
rows(("ovt",), OVT_NODES)

OVT_PAYLOADS = {
    "no payload of decisions": lambda s: b"",
    "a byte that is no five decisions": lambda s: ovt_payload(s.nodes)[:16] + b"\xf3" + ovt_payload(s.nodes)[17:],
    "bytes of 255": lambda s: ovt_payload(s.nodes)[:16] + b"\xff" * (len(ovt_payload(s.nodes)) - 16),
    "2^63 decisions": lambda s: ovt_payload(s.nodes)[:8] + u64(1 << 63) + ovt_payload(s.nodes)[16:],
    "a byte after the decisions": lambda s: ovt_payload(s.nodes) + b"\0",
    "decisions cut short": lambda s: ovt_payload(s.nodes)[:-1],
}
rows(("ovt",), {name: _raw(edit) for name, edit in OVT_PAYLOADS.items()})


def _stray_decision(s):
    """A decision in the last byte of an output that has no element for it."""
    at, data = 0, bytearray(ovt_payload(s.nodes))
    for _, digits in s.nodes:
        at += 16 + -(-len(digits) // 5)
        if len(digits) % 5:
            data[at - 1] += 2 * 81
            return bytes(data)
    raise AssertionError("every output fills its bytes")


rows(("ovt",), {"a decision for an element that is none": _raw(_stray_decision)})
rows(("ovt",), {"every decision the other way": lambda s: _all(s, _swapped),
                "every value rounded up": lambda s: _all(s, lambda d: "2" * len(d)),
                "every value rounded down": lambda s: _all(s, lambda d: "0" * len(d))}, says="")


def _all(s, edit):
    s.nodes = [(key, edit(digits)) for key, digits in s.nodes]
    return s.bytes()


@in_segment("no decision at all", only=("ovt",), verdict=BEARABLE, says="")
def _(s):
    return _all(s, lambda d: "1" * len(d))


# Decisions of the optimizer at the last step: the weights follow them exactly, so nothing but the rule can object.
def float32_below(data, places):
    out = bytearray(data)
    for i in places:
        bits = struct.unpack_from("<I", data, 4 * i)[0]
        struct.pack_into("<I", out, 4 * i, bits - 1 if bits < 1 << 31 else bits + 1)
    return bytes(out)


def below(dtype, data, places):
    """The float32 under each of these values, in the type they are stored in."""
    if dtype == "F32":
        return float32_below(data, places)
    count = len(data) // 8
    single = struct.pack(f"<{count}f", *struct.unpack(f"<{count}d", data))
    return struct.pack(f"<{count}d", *struct.unpack(f"<{count}f", float32_below(single, places)))


@falsehood("log: decisions of the optimizer forged, and the weights with them", LOG_LIE, "", only=("ovt",))
def _(run, arena, arithmetic):
    segment, state = Segment(run.segments[4]), run.checkpoints[5]
    sizes = {}
    for name, (_, shape, _) in state.tensors.items():
        count = 1
        for d in shape:
            count *= d
        sizes.setdefault(count, []).append(name)
    done = 0
    pairs = {key[0] for key, _ in segment.nodes if key[1] == 1}
    for i, ((node, output), digits) in enumerate(segment.nodes):
        names = [n for n in sizes.get(len(digits), []) if "/" not in n]
        if output != 0 or node not in pairs or len(names) != 1 or segment.nodes[i + 1][0] != (node, 1):
            continue
        places = [j for j, d in enumerate(digits) if d == "2"]
        state.tensors[names[0]][2] = below(state.tensors[names[0]][0], state.tensors[names[0]][2], places)
        segment.nodes[i] = ((node, output), digits.replace("2", "0"))
        done += len(places)
    assert done > 100, "the optimizer's outputs were not found"
    run.segments[4] = segment.bytes()
    run.commit(5)


# The file.
@family([("log: the segments of two steps exchanged", lambda s: s.insert(2, s.pop(3))),
         ("log: a segment in place of the next one", lambda s: s.__setitem__(3, s[2]))],
        LOG_LIE, "log", only=LOGGED, intervals=[1])
def _(run, edit):
    edit(run.segments)


@family([("log: a segment left out", lambda s: s.pop(2)), ("log: the last segment left out", lambda s: s.pop()),
         ("log: a segment more", lambda s: s.append(s[-1])), ("log: no segments", lambda s: s.clear())],
        REFUSED, "log", only=LOGGED)
def _(run, edit):
    run.keep_segments = True
    edit(run.segments)


@falsehood("log: that of another run, committed to", LOG_LIE, "", only=LOGGED)
def _(run, arena, arithmetic):
    other = arena.run(arithmetic, "job.seed=8")
    run.segments = other.segments
    for t in range(1, 6):
        run.step(t).log_segment = other.step(t).log_segment


@falsehood("log: that of another run", LOG_LIE, "log", only=LOGGED)
def _(run, arena, arithmetic):
    run.keep_segments = True
    run.segments = arena.run(arithmetic, "job.seed=8").segments


@falsehood("log: one changed segment without its root", LOG_LIE, "log", only=LOGGED, intervals=[1])
def _(run, arena, arithmetic):
    run.keep_segments = True
    segment = Segment(run.segments[2])
    key, body = segment.nodes[0]
    segment.nodes[0] = (key, body[:-1] + ("1" if body[-1] != "1" else "2")) if segment.kind == OVT else (key, body[:-1])
    if segment.kind == SPARSE and not segment.nodes[0][1]:
        segment.nodes.pop(0)
    run.segments[2] = segment.bytes()


FILES = {
    "the file is empty": lambda b: b"",
    "the file is only a header": lambda b: segments.frame("isobit.log_file", 1),
    "the file has another tag": lambda b: b.replace(b"isobit.log_file", b"isobit.log_fire"),
    "the file is of a later version": lambda b: b[:23] + b"\x09\0\0\0" + b[27:],
    "a byte after the last segment": lambda b: b + b"\0",
    "an empty record after the last segment": lambda b: b + u32(0) + sha(u32(0))[:8],
    "a record of 2^32 - 1 bytes": lambda b: b + b"\xff" * 4 + bytes(8),
    "half of the file": lambda b: b[:len(b) // 2],
    "1 MiB of empty records": lambda b: segments.frame("isobit.log_file", 1) + (u32(0) + sha(u32(0))[:8]) * 87381,
}


@family([(f"log: {name}", edit) for name, edit in FILES.items()], REFUSED, "log", only=LOGGED)
def _(run, edit):
    run.edits[LOG] = edit


# The manifest vouches for the file, and checksums are against accidents: who reads the record sees it, an audit.
@falsehood("log: a record with a wrong checksum", LOG_LIE, "log", only=LOGGED)
def _(run, arena, arithmetic):
    run.edits[LOG] = lambda b: b[:-1] + bytes([b[-1] ^ 1])


@falsehood("log: an illegal entry of the optimizer's", LOG_LIE, "log", only=("sparse",), intervals=[1])
def _(run, arena, arithmetic):
    segment = Segment(run.segments[AT - 1])
    segment.nodes.append((segment.nodes[-1][0] + 40, [(0, "e", None)]))
    run.segments[AT - 1] = segment.bytes()
