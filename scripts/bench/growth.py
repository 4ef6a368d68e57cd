"""Training steps of two kinds of networks as they grow, beside PyTorch's eager ones: isobit's time over PyTorch's must not grow
with width, depth, batch or threads. Each axis goes through the middle of its family, which is measured once."""
import math
import os
import re
import statistics
import subprocess

import steps

HERE = os.path.dirname(os.path.abspath(__file__))
SECONDS = 1.0  # of each in a round, or three steps
FAMILIES = {
    "resnet": ({"width": 32, "blocks": 1, "B": 64},
               {"width": (16, 32, 64, 128), "blocks": (1, 2, 3, 5), "B": (16, 32, 64, 128, 256)}),
    "gpt": ({"channels": 256, "layers": 4, "B": 8},
            {"channels": (64, 128, 256, 512), "layers": (2, 4, 8, 12), "B": (2, 4, 8, 16, 32)}),
}


def name_of(family, sizes):
    return " ".join((family, *(f"{axis}={size}" for axis, size in sizes.items())))


def axes(processors):
    """{(family, axis): [(size, network, threads), ...]}"""
    found = {}
    for family, (middle, sizes) in FAMILIES.items():
        for axis, values in sizes.items():
            found[family, axis] = [(v, name_of(family, {**middle, axis: v}), processors) for v in values]
        threads = sorted({processors, *(1 << i for i in range(processors.bit_length()))})
        found[family, "threads"] = [(t, name_of(family, middle), t) for t in threads if t <= processors]
    return found


def points(processors):
    return list(dict.fromkeys((name, threads) for axis in axes(processors).values() for _, name, threads in axis))


def measured(results):
    """As axes, of what was measured: {(family, axis): [(size, record), ...]}"""
    records = {(r["name"], r["threads"]): r for r in results.of("growth")}
    processors = max((threads for _, threads in records), default=1)
    return {key: [(size, records[name, threads]) for size, name, threads in axis if (name, threads) in records]
            for key, axis in axes(processors).items()}


def ratio(record):
    return statistics.median(a / b for a, b in zip(record["seconds"]["isobit"], record["seconds"]["eager"]))


def slope(axis):
    """Of log(ratio) over log(size), by least squares: 0.1 where the ratio grows by 7 % with each doubling."""
    x, y = ([math.log(v) for v in values] for values in ([s for s, _ in axis], [ratio(r) for _, r in axis]))
    return statistics.linear_regression(x, y).slope


def measure(bench, place, name, threads):
    program = bench.digest(os.path.join(bench.options.build, "bin", "isobit"))
    if bench.results.has("growth", name, threads, program):
        return
    folder = steps.prepared(bench, name)
    isobit, eager = steps.Isobit(bench, folder, threads), steps.better(bench, name, folder, "eager", threads)
    contestants = {"isobit": isobit, "eager": eager}
    try:
        counts = {who: max(3, min(200, int(SECONDS / statistics.median(c.steps(2))))) for who, c in contestants.items()}
        rounds = {who: [] for who in contestants}
        bench.others.share()
        for number in range(bench.rounds(3, 1)):
            for who in list(contestants)[::1 if number % 2 == 0 else -1]:
                rounds[who].append(statistics.median(contestants[who].steps(counts[who])))
        bench.keep("growth", name, threads, program, {"seconds": rounds, "steps": counts, "ways": {"eager": eager.way}},
                   place=place)
    finally:
        eager.end()


def run(bench):
    for place, (name, threads) in enumerate(points(bench.options.processors)):
        if re.search(bench.options.filter, name):
            bench.until_quiet(lambda: measure(bench, place, name, threads))


def draw(bench):
    """The figure, by the libraries' interpreter, beside the page of the tables."""
    folder = os.path.join(os.path.dirname(os.path.abspath(bench.options.out)), "figures")
    os.makedirs(folder, exist_ok=True)
    path = os.path.join(folder, "growth.svg")
    done = subprocess.run([bench.python, "-B", os.path.join(HERE, "growth_figure.py"), bench.options.results, path],
                          stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, check=False)
    if done.returncode:
        bench.fail(f"{path}: is not drawn; is there matplotlib in {bench.options.libraries}?\n{done.stderr.strip()}")
    bench.say(f"wrote {path}")
