#!/usr/bin/env python3
"""Writes isobit/data/digits/digits.bin from the gzip CSV of the UCI optical digits (64 pixels, then the label, a line).

usage: convert_digits.py digits.csv.gz digits.bin
The format is described in docs/formats/samples.md.
"""
import gzip
import struct
import sys


def main() -> None:
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    records = []
    with gzip.open(sys.argv[1], "rt") as lines:
        for number, line in enumerate(lines, 1):
            values = [int(field) for field in line.split(",")]
            if len(values) != 65 or not all(0 <= v <= 16 for v in values[:64]) or not 0 <= values[64] <= 9:
                sys.exit(f"{sys.argv[1]}: line {number} is not 64 pixels of 0..16 and a label of 0..9")
            records.append(bytes([values[64]] + values[:64]))
    with open(sys.argv[2], "wb") as out:
        out.write(b"isodigit" + struct.pack("<IIII", 1, len(records), 8, 8) + b"".join(records))


if __name__ == "__main__":
    main()
