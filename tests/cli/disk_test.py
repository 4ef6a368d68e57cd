#!/usr/bin/env python3
"""A disk that is full, a folder that cannot be written: exit code 4, nothing lost, resumable."""
import os
import resource
import shutil
import signal
import subprocess

from isobit_cli import DIGITS, PROGRAM, SHORT, Case, contents, files_of, main, overrides

JOB = [DIGITS, *overrides("job.steps=40", "schedule.warmup=2", "commit.every=1", "checkpoint.every=10", "checkpoint.keep=9")]


def no_file_above(size):
    """What a child process does to itself: larger files fail as on a full disk."""
    def limit():
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))
    return limit


class Full(Case):
    def leaves_fit(self, before, after):
        """What was written before is still there, byte for byte."""
        for name in ("transcript", "heads"):
            self.assertTrue(after[name].startswith(before[name]), name)
        for name in ("job.toml", "engagement"):
            self.assertEqual(after[name], before[name])

    def test_it_stops_and_goes_on(self):
        expected = self.isobit_json("train", *JOB, "--out", "whole")
        sizes = {name: len(data) for name, data in contents(self.path("whole")).items()}
        checkpoint = sizes["checkpoints/step-10.safetensors"]
        beginnings = max(sizes["job.toml"], sizes["engagement"])
        limits = {beginnings + 200, beginnings + 1000, sizes["transcript"] - 1, checkpoint - 1}
        self.assertGreaterEqual(checkpoint, sizes["transcript"])
        for limit in sorted(limits):
            name = f"r{limit}"
            result = self.fails("train", *JOB, "--out", name, code=4, preexec_fn=no_file_above(limit))
            self.assertRegex(result.err, rf"{name}/\S+: cannot (append|write)[^\n]*(free some space|raise the limit)", str(result))
            info = self.isobit_json("info", name)
            self.assertFalse(info["finished"])
            self.assertFalse([f for f in files_of(self.path(name)) if f.endswith(".tmp")], "nothing half-written")
            before = contents(self.path(name))
            # Still full: nothing is lost by trying.
            self.fails("train", "--resume", name, code=4, preexec_fn=no_file_above(limit))
            self.leaves_fit(before, contents(self.path(name)))
            resumed = self.isobit_json("train", "--resume", name)
            for field in ("final_state_root", "transcript_root", "job_root", "test_top1"):
                self.assertEqual(resumed[field], expected[field], field)
            self.leaves_fit(before, contents(self.path(name)))
            self.assertEqual(self.isobit_json("verify", name)["verdict"], "accepted")

    def test_before_anything_fits(self):
        self.isobit("train", *JOB, "--out", "keys_are_made")
        for limit in (0, 10, 300):
            self.fails("train", *JOB, "--out", "r", code=4, says=["r/"], preexec_fn=no_file_above(limit))
            self.assertFalse(os.path.exists(self.path("r")), "nothing half-written")

    def test_other_commands(self):
        self.fails("train", *JOB, "--out", "r", code=4, says=["keys"], preexec_fn=no_file_above(0))
        self.assertEqual(files_of(self.dir), [])
        self.train("r")
        before = files_of(self.dir)
        full = no_file_above(10)
        self.fails("export", "r", "--out", "w", code=4, says=["w: cannot write"], preexec_fn=full)
        self.fails("keygen", "--out", "k", code=4, says=["k.key"], preexec_fn=full)
        self.fails("keygen", "--salt", "s", code=4, says=["s: cannot write"], preexec_fn=full)
        self.assertEqual(files_of(self.dir), before)
        # The first audit of a run notes its run id down; after that an audit only reads.
        self.isobit("audit", "r", preexec_fn=full, code=4)
        self.isobit("audit", "r")
        self.assertEqual(self.isobit_json("audit", "r", preexec_fn=full)["verdict"], "accepted", "reads only")

    def test_a_small_disk(self):
        """A file system of its own, where the machine lets us have one; gone with the process that made it."""
        os.makedirs(self.path("disk"))
        expected = self.isobit_json("train", *JOB, "--out", "whole")
        needed = sum(map(len, contents(self.path("whole")).values()))
        # Room for half the run until the ballast goes.
        script = f"""
            mount -t tmpfs -o size={4 * needed // 1024 + 4000}k none disk || exit 77
            head -c {4 * needed + 4096000 - needed // 2} /dev/zero > disk/ballast
            "$ISOBIT" train "$@" --out disk/r; echo "code $?"
            "$ISOBIT" info disk/r --json | grep steps_done
            rm disk/ballast
            "$ISOBIT" train --resume disk/r --json
        """
        done = subprocess.run(["unshare", "--mount", "--map-root-user", "sh", "-c", script, "sh", *JOB], cwd=self.dir,
                              env=self.environment(ISOBIT=os.path.abspath(PROGRAM)), capture_output=True, text=True,
                              timeout=300) if shutil.which("unshare") else None
        if done is None or done.returncode == 77 or "unshare: " in done.stderr:
            self.skipTest("skipped: no file system of our own")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertIn("code 4\n", done.stdout)
        self.assertRegex(done.stderr, r"isobit: disk/r/\S+: .*No space left on device; free some space")
        self.assertIn(expected["transcript_root"], done.stdout)
        self.assertIn(expected["final_state_root"], done.stdout)


class Unwritable(Case):
    def test_places_where_no_run_can_be(self):
        self.train("keys_are_made")
        file = self.write("file", "mine")
        for place in ("/proc/isobit.run", os.path.join(file, "r")):
            result = self.fails("train", DIGITS, *SHORT, "--out", place, code=4, says=[place])
            self.assertIn("folder", result.err)
        self.fails("train", DIGITS, *SHORT, "--out", file, code=2, says=[file])
        self.assertEqual(contents(self.dir)["file"], b"mine")

    def test_a_folder_without_permission(self):
        if os.geteuid() == 0:
            self.skipTest("skipped: permissions do not bind root")
        self.train("keys_are_made")
        os.makedirs(self.path("closed"), mode=0o500)
        self.fails("train", DIGITS, *SHORT, "--out", "closed", code=4, says=["closed"])
        self.fails("train", DIGITS, *SHORT, "--out", "closed/r", code=4, says=["closed/r"])
        self.assertEqual(os.listdir(self.path("closed")), [])

    def test_other_files(self):
        self.train("r")
        self.fails("export", "r", "--out", "/proc/w", code=4, says=["/proc/w"])
        self.fails("export", "r", "--out", "no/folder/w", code=4, says=["no/folder/w"])
        self.fails("keygen", "--out", "/proc/k", code=4, says=["/proc/k"])
        self.fails("train", DIGITS, *SHORT, "--out", "s", code=4, says=["/proc/keys_here"],
                   env={"ISOBIT_HOME": "/proc/keys_here"})
        self.assertFalse(os.path.exists(self.path("s")))


if __name__ == "__main__":
    main()
