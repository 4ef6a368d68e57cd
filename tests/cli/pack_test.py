#!/usr/bin/env python3
"""A run as one file, and back."""
import os
import tarfile

from isobit_cli import Case, contents, files_of, main


class Pack(Case):
    def test_there_and_back(self):
        trained = self.train("r")
        packed = self.isobit_json("pack", "r", "--out", "r.tar")
        self.assertEqual((packed["transcript_root"], packed["files"]), (trained["transcript_root"], len(files_of(self.path("r")))))
        self.assertEqual(packed["bytes"], os.path.getsize(self.path("r.tar")))
        self.assertTrue(packed["client_pinned"])
        self.isobit("unpack", "r.tar", "--out", "back")
        self.assertEqual(contents(self.path("back")), contents(self.path("r")))
        self.assertEqual(self.isobit_json("audit", "back")["verdict"], "accepted")
        self.isobit("pack", "back", "--out", "again.tar")
        both = contents(self.dir)
        self.assertEqual(both["again.tar"], both["r.tar"])
        # Other programs read it too.
        with tarfile.open(self.path("r.tar")) as tar:
            names = tar.getnames()
            self.assertEqual(names[:4], ["engagement", "manifest.json", "manifest.sig", "job.toml"])
            self.assertEqual(sorted(names), files_of(self.path("r")))
            for name in names:
                self.assertEqual(tar.extractfile(name).read(), both[os.path.join("r", name)], name)

    def test_nothing_half_written(self):
        self.train("r")
        self.isobit("pack", "r", "--out", "r.tar")
        before = files_of(self.dir)
        with open(self.path("r.tar"), "rb") as f:
            good = f.read()
        for bad in (b"", b"x", good[:-512], good[:512], good + bytes(512), good[:700] + b"!" + good[701:],
                    good[:-3000] + b"!" + good[-2999:]):
            self.write("bad.tar", bad)
            self.fails("unpack", "bad.tar", "--out", "bad", code=(1, 3), says=["bad.tar"])
            self.assertEqual(files_of(self.dir), sorted([*before, "bad.tar"]))
            self.assertFalse(os.path.exists(self.path("bad")))
        self.fails("unpack", "r.tar", "--out", "r", code=2, says=["is a folder"])
        self.fails("unpack", "r.tar", "--out", "r.tar", code=2, says=["is there already"])
        self.fails("unpack", "nothing.tar", "--out", "b", code=3, says=["nothing.tar"])
        self.fails("unpack", "r", "--out", "b", code=3, says=["a folder"])
        self.fails("pack", "r.tar", "--out", "b", code=3, says=["r.tar"])
        os.remove(self.path("r", "manifest.json"))
        self.fails("pack", "r", "--out", "b", code=3, says=["unfinished"])
        self.isobit("keygen", "--out", "stranger")
        self.fails("unpack", "r.tar", "--out", "b", "--client-key", "stranger.pub", code=1, says=["client_key"])
        self.assertFalse(os.path.exists(self.path("b")))


if __name__ == "__main__":
    main()
