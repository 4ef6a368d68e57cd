#!/usr/bin/env python3
"""Disputes and spot checks about steps of networks that others made: ResNet-18 and the smallest GPT-2.

  dispute.py FOLDER --isobit build/release/bin/isobit
  dispute.py FOLDER --isobit ... --only gpt2 --arithmetic logged-1 --kind precision
  dispute.py FOLDER --table docs/disputes-measured.md           the table of what is known so far

FOLDER has the exports of `export.py FOLDER --only resnet18 --only gpt2 --exporter legacy`. Of each network three steps
are trained with SGD and momentum on random samples, honestly and by somebody who cheats at step 2; the two runs
dispute, `isobit verify` reads the record, and 200 elements of step 2 of the honest one are checked. Results are kept in
FOLDER/disputes.json as they come.

Exit status: 0 the trainer was found wrong at step 2 each time, and nothing false in an honest run; 1 otherwise; 2 usage.
"""
import argparse
import json
import os
import shutil
import subprocess
import sys
import time

import tables

BATCHES = {"resnet18": 1, "gpt2": 1}  # those of the exported files
COLUMNS = ["network", "arithmetic", "cheat", "found at step, node", "element, claimed and right", "referee, of which lists",
           "spot check of 200", "of that the auditor", "received", "who answers, to the training's memory"]
JOB = """[job]
name = "{name}"
seed = 1
steps = 3
[model]
onnx = "{folder}/model.onnx"
[data]
dataset = "npy"
{data}
labels_path = "{folder}/labels.npy"
batch = {batch}
[optimizer]
name = "sgd"
lr = 0.001
momentum = 0.9
[commit]
every = 1
[checkpoint]
every = 1
keep = 4
[evaluate]
samples = 0
"""


def data_of(folder, name):
    if name == "gpt2":
        return f'inputs = {{ input_ids = "{folder}/ids.npy", attention_mask = "{folder}/mask.npy" }}'
    return f'path = "{folder}/images.npy"'


def write_job(folder, name):
    """The job of a network whose export lies in the folder, with samples beside it."""
    import numpy
    random = numpy.random.default_rng(7)
    samples = 8
    if name == "gpt2":
        ids = random.integers(0, 50257, (samples, 65))
        numpy.save(os.path.join(folder, "ids.npy"), ids[:, :-1])
        numpy.save(os.path.join(folder, "mask.npy"), numpy.ones((samples, 64), dtype=numpy.int64))
        numpy.save(os.path.join(folder, "labels.npy"), ids[:, 1:])
    else:
        numpy.save(os.path.join(folder, "images.npy"), random.standard_normal((samples, 3, 224, 224), numpy.float32))
        numpy.save(os.path.join(folder, "labels.npy"), random.integers(0, 1000, samples))
    path = os.path.join(folder, "job.toml")
    with open(path, "w", encoding="utf-8") as file:
        file.write(JOB.format(name=name, folder=folder, data=data_of(folder, name), batch=BATCHES[name]))
    return path


class Failure(Exception):
    pass


def isobit(options, *arguments, expect):
    """The JSON that a command writes, and the most memory that it had in bytes."""
    command = ["/usr/bin/env", "python3", "-c",
               "import resource, subprocess, sys\n"
               "code = subprocess.run(sys.argv[1:]).returncode\n"
               "print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss, file=sys.stderr)\n"
               "sys.exit(code)", options.isobit, *arguments, "--json"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != expect:
        raise Failure(f"isobit {arguments[0]}: exit code {done.returncode}, expected {expect}: "
                      f"{(done.stderr.splitlines() or [''])[-2:]} {done.stdout[-300:]}")
    return json.loads(done.stdout), int(done.stderr.splitlines()[-1]) * 1024


def settle(options, name, arithmetic, kind):
    folder = os.path.join(os.path.abspath(options.folder), f"{name}-legacy")
    job = write_job(folder, name)
    runs = {what: os.path.join(folder, f"{what}.run") for what in ("honest", "false")}
    for run in runs.values():
        shutil.rmtree(run, ignore_errors=True)
    sets = ["--set", f"job.arithmetic={arithmetic}"]
    _, memory = isobit(options, "train", job, *sets, "--out", runs["honest"], expect=0)
    isobit(options, "cheat", job, *sets, "--kind", kind, "--at", "2", "--out", runs["false"], expect=0)
    record = os.path.join(folder, "record")
    if os.path.exists(record):
        os.remove(record)
    files = ["--set", f"model.onnx={folder}/model.onnx", "--set", f"data.labels_path={folder}/labels.npy"]
    files += ["--set", "data." + data_of(folder, name).replace(" = ", "=", 1)]
    told, _ = isobit(options, "dispute", runs["false"], runs["honest"], *files, "--cheat", f"{kind}@2", "--out", record,
                     expect=1)
    again, of_verifier = isobit(options, "verify", record, "--job", job, *sets, expect=1)
    if again["verdict"] != told["verdict"] or told["verdict"] != "trainer wrong" or told["step"] != 2:
        raise Failure(f"{told['verdict']} at step {told['step']}, and by the record {again['verdict']}")
    begin = time.monotonic()
    spot, _ = isobit(options, "audit", runs["honest"], *files, "--spot", "200", "--step", "2", expect=0)
    took = time.monotonic() - begin
    for run in runs.values():
        shutil.rmtree(run, ignore_errors=True)
    return {"dispute": told, "spot": {key: value for key, value in spot.items() if key != "elements"},
            "memory": memory, "verifier_memory": of_verifier, "spot_seconds": took}


def cells(row):
    told, spot = row["dispute"], row["spot"]
    where = f"{told['step']}, {told['node']} {told['operator']}"
    element = told["element"] or {"element": "", "trainer": "", "right": ""}
    values = f"{element['element']}: {element['trainer']}, {element['right']}"
    return [row["network"], row["arithmetic"], row["kind"], where, values,
            f"{told['referee_seconds']:.3f} s, {told['referee_bytes'] / 1e6:.2f} MB, {told['list_bytes'] / 1e6:.2f} MB",
            f"{row['spot_seconds']:.0f} s" if "spot_seconds" in row else "",
            f"{spot['auditor_seconds']:.2f} s, {spot['auditor_memory'] / 1e6:.0f} MB", f"{spot['bytes'] / 1e6:.1f} MB",
            f"{spot['trainer_memory'] / row['memory']:.2f}"]


def parse():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add = parser.add_argument
    add("folder")
    add("--isobit", help="the program; without it nothing is run, and --table writes what is known")
    add("--only", action="append", choices=list(BATCHES), help="this network; may be given several times")
    add("--arithmetic", action="append", help="this one; may be given several times (default: all three)")
    add("--kind", action="append", help="this cheat; may be given several times (default: precision, gradient)")
    add("--table", metavar="FILE", help="write the table there, between the marks of 'disputes'")
    options = parser.parse_args()
    if not options.isobit and not options.table:
        parser.error("name --isobit, --table or both")
    return options


def main():
    options = parse()
    known = tables.Known(os.path.join(options.folder, "disputes.json"))
    failed = False
    for name in options.only or BATCHES:
        for arithmetic in options.arithmetic or ["ordered-1", "correct-1", "logged-1"]:
            for kind in options.kind or ["precision", "gradient"]:
                key = f"{name} {arithmetic} {kind}"
                if not options.isobit or key in known.rows:
                    continue
                try:
                    row = dict(settle(options, name, arithmetic, kind), network=name, arithmetic=arithmetic, kind=kind)
                    known.keep(key, row)
                    print(f"{key:<32} {'; '.join(cells(row)[3:])}", flush=True)
                except Failure as failure:
                    failed = True
                    print(f"{key:<32} {failure}", flush=True)
    if options.table:
        tables.write(options.table, "disputes", COLUMNS, [cells(known.rows[key]) for key in sorted(known.rows)])
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
