"""Convolution algorithms: classes of each, and which a one-shot autotuner chooses from process to process."""
import collections

from . import figures, networks
from .context import Claim, Figure, Result, Table


def _runs(context, model, image, algorithm, count):
    """`count` processes of `isobit run`: (digests of the outputs, {convolution: kernel}) of each."""
    platform = context.config["platform"] + (f"+{algorithm}" if algorithm else "")
    found = []
    for _ in range(count):
        told = context.program.json("run", model, "--arithmetic", "float32", "--platform", platform, "--input", image)
        found.append((tuple(o["digest"] for o in told["outputs"]), told.get("chosen", [])))
    return found


def _numbers(outputs, known=None):
    known = {} if known is None else known
    return [known.setdefault(o, len(known) + 1) for o in outputs]


def _model(context):
    """(the model, an input of its)"""
    path = context.data_file("models", context.config["trained"])
    shape = (1, 3, 32, 32)
    if path is None:
        path = context.named_model(context.config["network"])
        shape = networks.NAMED[context.config["network"]](context.config["seed"]).input
    return context.note_model(path), context.array("image", networks.images(shape, context.config["seed"]))


def _winners(runs):
    """[(shapes, {kernel: how often})], convolution by convolution."""
    layers = [collections.Counter() for _ in runs[0][1]]
    for _, chosen in runs:
        for layer, c in zip(layers, chosen):
            layer[c["kernel"]] += 1
    return layers


def _figure(context, winners, tuned, precision):
    figure, axes = figures.panels(3, 1, (7.6, 8.2), height_ratios=[2.4, 1.1, 1.5])
    kernels = list(dict.fromkeys(k for layer in winners for k, _ in layer.most_common()))
    below = [0] * len(winners)
    for i, kernel in enumerate(kernels):
        have = [layer[kernel] for layer in winners]
        axes[0].bar(range(1, len(winners) + 1), have, bottom=below, label=kernel, color=figures.COLOURS[i],
                    hatch=figures.HATCHES[i], edgecolor="white")
        below = [a + b for a, b in zip(below, have)]
    axes[0].set_title("What the autotuner chose for each convolution", loc="left")
    axes[0].set_xlabel("convolution, in execution order")
    axes[0].set_ylabel("processes")
    axes[0].set_xticks(range(1, len(winners) + 1))
    figures.whole_numbers(axes[0].yaxis)
    axes[0].legend(loc="upper left", bbox_to_anchor=(1, 1))
    axes[0].grid(axis="x", visible=False)
    axes[1].plot(range(1, len(tuned) + 1), tuned, linestyle="none", marker="o", color=figures.COLOURS[1])
    axes[1].set_title("The output of each process, numbered in order of first appearance", loc="left")
    axes[1].set_xlabel("process")
    axes[1].set_ylabel("class")
    figures.whole_numbers(axes[1].yaxis)
    axes[1].set_xticks(range(1, len(tuned) + 1))
    names = [n for n, p in precision.items() if p is not None]
    bars = axes[2].barh(range(len(names)), [precision[n] for n in names], color=figures.COLOURS[2])
    axes[2].bar_label(bars, padding=2, fontsize=8)
    axes[2].set_yticks(range(len(names)), names)
    axes[2].invert_yaxis()
    axes[2].set_xlim(0, 24)
    axes[2].set_title("How far the output of each algorithm lies from the platform's own", loc="left")
    axes[2].grid(axis="y", visible=False)
    axes[2].set_xlabel("remaining precision, bits of 23")
    words = f"{len(set(tuned))} classes over {len(tuned)} processes."
    figures.save(figure, context.path("algorithms.svg"), "Choices of an autotuner and the outputs that they lead to", words)
    return Figure("algorithms.svg", f"Bars, points and bars: choices of the autotuner, the classes of the outputs, and how far "
                                    f"each algorithm lies from the platform's own. {words}")


def run(context):
    config = context.config
    model, image = _model(context)
    names = [a["algorithm"] for a in context.program.json("platforms", "--algorithms")]
    fixed, tuner = ["", *names[:-1]], names[-1]
    known = {}
    classes = {n or "own": _numbers([_runs(context, model, image, n, 1)[0][0]], known)[0] for n in fixed}
    again = {n or "own": len(set(o for o, _ in _runs(context, model, image, n, 3))) for n in fixed}
    subject = context.program.measure(model, context.lab("algorithms"),
                                      [config["platform"] + (f"+{n}" if n else "") for n in fixed], [image])
    at = {p["name"]: p["class"] - 1 for p in subject["platforms"] if p.get("class")}
    pairs, own = subject["remaining_precision"]["pairs"], at[config["platform"]]
    precision = {}
    for n in fixed[1:]:
        i = at.get(f"{config['platform']}+{n}")
        precision[n] = 23 if i == own else pairs[own][i] if i is not None else None
    runs = _runs(context, model, image, tuner, config["processes"])
    tuned, winners = _numbers([o for o, _ in runs]), _winners(runs)
    contested = sum(len(layer) > 1 for layer in winners)
    kinds = len(set(classes.values()))
    steady = [n for n, c in again.items() if c == 1]
    claims = [
        Claim("The algorithm of a convolution decides its bits.", kinds > 1,
              f"{len(classes)} settings of one platform have {kinds} bit-distinct outputs of one network and input; "
              f"the least precision against the platform's own is {min(p for p in precision.values() if p is not None)} of 23 bits."),
        Claim("A one-shot autotuner makes one machine disagree with itself.", len(set(tuned)) > 1,
              f"{len(tuned)} processes with the autotuner have {len(set(tuned))} bit-distinct outputs.",
              f"In {contested} of {len(winners)} convolutions not all processes chose the same algorithm; with the algorithm named, "
              f"{len(steady)} of {len(again)} settings gave the same bits in every one of 3 processes."),
    ]
    shapes = [f"{c['src']} by {c['weights']}" for c in runs[0][1]]
    table = Table(f"What won, over {len(runs)} processes.", ["convolution", "operands", "winners"],
                  [[i + 1, s, ", ".join(f"{k} {n}" for k, n in w.most_common())] for i, (s, w) in enumerate(zip(shapes, winners))])
    return Result(claims, [_figure(context, winners, tuned, precision)], [table],
                  {"classes": classes, "precision": precision, "autotuned": tuned, "winners": [dict(w) for w in winners]})
