#!/usr/bin/env python3
"""Exports well-known networks with random weights to ONNX, each with an input: nothing is downloaded.

  export.py FOLDER                                  every network, by each of its exporters
  export.py FOLDER --only resnet50 --only gpt2      some
  export.py FOLDER --exporter legacy                dynamo, legacy (both of PyTorch) or both (the default)
  export.py FOLDER --list

FOLDER/NAME-EXPORTER[-bN]/ gets model.onnx, the inputs as .npy files and export.json, which says what they are, or why
the exporter failed: an exporter's failure is a result, too. What is there already stays (--again makes it anew). Every
export has a process of its own. The libraries: requirements.txt.

Exit status: 0 all were tried; 2 usage.
"""
import argparse
import json
import os
import re
import shutil
import sys
import time
import traceback

import limited
from networks import NETWORKS, SEED
from others import OTHERS

PYTORCH = ["dynamo", "legacy"]


def jobs_of(options):
    """(name, exporter) of what is asked for."""
    names = options.only or [*NETWORKS, *OTHERS]
    for name in names:
        if name in OTHERS:
            yield name, OTHERS[name][0]
        elif name in NETWORKS:
            yield from ((name, e) for e in PYTORCH if options.exporter in (e, "both"))
        else:
            sys.exit(f"export.py: there is no network '{name}'; --list names them")


def save_inputs(folder, inputs):
    import numpy
    files = {}
    for place, (name, value) in enumerate(inputs.items()):
        files[name] = f"input_{place}.npy"
        numpy.save(os.path.join(folder, files[name]), value)
    return files


def export_torch(path, name, exporter, batch, opset):
    """One of PyTorch's; the arguments are those that a user gives who knows nothing else."""
    import torch
    torch.backends.mha.set_fastpath_enabled(False)  # the older exporter has no name for PyTorch's fused attention
    network = NETWORKS[name](batch)
    more = {"opset_version": opset} if opset else {}
    with torch.no_grad():
        torch.onnx.export(network.module, tuple(network.inputs.values()), path, dynamo=exporter == "dynamo",
                          input_names=list(network.inputs), output_names=network.outputs, **more)
    return {n: t.numpy() for n, t in network.inputs.items()}


def export_one(folder, name, exporter, batch, opset):
    """In a process of its own: writes everything but the verdict on failure."""
    os.makedirs(folder, exist_ok=True)
    path = os.path.join(folder, "model.onnx")
    if name in OTHERS:
        inputs = OTHERS[name][1](path, batch)
    else:
        inputs = export_torch(path, name, exporter, batch, opset)
    return {"inputs": save_inputs(folder, inputs)}


def export_apart(options, name, exporter):
    folder = os.path.join(options.folder, f"{name}-{exporter}" + (f"-b{options.batch}" if options.batch != 1 else ""))
    said = os.path.join(folder, "export.json")
    if os.path.exists(said) and not options.again:
        print(f"{name:<40} {exporter:<9} is there already")
        return
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder)
    begin = time.monotonic()
    command = [sys.executable, os.path.abspath(__file__), folder, "--in-process", name, "--exporter", exporter,
               "--batch", str(options.batch)] + (["--opset", str(options.opset)] if options.opset else [])
    done = limited.run(command, options.seconds, options.gigabytes)
    document = {"network": name, "exporter": exporter, "batch": options.batch, "seed": SEED,
                "seconds": round(time.monotonic() - begin, 1)}
    inputs = os.path.join(folder, "inputs.json")
    if done.ended_well and os.path.exists(inputs):
        with open(inputs, encoding="utf-8") as file:
            document.update(json.load(file))
        os.remove(inputs)
    else:
        for left in os.listdir(folder):
            os.remove(os.path.join(folder, left))
        document["error"] = done.last_line()
    with open(said, "w", encoding="utf-8") as file:
        json.dump(document, file, indent=1)
    print(f"{name:<40} {exporter:<9} {document['seconds']:6.1f} s  {document.get('error', 'exported')}", flush=True)


def parse():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add = parser.add_argument
    add("folder", nargs="?")
    add("--only", action="append", metavar="NAME", help="this network; may be given several times")
    add("--exporter", default="both", help="of PyTorch's networks: dynamo, legacy or both (default)")
    add("--batch", type=int, default=1, help="samples of the input (1)")
    add("--opset", type=int, help="instead of the exporter's own choice")
    add("--again", action="store_true", help="export what is there already, too")
    add("--seconds", type=float, default=900, help="limit of one export (900)")
    add("--gigabytes", type=float, default=16, help="limit of its memory (16)")
    add("--list", action="store_true", help="name the networks")
    add("--in-process", metavar="NAME", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.folder is None and not options.list:
        parser.error("name a folder, or --list")
    if options.exporter not in (*PYTORCH, "both") and not options.in_process:
        parser.error("--exporter: expected dynamo, legacy or both")
    return options


def main():
    options = parse()
    if options.list:
        print("\n".join([*NETWORKS, *OTHERS]))
    elif options.in_process:
        try:
            said = export_one(options.folder, options.in_process, options.exporter, options.batch, options.opset)
        except Exception as error:  # whatever a library throws is the cause of the failure
            traceback.print_exc()
            first = error
            while first.__cause__ is not None:
                first = first.__cause__
            words = " ".join(re.sub(r"\x1b\[[0-9;]*m", "", str(first)).split())
            sys.exit(f"{type(error).__name__}: {words[:200]}")
        with open(os.path.join(options.folder, "inputs.json"), "w", encoding="utf-8") as file:
            json.dump(said, file)
    else:
        for name, exporter in jobs_of(options):
            export_apart(options, name, exporter)


if __name__ == "__main__":
    main()
