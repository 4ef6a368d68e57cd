"""Writes what was measured into docs/benchmarks.md, in place of the tables that are there; other sections stay."""
import math
import os
import re
import statistics

import commitments as commitments_part
import growth as growth_part
from machine import DISTURBED

TITLE = "# Benchmarks"
SECTIONS = {"kernels": "## Matmul and convolution", "steps": "## Whole training steps", "growth": "## As networks grow",
            "commitments": "## What commitments cost", "inference": "## Inference"}
SMALL = re.compile(r"/(digits|mnist|tiny-gpt) ")


def geometric_mean(values):
    return math.exp(statistics.fmean(map(math.log, values))) if values else float("nan")


def medians(record):
    """{library: seconds}, of several ways of one the best."""
    best = {}
    for who, seconds in record["seconds"].items():
        library = who.split(":")[0]
        best[library] = min(statistics.median(seconds), best.get(library, math.inf))
    return best


def columns(header):
    return ["| " + " | ".join(header) + " |", "|---|" + "---:|" * (len(header) - 1)]


def row(cells):
    return "| " + " | ".join(cells) + " |"


def ratio(values, bold=False):
    return f"**{geometric_mean(values):.2f}**" if bold and values else f"{geometric_mean(values):.2f}" if values else ""


def kernel_table(part, records, rivals, with_means):
    """A row for each case, first on one thread, then on several; `rivals` are those that the best is chosen of."""
    threads = sorted({r["threads"] for r in records})
    libraries = ["openblas", "mkl", "onednn"]
    header = ["shape"]
    for t in threads:
        header += [f"isobit, {t} thread{'s' * (t > 1)}", *libraries, "x best"]
    lines, cases, ratios = columns(header), {}, {}
    for record in records:
        cases.setdefault((record["place"], record["name"]), {})[record["threads"]] = record
    for (_, name), by_threads in sorted(cases.items()):
        cells = [name.partition("/")[2]]
        for t in threads:
            times = medians(by_threads[t]) if t in by_threads else {}
            speed = {who: by_threads[t]["flops"] / s / 1e9 for who, s in times.items()}
            cells += [f"{speed[who]:.1f}" if who in speed else "" for who in ("isobit", *libraries)]
            there = [who for who in rivals if who in times]
            if "isobit" in times and there:
                for who in there:
                    ratios.setdefault((t, who), []).append(times[who] / times["isobit"])
                best = min(times[who] for who in there) / times["isobit"]
                ratios.setdefault((t, "best"), []).append(best)
                ratios.setdefault((t, "best", name.split("/")[1].split(" ")[0]), []).append(best)
                cells.append(f"{best:.2f}")
            else:
                cells.append("")
        lines.append(row(cells))
    if not with_means:
        return lines
    groups = sorted({key[2] for key in ratios if len(key) == 3})
    for group in groups if len(groups) > 1 else []:
        cells = [f"mean of {group}"]
        for t in threads:
            cells += ["", "", "", "", ratio(ratios.get((t, "best", group), []))]
        lines.append(row(cells))
    cells = ["**mean, x each**"]
    for t in threads:
        cells += ["", *(ratio(ratios.get((t, who), [])) for who in libraries), ratio(ratios.get((t, "best"), []), True)]
    return lines + [row(cells)]


def kernels(results):
    lines = []
    for part, rivals in (("matmul", ["openblas", "mkl", "onednn"]), ("conv", ["onednn"])):
        for small in (False, True):
            records = [r for r in results.of(part) if bool(SMALL.search(r["name"])) == small]
            if records:
                lines += [f"### {part}{', small networks' * small}", "", *kernel_table(part, records, rivals, not small), ""]
    if not lines:
        return [], []
    versions = next(r["versions"] for part in ("conv", "matmul") for r in results.of(part))
    about = f"""float32, `ordered-1`, GFLOP/s of medians; isobit on `{versions['isobit']}`, {versions.get('openblas', 'no OpenBLAS')}; \
{versions.get('mkl', 'no MKL').replace('Intel(R) ', '').split(' for ')[0]}; oneDNN {versions.get('onednn', 'absent')}. "x" is another's time over isobit's: above 1 isobit is
faster. Means are geometric ones over rows; small networks have tables of their own and are in none. On one thread processor time is
compared, on several the wall's.

All run in one process, in turn, after their results were checked (isobit's matmul bit for bit against the scalar reference,
on a sample). The process may run on as many processors as threads are measured; each library is seen to compute on that many threads, and each of
these is bound to a processor of its own. Waiting threads of one library would take a processor from the next: before every turn all sleep
for 50 ms, longer than any of them spins, and then 20 ms of work are not counted. MKL runs on its Intel OpenMP threads (`KMP_BLOCKTIME=20`,
`KMP_LIBRARY=turnaround`), oneDNN on TBB, OpenBLAS on its own (`OPENBLAS_THREAD_TIMEOUT=25`): there is no OpenMP runtime that two share.

In matmul oneDNN counts by the better of its sgemm and its matmul primitive; in convolution by the best of three
layouts of images, its own choice, nchw and nhwc, with weights as it wants them; reordering is not timed. OpenBLAS and MKL
compute the product inside a convolution alone, without im2col or col2im: a bound for what is built on them, and in "x best" not counted.
The gradient of a network's input, which nobody computes, is left out."""
    return [about, "", *lines[:-1]], results.of("conv") + results.of("matmul")


def version_of(package):
    """As scripts/bench/libraries installs it, without its last number."""
    with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "requirements.txt"), encoding="utf-8") as file:
        return re.search(rf"^{package}==(\d+\.\d+)", file.read(), re.M)[1]


def steps(results):
    records = sorted(results.of("steps"), key=lambda r: r["place"])
    lines = columns(["network", "isobit ms", "eager ms", "compiled ms", "x eager", "x compiled", "isobit MB", "eager MB",
                     "compiled MB"])
    for r in records:
        ms = {who: 1e3 * statistics.median(s) for who, s in r["seconds"].items()}
        mb = {who: b / 1e6 for who, b in r["bytes"].items()}
        last = {who: " (nhwc)" * ("channels-last" in way) for who, way in r["ways"].items()}
        x = {who: statistics.median(a / b for a, b in zip(r["seconds"][who], r["seconds"]["isobit"])) for who in last}
        lines.append(row([r["name"], f"{ms['isobit']:.4g}", *(f"{ms[w]:.4g}{last[w]}" for w in last),
                          *(f"{x[w]:.2f}" for w in last), f"{mb['isobit']:.0f}", *(f"{mb[w]:.0f}" for w in last)]))
    if records:
        means = [geometric_mean([statistics.median(a / b for a, b in zip(r["seconds"][w], r["seconds"]["isobit"])) for r in records])
                 for w in ("eager", "compiled")]
        lines.append(row(["**geometric mean**", "", "", "", *(f"**{m:.2f}**" for m in means), "", "", ""]))
    about = f"""`isobit train` on the jobs of `examples/jobs`, `ordered-1`, without commitments and checkpoints, beside PyTorch {version_of('torch')} on the same
{records[0]['threads'] if records else '?'} threads, eager and compiled (`torch.compile`), each in the better of its memory formats, with its fused optimizers. All take the same random
data in the same batches. In turn: a round is two seconds of steps of each, three steps at least, and its median counts; shown are medians over rounds,
"x" is PyTorch's time over isobit's within a round. MB is the most memory that a process took, {max((r.get('libraries', 0) for r in records), default=0) / 1e6:.0f} of PyTorch's by its libraries alone.
PyTorch multiplies matrices by MKL, which on processors of AMD with AVX-512 takes twice the time of oneDNN and isobit (`matmul_bench`): a part of the lead in networks of attention there."""
    return [about, "", *lines], records


def growth(results):
    records = sorted(results.of("growth"), key=lambda r: r["place"])
    lines = columns(["network", "threads", "isobit ms", "PyTorch ms", "ratio"])
    for r in records:
        isobit, eager = (1e3 * statistics.median(r["seconds"][who]) for who in ("isobit", "eager"))
        last = " (nhwc)" * ("channels-last" in r["ways"]["eager"])
        lines.append(row([r["name"], str(r["threads"]), f"{isobit:.4g}", f"{eager:.4g}{last}", f"{growth_part.ratio(r):.2f}"]))
    slopes = {}
    for (family, axis), points in growth_part.measured(results).items():
        if len(points) > 1:
            slopes.setdefault(family, []).append(f"{axis} {growth_part.slope(points):+.2f}")
    about = f"""Two builders of [training.md](training.md), `resnet` on images of 32 by 32 and `gpt` without dropout on 64 tokens, heads of 64 channels and 256 words, with the other
fields of `cifar10-resnet.toml` and `tiny-gpt.toml`, without commitments and checkpoints, beside the same networks in PyTorch {version_of('torch')}, eager, in the better of
its memory formats. In turn: a round is a second of steps of each, three steps at least, and its median counts; "ratio" is isobit's time over PyTorch's within a
round, below 1 isobit is faster. It must not grow with the size of a network: the slope says by what power of the size it does (+0.10: by 7 % with each doubling)."""
    said = "Slopes of log(ratio) over log(size): " + "; ".join(f"{f}: {', '.join(s)}" for f, s in slopes.items()) + "."
    figure = "![Step time of isobit and PyTorch over width, depth, batch and threads; the table below has the same figures](figures/growth.svg)"
    return [about, "", *([said, ""] if slopes else []), figure, "", *lines], records


def commitments(results):
    records = sorted(results.of("commitments"), key=lambda r: r["place"])
    lines = columns(["network", "state GB", "step ms", "a commitment ms", "on a disk ms", "interval", "share", "on a disk", "as run",
                     "as run, interval 1"])
    for r in records:
        step, *commitment, added = commitments_part.shares(r)
        run = {way: f"{100 * a:+.2f} %" for way, a in added.items()}
        lines.append(row([r["name"], f"{r['bytes'] / 1e9:.3g}", f"{1e3 * step:.4g}", *(f"{1e3 * c:.4g}" for c in commitment),
                          str(r["interval"]), *(f"{100 * c / r['interval'] / step:.2f} %" for c in commitment),
                          run.get("own", ""), run["each"]]))
    about = """`isobit train --profile` with `commit.every` as the example job has it (interval), with 1 and with none, in turn, all from the end of one step to the end of the
next: the root of the state, a leaf of the transcript and a signed head lie between. "A commitment" is what passes between two steps more than without
one, in a run that lies in memory and in one on the disk of the build, which a signed head waits for; its share is that time over interval times step.
"As run" is what all steps in memory took more than without commitments, within a round, which is no more exact than steps are equal; where it is missing, the
interval was too long to be run. State is what a commitment hashes. Steps here are of smaller batches than those of the jobs (`gpt2-124m.toml`: 8 times 1024 tokens):
a share is smaller there by as much as a step takes longer."""
    return [about, "", *lines], records


def inference(results):
    records = sorted(results.of("inference"), key=lambda r: r["place"])
    lines = columns(["network", "isobit ms", "ONNX Runtime ms", "x ONNX Runtime", "least", "most"])
    for r in records:
        s = r["seconds"]
        x = sorted(b / a for a, b in zip(s["isobit"], s["onnxruntime"]))
        lines.append(row([r["name"], *(f"{1e3 * statistics.median(s[who]):.1f}" for who in ("isobit", "onnxruntime")),
                          f"{statistics.median(x):.2f}", f"{x[0]:.2f}", f"{x[-1]:.2f}"]))
    about = f"""Networks with random weights as PyTorch exports them (`scripts/real_networks/export.py`), `ordered-1`, beside ONNX Runtime {version_of('onnxruntime')} on the same threads.
Outputs are compared before anything is timed. In turn, each in a process of its own; the ratio is taken within a round."""
    return [about, "", *lines], records


def told(records):
    """On what machine, and how quiet it was."""
    m = records[-1]["machine"]
    dates = sorted({r["machine"]["date"] for r in records})
    quick = ", **in a quick run**" if any(r["quick"] for r in records) else ""
    others = statistics.fmean(r["others"] for r in records)
    busy = (f"; **measured on a busy machine**: others took {100 * others:.0f} % of its processors"
            if max(r["others"] for r in records) > DISTURBED else f"; others took {100 * others:.1f} % of its processors")
    return (f"Measured {' to '.join(dict.fromkeys((dates[0], dates[-1])))}{quick} on {m['model']}, {m['processors']} processors, {m['memory_gib']} GiB "
            f"({', '.join(m['flags'])}; Linux {m['kernel']}), load {m['load'][0]} at the start{busy}.")


def replaced(text, heading, body):
    """The text with this section anew, up to the next heading that is not below its own. One that is new comes behind those
    of SECTIONS that belong before it, or in front of all other sections."""
    def place(of):
        return re.search(rf"^{re.escape(of)}\n.*?(?=^##? |\Z)", text, re.M | re.S)
    new = f"{heading}\n\n{body}\n\n"
    found = place(heading)
    if found:
        return text[:found.start()] + new + text[found.end():]
    before = [place(h) for h in list(SECTIONS.values())[:list(SECTIONS.values()).index(heading)]]
    other = re.search(r"^##? (?!Benchmarks$)", text, re.M)
    at = max((f.end() for f in before if f), default=other.start() if other else len(text))
    return text[:at].rstrip("\n") + "\n\n" + new + text[at:]


def write(results, path):
    text = ""
    if os.path.exists(path):
        with open(path, encoding="utf-8") as file:
            text = file.read()
    text = text or f"{TITLE}\n\nWritten by `scripts/bench/run`, which says how.\n\n"
    for part, make in (("kernels", kernels), ("steps", steps), ("growth", growth), ("commitments", commitments),
                       ("inference", inference)):
        lines, records = make(results)
        if records:
            text = replaced(text, SECTIONS[part], "\n".join([told(records), "", *lines]))
    with open(path, "w", encoding="utf-8") as file:
        file.write(text.rstrip("\n") + "\n")
