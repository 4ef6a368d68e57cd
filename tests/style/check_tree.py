#!/usr/bin/env python3
"""Applies rules.py to every text file of the tree. usage: check_tree.py ROOT"""
import os
import re
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import rules  # noqa: E402

FOLDERS = ("isobit", "tests", "bench", "fuzz", "examples", "scripts", "cmake", "docs", ".ci")
SKIPPED = ("__pycache__", "corpus")


def files(root):
    for name in sorted(os.listdir(root)):
        if os.path.isfile(os.path.join(root, name)) and (name.endswith(rules.TEXT) or name == "Makefile"):
            yield name
    for folder in FOLDERS:
        for where, folders, names in os.walk(os.path.join(root, folder)):
            folders[:] = sorted(f for f in folders if f not in SKIPPED)
            for name in sorted(names):
                # Scripts have no extension; data files have others.
                if name.endswith(rules.TEXT) or (folder in ("scripts", ".ci") and "." not in name):
                    yield os.path.relpath(os.path.join(where, name), root).replace(os.sep, "/")


def rooms_of(root):
    with open(os.path.join(root, "isobit", "CMakeLists.txt"), encoding="utf-8") as f:
        match = re.search(r"foreach\(room\s+([^)]*)\)", f.read())
    if not match:
        sys.exit("isobit/CMakeLists.txt: no foreach(room ...) list")
    return match.group(1).split()


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    root = sys.argv[1]
    rooms = rooms_of(root)
    complaints = checked = 0
    for path in files(root):
        try:
            with open(os.path.join(root, path), encoding="utf-8", newline="") as f:
                text = f.read()
        except UnicodeDecodeError:
            print(f"{path}:1: not UTF-8")
            complaints += 1
            continue
        checked += 1
        found = [c for rule in rules.RULES for c in rule(path, text)] + list(rules.room_order(path, text, rooms))
        for line, complaint in sorted(found):
            print(f"{path}:{line}: {complaint}")
        complaints += len(found)
    print(f"{checked} files, {complaints} complaints")
    sys.exit(complaints > 0 or checked == 0)


if __name__ == "__main__":
    main()
