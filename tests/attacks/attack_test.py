#!/usr/bin/env python3
"""Every falsehood under every arithmetic against every command that judges a run. README.md

usage: attack_test.py [--whole] [--every N] [--only WORDS] [--arithmetic NAME] [--show] [--failed FILE] [--counts FILE]
  --whole   all of them under all arithmetics; without it each under one, and none that is heavy
  --every   without --whole: one in N
  --only    those whose name has these words
  --show    what the program said
  --failed  a file for the names of what failed
  --counts  a file for the counts, as JSON
"""
import argparse
import importlib.util
import json
import os
import shutil
import sys
import traceback
import unicodedata

import falsehood
from arena import ARITHMETICS, SANITIZED, Arena, limit_this_process
from falsehood import COMMANDS, SEED, TABLE

for _name in ("training", "claims", "transcript", "heads", "engagement", "manifest", "structure", "checkpoints", "logs",
              "jobs", *(["evaluation"] if importlib.util.find_spec("evaluation_oracle") else [])):
    __import__("falsehoods_" + _name)

# What isobit does not refuse as it should. A line goes when it is mended.
HOLES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "holes.txt")


def open_holes():
    with open(HOLES, encoding="utf-8") as f:
        return {line.rstrip("\n") for line in f if not line.startswith("#")}


def arguments_of(command, run):
    """How each of falsehood.COMMANDS is run; `sample` is the audit of one interval."""
    return {"verify": ["verify", run], "audit": ["audit", run, "--platform", "ordered/1t"],
            "sample": ["audit", run, "--platform", "ordered/1t", "--sample", "1", "--seed", SEED.hex()],
            "info": ["info", run], "eval": ["eval", run, "--platform", "ordered/1t"],
            "export": ["export", run, "--out", "weights.safetensors"]}[command]


def hostile(text):
    """Whether a terminal that shows this text obeys a stranger."""
    return any(unicodedata.category(c) in ("Cc", "Cf", "Zl", "Zp") and c != "\n" for c in text)


class Judge:
    def __init__(self, arena, show=False):
        self.arena, self.show = arena, show
        self.open = open_holes()
        self.failed = []
        self.kinds, self.commands, self.wrong, self.crashed, self.holes = set(), 0, [], [], set()
        self.slowest, self.fattest = (0, ""), (0, "")

    def try_all(self, f, arithmetic, commands=COMMANDS):
        """One falsehood, told to each command."""
        arena, label = self.arena, f"{arithmetic}: {f.name}"
        folder = arena.path("run")
        try:
            run = arena.run(arithmetic, *f.settings)
            run = f.act(run, arena, arithmetic) or run
            run.write(folder)
        except Exception:  # of one falsehood; the others are tried all the same
            shutil.rmtree(folder, ignore_errors=True)
            return self.settle(f, label, [f"could not be made: {traceback.format_exc()}"])
        self.kinds.add((f.name, arithmetic))
        reasons, problems = [], []
        for command in commands:
            outcome = arena.isobit(*arguments_of(command, "run"))
            if command in ("verify", "audit"):
                reasons.append(outcome.said())
            problems += self.problems(f, run, command, outcome)
            self.note(label, command, outcome)
        if f.says and not any(f.says in reason for reason in reasons if reason):
            problems.append(f"none of the reasons says '{f.says}': {' | '.join(reasons)}")
        shutil.rmtree(folder)
        self.settle(f, label, problems)

    def problems(self, f, run, command, outcome):
        out, weights = [], self.arena.path("weights.safetensors")
        allowed = f.allowed(command, run)
        if self.show:
            print(f"{f.name}: {command}: {outcome}")
        if outcome.code < 0 or SANITIZED.search(outcome.err) or outcome.code not in (0, 1, 2, 3, 4):
            out.append(f"CRASH: {outcome}")
            if f.name not in self.open:
                self.crashed.append(f"{f.name}: {outcome}")
        if outcome.code not in allowed:
            out.append(f"expected exit code {sorted(allowed)}: {outcome}")
        if outcome.took_too_much():
            out.append(f"took too much: {outcome}")
        if hostile(outcome.said()):
            out.append(f"control characters reach the terminal: {outcome}")
        if os.path.lexists(weights):
            os.remove(weights)
            if outcome.code != 0:
                out.append(f"weights were written all the same: {outcome}")
        elif command == "export" and outcome.code == 0:
            out.append(f"no weights were written: {outcome}")
        return out

    def note(self, label, command, outcome):
        self.commands += 1
        self.slowest = max(self.slowest, (outcome.processor, f"{command}, {label}"))
        self.fattest = max(self.fattest, (outcome.peak, f"{command}, {label}"))

    def settle(self, f, label, problems):
        if problems:
            self.failed.append(f.name)
        if problems and f.name in self.open:
            self.holes.add(f.name)
        else:
            self.wrong += [f"{label}: {p}" for p in problems]
            for p in problems:
                print(f"WRONG {label}: {p}", flush=True)

    def counts(self):
        return {"kinds": {a: sum(k[1] == a for k in self.kinds) for a in ARITHMETICS}, "names": sorted({k[0] for k in self.kinds}),
                "commands": self.commands, "wrong": len(self.wrong), "crashes": len(self.crashed), "holes": sorted(self.holes),
                "slowest": self.slowest, "fattest": self.fattest, "processor": self.arena.processor}


def summary(counts):
    """One line."""
    (seconds, slow), (peak, fat) = counts["slowest"], counts["fattest"]
    each = ", ".join(f"{a} {n}" for a, n in counts["kinds"].items() if n)
    return (f"{len(counts['names'])} kinds of falsehood ({each}), {counts['commands']} commands: {counts['wrong']} wrong, "
            f"{counts['crashes']} crashes, {len(counts['holes'])} open holes; longest {seconds:.2f} s ({slow}), "
            f"largest {peak >> 20} MiB ({fat})")


def selection(whole, every=1):
    """(falsehood, arithmetic, commands). Without `whole` each falsehood under one arithmetic, in turn."""
    for number, f in enumerate(TABLE):
        # Another one of each row of `every`, or the turns would fall together.
        if not whole and (number + number // every) % every != 0:
            continue
        if whole:
            for arithmetic in f.only:
                yield f, arithmetic, COMMANDS
        elif not f.heavy:
            turn = number // every
            # The costly replay for every fifth of those that no replay is needed to refuse.
            needed = f.verdict["verify"] != 1 or turn % 5 == 0
            yield f, f.only[turn % len(f.only)], COMMANDS if turn % 9 == 0 else (
                ("verify", "audit") if needed else ("verify",))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--whole", action="store_true")
    parser.add_argument("--every", type=int, default=1)
    parser.add_argument("--only", default="")
    parser.add_argument("--arithmetic", choices=list(ARITHMETICS))
    parser.add_argument("--show", action="store_true")
    parser.add_argument("--failed", help="write the names of those that failed, in holes.txt or not, into this file")
    parser.add_argument("--counts")
    options = parser.parse_args()
    limit_this_process()
    arena = Arena()
    judge = Judge(arena, options.show)
    try:
        for f, arithmetic, commands in selection(options.whole, options.every):
            if options.only in f.name and options.arithmetic in (None, arithmetic):
                judge.try_all(f, arithmetic, commands)
    finally:
        arena.close()
    for crash in judge.crashed:
        print("CRASH", crash)
    if options.failed:
        with open(options.failed, "w", encoding="utf-8") as f:
            f.write("".join(name + "\n" for name in sorted(set(judge.failed))))
    counts = judge.counts()
    if options.counts:
        with open(options.counts, "w", encoding="utf-8") as f:
            json.dump(counts, f)
    print(summary(counts))
    sys.exit(bool(judge.wrong or judge.crashed) or not judge.kinds)


if __name__ == "__main__":
    main()


__all__ = ["falsehood"]
