#!/usr/bin/env bash
# From a PyTorch module to an audited run in five commands (docs/your-own-model.md), checked.
#
# usage: run.sh ISOBIT FOLDER      FOLDER is made anew; PYTHON names the Python to use (default: python3)
# Exit status 77, for "skipped", where Python has no PyTorch.
set -euo pipefail
isobit=$(realpath "$1")
here=$(dirname "$(realpath "$0")")
rm -rf "$2"
mkdir -p "$2"
cd "$2"
export ISOBIT_HOME=$PWD/keys # keys of this example alone

code=0
"${PYTHON:-python3}" "$here/model.py" . || code=$?
((code == 0)) || exit "$code"
cp "$here/job.toml" .

"$isobit" info model.onnx
"$isobit" train job.toml --out own.run
"$isobit" audit own.run --platform ordered@portable/1t
"$isobit" export own.run --onnx --out trained.onnx

# What the five commands have to come to.
"$isobit" --json info own.run | tee info.json
"$isobit" --json info trained.onnx >trained.json
"${PYTHON:-python3}" - <<'PYTHON'
import json
said = json.load(open("trained.json"))
assert said["supported"], said["unsupported"]
assert [i["name"] for i in said["inputs"]] == ["place"], said["inputs"]
PYTHON
"$isobit" run trained.onnx --input data/test_inputs.npy --out scores
"${PYTHON:-python3}" - <<'PYTHON'
import glob
import numpy
scores, labels = numpy.load(glob.glob("scores/0-*.npy")[0]), numpy.load("data/test_labels.npy")
right = (scores.argmax(axis=1) == labels).mean()
print(f"the exported network is right on {100 * right:.1f} % of {len(labels)} points that it was not trained on")
assert right > 0.9
PYTHON
