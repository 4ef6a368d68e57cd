"""Runs that were trained otherwise than the job says, from the first wrong step to the last weight: consistent lies."""
import random
import struct

from canon import sha
from falsehood import ALL, LIE, LOGGED, REFUSED, falsehood, with_codes

# Another job's training, passed off as the one that was ordered.
JOBS = {
    "seed": "job.seed=8",
    "half the rate": "optimizer.lr=0.025",
    "a rate one ulp off": "optimizer.lr=0.05000001",
    "less momentum": "optimizer.momentum=0.8",
    "no momentum": "optimizer.momentum=0.0",
    "nesterov": "optimizer.nesterov=true",
    "no weight decay": "optimizer.weight_decay=0.0",
    "more weight decay": "optimizer.weight_decay=5e-3",
    "clipped gradients": "optimizer.clip_norm=0.01",
    "no warmup": "schedule.warmup=0",
    "a floor under the rate": "schedule.min_lr=0.01",
    "a constant rate": "schedule.name=constant",
    "half the batch": "data.batch=4",
    "twice the batch": "data.batch=16",
    "crops": "data.augment=[\"crop\"]",
    "fewer test samples": "evaluate.samples=30",
}
# Numbers of other arithmetics. On isobit's own kernels plain float32 is ordered-1 by another name, and no lie under it.
NUMBERS = {
    "plain float32": "job.arithmetic=float32",
    "plain float64": "job.arithmetic=float64",
    "fewer bits": ("job.arithmetic=rounded", "rounding.bits=28"),
}
SINGLE = ("ordered-1", "correct-1")  # whose states are of float32


def pass_off(run, other, keep_batches):
    """The leaves, states and logs of another run under this one's engagement and job."""
    for mine, theirs in zip(run.leaves, other.leaves):
        if mine.kind == 0:
            mine.state_root = theirs.state_root
        elif mine.kind == 1:
            mine.loss, mine.state_root = theirs.loss, theirs.state_root
            mine.log_segment = theirs.log_segment if mine.log_segment and theirs.log_segment else mine.log_segment
            if not keep_batches:
                mine.batch = theirs.batch
        else:
            mine.state_root, mine.tree, mine.metrics = theirs.state_root, theirs.tree, theirs.metrics
    run.checkpoints = other.checkpoints
    if run.segments is not None and other.segments is not None:
        run.segments = other.segments


def _another_job(name, setting, keep_batches=True, verdict=LIE, says="differs", only=ALL):
    title = f"trained with {name}" + ("" if keep_batches else ", and its batches committed")

    @falsehood(title, verdict, says, only=only)
    def _(run, arena, arithmetic):
        pass_off(run, arena.run(arithmetic, *([setting] if isinstance(setting, str) else setting)), keep_batches)


for _name, _setting in JOBS.items():
    _another_job(_name, _setting)
# Weights of which the job's network has not the half: nothing can be computed with them.
_another_job("a smaller network", "model.builder=logistic", verdict=with_codes(LIE, eval=1))
_another_job("plain float32", NUMBERS["plain float32"], only=("correct-1",))
for _name in ("plain float64", "fewer bits"):
    # Twice the bytes that a checkpoint of a float32 job can have.
    _another_job(_name, NUMBERS[_name], verdict=REFUSED, says="step-2.safetensors: is 1.1 MB", only=SINGLE)
    _another_job(f"{_name}, under a log", NUMBERS[_name], only=LOGGED)
_another_job("plain float32, under a log", NUMBERS["plain float32"], only=LOGGED)
for _name in ("seed", "half the batch"):
    _another_job(_name, JOBS[_name], keep_batches=False)


# isobit's own dishonest trainer, its lies signed again here.
def _cheat(kind, step):
    @falsehood(f"cheat: {kind} at step {step}", LIE, "differs", intervals=_wrong(step))
    def _(run, arena, arithmetic):
        other = arena.run(arithmetic, command=("cheat", "--kind", kind, "--at", str(step)))
        pass_off(run, other, keep_batches=kind != "order")


def _wrong(step):
    """The intervals of the attacked job that a wrong step spoils: its own."""
    return [(step - 1) // 2]


for _kind in ("sample", "label", "order", "rate", "momentum", "weight"):
    for _step in (1, 4, 5):
        _cheat(_kind, _step)


@falsehood("honest at first, another job from step 3", LIE, "differs", intervals=[1, 2])
def _(run, arena, arithmetic):
    first = run.copy()
    pass_off(run, arena.run(arithmetic, "optimizer.lr=0.025"), keep_batches=True)
    for t in (0, 1, 2):
        run.leaves[t] = first.leaves[t]
    run.checkpoints[2] = first.checkpoints[2]
    if run.segments is not None:
        run.segments = first.segments[:2] + run.segments[2:]


@falsehood("another job at first, honest from step 3", LIE, "differs", intervals=[0, 1])
def _(run, arena, arithmetic):
    other = arena.run(arithmetic, "optimizer.lr=0.025")
    for t in (1, 2):
        other.leaves[t].batch = run.leaves[t].batch
        run.leaves[t] = other.leaves[t]
    run.checkpoints[2] = other.checkpoints[2]
    if run.segments is not None:
        run.segments = other.segments[:2] + run.segments[2:]


@falsehood("the last step left out, its state the one before", LIE, "differs")
def _(run, arena, arithmetic):
    run.checkpoints[5] = run.checkpoints[4].copy()
    run.checkpoints[5].metadata = dict(run.checkpoints[5].metadata, step="5")
    run.commit(5)


@falsehood("step 4 does what step 2 did", LIE, "differs", intervals=[1, 2])
def _(run, arena, arithmetic):
    run.step(4).batch, run.step(4).loss = run.step(2).batch, run.step(2).loss


# What happens to the weights, committed to as if it had been trained.
def _at_the_end(name, verdict=LIE, step=5, intervals=None):
    def add(act):
        @falsehood(name, verdict, "differs", intervals=intervals)
        def _(run, arena, arithmetic):
            act(run.checkpoints[step])
            run.commit(step)
        return act
    return add


def weight_of(state):
    """The largest tensor of weights."""
    return max((n for n in state.tensors if n.endswith(".weight")), key=lambda n: len(state.tensors[n][2]))


def momentum_of(state):
    return max((n for n in state.tensors if "/" in n), key=lambda n: len(state.tensors[n][2]))


def change(state, name, act):
    state.set_values(name, [act(i, x) for i, x in enumerate(state.values(name))])


def _every_weight(act):
    def apply(state):
        for name in [n for n in state.tensors if "/" not in n and state.tensors[n][0] in ("F32", "F64")]:
            change(state, name, act)
    return apply


def _float32(x):
    return struct.unpack("<f", struct.pack("<f", x))[0]


def _bfloat16(i, x):
    return struct.unpack("<f", struct.pack("<I", struct.unpack("<I", struct.pack("<f", x))[0] & 0xffff0000))[0]


_GENERATOR = random.Random(7)
OVERWRITES = {
    "all weights zero": _every_weight(lambda i, x: 0.0),
    "all weights negated": _every_weight(lambda i, x: -x),
    "all weights twice as large": _every_weight(lambda i, x: 2 * x),
    "all weights random": _every_weight(lambda i, x: _float32(_GENERATOR.uniform(-0.1, 0.1))),
    "all weights NaN": _every_weight(lambda i, x: float("nan")),
    "all weights infinite": _every_weight(lambda i, x: float("inf")),
    "all weights the largest number": _every_weight(lambda i, x: 3.4028234663852886e38),
    "weights of lower precision": _every_weight(_bfloat16),
    "one weight NaN": lambda s: change(s, weight_of(s), lambda i, x: float("nan") if i == 3 else x),
    "one weight in the last bit": lambda s: _flip_last_bit(s, weight_of(s)),
    "a gradient injected": lambda s: change(s, weight_of(s), lambda i, x: _float32(x + 0.01) if i < 16 else x),
    "momentum in the last bit": lambda s: _flip_last_bit(s, momentum_of(s)),
    "momentum zero": lambda s: change(s, momentum_of(s), lambda i, x: 0.0),
    "momentum infinite": lambda s: change(s, momentum_of(s), lambda i, x: float("inf")),
    "weights and momentum exchanged": lambda s: _exchange(s),
    "rows of a weight exchanged": lambda s: _exchange_rows(s),
}


def _flip_last_bit(state, name):
    data = bytearray(state.tensors[name][2])
    # A float32 all the same where it is stored as a float64: what lies between two is rounded away by the next step.
    at, bit = (4, 0x10) if state.tensors[name][0] == "F32" else (12, 0x02)
    data[at] ^= bit
    state.tensors[name][2] = bytes(data)


def _exchange(state):
    name = weight_of(state)
    a, b = state.tensors[name], state.tensors[name + "/momentum"]
    a[2], b[2] = b[2], a[2]


def _exchange_rows(state):
    t = state.tensors[weight_of(state)]
    size = len(t[2]) // t[1][0]
    t[2] = t[2][size:2 * size] + t[2][:size] + t[2][2 * size:]


for _name, _act in OVERWRITES.items():
    _at_the_end(f"overwritten at the end: {_name}",
                with_codes(LIE, eval=(0, 1)) if "NaN" in _name or "infinite" in _name or "largest" in _name else LIE)(_act)
for _name in ("one weight in the last bit", "momentum in the last bit", "all weights NaN"):
    _at_the_end(f"overwritten after step 2: {_name}", step=2, intervals=[0, 1])(OVERWRITES[_name])
    _at_the_end(f"overwritten after step 4: {_name}", step=4)(OVERWRITES[_name])


@falsehood("a layer frozen for the last step", LIE, "differs")
def _(run, arena, arithmetic):
    name = weight_of(run.checkpoints[5])
    run.checkpoints[5].tensors[name] = list(run.checkpoints[4].tensors[name])
    run.commit(5)


@falsehood("minus zero in place of zero", LIE, "differs")
def _(run, arena, arithmetic):
    state = run.checkpoints[5]
    for name, (dtype, _, data) in state.tensors.items():
        values = state.values(name) if dtype in ("F32", "F64") else []
        if 0.0 in values:
            at = values.index(0.0)
            minus = struct.unpack("<d", struct.pack("<Q", 1 << 63))[0]
            plus = struct.unpack("<d", bytes(8))[0]
            changed = not str(values[at]).startswith("-")
            values[at] = minus if changed else plus
            state.set_values(name, values)
            return run.commit(5)
    # No zero there: one is made, which is as false.
    change(state, weight_of(state), lambda i, x: -0.0 if i == 0 else x)
    return run.commit(5)


# States that are claimed and not shown.
def _root(name, step, make, verdict, says, intervals=None):
    @falsehood(name, verdict, says, intervals=intervals)
    def _(run, arena, arithmetic):
        leaf = run.initial if step == 0 else run.final if step == 5 else run.step(step)
        leaf.state_root = make(run)


_root("another initial state claimed", 0, lambda r: sha(b"begin"), LIE, "initial_state")
_root("the initial state is that of step 2", 0, lambda r: r.step(2).state_root, LIE, "initial_state")
