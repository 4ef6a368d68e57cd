#!/usr/bin/env python3
"""The scripts on programs that only pretend: what they make of failures, and what they leave alone."""
import json
import os
import subprocess
import sys
import tempfile
import time
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(ROOT, "scripts", "bench"))
import machine  # noqa: E402
sys.path.insert(0, os.path.join(ROOT, "scripts", "real_networks"))
import limited  # noqa: E402
import tables  # noqa: E402

# Knows all platforms of our own kernels; what it makes of a vendor's is its exit code.
ISOBIT = """#!/bin/sh
case "$*" in *openblas*) echo "no openblas today" >&2; exit %d;; esac
echo "{}"
"""

# One case and who took how long; every measurement of it leaves a line in $COUNT.
BENCH = """#!/bin/sh
name=$(basename "$0" _bench)/square/64
case "$*" in *--list*) echo "$name"; exit 0;; esac
echo . >>"$COUNT"
echo '{"context": {"isobit": "avx2", "openblas": "OpenBLAS 1"}}'
echo '{"name": "'"$name"'", "flops": 1e9, "seconds": {"isobit": [2, 2, 9], "openblas": [4], "onednn:a": [8], "onednn:b": [1]}}'
"""

# Takes two seconds a step, and more between two steps the more often it commits.
TRAINS = """#!/bin/sh
while [ $# -gt 0 ]; do
  case "$1" in --out) out=$2;; --metrics) metrics=$2;; job.steps=*) steps=${1#*=};; commit.every=*) every=${1#*=};; esac
  shift
done
mkdir -p "$out/checkpoints"; echo state >"$out/checkpoints/1"
for step in $(seq "$steps"); do echo '{"seconds": 2}' >>"$metrics"; done
case "$every" in 1) between=0.5;; 10) between=0.06;; *) between=0.01;; esac
echo '{"profile": {"seconds": {"step": 2, "between_steps": '$between'}}}'
"""

# The libraries' interpreter: four seconds a step in PyTorch, of the widest network one.
LIBRARIES = """#!/bin/sh
case "$2" in
  *networks.py) mkdir -p "$4"; touch "$4/job.toml";;
  *growth_figure.py) echo "<svg/>" >"$4";;
  *) case "$3" in *width=128*) seconds=1;; *) seconds=4;; esac
     while read count; do echo '{"seconds": ['$seconds'], "bytes": 1, "libraries": 1}'; done;;
esac
"""

# Of builds that take as long as they are told to, and come to the root that they are told.
TIMED_BENCH = """#!/bin/sh
echo '{"context": {}}'
echo '{"name": "a", "seconds": {"isobit": [%s]}}'
echo '{"name": "b", "seconds": {"isobit": [2]}}'
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

    def test_bench_measures_once_and_keeps_what_others_wrote(self):
        for name in ("matmul_bench", "conv_bench"):
            self.program(f"build/bench/{name}", BENCH)
        self.program("libraries/bin/python", "#!/bin/sh\n")
        count, out = os.path.join(self.dir, "count"), os.path.join(self.dir, "benchmarks.md")
        words = [os.path.join(self.dir, "libraries"), "--build", os.path.join(self.dir, "build"), "--out", out, "--only", "kernels",
                 "--threads", "1", "--busy"]
        with open(out, "w", encoding="utf-8") as file:
            file.write("# Benchmarks\n\nBy hand.\n\n## Inference\n\nAs it was.\n\n" + BY_HAND)
        texts = []
        for more, measured in (([], 2), ([], 2), (["--tables"], 2), (["--quick"], 4)):
            done = self.script("bench/run", *words, *more, COUNT=count)
            self.assertEqual(done.returncode, 0, done.stderr)
            with open(out, encoding="utf-8") as file:
                texts.append(file.read())
            with open(count, encoding="utf-8") as file:
                self.assertEqual(len(file.read().split()), measured, more)
        self.assertEqual(texts[:2], texts[1:3])
        self.assertIn("| square/64 | 0.5 | 0.2 |  | 1.0 | 0.50 |", texts[0])  # of matmul the best is oneDNN's b
        self.assertEqual([line for line in texts[0].split("\n") if line.startswith("#")],
                         ["# Benchmarks", "## Matmul and convolution", "### matmul", "### conv", "## Inference"] +
                         [line for line in BY_HAND.split("\n") if line.startswith("#")])
        self.assertTrue(texts[3].endswith("## Inference\n\nAs it was.\n\n" + BY_HAND), texts[3])
        self.assertNotIn("in a quick run", texts[0])
        self.assertIn("in a quick run", texts[3])

    def test_bench_says_what_was_measured_on_a_busy_machine(self):
        results, out = os.path.join(self.dir, "results"), os.path.join(self.dir, "benchmarks.md")
        said = {"part": "inference", "name": "net B=1", "threads": 2, "program": "x", "quick": False, "place": 0,
                "machine": machine.described(), "seconds": {"isobit": [2, 2], "onnxruntime": [1, 3]}}
        for others, busy in ((0.5, True), (0.01, False)):  # the later one takes the place of the other
            with open(results, "a", encoding="utf-8") as file:
                file.write(json.dumps({**said, "others": others}) + "\n" + '{"cut sho')
            done = self.script("bench/run", self.dir, "--results", results, "--out", out, "--tables")
            self.assertEqual(done.returncode, 0, done.stderr)
            with open(out, encoding="utf-8") as file:
                text = file.read()
            self.assertEqual("measured on a busy machine" in text, busy, text)
            self.assertIn("| net B=1 | 2000.0 | 2000.0 | 1.00 | 0.50 | 1.50 |", text)

    def test_bench_says_how_a_program_beside_isobit_ended(self):
        # Makes the folder of a network, takes the steps that compile, and is killed when it is asked for more.
        self.program("libraries/bin/python", """#!/bin/sh
case "$2" in *networks.py) exec mkdir -p "$4";; esac
read count; echo '{"seconds": [1, 1], "bytes": 1, "libraries": 1}'; read count; kill -9 $$
""")
        self.program("build/bin/isobit", "#!/bin/sh\n")
        done = self.script("bench/run", os.path.join(self.dir, "libraries"), "--build", os.path.join(self.dir, "build"), "--only",
                           "steps", "--filter", "tiny-gpt", "--busy", "--out", os.path.join(self.dir, "out"))
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertIn("run: PyTorch, eager, ended with exit code -9; its errors are in ", done.stderr)
        self.assertNotIn("Traceback", done.stderr)

    def bench(self, part, name):
        """The page after a run of that part on programs that pretend."""
        self.program("libraries/bin/python", LIBRARIES)
        self.program("build/bin/isobit", TRAINS)
        out = os.path.join(self.dir, "benchmarks.md")
        done = self.script("bench/run", os.path.join(self.dir, "libraries"), "--build", os.path.join(self.dir, "build"), "--only",
                           part, "--filter", name, "--busy", "--out", out)
        self.assertEqual(done.returncode, 0, done.stderr)
        with open(out, encoding="utf-8") as file:
            return file.read()

    def test_bench_says_by_what_power_of_the_size_a_ratio_grows(self):
        text = self.bench("growth", "width=.* blocks=1 B=64")
        self.assertIn(f"| resnet width=16 blocks=1 B=64 | {len(os.sched_getaffinity(0))} | 2000 | 4000 | 0.50 |", text)
        self.assertIn("resnet: width +0.60", text)  # 0.5, 0.5, 0.5 and 2
        self.assertTrue(os.path.exists(os.path.join(self.dir, "figures", "growth.svg")))

    def test_bench_says_what_share_of_the_time_commitments_take(self):
        text = self.bench("commitments", "digits|resnet50")
        self.assertIn("| digits B=32 | 6e-09 | 2010 | 490 | 490 | 10 | 2.44 % | 2.44 % | +2.49 % | +24.38 % |", text)
        self.assertIn("| resnet50 B=64 32x32 | 6e-09 | 2010 | 490 | 490 | 50 | 0.49 % | 0.49 % |  | +24.38 % |", text)  # too long to be run

    def test_what_others_compute_is_told_from_what_is_computed_here(self):
        def busy(seconds):
            end = time.monotonic() + seconds
            while time.monotonic() < end:
                pass
        own = machine.own_seconds()
        busy(0.2)
        subprocess.run([sys.executable, "-c", "import time\nwhile time.process_time() < 0.3: pass"], check=True)
        self.assertGreater(machine.own_seconds() - own, 0.35)

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
