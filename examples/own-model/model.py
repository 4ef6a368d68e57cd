#!/usr/bin/env python3
"""Writes a network of one's own as an ONNX file, and data of one's own as .npy files.

usage: model.py FOLDER

The network tells three spirals apart by the place of a point. Weights are random; training starts with them. PyTorch and
NumPy are needed (and onnx, from PyTorch 2.0 on). Exit status 77 where they are not there.
"""
import inspect
import os
import sys
import warnings

try:
    import numpy
    import torch
    if torch.__version__ >= "2":
        import onnx  # noqa: F401  the exporter needs it
except ImportError as missing:
    print(f"skipped: no {missing.name}")
    sys.exit(77)


def network():
    torch.manual_seed(1)
    return torch.nn.Sequential(
        torch.nn.Linear(2, 64), torch.nn.BatchNorm1d(64), torch.nn.GELU(),
        torch.nn.Linear(64, 64), torch.nn.BatchNorm1d(64), torch.nn.GELU(),
        torch.nn.Linear(64, 3))


def export(path):
    # TRAINING and no folding: batch norms stay what they are, and parameters keep their names.
    more = {"dynamo": False} if "dynamo" in inspect.signature(torch.onnx.export).parameters else {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.onnx.export(network(), torch.zeros(2, 2), path, input_names=["place"], output_names=["scores"],
                          dynamic_axes={"place": {0: "batch"}, "scores": {0: "batch"}},
                          training=torch.onnx.TrainingMode.TRAINING, do_constant_folding=False, **more)


def spirals(count, seed):
    """Points [count, 2] on three arms, and the arm of each."""
    chance = numpy.random.default_rng(seed)
    arm = numpy.arange(count) % 3
    along = chance.random(count)
    angle = 5 * along + 2 * numpy.pi * arm / 3 + 0.15 * chance.standard_normal(count)
    places = numpy.stack([along * numpy.cos(angle), along * numpy.sin(angle)], axis=1)
    return places.astype(numpy.float32), arm.astype(numpy.int64)


def main():
    if len(sys.argv) != 2:
        sys.exit("usage: model.py FOLDER")
    folder = sys.argv[1]
    os.makedirs(os.path.join(folder, "data"), exist_ok=True)
    export(os.path.join(folder, "model.onnx"))
    for prefix, count, seed in (("", 1500, 1), ("test_", 300, 2)):
        places, arms = spirals(count, seed)
        numpy.save(os.path.join(folder, "data", f"{prefix}inputs.npy"), places)
        numpy.save(os.path.join(folder, "data", f"{prefix}labels.npy"), arms)


if __name__ == "__main__":
    main()
