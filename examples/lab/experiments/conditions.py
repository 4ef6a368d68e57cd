"""What else could make platforms differ: races from run to run, what numbers are drawn from, and the device."""
import statistics
import subprocess

import numpy

from . import figures, networks, program
from .context import Claim, Figure, Result, Table

# Each draws numbers of a given shape; what it is, in words.
DRAWS = {
    "normal": ("standard normal", lambda g, d: g.standard_normal(d)),
    "uniform": ("uniform between -1 and 1", lambda g, d: g.uniform(-1, 1, d)),
    "positive": ("uniform between 0 and 1: no cancellation", lambda g, d: g.random(d)),
    "wide": ("normal, times 2^-20 to 2^20", lambda g, d: g.standard_normal(d) * 2.0 ** g.integers(-20, 21, d)),
    "powers": ("plus or minus 2^-20 to 2^20: every product exact", lambda g, d: 2.0 ** g.integers(-20, 21, d) * g.choice([-1, 1], d)),
    "integers": ("whole numbers between -8 and 8: every sum exact", lambda g, d: g.integers(-8, 9, d).astype(float)),
}


def _repeat(context):
    config = context.config
    model = context.named_model(config["repeat_network"])
    image = context.array("image", networks.images((1, 3, 32, 32), config["seed"]))
    platforms = context.platforms(config["repeat_platforms"] + config["repeat_engines"], config["repeat_threads"])
    subject = context.program.measure(model, context.lab("repeat"), platforms, [image], keep="none", repeat=config["repeat"])
    context.note_errors(subject)
    return {p["name"]: p["different_outputs"] for p in program.ran(subject)}


def _distribution(context, name, platforms):
    _, draw = DRAWS[name]
    each = []
    for seed in context.config["draws"]:
        net = networks.Builder((1, 64, 12, 12), seed, draw=draw)
        net.nodes.append(networks.helper.make_node("Conv", ["x", net.parameter("weight", (64, 64, 3, 3))], ["y"], pads=[1] * 4))
        net.last, net.shape = "y", (1, 64, 12, 12)
        model = context.model(f"{name}_{seed}", net)
        inputs = draw(numpy.random.default_rng(seed + 1000), net.input).astype(numpy.float32)
        subject = context.program.measure(model, context.lab(f"{name}_{seed}"), platforms, [context.array(f"{name}_{seed}", inputs)])
        several = program.count(subject) > 1
        each.append({"classes": program.count(subject), "precision": subject["remaining_precision"]["least"] if several else 23,
                     "differing": subject["l0"]["largest"] if several else 0.0,
                     "relative": subject["largest_difference"]["relative"] if several else 0.0})
    return {k: statistics.mean(e[k] for e in each) for k in each[0]}


def _devices(study):
    """(cells, those in which a CPU and a GPU gave the same bits) of the published records."""
    shared = [sum(s["classes_by"]["counts"].values()) - len(s["classes"]) for s in study["subjects"]]
    return len(shared), sum(n > 0 for n in shared)


def _figure(context, repeats, distributions):
    figure, axes = figures.panels(1, 3, (9.6, 3.4), width_ratios=[1.25, 1, 1])
    names = list(repeats)
    bars = axes[0].barh(range(len(names)), [repeats[n] for n in names], color=figures.COLOURS[0])
    axes[0].bar_label(bars, padding=2, fontsize=8)
    axes[0].set_yticks(range(len(names)), names)
    axes[0].invert_yaxis()
    axes[0].set_xlim(0, context.config["repeat"])
    axes[0].set_xlabel(f"bit-distinct outputs of {context.config['repeat']} processes")
    axes[0].set_title("Run to run", loc="left")
    axes[0].grid(axis="y", visible=False)
    for axis, what, title, label in ((axes[1], "classes", "Classes by distribution", "bit-distinct outputs"),
                                     (axes[2], "precision", "Precision by distribution", "least precision, bits of 23")):
        kinds = list(distributions)
        drawn = axis.barh(range(len(kinds)), [distributions[k][what] for k in kinds], color=figures.COLOURS[2])
        axis.bar_label(drawn, fmt="%.1f", padding=2, fontsize=8)
        axis.set_yticks(range(len(kinds)), kinds)
        axis.invert_yaxis()
        axis.set_xlim(0, max(1, max(distributions[k][what] for k in kinds)) * 1.15)
        axis.set_xlabel(label)
        axis.set_title(title, loc="left")
        axis.grid(axis="y", visible=False)
    words = "; ".join(f"{k}: {d['classes']:.1f} classes, {d['precision']:.1f} bits" for k, d in distributions.items())
    figures.save(figure, context.path("conditions.svg"), "Outputs from run to run, and classes by distribution", words)
    return Figure("conditions.svg", f"Bars. Outputs of each platform from run to run; by distribution: {words}")


def _accelerators(context):
    """Engines that have an accelerator here, by what they say of themselves."""
    asked = "import torch; print(int(torch.cuda.is_available()))"
    if "pytorch" not in context.program.here()[1] or not context.program.python:
        return None
    done = subprocess.run([context.program.python, "-c", asked], capture_output=True, text=True)
    return done.stdout.strip() == "1" if done.returncode == 0 else None


def run(context):
    config = context.config
    repeats = _repeat(context)
    platforms = context.platforms(config["libraries"])
    distributions = {name: _distribution(context, name, platforms) for name in config["distributions"]}
    racing = [p for p, n in repeats.items() if n > 1]
    rounded = {n: d for n, d in distributions.items() if n not in ("integers", "powers")}
    classes, bits = [d["classes"] for d in rounded.values()], [d["precision"] for d in rounded.values()]
    whole, powers = distributions["integers"]["classes"], distributions["powers"]["classes"]
    claims = [
        Claim("CPUs give the same bits from run to run: no race conditions.", not racing if repeats else None,
              f"{config['repeat']} processes of each of {len(repeats)} platforms with {config['repeat_threads']} threads: "
              + (f"{', '.join(racing)} differed." if racing else "each gave one output.")),
        Claim("How many classes there are does not depend on what numbers are drawn from.", max(classes) - min(classes) <= 1,
              ", ".join(f"{n} {d['classes']:.1f}" for n, d in rounded.items()) + " classes in the mean."),
        Claim("The least precision does.", max(bits) - min(bits) > 1,
              ", ".join(f"{n} {d['precision']:.1f}" for n, d in rounded.items()) + " bits in the mean.",
              "Sums that cancel keep less: where all numbers are positive the largest relative difference is "
              f"{distributions['positive']['relative']:.0e}, where they are normal {distributions['normal']['relative']:.0e}."),
        Claim("Where every product is exact, fused and separate rounding agree, and classes are fewer.", powers < min(classes),
              f"powers of two have {powers:.1f} classes, the others {min(classes):.1f} or more."),
        Claim("Where every sum is exact, all platforms agree.", whole == 1, f"whole numbers have {whole:.1f} classes."),
    ]
    accelerator = _accelerators(context)
    claims.append(Claim("Where an operator is placed, on a CPU or an accelerator, decides its bits.", None,
                        "no engine of the lab places operators on an accelerator" + (", and there is none here." if accelerator is False else ".")))
    study = context.study()
    if study:
        cells, shared = _devices(study)
        claims.append(Claim("In the published records no CPU agrees with a GPU.", shared == 0,
                            f"of {cells} models and inputs there are {shared} on which a CPU and a GPU gave the same bits."))
    rows = [[n, DRAWS[n][0], f"{d['classes']:.1f}", f"{d['precision']:.1f}", f"{100 * d['differing']:.0f} %", f"{d['relative']:.1e}"]
            for n, d in distributions.items()]
    table = Table(f"One convolution of 576 terms on {len(platforms)} platforms, means over {len(config['draws'])} draws.",
                  ["distribution", "what", "classes", "least precision", "elements that differ", "largest relative difference"], rows)
    return Result(claims, [_figure(context, repeats, distributions)], [table],
                  {"run_to_run": repeats, "distributions": distributions})
