"""The files of a bundle: records, safetensors, the manifest. From docs/formats/bundle.md and safetensors' own page."""
import json
import struct

from canon import digest, frame, u32, u64


def record(payload):
    length = u32(len(payload))
    return length + digest(length + payload)[:8] + payload


def records_of(data, at):
    """The payloads from byte `at` on."""
    out = []
    while at < len(data):
        size = struct.unpack_from("<I", data, at)[0]
        assert data[at + 4:at + 12] == digest(data[at:at + 4] + data[at + 12:at + 12 + size])[:8]
        out.append(data[at + 12:at + 12 + size])
        at += 12 + size
    return out


def record_file(header, payloads):
    return header + b"".join(map(record, payloads))


LOG_HEADER = frame("isobit.log_file", 1)
HEADS_HEADER = frame("isobit.heads_file", 1)

SIZES = {"F64": 8, "F32": 4, "I64": 8, "I32": 4, "U8": 1, "BOOL": 1}
DTYPES = {"F32": "float32", "F64": "float64", "I64": "int64", "I32": "int32", "U8": "uint8", "BOOL": "bool"}


class State:
    """A checkpoint: tensors by name, each [dtype, shape, bytes], and the metadata of the file."""

    def __init__(self, tensors, metadata):
        self.tensors, self.metadata = tensors, metadata

    @staticmethod
    def of(data):
        size = struct.unpack_from("<Q", data)[0]
        header, body = json.loads(data[8:8 + size]), data[8 + size:]
        metadata = header.pop("__metadata__", {})
        return State({name: [e["dtype"], e["shape"], body[slice(*e["data_offsets"])]] for name, e in header.items()},
                     metadata)

    def copy(self):
        return State({name: list(t) for name, t in self.tensors.items()}, dict(self.metadata))

    def values(self, name):
        dtype, _, data = self.tensors[name]
        return list(struct.unpack(f"<{len(data) // SIZES[dtype]}{'d' if dtype == 'F64' else 'f'}", data))

    def set_values(self, name, values):
        dtype = self.tensors[name][0]
        self.tensors[name][2] = struct.pack(f"<{len(values)}{'d' if dtype == 'F64' else 'f'}", *values)

    def header(self):
        """As the JSON object that stands before the data, in the order of the file."""
        out, at = {}, 0
        if self.metadata:
            out["__metadata__"] = self.metadata
        for name, (dtype, shape, data) in self.tensors.items():
            out[name] = {"dtype": dtype, "shape": shape, "data_offsets": [at, at + len(data)]}
            at += len(data)
        return out

    def bytes(self, header=None):
        """With another header in place of its own, as a text or an object."""
        header = self.header() if header is None else header
        if not isinstance(header, bytes):
            header = json.dumps(header, separators=(",", ":"), ensure_ascii=False).encode()
        header += b" " * (-len(header) % 8)
        return u64(len(header)) + header + b"".join(t[2] for t in self.tensors.values())


def manifest_text(manifest):
    return (json.dumps(manifest, indent=2, sort_keys=True, ensure_ascii=False) + "\n").encode()
