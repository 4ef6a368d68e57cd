#!/usr/bin/env python3
"""Networks that isobit exports, opened by onnx.checker and ONNX Runtime.

usage: onnx_oracle.py ISOBIT WORK_FOLDER

Trains a few steps of every builder, writes the network as an ONNX model and compares the logits that ONNX Runtime
computes with those of `isobit run`, which the tests of the importer tie to the run's own: both are sums of float32
numbers in different orders, so they agree to float32's rounding of the largest logit. Exit status 77 where there is no
ONNX Runtime or numpy; without the package onnx its checker is left out.
"""
import json
import os
import pathlib
import shutil
import subprocess
import sys

try:
    import numpy
    import onnxruntime
except ImportError as missing:
    print("skipped: no", missing.name)
    sys.exit(77)
try:
    import onnx
except ImportError:
    onnx = None

# Of the largest logit: some hundred roundings of float32, one on another, and a wide margin.
BOUND = 2.0 ** -12

IMAGES = '[data]\ndataset = "digits"\nbatch = 8\n'
JOBS = {
    "digits-cnn": IMAGES,
    "mnist-cnn": IMAGES,
    "logistic": IMAGES,
    "resnet": IMAGES,
    "gpt": '[data]\ndataset = "text"\npath = "{text}"\ncontext = 16\nbatch = 4\n',
}
SIZES = {"gpt": "layers = 2\nheads = 2\nchannels = 16\n", "resnet": "width = 8\n"}


def job_of(builder, text):
    return (f'[job]\nname = "{builder}"\nseed = 1\nsteps = 6\n[model]\nbuilder = "{builder}"\n{SIZES.get(builder, "")}'
            + JOBS[builder].format(text=text) +
            '[optimizer]\nname = "sgd"\nlr = 0.05\n[commit]\nevery = 6\n[checkpoint]\nevery = 6\n')


class Checks:
    def __init__(self, isobit, work):
        self.isobit_program, self.work, self.failures = isobit, work, 0
        self.env = dict(os.environ, ISOBIT_HOME=str(work / "keys"), HOME=str(work))

    def isobit(self, *arguments):
        done = subprocess.run([self.isobit_program, "--json", *map(str, arguments)], cwd=self.work, env=self.env,
                              capture_output=True, text=True)
        if done.returncode != 0:
            sys.exit(f"isobit {' '.join(map(str, arguments))}: exit code {done.returncode}\n{done.stdout}{done.stderr}")
        return json.loads(done.stdout)

    def network(self, builder):
        text = self.work / "text.txt"
        text.write_bytes(bytes(range(256)) * 16)
        job = self.work / f"{builder}.toml"
        job.write_text(job_of(builder, text))
        self.isobit("train", job, "--out", self.work / f"{builder}.run")
        model = self.work / f"{builder}.onnx"
        return model, self.isobit("export", self.work / f"{builder}.run", "--onnx", "--out", model)

    def logits(self, model, name, samples):
        """Those of isobit and those of ONNX Runtime."""
        numpy.save(self.work / "samples.npy", samples)
        outputs = self.work / "outputs"
        shutil.rmtree(outputs, ignore_errors=True)
        self.isobit("run", model, "--input", f"{name}={self.work / 'samples.npy'}", "--out", outputs)
        ours = numpy.load(next(iter(sorted(outputs.iterdir()))))
        session = onnxruntime.InferenceSession(str(model), providers=["CPUExecutionProvider"])
        return ours, session.run(None, {name: samples})[0]

    def check(self, builder):
        model, exported = self.network(builder)
        if onnx is not None:
            onnx.checker.check_model(str(model), full_check=True)
        inputs = onnxruntime.InferenceSession(str(model), providers=["CPUExecutionProvider"]).get_inputs()
        if [i.shape[0] for i in inputs] != ["batch"] or exported["batch"] is not None:
            self.fail(builder, f"inputs {[(i.name, i.shape) for i in inputs]}, expected one of any batch")
        rng = numpy.random.default_rng(1)
        for batch in (1, 5):
            shape = [batch, *inputs[0].shape[1:]]
            tokens = inputs[0].type == "tensor(int64)"
            samples = rng.integers(0, 256, shape) if tokens else rng.normal(size=shape).astype(numpy.float32)
            ours, theirs = self.logits(model, inputs[0].name, samples)
            if ours.shape != theirs.shape:
                self.fail(builder, f"logits {theirs.shape}, expected {ours.shape}")
                continue
            error = numpy.abs(ours.astype(numpy.float64) - theirs).max() / numpy.abs(ours).max()
            print(f"{builder}: opset {exported['opset']}, batch {batch}: {error:.3g} of the largest logit")
            if not error <= BOUND:  # a NaN is bad
                self.fail(builder, f"logits differ by {error:.3g} of the largest, allowed {BOUND:.3g}")

    def fail(self, builder, reason):
        self.failures += 1
        print(f"DIFFERS {builder}: {reason}")


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    work = pathlib.Path(sys.argv[2]).absolute()
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir(parents=True)
    checks = Checks(os.path.abspath(sys.argv[1]), work)
    for builder in JOBS:
        checks.check(builder)
    print("without onnx.checker: the package onnx is not there" if onnx is None else "onnx.checker accepts all")
    sys.exit(checks.failures > 0)


if __name__ == "__main__":
    main()
