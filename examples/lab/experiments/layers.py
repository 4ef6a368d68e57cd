"""Layer by layer: two kinds of networks, untrained and trained by isobit, with what deviates before and after activations."""
import itertools
import os
import shutil
import subprocess

import numpy
import onnx

from . import figures, networks
from .context import Claim, Figure, Result, Table
from .program import Failed

JOB = """[job]
name = "layers"
seed = {seed}
steps = {steps}
arithmetic = "ordered-1"
[model]
onnx = "{model}"
outputs = ["scores"]
loss = "cross-entropy"
[data]
dataset = "digits"
batch = 32
[optimizer]
name = "adamw"
lr = {lr}
[schedule]
name = "cosine"
warmup = 10
[commit]
every = {steps}
[checkpoint]
every = {steps}
"""


def _network(shape, kind, seed):
    net = networks.Builder(shape, seed)
    for i, filters in enumerate((16, 32, 32), 1):
        net.conv(f"conv{i}", filters, gain=kind["gain"], bias=True).add(kind["activation"], f"activation{i}")
        if i > 1:
            net.pool(kind["pool"], f"pool{i - 1}")
    return net.dense("hidden", 32, gain=kind["gain"]).add(kind["activation"], "activation4").dense("scores", 10)


def _train(context, name, kind, untrained):
    """The network that isobit trained, as ONNX; and its accuracy on test samples."""
    trained, run, job = (context.path("models", f"{name}{end}") for end in ("_trained.onnx", ".run", ".toml"))
    with open(job, "w") as f:
        f.write(JOB.format(seed=context.config["seed"], steps=context.config["steps"], lr=kind["lr"], model=os.path.basename(untrained)))
    log = context.path("models", f"{name}.json")
    if not os.path.exists(trained) or not os.path.exists(log):
        environment = {**os.environ, "ISOBIT_HOME": context.path("keys", "of_this_experiment")}
        shutil.rmtree(run, ignore_errors=True)
        done = subprocess.run([context.program.isobit, "--json", "train", job, "--out", run], capture_output=True, text=True, env=environment)
        if done.returncode == 0:
            with open(log, "w") as f:
                f.write(done.stdout)
            done = subprocess.run([context.program.isobit, "export", run, "--onnx", "--force", "--out", trained],
                                  capture_output=True, text=True, env=environment)
        if done.returncode != 0:
            raise Failed(f"isobit train and export of {job}: {done.stderr.strip()}")
    return context.note_model(trained), log


def _elements(context, model, platforms, image):
    """{value: array [platforms, elements]}: what every platform makes of every value, all of them being outputs."""
    network = onnx.load(model)
    named = [o for node in network.graph.node for o in node.output]
    for name in named:
        if name not in (o.name for o in network.graph.output):
            network.graph.output.append(onnx.helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, None))
    open_model = context.path("models", "open_" + os.path.basename(model))
    onnx.save(network, open_model)
    order, made = [o.name for o in network.graph.output], []
    for platform in platforms:
        folder = context.path("values", os.path.basename(model), platform.replace("/", "_"))
        shutil.rmtree(folder, ignore_errors=True)
        context.program.json("run", open_model, "--arithmetic", "float32", "--platform", platform, "--input", image, "--out", folder)
        files = sorted(os.listdir(folder), key=lambda f: int(f.split("-")[0]))
        made.append({name: numpy.load(os.path.join(folder, f)).reshape(-1) for name, f in zip(order, files)})
    return {name: numpy.stack([m[name] for m in made]) for name in named}


def remaining_precision(a, b):
    """Of the elements of two float32 arrays: leading bits of the significand that agree, 0 where sign or exponent differ."""
    x = a.view(numpy.uint32) ^ b.view(numpy.uint32)
    bits = 23 - numpy.frexp((x & 0x7FFFFF).astype(numpy.float64))[1]
    bits[x >> 23 != 0] = 0
    bits[(a == 0) & (b == 0)] = 23
    return bits


def _least(values):
    """The least precision of each element, over pairs of platforms."""
    least = numpy.full(values.shape[1], 23)
    for a, b in itertools.combinations(numpy.unique(values.view(numpy.uint32), axis=0).view(numpy.float32), 2):
        least = numpy.minimum(least, remaining_precision(a, b))
    return least


def _worst(versions):
    """Of the platforms' versions of one element: its size, and how far they lie apart relative to it."""
    size = float(numpy.abs(versions).max())
    return {"worst": size, "worst_apart": float((versions.max() - versions.min()) / size) if size else 0.0}


def _values(explained, elements):
    """Every value in execution order: classes and least precision as `isobit explain` gives them, the mean over elements,
    and the size of the element of the least precision. The two computations have to agree."""
    found = []
    for v in explained["values"]:
        least = _least(elements[v["name"]])
        said = (v.get("figures") or {}).get("remaining_precision", 23 if v["classes"] == 1 else None)
        if said != int(least.min()):
            raise Failed(f"{v['name']}: isobit explain says {said} bits, its values have {least.min()}")
        found.append({"value": v["name"], "operator": v["op"], "classes": v["classes"], "precision": said,
                      "mean": float(least.mean()), "differing": float((least < 23).mean()),
                      **_worst(elements[v["name"]][:, least.argmin()])})
    return found


def _steps(values, operators):
    """How precision changes at these operators: counts of (raised, kept, lowered), and shares that differ before and after."""
    told = {"raised": 0, "kept": 0, "lowered": 0, "before": [], "after": [], "mean": []}
    for before, after in zip(values, values[1:]):
        if after["operator"] not in operators:
            continue
        change = after["precision"] - before["precision"]
        told["raised" if change > 0 else "lowered" if change < 0 else "kept"] += 1
        told["before"].append(before["differing"])
        told["after"].append(after["differing"])
        told["mean"].append(after["mean"] - before["mean"])
    return told


def _figure(context, measured):
    kinds = list(context.config["networks"])
    figure, axes = figures.panels(4, len(kinds), (9.2, 8.0), sharex="col", sharey="row")
    for column, kind in enumerate(kinds):
        for i, state in enumerate(("untrained", "trained")):
            values = measured[kind, state]
            x = range(len(values))
            for row, what in enumerate(("precision", "mean", "classes", "differing")):
                y = [v[what] if what != "differing" else 100 * v[what] for v in values]
                figures.line(axes[row, column], x, y, state, i, linestyle=("-", "--")[i])
        for row in range(4):
            for x, v in enumerate(values):
                if v["operator"] in ("Relu", "Sigmoid", "MaxPool", "AveragePool"):
                    axes[row, column].axvspan(x - 0.5, x + 0.5, color="#EFEFEF" if "Pool" in v["operator"] else "#E3EEF6", zorder=0)
            axes[row, column].grid(axis="x", visible=False)
        axes[3, column].set_xticks(range(len(values)), [v["value"] for v in values], rotation=60, ha="right", rotation_mode="anchor")
        axes[0, column].set_title(kind, loc="left")
    for row, label in enumerate(("least remaining\nprecision, bits", "mean remaining\nprecision, bits", "bit-distinct\nvalues",
                                 "elements that\ndiffer, %")):
        axes[row, 0].set_ylabel(label)
        axes[row, 0].set_ylim(bottom=0)
    handles, labels = axes[0, 0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=2, title="Shaded: activations (blue), pooling (grey)", title_fontsize=8)
    words = "; ".join(f"{kind}, {state}: output {v[-1]['precision']} bits, {v[-1]['classes']} classes" for (kind, state), v in measured.items())
    figures.save(figure, context.path("layers.svg"), "Precision, classes and deviating elements layer by layer", words)
    return Figure("layers.svg", f"Lines over layers. {words}")


def _together(measured, kind, operators):
    both = [_steps(measured[kind, state], operators) for state in ("untrained", "trained")]
    return {k: both[0][k] + both[1][k] for k in both[0]}


def _changes(step):
    return f"raised {step['raised']} times, kept {step['kept']} times, lowered {step['lowered']} times"


def _mean(numbers):
    return sum(numbers) / len(numbers) if numbers else 0.0


def _activation_claims(relu, sigmoid, maximum, average):
    """The study's measure first, the least precision; then the mean over elements."""
    more = lambda s: s["raised"] > s["lowered"]  # noqa: E731
    share = lambda s: f"Elements that differ: {100 * _mean(s['before']):.0f} % before and {100 * _mean(s['after']):.0f} % after."  # noqa: E731
    change = lambda s: f"{min(s['mean']):+.1f} to {max(s['mean']):+.1f} bits"  # noqa: E731
    return [
        Claim("ReLU raises precision.", more(relu), f"at ReLU the least precision is {_changes(relu)}."),
        Claim("Max-pooling raises precision.", more(maximum), f"at max-pooling the least precision is {_changes(maximum)}."),
        Claim("Sigmoid may not raise precision as ReLU does.", not more(sigmoid), f"at sigmoid the least precision is {_changes(sigmoid)}."),
        Claim("Average-pooling may not raise precision as max-pooling does.", not more(average),
              f"at average-pooling the least precision is {_changes(average)}."),
        Claim("ReLU raises the mean precision of the elements.", min(relu["mean"]) > 0, f"it changes by {change(relu)}.", share(relu)),
        Claim("Max-pooling raises the mean precision.", min(maximum["mean"]) > 0, f"it changes by {change(maximum)}.", share(maximum)),
        Claim("Sigmoid may lower the mean precision.", min(sigmoid["mean"]) < 0, f"it changes by {change(sigmoid)}.", share(sigmoid)),
        Claim("Average-pooling may lower the mean precision.", min(average["mean"]) < 0, f"it changes by {change(average)}.", share(average)),
    ]


def _worst_elements(measured, kind, operator):
    """Where the element of the least precision was, before the operator and after it."""
    pairs = [(a, b) for state in ("untrained", "trained") for a, b in zip(measured[kind, state], measured[kind, state][1:])
             if b["operator"] == operator]
    return f"The element of the least precision is {min(a['worst'] for a, _ in pairs):.1e} to {max(a['worst'] for a, _ in pairs):.1e} " \
           f"in size before, its versions apart by at most {max(a['worst_apart'] for a, _ in pairs):.0e} of it, and " \
           f"{min(b['worst'] for _, b in pairs):.1e} to {max(b['worst'] for _, b in pairs):.1e} after, apart by at most {max(b['worst_apart'] for _, b in pairs):.0e}."


def _shrinking(measured):
    told = []
    for (kind, state), values in measured.items():
        told += [f"{after['value']} ({before['classes']} to {after['classes']}; {kind}, {state})"
                 for before, after in zip(values, values[1:]) if after["classes"] < before["classes"]]
    return told


def run(context):
    config, measured, rows, accuracies = context.config, {}, [], {}
    shape = (config["images"], 1, 8, 8)
    image = context.array("digits", networks.images(shape, config["seed"], 0.0, 1.0))
    for kind, settings in config["networks"].items():
        name = settings["activation"].lower()
        untrained = context.note_model(_network(shape, settings, config["seed"]).save(context.path("models", f"{name}.onnx"), any_batch=True))
        trained, accuracies[kind] = _train(context, name, settings, untrained)
        for state, model in (("untrained", untrained), ("trained", trained)):
            lab = context.lab(f"{name}_{state}")
            context.program.measure(model, lab, context.platforms(config["platforms"]), [image], keep="all")
            elements = _elements(context, model, context.platforms(config["platforms"]), image)
            measured[kind, state] = _values(context.program.layers(lab), elements)
            rows += [[kind, state, v["value"], v["operator"], v["classes"], v["precision"], f"{v['mean']:.1f}", f"{100 * v['differing']:.0f} %"]
                     for v in measured[kind, state]]
    relu, sigmoid = config["networks"]
    claims = _activation_claims(_together(measured, relu, ("Relu",)), _together(measured, sigmoid, ("Sigmoid",)),
                                _together(measured, relu, ("MaxPool",)), _together(measured, sigmoid, ("AveragePool",)))
    claims[0].why = _worst_elements(measured, relu, "Relu")
    claims[2].why = _worst_elements(measured, sigmoid, "Sigmoid")
    for kind in config["networks"]:
        before, after = measured[kind, "untrained"][-1], measured[kind, "trained"][-1]
        claims.append(Claim(f"Training changes precision ({kind}).", before["precision"] != after["precision"],
                            f"the output keeps {before['precision']} bits untrained and {after['precision']} trained, "
                            f"{before['classes']} and {after['classes']} classes."))
    shrinks = _shrinking(measured)
    claims.append(Claim("Classes can become fewer again at a layer.", bool(shrinks),
                        f"at {len(shrinks)} values" + (f", among them {'; '.join(shrinks[:4])}." if shrinks else ".")))
    table = Table("Layer by layer.", ["network", "state", "value", "operator", "classes", "least precision", "mean precision",
                                      "elements that differ"], rows)
    return Result(claims, [_figure(context, measured)], [table],
                  {"layers": [{"network": k, "state": s, "values": v} for (k, s), v in measured.items()]})
