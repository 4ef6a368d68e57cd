"""Inner products of ordered-1 and correct-1 by docs/arithmetics.md, and the order of samples by docs/formats/samples.md."""
import math
import struct
from fractions import Fraction

from dispute_reader import tagged, u32, u64


def value(bits):
    return struct.unpack("<f", u32(bits))[0]


def bits_of(x):
    return struct.unpack("<I", struct.pack("<f", x))[0]


def nearest(x):
    """The float32 that is nearest to a fraction, ties to even; +0 for 0."""
    if x == 0:
        return 0.0
    a = abs(x)
    e = a.numerator.bit_length() - a.denominator.bit_length()
    unit = Fraction(2) ** (max(e if a >= Fraction(2) ** e else e - 1, -126) - 23)
    k, rest = divmod(a, unit)
    k += 2 * rest > unit or (2 * rest == unit and k % 2)
    return math.copysign(float(k * unit), x)


def fma(a, b, c):
    p = a * b  # exact: 48 bits
    s = p + c
    v = s - p
    off = (p - (s - v)) + (c - v)
    if off:  # rounded to odd, so that the second rounding rounds the sum itself
        word = struct.unpack("<Q", struct.pack("<d", s))[0]
        if word % 2 == 0:
            word += 1 if (off > 0) == (s > 0) else -1
        s = struct.unpack("<d", struct.pack("<Q", word))[0]
    return value(bits_of(s))


def add(a, b):
    return value(bits_of(a + b))  # binary64 has bits enough for its rounding to change nothing


class Ordered:
    """An inner product in the written order, and the words of its state."""

    def __init__(self, words=(0, 0, 0, 0, 0)):
        self.terms, self.chunks = words[0], words[4]
        self.chunk, self.block, self.result = map(value, words[1:4])

    def add_chunk(self, terms):
        for a, b in terms:
            self.chunk = fma(a, b, self.chunk)
        self.terms += len(terms)
        self.block, self.chunk, self.chunks = add(self.block, self.chunk), 0.0, self.chunks + 1
        if self.chunks == 16:
            self.result, self.block, self.chunks = add(self.result, self.block), 0.0, 0

    def words(self):
        return [self.terms, bits_of(self.chunk), bits_of(self.block), bits_of(self.result), self.chunks]

    def value(self, bias):
        result = add(self.result, self.block)
        return bits_of(result if bias is None else add(result, bias))


class Correct:
    """The same, correctly rounded."""
    UNIT = Fraction(1, 2**298)

    def __init__(self, words=(0,) * 12):
        assert words[11] == 0
        sum_ = sum(w << 64 * i for i, w in enumerate(words[1:11]))
        self.terms, self.sum = words[0], (sum_ - (sum_ >> 639 << 640)) * self.UNIT

    def add_chunk(self, terms):
        self.sum += sum((Fraction(a) * Fraction(b) for a, b in terms), Fraction(0))
        self.terms += len(terms)

    def words(self):
        units = int(self.sum / self.UNIT) % 2**640
        return [self.terms] + [units >> 64 * i & 2**64 - 1 for i in range(10)] + [0]

    def value(self, bias):
        return bits_of(nearest(self.sum + Fraction(bias or 0)))


def place(indices, dims):
    at = 0
    for i, d in zip(indices, dims):
        at = at * d + i
    return at


def places_of(at, dims):
    result = []
    for d in reversed(dims):
        at, i = divmod(at, d)
        result.insert(0, i)
    return result


def written_chunks(node, first, second, out, element):
    """Of an element of a product its chunks: pairs of elements of inputs 0 and 1, None where there is none; the bias."""
    a = node.attributes
    if node.op in ("MatMul", "Gemm"):
        *_, i, j = places_of(element, out)
        assert len(first) == len(second) == 2
        terms = [(place((k, i) if a.get("transA") else (i, k), first), place((j, k) if a.get("transB") else (k, j), second))
                 for k in range(first[0] if a.get("transA") else first[1])]
        return [terms[k:k + 256] for k in range(0, len(terms), 256)], j
    weights = {"Conv": second, "isobit.ConvGradSrc": second, "isobit.ConvGradWeights": out}[node.op]
    src = out if node.op == "isobit.ConvGradSrc" else first
    dst = {"Conv": out, "isobit.ConvGradSrc": first, "isobit.ConvGradWeights": second}[node.op]
    (kh, kw), (top, left), (down, across) = weights[2:], a["pads"][:2], a["strides"]
    assert a.get("group", 1) == 1 and set(a.get("dilations", [1])) == {1}

    def of_src(n, c, oh, ow, y, x):
        y, x = oh * down - top + y, ow * across - left + x
        return place((n, c, y, x), src) if 0 <= y < src[2] and 0 <= x < src[3] else None

    def of_dst(n, c, ih, iw, y, x):
        (y, over), (x, beside) = divmod(ih + top - y, down), divmod(iw + left - x, across)
        return None if over or beside or not (0 <= y < dst[2] and 0 <= x < dst[3]) else place((n, c, y, x), dst)

    if node.op == "isobit.ConvGradWeights":
        oc, c, y, x = places_of(element, weights)
        rows = [[[(of_src(n, c, oh, ow, y, x), place((n, oc, oh, ow), dst)) for ow in range(dst[3])]
                 for oh in range(dst[2])] for n in range(dst[0])]
        plane = dst[2] * dst[3]
        if plane <= 128:
            images, every = [sum(image, []) for image in rows], 256 // plane
            return [sum(images[n:n + every], []) for n in range(0, len(images), every)], None
        every = max(1, 256 // dst[3])
        return [sum(image[y:y + every], []) for image in rows for y in range(0, dst[2], every)], None
    n, c, y, x = places_of(element, out)
    channels = weights[1] if node.op == "Conv" else weights[0]
    blocks = [range(b, min(b + 16, channels)) for b in range(0, channels, 16)]
    every = max(1, (2 * 16 + kh * kw) // (2 * kh * kw))

    def term(i, j, other):
        if node.op == "Conv":
            return of_src(n, other, y, x, i, j), place((c, other, i, j), weights)
        return of_dst(n, other, y, x, i, j), place((other, c, i, j), weights)

    chunks = [[term(i, j, other) for block in blocks[b:b + every] for i in range(kh) for j in range(kw) for other in block]
              for b in range(0, len(blocks), every)]
    return chunks, c if node.op == "Conv" else None


def parts_of_sum(chunks):
    """Of chunks that begin with their number of terms: as many whole ones as have 1,024 together at most. (None of those
    that are tried has more by itself.)"""
    parts, terms = [[]], 0
    for chunk in chunks:
        if terms + chunk[0] > 1024:
            parts.append([])
            terms = 0
        parts[-1].append(chunk)
        terms += chunk[0]
    return parts


def philox(counter, key):
    c, k = list(counter), list(key)
    for _ in range(10):
        p, q = 0xD2511F53 * c[0], 0xCD9E8D57 * c[2]
        c = [q >> 32 ^ c[1] ^ k[0], q & 2**32 - 1, p >> 32 ^ c[3] ^ k[1], p & 2**32 - 1]
        k = [(k[0] + 0x9E3779B9) & 2**32 - 1, (k[1] + 0xBB67AE85) & 2**32 - 1]
    return c


def permute(seed, purpose, step, n, i):
    half = 0
    while 4**half < n:
        half += 1
    mask = (1 << half) - 1
    while True:
        left, right = i >> half, i & mask
        for r in range(8):
            word = philox((right, r, step, purpose), (seed & 2**32 - 1, seed >> 32))[0]
            left, right = right, left ^ word & mask
        i = left << half | right
        if i < n:
            return i


def batch_order(seed, batch, samples, step):
    """The samples of step `step`, which counts from 1."""
    places = range((step - 1) * batch, step * batch)
    return [permute(seed, 2, s // samples, samples, s % samples) for s in places]


def drawn(seed, history, counter, n):
    """A draw of a spot check below n, and the counter behind it."""
    most = 2**64 - 1
    while True:
        x = int.from_bytes(tagged("isobit.spot-draw", 1, u64(len(seed)) + seed + history + u64(counter))[:8], "little")
        counter += 1
        if x < most - most % n:
            return x % n, counter
