#!/usr/bin/env python3
"""What a person and a terminal may expect: results that arrive or are said to be lost, text that cannot mislead, files
that are not replaced by accident."""
import json
import os
import resource
import signal
import socket
import stat
import struct
import subprocess
import unittest

from isobit_cli import DIGITS, PROGRAM, SHORT, Case, contents, files_of, main

STRANGE = ["\x1b[2J", "\x07", "\u202e", "\u200b", "\u2028", "\x9b31m", "\ufeff", "\U000e0041", "\r"]


def plain(text):
    """Nothing in it commands a terminal, hides, or turns the reading direction."""
    return not any(s in text for s in STRANGE)


def safetensors(header, data=b""):
    header = json.dumps(header, ensure_ascii=False).encode()
    return struct.pack("<Q", len(header)) + header + data


class Output(Case):
    def run_to(self, target, *arguments):
        with open(target, "w") as out:
            return subprocess.run([PROGRAM, *arguments], stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.PIPE,
                                  cwd=self.dir, env=self.environment(), text=True, timeout=300)

    @unittest.skipUnless(os.path.exists("/dev/full"), "skipped: no /dev/full")
    def test_a_full_standard_output_is_an_error(self):
        self.train("r")
        for arguments in (["info", "r"], ["--json", "info", "r"], ["verify", "r"], ["--json", "audit", "r"], ["--help"],
                          ["--version"], ["completion"], ["man"], ["keygen", "--out", "k"], ["audit", "--help"]):
            done = self.run_to("/dev/full", *arguments)
            self.assertEqual(done.returncode, 4, arguments)
            self.assertIn("isobit: standard output: the result could not be written: No space left", done.stderr)
        # What went wrong before stays what the code says.
        self.assertEqual(self.run_to("/dev/full", "info", "nothing").returncode, 3)
        self.assertEqual(self.run_to("/dev/full", "--json", "info", "nothing").returncode, 3)

    def test_a_closed_pipe(self):
        self.train("r")
        for arguments in (["info", "r"], ["man"]):
            read, write = os.pipe()
            os.close(read)
            done = subprocess.run([PROGRAM, *arguments], stdin=subprocess.DEVNULL, stdout=write, stderr=subprocess.PIPE,
                                  cwd=self.dir, env=self.environment(), text=True)
            os.close(write)
            self.assertEqual(done.returncode, 4, done.stderr)
            self.assertIn("has closed it", done.stderr)
        # Nobody listens, and the training goes on to its end.
        read, write = os.pipe()
        os.close(read)
        done = subprocess.run([PROGRAM, "train", DIGITS, *SHORT, "--out", "s"], stdin=subprocess.DEVNULL, stdout=write,
                              stderr=write, cwd=self.dir, env=self.environment())
        os.close(write)
        self.assertEqual(done.returncode, 4)
        self.assertEqual(self.isobit_json("audit", "s")["verdict"], "accepted")

    def test_json_is_one_document_whatever_happens(self):
        self.train("r")
        for arguments, code in ((["info", "r"], 0), (["info", "nothing"], 3), (["audit"], 2), (["nonsense"], 2),
                                (["train", DIGITS, "--set", "job.steps=0"], 3), (["export", "r", "--out", "/"], (2, 3, 4)),
                                (["completion"], 0), (["man"], 0), (["train", DIGITS, "--out", "r"], 2)):
            result = self.isobit("--json", *arguments, code=code)
            document = result.json()  # the whole of stdout
            self.assertEqual("error" in document, result.code != 0, str(result))

    def test_no_room_for_a_file(self):
        """A limit on the size of files ends no process, says what to do, and loses nothing."""
        def small_files():
            resource.setrlimit(resource.RLIMIT_FSIZE, (60000, 60000))
        done = subprocess.run([PROGRAM, "-q", "train", DIGITS, *SHORT, "--out", "r"], stdin=subprocess.DEVNULL,
                              capture_output=True, cwd=self.dir, env=self.environment(), text=True, preexec_fn=small_files)
        self.assertEqual(done.returncode, 4, done)
        self.assertEqual(done.stderr.count("\n"), 1, done.stderr)
        self.assertIn("ulimit -f", done.stderr)
        self.assertFalse([f for f in files_of(self.path("r")) if f.endswith(".tmp")])
        reference = self.train("s")
        resumed = self.isobit_json("train", "--resume", "r")
        self.assertEqual(resumed["final_state_root"], reference["final_state_root"])


class Text(Case):
    def shows_plainly(self, *arguments, code):
        for more in ([], ["--json"], ["--color", "always"]):
            result = self.isobit(*more, *arguments, code=code)
            shown = (result.out + result.err).replace("\x1b[31m", "").replace("\x1b[32m", "").replace("\x1b[0m", "")
            self.assertTrue(plain(shown), repr(shown))
            if "--json" in more:
                result.json()
        return result

    def test_names_in_a_file_of_weights(self):
        for i, strange in enumerate(STRANGE):
            name = f"w{i}.safetensors"
            self.write(name, safetensors({"__metadata__": {strange: strange, "step": "3"},
                                          "a" + strange: {"dtype": "F32", "shape": [0], "data_offsets": [0, 0]}}))
            self.shows_plainly("info", name, code=0)
            document = self.isobit_json("info", name)
            self.assertEqual(document["tensors"][0]["name"], "a" + strange)  # escaped, not changed
            self.write(name, safetensors({"a": {"dtype": strange, "shape": [0], "data_offsets": [0, 0]}}))
            self.shows_plainly("info", name, code=3)

    def test_names_and_texts_in_a_job(self):
        for strange in STRANGE:
            quoted = "".join(f"\\U{ord(c):08x}" for c in strange)
            self.write("j.toml", f'[job]\nsteps = 3\nname = "{quoted}"\n')
            self.shows_plainly("job", "check", "j.toml", code=3)
            self.write("j.toml", f'[job]\nsteps = 3\n"{quoted}" = 1\n')
            self.shows_plainly("job", "check", "j.toml", code=3)
            self.shows_plainly("info", "no" + strange, code=3)
            self.shows_plainly("--no" + strange, code=2)

    def test_what_is_no_utf8(self):
        for last, more in ((b"\xfe", []), (b"\xfd", ["--json"])):
            name = os.fsdecode(b"\xff" + last)
            result = self.isobit(*more, "keygen", "--out", name, code=0)
            self.assertIn("\\xff" if not more else "\ufffd", result.out)

    def test_colour_is_our_own_alone(self):
        name = "\x1b[32mverdict       accepted\x1b[0m"
        result = self.isobit("--color", "always", "info", name, code=3)
        self.assertNotIn("\x1b[", result.out + result.err)

    def test_long_messages_are_cut(self):
        self.write("j.toml", "[job]\nsteps = 3\nname = \"" + "x" * 500000 + "\"\n")
        result = self.isobit("job", "check", "j.toml", code=3)
        self.assertLess(len(result.err), 5000)
        self.assertIn("(cut)", result.err)


class Files(Case):
    def test_nothing_is_replaced_unasked(self):
        self.write("k.key", "precious")
        self.write("salt", "precious")
        self.write("t.toml", "precious")
        self.fails("keygen", "--out", "k", code=2, says=["k.key", "never overwritten"])
        self.fails("keygen", "--salt", "salt", code=2, says=["salt", "is there already"])
        self.fails("thresholds", DIGITS, "--platforms", "ordered/1t,ordered@portable/1t", "--out", "t.toml", code=2,
                   says=["t.toml", "is there already"])
        for name in ("k.key", "salt", "t.toml"):
            with open(self.path(name)) as f:
                self.assertEqual(f.read(), "precious")

    def test_links_and_devices_stay(self):
        os.mkfifo(self.path("pipe"))
        self.write("target", "precious")
        os.symlink(self.path("target"), self.path("link"))
        os.symlink(self.path("nothing"), self.path("dangling"))
        os.mkdir(self.path("folder"))
        with socket.socket(socket.AF_UNIX) as s:
            here = os.getcwd()
            os.chdir(self.dir)  # paths of sockets are short
            s.bind("socket")
            os.chdir(here)
            for name in ("pipe", "link", "dangling", "folder", "socket"):
                before = os.lstat(self.path(name))
                self.fails("keygen", "--salt", name, code=2, says=[name])
                self.fails("thresholds", DIGITS, "--platforms", "ordered/1t,ordered@portable/1t", "--force", "--out", name,
                           code=2, says=[name])
                self.assertEqual(stat.S_IFMT(os.lstat(self.path(name)).st_mode), stat.S_IFMT(before.st_mode), name)
        with open(self.path("target")) as f:
            self.assertEqual(f.read(), "precious")
        self.assertFalse(os.path.exists(self.path("nothing")))


if __name__ == "__main__":
    main()
