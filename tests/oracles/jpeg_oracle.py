#!/usr/bin/env python3
"""JPEG files and what their pixels are, from the standard and isobit/formats/image.h alone (no library of images).

usage: jpeg_oracle.py GOLDEN            decodes every file of GOLDEN and compares, exit status 1 at a difference
       jpeg_oracle.py GOLDEN --write    makes the files again, too

Lines: NAME CHANNELSxHEIGHTxWIDTH SHA-256-of-planes HEX-of-the-file
The coefficients are drawn at random, so that many values come to lie near a half; the files are baseline, with Huffman
tables whose codes have one length each. The inverse transform is the accurate integer one of Loeffler, Ligtenberg and
Moschytz with 13 bits (libjpeg's "islow"), chroma values are repeated, and YCbCr becomes RGB with 16 bits.
"""
import hashlib
import random
import struct
import sys

ZIGZAG = sorted(range(64), key=lambda i: (i // 8 + i % 8, (i // 8 if (i // 8 + i % 8) % 2 else i % 8)))
DC_CODE, AC_CODE = 4, 8  # bits of every code: 12 sizes, and 162 pairs of run and size
AC_SYMBOLS = [0x00, 0xF0] + [run << 4 | size for run in range(16) for size in range(1, 11)]
# name, (horizontal, vertical) factors of each component, width, height, restart interval
CASES = [("grey", [(1, 1)], 13, 9, 0), ("grey-odd", [(1, 1)], 8, 17, 2), ("444", [(1, 1)] * 3, 17, 10, 0),
         ("420", [(2, 2), (1, 1), (1, 1)], 35, 21, 0), ("422", [(2, 1), (1, 1), (1, 1)], 19, 9, 1),
         ("440", [(1, 2), (1, 1), (1, 1)], 9, 19, 0), ("411", [(4, 1), (1, 1), (1, 1)], 37, 9, 0),
         ("420-one", [(2, 2), (1, 1), (1, 1)], 1, 1, 0)]


def segment(marker, payload):
    return struct.pack(">BBH", 0xFF, marker, len(payload) + 2) + payload


class BitWriter:
    def __init__(self):
        self.out, self.value, self.count = bytearray(), 0, 0

    def put(self, value, bits):
        for i in reversed(range(bits)):
            self.value, self.count = self.value << 1 | (value >> i & 1), self.count + 1
            if self.count == 8:
                self.out += bytes([self.value, 0] if self.value == 0xFF else [self.value])
                self.value = self.count = 0

    def align(self):
        while self.count:
            self.put(1, 1)


def number(bits, value):
    size = abs(value).bit_length()
    bits.put(value if value >= 0 else value + (1 << size) - 1, size)


def write_block(bits, block, predicted):
    diff = block[0] - predicted
    bits.put(abs(diff).bit_length(), DC_CODE)
    number(bits, diff)
    run, last = 0, max((k for k in range(64) if block[ZIGZAG[k]]), default=0)
    for k in range(1, last + 1):
        value = block[ZIGZAG[k]]
        if value == 0:
            run += 1
            continue
        for _ in range(run // 16):
            bits.put(AC_SYMBOLS.index(0xF0), AC_CODE)
        bits.put(AC_SYMBOLS.index(run % 16 << 4 | abs(value).bit_length()), AC_CODE)
        number(bits, value)
        run = 0
    if last < 63:
        bits.put(AC_SYMBOLS.index(0x00), AC_CODE)


def random_block(draw):
    block = [0] * 64
    block[0] = draw.randint(-30, 30)
    for _ in range(draw.choice([0, 1, 3, 8, 20])):
        block[draw.randrange(1, 64)] = draw.choice([-1, 1]) * draw.choice([1, 1, 2, 3, 9])
    return block


def make(factors, width, height, restart, draw):
    wide, high = max(h for h, _ in factors), max(v for _, v in factors)
    across, down = -(-width // (8 * wide)), -(-height // (8 * high))
    bits, dc = BitWriter(), [0] * len(factors)
    for mcu in range(across * down):
        if restart and mcu and mcu % restart == 0:
            bits.align()
            bits.out += bytes([0xFF, 0xD0 + (mcu // restart - 1) % 8])
            dc = [0] * len(factors)
        for c, (h, v) in enumerate(factors):
            for _ in range(h * v):
                block = random_block(draw)
                write_block(bits, block, dc[c])
                dc[c] = block[0]
    bits.align()
    table = bytes(draw.randint(3, 12) for _ in range(64))
    lengths = lambda length, count: bytes(count if i == length else 0 for i in range(1, 17))
    out = b"\xff\xd8" + segment(0xE0, b"JFIF\0\1\1\0\0\1\0\1\0\0") + segment(0xDB, b"\0" + table)
    out += segment(0xC0, struct.pack(">BHHB", 8, height, width, len(factors)) +
                   b"".join(bytes([c + 1, h << 4 | v, 0]) for c, (h, v) in enumerate(factors)))
    out += segment(0xC4, b"\x00" + lengths(DC_CODE, 12) + bytes(range(12)))
    out += segment(0xC4, b"\x10" + lengths(AC_CODE, len(AC_SYMBOLS)) + bytes(AC_SYMBOLS))
    if restart:
        out += segment(0xDD, struct.pack(">H", restart))
    out += segment(0xDA, bytes([len(factors)]) + b"".join(bytes([c + 1, 0]) for c in range(len(factors))) + b"\0\x3f\0")
    return out + bytes(bits.out) + b"\xff\xd9"


class BitReader:
    def __init__(self, data, at):
        self.data, self.at, self.value, self.count = data, at, 0, 0

    def bit(self):
        if self.count == 0:
            self.value, self.count = self.data[self.at], 8
            self.at += 2 if self.value == 0xFF else 1
        self.count -= 1
        return self.value >> self.count & 1

    def bits(self, n):
        value = 0
        for _ in range(n):
            value = value << 1 | self.bit()
        return value

    def symbol(self, codes):
        code = length = 0
        while (length, code) not in codes:
            code, length = code << 1 | self.bit(), length + 1
        return codes[length, code]

    def number(self, size):
        value = self.bits(size)
        return value if size == 0 or value >> (size - 1) else value - (1 << size) + 1

    def restart(self):
        self.count = 0
        self.at += 2


def codes_of(payload):
    codes, code, at = {}, 0, 16
    for length in range(1, 17):
        for _ in range(payload[length - 1]):
            codes[length, code] = payload[at]
            code, at = code + 1, at + 1
        code <<= 1
    return codes


def transform(v, shift):
    """One dimension of the inverse transform of 8 numbers, rounded to `shift` bits less."""
    z1 = (v[2] + v[6]) * 4433
    t2, t3 = z1 - v[6] * 15137, z1 + v[2] * 6270
    t0, t1 = (v[0] + v[4]) << 13, (v[0] - v[4]) << 13
    even = [t0 + t3, t1 + t2, t1 - t2, t0 - t3]
    o = [v[7], v[5], v[3], v[1]]
    z1, z2, z3, z4 = o[0] + o[3], o[1] + o[2], o[0] + o[2], o[1] + o[3]
    z5 = (z3 + z4) * 9633
    z1, z2, z3, z4 = z1 * -7373, z2 * -20995, z3 * -16069 + z5, z4 * -3196 + z5
    odd = [o[3] * 12299 + z1 + z4, o[2] * 25172 + z2 + z3, o[1] * 16819 + z2 + z4, o[0] * 2446 + z1 + z3]
    half = 1 << (shift - 1)
    return [(even[i] + odd[i] + half) >> shift for i in range(4)] + \
           [(even[i] - odd[i] + half) >> shift for i in reversed(range(4))]


def clamp(v):
    return max(0, min(255, v))


def inverse(block):
    columns = [transform(block[x::8], 11) for x in range(8)]
    rows = [transform([columns[x][y] for x in range(8)], 18) for y in range(8)]
    return [[clamp(v + 128) for v in row] for row in rows]


def parse(data):
    at, out = 2, {"restart": 0, "tables": {}, "codes": {}}
    while True:
        marker, size = data[at + 1], struct.unpack(">H", data[at + 2:at + 4])[0]
        payload = data[at + 4:at + 2 + size]
        at += 2 + size
        if marker == 0xDB:
            out["tables"][payload[0]] = payload[1:]
        elif marker == 0xC0:
            _, out["height"], out["width"], n = struct.unpack(">BHHB", payload[:6])
            factors = [(payload[7 + 3 * c], payload[8 + 3 * c]) for c in range(n)]
            out["components"] = [(both >> 4, both & 15, table) for both, table in factors]
        elif marker == 0xC4:
            out["codes"][payload[0]] = codes_of(payload[1:])
        elif marker == 0xDD:
            out["restart"] = struct.unpack(">H", payload)[0]
        elif marker == 0xDA:
            return out, at


def decode(data):
    """(channels, height, width, planes)"""
    j, at = parse(data)
    reader, parts = BitReader(data, at), j["components"]
    wide, high = max(h for h, _, _ in parts), max(v for _, v, _ in parts)
    across, down = -(-j["width"] // (8 * wide)), -(-j["height"] // (8 * high))
    planes = [[[0] * (across * h * 8) for _ in range(down * v * 8)] for h, v, _ in parts]
    dc = [0] * len(parts)
    for mcu in range(across * down):
        if j["restart"] and mcu and mcu % j["restart"] == 0:
            reader.restart()
            dc = [0] * len(parts)
        for c, (h, v, table) in enumerate(parts):
            for b in range(h * v):
                block = [0] * 64
                dc[c] += reader.number(reader.symbol(j["codes"][0]))
                block[0] = dc[c] * j["tables"][table][0]
                k = 1
                while k < 64:
                    pair = reader.symbol(j["codes"][0x10])
                    if pair == 0:
                        break
                    k += pair >> 4
                    if pair & 15:
                        block[ZIGZAG[k]] = reader.number(pair & 15) * j["tables"][table][k]
                    k += 1
                y, x = (mcu // across * v + b // h) * 8, (mcu % across * h + b % h) * 8
                for i, row in enumerate(inverse(block)):
                    planes[c][y + i][x:x + 8] = row
    out = [[] for _ in parts]
    for y in range(j["height"]):
        for x in range(j["width"]):
            v = [planes[c][y * vc // high][x * hc // wide] for c, (hc, vc, _) in enumerate(parts)]
            if len(v) == 3:
                v = to_rgb(*v)
            for c, value in enumerate(v):
                out[c].append(value)
    return len(parts), j["height"], j["width"], bytes(sum(out, []))


def to_rgb(y, cb, cr):
    cb, cr, half = cb - 128, cr - 128, 1 << 15
    return [clamp(y + ((91881 * cr + half) >> 16)), clamp(y + ((-22554 * cb - 46802 * cr + half) >> 16)),
            clamp(y + ((116130 * cb + half) >> 16))]


def line_of(name, data):
    channels, height, width, planes = decode(data)
    return f"{name} {channels}x{height}x{width} {hashlib.sha256(planes).hexdigest()} {data.hex()}"


def main():
    path = sys.argv[1]
    if "--write" in sys.argv:
        draw = random.Random(1)
        with open(path, "w", encoding="utf-8") as f:
            f.write("# JPEG files and the digests of their pixels (isobit/formats/image.h). Made by "
                    "tests/oracles/jpeg_oracle.py.\n")
            for name, factors, width, height, restart in CASES:
                f.write(line_of(name, make(factors, width, height, restart, draw)) + "\n")
        return
    with open(path, encoding="utf-8") as f:
        lines = [line for line in f.read().splitlines() if not line.startswith("#")]
    wrong = [line.split()[0] for line in lines if line_of(line.split()[0], bytes.fromhex(line.split()[3])) != line]
    print(f"{len(lines)} files, {len(wrong)} wrong {wrong}")
    sys.exit(bool(wrong) or not lines)


if __name__ == "__main__":
    main()
