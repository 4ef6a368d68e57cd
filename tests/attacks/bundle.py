"""A run, taken apart and put together again: docs/formats/bundle.md.

A falsehood changes one thing of a Run. `write` then does what a cheater with an engaged key would: digests, roots, heads
and the manifest are made anew over whatever is there, so that every signature is valid. What is set by hand stays.
"""
import copy
import json
import os

from canon import state_root, tensor_root, tree
from files import DTYPES, HEADS_HEADER, LOG_HEADER, State, manifest_text, record, record_file, records_of
from objects import Engagement, Head, Leaf, TranscriptHeader, manifest_signature, transcript_root

JOB, ENGAGEMENT, TRANSCRIPT, HEADS, LOG = "job.toml", "engagement", "transcript", "heads", "log/segments"
MANIFEST, SIGNATURE = "manifest.json", "manifest.sig"


def checkpoint(step):
    return f"checkpoints/step-{step}.safetensors"


class Special:
    """Something in a folder that is no plain file of these bytes. make(path) makes it."""

    def __init__(self, make, size=0, sha256="0" * 64):
        self.make, self.size, self.sha256 = make, size, sha256


def fifo():
    return Special(os.mkfifo)


def link_to(target):
    return Special(lambda path: os.symlink(target, path))


def folder():
    return Special(os.mkdir)


def sparse(size, sha256="0" * 64):
    """As many zeros, which take no room on the disk."""
    def make(path):
        with open(path, "wb") as f:
            f.truncate(size)
    return Special(make, size, sha256)


class Run:
    """Everything in a run. Objects in place of bytes wherever a falsehood may want to change a field."""

    def __init__(self, files, client, trainer):
        self.client, self.trainer = client, trainer
        self.job = files[JOB]
        self.engagement = Engagement(files[ENGAGEMENT])
        self.header = TranscriptHeader(files[TRANSCRIPT])
        self.leaves = [Leaf(p) for p in records_of(files[TRANSCRIPT], self.header.size)]
        self.heads = [Head(Head.size_of(p)) for p in records_of(files[HEADS], len(HEADS_HEADER))]
        self.segments = None
        if LOG in files:
            self.segments = records_of(files[LOG], len(LOG_HEADER))
        self.checkpoints = {}
        for name in files:
            if name.startswith("checkpoints/"):
                self.checkpoints[int(name[len("checkpoints/step-"):-len(".safetensors")])] = State.of(files[name])
        self.facts = json.loads(files[MANIFEST])["facts"]
        self.more = {}      # path -> bytes or Special: besides or in place of what a run has; the manifest lists it
        self.unlisted = {}  # the same, of which the manifest says nothing
        self.absent = set()  # paths left out, and not listed
        self.lost = set()    # listed, but left out
        self.edits = {}     # path -> function of its bytes: before the manifest is made, and it before it is signed
        self.late = {}      # path -> function of its bytes: when everything has been signed
        self.header_bytes = {HEADS: HEADS_HEADER, LOG: LOG_HEADER}
        self.keep_segments = False     # leaves stay as they are when segments change
        self.manifest_edit = None      # of the object
        self.signature_edit = None     # of the bytes of manifest.sig
        self.manifest_signer = None
        self.names = {}     # path -> path in the folder and the manifest

    def copy(self):
        out = copy.copy(self)
        out.engagement, out.header = self.engagement.copy(), self.header.copy()
        out.leaves = [leaf.copy() for leaf in self.leaves]
        out.heads = [head.copy() for head in self.heads]
        out.segments = None if self.segments is None else list(self.segments)
        out.checkpoints = {step: state.copy() for step, state in self.checkpoints.items()}
        for name in ("facts", "more", "unlisted", "edits", "late", "header_bytes", "names"):
            setattr(out, name, dict(getattr(self, name)))
        out.absent, out.lost = set(self.absent), set(self.lost)
        return out

    # What falsehoods ask for.

    @property
    def steps(self):
        return self.leaves[-1].steps

    @property
    def initial(self):
        return self.leaves[0]

    @property
    def final(self):
        return self.leaves[-1]

    def step(self, t):
        return self.leaves[t]

    def state_root(self, step, state=None):
        """Of a checkpoint as it now is."""
        state = state or self.checkpoints[step]
        entries = [(name, tensor_root(name, DTYPES[dtype], shape, 1, data))
                   for name, (dtype, shape, data) in state.tensors.items()]
        return state_root(entries, step)

    def commit(self, step):
        """Makes the transcript say that the checkpoint of `step` is the state after it."""
        root = self.state_root(step)
        if self.step(step).state_root is not None:
            self.step(step).state_root = root
        if step == self.steps:
            self.final.state_root = root

    def encoded_leaves(self):
        return [leaf.bytes() for leaf in self.leaves]

    # Back to bytes.

    def settle_log(self):
        """Segments that know their root have it in their leaf. One that is no log has none: its leaf stays."""
        for leaf in self.leaves:
            if not leaf.is_step() or leaf.log_segment is None or not 1 <= leaf.step <= len(self.segments or ()):
                continue
            root = getattr(self.segments[leaf.step - 1], "root", b"")
            if root and not self.keep_segments:
                leaf.log_segment = root

    def files(self):
        """path -> bytes or Special, of everything that the manifest lists."""
        self.settle_log()
        leaves = self.encoded_leaves()
        for head in self.heads:
            head.settle(leaves, self.engagement.terms, self.trainer)
        out = {JOB: self.job, ENGAGEMENT: self.engagement.bytes(),
               TRANSCRIPT: record_file(self.header.bytes(), leaves),
               HEADS: record_file(self.header_bytes[HEADS], [head.bytes() for head in self.heads])}
        if self.segments is not None:
            out[LOG] = record_file(self.header_bytes[LOG], self.segments)
        for step, state in self.checkpoints.items():
            out[checkpoint(step)] = state if isinstance(state, bytes) else state.bytes()
        out.update(self.more)
        for name in self.absent:
            out.pop(name, None)
        for name, edit in self.edits.items():
            if name != MANIFEST:
                out[name] = edit(out[name])
        return {self.names.get(name, name): data for name, data in out.items()}

    def manifest(self, files):
        from canon import digest
        listed = {}
        for name, data in files.items():
            if isinstance(data, Special):
                listed[name] = {"sha256": data.sha256, "size": data.size}
            else:
                listed[name] = {"sha256": digest(data).hex(), "size": len(data)}
        terms = self.engagement.terms
        manifest = {"facts": self.facts, "files": listed, "format": "isobit-bundle",
                    "job_root": terms.job_root.hex(), "run_id": terms.run_id.hex(),
                    "transcript_root": transcript_root(self.encoded_leaves()).hex(), "version": 1}
        if self.manifest_edit:
            self.manifest_edit(manifest)
        return manifest

    def write(self, folder):
        """Into a folder that is made. Everything is signed for, and whatever `late` says is done last."""
        files = self.files()
        text = manifest_text(self.manifest(files))
        if MANIFEST in self.edits:
            text = self.edits[MANIFEST](text)
        terms = self.engagement.terms
        signature = manifest_signature(text, terms.job_root, terms.run_id, self.manifest_signer or self.trainer)
        files[MANIFEST], files[SIGNATURE] = text, signature
        if self.signature_edit:
            files[SIGNATURE] = self.signature_edit(signature)
        for name in self.lost:
            files.pop(name, None)
        for name, edit in self.late.items():
            files[name] = edit(files[name])
        files.update(self.unlisted)
        write_files(folder, files)


def write_files(folder, files):
    os.makedirs(folder)
    for name in sorted(files):
        path, data = os.path.join(folder, name), files[name]
        os.makedirs(os.path.dirname(path), exist_ok=True)
        if isinstance(data, Special):
            data.make(path)
            continue
        with open(path, "wb") as f:
            f.write(data)


def read_run(folder, client, trainer):
    files = {}
    for where, _, names in os.walk(folder):
        for name in names:
            path = os.path.join(where, name)
            with open(path, "rb") as f:
                files[os.path.relpath(path, folder)] = f.read()
    return Run(files, client, trainer), files


__all__ = ["Run", "Special", "checkpoint", "fifo", "folder", "link_to", "read_run", "record", "sparse", "tree",
           "write_files"]
