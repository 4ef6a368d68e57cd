#!/usr/bin/env python3
"""Whether isobit loads exported networks, and whether it computes what ONNX Runtime computes.

  compare.py FOLDER --isobit build/release/bin/isobit                  what export.py wrote there
  compare.py FOLDER --isobit ... --models OTHER                        and the .onnx files of another folder
  compare.py FOLDER --isobit ... --platform ordered --platform ordered@portable/1t
  compare.py FOLDER --table docs/real-networks.md                      the table of what is known so far

Both get the same input. The largest difference of an output, relative to its largest element, may be 1e-4; integers
and truth values must be equal; further platforms must give the same bits as the first. Results are kept in
FOLDER/compare.json as they come, and what is there already is not run again (--again). Every run of isobit has a limit
of time and memory.

Exit status: 0 everything that was exported agrees; 1 something does not; 2 usage.
"""
import argparse
import glob
import json
import math
import os
import shutil
import sys
import tempfile

import limited
import tables

MOST = 1e-4
COLUMNS = ["network", "exporter", "opset", "nodes", "parameters", "isobit", "largest difference"]
# Inputs of known files that cannot be drawn.
GIVEN = {"silero_vad_16k_op15": {"input": ("normal", (1, 512)), "state": ("zeros", (2, 1, 128)), "sr": ("is", 16000)},
         "resnet20-cifar10": {"x": ("normal", (4, 3, 32, 32))}}


class Model:
    """One ONNX file with its inputs."""

    def __init__(self, name, exporter, path, inputs, error=None):
        self.name, self.exporter, self.path, self.inputs, self.error = name, exporter, path, inputs, error
        self.key = f"{name} {exporter}"


def exported(folder):
    for said in sorted(glob.glob(os.path.join(glob.escape(folder), "*", "export.json"))):
        with open(said, encoding="utf-8") as file:
            document = json.load(file)
        own = os.path.dirname(said)
        name = document["network"] + (f" x{document['batch']}" if document["batch"] != 1 else "")
        inputs = {n: os.path.join(own, f) for n, f in document.get("inputs", {}).items()}
        yield Model(name, document["exporter"], os.path.join(own, "model.onnx"), inputs, document.get("error"))


def drawn_inputs(path, folder):
    """Inputs of a file of somebody else, by a seed: named dimensions are 1."""
    import numpy
    chance = numpy.random.default_rng(1)
    given = GIVEN.get(os.path.basename(path).removesuffix(".onnx"), {})
    files = {}
    for place, value in enumerate(session_of(path).get_inputs()):
        kind, what = given.get(value.name, ("normal", [d if isinstance(d, int) else 1 for d in value.shape]))
        if kind == "is":
            array = numpy.array(what, numpy.int64)
        elif kind == "zeros":
            array = numpy.zeros(what, numpy.float32)
        else:
            array = chance.standard_normal(what, dtype=numpy.float32)
        files[value.name] = os.path.join(folder, f"input_{place}.npy")
        numpy.save(files[value.name], array)
    return files


def session_of(path, threads=None):
    import onnxruntime
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads or len(os.sched_getaffinity(0))
    options.log_severity_level = 3
    return onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])


def expected_outputs(model):
    """{name: array} by ONNX Runtime."""
    import numpy
    session = session_of(model.path)
    wanted = {value.name for value in session.get_inputs()}
    feeds = {n: numpy.load(f) for n, f in model.inputs.items() if n in wanted}
    names = [value.name for value in session.get_outputs()]
    return dict(zip(names, session.run(names, feeds))), list(feeds)


def difference(found, wanted):
    """(largest difference relative to the scale, complaint or None)"""
    import numpy
    if found.shape != wanted.shape:
        return math.inf, f"shape {list(found.shape)}, expected {list(wanted.shape)}"
    if found.dtype != wanted.dtype:
        return math.inf, f"type {found.dtype}, expected {wanted.dtype}"
    if not numpy.issubdtype(wanted.dtype, numpy.floating):
        wrong = int((found != wanted).sum())
        return (math.inf, f"{wrong} of {wanted.size} differ") if wrong else (0.0, None)
    if wanted.size == 0:
        return 0.0, None
    a, b = found.astype(numpy.float64), wanted.astype(numpy.float64)
    strange = ~numpy.isfinite(b)
    if not numpy.array_equal(a[strange], b[strange], equal_nan=True) or not numpy.isfinite(a[~strange]).all():
        return math.inf, "other elements are not finite"
    if strange.all():
        return 0.0, None
    scale = float(numpy.abs(b[~strange]).max())
    apart = float(numpy.abs(a[~strange] - b[~strange]).max())
    return (apart / scale if scale else (0.0 if apart == 0 else math.inf)), None


class Isobit:
    def __init__(self, options):
        self.program, self.seconds, self.gigabytes = options.isobit, options.seconds, options.gigabytes

    def json(self, *words):
        """(document or None, reason of the failure)"""
        done = limited.run([self.program, "--json", *words], self.seconds, self.gigabytes)
        if not done.ended_well:
            return None, done.last_line().removeprefix("isobit: ")
        return json.loads(done.out), None


def without_path(reason, model):
    return reason.replace(model.path + ": ", "").replace(os.path.basename(model.path) + ": ", "")


def ask(isobit, model, row):
    """What `isobit info` says of it goes into the row; the reason for which it takes no file of this kind, or None."""
    said, reason = isobit.json("info", model.path)
    if said is None:
        return without_path(reason, model)
    row.update(opset=said["opsets"].get("ai.onnx"), nodes=said["nodes"], parameters=said["parameters"])
    if said["supported"]:
        return None
    first = said["unsupported"][0]
    where = f"node '{first['node']}' ({first['operator']}, opset {first['opset']}): " if "node" in first else ""
    more = f" (and {len(said['unsupported']) - 1} more)" if len(said["unsupported"]) > 1 else ""
    return without_path(where + first["reason"] + more, model)


def run_everywhere(isobit, model, used, platforms, folder, row):
    """{name: array} of the first platform; None, with the cause in the row, where one fails or they part."""
    import numpy
    first = None
    for number, platform in enumerate(platforms):
        out = os.path.join(folder, f"out{number}")
        words = [w for n in used for w in ("--input", f"{n}={model.inputs[n]}")]
        said, reason = isobit.json("run", model.path, *words, "--out", out, "--platform", platform)
        if said is None:
            row.update(verdict="fails", cause=f"{platform}: {without_path(reason, model)}")
            return None
        digests = [o["digest"] for o in said["outputs"]]
        if first is None:
            first = digests
            row.update(seconds=said["seconds"])
            files = sorted(os.listdir(out), key=lambda f: int(f.split("-")[0]))
            outputs = {o["name"]: numpy.load(os.path.join(out, f)) for o, f in zip(said["outputs"], files)}
        elif digests != first:
            row.update(verdict="differs", cause=f"{platform} gives other bits than {platforms[0]}")
            return None
    return outputs


def compare(isobit, model, platforms):
    row = {"network": model.name, "exporter": model.exporter}
    if model.error:
        return dict(row, verdict="not exported", cause=model.error)
    # A file that leaves shapes open may be taken in a run, which knows them, and only then.
    refused = ask(isobit, model, row)
    with tempfile.TemporaryDirectory(prefix="isobit-compare-") as folder:
        try:
            if model.inputs is None:
                model.inputs = drawn_inputs(model.path, folder)
            wanted, used = expected_outputs(model)
        except Exception as error:  # whatever ONNX Runtime throws: there is nothing to compare with
            return dict(row, verdict="no reference", cause="ONNX Runtime: " + " ".join(str(error).split())[:200])
        found = run_everywhere(isobit, model, used, platforms, folder, row)
    if found is None:
        return dict(row, verdict="refused", cause=refused) if refused else row
    if refused:
        row["open"] = refused
    worst = 0.0
    for name, array in wanted.items():
        if name not in found:
            return dict(row, verdict="differs", cause=f"no output '{name}'")
        apart, complaint = difference(found[name], array)
        if complaint:
            return dict(row, verdict="differs", cause=f"output '{name}': {complaint}")
        worst = max(worst, apart)
    row.update(difference=worst, verdict="agrees" if worst <= MOST else "differs", platforms=platforms)
    if worst > MOST:
        row["cause"] = f"a difference of {worst:.1e}"
    return row


def cells(row):
    verdict = row["verdict"] if row["verdict"] == "agrees" else f"{row['verdict']}: {row['cause']}"
    if "open" in row:
        verdict += f"; while its shapes are open: {row['open']}"
    parameters = f"{row['parameters'] / 1e6:.1f} M" if row.get("parameters", 0) >= 1e5 else row.get("parameters", "")
    return [row["network"], row["exporter"], row.get("opset", ""), row.get("nodes", ""), parameters,
            tables.cell(verdict),
            f"{row['difference']:.1e}" if "difference" in row else ""]


def parse():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add = parser.add_argument
    add("folder")
    add("--isobit", help="the program; without it nothing is run, and --table writes what is known")
    add("--models", help="a folder with more .onnx files, whose inputs are drawn")
    add("--only", action="append", default=[], metavar="TEXT", help="networks with TEXT in their name")
    add("--platform", action="append", help="where isobit runs (ordered); of several, all must give the same bits")
    add("--again", action="store_true", help="run what is known already, too")
    add("--retry", action="store_true", help="run again what does not agree")
    add("--seconds", type=float, default=600, help="limit of one run of isobit (600)")
    add("--gigabytes", type=float, default=12, help="limit of its memory (12)")
    add("--table", metavar="FILE", help="write the table there, between the marks of 'inference'")
    options = parser.parse_args()
    if not options.isobit and not options.table:
        parser.error("name --isobit, --table or both")
    if options.isobit and not shutil.which(options.isobit):
        parser.error(f"--isobit: there is no program '{options.isobit}'")
    return options


def main():
    options = parse()
    known = tables.Known(os.path.join(options.folder, "compare.json"))
    models = list(exported(options.folder))
    if options.models:
        models += [Model(os.path.basename(p).removesuffix(".onnx"), "its own", p, None)
                   for p in sorted(glob.glob(os.path.join(glob.escape(options.models), "*.onnx")))]
    for model in models if options.isobit else []:
        if options.only and not any(text in model.name for text in options.only):
            continue
        before = known.rows.get(model.key)
        if before and not options.again and not (options.retry and before["verdict"] != "agrees"):
            continue
        row = compare(Isobit(options), model, options.platform or ["ordered"])
        known.keep(model.key, row)
        print(f"{model.key:<50} {row['verdict']}{': ' + row['cause'] if 'cause' in row else ''}"
              f"{'  %.1e' % row['difference'] if 'difference' in row else ''}"
              f"{'  %.2f s' % row['seconds'] if 'seconds' in row else ''}", flush=True)
    rows = sorted(known.rows.values(), key=lambda row: (row["network"], row["exporter"]))
    if options.table:
        tables.write(options.table, "inference", COLUMNS, [cells(row) for row in rows])
    bad = [row for row in rows if row["verdict"] in ("refused", "fails", "differs")]
    print(f"{len(rows)} files, {sum(row['verdict'] == 'agrees' for row in rows)} agree, {len(bad)} do not, "
          f"{len(rows) - len(bad) - sum(row['verdict'] == 'agrees' for row in rows)} without a file or a reference")
    sys.exit(1 if bad else 0)


if __name__ == "__main__":
    main()
