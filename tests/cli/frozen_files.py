"""Networks, weights and data for jobs that bring none: made of nothing but a hash, so that they are the same bytes
wherever and whenever they are written. Needs nothing but Python.

Numbers are the bytes of SHAKE-128 of a name with some bits of each put in place: no library of random numbers, whose
streams may change, and no arithmetic.
"""
import hashlib
import json
import os
import struct
import zlib

import onnx_by_hand as onnx


def hashed(name, count):
    return hashlib.shake_128(name.encode()).digest(count)


def floats(name, count, high):
    """Little-endian float32 numbers whose two upper bytes are masked and set: high = (keep, set) for each of the two."""
    data = bytearray(hashed(name, 4 * count))
    for place, (keep, put) in zip((2, 3), high):
        data[place::4] = data[place::4].translate(bytes(b & keep | put for b in range(256)))
    return bytes(data)


def around_zero(name, count):
    """Of both signs, between 2^-7 and 2^-5, about as large as weights are in the beginning."""
    return floats(name, count, ((0xFF, 0), (0x80, 0x3C)))


def about_one(name, count):
    """Between 1 and 1.125: scales of norms, variances."""
    return floats(name, count, ((0x0F, 0x80), (0, 0x3F)))


def below(name, count, end):
    """Whole numbers from 0 to end - 1."""
    data = hashed(name, 4 * count)
    return [n % end for n in struct.unpack(f"<{count}I", data)]


def elements(dims):
    count = 1
    for d in dims:
        count *= d
    return count


def values(name, dims):
    """A parameter by its name: scales and variances are about one."""
    is_scale = len(dims) == 1 and name.endswith(("weight", "running_var"))
    return (about_one if is_scale else around_zero)(name, elements(dims))


def write_safetensors(path, shapes):
    header, at = {}, 0
    for name, dims in shapes.items():
        size = 4 * elements(dims)
        header[name] = {"dtype": "F32", "shape": dims, "data_offsets": [at, at + size]}
        at += size
    text = json.dumps(header).encode()
    with open(path, "wb") as f:
        f.write(struct.pack("<Q", len(text)) + text)
        for name, dims in shapes.items():
            f.write(values(name, dims))
    return path


def gpt2_shapes(layers=12, c=768, positions=1024, tokens=50257):
    """transformers' GPT2LMHeadModel."""
    shapes = {"transformer.wte.weight": [tokens, c], "transformer.wpe.weight": [positions, c]}
    for layer in range(layers):
        at = f"transformer.h.{layer}."
        for norm in ("ln_1", "ln_2"):
            shapes |= {f"{at}{norm}.weight": [c], f"{at}{norm}.bias": [c]}
        for part, ins, outs in (("attn.c_attn", c, 3 * c), ("attn.c_proj", c, c), ("mlp.c_fc", c, 4 * c),
                                ("mlp.c_proj", 4 * c, c)):
            shapes |= {f"{at}{part}.weight": [ins, outs], f"{at}{part}.bias": [outs]}
    return shapes | {"transformer.ln_f.weight": [c], "transformer.ln_f.bias": [c]}


def resnet18_shapes(classes):
    """torchvision's."""
    def normed(conv, norm, outs, ins, side):
        of_norm = {f"{norm}.{part}": [outs] for part in ("weight", "bias", "running_mean", "running_var")}
        return {f"{conv}.weight": [outs, ins, side, side]} | of_norm

    shapes, ins = normed("conv1", "bn1", 64, 3, 7), 64
    for stage in range(4):
        outs = 64 << stage
        for block in range(2):
            at = f"layer{stage + 1}.{block}."
            shapes |= normed(f"{at}conv1", f"{at}bn1", outs, ins, 3) | normed(f"{at}conv2", f"{at}bn2", outs, outs, 3)
            if ins != outs:
                shapes |= normed(f"{at}downsample.0", f"{at}downsample.1", outs, ins, 1)
            ins = outs
    return shapes | {"fc.weight": [classes, 512], "fc.bias": [classes]}


def write_png(path, name, side):
    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    pixels = hashed(name, 3 * side * side)
    rows = b"".join(b"\0" + pixels[3 * side * y:3 * side * (y + 1)] for y in range(side))
    with open(path, "wb") as f:
        f.write(b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", side, side, 8, 2, 0, 0, 0)) +
                chunk(b"IDAT", zlib.compress(rows, 1)) + chunk(b"IEND", b""))


def write_images(folder, classes, train, test, side=224):
    for split, count in (("train", train), ("test", test)):
        for label in range(classes):
            os.makedirs(f"{folder}/{split}/class{label}")
            for i in range(count):
                write_png(f"{folder}/{split}/class{label}/{i}.png", f"{split} {label} {i}", side)
    return folder


def write_npy(folder, **arrays):
    """NAME=(code, dims, bytes)"""
    os.makedirs(folder, exist_ok=True)
    for name, array in arrays.items():
        with open(f"{folder}/{name.replace('__', '.')}.npy", "wb") as f:
            f.write(onnx.npy(*array))
    return folder


def whole(numbers):
    return struct.pack(f"<{len(numbers)}q", *numbers)


def write_samples(folder, samples, test, features=1024):
    """Of examples/jobs/logistic_data.py's shape."""
    for prefix, n in (("", samples), ("test_", test)):
        write_npy(folder, **{f"{prefix}inputs": ("<f4", [n, features], around_zero(prefix, n * features)),
                             f"{prefix}labels": ("<i8", [n], whole(below(f"{prefix}labels", n, 2)))})
    return folder


def write_sentences(folder, samples, test, tokens, vocabulary=30522):
    """Tokens of which the last ones of each sample are masked."""
    for prefix, n in (("", samples), ("test_", test)):
        lengths = [1 + length for length in below(f"{prefix}lengths", n, tokens)]
        mask = [int(t < length) for length in lengths for t in range(tokens)]
        write_npy(folder, **{f"{prefix}inputs__input_ids": ("<i8", [n, tokens], whole(below(prefix, n * tokens, vocabulary))),
                             f"{prefix}inputs__attention_mask": ("<i8", [n, tokens], whole(mask)),
                             f"{prefix}labels": ("<i8", [n], whole(below(f"{prefix}labels", n, 2)))})
    return folder
