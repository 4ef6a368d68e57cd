#!/usr/bin/env python3
"""Writes the data of logistic-2e18.toml: samples of 1,024 normal numbers, whose class is the sign of a fixed sum of them
and of noise. The test samples are a 64th as many.

usage: logistic_data.py FOLDER [SAMPLES]     (262,144)
"""
import os
import sys

import numpy

FEATURES, PART = 1024, 4096


def write(folder, prefix, samples, direction, chance):
    path = os.path.join(folder, f"{prefix}inputs.npy")
    inputs = numpy.lib.format.open_memmap(path, mode="w+", dtype=numpy.float32, shape=(samples, FEATURES))
    labels = numpy.empty(samples, dtype=numpy.int64)
    for at in range(0, samples, PART):
        part = chance.standard_normal((min(PART, samples - at), FEATURES), dtype=numpy.float32)
        inputs[at:at + len(part)] = part
        labels[at:at + len(part)] = part @ direction + chance.standard_normal(len(part)) * 4 > 0
    inputs.flush()
    numpy.save(os.path.join(folder, f"{prefix}labels.npy"), labels)


def main():
    if len(sys.argv) not in (2, 3):
        sys.exit(__doc__)
    folder, samples = sys.argv[1], int(sys.argv[2]) if len(sys.argv) == 3 else 1 << 18
    os.makedirs(folder, exist_ok=True)
    chance = numpy.random.default_rng(1)
    direction = chance.standard_normal(FEATURES)
    write(folder, "", samples, direction, chance)
    write(folder, "test_", max(1, samples // 64), direction, chance)


if __name__ == "__main__":
    main()
