"""Inference of imported networks beside ONNX Runtime, in turn. Outputs are compared before anything is timed."""
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
REAL = os.path.join(ROOT, "scripts", "real_networks")
NETWORKS = ["resnet50", "vit_b_16", "gpt2"]
BATCHES = [1, 8]
EXPORTER = "dynamo"


def said_by(bench, command):
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    if done.returncode:
        bench.fail(f"{' '.join(command)}: exit code {done.returncode}\n{done.stderr.strip()}")
    return json.loads(done.stdout)


def exported(bench, name, batch):
    """The folder of a network, with random weights."""
    folder = os.path.join(bench.options.work, "inference")
    os.makedirs(folder, exist_ok=True)
    own = os.path.join(folder, f"{name}-{EXPORTER}" + (f"-b{batch}" if batch != 1 else ""))
    if not os.path.exists(os.path.join(own, "model.onnx")):
        subprocess.run([bench.python, os.path.join(REAL, "export.py"), folder, "--exporter", EXPORTER, "--only", name, "--batch",
                        str(batch), "--again"], stdout=subprocess.DEVNULL, check=True)
    with open(os.path.join(own, "export.json"), encoding="utf-8") as file:
        said = json.load(file)
    if "error" in said:
        bench.fail(f"{name}: is not exported: {said['error']}")
    return own, {n: os.path.join(own, f) for n, f in said["inputs"].items()}


class Both:
    def __init__(self, bench, own, inputs, repeat):
        self.bench, self.model, self.repeat = bench, os.path.join(own, "model.onnx"), repeat
        self.inputs = [word for name, file in inputs.items() for word in ("--input", f"{name}={file}")]

    def isobit(self, *more):
        """The document of one run of it. Its first run of a network, which plans, is one of the repeated ones."""
        return said_by(self.bench, [os.path.join(self.bench.options.build, "bin", "isobit"), "--json", "run", self.model,
                                    *self.inputs, "--platform", f"ordered/{self.bench.options.processors}t", "--repeat",
                                    str(self.repeat + 1), *more])

    def onnxruntime(self, *more):
        return said_by(self.bench, [self.bench.python, os.path.abspath(__file__), self.model, str(self.repeat),
                                    str(self.bench.options.processors), *self.inputs, *more])

    def check(self):
        with tempfile.TemporaryDirectory(prefix="isobit_bench_") as folder:
            out = os.path.join(folder, "out")
            outputs = self.isobit("--out", out)["outputs"]
            files = sorted((os.path.join(out, f) for f in os.listdir(out)),
                           key=lambda f: int(os.path.basename(f).split("-")[0]))
            found = self.onnxruntime(*(word for o, f in zip(outputs, files) for word in ("--output", f"{o['name']}={f}")))
            for complaint in found["complaints"]:
                self.bench.fail(f"{self.model}: {complaint}", 1)


def measure(bench, name, batch):
    program, title = bench.digest(os.path.join(bench.options.build, "bin", "isobit")), f"{name} B={batch}"
    if bench.results.has("inference", title, bench.options.processors, program):
        return
    both = Both(bench, *exported(bench, name, batch), 2 if bench.options.quick else 5 if batch == 1 else 3)
    both.check()
    rounds = {"isobit": [], "onnxruntime": []}
    bench.others.share()
    for number in range(bench.rounds(9, 2)):
        for who in list(rounds)[::1 if number % 2 == 0 else -1]:
            rounds[who].append(getattr(both, who)()["seconds"])
    bench.keep("inference", title, bench.options.processors, program, {"seconds": rounds},
               place=10 * NETWORKS.index(name) + batch)


def run(bench):
    for name in NETWORKS:
        for batch in BATCHES:
            if re.search(bench.options.filter, f"{name} B={batch}"):
                bench.until_quiet(lambda: measure(bench, name, batch))


def pairs(words, option):
    return dict(value.split("=", 1) for key, value in zip(words, words[1:]) if key == option)


def time_onnxruntime(path, repeat, threads, *words):
    """In a process of its own, of the interpreter that has the library."""
    sys.path.insert(0, REAL)
    import compare
    import numpy
    session = compare.session_of(path, int(threads))
    inputs, outputs = pairs(words, "--input"), pairs(words, "--output")
    feeds = {v.name: numpy.load(inputs[v.name]) for v in session.get_inputs()}
    names = [v.name for v in session.get_outputs()]
    wanted = dict(zip(names, session.run(names, feeds)))
    complaints = []
    for name, file in outputs.items():
        apart, complaint = compare.difference(numpy.load(file), wanted[name])
        if complaint or apart > compare.MOST:
            complaints.append(f"output '{name}': {complaint or f'a difference of {apart:.1e}'}")
    seconds = []
    for _ in range(int(repeat)):
        begin = time.perf_counter()
        session.run(None, feeds)
        seconds.append(time.perf_counter() - begin)
    print(json.dumps({"seconds": statistics.median(seconds), "complaints": complaints}))


if __name__ == "__main__":
    time_onnxruntime(*sys.argv[1:])
