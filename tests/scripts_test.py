#!/usr/bin/env python3
"""The scripts on programs that only pretend: what they make of failures, and what they leave alone."""
import os
import subprocess
import sys
import tempfile
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(ROOT, "scripts", "real_networks"))
import limited  # noqa: E402
import tables  # noqa: E402

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

# Of builds that take as long as they are told to, and come to the root that they are told.
TIMED_BENCH = """#!/bin/sh
echo '{"benchmarks": [{"name": "a", "real_time": %s, "time_unit": "ms"}, {"name": "b", "real_time": 2, "time_unit": "us"}]}'
"""
TIMED_ISOBIT = """#!/bin/sh
while [ $# -gt 0 ]; do [ "$1" = --out ] && mkdir "$2"; shift; done
echo '{"final_state_root": "%s", "step_seconds": %s}'
"""

# Builds nothing but the conformance program, which is the one that it is told to give.
CMAKE = """#!/bin/sh
[ "$1" = --build ] && mkdir -p "$2/tests/onnx_conformance" && cp "$THERE" "$2/tests/onnx_conformance/onnx_conformance"
exit 0
"""
CONFORMANCE = """#!/bin/sh
while [ $# -gt 0 ]; do [ "$1" = --bits ] && bits=$2; shift; done
[ -n "$bits" ] || exit 0
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

    def script(self, name, *words, **settings):
        command = [sys.executable, os.path.join(ROOT, "scripts", name), *words]
        return subprocess.run(command, capture_output=True, text=True, check=False, env={**os.environ, **settings})

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

    def build(self, name, milliseconds, seconds, root):
        for kind in ("matmul", "conv"):
            self.program(f"{name}/bench/{kind}_bench", TIMED_BENCH % milliseconds)
        self.program(f"{name}/bin/isobit", TIMED_ISOBIT % (root, seconds))
        return os.path.join(self.dir, name)

    def test_compare_builds_says_which_is_slower_and_whether_their_states_differ(self):
        base = self.build("base", 4, 3, "aa")
        for name, new, expected, said in (
                ("same", (4, 3, "aa"), 0, "base/new 1.000 [1.000, 1.000]"),
                ("faster", (1, 1, "aa"), 0, "base/new 2.000 [2.000, 2.000]   from 1.000 (b) to 4.000 (a)"),
                ("slower kernels", (16, 3, "aa"), 1, "base/new 0.500 [0.500, 0.500]"),
                ("slower steps", (4, 6, "aa"), 1, "steps, jobs, 3: base/new 0.500 [0.500, 0.500]"),
                ("other state", (4, 3, "bb"), 1, "digits ordered-1: the builds come to different states: aa, bb")):
            done = self.script("compare_builds", base, self.build(name, *new), "--rounds", "2")
            self.assertEqual(done.returncode, expected, f"{name}: {done.stdout}{done.stderr}")
            self.assertIn(said, done.stdout, name)
        done = self.script("compare_builds", base, os.path.join(self.dir, "nowhere"), "--rounds", "1")
        self.assertEqual(done.returncode, 2, done.stdout)
        self.assertIn("expected a build with benchmarks", done.stderr)

    def conformance(self, name, **cases):
        """A program to which these cases come: to bits, or, without any, to a verdict."""
        lines = [f"echo 'test_{case} {said}'" if "bits" not in said else
                 f"echo 'test_{case}  passes'; printf '{said}' >$bits/test_{case}.bits" for case, said in cases.items()]
        return self.program(name, CONFORMANCE + "\n".join(lines) + "\n")

    def test_onnx_cross_check_finds_other_bits_and_other_verdicts(self):
        there = self.program("bin/cmake", CMAKE)
        self.program("bin/protoc", "#!/bin/sh\necho libprotoc 0.1\n")
        for tool in ("ninja", "tar", "zstd", "aarch64-linux-gnu-g++", "riscv64-linux-gnu-g++"):
            self.program(f"bin/{tool}", "#!/bin/sh\n")
        for machine in ("aarch64", "riscv64"):
            self.program(f"bin/qemu-{machine}", '#!/bin/sh\nexec "$@"\n')
        path = os.path.dirname(there) + os.pathsep + os.environ["PATH"]
        os.makedirs(os.path.join(self.dir, "build", "protobuf-0.1"))
        words = [self.conformance("here", a="bits 1", b="refused: 0.5", c="not run: x"), "--data", self.dir, "--build",
                 os.path.join(self.dir, "build")]
        self.assertEqual(self.script("onnx_cross_check", *words, PATH=path, THERE="").returncode, 77)
        self.program("onnx-node-tests/onnx-1-node-simple.tar.zst", "")
        for cases, complaint in (
                ({"a": "bits 1", "b": "refused: .5", "c": "not run: y"}, ""),
                ({"a": "bits 2", "b": "refused: .5", "c": "not run: y"}, "test_a has other bits"),
                ({"a": "bits 1", "b": "bits 1", "c": "not run: y"}, "test_b passes, here refused"),
                ({"a": "crashes: x", "b": "refused", "c": "not run: y"}, "test_a crashes, here passes"),
                ({"a": "bits 1", "b": "refused", "c": "not run: y", "d": "bits 1"}, "test_d passes, here not there"),
                ({"a": "bits 1", "b": "refused"}, "test_c not there, here not run")):
            done = self.script("onnx_cross_check", *words, PATH=path, THERE=self.conformance("there", **cases))
            self.assertEqual(done.returncode, 1 if complaint else 0, f"{cases}: {done.stdout}{done.stderr}")
            for machine in ("aarch64", "riscv64"):
                self.assertEqual(f"{machine}: {complaint}\n" in done.stdout, bool(complaint), done.stdout)

    def test_a_program_with_limits_says_how_it_ended(self):
        for shell, code, line in (("exit 0", 0, "exit code 0"), ("echo one; echo two >&2; exit 3", 3, "two"),
                                  ("exit 5", 5, "exit code 5"), ("kill -SEGV $$", -11, "ended by SIGSEGV")):
            done = limited.run(["sh", "-c", shell], 60, 1)
            self.assertEqual((done.code, done.ended_well, done.last_line()), (code, code == 0, line), shell)
        late = limited.run(["sh", "-c", "sleep 1000 & sleep 1000"], 0.2, 1)
        self.assertFalse(late.ended_well)
        self.assertRegex(late.last_line(), "^not done after [0-9]+ s$")
        hungry = limited.run([sys.executable, "-c", "bytearray(2 << 30)"], 60, 1)
        self.assertIn("MemoryError", hungry.last_line())

    def test_a_table_replaces_what_stands_between_its_marks_alone(self):
        page = self.program("page.md", "before\n<!-- a -->\nold\n<!-- end of a -->\nafter\n<!-- b -->\n<!-- end of b -->\n")
        for _ in range(2):
            tables.write(page, "a", ["x", "y"], [[1, "\\1"]])
        with open(page, encoding="utf-8") as file:
            self.assertEqual(file.read(), "before\n<!-- a -->\n| x | y |\n|---|---|\n| 1 | \\1 |\n<!-- end of a -->\n"
                                          "after\n<!-- b -->\n<!-- end of b -->\n")
        with self.assertRaises(SystemExit):
            tables.write(page, "c", ["x"], [])

    def test_results_are_kept_from_run_to_run(self):
        path = os.path.join(self.dir, "known.json")
        tables.Known(path).keep("a", {"n": 1})
        known = tables.Known(path)
        known.keep("b", {"n": 2})
        self.assertEqual(tables.Known(path).rows, {"a": {"n": 1}, "b": {"n": 2}})


if __name__ == "__main__":
    unittest.main()
