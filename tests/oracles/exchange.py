"""safetensors files in and out with nothing but the standard library and torch; and how the oracles skip."""
import ctypes
import json
import struct
import sys

try:
    import torch
except ImportError:
    print("skipped: no torch")
    sys.exit(77)

_TYPES = {"F64": torch.float64, "I64": torch.int64, "F32": torch.float32, "I32": torch.int32, "I16": torch.int16,
          "I8": torch.int8, "U8": torch.uint8, "BOOL": torch.bool}
_NAMES = {dtype: name for name, dtype in _TYPES.items()}


def save(path, tensors):
    """Writes {name: tensor}; wide types first, so that everything is aligned."""
    header, at, blocks = {}, 0, []
    for name in sorted(tensors, key=lambda n: (-tensors[n].element_size(), n)):
        tensor = tensors[name].contiguous()
        size = tensor.numel() * tensor.element_size()
        header[name] = {"dtype": _NAMES[tensor.dtype], "shape": list(tensor.shape), "data_offsets": [at, at + size]}
        blocks.append(ctypes.string_at(tensor.data_ptr(), size) if size else b"")
        at += size
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text + b"".join(blocks))


def load(path):
    """Reads {name: tensor}."""
    with open(path, "rb") as file:
        data = bytearray(file.read())
    start = 8 + struct.unpack_from("<Q", data)[0]
    tensors = {}
    for name, entry in json.loads(data[8:start]).items():
        if name == "__metadata__":
            continue
        dtype, (begin, end) = _TYPES[entry["dtype"]], entry["data_offsets"]
        flat = torch.frombuffer(data[start + begin:start + end], dtype=dtype) if end > begin else torch.empty(
            0, dtype=dtype)
        tensors[name] = flat.reshape(entry["shape"])
    return tensors
