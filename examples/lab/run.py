#!/usr/bin/env python3
"""One experiment of the deviation lab: measures, draws, and says whether the published finding appears here.

usage: run.py EXPERIMENT.toml --isobit ISOBIT [--python PY] [--data FOLDER] --out FOLDER

The experiments are the .toml files beside this one, docs/lab-experiments.md has what they come to. FOLDER gets result.json,
result.md, the figures as SVG, and the models, inputs and labs. What a lab of an earlier call has is not measured again.
onnx, NumPy and matplotlib are needed; exit status 77 where they are not there. The engines live in the Python of --python.
"""
import argparse
import importlib
import os
import sys
import time
import tomllib

try:
    import matplotlib  # noqa: F401
    import numpy  # noqa: F401
    import onnx  # noqa: F401
except ImportError as missing:
    print(f"skipped: no {missing.name}")
    sys.exit(77)

from experiments import context, program  # noqa: E402


def claim_folder(folder, text):
    """Results of another configuration would be taken for those of this one."""
    mark = os.path.join(folder, "configuration.toml")
    if os.path.exists(mark):
        with open(mark, "rb") as f:
            if f.read() != text:
                sys.exit(f"run.py: {folder} has results of another configuration ({mark}); choose another folder with --out")
    os.makedirs(folder, exist_ok=True)
    with open(mark, "wb") as f:
        f.write(text)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("experiment", help="one of the .toml files beside this program, or one of your own")
    parser.add_argument("--isobit", required=True, help="the program")
    parser.add_argument("--python", default=os.environ.get("ISOBIT_PYTHON"), help="interpreter that has the engines")
    parser.add_argument("--data", default=os.environ.get("ISOBIT_SHARED_DATA"), help="folder of the optional data")
    parser.add_argument("--out", required=True, help="folder of the results")
    options = parser.parse_args()

    with open(options.experiment, "rb") as f:
        text = f.read()
    config = tomllib.loads(text.decode())
    claim_folder(options.out, text)
    name = os.path.splitext(os.path.basename(options.experiment))[0]
    given = context.Context(options.isobit, options.python, config, options.out, options.data)
    begin = time.monotonic()
    try:
        result = importlib.import_module(f"experiments.{config['measures']}").run(given)
    except program.Failed as failure:
        sys.exit(f"run.py: {failure}")
    document = context.write(given, result, name, config["title"], time.monotonic() - begin)
    for claim in result.claims:
        print(f"{claim.finding}\n  {claim.words()}")
    for remark in given.remarks:
        print(f"left out: {remark}", file=sys.stderr)
    print(f"{given.path('result.md')}, {len(result.figures)} figures, {document['seconds']} s")


if __name__ == "__main__":
    main()
