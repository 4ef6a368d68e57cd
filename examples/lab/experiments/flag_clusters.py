"""Classes against CPU flags: in the published records, and over the core types of libraries on this machine."""
import itertools

from . import figures, networks, program
from .context import Claim, Figure, Result, Table


def _clusters(flags):
    """{platform: flags} -> [(flags, presence over platforms)]: those that all have dropped, those that go together one."""
    found = {}
    for flag in dict.fromkeys(f for all_of in flags.values() for f in all_of):
        present = tuple(flag in have for have in flags.values())
        if not all(present):
            found.setdefault(present, []).append(flag)
    return [(names, present) for present, names in found.items()]


def _pairs(flags, classes):
    """Pairs of platforms by (have the same flags, are in one class)."""
    told = {(a, b): [] for a in (True, False) for b in (True, False)}
    for a, b in itertools.combinations(flags, 2):
        told[set(flags[a]) == set(flags[b]), classes[a] == classes[b]].append((a, b))
    return told


def _published(context):
    study = context.study()
    if study is None:
        return None
    subject = next(s for s in study["subjects"] if s["subject"]["model"] == context.config["published_model"])
    cohort = next(c for c in subject["flag_clusters"] if c["platforms_of"] == context.config["published_cohort"])
    flags = {p: [] for p in cohort["platforms"]}
    for i, cluster in enumerate(cohort["clusters"]):
        for platform, present in zip(cohort["platforms"], cluster["present"]):
            if present:
                flags[platform].append(i)
    return cohort, _pairs(flags, dict(zip(cohort["platforms"], cohort["classes"])))


def _published_figure(context, cohort):
    names = [", ".join(c["flags"][:3]) + (f" and {len(c['flags']) - 3} more" if len(c["flags"]) > 3 else "")
             for c in cohort["clusters"]]
    figure, axis = figures.panels(1, 1, (7.4, 0.24 * len(names) + 2.4))
    head = [str(n) for n in cohort["classes"]]
    columns = [p.split("/")[1].split("-")[0].replace("_", " ") for p in cohort["platforms"]]
    figures.presence(axis, ["class", *names], columns, [head, *(c["present"] for c in cohort["clusters"])])
    figures.heading(figure, f"The study, {context.config['published_model']}, {cohort['platforms_of']}: {len(names)} clusters of "
                            f"{cohort['flags']} flags, {cohort['common']} of them common to all")
    words = f"Classes {', '.join(head)}; squares mark which CPU has which cluster of flags."
    figures.save(figure, context.path("flag_clusters_study.svg"), "Classes against clusters of CPU flags in the study", words)
    return Figure("flag_clusters_study.svg", f"Table of marks. {words}")


def _here_figure(context, clusters, classes):
    platforms = list(classes)
    figure, axis = figures.panels(1, 1, (7.4, 0.26 * len(clusters) + 2.2))
    figures.presence(axis, ["class", *(", ".join(names) for names, _ in clusters)], platforms,
                     [[str(classes[p]) for p in platforms], *(present for _, present in clusters)])
    figures.heading(figure, "On one machine: core types of libraries, and the flags of the CPUs that they are named after")
    words = "Classes " + ", ".join(f"{p} {n}" for p, n in classes.items())
    figures.save(figure, context.path("flag_clusters_here.svg"), "Classes against flags of core types", words)
    return Figure("flag_clusters_here.svg", f"Table of marks. {words}")


def _published_claims(published):
    cohort, pairs = published
    same, agree = len(pairs[True, True]) + len(pairs[True, False]), len(pairs[True, True])
    split = [c for c in cohort["clusters"] if _constant(c["present"], cohort["classes"])]
    return [Claim("In the published records, CPUs with the same flags are in one class.", agree == same if same else None,
                  f"of {same} pairs of CPUs with the same flags {agree} agree in every bit; {len(cohort['clusters'])} clusters of "
                  f"{cohort['flags']} flags, of which {cohort['common']} are common, and {len(set(cohort['classes']))} classes "
                  f"({','.join(map(str, cohort['classes']))}). {len(pairs[False, True])} pairs agree although their flags differ."),
            Claim("In the published records, there are flags that go with the classes.", bool(split),
                  f"{len(split)} of {len(cohort['clusters'])} clusters are the same on all CPUs of each class, among them "
                  + "; ".join(", ".join(c["flags"][:4]) for c in split[:4]) + ".")]


def _constant(present, classes):
    return all(len({p for p, k in zip(present, classes) if k == which}) == 1 for which in set(classes))


def _library(platform):
    return platform.split("@")[0]


def run(context):
    config = context.config
    flags = {name: f for name, f in config["flags"].items() if context.platforms([name])}
    model = context.named_model(config["network"])
    image = context.array("image", networks.images((1, 3, 32, 32), config["seed"]))
    subject = context.program.measure(model, context.lab("here"), context.platforms(flags), [image])
    classes = {p.removesuffix("/1t"): n for p, n in program.classes_of(subject).items()}
    flags = {p: flags[p] for p in classes}
    trees = {p: context.program.reveal(p + "/1t", 64, 64, config["k"]) for p in classes}
    bits = {p: trees[p]["bits"] for p in classes}
    claims, drawn, tables = [], [], []
    published = _published(context)
    if published:
        claims += _published_claims(published)
        drawn.append(_published_figure(context, published[0]))
    drawn.append(_here_figure(context, _clusters(flags), classes))
    pairs = _pairs(flags, classes)
    within = {key: [(a, b) for a, b in found if _library(a) == _library(b)] for key, found in pairs.items()}
    across = [p for p in pairs[True, True] + pairs[True, False] if _library(p[0]) != _library(p[1])]
    apart = within[False, False]
    claims.append(Claim("Of one library, other flags make other classes.", len(apart) > len(within[False, True]),
                        f"of {len(apart) + len(within[False, True])} pairs of one library whose flags differ {len(apart)} have other "
                        f"bits; {len(within[False, True])} agree: {_named(within[False, True])}.",
                        _why_alike(within[False, True], bits)))
    equal = within[True, True] + within[True, False]
    claims.append(Claim("Of one library, the same flags make one class.", (not within[True, False]) if equal else None,
                        f"of {len(equal)} pairs of one library with the same flags {len(within[True, True])} agree"
                        + (f"; not {_named(within[True, False])}." if within[True, False] else "."),
                        _why_apart(context, within[True, False], context.program.layers(context.lab("here")))))
    agree = [p for p in across if p in pairs[True, True]]
    claims.append(Claim("Flags do not settle the class by themselves: another library is another class.", len(agree) < len(across),
                        f"of {len(across)} pairs of different libraries with the same flags {len(agree)} agree."))
    tables.append(Table(f"Order of a product of {config['k']} terms, by `isobit reveal`.", ["platform", "class", "order", "products"],
                        [[p, classes[p], trees[p]["order"], trees[p]["probes"].get("products", "")] for p in classes]))
    return Result(claims, drawn, tables, {"classes": classes, "flags": flags, "trees": trees,
                                          "published": published[0] if published else None})


def _named(pairs):
    return ", ".join(f"{a} and {b}" for a, b in pairs) or "none"


def _why_alike(pairs, bits):
    if not pairs:
        return ""
    alike = [p for p in pairs if bits[p[0]] == bits[p[1]]]
    return f"Of these {len(pairs)} pairs {len(alike)} have the same bits of a product: one kernel under two names."


def _why_apart(context, pairs, explained):
    """Where platforms of equal flags fork, and in which order each adds there."""
    products, told = networks.NAMED[context.config["network"]](context.config["seed"]).products, []
    for a, b in pairs:
        value = program.first_fork(explained, a + "/1t", b + "/1t")
        if value is None or value["name"] not in products:
            continue
        m, n, k = products[value["name"]]
        told.append(f"{a} and {b} fork at {value['name']}, a product of {m} x {k} by {k} x {n}" + _orders(context, (a, b), m, n, k))
    return " ".join(told)


def _orders(context, pair, m, n, k):
    """Of the first column that the two add differently, of three; what `isobit reveal` says of it."""
    for column in dict.fromkeys((0, n // 2, n - 1)):
        one, other = (context.program.reveal(p + "/1t", m, n, k, column) for p in pair)
        if one["bits"] != other["bits"]:
            return f"; column {column}: {one['order']} ({one['probes']['products']}), and {other['order']} ({other['probes']['products']})."
    return ", which each adds in the same order in the columns that were looked at."
