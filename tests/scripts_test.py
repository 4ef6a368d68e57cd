#!/usr/bin/env python3
"""The scripts on programs that only pretend: what they make of failures, and what they leave alone."""
import os
import subprocess
import sys
import tempfile
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))

# Knows all platforms of our own kernels; what it makes of a vendor's is its exit code.
ISOBIT = """#!/bin/sh
case "$*" in *openblas*) echo "no openblas today" >&2; exit %d;; esac
echo "{}"
"""

BENCH = """#!/bin/sh
echo '{"context": {}, "benchmarks": [
  {"name": "x/square/64/isobit/1/real_time", "run_type": "iteration", "cpu_time": 2, "real_time": 2, "flops": 1e9},
  {"name": "x/square/64/openblas/1/real_time", "run_type": "iteration", "cpu_time": 1, "real_time": 1, "flops": 2e9}]}'
"""

BY_HAND = """## A section by hand

Two figures.

# Another part

## conv, as somebody else measured it
"""


class Scripts(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.dir = folder.name

    def program(self, path, text):
        path = os.path.join(self.dir, path)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        os.chmod(path, 0o755)
        return path

    def script(self, name, *words):
        command = [sys.executable, os.path.join(ROOT, "scripts", name), *words]
        return subprocess.run(command, capture_output=True, text=True, check=False)

    def test_pairs_skips_what_is_not_here_and_nothing_else(self):
        for code, expected in ((4, 77), (1, 2), (3, 2), (134, 2)):
            isobit = self.program("isobit", ISOBIT % code)
            done = self.script("pairs", "--isobit", isobit, "--platforms", "ordered/1t", "openblas/1t", "--jobs", "digits")
            self.assertEqual(done.returncode, expected, f"{code}: {done.stdout}{done.stderr}")
            self.assertEqual("skipped: no openblas/1t: no openblas today" in done.stdout, code == 4, done.stdout)
            self.assertEqual(f"exit code {code}: no openblas today" in done.stdout, code != 4, done.stdout)

    def test_bench_tables_keeps_what_others_wrote(self):
        for name in ("matmul_bench", "conv_bench"):
            self.program(f"build/bench/{name}", BENCH)
        out = os.path.join(self.dir, "benchmarks.md")
        for before in ("", BY_HAND):
            texts = []
            for _ in range(2):
                with open(out, "a", encoding="utf-8") as file:
                    file.write(before if not texts else "")
                done = self.script("bench_tables", os.path.join(self.dir, "build"), "--out", out, "--threads", "1")
                self.assertEqual(done.returncode, 0, done.stderr)
                with open(out, encoding="utf-8") as file:
                    texts.append(file.read())
            self.assertEqual(texts[0].count("## matmul, 1 thread (processor time)"), 1)
            self.assertEqual(texts[0].count("## conv, 1 thread (processor time)"), 1)
            self.assertTrue(texts[0].endswith("\n\n" + before if before else "|\n"), texts[0])
            self.assertEqual(texts[0].count("Two figures."), 1 if before else 0)
            self.assertEqual(texts[1].split("\non ")[0], texts[0].split("\non ")[0])
            self.assertEqual(texts[1].split("All libraries")[1], texts[0].split("All libraries")[1])


if __name__ == "__main__":
    unittest.main()
