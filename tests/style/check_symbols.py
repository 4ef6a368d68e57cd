#!/usr/bin/env python3
"""No object compiled for an instruction set may define a weak symbol outside a namespace named after that set.

The linker keeps one of several equal weak definitions. If it keeps the one compiled for AVX-512, a machine without
it dies in code that looked portable. The builds of Eigen are exempt: each is a shared library of its own, linked into
nothing, and has to export its isobit_eigen_ functions alone.

usage: check_symbols.py BUILD NM     (BUILD has compile_commands.json)
"""
import glob
import json
import os
import re
import subprocess
import sys

ISA_FLAG = re.compile(r"\s-m(avx\w*|fma|sse4\S*|ssse3|f16c|bmi2?)\b|\s-march=(?!x86-64\s)")
# Names in an Itanium mangling carry their length: 4avx2, 6avx512.
OWN = re.compile(r"4avx2|6avx512|4neon")
MODULE = re.compile(r"/isobit_eigen_\w+\.dir/")
HARMLESS = re.compile(r"^DW\.ref\.")  # a pointer to the exception handling routine, no code


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    build, nm = sys.argv[1:]
    with open(os.path.join(build, "compile_commands.json"), encoding="utf-8") as f:
        commands = json.load(f)
    checked, leaks = 0, []
    for entry in commands:
        command = entry.get("command") or " ".join(entry["arguments"])
        output = os.path.join(entry["directory"], entry.get("output") or re.search(r" -o (\S+)", command).group(1))
        if not ISA_FLAG.search(command) or not os.path.exists(output) or MODULE.search(output):
            continue
        checked += 1
        for line in subprocess.run([nm, "--defined-only", output], check=True, capture_output=True,
                                   text=True).stdout.splitlines():
            kind, name = line.split()[-2:]
            if kind in "WVu" and not OWN.search(name) and not HARMLESS.search(name):
                leaks.append((os.path.relpath(output, build), name))
    for module in glob.glob(os.path.join(build, "vendor", "isobit_eigen_*.so")):
        checked += 1
        for line in subprocess.run([nm, "--dynamic", "--defined-only", module], check=True, capture_output=True,
                                   text=True).stdout.splitlines():
            name = line.split()[-1]
            if not name.startswith("isobit_eigen_"):
                leaks.append((os.path.relpath(module, build), name))
    for output, name in leaks:
        print(f"{output}: leaks {name}")
    print(f"{checked} objects with instruction-set flags, {len(leaks)} leaking symbols")
    if checked == 0:
        print("skipped: no object here is compiled with instruction-set flags")
    sys.exit(bool(leaks))


if __name__ == "__main__":
    main()
