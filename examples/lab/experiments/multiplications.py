"""One convolution, its numbers of channels, filters, taps and positions varied: remaining precision and classes."""
import statistics

import numpy

from . import figures, networks, program
from .context import Claim, Figure, Result, Table

WORDS = {"window": "k, window height and width", "filters": "f, filters", "channels": "c, channels", "extent": "output height and width"}


def _multiplications(shape):
    return shape["extent"] ** 2 * shape["window"] ** 2 * shape["channels"] * shape["filters"]


def _measure(context, platforms, shape, seed):
    """Remaining precision and classes of one convolution of random numbers."""
    name = "conv_" + "_".join(f"{k[0]}{v}" for k, v in shape.items()) + f"_s{seed}"
    net = networks.Builder((1, shape["channels"], shape["extent"], shape["extent"]), seed)
    net.conv("y", shape["filters"], shape["window"])
    path = net.save(context.path("models", f"{name}.onnx"))
    image = context.array(name, numpy.random.default_rng(seed + 1000).standard_normal(net.input).astype(numpy.float32))
    subject = context.program.measure(path, context.lab(name), platforms, [image])
    context.note_errors(subject)
    classes = program.count(subject)
    l0 = subject["l0"]["largest"] if classes > 1 else 0.0
    return {"precision": subject["remaining_precision"]["least"] if classes > 1 else 23, "classes": classes,
            "ulp": subject["ulp"]["largest"] if classes > 1 else 0, "differing": l0}


def _point(context, platforms, shape):
    each = [_measure(context, platforms, shape, seed) for seed in context.config["seeds"]]
    means = {k: statistics.mean(e[k] for e in each) for k in each[0]}
    return {**shape, "multiplications": _multiplications(shape), "terms": shape["window"] ** 2 * shape["channels"],
            "outputs": shape["extent"] ** 2 * shape["filters"], **means}


def rank_correlation(x, y):
    """Spearman's: of the ranks, ties sharing their mean. None where one of them does not vary."""
    ranks = []
    for values in (x, y):
        order = sorted(values)
        ranks.append([statistics.mean(i for i, v in enumerate(order) if v == value) for value in values])
    if any(len(set(r)) == 1 for r in ranks):
        return None
    return statistics.correlation(*ranks)


def _figure(context, sweeps):
    figure, axes = figures.panels(1, 2, (8.4, 3.9))
    for axis, what, label in ((axes[0], "precision", "least remaining precision, bits of 23"), (axes[1], "classes", "bit-distinct outputs")):
        for i, (name, points) in enumerate(sweeps.items()):
            figures.line(axis, [p["multiplications"] for p in points], [p[what] for p in points], WORDS[name], i)
        axis.set_xscale("log")
        axis.set_xlabel("multiplications")
        axis.set_ylabel(label)
        axis.set_ylim(bottom=0)
    axes[0].set_title("Remaining precision", loc="left")
    axes[1].set_title("Classes", loc="left")
    handles, labels = axes[0].get_legend_handles_labels()
    figure.legend(handles, [f"varied: {name}" for name in labels], loc="outside lower center", ncols=2)
    words = "; ".join(f"{n}: precision {ps[0]['precision']:.1f} to {ps[-1]['precision']:.1f} bits, classes {ps[0]['classes']:.1f} to "
                      f"{ps[-1]['classes']:.1f}" for n, ps in sweeps.items())
    figures.save(figure, context.path("multiplications.svg"), "Remaining precision and classes over multiplications", words)
    return Figure("multiplications.svg", f"Lines over multiplications. {words}")


def _signed(rho):
    return "undefined" if rho is None else f"{rho:+.2f}"


def _claims(sweeps):
    everything = [p for points in sweeps.values() for p in points]
    of = lambda points, x, y: rank_correlation([p[x] for p in points], [p[y] for p in points])  # noqa: E731
    lost, grown = of(everything, "multiplications", "precision"), of(everything, "multiplications", "classes")
    each = {n: (of(ps, "multiplications", "precision"), of(ps, "multiplications", "classes")) for n, ps in sweeps.items()}
    by = lambda i: ", ".join(f"{n} {_signed(r[i])}" for n, r in each.items())  # noqa: E731
    terms, outputs = each["channels"], each["filters"]
    shares = [p["differing"] for p in sweeps["filters"]]
    one = [p for p in everything if p["classes"] == 1]
    return [
        Claim("More multiplications, less remaining precision.", lost is not None and lost < -0.5,
              f"rank correlation {_signed(lost)} over all {len(everything)} convolutions; by what varies: {by(0)}."),
        Claim("More multiplications, more classes.", grown is not None and grown > 0.5,
              f"rank correlation {_signed(grown)} over all; by what varies: {by(1)}."),
        Claim("It is the length of each sum that counts for classes: channels and window more than filters.",
              None not in (terms[1], each["window"][1]) and (outputs[1] is None or min(terms[1], each["window"][1]) > outputs[1]),
              f"rank correlation of classes with multiplications is {_signed(terms[1])} where channels vary, {_signed(each['window'][1])} "
              f"where the window varies, {_signed(outputs[1])} where filters vary and {_signed(each['extent'][1])} where positions vary.",
              f"Where filters vary {100 * min(shares):.0f} to {100 * max(shares):.0f} % of the elements differ, however many filters there "
              f"are, while the least precision is the worst of {sweeps['filters'][0]['outputs']} to {sweeps['filters'][-1]['outputs']} elements."),
        Claim("A convolution can be so small that all platforms agree.", bool(one),
              (f"{len(one)} of {len(everything)} have one class, of at most {max(p['terms'] for p in one)} terms a sum." if one else
               f"the least number of classes is {min(p['classes'] for p in everything):.1f}.")),
    ]


def run(context):
    config = context.config
    platforms = context.platforms(config["libraries"]) + context.platforms(config["engines"])
    sweeps = {name: [_point(context, platforms, {**config["base"], name: value}) for value in values]
              for name, values in config["sweeps"].items()}
    rows = [[n, p[n], f"{p['multiplications']:,}", p["terms"], p["outputs"], f"{p['precision']:.1f}", f"{p['classes']:.1f}",
             f"{100 * p['differing']:.0f} %"] for n, ps in sweeps.items() for p in ps]
    table = Table(f"Means over {len(config['seeds'])} draws, {len(platforms)} platforms.",
                  ["varied", "value", "multiplications", "terms of a sum", "outputs", "least precision", "classes", "elements that differ"], rows)
    return Result(_claims(sweeps), [_figure(context, sweeps)], [table], {"platforms": platforms, "sweeps": sweeps})
