"""One network whose weights and input are cast to three types: classes, precision and dendrograms.

isobit's own executor computes a float16 network in float32 and rounds after each operator, and a float64 network in float64
by its own kernels: of the libraries it asks none. Engines compute each type as they do.
"""
from . import figures, networks, program
from .context import Claim, Figure, Result, Table

MOST = {"float16": 10, "float32": 23, "float64": 52}


def _network(dtype, seed):
    net = networks.Builder((1, 3, 32, 32), seed, dtype)
    net.conv("conv1", 16, bias=True).add("Relu", "relu1").pool("MaxPool", "pool1")
    net.conv("conv2", 32, bias=True).add("Relu", "relu2").pool("MaxPool", "pool2")
    net.conv("conv3", 64, bias=True).add("Relu", "relu3").pool("MaxPool", "pool3")
    return net.dense("hidden", 64).add("Relu", "relu4").dense("scores", 10)


def _measure(context, dtype):
    config = context.config
    model = context.model(dtype, _network(dtype, config["seed"]))
    image = context.array(dtype, networks.images((1, 3, 32, 32), config["seed"]).astype(networks.TYPES[dtype][1]))
    lab = context.lab(dtype)
    subject = context.program.measure(model, lab, context.platforms(config["libraries"] + config["engines"]), [image])
    context.note_errors(subject)
    return subject


def _dendrogram(axis, subject, dtype):
    names = [_label(c["platforms"]) for c in subject["classes"]]
    figures.dendrogram(axis, names, [{**m, "remaining_precision": m["remaining_precision"] or 0} for m in subject["dendrogram"]], MOST[dtype])
    axis.set_title(f"{dtype}: {len(names)} classes of {len(program.ran(subject))} platforms", loc="left")
    axis.set_xlabel(f"remaining precision, bits of {MOST[dtype]}")


def _label(platforms):
    names = [p.removesuffix("/1t") for p in platforms]
    return ", ".join(names[:2]) + (f" and {len(names) - 2} more" if len(names) > 2 else "")


def _figure(context, subjects):
    heights = [max(2, len(s["classes"])) for s in subjects.values()]
    figure, axes = figures.panels(len(subjects), 1, (7.6, 0.2 * sum(heights) + 0.9 * len(heights)), height_ratios=heights, squeeze=False)
    for axis, (dtype, subject) in zip(axes[:, 0], subjects.items()):
        _dendrogram(axis, subject, dtype)
    words = "; ".join(f"{t}: {len(s['classes'])} classes" for t, s in subjects.items())
    figures.save(figure, context.path("casts.svg"), "Dendrograms of the classes in float16, float32 and float64", words)
    return Figure("casts.svg", f"Dendrograms, single linkage by remaining precision. {words}")


def _fewer(dtype, name, counts, platforms, why=""):
    """Whether a type has fewer classes than float32, of the platforms that computed all three."""
    return Claim(f"{dtype} has fewer classes than float32 ({name}).", counts[dtype] < counts["float32"] if platforms > 1 else None,
                 f"{platforms} platforms that computed all three types have {counts[dtype]} classes in {dtype}, {counts['float32']} in float32.", why)


def _forks(context, dtype):
    """At how many values the platforms differ, and where first."""
    values = context.program.layers(context.lab(dtype))["values"]
    forked = [v["name"] for v in values if v["classes"] > 1]
    return f"{dtype}: {len(forked)} of {len(values)} values" + (f", first {forked[0]}" if forked else "")


def run(context):
    subjects = {t: _measure(context, t) for t in context.config["types"]}
    all_three = set.intersection(*(set(program.classes_of(s)) for s in subjects.values()))
    engines = {p for p in all_three if context.is_engine(p)}
    libraries = all_three - engines
    counts = {k: {t: program.count(s, of) for t, s in subjects.items()} for k, of in (("engines", engines), ("libraries", libraries))}
    where = "Values that fork: " + "; ".join(_forks(context, t) for t in subjects) + "."
    least = {t: _least(s, engines - set(_narrow(s, MOST[t], engines))) for t, s in subjects.items()}
    where += " Engines that compute in the type agree in at least " + ", ".join(f"{n} of {MOST[t]} bits in {t}" for t, n in least.items()) + "."
    close = {t: _narrow(s, MOST[t], engines) for t, s in subjects.items()}
    claims = [
        _fewer("float16", "engines", counts["engines"], len(engines)),
        _fewer("float64", "engines", counts["engines"], len(engines), where),
        _fewer("float16", "isobit over libraries, rounded after each operator", counts["libraries"], len(libraries)),
        Claim("float64 has fewer classes than float32 (isobit over libraries).", None,
              f"in float64 isobit asks no library for products, so that its {len(libraries)} platforms have {counts['libraries']['float64']} "
              "class" + ("es." if counts["libraries"]["float64"] > 1 else ".")),
        Claim("Some platforms do not compute in the type that was asked for.", any(close.values()) if engines else None,
              "; ".join(f"{t}: {', '.join(names) or 'none'}" for t, names in close.items())
              + " lie farther from all others than half the significand.", ""),
    ]
    rows = [[t, len(program.ran(s)), len(s["classes"]), f"{s['remaining_precision']['least']} of {MOST[t]} bits",
             counts["engines"][t], counts["libraries"][t]] for t, s in subjects.items()]
    everywhere = "that ran in every type: their classes"
    table = Table("Classes by type.", ["type", "platforms that ran", "classes of these", "least precision between two of them",
                                       f"the {len(engines)} platforms of engines {everywhere}",
                                       f"the {len(libraries)} of isobit over libraries {everywhere}"], rows)
    members = Table("Members.", ["type", "class", "platforms"],
                    [[t, c["class"], ", ".join(c["platforms"])] for t, s in subjects.items() for c in s["classes"]])
    return Result(claims, [_figure(context, subjects)], [table, members],
                  {"classes": {t: [c["platforms"] for c in s["classes"]] for t, s in subjects.items()}, "of_all_three": counts,
                   "dendrograms": {t: s["dendrogram"] for t, s in subjects.items()}})


def _least(subject, among):
    """The least precision over pairs of classes of these platforms."""
    at = sorted({p["class"] - 1 for p in program.ran(subject) if p["name"] in among})
    pairs = subject["remaining_precision"]["pairs"]
    return min((pairs[i][j] for i in at for j in at if i < j and pairs[i][j] is not None), default=MOST[subject["classes"][0]["outputs"][0]["dtype"]])


def _narrow(subject, most, among):
    """Platforms whose precision against every other class is less than half of the significand's bits."""
    pairs, found = subject["remaining_precision"]["pairs"], []
    for i, c in enumerate(subject["classes"]):
        others = [p for j, p in enumerate(pairs[i]) if j != i and p is not None]
        if others and max(others) < most / 2:
            found += [p for p in c["platforms"] if p in among]
    return found
