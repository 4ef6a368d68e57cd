"""Distinct outputs: networks x inputs, over libraries, core types, threads and engines."""
from . import figures, networks, program
from .context import Claim, Figure, Result, Table


def _models(context):
    found = {name: context.named_model(name) for name in context.config["networks"]}
    for name in context.config["trained"]:
        path = context.data_file("models", name)
        if path:
            found[name.split(".")[0].split("-")[0]] = context.note_model(path)
    return found


def _row(context, model, seed, subject):
    names = program.classes_of(subject)
    engines = {n for n in names if context.is_engine(n)}
    return {"model": model, "input": seed, "platforms": len(names), "libraries": program.count(subject, set(names) - engines),
            "engines": program.count(subject, engines), "together": program.count(subject)}


def _published(study):
    rows = []
    for s in study["subjects"] if study else []:
        counts = s["classes_by"]["counts"]
        rows.append({"model": s["subject"]["model"], "input": s["subject"]["settings"].removeprefix("input "),
                     "CPUs": counts["CPU"], "GPUs": counts["GPU"], "together": len(s["classes"])})
    return rows


def _figure(context, rows, published):
    figure, axes = figures.panels(2 if published else 1, 1, (7.6, 5.2 if published else 2.8), squeeze=False)
    sets = [("On one machine", rows, ("libraries", "engines", "together"))]
    if published:
        sets.append(("The study: 76 platforms", published, ("CPUs", "GPUs", "together")))
    for axis, (title, data, series) in zip(axes[:, 0], sets):
        labels = [f"{r['model'].removeprefix('cifar10_')}\ninput {str(r['input']).removeprefix('i')}".replace("_", "\n") for r in data]
        figures.bars(axis, labels, {name: [r[name] for r in data] for name in series})
        axis.set_title(title, loc="left")
        axis.set_ylabel("bit-distinct outputs")
        axis.legend(loc="upper left", bbox_to_anchor=(1, 1))
    words = "; ".join(f"{r['model']} input {r['input']}: {r['together']}" for r in rows)
    figures.save(figure, context.path("distinct_outputs.svg"), "Bit-distinct outputs for each network and input", words)
    return Figure("distinct_outputs.svg", f"Bars: bit-distinct outputs for each network and input. {words}")


def run(context):
    c = context.config
    platforms = [p for t in c["threads"] for p in context.platforms(c["libraries"], t) if t == 1 or not p.startswith("ordered")]
    platforms += context.platforms(c["engines"])
    rows = []
    for name, model in _models(context).items():
        for seed in c["inputs"]:
            image = context.array(f"image{seed}", networks.images((1, 3, 32, 32), seed))
            subject = context.program.measure(model, context.lab(f"{name}_{seed}"), platforms, [image], keep="none")
            context.note_errors(subject)
            rows.append(_row(context, name, seed, subject))
    published = _published(context.study())
    few, many = min(r["together"] for r in rows), max(r["together"] for r in rows)
    of = {m: sorted({r["together"] for r in rows if r["model"] == m}) for m in {r["model"]: 0 for r in rows}}
    spans = {m: max(v) - min(v) for m, v in of.items()}
    between = max(map(max, of.values())) - min(map(min, of.values()))
    claims = [
        Claim("One network on one input has many distinct outputs (3 to 16 on the study's CPUs, 8 to 10 on its GPUs).", few > 1,
              f"every network on every input has several: {few} to {many} on {rows[0]['platforms']} platforms of one machine."),
        Claim("How many is a matter of the network rather than of the input.", between > max(spans.values()),
              f"over inputs of one network the number varies by at most {max(spans.values())}, over networks by {between} ("
              + "; ".join(f"{m} {' or '.join(map(str, v))}" for m, v in of.items()) + ")."),
    ]
    if "small" in of and "medium" in of:
        claims.append(Claim("The larger of two networks of a kind has more.", min(of["medium"]) > max(of["small"]),
                            f"small has {' or '.join(map(str, of['small']))}, medium {' or '.join(map(str, of['medium']))}."))
    shared = sum(r["libraries"] + r["engines"] - r["together"] for r in rows)
    claims.append(Claim("Different kinds of platforms share no output (the study's CPUs and GPUs: none).", shared == 0,
                        f"libraries and engines have {shared} outputs in common, over all {len(rows)} networks and inputs."))
    table = Table("Distinct outputs here.", ["network", "input", "platforms", "of libraries", "of engines", "together"],
                  [list(r.values()) for r in rows])
    return Result(claims, [_figure(context, rows, published)], [table], {"rows": rows, "published": published})
