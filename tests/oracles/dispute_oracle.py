#!/usr/bin/env python3
"""Disputes and spot checks of the digits network against a reader of docs/formats/dispute.md and arithmetic of its own.

usage: dispute_oracle.py ISOBIT WORK

Records of `isobit dispute` about cheats, and the files of spot checks between two processes, are read from the first byte
to the last: signatures, histories, trees, what leads to the job root, draws. The elements of inner products, the states of
their sums, batches and samples are computed again; verdict and costs are compared with what isobit says.
"""
import collections
import glob
import json
import os
import shutil
import subprocess
import sys
import time

from dispute_arithmetic import (Correct, Ordered, batch_order, bits_of, drawn, parts_of_sum, value, written_chunks)
from dispute_bodies import (check_message, read_answer, read_body, read_file, read_message, read_question,
                            read_state_leaf, state_leaf)
from dispute_reader import (Layout, Reader, i64, inclusion, leaf_hash, multi, node_hash, read_engagement, root_of, sha,
                            split, state_root, tagged, text, u32, u64)

SEED, BATCH, STEPS, EVERY = 1, 32, 8, 4  # of the job
DRAWS = 40
PRODUCTS = ("MatMul", "Gemm", "Conv", "isobit.ConvGradSrc", "isobit.ConvGradWeights")
DISPUTES = {"ordered-1": ["gradient@3", "precision@5", "order@6"], "correct-1": ["gradient@2", "precision@7", "sample@4"]}
seen = collections.Counter()


class Step:
    """The values of a step: a schema and the roots that are claimed."""

    def __init__(self, entries, roots, parts):
        self.entries, self.roots, self.parts = entries, roots, parts
        assert len(entries) == len(roots)
        self.given = {e.name: e for e in entries if e.kind <= 2}
        self.made = {(e.kind, e.node, e.place): e for e in entries if e.kind > 2}

    def check_states(self, step, before, behind):
        state = {e.name: self.roots[e.index] for e in self.entries if e.kind == 0}
        assert state_root(step - 1, state) == before
        assert list(state) == [e.name for e in self.entries if e.kind == 0]
        for e in self.entries:
            if e.kind == 3 and e.name in state:
                state[e.name] = self.roots[e.index]
        assert state_root(step, state) == behind


class Operands:
    """What was shown of the inputs and statistics of an entry's node."""

    def __init__(self, step, entry, body):
        shown = body.node
        self.step, self.entry, self.node = step, entry, shown.node
        assert shown.graph_root == step.parts["graph.step"] and shown.node.index == entry.node
        made = {v.id: (p.index, k) for p, _, _ in shown.producers for k, v in enumerate(p.outputs)}
        heads = {v.id: v.name for v in shown.head.inputs} if shown.head else {}
        self.inputs = {}
        for i, v in enumerate(shown.node.inputs):
            if v in shown.constants:
                constant = shown.constants[v]
                assert shown.head.initializers[v] == constant.root
                self.inputs[i] = constant.layout, constant.root
            elif v != -1:
                e = step.made[3, *made[v]] if v in made else step.given[heads[v]]
                assert e.index < entry.index
                self.inputs[i] = e.layout, step.roots[e.index]
        self.elements = collections.defaultdict(dict)
        self.take(body.shown)

    def take(self, shown):
        for (statistic, index), tiles in shown:
            if statistic:
                e = self.step.made[4, self.entry.node, index]
                layout, root = e.layout, self.step.roots[e.index]
            else:
                layout, root = self.inputs[index]
            assert layout.root(tiles.tiles, tiles.root) == root and layout.tiles == tiles.tiles
            for tile, leaf in zip(tiles.indices, tiles.leaves):
                self.elements[statistic, index].update(layout.read(tile, leaf))

    def product(self, element):
        """Of an inner product each chunk of the written order, as its number of terms and what looks them up; the bias."""
        dims = self.inputs[0][0].dims, self.inputs[1][0].dims
        chunks, bias = written_chunks(self.node, *dims, self.entry.dims, element)

        def at(i, e):
            return 0.0 if e is None else value(self.elements[0, i][e])

        terms = [lambda c=c: [(at(0, a), at(1, b)) for a, b in c] for c in chunks]
        return list(zip(map(len, chunks), terms)), at(2, bias) if 2 in self.inputs else None


def step_leaves(first, steps):
    return [leaf_hash(text("isobit.leaf") + u32(2) + b"\1" + u64(t) + batch + loss + (b"\1" + log if log else b"\0") +
                      (b"\1" + state if t % EVERY == 0 else b"\0"))
            for t, (batch, loss, log, state) in enumerate(steps, first + 1)]


def check_steps(challenge, body, engagement):
    (before, behind), head = challenge.leaves, challenge.head
    assert challenge.job_root == head.job_root == engagement.job_root and head.run_id == engagement.run_id
    assert head.key == engagement.trainer
    found = multi(body.proof, step_leaves(before.step, body.steps))
    assert found == (list(range(before.step + 1, behind.step + 1)), head.size, head.root)
    assert body.steps[-1][3] == behind.state
    seen["steps in the transcript"] += len(body.steps)
    return before.step, [before.state] + [s[3] for s in body.steps]


def read_dataset(r, parts):
    header, counts = r.bytes(), []
    for _ in range(2):
        counts.append((r.u64(), r.digest()))
    assert tagged("isobit.dataset", 1, u64(len(header)) + header + b"".join(u64(n) + root for n, root in counts)) == \
        parts["dataset.root"]
    return header, counts[0]


def batch_commitment(shown, step, parts):
    r = Reader(shown)
    r.tag("isobit.shown-leaves")
    _, (samples, root) = read_dataset(r, parts)
    proof, order = r.bytes(), batch_order(SEED, BATCH, samples, step)
    leaves = {i: r.digest() for i in sorted(set(order))}
    r.end()
    assert multi(proof, list(leaves.values())) == (list(leaves), samples, root)
    seen["batches"] += 1
    return tagged("isobit.batch", 1, i64(step) + u64(BATCH) + root_of([leaves[i] for i in order]))


def fed(shown, entry, element, step, parts):
    """What a step is fed at an element of its images or labels."""
    r = Reader(shown)
    r.tag("isobit.shown-sample")
    header, (samples, root) = read_dataset(r, parts)
    salt, sample, path = r.raw(32), r.bytes(), r.bytes()
    r.end()
    assert header.startswith(b"isobit dataset\n") and b"u8/16" in header
    place, within = divmod(element, entry.layout.n // BATCH)
    i = batch_order(SEED, BATCH, samples, step)[place]
    assert salt == tagged("isobit.sample-salt", 1, tagged("isobit.public-salt", 1, b"") + b"\0" + i64(i))
    leaf = text("isobit.sample") + u32(1) + salt + u64(i) + text(sample)
    assert inclusion(path, leaf) == (i, samples, root)
    seen["samples"] += 1
    return bits_of(sample[8 + within] / 16) if entry.dtype == 1 else int.from_bytes(sample[:8], "little")


def part(begin, size, depth, roots):
    """The root of the parts of a subtree, which are taken from the list."""
    if depth == 0 or size == 1:
        return roots.pop(0)
    left = part(begin, split(size), depth - 1, roots)
    return node_hash(left, part(begin + split(size), size - split(size), depth - 1, roots))


def places(begin, size, depth):
    if depth == 0 or size == 1:
        return [(begin, size)]
    k = split(size)
    return places(begin, k, depth - 1) + places(begin + k, size - k, depth - 1)


def difference(a, b):
    return next(i for i, (x, y) in enumerate(zip(a, b)) if x != y)


def turns_of(record):
    """The engagement, the bodies of each turn by party, and the sizes of lists and of all messages."""
    r = Reader(record)
    r.tag("isobit.dispute-record")
    engagement, messages = read_engagement(r.bytes()), [read_message(m) for m in r.many(r.bytes)]
    assert r.u8() == 0
    r.end()
    challenger = next(m.key for m in messages if m.key != engagement.trainer)
    history = tagged("isobit.dispute-history", 1, engagement.job_root + engagement.run_id + challenger)
    turns, lists = [], 0
    for t in range(messages[-1].turn + 1):
        turn, before = {}, history
        for m in (m for m in messages if m.turn == t):
            party = int(m.key == challenger)
            assert party or m.key == engagement.trainer
            assert party not in turn and (party or not turn)  # the trainer's comes first
            check_message(m, engagement, before)
            turn[party] = read_body(m.body)
            history = tagged("isobit.dispute-history", 1, history + bytes([party]) + sha(m.body))
            lists += m.size if turn[party].kind in ("steps", "values", "batch") else 0
        turns.append(turn)
    seen["messages of disputes"] += len(messages)
    return engagement, turns, lists, sum(m.size for m in messages)


def play(record, told, arithmetic):
    engagement, turns, lists, size = turns_of(record)
    assert (told["rounds"], told["list_bytes"], told["referee_bytes"]) == (len(turns), lists, size)
    turns = iter(turns)
    challenge, steps = next(turns)[1], next(turns)
    first, states = check_steps(challenge, steps[0], engagement)
    at = difference(steps[0].steps, steps[1].steps)
    step, parts = first + 1 + at, challenge.parts
    assert told["step"] == step
    turn = next(turns)
    if turn[1].kind == "batch":
        right = batch_commitment(turn[1].leaves, step, parts)
        assert [steps[p].steps[at][0] == right for p in (0, 1)] == [False, True] and told["level"] == "step"
        return
    entries, schema = turn[1].schema
    assert schema == parts["trace"]
    sides = [Step(entries, turn[p].roots, parts) for p in (0, 1)]
    for p in (0, 1):
        sides[p].check_states(step, states[at], steps[p].steps[at][3])
    entry = entries[difference(turn[0].roots, turn[1].roots)]
    turn = next(turns)
    for p in (0, 1):
        assert entry.layout.root(turn[p].tiles, turn[p].root) == sides[p].roots[entry.index]
        assert turn[p].tiles == entry.layout.tiles
    roots, (begin, size) = [turn[p].root for p in (0, 1)], (0, entry.layout.tiles)
    turn = next(turns)
    while turn[0].kind == "parts":
        for p in (0, 1):
            assert part(begin, size, 7, list(turn[p].roots)) == roots[p]
        at = difference(turn[0].roots, turn[1].roots)
        roots, (begin, size) = [turn[p].roots[at] for p in (0, 1)], places(begin, size, 7)[at]
        turn = next(turns)
    assert size == 1 and [leaf_hash(turn[p].leaf) for p in (0, 1)] == roots
    tiles = [entry.layout.read(begin, turn[p].leaf) for p in (0, 1)]
    element = next(e for e in entry.layout.elements(begin) if tiles[0][e] != tiles[1][e])
    operands = Operands(sides[0], entry, next(turns)[1])
    turn = next(turns)
    states = turn[1] if turn[1].kind == "states" else None
    if states:
        assert turn[0].root == states.root  # of these cheats none lies in its sums
        turn = next(turns)
    operands.take(turn[1].shown)
    assert turn[1].before is None and next(turns, None) is None
    right = element_of(operands, element, arithmetic, states and states.words)
    assert (entry.index, entry.node, entry.name) == (told["entry"], told["node"], told["value"])
    claimed = [int(told["element"][k], 16) for k in ("trainer", "challenger", "right")]
    assert claimed == [tiles[0][element], tiles[1][element], right] and tiles[1][element] == right
    assert (told["operator"], told["element"]["element"]) == (operands.node.op, element)
    assert told["verdict"] == "trainer wrong"


def element_of(operands, element, arithmetic, last_state=None):
    chunks, bias = operands.product(element)
    kind = Ordered if arithmetic == "ordered-1" else Correct
    s = kind(last_state) if last_state else kind()
    if not last_state:
        for _, terms in chunks:
            s.add_chunk(terms())
    seen[operands.node.op] += 1
    return s.value(bias)


def spot(folder, engagement, seed, draws, named, arithmetic):
    """Plays a check that found nothing; the sizes of what each element took."""
    history, counter = tagged("isobit.spot.history", 1, engagement.job_root + engagement.run_id), 0
    sizes, interval = [], 0

    def draw(n):
        nonlocal counter
        found, counter = drawn(seed, history, counter, n)
        return found

    interval = named or 1 + draw(STEPS)
    for turn in range(len(glob.glob(f"{folder}/*.answer"))):
        q = read_question(read_file(f"{folder}/{turn}.question"))
        m = read_message(read_file(f"{folder}/{turn}.answer"))
        if q.stage == 1:
            any_step = first + 1 + draw(min(EVERY, STEPS - first))
            assert q.step == (named or any_step)
        elif q.stage == 3:
            assert q.part == draw(states.states)
        assert q.turn == m.turn == turn and q.history == history and m.key == engagement.trainer
        history = tagged("isobit.spot.question", 1, q.bytes)
        check_message(m, engagement, history)
        history = tagged("isobit.spot.history", 1, history + sha(m.body))
        a = read_answer(m.body, q.stage)
        seen["messages of spot checks"] += 1
        if q.stage == 0:
            first, states_of = check_steps(a.challenge, a.steps, engagement)
            parts, steps = a.challenge.parts, a.steps.steps
            assert first == (interval - 1) // EVERY * EVERY and q.step == first + len(steps)
        elif q.stage == 1:
            entries, schema = a.schema
            assert schema == parts["trace"] and a.list.step == q.step and a.list.key == engagement.trainer
            step = Step(entries, a.list.roots, parts)
            step.check_states(q.step, *states_of[q.step - first - 1:q.step - first + 1])
            batch, loss = steps[q.step - first - 1][:2]
            assert batch == batch_commitment(a.batch.leaves, q.step, parts)
            check_loss(a.loss, step, loss)
            wanted = [place_drawn(entries, draw) for _ in range(draws)]
        elif q.stage == 2:
            assert q.number == len(sizes) and (q.number > 0 or q.places == wanted)
            sizes.append(m.size)
            states = check_element(a, step, *wanted[q.number], q.step, arithmetic)
        else:
            assert q.number == len(sizes) - 1
            sizes[-1] += m.size
            check_part(a, states, q.part, arithmetic)
    return sizes


def place_drawn(entries, draw):
    units = collections.defaultdict(list)
    for e in entries:
        if e.kind not in (0, 2) and e.layout.n:
            units[("batch", e.index) if e.kind == 1 else e.node].append(e)
    units = list(units.values())
    unit = units[draw(len(units))]
    entry = unit[draw(len(unit))]
    return entry.index, draw(entry.layout.n)


def check_loss(body, step, loss):
    node, head, root = body.node
    assert root == step.parts["graph.step"] and head == body.head.digest
    place, = (k for k, v in enumerate(node.outputs) if v.id == body.head.outputs[0])
    entry = step.made[3, node.index, place]
    assert entry.layout.root(body.tiles.tiles, body.tiles.root) == step.roots[entry.index]
    assert loss == b"\1" + u64(entry.layout.read(0, body.tiles.leaves[0])[0])


def check_element(a, step, entry, element, number, arithmetic):
    """An element that was drawn, if it can be computed here; of a sum in parts what check_part needs of it."""
    entry = step.entries[entry]
    assert entry.layout.root(a.tiles.tiles, a.tiles.root) == step.roots[entry.index]
    tile, = a.tiles.indices
    assert tile == entry.layout.tile_of(element)
    claimed = entry.layout.read(tile, a.tiles.leaves[0])[element]
    if a.sample:
        assert claimed == fed(a.sample.sample, entry, element, number, step.parts)
        return None
    operands = Operands(step, entry, a.node)
    if a.grounds:
        assert a.grounds.before is None
        operands.take(a.grounds.shown)
    if operands.node.op in PRODUCTS:
        assert claimed == element_of(operands, element, arithmetic, a.states and a.states.words)
    if a.states:
        a.states.operands, a.states.element = operands, element
    return a.states


def check_part(a, states, number, arithmetic):
    operands, before = states.operands, None
    operands.take(a.grounds.shown)
    assert inclusion(a.proof, a.behind) == (number, states.states, states.root)
    chunk, behind = read_state_leaf(a.behind)
    assert chunk == number and (a.grounds.before is None) == (number == 0)
    if number:
        before, proof = a.grounds.before
        assert inclusion(proof, state_leaf(number - 1, before)) == (number - 1, states.states, states.root)
    if operands.node.op not in PRODUCTS:
        return
    parts = parts_of_sum(operands.product(states.element)[0])
    kind = Ordered if arithmetic == "ordered-1" else Correct
    s = kind(before) if before else kind()
    for _, terms in parts[number]:
        s.add_chunk(terms())
    assert len(parts) == states.states and s.words() == behind
    seen["states of sums"] += 1


def main():
    isobit, work = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])
    job = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../examples/jobs/digits.toml")
    shutil.rmtree(work, ignore_errors=True)
    os.makedirs(work)
    os.environ["ISOBIT_HOME"] = work + "/home"

    def run(*words, code=0):
        done = subprocess.run([isobit, *words, "--json"], capture_output=True, text=True, cwd=work, check=False)
        assert done.returncode == code, (words, done.returncode, done.stdout[-1000:], done.stderr[-1000:])
        return json.loads(done.stdout) if done.stdout.strip() else None

    run("keygen", "--role", "client")
    run("keygen", "--role", "trainer")
    for arithmetic, cheats in DISPUTES.items():
        sets = [w for s in (f"job.steps={STEPS}", f"commit.every={EVERY}", "evaluate.samples=8", "schedule.warmup=2",
                            "job.arithmetic=" + arithmetic, "checkpoint.every=2") for w in ("--set", s)]
        honest = arithmetic + ".run"
        run("train", job, *sets, "--out", honest)
        for cheat in cheats:
            kind, at = cheat.split("@")
            run("cheat", job, *sets, "--kind", kind, "--at", at, "--out", arithmetic + cheat)
            told = run("dispute", arithmetic + cheat, honest, "--cheat", cheat, "--out", "record", code=1)
            with open(work + "/record", "rb") as f:
                play(f.read(), told, arithmetic)
            os.remove(work + "/record")
        with open(f"{work}/{honest}/engagement", "rb") as f:
            engagement = read_engagement(f.read())
        for named in (None, 6):
            seed, folder = bytes(range(16)), f"{work}/{arithmetic}-{named}"
            step = ["--step", str(named)] if named else []
            words = ["--spot", str(DRAWS), *step, "--seed", seed.hex(), "--through", folder, "--max-time", "200", "--json"]
            with subprocess.Popen([isobit, "audit", honest, *words], stdout=subprocess.PIPE, text=True, cwd=work) as audit:
                while not os.path.isdir(folder):
                    assert audit.poll() is None, "the audit has ended"
                    time.sleep(0.01)
                run("answer", honest, "--through", folder)
                told = json.loads(audit.communicate()[0])
            sizes = spot(folder, engagement, seed, DRAWS, named, arithmetic)
            assert told["verdict"] == "accepted" and [e["bytes"] for e in told["elements"]] == sizes
    # What is drawn differs from run to run; some 45 products are expected.
    assert sum(seen[op] for op in PRODUCTS) >= 12 and seen["batches"] == 5, seen
    print("the same:", ", ".join(f"{n} {what}" for what, n in sorted(seen.items())))


if __name__ == "__main__":
    main()
