"""Which samples a step sees and what a digest of them is, from isobit/numerics/philox.h, docs/formats/samples.md and
job.md."""
import functools
import os
import struct

from canon import frame, tagged, tree, u64

DATA_SPLIT, BATCH_ORDER = 6, 2
TRAIN, TEST = 1437, 360


def philox(counter, key):
    (a, b, c, d), (k, l) = counter, key
    for _ in range(10):
        x, y = a * 0xD2511F53, c * 0xCD9E8D57
        a, b, c, d = y >> 32 ^ b ^ k, y & 0xffffffff, x >> 32 ^ d ^ l, x & 0xffffffff
        k, l = (k + 0x9E3779B9) & 0xffffffff, (l + 0xBB67AE85) & 0xffffffff
    return a, b, c, d


def permute(seed, purpose, step, n, index):
    h = 0
    while 4**h < n:
        h += 1
    mask, key = (1 << h) - 1, (seed & 0xffffffff, seed >> 32)
    while True:
        left, right = index >> h, index & mask
        for r in range(8):
            left, right = right, left ^ philox((right, r, step, purpose), key)[0] & mask
        index = left << h | right
        if index < n:
            return index


@functools.cache
def records():
    path = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "isobit", "data", "digits", "digits.bin")
    with open(path, "rb") as f:
        data = f.read()
    assert data[:8] == b"isodigit" and struct.unpack_from("<I", data, 12)[0] == TRAIN + TEST
    return [data[24 + 65 * i:24 + 65 * (i + 1)] for i in range(TRAIN + TEST)]


def sample(split, index):
    """label and pixels of a sample of the digits; split 0 train, 1 test."""
    record = records()[permute(0, DATA_SPLIT, 0, TRAIN + TEST, index + TRAIN * split)]
    return record[0], record[1:]


def sample_leaf(split, index, label=None, salt=None):
    """The bytes of a leaf, merkle.md: of the sample, or of the same pixels under another label."""
    own, pixels = sample(split, index)
    dataset_salt = tagged("isobit.public-salt", 1, b"")
    salt = salt or tagged("isobit.sample-salt", 1, dataset_salt + bytes([split]) + struct.pack("<q", index))
    label = own if label is None else label
    return frame("isobit.sample", 1) + salt + u64(index) + u64(8 + len(pixels)) + struct.pack("<q", label) + pixels


def batch(seed, size, step):
    """Indices of the samples of step 1, 2, ..."""
    out = []
    for place in range((step - 1) * size, step * size):
        out.append(permute(seed, BATCH_ORDER, place // TRAIN, TRAIN, place % TRAIN))
    return out


__all__ = ["batch", "sample", "sample_leaf", "tree"]
