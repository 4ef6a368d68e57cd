#!/usr/bin/env python3
"""The figures of the published study of numerical deviations, computed from its JSON records without isobit: standard
library only. Imported by tests/cli/compare_test.py, which compares them with what isobit compare says.

usage: deviations_oracle.py FOLDER      prints them and checks them against those that are known
"""
import base64
import glob
import json
import os
import struct
import sys
from collections import defaultdict

# (CPU, GPU, both) of each model and input.
KNOWN = {("cifar10_small", "i0"): (3, 8, 11), ("cifar10_small", "i1"): (3, 8, 11), ("cifar10_small", "i6"): (3, 8, 11),
         ("cifar10_medium", "i0"): (16, 9, 25), ("cifar10_medium", "i1"): (16, 10, 26),
         ("cifar10_medium", "i6"): (16, 10, 26), ("deep_weeds", "i0"): (16, 10, 26), ("deep_weeds", "i1"): (16, 10, 26),
         ("deep_weeds", "i6"): (16, 10, 26)}


def load(folder):
    records = []
    for path in sorted(glob.glob(os.path.join(folder, "**", "*.json"), recursive=True)):
        with open(path, encoding="utf-8") as f:
            record = json.load(f)
        model = record["model_type"]
        if model == "cifar10_large":  # incomplete
            continue
        name, number = os.path.basename(path)[:-len(".json")].rsplit("-" + model + "-", 1)
        place, kind = path.split(os.sep)[-3:-1]
        output = base64.b64decode(record["prediction"]["bytes"])
        repeats = base64.b64decode(record.get("all_predictions", {}).get("bytes", ""))
        records.append({"platform": f"{place}/{name}", "place": place, "kind": kind.upper(), "model": model,
                        "input": number, "bits": output, "cores": record["cpu_info"]["count"],
                        "flags": set(record["cpu_info"]["flags"]), "runs": len(repeats) // len(output) or 1,
                        "repeats": {repeats[i:i + len(output)] for i in range(0, len(repeats), len(output))}})
    return records


def precision(a, b):
    """Remaining precision of two float32 outputs: compare the written bits."""
    least = 23
    for x, y in zip(struct.unpack(f"<{len(a) // 4}I", a), struct.unpack(f"<{len(b) // 4}I", b)):
        p, q = f"{x:032b}", f"{y:032b}"
        agree = 0
        if p[:9] == q[:9]:
            while agree < 23 and p[9 + agree] == q[9 + agree]:
                agree += 1
        least = min(least, agree)
    return least


def difference(a, b):
    count = len(a) // 4
    return max(abs(x - y) for x, y in zip(struct.unpack(f"<{count}f", a), struct.unpack(f"<{count}f", b)))


def cells(records):
    """(model, input) -> what is known of it."""
    by_cell = defaultdict(list)
    for r in records:
        by_cell[r["model"], r["input"]].append(r)
    found = {}
    for cell, of_cell in by_cell.items():
        outputs = sorted({r["bits"] for r in of_cell})
        pairs = [(a, b) for i, a in enumerate(outputs) for b in outputs[:i]]
        found[cell] = {"classes": tuple(len({r["bits"] for r in of_cell if r["kind"] in kinds})
                                        for kinds in (("CPU",), ("GPU",), ("CPU", "GPU"))),
                       "precision": min(precision(a, b) for a, b in pairs),
                       "difference": max(difference(a, b) for a, b in pairs),
                       "partition": {frozenset(r["platform"] for r in of_cell if r["bits"] == bits)
                                     for bits in outputs}}
    return found


def nondeterministic(records):
    gpus = [r for r in records if r["kind"] == "GPU"]
    return sum(len(r["repeats"]) > 1 for r in gpus), len(gpus)


def table_1(records):
    """Sizes of classes, flags, common ones and clusters of the machines of one cloud with two cores."""
    machines = [r for r in records if (r["place"], r["kind"], r["cores"], r["model"], r["input"]) ==
                ("gcloud", "CPU", 2, "cifar10_medium", "i0")]
    flags, common = set.union(*(m["flags"] for m in machines)), set.intersection(*(m["flags"] for m in machines))
    clusters = {tuple(flag in m["flags"] for m in machines) for flag in flags - common}
    sizes = sorted(sum(m["bits"] == bits for m in machines) for bits in {m["bits"] for m in machines})
    return sizes, len(flags), len(common), len(clusters)


def main():
    records = load(sys.argv[1])
    print(len(records), "records")
    found = cells(records)
    wrong = [cell for cell, classes in KNOWN.items() if found[cell]["classes"] != classes]
    for cell in sorted(found):
        print(*cell, *(f"{key}={found[cell][key]}" for key in ("classes", "precision", "difference")))
    print("nondeterministic", nondeterministic(records), "Table 1", table_1(records))
    # 1,1,2,2,3,3,4,5,5: four classes of two machines and one of one.
    sys.exit(bool(wrong) or len(records) != 684 or nondeterministic(records) != (39, 99) or
             table_1(records) != ([1, 2, 2, 2, 2], 125, 54, 15))


if __name__ == "__main__":
    main()
