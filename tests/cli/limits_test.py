#!/usr/bin/env python3
"""Jobs and files that ask for too much: refused at once, in little memory, with what to do.

Every command runs in a process whose address space and time are limited, and what it held at most is measured: a mend that
is taken out shows as a signal, as memory, or as time.
"""
import gzip
import os
import resource
import struct
import subprocess
import threading
import unittest

from isobit_cli import DIGITS, JOBS, PROGRAM, SHORT, SLOW, STEPS, Case, Result, main, overrides

MEGABYTE = 1 << 20
# Sanitizers reserve terabytes and keep what was freed: memory is compared in other builds.
SANITIZED = "ISOBIT_SANITIZED" in os.environ
# Of address space: the program, its libraries and thread stacks are most of it.
SPACE = 3 << 30
# Of resident memory: a small job takes some 30 MB.
RESIDENT = 200 * MEGABYTE
SECONDS = 60  # of processor time, which a busy machine does not use up; they take less than one

JOB = """[job]
name = "huge"
steps = 3
arithmetic = "{arithmetic}"
[model]
{model}
[data]
{data}
[optimizer]
name = "adamw"
lr = 0.1
"""
TEXT = 'dataset = "text"\npath = "book.txt"\ncontext = 128\nbatch = 4'
PICTURES = 'dataset = "digits"\nbatch = 4'


class Limited(Case):
    def limited(self, *arguments, code, says=(), resident=RESIDENT, seconds=SECONDS):
        """Runs with limits; the result, after its peak memory and time have been compared with them."""
        def limit():
            resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))
            if not SANITIZED:
                resource.setrlimit(resource.RLIMIT_AS, (SPACE, SPACE))
        process = subprocess.Popen([PROGRAM, *arguments], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE, cwd=self.dir, env=self.environment(), preexec_fn=limit)
        parts = [b"", b""]
        readers = [threading.Thread(target=lambda i=i, s=s: parts.__setitem__(i, s.read()))
                   for i, s in enumerate((process.stdout, process.stderr))]
        for reader in readers:
            reader.start()
        _, status, usage = os.wait4(process.pid, 0)  # of this child alone
        for reader in readers:
            reader.join()
        process.returncode = os.waitstatus_to_exitcode(status)
        process.stdout.close()
        process.stderr.close()
        result = Result(arguments, process.returncode, parts[0].decode(), parts[1].decode())
        self.assertIn(result.code, (code,) if isinstance(code, int) else code, str(result))
        if not SANITIZED:
            self.assertLess(usage.ru_maxrss << 10, resident, f"{usage.ru_maxrss >> 10} MB\n{result}")
        for words in says:
            self.assertIn(words, result.out + result.err, str(result))
        return result

    def sparse(self, name, front, size):
        path = self.write(name, front)
        os.truncate(path, size)
        return path


class Toml(Limited):
    def test_deep(self):
        small = "[job]\nsteps = 3\n"
        for deep in ("a." * 150000 + "a = 1\n", "[" + "a." * 140000 + "a]\n", "v = " + "[" * 100000, "v = " + "{a=" * 100000,
                     '"a" . ' * 100000 + "a = 1\n"):
            job = self.write("job.toml", small + deep)
            for command in (["job", "check", job], ["train", job, "--out", "r"]):
                self.limited(*command, code=3, says=["job.toml:3: ", "the most a job may have"])
        self.assertFalse(os.path.exists(self.path("r")))

    def test_deep_overrides(self):
        for deep in ("[" * 60000, "{" + "a." * 60000 + "a=1}", "{a=" * 30000):
            self.limited("job", "check", DIGITS, "--set", "job.steps=" + deep, code=3, says=["job.steps"])

    def test_large(self):
        job = self.write("job.toml", "#" * (2 << 20))
        self.limited("job", "check", job, code=3, says=["more than"])
        self.sparse("job.toml", b"", 1 << 40)
        self.limited("job", "check", job, code=3, says=["1.1 TB"])


class Sizes(Limited):
    def jobs(self):
        self.write("book.txt", "to be or not to be, that is the question\n" * 200)
        most = TEXT.replace("context = 128", "context = 1048576").replace("batch = 4", "batch = 1048576")
        for model, data in (('builder = "gpt"\nchannels = 16384\nheads = 16\nlayers = 2', TEXT),
                            ('builder = "gpt"\nchannels = 16384\nheads = 16\nlayers = 200', TEXT),
                            ('builder = "gpt"\nchannels = 65536\nheads = 16\nlayers = 200', TEXT),
                            ('builder = "gpt"\nchannels = 64\nheads = 4\nlayers = 2', most),
                            ('builder = "resnet"\nwidth = 4096\nblocks = 100', PICTURES),
                            ('builder = "digits-cnn"', PICTURES.replace("batch = 4", "batch = 1048576")),
                            ('builder = "mnist-cnn"', 'dataset = "cifar10"\npath = "nowhere"\nbatch = 1048576')):
            for arithmetic in ("ordered-1", "logged-1") if SLOW else ("logged-1",):
                yield self.write("job.toml", JOB.format(arithmetic=arithmetic, model=model, data=data))

    def test_jobs_that_no_machine_holds(self):
        self.isobit("keygen", "--role", "trainer")
        for job in self.jobs():
            for command in (["train", job, "--out", "r"], ["job", "check", job],
                            ["engage", "offer", job, "--trainer", "keys/trainer.pub", "--out", "o"]):
                result = self.limited(*command, "--max-memory", "1G", code=(3, 4))
                self.assertRegex(result.err, "more than the .* (allowed|supported)", str(result))
            self.assertFalse(os.path.exists(self.path("r")) or os.path.exists(self.path("o")))

    def test_the_limit_is_the_users(self):
        self.train("keys_are_made", "--max-memory", "1G")
        self.fails("train", DIGITS, *SHORT, "--out", "r", "--max-memory", "50M", code=4,
                   says=["to train this job takes about", "more than the 52.4 MB allowed", "--max-memory"])
        self.assertFalse(os.path.exists(self.path("r")))
        self.train("r", "--max-memory", "1G")
        offer = ["engage", "offer", DIGITS, "--trainer", "keys/trainer.pub", "--out"]
        self.isobit(*offer, "o", "--max-memory", "1G")
        for command in (["audit", "r"], ["eval", "r"], ["train", DIGITS, "--out", "s"], ["job", "check", DIGITS],
                        [*offer, "o2"], ["engage", "accept", "o", "--job", DIGITS, "--out", "e"]):
            self.fails(*command, "--max-memory", "50M", code=4, says=["more than the 52.4 MB allowed"])
            for wrong in ("", "x", "0", "-1", "1.5G", "1GB", "99999999999T"):
                self.fails(*command, "--max-memory=" + wrong, code=2, says=["--max-memory"])
        self.assertEqual(self.isobit_json("audit", "r", "--max-memory", "1G")["verdict"], "accepted")

    def test_what_reads_a_run_keeps_to_the_limit(self):
        """Before any checkpoint is read: a stranger's job says how large these may be."""
        self.train("r")
        with open(self.path("r", "checkpoints", f"step-{STEPS}.safetensors"), "r+b") as f:
            f.write(b"x")  # rejected, by whoever looks at it
        commands = (["info", "r"], ["eval", "r"], ["export", "r", "--out", "w"], ["verify", "r", "r"], ["audit", "r"], ["verify", "r"])
        for command in commands:
            self.assertNotEqual(self.isobit(*command, code=(1, 3)).code, 0)
            self.fails(*command, "--max-memory", "10K", code=4,
                       says=["to read a checkpoint of this job takes about", "more than the 10.2 KB allowed", "--max-memory"])

    def test_the_estimate_holds(self):
        """What a process takes is no more than what was said of it, and not far below."""
        said = self.isobit_json("job", "check", DIGITS)
        for field in ("memory_to_train", "memory_to_audit", "memory_to_evaluate"):
            self.assertGreater(said[field], MEGABYTE)
        self.limited("train", DIGITS, *SHORT, "--out", "r", code=0, resident=said["memory_to_train"])
        self.limited("audit", "r", code=0, resident=said["memory_to_audit"])
        self.limited("eval", "r", code=0, resident=said["memory_to_evaluate"])


class Time(Case):
    def test_inconclusive_when_it_runs_out(self):
        self.train("r", "--set", "job.steps=60")
        self.isobit("audit", "r", "--verdict", "v")
        for command in (["audit", "r"], ["verify", "r"], ["verify", "r", "r"], ["verify", "v"], ["info", "r"], ["eval", "r"],
                        ["export", "r", "--out", "w.safetensors"],
                        ["info", os.path.join("r", "checkpoints", "step-60.safetensors")]):
            self.isobit(*command, "--max-time", "600")
            if command[0] == "export":
                os.remove(self.path("w.safetensors"))
            result = self.isobit(*command, "--max-time", "0", code=4)
            self.assertRegex(result.out, "verdict +inconclusive")
            self.assertIn("ran past --max-time of 0 s", result.out)
            verdict = self.isobit_json(*command, "--max-time", "0", code=4)
            self.assertEqual(verdict, {"verdict": "inconclusive", "reason": "ran past --max-time of 0 s"})
        self.assertFalse(os.path.exists(self.path("w.safetensors")))
        self.fails("audit", "r", "--max-time", "soon", code=2, says=["--max-time", "whole number"])


@unittest.skipIf(SANITIZED, "skipped: sanitizers reserve more address space than any limit leaves")
class Threads(Case):
    """Threads that the system does not start: the stacks of so many have no room. (Limits on processes do not bind root.)"""

    def with_stacks(self, stack, *arguments, code, says=()):
        hard = resource.getrlimit(resource.RLIMIT_STACK)[1]
        if hard != resource.RLIM_INFINITY and hard < stack:
            self.skipTest("skipped: stacks may not be so large")

        def limit():
            resource.setrlimit(resource.RLIMIT_STACK, (stack, hard))
            resource.setrlimit(resource.RLIMIT_AS, (SPACE, SPACE))
        if code == 0:
            return self.isobit(*arguments, preexec_fn=limit)
        return self.fails(*arguments, code=code, says=says, preexec_fn=limit)

    def test_fewer_than_the_platform_asks_for(self):
        few, many = ["--platform", "ordered/2t"], ["--platform", "ordered/64t"]
        train = ["train", DIGITS, *SHORT, "--out"]
        says = ["cannot start 64 threads: ", "--platform", "ulimit"]
        self.isobit("keygen", "--role", "trainer")
        self.isobit("keygen", "--role", "client")
        self.with_stacks(256 * MEGABYTE, *train, "r", *many, code=4, says=says)
        self.assertFalse(os.path.exists(self.path("r")))
        self.with_stacks(256 * MEGABYTE, *train, "r", *few, code=0)
        self.with_stacks(256 * MEGABYTE, "audit", "r", *many, "--verdict", "v", code=4, says=says)
        self.assertFalse(os.path.exists(self.path("v")))
        self.with_stacks(256 * MEGABYTE, "audit", "r", *few, code=0)

    def test_costs_says_so_too(self):
        """Each of its runs is in a child process."""
        costs = ["costs", DIGITS, "--steps", "2", "--rounds", "1", "--only", "ordered", "--auditor", "ordered/1t", "--trainer"]
        self.with_stacks(256 * MEGABYTE, *costs, "ordered/64t", code=4, says=["cannot start 64 threads: ", "ulimit"])
        self.with_stacks(256 * MEGABYTE, *costs, "ordered/2t", code=0)

    def test_the_one_that_keeps_the_time(self):
        self.train("r", "--platform", "ordered/1t")
        audit = ["audit", "r", "--platform", "ordered/1t"]
        self.with_stacks(2 * SPACE, *audit, code=0)
        self.with_stacks(2 * SPACE, *audit, "--max-time", "600", code=4, says=["cannot start the thread", "--max-time"])


class Data(Limited):
    """Paths that lead to something that is no file, and files that are not what they claim."""

    def refused(self, job, *settings, says=(), code=3):
        self.limited("job", "check", job, *overrides(*settings), code=code, says=says)

    def test_pipes_and_devices(self):
        os.mkfifo(self.path("pipe"))
        job = self.write("t.toml", JOB.format(arithmetic="ordered-1", model='builder = "gpt"', data=TEXT))
        npy = self.write("n.toml", JOB.format(arithmetic="ordered-1", model='builder = "logistic"',
                                              data='dataset = "npy"\nbatch = 4'))
        for path, kind in (("pipe", "a named pipe"), ("/dev/zero", "a device"), ("/dev/random", "a device"), (".", "a folder")):
            self.refused(job, f"data.path={path}", says=[kind])
            self.refused(DIGITS, f"data.salt={path}", says=[kind])
            self.limited("job", "check", path, code=3, says=[kind])
            self.limited("eval", DIGITS, "--weights", path, code=3, says=[kind])
            self.limited("audit", "r", "--client-key", path, code=3, says=[kind])
            if path != ".":
                self.refused(npy, f"data.path={path}", "data.labels_path=pipe", says=[kind])
        self.refused(job, "data.path=/proc/self/maps", says=["is no file on a disk"])
        for name in ("train-images-idx3-ubyte", "train-images-idx3-ubyte.gz"):
            os.mkdir(self.path("m" + name))
            os.mkfifo(self.path("m" + name, name))
            self.refused(os.path.join(JOBS, "mnist.toml"), f"data.path=m{name}", says=["a named pipe"])

    def test_files_that_claim_too_much(self):
        header = b'{"w":{"dtype":"F32","shape":[4294967296],"data_offsets":[0,17179869184]}}'
        for says, front, size in (("", struct.pack("<Q", 1 << 62), 1 << 40), ("", b"\0" * 16, 1 << 40),
                                  ("", struct.pack("<Q", 16 << 20) + b"[" * (16 << 20), 17 << 20),
                                  ("", struct.pack("<Q", 7 << 20) + b"{" + b'"a":{},' * 900000, 8 << 20),
                                  ("", struct.pack("<Q", len(header)) + header, 1 << 34)):
            self.sparse("w.safetensors", front, size)
            self.limited("info", "w.safetensors", code=(3, 4), says=["w.safetensors", says])
            self.limited("eval", DIGITS, "--weights", "w.safetensors", code=(3, 4), says=["w.safetensors"])
        self.sparse("book.txt", b"x", 1 << 33)
        job = self.write("t.toml", JOB.format(arithmetic="ordered-1", model='builder = "gpt"', data=TEXT))
        self.limited("job", "check", job, "--max-memory", "1G", code=4, says=["book.txt", "--max-memory"])

    def test_a_bomb(self):
        bomb = gzip.compress(bytes([0, 0, 8, 3, 0, 0, 0, 2, 0, 0, 0, 28, 0, 0, 0, 28]))
        bomb += gzip.compress(bytes(1 << 20)) * 1024
        self.write("bomb/train-images-idx3-ubyte.gz", bomb)
        self.refused(os.path.join(JOBS, "mnist.toml"), "data.path=bomb", says=["decompresses to more than"])


if __name__ == "__main__":
    main()
