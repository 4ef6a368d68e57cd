#!/usr/bin/env python3
"""How many bit-distinct outputs one network has on one machine, by algorithm of its convolutions, and from process to
process where an autotuner chooses (docs/lab-algorithms.md).

usage: convolutions.py ISOBIT MODEL.onnx [--platform openblas@haswell/1t] [--processes 20] [--json]

Every run is a process of its own, on the same drawn input. First one for each algorithm, then --processes of them with
the one-shot autotuner. Python's standard library is enough.
"""
import argparse
import collections
import json
import subprocess
import sys


def run(isobit, *arguments):
    """The document that isobit prints, or None and what it says when it cannot."""
    done = subprocess.run([isobit, "--json", *arguments], capture_output=True, text=True)
    return (json.loads(done.stdout), "") if done.returncode == 0 else (None, done.stderr.strip())


def outputs_of(document):
    return tuple(o["digest"] for o in document["outputs"])


class Classes:
    """Outputs numbered in the order of their first appearance."""

    def __init__(self):
        self.known = {}

    def number(self, document):
        return self.known.setdefault(outputs_of(document), len(self.known) + 1)


def infer(options, algorithm):
    platform = options.platform + (f"+{algorithm}" if algorithm else "")
    return run(options.isobit, "run", options.model, "--arithmetic", "float32", "--platform", platform)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("isobit")
    parser.add_argument("model")
    parser.add_argument("--platform", default="openblas@haswell/1t")
    parser.add_argument("--processes", type=int, default=20)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()

    listed, error = run(options.isobit, "platforms", "--algorithms")
    if listed is None:
        sys.exit(f"convolutions.py: {error}")
    names = [a["algorithm"] for a in listed]
    fixed, classes = [], Classes()
    for name in [""] + names[:-1]:  # the last one is the autotuner
        document, error = infer(options, name)
        if document is None and not name:
            sys.exit(f"convolutions.py: {error}")
        elsewhere = document is not None and sum(c["kernel"] == "own" for c in document.get("chosen", []))
        fixed.append({"algorithm": name or "own", "class": classes.number(document) if document else None,
                      "left_to_own": elsewhere or 0, "seconds": document["seconds"] if document else None,
                      "error": error})
    tuned, tuned_classes, winners = [], Classes(), collections.defaultdict(collections.Counter)
    for _ in range(options.processes):
        document, error = infer(options, names[-1])
        if document is None:
            sys.exit(f"convolutions.py: {error}")
        tuned.append(tuned_classes.number(document))
        for c in document["chosen"]:
            winners[c["src"] + " by " + c["weights"]][c["kernel"]] += 1
    report = {"model": options.model, "platform": options.platform, "algorithms": fixed,
              "classes_of_algorithms": len(classes.known), "processes": options.processes, "autotuned": tuned,
              "classes_of_autotuned": len(tuned_classes.known),
              "winners": {shape: dict(count) for shape, count in winners.items()}}
    if options.json:
        print(json.dumps(report, indent=1))
        return
    print(f"{options.model} on {options.platform}\n")
    print(f"{'algorithm':20} class  layers left to the platform's own")
    for f in fixed:
        print(f"{f['algorithm']:20} {f['class'] or 'not here':>5}  {f['left_to_own']}")
    print(f"\n{len(classes.known)} bit-distinct outputs of {sum(f['class'] is not None for f in fixed)} settings")
    print(f"{len(tuned_classes.known)} bit-distinct outputs of {options.processes} processes with the autotuner: "
          + " ".join(map(str, tuned)))
    print("\nwinners, by shape of the operands (how often over all layers and processes):")
    for shape, count in winners.items():
        print(f"  {shape}: " + ", ".join(f"{kernel} {n}" for kernel, n in count.most_common()))


if __name__ == "__main__":
    main()
