"""The manifest and its signature."""
from bundle import MANIFEST
from canon import frame, sha, signed_payload
from ed25519 import malleated
from falsehood import HARMLESS, REFUSED, UNREADABLE, falsehood, family
from objects import manifest_signature


def _set(**values):
    return lambda m: m.update(values)


def _file(name, **values):
    return lambda m: m["files"][name].update(values)


OBJECTS = {
    "format of something else": _set(format="isobit-bungle"),
    "no format": lambda m: m.pop("format"),
    "version 0": _set(version=0),
    "version -1": _set(version=-1),
    "version 1.5": _set(version=1.5),
    "version as a text": _set(version="1"),
    "no version": lambda m: m.pop("version"),
    "another job root": _set(job_root=sha(b"job").hex()),
    "a job root of 63 digits": lambda m: m.update(job_root=m["job_root"][1:]),
    "another run id": _set(run_id=sha(b"run").hex()[:32]),
    "a run id of 34 digits": lambda m: m.update(run_id=m["run_id"] + "00"),
    "another transcript root": _set(transcript_root=sha(b"t").hex()),
    "a transcript root in capitals": lambda m: m.update(transcript_root=m["transcript_root"].upper()),
    "no transcript root": lambda m: m.pop("transcript_root"),
    "facts that are a list": _set(facts=[]),
    "a fact that is a number": lambda m: m["facts"].update(seconds=1),
    "a fact within a fact": lambda m: m["facts"].update(more={"a": "b"}),
    "no facts": lambda m: m.pop("facts"),
    "files that are a list": _set(files=[]),
    "no files": _set(files={}),
    "one key more": _set(accuracy="100 %"),
    "a file of another size": _file("transcript", size=1),
    "a file of -1 bytes": _file("transcript", size=-1),
    "a file of 2^64 bytes": _file("transcript", size=2**64),
    "a file of 1.5 bytes": _file("transcript", size=1.5),
    "a file of another digest": _file("transcript", sha256=sha(b"x").hex()),
    "a digest in capitals": lambda m: m["files"]["transcript"].update(
        sha256=m["files"]["transcript"]["sha256"].upper()),
    "a file with one key more": _file("transcript", mode=420),
    "a file without a size": lambda m: m["files"]["transcript"].pop("size"),
    "a file that is not there": lambda m: m["files"].update(
        {"checkpoints/step-3.safetensors": {"sha256": "0" * 64, "size": 0}}),
    "a file outside the run": lambda m: m["files"].update({"../x": {"sha256": "0" * 64, "size": 0}}),
    "a file by its full path": lambda m: m["files"].update({"/etc/passwd": {"sha256": "0" * 64, "size": 0}}),
    "the manifest itself": lambda m: m["files"].update({"manifest.json": {"sha256": "0" * 64, "size": 0}}),
    "a name that is empty": lambda m: m["files"].update({"": {"sha256": "0" * 64, "size": 0}}),
    "the job not listed": lambda m: m["files"].pop("job.toml"),
    "the engagement not listed": lambda m: m["files"].pop("engagement"),
    "the transcript not listed": lambda m: m["files"].pop("transcript"),
    "the heads not listed": lambda m: m["files"].pop("heads"),
    "the final checkpoint not listed": lambda m: m["files"].pop("checkpoints/step-5.safetensors"),
}


@family([(f"manifest: {name}", edit) for name, edit in OBJECTS.items()], REFUSED, "")
def _(run, edit):
    run.manifest_edit = edit


@falsehood("manifest: the log not listed", REFUSED, "log", only=("sparse", "ovt"))
def _(run, arena, arithmetic):
    run.manifest_edit = lambda m: m["files"].pop("log/segments")


@family([("manifest: version 2", 2), ("manifest: version 10^6", 10**6)], UNREADABLE, "newer version")
def _(run, version):
    run.manifest_edit = _set(version=version)


# The one text that a manifest has. All of these are signed.
def _again(text):
    key = b'  "format"'
    return text.replace(key, b'  "format": "isobit-bundle",\n' + key, 1)


DEEP = 1 << 19
TEXTS = {
    "empty": lambda t: b"",
    "no object": lambda t: b"[]\n",
    "not JSON": lambda t: b"isobit\n",
    "no newline at its end": lambda t: t[:-1],
    "a space at its end": lambda t: t + b" ",
    "a second object": lambda t: t + t,
    "a zero at its end": lambda t: t + b"\0",
    "a mark of the byte order": lambda t: b"\xef\xbb\xbf" + t,
    "in UTF-16": lambda t: t.decode().encode("utf-16"),
    "tabs in place of spaces": lambda t: t.replace(b"  ", b"\t"),
    "on one line": lambda t: t.replace(b"\n", b"") + b"\n",
    "a key twice": _again,
    "keys out of order": lambda t: t.replace(b',\n  "version": 1\n}', b"\n}").replace(b"{\n", b'{\n  "version": 1,\n', 1),
    "an escape that is not needed": lambda t: t.replace(b'"format"', b'"\\u0066ormat"'),
    "a comment": lambda t: t.replace(b"{", b"{ /* hello */", 1),
    "a number with an exponent": lambda t: t.replace(b'"version": 1', b'"version": 1e0'),
    "a number of 400 digits": lambda t: t.replace(b'"version": 1', b'"version": ' + b"1" * 400),
    "a byte that is not UTF-8": lambda t: t.replace(b'"facts": {', b'"facts": {\n    "a": "\xff",', 1),
    "half a surrogate": lambda t: t.replace(b'"facts": {', b'"facts": {\n    "a": "\\ud800",', 1),
    "lists 500,000 deep": lambda t: t.replace(b'"version": 1', b'"version": ' + b"[" * DEEP + b"]" * DEEP)[:1 << 20],
    "objects 100,000 deep": lambda t: b'{"a":' * 100000 + b"1" + b"}" * 100000,
    "1 MiB of lists begun": lambda t: b"[" * (1 << 20),
    "16 MiB of lists begun": lambda t: b"[" * (1 << 24),
    "16 MiB of facts": lambda t: t.replace(b'"facts": {', b'"facts": {\n    "a": "' + b"x" * (1 << 24) + b'",', 1),
    "64 MiB of spaces": lambda t: b" " * (1 << 26),
}


@family([(f"manifest: {name}", edit) for name, edit in TEXTS.items()], REFUSED, "manifest")
def _(run, edit):
    run.edits[MANIFEST] = edit


# The signature.
def _over(make, signer=None):
    """Another message under the engaged key, or under another."""
    def edit(run, text):
        terms, key = run.engagement.terms, signer or run.trainer
        named = run.trainer.public
        return frame("isobit.manifest", 1) + named + key.sign(make(terms, named, text))
    return edit


SIGNATURES = {
    "of zeros": lambda run, s: s[:-64] + bytes(64),
    "with a flipped bit": lambda run, s: s[:-1] + bytes([s[-1] ^ 1]),
    "with S + L": lambda run, s: s[:-64] + malleated(s[-64:]),
    "a byte longer": lambda run, s: s + b"\0",
    "a byte shorter": lambda run, s: s[:-1],
    "empty": lambda run, s: b"",
    "of another tag": lambda run, s: s.replace(b"isobit.manifest", b"isobit.manifold"),
    "of version 0": lambda run, s: s[:23] + bytes(4) + s[27:],
    "under a key of zeros": lambda run, s: s[:27] + bytes(32) + bytes(64),
    "under the key 1": lambda run, s: s[:27] + b"\1" + bytes(31) + b"\1" + bytes(63),
    "16 KiB longer": lambda run, s: s + bytes(1 << 14),
}


@family([(f"manifest.sig {name}", edit) for name, edit in SIGNATURES.items()], REFUSED, "manifest.sig")
def _(run, edit):
    run.signature_edit = lambda s: edit(run, s)


@falsehood("manifest.sig of a later version", UNREADABLE, "newer version")
def _(run, arena, arithmetic):
    run.signature_edit = lambda s: s[:23] + b"\x09\0\0\0" + s[27:]


MESSAGES = {
    "of a head": lambda t, k, m: signed_payload("isobit.head", t.job_root, t.run_id, k, len(m), sha(m)),
    "of another run": lambda t, k, m: signed_payload("isobit.manifest", t.job_root, bytes(16), k, len(m), sha(m)),
    "of another job": lambda t, k, m: signed_payload("isobit.manifest", bytes(32), t.run_id, k, len(m), sha(m)),
    "of another size": lambda t, k, m: signed_payload("isobit.manifest", t.job_root, t.run_id, k, 0, sha(m)),
    "of another manifest": lambda t, k, m: signed_payload("isobit.manifest", t.job_root, t.run_id, k, len(m), sha(b"")),
    "of the bare text": lambda t, k, m: m,
}


@family([(f"manifest.sig {name}", make) for name, make in MESSAGES.items()], REFUSED, "manifest.sig")
def _(run, make):
    terms, key, made = run.engagement.terms, run.trainer, {}
    run.edits[MANIFEST] = lambda text: made.setdefault("text", text)
    run.signature_edit = lambda s: s[:-64] + key.sign(make(terms, key.public, made["text"]))


@falsehood("manifest.sig of a stranger", REFUSED, "key")
def _(run, arena, arithmetic):
    run.manifest_signer = arena.stranger


@falsehood("manifest.sig of the client", REFUSED, "key")
def _(run, arena, arithmetic):
    run.manifest_signer = arena.client


@falsehood("manifest.sig taken from another run", REFUSED, "manifest.sig")
def _(run, arena, arithmetic):
    other = arena.run(arithmetic, "checkpoint.keep=4")
    with open(other.folder + "/manifest.sig", "rb") as f:
        signature = f.read()
    run.signature_edit = lambda s: signature


# Facts are in no commitment: a trainer may write what it likes, and what it writes may not harm a terminal.
FACTS = {
    "an invented machine": {"platform": "abacus"},
    "control characters": {"platform": "\x1b[2J\x1b]0;owned\x07\r\nverdict       accepted\b\b\x7f"},
    "letters that run backwards": {"platform": "\u202egnp.exe\u2066\u2069", "\u202e": "\u200f\u061c"},
    "characters above 0xffff": {"\U0001f600": "\U000e0001\U0010ffff"},
    "line separators": {"platform": "a\u2028b\u2029c\u0085d"},
    "an empty name": {"": ""},
}


@family([(f"facts: {name}", facts) for name, facts in FACTS.items()], HARMLESS)
def _(run, facts):
    run.facts.update(facts)


__all__ = ["manifest_signature"]
