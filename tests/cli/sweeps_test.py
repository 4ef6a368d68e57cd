#!/usr/bin/env python3
"""isobit measure and isobit lab where files change under them, labs come from strangers, and processes are killed."""
import glob
import mmap
import os
import shutil
import signal
import sqlite3
import struct
import subprocess
import tempfile
import time

import data_test
import measure_test
from isobit_cli import DIGITS, Case, main
from onnx_by_hand import floats, graph, model, node, npy, value


def product(factor):
    return model(graph([node("Mul", ["x", "f"], ["y"], "product")], [value("x", [4])], [value("y", [4])], [floats("f", [1], factor)]))


class Files(Case):
    def waited(self, done):
        until = time.monotonic() + 60
        while not done() and time.monotonic() < until:
            time.sleep(0.01)

    def runs_in(self, lab):
        try:
            with sqlite3.connect(f"file:{self.path(lab)}?mode=ro", uri=True) as database:
                return database.execute("SELECT count(*) FROM runs").fetchone()[0]
        except sqlite3.Error:
            return 0

    def swapped(self, measured, other, *arguments, replaced=None):
        """What a sweep says whose file was replaced when it had measured something."""
        process = self.start("measure", measured, "--out", self.path("m.lab"), "--keep", "none", "--platforms",
                             "ordered@portable/1t", "--repeat", "300", *arguments)
        self.waited(lambda: self.runs_in("m.lab") > 0)
        os.replace(other, replaced or measured)
        err = process.communicate(timeout=100)[1]
        self.assertEqual(process.returncode, 3, err)
        self.assertIn("what was measured since then is not kept", err)
        self.assertLess(self.runs_in("m.lab"), 300)
        with sqlite3.connect(self.path("m.lab")) as lab:
            self.assertEqual(lab.execute("SELECT count(*) FROM runs WHERE error != ''").fetchone()[0], 0)
            return lab.execute("SELECT count(DISTINCT hash) FROM run_values WHERE is_output = 1 AND run IN "
                               "(SELECT id FROM runs WHERE tapped = 0)").fetchone()[0]

    def test_a_model_that_is_replaced_ends_the_sweep(self):
        self.assertEqual(self.swapped(self.write("m.onnx", product(2.0)), self.write("other.onnx", product(3.0))), 1)

    def test_a_job_that_is_replaced_ends_the_sweep(self):
        with open(DIGITS, encoding="utf-8") as file:
            text = file.read()
        job, other = self.write("job.toml", text), self.write("other.toml", text.replace("seed = 1", "seed = 2"))
        self.assertEqual(self.swapped(job, other, "--steps", "1", "--set", "data.batch=8") % 2, 1)

    def test_data_of_a_job_that_change_end_the_sweep(self):
        job = self.write("job.toml", data_test.JOB.format(dataset="npy").replace("[data]", f"[data]\npath = '{self.path('d')}'"))
        inputs = [struct.pack("<64f", *(i + factor * (i % 5) for i in range(64))) for factor in (1, 2)]
        self.write("d/labels.npy", npy("<i8", [16], struct.pack("<16q", *(i % 2 for i in range(16)))))
        other = self.write("other.npy", npy("<f4", [16, 4], inputs[1]))
        data = self.write("d/inputs.npy", npy("<f4", [16, 4], inputs[0]))
        self.swapped(job, other, "--steps", "2", replaced=data)

    def test_a_change_that_times_do_not_show_is_found_by_the_hash_at_the_end(self):
        measured = self.write("m.onnx", product(2.0))
        with open(measured, "r+b") as file, mmap.mmap(file.fileno(), 0) as page:
            factor = page.find(struct.pack("<f", 2.0))
            page[factor] = page[factor]  # the page is written to already: what follows is no news to the file's times
            before = os.stat(measured)
            process = self.start("measure", measured, "--out", self.path("m.lab"), "--keep", "none", "--platforms",
                                 "ordered@portable/1t", "--repeat", "60")
            self.waited(lambda: self.runs_in("m.lab") > 0)
            page[factor:factor + 4] = struct.pack("<f", 3.0)
            err = process.communicate(timeout=100)[1]
            after = os.stat(measured)
        self.assertEqual((after.st_mtime_ns, after.st_ctime_ns), (before.st_mtime_ns, before.st_ctime_ns))
        self.assertEqual(process.returncode, 3, err)
        for words in ("m.onnx", "its times do not show when", "measure it again, into a new lab"):
            self.assertIn(words, err)
        self.assertEqual(self.runs_in("m.lab"), 61)  # what was recorded stays, and is of either

    def test_two_sweeps_into_one_new_lab(self):
        path = self.write("m.onnx", product(2.0))
        sweeps = [self.start("measure", path, "--out", self.path("m.lab"), "--platforms", p, "--keep", "none")
                  for p in ("ordered@portable/1t", "ordered@reference/1t", "ordered@portable/1t:correct-1")]
        for sweep in sweeps:
            err = sweep.communicate(timeout=100)[1]
            self.assertEqual(sweep.returncode, 0, err)
        self.assertEqual(self.runs_in("m.lab"), 6)

    def test_a_merge_that_fails_leaves_no_new_lab(self):
        path = self.write("m.onnx", product(2.0))
        self.isobit("measure", path, "--out", self.path("m.lab"), "--platforms", "ordered@portable/1t", "--keep", "none")
        shutil.copy(self.path("m.lab"), self.path("bad.lab"))
        with sqlite3.connect(self.path("bad.lab")) as lab:
            lab.execute("UPDATE runs SET repeat = -1")
        before = sorted(os.listdir(self.path("")))
        self.fails("lab", "merge", "--into", self.path("new.lab"), self.path("m.lab"), self.path("bad.lab"), code=3, says=["bad.lab"])
        self.assertEqual(sorted(os.listdir(self.path(""))), before)
        self.isobit("lab", "merge", "--into", self.path("new.lab"), self.path("m.lab"))
        self.assertEqual(self.runs_in("new.lab"), 2)

    def test_no_journal_of_a_stranger_deletes_a_file(self):
        path = self.write("m.onnx", product(2.0))
        self.isobit("measure", path, "--out", self.path("m.lab"), "--platforms", "ordered@portable/1t", "--keep", "none")
        victim = self.write("thesis.txt", "thesis")
        magic, name = bytes.fromhex("d9d505f920a163d7"), victim.encode()
        head = magic + struct.pack(">IIIII", 0, 1, os.path.getsize(self.path("m.lab")) // 4096, 512, 4096)
        tail = struct.pack(">I", 0x40000000 // 4096 + 1) + name + struct.pack(">II", len(name), sum(name)) + magic
        journal = self.write("m.lab-journal", head.ljust(512, b"\0") + tail)
        lab, out = self.path("m.lab"), self.path("out.lab")
        for command in (["compare", lab], ["explain", lab], ["lab", "export", lab, "--out", out],
                        ["lab", "merge", "--into", out, lab], ["lab", "merge", "--into", lab, lab],
                        ["measure", path, "--out", lab, "--platforms", "ordered/1t"]):
            self.fails(*command, code=3, says=["m.lab-journal", "names another file"])
            self.assertTrue(os.path.exists(victim) and os.path.exists(journal), command)
            self.assertFalse(os.path.exists(out), command)

    def test_a_killed_sweep_leaves_neither_workers_nor_for_long_a_folder(self):
        self.write("engines/worker.py", measure_test.FAKE.replace("HASH_OF_BYTES", measure_test.HASH))
        temporary = tempfile.mkdtemp(dir=self.path(""))
        process = self.start("measure", self.write("m.onnx", measure_test.SOFTMAX), "--engines", self.path("engines"),
                             "--out", self.path("m.lab"), "--platforms", "stalls/1t", env={"TMPDIR": temporary})

        def workers():
            # By the folder that each is given, which nobody else has.
            found = subprocess.run(["pgrep", "-f", f"{temporary}/.*/request.json"], capture_output=True, text=True, check=False)
            return found.stdout.split()
        self.waited(workers)
        self.assertEqual(len(workers()), 1)
        process.send_signal(signal.SIGKILL)
        process.communicate(timeout=60)
        self.waited(lambda: not workers())
        self.assertEqual(workers(), [])
        left = glob.glob(f"{temporary}/isobit-sweep-*")
        self.assertEqual(len(left), 1)

        def sweep():
            self.isobit("measure", self.path("m.onnx"), "--out", self.path("n.lab"), "--platforms", "ordered@portable/1t",
                        "--keep", "none", env={"TMPDIR": temporary})
            return os.listdir(temporary)
        self.assertEqual(sweep(), [os.path.basename(left[0])])  # it may be somebody's who is about to begin
        os.utime(left[0], (time.time() - 100, time.time() - 100))
        self.assertEqual(sweep(), [])


class Known(Case):
    """What a lab has is not measured again, but only if it is of what is here now."""

    def again(self, platform):
        path = self.write("m.onnx", product(2.0))
        measure = ["measure", path, "--out", self.path("m.lab"), "--platforms", platform, "--keep", "none"]
        self.isobit_json(*measure)
        self.assertEqual(self.isobit_json(*measure)["known"], 1)
        return measure

    def platforms(self):
        with sqlite3.connect(self.path("m.lab")) as lab:
            return lab.execute("SELECT fields FROM platforms").fetchall()

    def test_another_version_of_an_emulator_is_another_platform(self):
        real = shutil.which("qemu-x86_64")
        if not real or os.uname().machine != "x86_64":
            self.skipTest("skipped: no emulator of x86-64")
        measure = self.again("ordered@portable/1t~haswell")
        version = subprocess.run([real, "--version"], capture_output=True, text=True, check=True).stdout.split()[2]
        self.assertIn(f"qemu-x86_64 {version}".encode(), self.platforms()[0][0])
        fake = self.write("bin/qemu-x86_64", '#!/bin/sh\n[ "$1" = --version ] && echo qemu-x86_64 version 99.1 && exit\n'
                          f'exec {real} "$@"\n')
        os.chmod(fake, 0o755)
        path = {"PATH": f"{os.path.dirname(fake)}:{os.environ['PATH']}"}
        told = self.isobit_json(*measure, env=path)
        self.assertEqual((told["measured"], told["known"]), (1, 0))
        self.assertEqual(len(self.platforms()), 2)
        self.write("bin/qemu-x86_64", "#!/bin/sh\necho no version\n")
        self.fails(*measure, code=4, says=["qemu-x86_64 --version"], env=path)


if __name__ == "__main__":
    main()
