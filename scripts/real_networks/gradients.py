#!/usr/bin/env python3
"""Gradients of exported networks by isobit, against PyTorch's in float64.

  gradients.py FOLDER --program build/release/tests/onnx_gradients/onnx_gradients
  gradients.py FOLDER --program ... --only resnet18 --exporter legacy
  gradients.py FOLDER --table docs/real-networks.md         the table of what is known so far

Each network is exported in float64, with its parameters under the module's names; isobit imports the file, appends a
loss and gradients, and runs that in float64. Of every parameter the largest difference, relative to the gradient's
largest element (at least 1e-6 of the largest of all), may be 1e-9: then the network trains. Results are kept in
FOLDER/gradients.json as they come; files are removed at once.

Exit status: 0 every network trains; 1 one does not; 2 usage.
"""
import argparse
import json
import os
import shutil
import sys
import tempfile

import limited
import tables

COLUMNS = ["network", "exporter", "trains", "parameters compared", "outputs apart", "gradients apart"]


def check_one(options):
    """In a process of its own; prints the row."""
    import torch
    import vjp
    from networks import NETWORKS
    torch.backends.mha.set_fastpath_enabled(False)  # the older exporter has no name for PyTorch's fused attention
    network = NETWORKS[options.in_process](1)
    try:
        row = vjp.check(network.module, network.inputs, network.outputs, options.exporter, options.program,
                        options.folder, wide=not options.narrow, seconds=options.seconds, gigabytes=options.gigabytes,
                        platform=options.platform, as_exported=network.as_exported)
        row["verdict"] = "yes" if max(row["gradient"], row["output"]) <= vjp.MOST else "differs"
        if row["verdict"] != "yes":
            row["cause"] = f"the worst is {row['worst']}"
    except vjp.Failure as failure:
        row = {"verdict": "no", "cause": str(failure)}
    print("row " + json.dumps(row))


def check_apart(options, name, exporter):
    # The folder is made here, so that it goes away however the process ends.
    with tempfile.TemporaryDirectory(prefix="isobit-gradients-", dir=options.folder) as folder:
        return check_in(folder, options, name, exporter)


def check_in(folder, options, name, exporter):
    command = [sys.executable, os.path.abspath(__file__), folder, "--program", options.program, "--in-process",
               name, "--exporter", exporter, "--seconds", str(options.seconds), "--gigabytes", str(options.gigabytes),
               "--platform", options.platform] + (["--narrow"] if options.narrow else [])
    done = limited.run(command, options.seconds + 600, options.gigabytes + 8)
    said = [line for line in done.out.splitlines() if line.startswith("row ")]
    if done.ended_well and said:
        return json.loads(said[-1][4:])
    return {"verdict": "not exported", "cause": done.last_line()}


def cells(row):
    verdict = row["verdict"] + (f": {row['cause']}" if "cause" in row else "")
    numbers = [row["parameters"], f"{row['output']:.1e}", f"{row['gradient']:.1e}"] if "parameters" in row else [""] * 3
    return [row["network"], row["exporter"], tables.cell(verdict), *numbers]


def parse():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add = parser.add_argument
    add("folder", help="of results; files of a network lie there while it is checked")
    add("--program", help="onnx_gradients; without it nothing is run, and --table writes what is known")
    add("--only", action="append", metavar="NAME", help="this network; may be given several times")
    add("--exporter", choices=["legacy", "dynamo", "both"], default="legacy", help="of PyTorch (legacy)")
    add("--narrow", action="store_true", help="export in float32; isobit widens the graph as training in float64 does")
    add("--platform", default="ordered", help="where isobit runs (ordered)")
    add("--again", action="store_true", help="check what is known already, too")
    add("--seconds", type=float, default=1800, help="limit of one run of isobit (1800)")
    add("--gigabytes", type=float, default=14, help="limit of its memory (14)")
    add("--table", metavar="FILE", help="write the table there, between the marks of 'gradients'")
    add("--in-process", metavar="NAME", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if not options.program and not options.table:
        parser.error("name --program, --table or both")
    if options.program and not shutil.which(options.program):
        parser.error(f"--program: there is no program '{options.program}'")
    return options


def main():
    options = parse()
    if options.in_process:
        check_one(options)
        return
    os.makedirs(options.folder, exist_ok=True)
    known = tables.Known(os.path.join(options.folder, "gradients.json"))
    if options.program:
        from networks import NETWORKS
        names = options.only or list(NETWORKS)
        exporters = ["legacy", "dynamo"] if options.exporter == "both" else [options.exporter]
        for name, exporter in [(n, e) for n in names for e in exporters]:
            if name not in NETWORKS:
                sys.exit(f"gradients.py: there is no network '{name}'")
            key = f"{name} {exporter}{' float32' if options.narrow else ''}"
            if key in known.rows and not options.again:
                continue
            row = dict(check_apart(options, name, exporter), network=name,
                       exporter=exporter + (", float32 file" if options.narrow else ""))
            known.keep(key, row)
            print(f"{key:<50} {' '.join(str(cell) for cell in cells(row)[2:])}", flush=True)
    if options.table:
        rows = sorted(known.rows.values(), key=lambda row: (row["network"], row["exporter"]))
        tables.write(options.table, "gradients", COLUMNS, [cells(row) for row in rows])
    sys.exit(0 if all(row["verdict"] == "yes" for row in known.rows.values()) else 1)


if __name__ == "__main__":
    main()
