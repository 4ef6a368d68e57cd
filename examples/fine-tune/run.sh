#!/usr/bin/env bash
# Trains the last block of somebody else's network under two arithmetics, audits each run on two other platforms, exports
# it, and compares the exported network's scores with ONNX Runtime's.
#
# usage: run.sh ISOBIT MODEL.onnx TRAIN.bin TEST.bin FOLDER [--set T.KEY=VALUE ...]
#   TRAIN.bin, TEST.bin   records of CIFAR-10 (data_batch_1.bin, test_batch.bin)
#   FOLDER                of what comes of it; made anew
# PYTHON names the Python to use (default: python3).
# Exit status 77, for "skipped", where the model or the data are not there, or Python has no ONNX Runtime: then all but
# the last comparison has been done.
set -euo pipefail
[[ -f $2 && -f $3 && -f $4 ]] || {
  echo "skipped: no data"
  exit 77
}
isobit=$(realpath "$1")
model=$(realpath "$2")
train=$(realpath "$3")
test=$(realpath "$4")
here=$(dirname "$(realpath "$0")")
out=$5
shift 5
rm -rf "$out"
mkdir -p "$out"
cd "$out"
export ISOBIT_HOME=$PWD/keys # keys of this example alone

# Any platform of `ordered` has the bits of ordered-1; those of correct-1 any that has a float64 product.
declare -A trainer=([ordered-1]=ordered [correct-1]=openblas)
declare -A auditors=([ordered-1]="ordered@portable/1t ordered@avx2/1t" [correct-1]="openblas@nehalem/1t ordered/1t")

compared=0
for arithmetic in ordered-1 correct-1; do
  run=$arithmetic.run
  "$isobit" train "$here/job.toml" --set "model.onnx=$model" --set "data.files=[\"$train\"]" \
    --set "data.test_files=[\"$test\"]" \
    --set "job.arithmetic=$arithmetic" "$@" --platform "${trainer[$arithmetic]}" --out "$run"
  for platform in ${auditors[$arithmetic]}; do
    "$isobit" audit "$run" --platform "$platform"
  done
  "$isobit" export "$run" --onnx --out "$arithmetic.onnx"
  "${PYTHON:-python3}" "$here/compare.py" "$isobit" "$arithmetic.onnx" "$arithmetic" || compared=$?
done
exit "$compared"
