#!/usr/bin/env python3
"""A finished run that somebody changed: never accepted, never a crash, one clear line. With --slow many more bits."""
import json
import os
import random
import re
import shutil

from isobit_cli import DIGITS, SHORT, SLOW, Case, contents, files_of, main

FLIPS = 150 if SLOW else 6  # of each file


class Tampered(Case):
    def setUp(self):
        super().setUp()
        self.train("r")
        self.run_folder = self.path("r")
        self.original = contents(self.run_folder)

    def put(self, name, data):
        with open(os.path.join(self.run_folder, name), "wb") as f:
            f.write(data)

    def restore(self):
        shutil.rmtree(self.run_folder)
        for name, data in self.original.items():
            path = os.path.join(self.run_folder, name)
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(path, "wb") as f:
                f.write(data)

    def refused(self, command="verify", code=(1, 3), says=(), what=None):
        """Refused with code 1 and a reason on stdout, or with code 3 and one line on stderr."""
        result = self.isobit(command, "r", code=code)
        message = f"{what}: {result}"
        if result.code == 1:
            self.assertEqual(result.err, "", message)
            self.assertRegex(result.out, r"^verdict +rejected", message)
            reason = re.search(r"(?m)^reason +(.+)$", result.out)
            self.assertIsNotNone(reason, message)
            told = reason.group(1)
        else:
            self.assertEqual(result.out, "", message)
            self.assertRegex(result.err, r"\Aisobit: .+\n\Z", message)
            told = result.err
        self.assertTrue(told.isprintable() or told[:-1].isprintable(), message)
        for words in says:
            self.assertIn(words, told, message)
        return result

    def test_any_bit_of_any_file(self):
        generator = random.Random(5)
        for name, data in self.original.items():
            bits = {0, 8 * len(data) - 1} | {generator.randrange(8 * len(data)) for _ in range(FLIPS)}
            for number, bit in enumerate(sorted(bits)):
                changed = bytearray(data)
                changed[bit // 8] ^= 1 << (bit % 8)
                self.put(name, changed)
                self.refused("audit" if number == 0 else "verify", what=f"bit {bit} of {name}")
            self.put(name, data)
        self.assertEqual(self.isobit_json("audit", "r")["verdict"], "accepted")

    def test_a_file_gone_or_cut(self):
        for name, data in self.original.items():
            os.remove(os.path.join(self.run_folder, name))
            self.refused("audit", says=[] if name == "manifest.json" else [name], what=f"without {name}")
            for size in (0, 1, len(data) // 2, len(data) - 1):
                self.put(name, data[:size])
                self.refused(what=f"{name} cut to {size}")
            self.put(name, data + b"\0")
            self.refused(what=f"{name} with a byte more")
            self.put(name, data)
        self.assertEqual(self.isobit_json("verify", "r")["verdict"], "accepted")

    def test_a_file_more(self):
        for name in ("extra", "checkpoints/step-5.safetensors", "checkpoints/extra", "transcript.tmp"):
            self.put(name, b"x")
            self.refused("audit", code=1, says=[name], what=name)
            os.remove(os.path.join(self.run_folder, name))
        os.makedirs(os.path.join(self.run_folder, "folder"))
        self.refused(code=1, says=["folder"])
        os.rmdir(os.path.join(self.run_folder, "folder"))
        os.mkfifo(os.path.join(self.run_folder, "pipe"))
        self.refused(code=1, says=["pipe"])
        os.remove(os.path.join(self.run_folder, "pipe"))
        for name, data in self.original.items():
            self.write("elsewhere", data)
            os.remove(os.path.join(self.run_folder, name))
            os.symlink(self.path("elsewhere"), os.path.join(self.run_folder, name))
            self.refused(what=f"{name} a link")
            os.remove(os.path.join(self.run_folder, name))
            self.put(name, data)
        self.assertEqual(self.isobit_json("verify", "r")["verdict"], "accepted")

    def test_files_of_another_run(self):
        self.train("s", "--set", "job.seed=2")  # another job
        self.train("t")                         # another run of the same job
        for other in ("s", "t"):
            theirs = contents(self.path(other))
            self.assertEqual(self.isobit_json("verify", other)["verdict"], "accepted")
            for name in self.original:
                if theirs[name] == self.original[name]:
                    continue  # equal runs have equal weights
                self.put(name, theirs[name])
                self.refused(code=1, what=f"{name} of {other}")
                self.put(name, self.original[name])
            self.put("manifest.json", theirs["manifest.json"])
            self.put("manifest.sig", theirs["manifest.sig"])
            self.refused(code=1, what=f"manifest of {other}")
            self.restore()

    def test_from_a_newer_version(self):
        for name, tag in (("manifest.sig", b"isobit.manifest"), ("engagement", b"isobit.engagement")):
            data = bytearray(self.original[name])
            data[data.index(tag) + len(tag)] = 77
            self.put(name, data)
            for command in ("verify", "audit", "info", "eval"):
                self.fails(command, "r", code=3, says=[name, "newer version", "77", "update isobit"])
            self.put(name, self.original[name])
        # What a manifest says of itself counts once its signature is checked, and this is not what was signed.
        manifest = json.loads(self.original["manifest.json"])
        for version in (0, 2, 1000000):
            text = self.original["manifest.json"].replace(b'"version": 1', b'"version": %d' % version)
            self.assertEqual(json.loads(text), {**manifest, "version": version})
            self.put("manifest.json", text)
            self.refused(code=1, says=["manifest.sig", "not valid"])

    def test_an_unfinished_run_from_a_newer_version(self):
        for name in ("manifest.json", "manifest.sig"):
            os.remove(os.path.join(self.run_folder, name))
        self.assertEqual(self.isobit_json("info", "r")["finished"], False)
        self.fails("audit", "r", code=3, says=["unfinished", "resume"])
        for name, tag, version in (("transcript", b"isobit.transcript_file", 1), ("heads", b"isobit.heads_file", 1),
                                   ("engagement", b"isobit.engagement", 2)):
            data = bytearray(self.original[name])
            at = data.index(tag) + len(tag)
            self.assertEqual(data[at:at + 4], bytes([version, 0, 0, 0]), f"{name}: the version follows the tag")
            data[at] += 1
            self.put(name, data)
            self.fails("info", "r", code=3, says=[name, "newer version", "update isobit"])
            self.put(name, self.original[name])

    def test_signed_again_under_another_key(self):
        self.train("theirs", "--keys", self.path("their_keys"))
        self.assertNotEqual(contents(self.path("their_keys")), contents(self.path("keys")))
        self.assertEqual(self.isobit_json("audit", "theirs", "--keys", "their_keys")["verdict"], "accepted")
        for command in ("audit", "verify"):
            rejected = self.isobit_json(command, "theirs", code=1)
            self.assertEqual(rejected["verdict"], "rejected")
            self.assertIn("client", rejected["reason"])
        theirs = contents(self.path("theirs"))
        for names in (["engagement"], ["heads"], ["manifest.sig"], ["heads", "manifest.json", "manifest.sig"],
                      ["engagement", "heads", "manifest.json", "manifest.sig"]):
            for name in names:
                self.put(name, theirs[name])
            self.refused("audit", code=1, what=names)
            self.restore()

    def test_no_run_at_all(self):
        os.makedirs(self.path("empty"))
        for command in ("audit", "verify", "info", "eval", "export"):
            more = ["--out", "w"] if command == "export" else []
            self.fails(command, "nowhere", *more, code=3, says=["nowhere"])
            self.fails(command, "empty", *more, code=3, says=["empty", "not a bundle"])
            what = "is no verdict, evidence" if command == "verify" else "folder of a run"
            self.fails(command, DIGITS, *more, code=3, says=[DIGITS, what])
            self.assertFalse(os.path.exists(self.path("w")))

    def test_export_and_eval_of_a_changed_run(self):
        name = "checkpoints/step-12.safetensors"
        changed = bytearray(self.original[name])
        changed[-1] ^= 1
        self.put(name, changed)
        before = files_of(self.dir)
        for command in (["eval", "r"], ["export", "r", "--out", "w.safetensors"], ["info", "r"]):
            self.fails(*command, code=1, says=[name, "SHA-256"])
        self.assertEqual(files_of(self.dir), before)

    def test_unrelated_arguments_are_kept_apart(self):
        self.fails("train", DIGITS, *SHORT, "--out", os.path.join(self.run_folder, "job.toml"), code=2,
                   says=["job.toml"])
        self.assertEqual(contents(self.run_folder), self.original)


if __name__ == "__main__":
    main()
