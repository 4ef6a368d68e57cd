"""Transcripts that are none: leaves and records of a form that no honest trainer writes."""
from canon import sha, u32
from falsehood import REFUSED, UNREADABLE, falsehood, family, with_codes

TRANSCRIPT = "transcript"


def _edit_leaf(i, edit):
    def act(run):
        run.leaves[i].edit = edit
    return act


def _set(i, **fields):
    def act(run):
        for name, value in fields.items():
            setattr(run.leaves[i], name, value)
    return act


LEAVES = {
    # name: (act, words)
    "a leaf of version 0": (_set(2, version=0), "version"),
    "a leaf of a later version": (_set(2, version=9), "version"),
    "a leaf with another tag": (_set(2, tag="isobit.leap"), "tag"),
    "a leaf with a longer tag": (_set(2, tag="isobit.leaf\0"), "tag"),
    "a leaf of no kind": (_set(2, kind=3), "kind"),
    "a step that calls itself the initial leaf": (_set(2, kind=0), "leaf 2"),
    "a step that calls itself final": (_set(2, kind=2), "leaf 2"),
    "a final leaf that calls itself a step": (_set(6, kind=1), "leaf 6"),
    "an initial leaf that calls itself a step": (_set(0, kind=1), "leaf 0"),
    "step 0": (_set(1, step=0), "step"),
    "step 1 called 2": (_set(1, step=2), "step"),
    "step 3 called 4": (_set(3, step=4), "step"),
    "step 5 called 6": (_set(5, step=6), "step"),
    "a step of number 2^64 - 1": (_set(5, step=2**64 - 1), "step"),
    "a byte after a leaf": (_edit_leaf(3, lambda b: b + b"\0"), "leaf 3"),
    "a leaf cut short": (_edit_leaf(3, lambda b: b[:-1]), "leaf 3"),
    "an empty leaf": (_edit_leaf(3, lambda b: b""), "leaf 3"),
    "a leaf that is too long": (_edit_leaf(3, lambda b: b + bytes(2000)), "record 3"),
    "a loss of float64": (_set(3, dtype=2), "loss"),
    "a loss of no type": (_set(3, dtype=0), "loss"),
    "a loss wider than its type": (_set(3, loss=1 << 40), "loss"),
    "a state where none is due": (_set(3, state_root=sha(b"state")), "state_root"),
    "no state where one is due": (_set(4, state_root=None), "state_root"),
    "a mark of a state that is neither yes nor no": (_edit_leaf(1, lambda b: b[:-1] + b"\2"), "state_root"),
    "a final leaf of other steps": (_set(6, steps=6), "steps"),
    "a final leaf of 2^63 steps": (_set(6, steps=1 << 63), "steps"),
    "another job root": (_set(0, job_root=sha(b"job")), "job_root"),
    "a job root of zeros": (_set(0, job_root=bytes(32)), "job_root"),
}


@family([(f"leaf: {name}", row[0]) for name, row in LEAVES.items()], REFUSED, "transcript")
def _(run, act):
    act(run)


@falsehood("leaf: a log where none is due", REFUSED, "log_segment", only=("ordered-1", "correct-1"))
def _(run, arena, arithmetic):
    run.step(3).log_segment = sha(b"log")


@falsehood("leaf: no log where one is due", REFUSED, "log_segment", only=("sparse", "ovt"))
def _(run, arena, arithmetic):
    run.step(3).log_segment = None


# The sequence of leaves. The heads are signed over whatever there is.
def _cover(run):
    """A last head over all the leaves there are."""
    run.heads[-1].size = len(run.leaves)
    run.heads = [h for i, h in enumerate(run.heads) if i + 1 == len(run.heads) or h.size < len(run.leaves)]


SEQUENCES = {
    "no leaves": lambda leaves: leaves.clear(),
    "only the initial leaf": lambda leaves: leaves.__delitem__(slice(1, None)),
    "no final leaf": lambda leaves: leaves.pop(),
    "no initial leaf": lambda leaves: leaves.pop(0),
    "a step left out": lambda leaves: leaves.pop(3),
    "the last step left out": lambda leaves: leaves.pop(5),
    "a step twice": lambda leaves: leaves.insert(3, leaves[3].copy()),
    "steps 2 and 3 exchanged": lambda leaves: leaves.insert(2, leaves.pop(3)),
    "two final leaves": lambda leaves: leaves.append(leaves[-1].copy()),
    "two initial leaves": lambda leaves: leaves.insert(0, leaves[0].copy()),
    "the final leaf first": lambda leaves: leaves.insert(0, leaves.pop()),
    "steps after the final leaf": lambda leaves: leaves.append(leaves[5].copy()),
}


@family([(f"leaves: {name}", edit) for name, edit in SEQUENCES.items()], REFUSED, "transcript")
def _(run, edit):
    final = run.leaves[-1]
    edit(run.leaves)
    run.final_steps = final.steps
    _cover(run)


def _one_step_more(run):
    more = run.leaves[5].copy()
    more.step = 6
    run.leaves.insert(6, more)
    _cover(run)


@falsehood("leaves: a sixth step of five", REFUSED, "transcript")
def _(run, arena, arithmetic):
    _one_step_more(run)


@falsehood("leaves: a sixth step of five, and the header says six", REFUSED, "")
def _(run, arena, arithmetic):
    _one_step_more(run)
    run.header.steps = 6
    run.leaves[-1].steps = 6
    run.leaves[6].state_root = sha(b"state")
    if run.segments is not None:
        run.segments.append(run.segments[-1])
    run.checkpoints[6] = run.checkpoints.pop(5)


# The header of the file, which no root covers.
HEADERS = {
    "says fewer steps": dict(steps=4),
    "says more steps": dict(steps=6),
    "says 4 million steps": dict(steps=4194304),
    "says more steps than any job has": dict(steps=4194305),
    "says 2^64 - 1 steps": dict(steps=2**64 - 1),
    "says no steps": dict(steps=0),
    "says states after every step": dict(commit_every=1),
    "says states after every third step": dict(commit_every=3),
    "says no states": dict(commit_every=2**63),
    "says states after every 0 steps": dict(commit_every=0),
    "says float64": dict(dtype=2),
    "says a type that is none": dict(dtype=200),
    "says logged 2": dict(logged=2),
    "has a wrong checksum": dict(checksum=bytes(8)),
    "has another tag": dict(tag="isobit.transcript"),
    "has version 0": dict(version=0),
}


@family([(f"header {name}", fields) for name, fields in HEADERS.items()], REFUSED, "transcript")
def _(run, fields):
    for name, value in fields.items():
        setattr(run.header, name, value)


@falsehood("header has a later version", REFUSED, "transcript")
def _(run, arena, arithmetic):
    run.header.version = 9


@falsehood("header of a logged job, and no log in the leaves", REFUSED, "transcript", only=("ordered-1", "correct-1"))
def _(run, arena, arithmetic):
    run.header.logged = 1


@falsehood("header of a job without log, and leaves without", REFUSED, "", only=("sparse", "ovt"))
def _(run, arena, arithmetic):
    run.header.logged = 0
    for leaf in run.leaves[1:-1]:
        leaf.log_segment = None
    run.segments = None


@falsehood("header that makes one interval of all", REFUSED, "", only=("ordered-1", "correct-1", "sparse", "ovt"))
def _(run, arena, arithmetic):
    run.header.commit_every = 5
    for t in (2, 4):
        run.step(t).state_root = None
        del run.checkpoints[t]
    run.step(5).state_root = run.final.state_root
    run.heads = run.heads[-1:]


# Records.
RECORDS = {
    "the file is empty": lambda b: b"",
    "only half of it is there": lambda b: b[:len(b) // 2],
    "a byte after the last record": lambda b: b + b"\0",
    "a record after the last": lambda b: b + u32(0) + sha(u32(0))[:8],
    "zeros after the last record": lambda b: b + bytes(4096),
    "a record with a wrong checksum": lambda b: b[:-1] + bytes([b[-1] ^ 1]),
    "a record of 2^32 - 1 bytes": lambda b: b + u32(2**32 - 1) + bytes(8),
    "all of it twice": lambda b: b + b,
}


@family([(f"transcript: {name}", edit) for name, edit in RECORDS.items()], REFUSED, "transcript")
def _(run, edit):
    run.edits[TRANSCRIPT] = edit


EMPTY = u32(0) + sha(u32(0))[:8]


@family([("transcript: 1 MiB of empty records", 1 << 20), ("heads: 1 MiB of empty records", -(1 << 20))],
        REFUSED, "")
def _(run, size):
    run.edits[TRANSCRIPT if size > 0 else "heads"] = lambda b: b + EMPTY * (abs(size) // len(EMPTY))


@family([("transcript: 1 GiB of empty records", 1 << 30), ("heads: 1 GiB of empty records", -(1 << 30))],
        REFUSED, "", heavy=True, only=("ordered-1",))
def _(run, size):
    run.edits[TRANSCRIPT if size > 0 else "heads"] = lambda b: b + EMPTY * (abs(size) // len(EMPTY) - 1000)


__all__ = ["UNREADABLE", "with_codes"]
