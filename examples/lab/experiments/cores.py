"""Classes over threads, of core types of libraries and of engines; and over cores in the published records."""
from . import figures, networks, program
from .context import Claim, Figure, Result, Table


def _counts(subject, threads, keep=lambda platform: True):
    """{threads: bit-distinct outputs of the platforms that `keep` takes}"""
    return {t: program.count(subject, [p for p in program.classes_of(subject) if _threads(p) == t and keep(p)]) for t in threads}


def _threads(platform):
    return int(platform.split("/")[1].split("t")[0])


def _name(platform):
    return platform.split("/")[0]


def _published(context):
    """[(cores, classes, CPUs)] of one place."""
    study = context.study()
    if study is None:
        return []
    subject = next(s for s in study["subjects"] if s["subject"]["model"] == context.config["published_model"])
    place = context.config["published_place"] + ", "
    found = [(c["platforms_of"].removeprefix(place).split()[0], len(set(c["classes"])), len(c["platforms"]))
             for c in subject["flag_clusters"] if c["platforms_of"].startswith(place)]
    return sorted((int(cores), classes, cpus) for cores, classes, cpus in found)


def _measure(context, name):
    config = context.config
    net = networks.NAMED[name](config["seed"])
    model = context.model(name, net)
    image = context.array(f"input_{name}", networks.images(net.input if len(net.input) == 4 else (1, 1, 1, net.input[1]),
                                                           config["seed"]).reshape(net.input))
    platforms = [p for t in config["threads"] for p in context.platforms(config["libraries"], t)]
    subject = context.program.measure(model, context.lab(name), platforms, [image], keep="none")
    engines = None
    if name == config["engine_network"]:
        asked = [p for t in config["engine_threads"] for p in context.platforms(config["engines"], t)]
        if asked:
            engines = context.program.measure(model, context.lab(f"{name}_engines"), asked, [image], keep="none")
            context.note_errors(engines)
    return net, subject, engines


def _own_classes(subject):
    """{platform without threads: bit-distinct outputs over its numbers of threads}"""
    return {n: program.count(subject, [p for p in program.classes_of(subject) if _name(p) == n])
            for n in dict.fromkeys(map(_name, program.classes_of(subject)))}


def _collapses(counts):
    """{cores or threads: classes}: whether the most has at least a quarter fewer classes than the least."""
    return counts[max(counts)] <= 0.75 * counts[min(counts)]


def _figure(context, series, own, published):
    figure, axes = figures.panels(1, 3 if published else 2, (9.6 if published else 7.2, 3.6))
    for i, (name, counts) in enumerate(series.items()):
        figures.line(axes[0], list(counts), list(counts.values()), name, i)
    axes[0].set_title("Here: classes at each number of threads", loc="left")
    axes[0].set_xlabel("threads")
    axes[0].set_ylabel("bit-distinct outputs")
    axes[0].set_ylim(bottom=0)
    axes[0].legend(loc="upper center", bbox_to_anchor=(0.5, -0.18), ncols=2, fontsize=7)
    names = list(own)
    axes[1].barh(range(len(names)), [own[n] for n in names], color=figures.COLOURS[0])
    axes[1].set_yticks(range(len(names)), names, fontsize=6.5)
    axes[1].invert_yaxis()
    axes[1].grid(axis="y", visible=False)
    axes[1].set_title("Here: one platform over threads", loc="left")
    axes[1].set_xlabel("bit-distinct outputs")
    if published:
        figures.line(axes[2], [c for c, _, _ in published], [k for _, k, _ in published], context.config["published_model"], 0)
        for cores, classes, cpus in published:
            axes[2].annotate(f"{cpus} CPUs", (cores, classes), xytext=(2, 5), textcoords="offset points", fontsize=7)
        axes[2].set_xscale("log", base=2)
        axes[2].set_xticks([c for c, _, _ in published], [str(c) for c, _, _ in published])
        axes[2].set_ylim(0, max(k for _, k, _ in published) + 1)
        axes[2].set_title(f"The study, {context.config['published_place']}", loc="left")
        axes[2].set_xlabel("cores")
        axes[2].set_ylabel("bit-distinct outputs")
    words = "; ".join(f"{name}: " + ", ".join(f"{c} at {t}" for t, c in counts.items()) for name, counts in series.items())
    figures.save(figure, context.path("cores.svg"), "Bit-distinct outputs over threads", words)
    return Figure("cores.svg", f"Lines: bit-distinct outputs over threads. {words}")


def _why(context, net, subject):
    """What `isobit reveal` says of one and many threads, at one product of the network, for some core types."""
    few, many = min(context.config["threads"]), max(context.config["threads"])
    value, (m, n, k) = max((item for item in net.products.items() if item[1][2] <= context.config["revealed_terms"]),
                           key=lambda item: item[1][2])
    same_order, rows, classes = 0, [], program.classes_of(subject)
    names = [p for p in context.config["revealed"] if f"{p}/{few}t" in classes]
    orders = {(p, t): context.program.reveal(f"{p}/{t}t", m, n, k) for p in names for t in (few, many)}
    for p in names:
        a, b = orders[p, few], orders[p, many]
        same_order += a["tree"] == b["tree"]
        rows.append([p, a["order"], b["order"] if a["tree"] != b["tree"] else "the same",
                     "same" if classes[f"{p}/{few}t"] == classes[f"{p}/{many}t"] else "other"])
    distinct = {t: len({orders[p, t]["bits"] for p in names}) for t in (few, many)}
    table = Table(f"Order of additions in {value}, [{m}, {k}] by [{k}, {n}], by `isobit reveal`.",
                  ["platform", f"{few} thread", f"{many} threads", "bits of the network"], rows)
    return f"`isobit reveal` at {value} ([{m}, {k}] by [{k}, {n}]): of {len(names)} platforms {same_order} add in the same order with " \
           f"{few} and with {many} threads; they have {distinct[few]} different bits of that product with {few} and " \
           f"{distinct[many]} with {many}.", table


def run(context):
    config, series, own, claims, tables = context.config, {}, {}, [], []
    few, many = min(config["threads"]), max(config["threads"])
    for name in config["networks"]:
        net, subject, engines = _measure(context, name)
        counts = _counts(subject, config["threads"])
        series[f"{name}, libraries"] = counts
        for library in config["libraries"]:
            series[f"{name}, {library}"] = _counts(subject, config["threads"], lambda p: p.startswith(library))
        why, table = _why(context, net, subject)
        tables.append(table)
        claims.append(Claim(f"Classes collapse as cores grow (by a quarter at least): {name}, libraries.", _collapses(counts),
                            f"on {name}, {len(set(map(_name, program.classes_of(subject))))} core types of libraries have {counts[few]} classes with {few} thread "
                            f"and {counts[many]} with {many} (" + ", ".join(f"{t}: {c}" for t, c in counts.items()) + ").", why))
        for platform, n in _own_classes(subject).items():
            own[f"{platform}, {name}"] = n
        if engines:
            at = _counts(engines, config["engine_threads"])
            series[f"{name}, engines"] = at
            lone, crowd = min(at), max(at)
            claims.append(Claim(f"Classes collapse as cores grow (by a quarter at least): {name}, engines.", _collapses(at),
                                f"on {name}, settings of engines have {at[lone]} classes with {lone} thread and {at[crowd]} with {crowd}."))
            for platform, n in _own_classes(engines).items():
                own[f"{platform}, {name}"] = n
    moved = [p for p, n in own.items() if n > 1]
    claims.append(Claim("The number of cores alone changes the bits of one platform.", bool(moved),
                        f"{len(moved)} of {len(own)} platforms and networks have several outputs over numbers of threads, "
                        f"at most {max(own.values())}."))
    published = _published(context)
    if published:
        claims.append(Claim("Classes collapse as cores grow (by a quarter at least): the published records.",
                            _collapses({c: k for c, k, _ in published}),
                            ", ".join(f"{k} classes with {c} cores" for c, k, _ in published) + "."))
    return Result(claims, [_figure(context, series, own, published)], tables,
                  {"classes": series, "over_threads": own, "published": published})
