"""Checkpoints whose bytes are not the state that the transcript commits to, or no safetensors at all. The manifest is
signed over all of them."""
import json
import struct

from bundle import checkpoint
from canon import flipped, u64
from falsehood import HARMLESS, REFUSED, WEIGHTS, falsehood, family, with_codes
from falsehoods_training import OVERWRITES, change, weight_of

FINAL = checkpoint(5)


@family([(f"final checkpoint: {name}", act) for name, act in OVERWRITES.items()], WEIGHTS, "checkpoint of step 5")
def _(run, act):
    act(run.checkpoints[5])


@family([("checkpoint 2: other weights", 2), ("checkpoint 4: other weights", 4)],
        with_codes(WEIGHTS, eval=0, export=0), "checkpoint of step")
def _(run, step):
    state = run.checkpoints[step]
    change(state, weight_of(state), lambda i, x: -x)


@family([("checkpoints 4 and 5 exchanged", (4, 5)), ("checkpoints 2 and 5 exchanged", (2, 5))], WEIGHTS, "checkpoint of step")
def _(run, steps):
    a, b = steps
    run.checkpoints[a], run.checkpoints[b] = run.checkpoints[b], run.checkpoints[a]


def _rename(state, old, new):
    state.tensors = {new if name == old else name: t for name, t in state.tensors.items()}


def _more(state):
    state.tensors["zz.weight"] = ["F32", [2], struct.pack("<2f", 1, 2)]


def _drop(suffix):
    def act(state):
        del state.tensors[next(n for n in state.tensors if n.endswith(suffix))]
    return act


def _reshape(state):
    t = state.tensors[weight_of(state)]
    t[1] = [t[1][1], t[1][0], *t[1][2:]]


def _flatten(state):
    t = state.tensors[weight_of(state)]
    count = 1
    for d in t[1]:
        count *= d
    t[1] = [count]


def _retype(state):
    """The same bytes as integers."""
    t = state.tensors[weight_of(state)]
    t[0] = "I32" if t[0] == "F32" else "I64"


def _exchange_names(state):
    names = list(state.tensors)
    a, b = names[0], names[-1]
    order = {a: b, b: a}
    state.tensors = {order.get(n, n): t for n, t in state.tensors.items()}


STATES = {
    "a tensor more": _more,
    "a weight left out": _drop(".weight"),
    "a bias left out": _drop(".bias"),
    "the momentum left out": _drop("/momentum"),
    "no tensors": lambda s: s.tensors.clear(),
    "a tensor renamed": lambda s: _rename(s, weight_of(s), "other.weight"),
    "a tensor with an empty name": lambda s: _rename(s, weight_of(s), ""),
    "a tensor with a control character in its name": lambda s: _rename(s, weight_of(s), "a\x1b[2J\u202e"),
    "a tensor with other dimensions": _reshape,
    "a tensor without dimensions to speak of": _flatten,
    "a tensor of another type": _retype,
    "two tensors' names exchanged": _exchange_names,
}


@family([(f"final checkpoint: {name}", act) for name, act in STATES.items()], WEIGHTS, "checkpoint of step 5")
def _(run, act):
    act(run.checkpoints[5])


# Larger than a checkpoint of the job can be.
@falsehood("final checkpoint: a tensor with a name of 1 MB", REFUSED, "step-5.safetensors")
def _(run, arena, arithmetic):
    _rename(run.checkpoints[5], weight_of(run.checkpoints[5]), "a" * 1000000)


# Bytes that are no safetensors, or two things at once.
def _header(edit):
    """The JSON of the header as an object, changed; the data as they are."""
    def act(data):
        size = struct.unpack_from("<Q", data)[0]
        changed = edit(json.loads(data[8:8 + size]))
        text = changed if isinstance(changed, bytes) else json.dumps(changed).encode()
        return u64(len(text)) + text + data[8 + size:]
    return act


def _entry(**fields):
    def edit(header):
        name = next(n for n in header if n.endswith(".weight"))
        header[name].update(fields)
        return header
    return _header(edit)


def _offsets(edit):
    def act(header):
        name = next(n for n in header if n.endswith(".weight"))
        header[name]["data_offsets"] = edit(*header[name]["data_offsets"])
        return header
    return _header(act)


def _text(edit):
    return _header(lambda header: edit(json.dumps(header).encode()))


def _overlap(header):
    names = [n for n in header if n.endswith(".weight")]
    header[names[0]] = header[names[1]]
    return header


FORMS = {
    "empty": lambda b: b"",
    "7 bytes": lambda b: b[:7],
    "8 bytes": lambda b: b[:8],
    "cut by a byte": lambda b: b[:-1],
    "cut in half": lambda b: b[:len(b) // 2],
    "a byte more": lambda b: b + b"\0",
    "twice": lambda b: b + b,
    "a flipped bit in the middle": lambda b: flipped(b, 4 * len(b)),
    "a flipped bit at the end": lambda b: flipped(b, 8 * len(b) - 1),
    "a header of 2^64 - 1 bytes": lambda b: b"\xff" * 8 + b[8:],
    "a header of 2^63 bytes": lambda b: bytes(7) + b"\x80" + b[8:],
    "a header of 100 MB": lambda b: u64(100000000) + b[8:],
    "a header of no bytes": lambda b: bytes(8) + b[8:],
    "a header longer than the file": lambda b: u64(len(b)) + b[8:],
    "a header that is a list": _header(lambda h: [h]),
    "a header that is empty": _header(lambda h: {}),
    "a header that is not JSON": _text(lambda t: b"{" + t),
    "a header of lists 100,000 deep": _text(lambda t: b'{"a":' + b"[" * 100000 + b"]" * 100000 + b"}"),
    "a header of objects 100,000 deep": _text(lambda t: b'{"a":' * 100000 + b"1" + b"}" * 100000),
    "a header with a comma too many": _text(lambda t: t[:-1] + b",}"),
    "a header with a name twice": _text(lambda t: t[:-1] + b"," + t[1:]),
    "a header with a byte that is not UTF-8": _text(lambda t: t.replace(b"weight", b"weigh\xff", 1)),
    "a header with a zero": _text(lambda t: t.replace(b"weight", b"weigh\0", 1)),
    "a type nobody knows": _entry(dtype="F8"),
    "a type that is a number": _entry(dtype=1),
    "half precision": _entry(dtype="F16"),
    "a negative dimension": _entry(shape=[-1, -8]),
    "a dimension of 0": _entry(shape=[0]),
    "a dimension of 2^62": _entry(shape=[2**62, 4]),
    "a dimension of 2^64": _entry(shape=[2**64, 1]),
    "a dimension of 1.5": _entry(shape=[1.5]),
    "dimensions that overflow to the right size": _entry(shape=[2**33, 2**33]),
    "1,000 dimensions": _entry(shape=[1] * 1000),
    "dimensions that are a text": _entry(shape="8"),
    "a field nobody knows": _entry(strides=[1]),
    "offsets backwards": _offsets(lambda a, b: [b, a]),
    "offsets of one number": _offsets(lambda a, b: [a]),
    "offsets of three numbers": _offsets(lambda a, b: [a, b, b]),
    "negative offsets": _offsets(lambda a, b: [-1, b]),
    "offsets beyond the file": _offsets(lambda a, b: [a, 2**62]),
    "offsets of 2^64": _offsets(lambda a, b: [a, 2**64]),
    "a hole": _offsets(lambda a, b: [a + 4, b]),
    "overlapping tensors": _header(_overlap),
    "metadata that are a list": _header(lambda h: {**h, "__metadata__": []}),
    "metadata that are numbers": _header(lambda h: {**h, "__metadata__": {"step": 5}}),
    "metadata twice": _text(lambda t: t[:-1] + b',"__metadata__":{}}' if b"__metadata__" in t
                            else t[:-1] + b',"__metadata__":{},"__metadata__":{}}'),
    "of zeros": lambda b: bytes(len(b)),
}


@family([(f"final checkpoint: {name}", edit) for name, edit in FORMS.items()],
        with_codes(REFUSED, info=(0, 1)), "")
def _(run, edit):
    run.edits[FINAL] = edit


@family([(f"checkpoint 2: {name}", FORMS[name]) for name in ("empty", "cut by a byte", "a header of 2^64 - 1 bytes",
                                                            "overlapping tensors", "of zeros")],
        with_codes(WEIGHTS, eval=0, export=0), "")
def _(run, edit):
    run.edits[checkpoint(2)] = edit


METADATA = {
    "says another step": {"step": "4"},
    "says a step that is no number": {"step": "five"},
    "says nothing": {},
    "has control characters": {"step": "5", "a\x1b[2J": "\u202e\r\n\x07"},
}


@family([(f"final checkpoint: its metadata {name}", metadata) for name, metadata in METADATA.items()],
        dict.fromkeys(HARMLESS, (0, 1)))
def _(run, metadata):
    run.checkpoints[5].metadata = metadata


@falsehood("final checkpoint: 1 GiB of it", REFUSED, "", heavy=True, only=("ordered-1",))
def _(run, arena, arithmetic):
    run.edits[FINAL] = lambda b: b + bytes(1 << 30)
