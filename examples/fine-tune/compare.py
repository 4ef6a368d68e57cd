#!/usr/bin/env python3
"""Whether isobit and ONNX Runtime give an exported network's scores alike: at most 1e-4 of the largest apart.

usage: compare.py ISOBIT MODEL.onnx ARITHMETIC      Exit status 77, for "skipped", without NumPy or ONNX Runtime.
"""
import glob
import os
import subprocess
import sys
import tempfile

try:
    import numpy
    import onnxruntime
except ImportError as missing:
    print(f"skipped: no {missing.name}")
    sys.exit(77)

MOST = 1e-4


def main():
    isobit, model, arithmetic = sys.argv[1:]
    images = numpy.random.default_rng(1).standard_normal((16, 3, 32, 32), dtype=numpy.float32)
    session = onnxruntime.InferenceSession(model, providers=["CPUExecutionProvider"])
    wanted = session.run(None, {session.get_inputs()[0].name: images})[0]
    with tempfile.TemporaryDirectory() as folder:
        file, out = os.path.join(folder, "images.npy"), os.path.join(folder, "out")
        numpy.save(file, images)
        subprocess.run([isobit, "run", model, "--input", file, "--arithmetic", arithmetic, "--out", out], check=True)
        found = numpy.load(glob.glob(os.path.join(out, "0-*.npy"))[0])
    apart = numpy.abs(found - wanted).max() / numpy.abs(wanted).max()
    print(f"scores of 16 images: {apart:.1e} of the largest apart")
    sys.exit(0 if found.shape == wanted.shape and apart <= MOST else 1)


if __name__ == "__main__":
    main()
