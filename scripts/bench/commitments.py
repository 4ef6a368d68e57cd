"""What commitments cost of the time of training: runs that commit to their state at the interval of the job, after every step
and never, in turn. A run is timed from the end of one step to the end of the next: state root, transcript and signed head,
which lie outside of what `isobit train` counts as its steps, are in it; the checkpoint at its end is not. Runs lie in memory,
and once more on the disk of the build, which a signed head waits for."""
import json
import os
import re
import statistics

import networks
import steps

# Steps that each way is watched for beyond the first two. A job's own interval is run where it is no more than these.
NETWORKS = {"digits B=32": 400, "gpt2-124m B=4 T=64": 10, "resnet50 B=64 32x32": 6}
NEVER = 1 << 20  # as networks.job_of has it
WARM = 2  # steps before those that count: `isobit train --profile` leaves out the first, and what lies between it and the next


def interval_of(name):
    """Of the job as it is shipped."""
    return networks.example(networks.network(name)[0])["commit"]["every"]


def intervals(name):
    """{way: commit.every}"""
    own = {"own": interval_of(name)} if interval_of(name) <= NETWORKS[name] else {}
    return {"never": NEVER, **own, "each": 1, "each, on a disk": 1}


class Ways:
    def __init__(self, bench, name):
        self.isobit, self.count = steps.Isobit(bench, steps.prepared(bench, name)), NETWORKS[name]
        self.disk, self.state = bench.options.work, 0

    def seconds(self, way, every):
        """[of a step, from one step to the next], on average."""
        under = self.disk if "disk" in way else steps.MEMORY
        with self.isobit.trained(WARM + self.count, "--profile", "--set", f"commit.every={every}", under=under) as place:
            with open(os.path.join(place, "document"), encoding="utf-8") as file:
                seconds = json.load(file)["profile"]["seconds"]
            folder = os.path.join(place, "run", "checkpoints")
            self.state = max(os.path.getsize(os.path.join(folder, f)) for f in os.listdir(folder))
            return [seconds["step"], seconds["between_steps"]]


def measure(bench, name):
    program = bench.digest(os.path.join(bench.options.build, "bin", "isobit"))
    if bench.results.has("commitments", name, bench.options.processors, program):
        return
    ways, every = Ways(bench, name), intervals(name)
    rounds = {way: [] for way in every}
    ways.seconds("never", NEVER)  # plans, and reads what later ones find in memory
    bench.others.share()
    for number in range(bench.rounds(3, 1)):
        order = list(every)
        for way in order[number % len(order):] + order[:number % len(order)]:
            rounds[way].append(ways.seconds(way, every[way]))
    bench.keep("commitments", name, bench.options.processors, program,
               {"seconds": rounds, "steps": ways.count, "interval": interval_of(name), "bytes": ways.state},
               place=list(NETWORKS).index(name))


def shares(record):
    """Medians over rounds: seconds of a step without commitments, of one commitment in memory and on a disk, and what a way
    adds to the time of a step as a whole."""
    whole = {way: [sum(pair) for pair in pairs] for way, pairs in record["seconds"].items()}
    between = {way: statistics.median(b for _, b in pairs) for way, pairs in record["seconds"].items()}
    added = {way: statistics.median(a / b - 1 for a, b in zip(seconds, whole["never"])) for way, seconds in whole.items()}
    in_memory, on_disk = (between[way] - between["never"] for way in ("each", "each, on a disk"))
    return statistics.median(whole["never"]), in_memory, on_disk, added


def run(bench):
    for name in NETWORKS:
        if re.search(bench.options.filter, name):
            bench.until_quiet(lambda: measure(bench, name))
