#!/usr/bin/env python3
"""What commands that write a result may replace, and where they may write it."""
import os
import shutil
import socket
import stat

from isobit_cli import DIGITS, SHORT, Case, contents, files_of, main


class Outputs(Case):
    WRITERS = (("export", "r"), ("pack", "r"))

    def setUp(self):
        super().setUp()
        self.train("r")

    def test_nothing_is_replaced_unasked(self):
        for command in self.WRITERS:
            self.write("out", "precious")
            self.fails(*command, "--out", "out", code=2, says=["out", "is there already"])
            with open(self.path("out")) as f:
                self.assertEqual(f.read(), "precious")
            self.isobit(*command, "--out", "out", "--force")
            self.assertGreater(os.path.getsize(self.path("out")), 1000)
            self.assertFalse([name for name in files_of(self.dir) if name.endswith(".tmp")])

    def test_only_regular_files_are_ever_replaced(self):
        os.mkfifo(self.path("pipe"))
        self.write("target", "precious")
        os.symlink("target", self.path("link"))
        os.symlink("nothing", self.path("dangling"))
        os.mkdir(self.path("folder"))
        with socket.socket(socket.AF_UNIX) as s:
            here = os.getcwd()
            os.chdir(self.dir)  # paths of sockets are short
            s.bind("socket")
            os.chdir(here)
            names = ["pipe", "link", "dangling", "folder", "socket", "/dev/null"]
            for command in (*((*c, "--force") for c in self.WRITERS), ("unpack", "r.tar")):
                for name in names:
                    before = os.lstat(self.path(name))
                    self.fails(*command, "--out", name, code=2, says=[name])
                    after = os.lstat(self.path(name))
                    self.assertEqual((stat.S_IFMT(after.st_mode), after.st_ino), (stat.S_IFMT(before.st_mode), before.st_ino))
        with open(self.path("target")) as f:
            self.assertEqual(f.read(), "precious")
        self.assertFalse(os.path.exists(self.path("nothing")))

    def test_never_into_a_run(self):
        self.isobit("pack", "r", "--out", "r.tar")
        shutil.copytree(self.path("r"), self.path("begun"))
        os.remove(self.path("begun", "manifest.json"))
        os.symlink("r", self.path("alias"))
        before = contents(self.path("r"))
        for out in ("r/w", "r/checkpoints/step-12.safetensors", "r/checkpoints/w", "begun/w", "alias/w", "./r/../r/w", "r/new/w"):
            for command in (*((*c, "--force") for c in self.WRITERS), ("unpack", "r.tar"), ("audit", "r", "--verdict"),
                            ("train", DIGITS, *SHORT), ("run", "m.onnx"), ("keygen",), ("keygen", "--salt")):
                option = () if command[-1] in ("--verdict", "--salt") else ("--out",)
                if command[0] in ("unpack", "audit", "train", "run", "keygen") and out.endswith("12.safetensors"):
                    continue  # refused for being there
                self.fails(*command, *option, out, code=2, says=["lies in the run", out])
        self.assertEqual(contents(self.path("r")), before)


if __name__ == "__main__":
    main()
