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
    figure = figures.plt.figure(figsize=(9.4, 7.4))
    grid = figure.add_gridspec(2, 2 if published else 1, height_ratios=[1.25, 1])
    top = figure.add_subplot(grid[0, 0])
    for i, (name, counts) in enumerate(series.items()):
        figures.line(top, list(counts), list(counts.values()), name, i)
    figures.doubling(top, context.config["threads"])
    top.set_title("Here: classes at each number of threads", loc="left")
    top.set_xlabel("threads")
    top.set_ylabel("bit-distinct outputs")
    top.legend(loc="upper center", bbox_to_anchor=(0.5, -0.16), ncols=3, fontsize=7)
    if published:
        axis = figure.add_subplot(grid[0, 1])
        figures.line(axis, [c for c, _, _ in published], [k for _, k, _ in published], context.config["published_model"], 0)
        figures.doubling(axis, [c for c, _, _ in published])
        axis.set_title(f"The study: {published[0][2]} CPUs of {context.config['published_place']} at each number of cores", loc="left")
        axis.set_xlabel("cores")
        axis.set_ylabel("bit-distinct outputs")
    below = figure.add_subplot(grid[1, :])
    names, networks_of = list(dict.fromkeys(p for p, _ in own)), list(dict.fromkeys(n for _, n in own))
    figures.bars(below, names, {n: [own.get((p, n)) for p in names] for n in networks_of})
    below.set_xticks(range(len(names)), names, rotation=60, ha="right", rotation_mode="anchor", fontsize=8)
    below.set_title(f"Here: outputs of one platform over {len(context.config['threads'])} numbers of threads (engines: "
                    f"{len(context.config['engine_threads'])})", loc="left")
    below.set_ylabel("bit-distinct outputs")
    below.legend(loc="upper right", ncols=2)
    words = "; ".join(f"{name}: " + ", ".join(f"{c} at {t}" for t, c in counts.items()) for name, counts in series.items())
    figures.save(figure, context.path("cores.svg"), "Bit-distinct outputs over threads", words)
    return Figure("cores.svg", f"Lines: bit-distinct outputs over threads; bars: outputs of one platform. {words}")


def _orders(context, platform, product, few, many):
    """(column, order with few threads, order with many) of the first of three columns that differs, or of the first."""
    m, n, k = product
    for column in dict.fromkeys((0, n // 2, n - 1)):
        a, b = (context.program.reveal(f"{platform}/{t}t", m, n, k, column) for t in (few, many))
        if a["bits"] != b["bits"]:
            return column, a, b
    return None, a, b


def _why(context, name, net):
    """Where the bits of some core types depend on threads: their first fork, and the order of additions there."""
    few, explained = min(context.config["threads"]), context.program.layers(context.lab(name))
    of = {p["name"]: p["class"] for p in explained["platforms"]}
    rows, steady, moved = [], [], []
    for p in (p for p in context.config["revealed"] if f"{p}/{few}t" in of):
        other = [t for t in context.config["threads"] if of.get(f"{p}/{t}t", of[f"{p}/{few}t"]) != of[f"{p}/{few}t"]]
        value = program.first_fork(explained, f"{p}/{few}t", f"{p}/{other[-1]}t") if other else None
        if not other:
            steady.append(p)
            rows.append([p, "all", "", "", "", ""])
        elif value is None or value["name"] not in net.products:
            rows.append([p, other[-1], value["name"] if value else "the output", "", "", ""])
        else:
            product = net.products[value["name"]]
            column, a, b = _orders(context, p, product, few, other[-1])
            moved += [p] if column is not None else []
            rows.append([p, other[-1], f"{value['name']}, {' x '.join(map(str, product))}", "none of three" if column is None else column,
                         a["order"], "the same" if column is None else b["order"]])
    table = Table(f"The bits of core types over threads, on {name}: where they fork from those of {few} thread, and the order of additions there, "
                  "by `isobit reveal`.", ["platform", "threads", "first fork, m x n x k", "column that differs", f"{few} thread",
                                          "with these threads"], rows)
    return f"Of {len(rows)} core types that were looked at, {len(steady)} give the same bits with any number of threads" \
           f"{' (' + ', '.join(steady) + ')' if steady else ''}; of the others `isobit reveal` shows {len(moved)} that " \
           f"{'adds' if len(moved) == 1 else 'add'} in another order at their first fork{' (' + ', '.join(moved) + ')' if moved else ''}.", table


def run(context):
    config, series, own, claims, tables = context.config, {}, {}, [], []
    few, many = min(config["threads"]), max(config["threads"])
    for name in config["networks"]:
        net, subject, engines = _measure(context, name)
        counts = _counts(subject, config["threads"])
        series[f"{name}, libraries"] = counts
        for library in config["libraries"]:
            series[f"{name}, {library}"] = _counts(subject, config["threads"], lambda p: p.startswith(library))
        why, table = _why(context, name, net)
        tables.append(table)
        claims.append(Claim(f"Classes collapse as cores grow (by a quarter at least): {name}, libraries.", _collapses(counts),
                            f"on {name}, {len(set(map(_name, program.classes_of(subject))))} core types of libraries have "
                            f"{counts[few]} classes with {few} thread and {counts[many]} with {many} (" + ", ".join(f"{t}: {c}" for t, c in counts.items()) + ").", why))
        for platform, n in _own_classes(subject).items():
            own[platform, name] = n
        if engines:
            at = _counts(engines, config["engine_threads"])
            series[f"{name}, engines"] = at
            lone, crowd = min(at), max(at)
            claims.append(Claim(f"Classes collapse as cores grow (by a quarter at least): {name}, engines.", _collapses(at),
                                f"on {name}, settings of engines have {at[lone]} classes with {lone} thread and {at[crowd]} with {crowd}."))
            for platform, n in _own_classes(engines).items():
                own[platform, name] = n
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
                  {"classes": series, "over_threads": {f"{p}, {n}": c for (p, n), c in own.items()}, "published": published})
