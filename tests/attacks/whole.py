#!/usr/bin/env python3
"""The whole suite, and one line of counts at the end. About a quarter of an hour of processor time. README.md

usage: whole.py --mutation-test FILE --swap-test FILE [--mutations N] [--jobs N]
ISOBIT names the program, ISOBIT_SOURCE_DIR the tree.
"""
import argparse
import concurrent.futures
import json
import os
import subprocess
import sys
import tempfile

from arena import ARITHMETICS, HERE
from attack_test import open_holes, summary


def run(name, command, folder, environment):
    """(name, whether it passed, its last line that begins with a number). What it said is shown when it fails."""
    done = subprocess.run(command, cwd=folder, env={**os.environ, **environment}, stdin=subprocess.DEVNULL, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, errors="replace", check=False)
    lines = done.stdout.splitlines()
    if done.returncode != 0:
        print(f"{name} FAILED, exit code {done.returncode}:", *lines, sep="\n", flush=True)
    elif name == "mutations":
        print(*(line for line in lines if line.startswith("  ")), sep="\n", flush=True)
    counts = [line for line in lines if line[:1].isdigit()]
    return name, done.returncode == 0, counts[-1] if counts else ""


def together(parts):
    """The counts of all arithmetics."""
    return {"kinds": {a: sum(p["kinds"][a] for p in parts) for a in ARITHMETICS},
            "names": sorted({name for p in parts for name in p["names"]}),
            **{key: sum(p[key] for p in parts) for key in ("commands", "wrong", "crashes", "processor")},
            "holes": sorted({hole for p in parts for hole in p["holes"]}),
            "slowest": max(p["slowest"] for p in parts), "fattest": max(p["fattest"] for p in parts)}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--mutation-test", required=True)
    parser.add_argument("--swap-test", required=True)
    parser.add_argument("--mutations", type=int, default=24000)
    parser.add_argument("--jobs", type=int, default=2)
    options = parser.parse_args()
    python = [sys.executable, "-B"]
    with tempfile.TemporaryDirectory(prefix="isobit_attacks_") as folder:
        def script(name, *arguments):
            return [*python, os.path.join(HERE, name), *arguments]

        tasks = [("mutations", [os.path.abspath(options.mutation_test)], {"ISOBIT_MUTATIONS": str(options.mutations)})]
        tasks += [(a, script("attack_test.py", "--whole", "--arithmetic", a, "--counts", os.path.join(folder, a)), {})
                  for a in ARITHMETICS]
        tasks += [("swaps", [os.path.abspath(options.swap_test)], {"ISOBIT_SWAPS": "200", "ISOBIT_WHOLE": "1"}),
                  ("files", script("files_test.py"), {}), ("encoder", script("encoder_test.py"), {})]
        with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
            running = [pool.submit(run, name, command, folder, more) for name, command, more in tasks]
            done = {}
            for future in concurrent.futures.as_completed(running):
                name, passed, counts = future.result()
                done[name] = (passed, counts)
                print(f"{name}: {'passed' if passed else 'FAILED'}: {counts}", flush=True)
        parts = []
        for a in ARITHMETICS:
            if os.path.exists(os.path.join(folder, a)):
                with open(os.path.join(folder, a), encoding="utf-8") as f:
                    parts.append(json.load(f))
    failed = [name for name, (passed, _) in done.items() if not passed]
    found = set(together(parts)["holes"]) if parts else set()
    for hole in sorted(found):
        print(f"open hole: {hole}")
    mended = {name for name in open_holes() - found if not name.startswith("file: ")}
    for hole in sorted(mended):
        print(f"no hole any more, so its line in holes.txt can go: {hole}")
        failed.append(hole)
    print(f"{'FAILED ' + ', '.join(failed) if failed else 'passed'}: {summary(together(parts)) if parts else 'no falsehood tried'}; "
          + "; ".join(done[name][1] for name in ("mutations", "swaps", "files")))
    sys.exit(bool(failed) or len(parts) != len(ARITHMETICS))


if __name__ == "__main__":
    main()
