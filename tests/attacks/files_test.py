#!/usr/bin/env python3
"""Hostile files handed to a command by themselves: jobs, weights. The tables are those of the runs; --show as there."""
import argparse
import os
import sys

import falsehoods_checkpoints
import falsehoods_jobs
from arena import ARITHMETICS, SANITIZED, Arena, limit_this_process
from attack_test import hostile, open_holes
from bundle import fifo, link_to, sparse

UNREADABLE = {3}
ANY = {0, 2, 3, 4}  # what a job may come to that is merely enormous or strange


def jobs(text):
    """(name, bytes or Special, exit codes) for `isobit job check`."""
    for name, edit in falsehoods_jobs.TEXTS.items():
        # One's own job may have more to say than fits a run, which has no comments.
        yield name, edit(text), {0} if name == "65 KiB of comments" else UNREADABLE
    for name, setting in falsehoods_jobs.OTHER.items():
        if isinstance(setting, str):
            yield name, falsehoods_jobs.put(text.decode(), setting).encode(), ANY
    for name, (builder, line) in falsehoods_jobs.SIZES.items():
        changed = falsehoods_jobs.put(text.decode(), f"model.builder={builder}")
        yield name, changed.replace("[model]", "[model]\n" + line).encode(), ANY
    for name, special in (("a pipe", fifo()), ("a link to /dev/zero", link_to("/dev/zero")), ("1 TiB", sparse(1 << 40))):
        yield name, special, UNREADABLE
    for path in falsehoods_jobs.PATHS:
        for dataset in ("mnist", "npy", "text", "cifar10"):
            with_path = falsehoods_jobs.put(text.decode(), "data.path=" + ascii(path)[1:-1].replace("\\x", "\\u00"))
            yield f"{dataset} at {ascii(path)}", with_path.replace("'digits'", f"'{dataset}'").encode(), ANY


def weights(data):
    """(name, bytes or Special, exit codes) for what reads a file of weights."""
    for name, edit in falsehoods_checkpoints.FORMS.items():
        yield name, edit(data), {0, 3} if "flipped" in name else {3}  # other weights are weights
    for name, special in (("a pipe", fifo()), ("1 TiB", sparse(1 << 40)), ("a link to /dev/zero", link_to("/dev/zero"))):
        yield name, special, {3}


class Files:
    def __init__(self, arena, show):
        self.arena, self.show, self.count, self.wrong = arena, show, 0, 0
        self.open, self.holes = open_holes(), set()

    def check(self, name, file, data, allowed, *commands):
        path = self.arena.path(file)
        if isinstance(data, bytes):
            with open(path, "wb") as f:
                f.write(data)
        else:
            data.make(path)
        for command in commands:
            outcome = self.arena.isobit(*command)
            self.count += 1
            bad = (outcome.code not in allowed or outcome.took_too_much() or SANITIZED.search(outcome.err)
                   or hostile(outcome.said()))
            if bad and f"file: {name}" in self.open:
                self.holes.add(name)
                continue
            if bad or self.show:
                print(f"{'WRONG ' if bad else ''}{name}: expected exit code {sorted(allowed)}: {outcome}", flush=True)
            self.wrong += bool(bad)
        os.remove(path)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--show", action="store_true")
    parser.add_argument("--only", default="")
    options = parser.parse_args()
    limit_this_process()
    arena = Arena()
    files = Files(arena, options.show)
    os.mkfifo(arena.path("pipe"))
    try:
        run = arena.run(next(iter(ARITHMETICS)))
        for name, data, allowed in jobs(run.job):
            if options.only in name:
                files.check(name, "job.toml", data, allowed, ["job", "check", "job.toml"])
        with open(arena.path("honest.toml"), "wb") as f:
            f.write(run.job)
        for name, data, allowed in weights(run.checkpoints[5].bytes()):
            if options.only in name:
                files.check(name, "w.safetensors", data, allowed, ["info", "w.safetensors"],
                            ["eval", "honest.toml", "--weights", "w.safetensors"])
    finally:
        arena.close()
    print(f"{files.count} hostile files read: {files.wrong} wrong, {len(files.holes)} open holes; {arena.processor:.0f} s of processor time")
    sys.exit(bool(files.wrong) or not files.count)


if __name__ == "__main__":
    main()
