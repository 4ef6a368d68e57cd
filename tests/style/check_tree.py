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


def read(root, *path):
    with open(os.path.join(root, *path), encoding="utf-8", newline="") as f:
        return f.read()


def rooms_of(root):
    match = re.search(r"foreach\(room\s+([^)]*)\)", read(root, "isobit", "CMakeLists.txt"))
    if not match:
        sys.exit("isobit/CMakeLists.txt: no foreach(room ...) list")
    return match.group(1).split()


def declared_dependencies(root):
    declared = {}
    for where, _, names in os.walk(os.path.join(root, "isobit")):
        if "CMakeLists.txt" in names:
            for room, deps in rules.dependencies_of(read(where, "CMakeLists.txt")).items():
                declared.setdefault(room, set()).update(deps)
    return declared


def names_in(root, folder, names_of):
    found = set()
    for name in sorted(os.listdir(os.path.join(root, folder))):
        found |= names_of(read(root, folder, name)) if name.endswith(".cpp") else set()
    return found


class Tree:
    """What the rules need to know beyond one file."""

    def __init__(self, root):
        self.rooms = rooms_of(root)
        self.page = rules.rooms_of_page(read(root, "docs", "architecture.md"))
        self.declared = declared_dependencies(root)
        self.used = {}
        self.operators = names_in(root, "isobit/graph/ops", rules.operator_names)
        self.arithmetics = rules.arithmetic_names(read(root, "isobit", "platform", "arithmetic.cpp"))
        if not self.operators or not self.arithmetics:
            sys.exit("found no operators in isobit/graph/ops, or no arithmetics in isobit/platform/arithmetic.cpp")

    def complaints(self, path, text):
        for room, _ in rules.rooms_used(path, text):
            self.used.setdefault(rules.room_included(path), set()).add(room)
        for rule in rules.RULES:
            yield from rule(path, text)
        yield from rules.room_order(path, text, self.rooms)
        yield from rules.declared_dependencies(path, text, self.declared)
        yield from rules.declared_names(path, text, self.declared, self.rooms)
        yield from rules.no_operator_lists(path, text, self.operators)
        yield from rules.no_arithmetic_strings(path, text, self.arithmetics)


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    root = sys.argv[1]
    tree = Tree(root)
    complaints = checked = 0
    if tree.rooms != tree.page:
        print(f"docs/architecture.md:1: its table has the rooms {' '.join(tree.page)}, isobit/CMakeLists.txt "
              f"{' '.join(tree.rooms)}: one order for both")
        complaints += 1
    for path in files(root):
        try:
            text = read(root, path)
        except UnicodeDecodeError:
            print(f"{path}:1: not UTF-8")
            complaints += 1
            continue
        checked += 1
        found = list(tree.complaints(path, text))
        for line, complaint in sorted(found):
            print(f"{path}:{line}: {complaint}")
        complaints += len(found)
    for room in tree.rooms:
        for unused in sorted(tree.declared.get(room, set()) - tree.used.get(room, set())):
            print(f"isobit/{room}/CMakeLists.txt:1: {room} links isobit::{unused} and includes nothing of it")
            complaints += 1
    print(f"{checked} files, {complaints} complaints")
    sys.exit(complaints > 0 or checked == 0)


if __name__ == "__main__":
    main()
