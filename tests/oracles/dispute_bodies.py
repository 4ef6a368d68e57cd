"""The messages of disputes and of spot checks, from docs/formats/dispute.md alone."""
from dispute_reader import (BODIES, Layout, Reader, Thing, check_signature, inclusion, leaf_hash, multi, node_proof,
                            read_head, read_parts_of_root, read_schema, read_signed_head, read_transcript_leaf, root_of,
                            sha, signed, tagged, text, u32, u64)


def read_tiles(r):
    t = Thing()
    t.tiles, t.root, opened = r.u64(), r.digest(), r.u64()
    t.indices, t.leaves = [], []
    if opened:
        proof = r.bytes()
        t.leaves = [r.bytes() for _ in range(opened)]
        t.indices, size, root = multi(proof, [leaf_hash(leaf) for leaf in t.leaves])
        assert (size, root) == (t.tiles, t.root)
    return t


def read_shown(r):
    """parts shown: ((statistic, index), tiles) of each"""
    shown = r.many(lambda: ((r.u8(), r.u32()), read_tiles(r)))
    assert [key for key, _ in shown] == sorted({key for key, _ in shown})
    return shown


def read_constant(r):
    c = Thing()
    c.layout = Layout(r.text(), r.u8(), r.many(r.i64), 1)
    c.root = c.layout.root(r.u64(), r.digest())
    c.elements = r.optional(r.bytes)
    return c


def read_node(b):
    n, r = Thing(), Reader(b)
    r.tag("isobit.shown-node")
    n.node, n.head_digest, n.graph_root = node_proof(r.bytes())
    n.producers = [node_proof(proof) for proof in r.many(r.bytes)]
    assert all((head, root) == (n.head_digest, n.graph_root) for _, head, root in n.producers)
    n.head = r.optional(lambda: read_head(r.bytes()))
    assert n.head is None or n.head.digest == n.head_digest
    n.constants = dict(r.many(lambda: (r.i64(), read_constant(r))))
    n.frozen = r.many(lambda: (r.i64(), r.digest(), r.bytes()))
    n.tensors = r.many(lambda: (r.text(), read_constant(r)))
    r.end()
    return n


def state_leaf(chunk, words):
    return text("isobit.dispute.state") + u32(1) + u64(chunk) + u64(len(words)) + b"".join(map(u64, words))


def read_state_leaf(b):
    r = Reader(b)
    r.tag("isobit.dispute.state")
    chunk, words = r.u64(), r.many(r.u64)
    r.end()
    return chunk, words


def read_body(b):
    r, body = Reader(b), Thing()
    tag = r.text()
    body.kind = tag[len("isobit.dispute."):]
    assert tag == "isobit.dispute." + body.kind and body.kind in BODIES and r.u32() == 1
    globals()["read_" + body.kind + "_body"](r, body)
    r.end()
    return body


def read_challenge_body(r, body):
    body.parts, body.job_root = read_parts_of_root(r.bytes())
    body.head, body.leaves = read_signed_head(r.bytes()), []
    for _ in range(2):
        leaf = r.bytes()
        assert inclusion(r.bytes(), leaf)[1:] == (body.head.size, body.head.root)
        body.leaves.append(read_transcript_leaf(leaf))


def read_steps_body(r, body):
    body.steps = r.many(lambda: (r.digest(), r.raw(9), r.optional(r.digest), r.digest()))
    body.proof = r.optional(r.bytes)


def read_values_body(r, body):
    body.roots, body.schema = r.many(r.digest), r.optional(lambda: read_schema(r.bytes()))


def read_tiles_body(r, body):
    body.tiles, body.root = r.u64(), r.digest()


def read_parts_body(r, body):
    body.roots = r.many(r.digest)


def read_leaf_body(r, body):
    body.leaf = r.bytes()


def read_node_body(r, body):
    body.node, body.shown = read_node(r.bytes()), read_shown(r)


def read_states_body(r, body):
    body.states, body.root, body.words, proof = r.u64(), r.digest(), r.many(r.u64), r.bytes()
    last = state_leaf(body.states - 1, body.words)
    assert inclusion(proof, last) == (body.states - 1, body.states, body.root)


def read_grounds_body(r, body):
    body.shown = read_shown(r)
    body.before = r.optional(lambda: (r.many(r.u64), r.bytes()))


def read_loss_body(r, body):
    body.node, body.head, body.tiles = node_proof(r.bytes()), read_head(r.bytes()), read_tiles(r)


def read_batch_body(r, body):
    body.leaves = r.bytes()


def read_sample_body(r, body):
    body.sample = r.bytes()


def read_message(b):
    m, r = Thing(), Reader(b)
    r.tag("isobit.dispute-message")
    m.turn, m.history, m.key, m.signature, m.body, m.size = r.u64(), r.digest(), r.digest(), r.raw(64), r.bytes(), len(b)
    r.end()
    return m


def check_message(m, engagement, history):
    assert m.history == history
    said = tagged("isobit.dispute-message", 1, history + sha(m.body))
    check_signature(m.key, m.signature,
                    signed("isobit.dispute-message", engagement.job_root, engagement.run_id, m.key, m.turn, said))


# Spot checks.
def read_file(path):
    with open(path, "rb") as f:
        b = f.read()
    assert sha(b[:-32]) == b[-32:]
    r = Reader(b[:-32])
    r.tag("isobit.spot.file")
    inside = r.bytes()
    r.end()
    return inside


def read_question(b):
    q, r = Thing(), Reader(b)
    r.tag("isobit.spot.question", 2)
    q.turn, q.history, q.stage, q.step, q.bytes = r.u64(), r.digest(), r.u8(), r.u64(), b
    if q.stage in (2, 3):
        q.number = r.u64()
    if q.stage == 2 and q.number == 0:
        q.places = r.many(lambda: (r.u64(), r.i64()))
    if q.stage == 3:
        q.part = r.u64()
    r.end()
    return q


def read_list(b):
    """step-trace.md, of which the signature is checked"""
    li, r = Thing(), Reader(b)
    r.tag("isobit.trace-list")
    li.job_root, li.step, li.roots = r.digest(), r.u64(), r.many(r.digest)
    values = [leaf_hash(text("isobit.trace-value") + u32(1) + u64(i) + root) for i, root in enumerate(li.roots)]
    trace = tagged("isobit.step-trace", 1, li.job_root + u64(li.step) + u64(len(values)) + root_of(values))
    assert r.flag()
    run_id, li.key = r.raw(16), r.digest()
    check_signature(li.key, r.raw(64), signed("isobit.trace-list", li.job_root, run_id, li.key, len(values), trace))
    r.end()
    return li


def read_answer(b, stage):
    r, a = Reader(b), Thing()
    r.tag("isobit.spot." + ["steps", "values", "element", "chunk"][stage])
    if stage == 0:
        a.challenge, a.steps = read_body(r.bytes()), read_body(r.bytes())
    elif stage == 1:
        a.list, a.schema = read_list(r.bytes()), read_schema(r.bytes())
        a.loss, a.batch = read_body(r.bytes()), read_body(r.bytes())
    elif stage == 2:
        a.tiles = read_tiles(r)
        a.sample, a.node, a.grounds, a.states = (r.optional(lambda: read_body(r.bytes())) for _ in range(4))
    else:
        a.grounds, a.behind = read_body(r.bytes()), r.bytes()
        a.proof = r.bytes()
    r.end()
    return a
