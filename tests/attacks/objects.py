"""Engagement, leaves and heads, from docs/formats/engagement.md and transcript.md.

Every object is a bag of fields that a falsehood may set to anything that fits its width. `edit`, where it is set, changes
the encoded bytes as well, before anything is hashed or signed over them.
"""
import copy

from canon import Reader, frame, leaf_hash, optional, sha, signed_payload, tagged, text, tree, u8, u32, u64


class Object:
    edit = None

    def copy(self):
        return copy.deepcopy(self)

    def bytes(self):
        data = self.encoded()
        return self.edit(data) if self.edit else data


class Terms(Object):
    """Who may do what in which run; the part of an engagement that both sign."""

    def __init__(self, reader):
        r = reader
        self.protocol_version, self.job_root, self.job_digest = r.u32(), r.fixed(32), r.fixed(32)
        self.run_id, self.client_key = r.fixed(16), r.fixed(32)
        self.trainer_keys = [r.fixed(32) for _ in range(r.u64())]
        self.key_count = None  # another number than there are
        self.referee_mark, self.referee_key = r.u8(), b""
        if self.referee_mark:
            self.referee_key = r.fixed(32)
        self.response_seconds, self.restart_seconds, self.message_bytes, self.head_every, self.accept_until = (
            r.u64() for _ in range(5))
        self.checkpoints_kept_by, self.checkpoints_until = r.u8(), r.u64()
        self.salts_kept_by, self.salts_until = r.u8(), r.u64()

    def encoded(self):
        count = len(self.trainer_keys) if self.key_count is None else self.key_count
        return (u32(self.protocol_version) + self.job_root + self.job_digest + self.run_id + self.client_key
                + u64(count) + b"".join(self.trainer_keys) + u8(self.referee_mark) + self.referee_key
                + b"".join(map(u64, (self.response_seconds, self.restart_seconds, self.message_bytes, self.head_every,
                                     self.accept_until)))
                + u8(self.checkpoints_kept_by) + u64(self.checkpoints_until)
                + u8(self.salts_kept_by) + u64(self.salts_until))


class Engagement(Object):
    TAG, VERSION = "isobit.engagement", 2

    def __init__(self, data):
        r = Reader(data)
        r.frame(self.TAG, self.VERSION)
        self.tag, self.version = self.TAG, self.VERSION
        self.terms = Terms(r)
        self.client_signature, self.trainer_key, self.trainer_signature = r.fixed(64), r.fixed(32), r.fixed(64)
        assert r.done()

    def sign(self, client, trainer, named=None):
        """As both parties would. named: the key in the file, where it is not the one that signs."""
        terms = self.terms.bytes()
        self.client_signature = client.sign(frame("isobit.engagement.client", 2) + terms)
        self.trainer_key = named or trainer.public
        self.trainer_signature = trainer.sign(
            frame("isobit.engagement.trainer", 2) + terms + self.client_signature + self.trainer_key)

    def encoded(self):
        return (frame(self.tag, self.version) + self.terms.bytes() + self.client_signature + self.trainer_key
                + self.trainer_signature)


class Metric:
    """A name and an exact sum in units of 2^-149 over `count` rows. kind 0 finite, 1 and 2 infinite, 3 NaN."""

    def __init__(self, reader):
        self.name, self.kind = reader.text(), reader.u8()
        self.units, self.count = int.from_bytes(reader.fixed(48), "little", signed=True), reader.u64()

    def bytes(self):
        return text(self.name) + u8(self.kind) + self.units.to_bytes(48, "little", signed=True) + u64(self.count)


class Leaf(Object):
    """kind 0 initial, 1 step, 2 final. Fields of other kinds are not there."""
    TAG, VERSION = "isobit.leaf", 2

    def __init__(self, data):
        r = Reader(data)
        r.frame(self.TAG, self.VERSION)
        self.tag, self.version, self.kind = self.TAG, self.VERSION, r.u8()
        if self.kind == 0:
            self.job_root, self.state_root = r.fixed(32), r.fixed(32)
        elif self.kind == 1:
            self.step, self.batch = r.u64(), r.fixed(32)
            self.dtype, self.loss = r.u8(), r.u64()
            self.log_segment, self.state_root = r.optional(), r.optional()
        else:
            self.steps, self.state_root = r.u64(), r.fixed(32)
            self.samples, self.tree = r.u64(), r.fixed(32)
            self.metrics = [Metric(r) for _ in range(r.u64())]
            self.metric_count = None  # another number than there are
        assert r.done()

    def is_step(self):
        """Whatever it calls itself."""
        return hasattr(self, "batch")

    def encoded(self):
        out = frame(self.tag, self.version) + u8(self.kind)
        if self.is_step():
            return (out + u64(self.step) + self.batch + u8(self.dtype) + u64(self.loss) + optional(self.log_segment)
                    + optional(self.state_root))
        if hasattr(self, "job_root"):
            return out + self.job_root + self.state_root
        count = len(self.metrics) if self.metric_count is None else self.metric_count
        return (out + u64(self.steps) + self.state_root + u64(self.samples) + self.tree + u64(count)
                + b"".join(m.bytes() for m in self.metrics))

    def metric(self, name):
        return next(m for m in self.metrics if m.name == name)


class Head(Object):
    """root: None for that of the first `size` leaves of the transcript it stands beside."""
    TAG, VERSION = "isobit.head", 1

    def __init__(self, size):
        self.tag, self.version, self.size, self.root = self.TAG, self.VERSION, size, None
        self.job_root = self.run_id = self.key = self.signature = None  # None: the honest one
        self.signer = None

    @staticmethod
    def size_of(data):
        r = Reader(data)
        r.frame(Head.TAG, Head.VERSION)
        return r.u64()

    def settle(self, leaves, terms, trainer):
        """Fills in what no falsehood has set."""
        signer = self.signer or trainer
        self.root = self.root or tree(leaves[:self.size])
        self.job_root, self.run_id = self.job_root or terms.job_root, self.run_id or terms.run_id
        self.key = self.key or signer.public
        self.signature = self.signature or signer.sign(
            signed_payload("isobit.head", self.job_root, self.run_id, self.key, self.size, self.root))

    def encoded(self):
        return (frame(self.tag, self.version) + u64(self.size) + self.root + self.job_root + self.run_id + self.key
                + self.signature)


class TranscriptHeader(Object):
    def __init__(self, data):
        r = Reader(data)
        r.frame("isobit.transcript_file", 1)
        self.tag, self.version = "isobit.transcript_file", 1
        self.steps, self.commit_every, self.dtype, self.logged = r.u64(), r.u64(), r.u8(), r.u8()
        r.fixed(8)
        self.size = r.at
        self.checksum = None

    def encoded(self):
        data = (frame(self.tag, self.version) + u64(self.steps) + u64(self.commit_every) + u8(self.dtype)
                + u8(self.logged))
        return data + (self.checksum or sha(data)[:8])


def manifest_signature(text, job_root, run_id, trainer, key=None, tag="isobit.manifest", version=1):
    """manifest.sig over the text of the manifest. key: the one that is named, where it is not the signer's."""
    key = key or trainer.public
    message = signed_payload("isobit.manifest", job_root, run_id, key, len(text), sha(text))
    return frame(tag, version) + key + trainer.sign(message)


def transcript_root(leaves):
    return tagged("isobit.transcript", 1, u64(len(leaves)) + tree(leaves))


def batch_digest(step, leaves):
    """leaves: bytes of the samples' leaves, in the order of the batch."""
    return tagged("isobit.batch", 1, u64(step) + u64(len(leaves)) + tree(leaves))


__all__ = ["Engagement", "Head", "Leaf", "Metric", "Terms", "TranscriptHeader", "batch_digest", "leaf_hash",
           "manifest_signature", "transcript_root"]
