#!/usr/bin/env python3
"""The state and transcript roots of the example jobs under every arithmetic, on every instruction set of this machine.

What must come out is in tests/golden/roots.json; it changes only with a decision record. The counters of logs and
repairs are held too: they say whether the same near-ties were found. Without an option the jobs on the embedded digits
run, each on the fastest set and on the next, every fifth on the slowest instead; with --networks those that need data,
each under one of the arithmetics that promise bits, on the fastest set alone; with --slow all of them under all
arithmetics on all sets. `--logged` runs the arithmetics with a log alone, `--exact` the others. `--record` writes what
the program gives now on its fastest platform; never needed unless a case is added.

Ends with 77, for CTest skipped, when the data of a job that was asked for are not there and nothing differs.
"""
import itertools
import json
import os
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
SOURCE = os.environ.get("ISOBIT_SOURCE_DIR", os.path.dirname(os.path.dirname(HERE)))
SHARED = os.environ.get("ISOBIT_SHARED_DATA", "")
PROGRAM = os.environ.get("ISOBIT", "isobit")
GOLDEN = os.path.join(SOURCE, "tests", "golden", "roots.json")

# Job: (settings, data beneath the shared folder, whether it belongs to the fast tests).
JOBS = {
    "digits": (["job.steps=40"], None, True),
    "logistic": (["job.steps=40"], None, True),
    "mnist": (["job.steps=60", "schedule.warmup=10", "evaluate.samples=200"], "mnist", False),
    "tiny-gpt": (["job.steps=30", "schedule.warmup=10", "evaluate.samples=20"], "text/tinyshakespeare.txt", False),
    "cifar10-resnet": (["job.steps=10", "schedule.warmup=2", "evaluate.samples=200"], "cifar10", False),
}
ARITHMETICS = {
    "ordered-1": [],
    "correct-1": [],
    "logged-1": [],
    "logged-1 sound": ["rounding.bound=sound"],
    "logged-1 ovt": ["rounding.log=ovt"],
    "logged-1 ovt published": ["rounding.log=ovt", "rounding.distance=false"],
    "rounded": [],
    "float64": [],
    "float32": [],
}
# What a train's --json says that is the same wherever it ran.
ROOTS = ("final_state_root", "transcript_root", "job_root", "inner_products", "repaired", "test_loss", "test_top1")
COUNTS = ("elements", "entries", "needed", "corrections", "moved", "evaluated", "checked", "missing", "superfluous",
          "beyond_bound", "bytes")


PROMISED = ("ordered-1", "correct-1", "logged-1")
SKIPPED = 77  # as CTest counts it


def chosen_arithmetics():
    """Those that the command line asks for."""
    if "--networks" in sys.argv:
        return PROMISED
    logged = [a for a in ARITHMETICS if a.startswith("logged")]
    if "--logged" in sys.argv:
        return logged
    return [a for a in ARITHMETICS if "--exact" not in sys.argv or a not in logged]


def isobit(folder, *arguments):
    environment = dict(os.environ, ISOBIT_HOME=os.path.join(folder, "keys"))
    done = subprocess.run([PROGRAM, *arguments], stdin=subprocess.DEVNULL, capture_output=True, text=True, cwd=folder,
                          env=environment)
    if done.returncode:
        sys.exit(f"isobit {' '.join(arguments)}\nexit code {done.returncode}\n{done.stderr}")
    return json.loads(done.stdout)


def outcome(folder, job, arithmetic, platform):
    settings, data, _ = JOBS[job]
    settings = settings + [f"job.arithmetic={arithmetic.split()[0]}"] + ARITHMETICS[arithmetic]
    if data:
        settings.append(f"data.path={os.path.join(SHARED, data)}")
    run = os.path.join(folder, "run")
    said = isobit(folder, "train", os.path.join(SOURCE, "examples", "jobs", f"{job}.toml"), "--platform", platform,
                  "--out", run, "--json", "--quiet", *itertools.chain(*(("--set", s) for s in settings)))
    shutil.rmtree(run)
    kept = {name: said[name] for name in ROOTS if name in said}
    if said.get("log"):
        kept["log"] = {name: said["log"][name] for name in COUNTS}
    return kept


def main():
    slow, networks, record = (option in sys.argv for option in ("--slow", "--networks", "--record"))
    folder = tempfile.mkdtemp(prefix="isobit_roots_")
    try:
        isobit(folder, "keygen", "--role", "client", "--json")
        platforms = [p["platform"] for p in isobit(folder, "platforms", "--json")]
        platforms = [p for p in platforms if p.startswith("ordered@") and "@reference" not in p]
        golden = {}
        if os.path.exists(GOLDEN):
            with open(GOLDEN, encoding="utf-8") as f:
                golden = json.load(f)
        wrong = checked = number = 0
        lacking = []
        if record or networks:
            platforms = platforms[-1:]
        for job, (_, data, fast) in JOBS.items():
            if fast == networks and not slow and not record:
                continue
            if data and not os.path.exists(os.path.join(SHARED, data)):
                lacking.append(job)
                continue
            chosen = chosen_arithmetics()
            for arithmetic in [chosen[list(JOBS).index(job) % len(chosen)]] if networks and not record else chosen:
                name = f"{job} {arithmetic}"
                others = platforms[:-1]
                if others and not slow:
                    others = [others[0 if number % 5 == 0 else -1]]
                number += 1
                for platform in [*others, platforms[-1]]:
                    found = outcome(folder, job, arithmetic, platform)
                    if record:
                        golden[name] = found
                    elif found != golden.get(name):
                        wrong += 1
                        print(f"{name} on {platform}:\n  expected {golden.get(name)}\n  found    {found}", flush=True)
                    checked += 1
                print(f"{name}: {'recorded' if record else 'compared'}", flush=True)
        if record:
            with open(GOLDEN, "w", encoding="utf-8") as f:
                json.dump(golden, f, indent=1)
                f.write("\n")
        print(f"{checked} runs, {wrong} differ")
        if lacking:
            print(f"skipped: no data for {', '.join(lacking)} in '{SHARED}'")
        sys.exit(1 if wrong else SKIPPED if lacking or not checked else 0)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
