"""Signed heads: forged, missing, forked, of other runs and of other keys."""
from canon import sha, signed_payload, tree, u32
from ed25519 import Key, malleated
from falsehood import HARMLESS, REFUSED, falsehood, family
from objects import Head

HEADS = "heads"
SMALL_ORDER = (bytes([1]) + bytes(31), bytes(32), bytes([236]) + b"\xff" * 30 + b"\x7f")


def _last(**fields):
    def act(run):
        for name, value in fields.items():
            setattr(run.heads[-1], name, value)
    return act


def _sizes(edit):
    """The sizes of the heads, changed: all signed by the engaged key."""
    def act(run):
        run.heads = [Head(size) for size in edit([h.size for h in run.heads])]
    return act


FORMS = {
    "none": _sizes(lambda s: []),
    "only the last": _sizes(lambda s: s[-1:]),
    "the last is missing": _sizes(lambda s: s[:-1]),
    "the last does not cover the final leaf": _sizes(lambda s: s[:-1] + [6]),
    "one over more leaves than there are": _sizes(lambda s: s + [8]),
    "one over 2^64 - 1 leaves": lambda run: run.heads.append(_fixed(2**64 - 1)),
    "one twice": _sizes(lambda s: s[:1] + s),
    "in another order": _sizes(lambda s: s[1::-1] + s[2:]),
    "another root": _last(root=sha(b"root")),
    "a root of zeros": _last(root=bytes(32)),
    "another job": _last(job_root=sha(b"job")),
    "another run id": _last(run_id=sha(b"run")[:16]),
    "a signature of zeros": _last(signature=bytes(64)),
    "another tag": _last(tag="isobit.heads"),
    "version 0": _last(version=0),
    "a later version": _last(version=9),
    "a byte more": _last(edit=lambda b: b + b"\0"),
    "a byte less": _last(edit=lambda b: b[:-1]),
    "a flipped bit in the signature": _last(edit=lambda b: b[:-40] + bytes([b[-40] ^ 1]) + b[-39:]),
    "a signature with S + L": _last(edit=lambda b: b[:-64] + malleated(b[-64:])),
}


def _fixed(size):
    head = Head(size)
    head.root = sha(b"root")
    return head


@family([(f"heads: {name}", act) for name, act in FORMS.items()], REFUSED, "head")
def _(run, act):
    act(run)


# More than are due is no lie.
@family([("heads: one of no leaves", _sizes(lambda s: [0] + s)), ("heads: one for every leaf", _sizes(
    lambda s: list(range(1, s[-1] + 1))))], HARMLESS)
def _(run, act):
    act(run)


@falsehood("heads: the first is of another transcript (a fork)", REFUSED, "root")
def _(run, arena, arithmetic):
    run.heads[0].root = sha(b"the other way")


@falsehood("heads: signed by a stranger", REFUSED, "key")
def _(run, arena, arithmetic):
    run.heads[-1].signer = arena.stranger


@falsehood("heads: signed by a stranger in the trainer's name", REFUSED, "signature")
def _(run, arena, arithmetic):
    run.heads[-1].signer, run.heads[-1].key = arena.stranger, arena.trainer.public


@falsehood("heads: signed by the client", REFUSED, "key")
def _(run, arena, arithmetic):
    run.heads[-1].signer = arena.client


@family([(f"heads: key of small order {i}", key) for i, key in enumerate(SMALL_ORDER)], REFUSED, "key")
def _(run, key):
    # Under such a key S = 0 with the point itself is a signature of many messages.
    run.heads[-1].key, run.heads[-1].signature = key, key + bytes(32)


def _other_message(make):
    def act(run):
        leaves = run.encoded_leaves()
        head, terms, key = run.heads[-1], run.engagement.terms, run.trainer
        head.signature = key.sign(make(terms, key.public, len(leaves), tree(leaves)))
    return act


MESSAGES = {
    "of a manifest": lambda t, k, n, r: signed_payload("isobit.manifest", t.job_root, t.run_id, k, n, r),
    "of fewer leaves": lambda t, k, n, r: signed_payload("isobit.head", t.job_root, t.run_id, k, n - 1, r),
    "of another key": lambda t, k, n, r: signed_payload("isobit.head", t.job_root, t.run_id, bytes(32), n, r),
    "of the root alone": lambda t, k, n, r: r,
    "of the hash of the message":
        lambda t, k, n, r: sha(signed_payload("isobit.head", t.job_root, t.run_id, k, n, r)),
}


@family([(f"heads: a signature {name}", _other_message(make)) for name, make in MESSAGES.items()], REFUSED, "signature")
def _(run, act):
    act(run)


@falsehood("heads: those of another run of the job", REFUSED, "run_id")
def _(run, arena, arithmetic):
    other = arena.run(arithmetic, "checkpoint.keep=4")
    leaves = other.encoded_leaves()
    for head in other.heads:
        head.settle(leaves, other.engagement.terms, other.trainer)
    run.heads = other.heads


FILES = {
    "the file is empty": lambda b: b"",
    "only half of it is there": lambda b: b[:len(b) // 2],
    "a byte after the last": lambda b: b + b"\0",
    "an empty record": lambda b: b + u32(0) + sha(u32(0))[:8],
    "a record of 2^32 - 1 bytes": lambda b: b + b"\xff" * 4 + bytes(8),
    "a record with a wrong checksum": lambda b: b[:-1] + bytes([b[-1] ^ 1]),
    "the file has another tag": lambda b: b.replace(b"isobit.heads_file", b"isobit.heads_fine"),
}


@family([(f"heads: {name}", edit) for name, edit in FILES.items()], REFUSED, "heads")
def _(run, edit):
    run.edits[HEADS] = edit


@falsehood("heads: 200,000 of them", REFUSED, "heads", heavy=True)
def _(run, arena, arithmetic):
    from files import record
    run.edits[HEADS] = lambda b: b + record(run.heads[-1].bytes()) * 200000


__all__ = ["Key"]
