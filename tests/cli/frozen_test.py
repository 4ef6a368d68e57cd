#!/usr/bin/env python3
"""The state root of every job of examples/ under the arithmetics that are frozen, against tests/golden/frozen_roots.json.

A line there is a job, what is changed of it (nothing, of those that are whole), the data that are made for it or are
looked for among the optional ones (DATA), and for each arithmetic the steps and the root they end in. A root never
changes: another one is an arithmetic of another name. Without an option the lines that are marked fast run, on the
platforms that they name; with --slow all others too. "each" is one thread of the slowest set of this machine, one
thread of the fastest and two; "two" is two threads of the fastest. `--only TEXT` takes the jobs that have it in their
name, `--platform P` one platform for all. `--record` writes what comes out for lines that have no roots.

Ends with 77, for CTest skipped, when data or memory for a job that was asked for are not there and nothing differs.
"""
import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time

import frozen_files as files
import frozen_networks as networks

HERE = os.path.dirname(os.path.abspath(__file__))
SOURCE = os.environ.get("ISOBIT_SOURCE_DIR", os.path.dirname(os.path.dirname(HERE)))
SHARED = os.environ.get("ISOBIT_SHARED_DATA", "")
PROGRAM = os.environ.get("ISOBIT", "isobit")
GOLDEN = os.path.join(SOURCE, "tests", "golden", "frozen_roots.json")
ARITHMETICS = ("ordered-1", "correct-1")
CIFAR_RECORD = 3073  # bytes: label and pixels
SKIPPED = 77  # as CTest counts it


class Missing(Exception):
    """What a job needs is not here."""


def shared(path):
    found = os.path.join(SHARED, path)
    if not SHARED or not os.path.exists(found):
        raise Missing("no data")
    return found


def first_records(folder, name, source, count):
    """The first images of a file of CIFAR-10."""
    with open(shared(source), "rb") as f, open(f"{folder}/{name}", "wb") as out:
        out.write(f.read(count * CIFAR_RECORD))


def cifar10_cut(folder, train=256, test=100):
    first_records(folder, "first_data_batch_1.bin", "cifar10/lossless_train_0_3999.bin", train)
    first_records(folder, "first_test_batch.bin", "cifar10/jpegsrc_test_batch.bin", test)
    return [f"data.path={folder}"]


def tokens(*more):
    return [f"data.path={shared('text/tinyshakespeare.txt')}", f"data.encoder={shared('gpt2-bpe/encoder.json')}",
            f"data.merges={shared('gpt2-bpe/vocab.bpe')}", *more]


def weights(folder, shapes):
    return f"model.weights={files.write_safetensors(f'{folder}/model.safetensors', shapes)}"


def images(folder):
    return f"data.path={files.write_images(f'{folder}/images', classes=2, train=4, test=1)}"


# What a job takes beside its file, made in a folder of its own: settings that say where it is.
DATA = {
    "none": lambda folder: [],
    "mnist": lambda folder: [f"data.path={shared('mnist')}"],
    "cifar10": lambda folder: [f"data.path={shared('cifar10')}"],
    "text": lambda folder: [f"data.path={shared('text/tinyshakespeare.txt')}"],
    "the first 256 images of cifar10": cifar10_cut,
    "text and tokenizer": lambda folder: tokens(),
    "text, tokenizer, made weights": lambda folder: tokens(weights(folder, files.gpt2_shapes())),
    "1,024 made samples": lambda folder: [f"data.path={files.write_samples(f'{folder}/samples', 1024, 64)}"],
    "8 made images": lambda folder: [images(folder)],
    "8 made images, made weights": lambda folder: [images(folder), weights(folder, files.resnet18_shapes(2))],
    "8 made images, network of 2 classes": lambda folder: [
        images(folder), f"model.onnx={networks.write_vit(f'{folder}/vit.onnx', 2)}"],
    "8 made sentences of 32 tokens, network": lambda folder: [
        f"data.path={files.write_sentences(f'{folder}/sentences', 8, 2, 32)}",
        f"model.onnx={networks.write_bert(f'{folder}/bert.onnx', 32)}"],
    "cifar10, resnet20": lambda folder: [
        f"model.onnx={shared('models/resnet20-cifar10.onnx')}", *cifar10_cut(folder, 4000)],
}


def isobit(folder, *arguments):
    environment = dict(os.environ, ISOBIT_HOME=os.path.join(folder, "keys"))
    done = subprocess.run([PROGRAM, *arguments], stdin=subprocess.DEVNULL, capture_output=True, text=True, cwd=folder,
                          env=environment, check=False)
    if done.returncode == 4 and "--max-memory" in done.stderr:
        raise Missing("no memory")
    if done.returncode:
        sys.exit(f"isobit {' '.join(arguments)}\nexit code {done.returncode}\n{done.stderr}")
    return json.loads(done.stdout)


def train(folder, line, arithmetic, data, platform):
    settings = [f"job.arithmetic={arithmetic}", *line["changes"], *data]
    run = os.path.join(folder, "run")
    said = isobit(folder, "train", os.path.join(SOURCE, "examples", f"{line['job']}.toml"), "--platform", platform,
                  "--out", run, "--json", "--quiet", *(word for s in settings for word in ("--set", s)))
    shutil.rmtree(run)
    return {"steps": said["steps"], "root": said["final_state_root"]}


def platforms_of(here, line):
    slowest, fastest = here[0].split("/")[0], here[-1].split("/")[0]
    if line["platforms"] == "two":
        return [f"{fastest}/2t"]
    return list(dict.fromkeys([f"{slowest}/1t", f"{fastest}/1t", f"{fastest}/2t"]))


def check(folder, line, platforms, arithmetics, record):
    """How many runs, and how many of them end in another root than the line's."""
    wrong = checked = 0
    made = os.path.join(folder, "made")
    os.mkdir(made)
    try:
        data = DATA[line["data"]](made)
        for arithmetic in arithmetics:
            for platform in platforms:
                start = time.monotonic()
                found = train(folder, line, arithmetic, data, platform)
                if record:
                    line["roots"].setdefault(arithmetic, found)
                expected = line["roots"].get(arithmetic)
                right = found == expected
                print(f"{line['job']} {arithmetic} on {platform}: {time.monotonic() - start:.1f} s"
                      + ("" if right else f"\n  expected {expected}\n  found    {found}"), flush=True)
                checked += 1
                wrong += not right
    finally:
        shutil.rmtree(made)
    return checked, wrong


def without_lines(lines):
    """Example jobs of which no line of the table is."""
    names = {line["job"] for line in lines}
    jobs = sorted(os.listdir(os.path.join(SOURCE, "examples", "jobs")))
    return [name for name in jobs if name.endswith(".toml") and f"jobs/{name[:-5]}" not in names]


def write(lines):
    with open(GOLDEN, "w", encoding="utf-8") as f:
        f.write("[\n" + ",\n".join(json.dumps(line) for line in lines) + "\n]\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for flag in ("slow", "record"):
        parser.add_argument(f"--{flag}", action="store_true")
    parser.add_argument("--only", default="")
    parser.add_argument("--platform")
    options = parser.parse_args()
    with open(GOLDEN, encoding="utf-8") as f:
        lines = json.load(f)
    missing, total, wrong = [], 0, 0
    for name in without_lines(lines):
        print(f"{name}: no line in {GOLDEN}")
        wrong += 1
    with tempfile.TemporaryDirectory(prefix="isobit_frozen_") as folder:
        isobit(folder, "keygen", "--role", "client", "--json")
        here = [p["platform"] for p in isobit(folder, "platforms", "--json")]
        here = [p for p in here if p.startswith("ordered@") and "@reference" not in p]
        for line in lines:
            fast = line["fast"]
            if options.only not in line["job"] or not fast and not options.slow:
                continue
            platforms = [options.platform] if options.platform else platforms_of(here, line)
            try:
                checked, differ = check(folder, line, platforms, ARITHMETICS if options.slow else fast, options.record)
                total, wrong = total + checked, wrong + differ
                if options.record:
                    write(lines)
            except Missing as why:
                missing.append(f"{line['job']} ({why})")
    print(f"{total} runs, {wrong} differ")
    if missing:
        print(f"skipped: {', '.join(missing)}")
    sys.exit(1 if wrong else SKIPPED if missing or not total else 0)


if __name__ == "__main__":
    main()
