#!/usr/bin/env python3
"""What isobit exports, opened by ONNX Runtime, onnx.checker and ONNX's reference evaluator.

usage: onnx_oracle.py ISOBIT EXPORT_DUMP WORK_FOLDER

Every example of every operator that is written (EXPORT_DUMP) must be a model that onnx.checker accepts, and ONNX
Runtime, or ONNX's reference evaluator where that has no such kernel, must compute the same of the same inputs:
integers and truths exactly, real numbers to float32's rounding of the largest one. Of every builder a few steps are
trained and exported, and the logits of ONNX Runtime compared with those of `isobit run`, which the importer's tests tie
to the run's own. Exit status 77 where there is no ONNX Runtime or numpy; without the package onnx its part is left out.
"""
import collections
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
    import onnx.reference
except ImportError:
    onnx = None

# Of the largest number: some hundred roundings of float32, one on another, and a wide margin.
BOUND = 2.0 ** -12

# Examples that other programs do not take, or take otherwise than ONNX says, by operator: why. What of an operator has no
# such reason must agree.
OTHERWISE = {
    "AffineGrid": "corners of an axis of one place are divided by nothing",
    "ConvInteger": "ONNX Runtime has one zero point for all channels of the weights only",
    "ConvTranspose": "the reference evaluator takes no groups",
    "GlobalLpPool": "the reference evaluator does not have it",
    "GlobalMaxPool": "the reference evaluator takes images along two axes",
    "GridSample": "ONNX Runtime takes cubic samples beyond the border from elsewhere",
    "LRN": "the others take images along two axes",
    "LpPool": "the reference evaluator counts places behind the end",
    "MaxRoiPool": "the reference evaluator does not have it",
    "MaxUnpool": "ONNX Runtime takes places as those of the larger plane",
    "Mean": "the reference evaluator adds up in place",
    "NonMaxSuppression": "ONNX Runtime takes no threshold beyond 1",
    "OneHot": "the reference evaluator takes no float64",
    "Pad": "ONNX Runtime reflects once only",
    "QLinearMatMul": "ONNX Runtime has one zero point for all rows only",
}

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


def session_of(model):
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    options.intra_op_num_threads = 1
    return onnxruntime.InferenceSession(str(model), options, providers=["CPUExecutionProvider"])


def difference(found, wanted):
    """What is wrong, or None."""
    if found.shape != wanted.shape or found.dtype != wanted.dtype:
        return f"is {found.dtype} {list(found.shape)}, expected {wanted.dtype} {list(wanted.shape)}"
    if not numpy.issubdtype(wanted.dtype, numpy.floating):
        return None if numpy.array_equal(found, wanted) else f"is {found.ravel()[:8]}, expected {wanted.ravel()[:8]}"
    if found.size == 0:
        return None
    same_kind = numpy.array_equal(numpy.isfinite(found), numpy.isfinite(wanted))
    finite = numpy.isfinite(wanted)
    if not same_kind or not numpy.array_equal(found[~finite], wanted[~finite], equal_nan=True):
        return "has other numbers that are not finite"
    largest = max(numpy.abs(wanted[finite]).max(initial=0), 1e-30)
    error = numpy.abs(found[finite].astype(numpy.float64) - wanted[finite]).max(initial=0) / largest
    return None if error <= BOUND else f"differs by {error:.3g} of the largest number, allowed {BOUND:.3g}"


class Checks:
    def __init__(self, isobit, dump, work):
        self.isobit_program, self.dump, self.work, self.failures = isobit, dump, work, 0
        self.env = dict(os.environ, ISOBIT_HOME=str(work / "keys"), HOME=str(work))

    def fail(self, what, reason):
        self.failures += 1
        print(f"DIFFERS {what}: {reason}")

    def isobit(self, *arguments):
        done = subprocess.run([self.isobit_program, "--json", *map(str, arguments)], cwd=self.work, env=self.env,
                              capture_output=True, text=True)
        if done.returncode != 0:
            sys.exit(f"isobit {' '.join(map(str, arguments))}: exit code {done.returncode}\n{done.stdout}{done.stderr}")
        return json.loads(done.stdout)

    # Operators.

    def results(self, model, feeds):
        """(who, outputs): ONNX Runtime where it has the operators, else the reference evaluator."""
        try:
            return "ONNX Runtime", session_of(model).run(None, feeds)
        except Exception as refused:  # of classes that have no common base but this one
            if "NOT_IMPLEMENTED" not in str(refused):
                raise
        if onnx is None:
            return "nobody", None
        return "the reference evaluator", onnx.reference.ReferenceEvaluator(str(model)).run(None, feeds)

    def compare_operator(self, folder):
        """Who computed it, and what is wrong with it or None."""
        model = folder / "model.onnx"
        if onnx is not None:
            onnx.checker.check_model(str(model), full_check=True)
        try:
            names = (folder / "inputs.txt").read_text().splitlines()
            feeds = {name: numpy.load(folder / f"input_{i}.npy") for i, name in enumerate(names)}
            who, outputs = self.results(model, feeds)
        except Exception as error:
            return "nobody", " ".join(str(error).split())[:300]
        for i, found in enumerate(outputs or []):
            reason = difference(numpy.asarray(found), numpy.load(folder / f"output_{i}.npy"))
            if reason:
                return who, f"output {i} of {who} {reason}"
        return who, None

    def check_operators(self):
        folder = self.work / "operators"
        subprocess.run([self.dump, str(folder)], check=True, stdout=subprocess.DEVNULL)
        seen, known = collections.Counter(), collections.Counter()
        for example in sorted(folder.iterdir()):
            op = (example / "op.txt").read_text().strip()
            try:
                who, reason = self.compare_operator(example)
            except Exception as error:  # of onnx.checker
                who, reason = "nobody", None
                self.fail(f"{example.name} {op}", f"onnx.checker: {' '.join(str(error).split())[:300]}")
            seen[who] += 1
            if reason and op.split()[0] in OTHERWISE:
                known[op.split()[0]] += 1
            elif reason:
                self.fail(f"{example.name} {op}", reason)
        print("examples of operators: " + ", ".join(f"{n} by {who}" for who, n in seen.most_common()))
        for op, n in sorted(known.items()):
            print(f"  {n} of {op} otherwise: {OTHERWISE[op]}")

    # Networks.

    def network(self, builder):
        text = self.work / "text.txt"
        text.write_bytes(bytes(range(256)) * 16)
        job = self.work / f"{builder}.toml"
        job.write_text(job_of(builder, text))
        self.isobit("train", job, "--out", self.work / f"{builder}.run")
        model = self.work / f"{builder}.onnx"
        return model, self.isobit("export", self.work / f"{builder}.run", "--onnx", "--out", model)

    def logits_of_isobit(self, model, name, samples):
        numpy.save(self.work / "samples.npy", samples)
        outputs = self.work / "outputs"
        shutil.rmtree(outputs, ignore_errors=True)
        self.isobit("run", model, "--input", f"{name}={self.work / 'samples.npy'}", "--out", outputs)
        return numpy.load(next(iter(sorted(outputs.iterdir()))))

    def check_network(self, builder):
        model, exported = self.network(builder)
        if onnx is not None:
            onnx.checker.check_model(str(model), full_check=True)
        session = session_of(model)
        inputs = session.get_inputs()
        if [i.shape[0] for i in inputs] != ["batch"] or exported["batch"] is not None:
            self.fail(builder, f"inputs {[(i.name, i.shape) for i in inputs]}, expected one of any batch")
        rng = numpy.random.default_rng(1)
        for batch in (1, 5):
            shape = [batch, *inputs[0].shape[1:]]
            tokens = inputs[0].type == "tensor(int64)"
            samples = rng.integers(0, 256, shape) if tokens else rng.normal(size=shape).astype(numpy.float32)
            found = session.run(None, {inputs[0].name: samples})[0]
            reason = difference(found, self.logits_of_isobit(model, inputs[0].name, samples))
            if reason:
                self.fail(builder, f"logits of ONNX Runtime: {reason}")
        print(f"{builder}: opset {exported['opset']}, {exported['nodes']} nodes")


def main():
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    work = pathlib.Path(sys.argv[3]).absolute()
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir(parents=True)
    checks = Checks(os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2]), work)
    checks.check_operators()
    for builder in JOBS:
        checks.check_network(builder)
    if onnx is None:
        print("without onnx.checker and the reference evaluator: the package onnx is not there")
    sys.exit(checks.failures > 0)


if __name__ == "__main__":
    main()
