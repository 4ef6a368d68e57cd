"""Engagements: of others, for others, replayed, and of forms that no party may sign."""
from canon import sha
from ed25519 import malleated
from falsehood import REFUSED, UNREADABLE, falsehood, family, with_codes

YEAR_9999, DAYS_30 = 253402300799, 30 * 24 * 3600


def resign(run, client=None, trainer=None):
    run.engagement.sign(client or run.client, trainer or run.trainer)


def _terms(**fields):
    def act(terms):
        for name, value in fields.items():
            setattr(terms, name, value)
    return act


# Signed by both: what no decoder may take all the same.
TERMS = {
    "another protocol version": _terms(protocol_version=9),
    "protocol version 0": _terms(protocol_version=0),
    "no trainer keys": _terms(trainer_keys=[]),
    "65 trainer keys": lambda t: t.trainer_keys.extend(sha(b"%d" % i) for i in range(64)) or t.trainer_keys.sort(),
    "2^61 trainer keys": _terms(key_count=1 << 61),
    "a trainer key twice": lambda t: t.trainer_keys.append(t.trainer_keys[-1]),
    "trainer keys out of order": lambda t: t.trainer_keys.__setitem__(
        slice(None), sorted([*t.trainer_keys, sha(b"key")], reverse=True)),
    "a referee neither there nor not": _terms(referee_mark=2),
    "the client as referee": lambda t: (setattr(t, "referee_mark", 1), setattr(t, "referee_key", t.client_key)),
    "the trainer as referee": lambda t: (setattr(t, "referee_mark", 1), setattr(t, "referee_key", t.trainer_keys[0])),
    "no time to answer": _terms(response_seconds=0),
    "too long a time to answer": _terms(response_seconds=DAYS_30 + 1),
    "2^64 - 1 seconds to answer": _terms(response_seconds=2**64 - 1),
    "no time to restart": _terms(restart_seconds=0),
    "too long a time to restart": _terms(restart_seconds=DAYS_30 + 1),
    "messages too short": _terms(message_bytes=786431),
    "messages too long": _terms(message_bytes=(1 << 20) + 1),
    "heads never": _terms(head_every=0),
    "heads after more steps than a job has": _terms(head_every=4194305),
    "an end after the year 9999": _terms(accept_until=YEAR_9999 + 1),
    "checkpoints kept by a fourth": _terms(checkpoints_kept_by=3),
    "checkpoints kept by nobody, until then": _terms(checkpoints_kept_by=0, checkpoints_until=5),
    "checkpoints kept by the trainer, for no time": _terms(checkpoints_kept_by=1, checkpoints_until=0),
    "salts kept by a fourth": _terms(salts_kept_by=255),
    "salts kept until after the year 9999": _terms(salts_kept_by=2, salts_until=2**64 - 1),
    "a byte in the terms more": _terms(edit=lambda b: b + b"\0"),
}


@family([(f"engagement: {name}", act) for name, act in TERMS.items()], REFUSED, "engagement")
def _(run, act):
    act(run.engagement.terms)
    resign(run)


# The form of the file.
FORMS = {
    "empty": lambda b: b"",
    "cut": lambda b: b[:-1],
    "a byte more": lambda b: b + b"\0",
    "twice": lambda b: b + b,
    "16 KiB of zeros": lambda b: bytes(1 << 14),
    "1 MiB more": lambda b: b + bytes(1 << 20),
    "another tag": lambda b: b.replace(b"isobit.engagement", b"isobit.engagemend"),
    "the tag of an offer": lambda b: b"\x0c" + bytes(7) + b"isobit.offer" + b[25:],
    "an offer alone": lambda b: b"\x0c" + bytes(7) + b"isobit.offer" + b[25:-96],
    "a tag of 2^63 bytes": lambda b: bytes(7) + b"\x80" + b[8:],
    "version 0": lambda b: b[:25] + bytes(4) + b[29:],
    "version 1": lambda b: b[:25] + b"\1\0\0\0" + b[29:],
}


@family([(f"engagement: {name}", edit) for name, edit in FORMS.items()], REFUSED, "engagement")
def _(run, edit):
    run.edits["engagement"] = edit


@falsehood("engagement: a later version", UNREADABLE, "newer version")
def _(run, arena, arithmetic):
    run.edits["engagement"] = lambda b: b[:25] + b"\x09\0\0\0" + b[29:]


# Signatures.
SIGNATURES = {
    "the client did not sign": lambda e: setattr(e, "client_signature", bytes(64)),
    "the trainer did not sign": lambda e: setattr(e, "trainer_signature", bytes(64)),
    "the client's signature with S + L": lambda e: setattr(e, "client_signature", malleated(e.client_signature)),
    "the trainer's signature with S + L": lambda e: setattr(e, "trainer_signature", malleated(e.trainer_signature)),
    "both signatures exchanged": lambda e: (lambda c, t: (setattr(e, "client_signature", t),
                                                           setattr(e, "trainer_signature", c)))(
        e.client_signature, e.trainer_signature),
    "terms changed after signing": lambda e: setattr(e.terms, "response_seconds", e.terms.response_seconds + 1),
    "a slower cadence of heads after signing": lambda e: setattr(e.terms, "head_every", 4194304),
    "another run id after signing": lambda e: setattr(e.terms, "run_id", sha(b"run")[:16]),
    "another job after signing": lambda e: setattr(e.terms, "job_root", sha(b"job")),
    "another job digest after signing": lambda e: setattr(e.terms, "job_digest", sha(b"job")),
}


@family([(f"engagement: {name}", act) for name, act in SIGNATURES.items()], REFUSED, "")
def _(run, act):
    act(run.engagement)


# Parties. `info` pins nobody: it shows what a run says of itself.
SELF_CONSISTENT = with_codes(REFUSED, info=0, eval=(0, 1), export=(0, 1))


@falsehood("engagement: of another client, who signed it", SELF_CONSISTENT, "client")
def _(run, arena, arithmetic):
    run.engagement.terms.client_key = arena.stranger.public
    resign(run, client=arena.stranger)


@falsehood("engagement: the trainer as its own client", SELF_CONSISTENT, "client")
def _(run, arena, arithmetic):
    run.engagement.terms.client_key = arena.trainer.public
    resign(run, client=arena.trainer)


@falsehood("engagement: a stranger signs in the client's name", REFUSED, "client")
def _(run, arena, arithmetic):
    resign(run, client=arena.stranger)


@falsehood("engagement: a trainer who was not engaged", REFUSED, "")
def _(run, arena, arithmetic):
    run.engagement.sign(arena.client, arena.stranger)
    run.trainer = arena.stranger


@falsehood("engagement: the trainer adds another key of its own", REFUSED, "client")
def _(run, arena, arithmetic):
    keys = run.engagement.terms.trainer_keys
    keys.append(arena.stranger.public)
    keys.sort()
    run.engagement.sign(arena.trainer, arena.stranger)
    run.trainer = arena.stranger


@falsehood("engagement: of another run of the same job", REFUSED, "run_id")
def _(run, arena, arithmetic):
    # Everything else still names the engagement that was there before.
    mine = run.engagement.terms
    leaves = run.encoded_leaves()
    for head in run.heads:
        head.settle(leaves, mine, run.trainer)
    run.engagement = arena.run(arithmetic, "checkpoint.keep=4").engagement


@falsehood("engagement: for another job, replayed", REFUSED, "job")
def _(run, arena, arithmetic):
    run.engagement = arena.run(arithmetic, "job.seed=8").engagement


@falsehood("engagement: for another job, its root in the initial leaf", REFUSED, "job")
def _(run, arena, arithmetic):
    run.engagement = arena.run(arithmetic, "job.seed=8").engagement
    run.initial.job_root = run.engagement.terms.job_root


@falsehood("engagement: another job root, signed by both", with_codes(REFUSED, verify=0, info=0, eval=0, export=0),
           "job")
def _(run, arena, arithmetic):
    # The client offered a job root that is not its job's: nobody can have trained that.
    run.engagement.terms.job_root = sha(b"job")
    run.initial.job_root = sha(b"job")
    resign(run)


@falsehood("engagement: another job digest, signed by both", REFUSED, "job")
def _(run, arena, arithmetic):
    run.engagement.terms.job_digest = sha(b"job")
    resign(run)


@falsehood("engagement: a faster cadence of heads than the run kept", REFUSED, "head")
def _(run, arena, arithmetic):
    run.engagement.terms.head_every = 1
    run.heads = run.heads[-1:]
    resign(run)
