"""One claim of an otherwise honest transcript that is not true: batches, losses, roots, the evaluation."""
import philox
from canon import sha, tagged, tree, u64
from falsehood import LIE, REFUSED, WEIGHTS, falsehood, family, with_codes
from objects import batch_digest

SEED, BATCH = 7, 8  # of the attacked job


def leaves_of(indices):
    return [philox.sample_leaf(0, i) for i in indices]


def batch_with(edit, step=3):
    """Digest of a batch whose list of leaves `edit` has changed."""
    leaves = leaves_of(philox.batch(SEED, BATCH, step))
    return batch_digest(step, edit(leaves) or leaves)


def _exchange(leaves):
    leaves[0], leaves[1] = leaves[1], leaves[0]


def _relabelled(leaves):
    i = philox.batch(SEED, BATCH, 3)[0]
    leaves[0] = philox.sample_leaf(0, i, label=(philox.sample(0, i)[0] + 1) % 10)


def _poisoned(leaves):
    leaves[0] = leaves[0][:-1] + bytes([leaves[0][-1] ^ 16])


def _replaced(leaves):
    leaves[0] = philox.sample_leaf(0, philox.batch(SEED, BATCH, 4)[0])


def _from_test(leaves):
    leaves[0] = philox.sample_leaf(1, 0)


def _salted(leaves):
    i = philox.batch(SEED, BATCH, 3)[0]
    leaves[0] = philox.sample_leaf(0, i, salt=sha(b"salt"))


BATCHES = {
    "two samples exchanged": _exchange,
    "a label flipped": _relabelled,
    "a pixel changed": _poisoned,
    "a sample replaced": _replaced,
    "a sample of the test split": _from_test,
    "a sample with another salt": _salted,
    "a sample twice": lambda leaves: leaves.__setitem__(1, leaves[0]),
    "a sample left out": lambda leaves: leaves[1:],
    "a sample more": lambda leaves: leaves + leaves_of([5]),
    "in reverse": lambda leaves: leaves[::-1],
    "no samples": lambda leaves: [b""],
}


@family([(f"batch: {name}", edit) for name, edit in BATCHES.items()], LIE, "differs batch")
def _(run, edit):
    run.step(3).batch = batch_with(edit)


@family([("batch: that of the step before", 2), ("batch: that of the step after", 4)], LIE, "differs batch")
def _(run, step):
    run.step(3).batch = run.step(step).batch


@falsehood("batch: the same samples under another step", LIE, "differs batch")
def _(run, arena, arithmetic):
    run.step(3).batch = batch_digest(2, leaves_of(philox.batch(SEED, BATCH, 3)))


@falsehood("batch: the bare root of its tree", LIE, "differs batch")
def _(run, arena, arithmetic):
    run.step(3).batch = tree(leaves_of(philox.batch(SEED, BATCH, 3)))


@falsehood("batch: under another tag", LIE, "differs batch")
def _(run, arena, arithmetic):
    leaves = leaves_of(philox.batch(SEED, BATCH, 3))
    run.step(3).batch = tagged("isobit.batches", 1, u64(3) + u64(BATCH) + tree(leaves))


@falsehood("batches: the order of another seed", LIE, "differs batch")
def _(run, arena, arithmetic):
    for t in range(1, 6):
        run.step(t).batch = batch_digest(t, leaves_of(philox.batch(SEED + 1, BATCH, t)))


@falsehood("batches: every step the first one's", LIE, "differs batch")
def _(run, arena, arithmetic):
    for t in range(1, 6):
        run.step(t).batch = batch_digest(t, leaves_of(philox.batch(SEED, BATCH, 1)))


# Losses, in one of the middle intervals.
LOSSES = {
    "one ulp up": lambda bits: bits + 1,
    "one ulp down": lambda bits: bits - 1,
    "half": lambda bits: bits - (1 << 23),
    "negative": lambda bits: bits | 1 << 31,
    "zero": lambda bits: 0,
    "minus zero": lambda bits: 1 << 31,
    "infinite": lambda bits: 0x7f800000,
    "NaN": lambda bits: 0x7fc00000,
    "NaN with a message": lambda bits: 0xffc0dead,
    "subnormal": lambda bits: 1,
}


@family([(f"loss: {name}", edit) for name, edit in LOSSES.items()], LIE, "differs loss", intervals=[1])
def _(run, edit):
    run.step(3).loss = edit(run.step(3).loss)


@falsehood("losses of two steps exchanged", LIE, "differs loss", intervals=[0, 1])
def _(run, arena, arithmetic):
    run.step(2).loss, run.step(3).loss = run.step(3).loss, run.step(2).loss


@falsehood("loss of the last step one ulp up", LIE, "differs loss")
def _(run, arena, arithmetic):
    run.step(5).loss += 1


# Roots.
@family([("state: made up after step 2", (2, lambda r: sha(b"state"))),
         ("state: that of step 4 after step 2", (2, lambda r: r.step(4).state_root)),
         ("state: that of step 2 after step 4", (4, lambda r: r.step(2).state_root)),
         ("state: zeros after step 4", (4, lambda r: bytes(32))),
         ("state: the tensors of step 4 numbered as step 2", (2, lambda r: r.state_root(2, r.checkpoints[4])))],
        with_codes(WEIGHTS, eval=0, export=0), "checkpoint of step")  # the final state is what it was
def _(run, row):
    step, make = row
    run.step(step).state_root = make(run)


@family([("final state: made up", lambda r: sha(b"state")),
         ("final state: that of step 4", lambda r: r.step(4).state_root),
         ("final state: zeros", lambda r: bytes(32)),
         ("final state: the bare root of its tree",
          lambda r: tree([t.encode() for t in r.checkpoints[5].tensors])),
         ("final state: numbered as step 4", lambda r: r.state_root(4, r.checkpoints[5])),
         ("final state: numbered as step 6", lambda r: r.state_root(6, r.checkpoints[5]))],
        WEIGHTS, "checkpoint of step 5")
def _(run, make):
    run.final.state_root = make(run)


def _without(name):
    def make(run):
        state = run.checkpoints[5].copy()
        del state.tensors[name(state)]
        return run.state_root(5, state)
    return make


@family([("final state: root without one weight", _without(lambda s: next(iter(s.tensors)))),
         ("final state: root without the momentum", _without(lambda s: next(n for n in s.tensors if "/" in n)))],
        WEIGHTS, "checkpoint of step 5")
def _(run, make):
    run.final.state_root = make(run)


# `info` shows one of the two, and says that it checks signatures alone.
@falsehood("two states claimed after the last step", with_codes(REFUSED, info=0), "different states", settings=("job.steps=4",))
def _(run, arena, arithmetic):
    run.step(4).state_root = sha(b"one")
    run.final.state_root = sha(b"other")
