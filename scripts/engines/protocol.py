"""What a worker is asked and what it answers: docs/formats/engine-answer.md.

A request is a JSON file, an answer a folder: answer.json and the bytes of the tensors that were to be kept, each in a
file named by their hash. Nothing but NumPy is needed, and for the hash either the package xxhash or the library libxxhash.
"""
import ctypes
import ctypes.util
import json
import os
import platform
import re

import numpy

VERSION = 1


class Refused(Exception):
    """The engine cannot run this model; the message says what it lacks."""


class Unavailable(Exception):
    """This machine does not have the engine, or not with this setting."""


def _package_hash():
    import xxhash
    return xxhash.xxh3_128_hexdigest


def _library_hash():
    name = ctypes.util.find_library("xxhash")
    if name is None:
        raise Unavailable("neither the Python package xxhash nor the library libxxhash is here: pip install xxhash")

    class Hash(ctypes.Structure):
        _fields_ = [("low", ctypes.c_uint64), ("high", ctypes.c_uint64)]

    function = ctypes.CDLL(name).XXH3_128bits
    function.restype, function.argtypes = Hash, [ctypes.c_void_p, ctypes.c_size_t]

    def digest(array):
        h = function(array.ctypes.data, array.nbytes)
        return f"{h.high:016x}{h.low:016x}"
    return digest


try:
    _digest = _package_hash()
except ImportError:
    _digest = _library_hash()


def little_endian(array):
    """Row-major, little-endian, as the bytes of a tensor are hashed and kept; an array without axes stays one."""
    array = numpy.asarray(array)
    if array.dtype.byteorder == ">":
        array = array.astype(array.dtype.newbyteorder("<"))
    return array if array.flags.c_contiguous else array.copy("C")


def hash_of(array):
    """XXH3_128bits of the bytes of a tensor, 32 hex digits."""
    array = little_endian(array)
    if array.size == 0:
        return "99aa06d3014798d86001c324468d497f"  # of no bytes
    return _digest(array.reshape(-1).view(numpy.uint8))


class Recorder:
    """Hashes every value it is shown, and keeps the tensors that the request asks for by their hashes."""

    def __init__(self, request, folder, kept):
        self.wanted, self.most = set(request["keep"]), request["keep_bytes"]
        self.folder, self.kept = folder, kept  # kept: {hash: bytes}, of all runs together
        self.values = []

    def keep(self, array, digest):
        if digest not in self.wanted or digest in self.kept or sum(self.kept.values()) + array.nbytes > self.most:
            return
        with open(os.path.join(self.folder, digest + ".bin"), "wb") as file:
            file.write(array.tobytes())
        self.kept[digest] = array.nbytes

    def __call__(self, name, op, value, kernel="", output=False):
        array = little_endian(value)
        if array.dtype.kind not in "fiub":
            raise Refused(f"value '{name}' has type {array.dtype}, which the record has no place for")
        digest = hash_of(array)
        self.values.append({"name": name, "op": op, "dtype": str(array.dtype), "dims": list(array.shape),
                            "hash": digest, "kernel": kernel, "output": output})
        self.keep(array, digest)


def cpu():
    """(model, sorted flags) of the processor as Linux tells it."""
    try:
        with open("/proc/cpuinfo", encoding="utf-8", errors="replace") as file:
            text = file.read(1 << 20)
    except OSError:
        return platform.machine(), []
    found = {key: re.search(rf"^(?:{key})\s*:\s*(.*)$", text, re.M) for key in ("model name", "flags|Features|isa")}
    model, flags = found["model name"], found["flags|Features|isa"]
    return (model.group(1) if model else platform.machine(),
            sorted(set(flags.group(1).split())) if flags else [])


CORES = len(os.sched_getaffinity(0))  # before an engine is held to some of them


def platform_record(name, engine, fields):
    model, flags = cpu()
    return {"name": name, "engine": engine, "cpu_flags": flags, "cores": CORES,
            "fields": {"cpu": model, "machine": platform.machine(), "python": platform.python_version(),
                       **{k: str(v) for k, v in fields.items()}}}


def read_request(path):
    with open(path, encoding="utf-8") as file:
        request = json.load(file)
    if request.get("isobit_request") != VERSION:
        raise Refused(f"{path}: isobit_request: found {request.get('isobit_request')}, expected {VERSION}")
    return request


def read_inputs(request):
    """{name: array} in the order of the request."""
    return {i["name"]: numpy.load(i["file"], allow_pickle=False) for i in request["inputs"]}
