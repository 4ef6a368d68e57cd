"""Whole training steps beside PyTorch: isobit as `isobit train` takes them, PyTorch eager and compiled, each in the better of
its memory formats. In turn: a round is some steps of each, beginning with another one each time."""
import contextlib
import json
import os
import re
import shutil
import statistics
import subprocess
import tempfile

import networks

HERE = os.path.dirname(os.path.abspath(__file__))
SECONDS = 2.0  # of each in a round, or three steps
MEMORY = "/dev/shm"  # runs are written there, so that nobody waits for a disk


class Isobit:
    def __init__(self, bench, folder, threads=None):
        self.bench, self.folder, self.bytes = bench, folder, 0
        self.threads = threads or bench.options.processors

    @contextlib.contextmanager
    def trained(self, steps, *more, under=MEMORY):
        """The folder of a training of so many steps: its `run`, its `metrics`, and what it said in `document`."""
        place = tempfile.mkdtemp(prefix="isobit_steps_", dir=under if os.path.isdir(under) else None)
        try:
            command = [os.path.join(self.bench.options.build, "bin", "isobit"), "--json", "train",
                       os.path.join(self.folder, "job.toml"), "--out", os.path.join(place, "run"), "--quiet", "--platform",
                       f"ordered/{self.threads}t", "--keys", os.path.join(self.folder, "keys"), "--metrics",
                       os.path.join(place, "metrics"), "--set", f"job.steps={steps}", *more]
            with (open(os.path.join(place, "errors"), "w+", encoding="utf-8") as errors,
                  open(os.path.join(place, "document"), "w", encoding="utf-8") as document):
                with subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=document, stderr=errors) as running:
                    _, status, used = os.wait4(running.pid, 0)
                    running.returncode = os.waitstatus_to_exitcode(status)
                if running.returncode:
                    errors.seek(0)
                    self.bench.fail(f"{' '.join(command)}: exit code {running.returncode}\n{errors.read().strip()}")
            self.bytes = max(self.bytes, 1024 * used.ru_maxrss)
            yield place
        finally:
            shutil.rmtree(place, ignore_errors=True)

    def steps(self, count):
        """Their seconds; before them is one that is not counted."""
        with self.trained(count + 1) as place:
            with open(os.path.join(place, "metrics"), encoding="utf-8") as file:
                return [json.loads(line)["seconds"] for line in file][1:]

    def end(self):
        pass


class Torch:
    """A process that waits for its turn."""

    def __init__(self, bench, name, folder, way, threads=None):
        self.bytes, self.libraries, self.way, self.bench = 0, 0, way, bench
        command = [bench.python, "-B", os.path.join(HERE, "torch_steps.py"), name, folder, way,
                   str(threads or bench.options.processors)]
        self.log = os.path.join(folder, f"{way}.log")
        with open(self.log, "w", encoding="utf-8") as log:
            self.running = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log, text=True)
        self.steps(2)  # compiles

    def steps(self, count):
        try:
            self.running.stdin.write(f"{count}\n")
            self.running.stdin.flush()
            said = json.loads(self.running.stdout.readline())
        except (OSError, ValueError):
            self.end()
            self.bench.fail(f"PyTorch, {self.way}, ended with exit code {self.running.returncode}; its errors are in {self.log}")
        self.bytes, self.libraries = said["bytes"], said["libraries"]
        return said["seconds"]

    def end(self):
        with contextlib.suppress(BrokenPipeError):  # it has ended by itself
            self.running.stdin.close()
        self.running.wait()


def prepared(bench, name):
    """The folder of a network, with its job and data."""
    folder = os.path.join(bench.options.work, re.sub(r"[^a-z0-9-]+", "_", name, flags=re.I))
    if not os.path.exists(os.path.join(folder, "job.toml")):
        subprocess.run([bench.python, "-B", os.path.join(HERE, "networks.py"), name, folder], check=True)
    return folder


def better(bench, name, folder, kind, threads=None):
    """The process of the better memory format; the other one has ended."""
    kept, least = None, None
    formats = len(networks.network(name)[2]) == 4 and "vit" not in name
    for way in (kind, f"{kind}-channels-last") if formats else (kind,):
        torch = Torch(bench, name, folder, way, threads)
        median = statistics.median(torch.steps(3))
        loser = torch
        if least is None or median < least:
            loser, kept, least = kept, torch, median
        if loser:
            loser.end()
    return kept


def measure(bench, name):
    program = bench.digest(os.path.join(bench.options.build, "bin", "isobit"))
    if bench.results.has("steps", name, bench.options.processors, program):
        return
    folder = prepared(bench, name)
    with contextlib.ExitStack() as stack:
        contestants = {"isobit": Isobit(bench, folder)}
        for kind in ("eager", "compiled"):
            contestants[kind] = better(bench, name, folder, kind)
            stack.callback(contestants[kind].end)
        counts = {who: max(3, min(200, int(SECONDS / statistics.median(c.steps(2))))) for who, c in contestants.items()}
        rounds = {who: [] for who in contestants}
        bench.others.share()
        for number in range(bench.rounds(7, 2)):
            order = list(contestants)
            for who in order[number % 3:] + order[:number % 3]:
                rounds[who].append(statistics.median(contestants[who].steps(counts[who])))
        bench.keep("steps", name, bench.options.processors, program,
                   {"seconds": rounds, "bytes": {who: c.bytes for who, c in contestants.items()}, "steps": counts,
                    "libraries": contestants["eager"].libraries,
                    "ways": {who: c.way for who, c in contestants.items() if who != "isobit"}},
                   place=list(networks.NETWORKS).index(name))


def run(bench):
    for name in networks.NETWORKS:
        if re.search(bench.options.filter, name):
            bench.until_quiet(lambda: measure(bench, name))
