#!/usr/bin/env python3
"""isobit measure --import: tensors that somebody else's program wrote."""
import os
import signal
import sqlite3
import struct
import zipfile

from isobit_cli import main
from limits_test import MEGABYTE, Limited
from onnx_by_hand import npy


class Import(Limited):
    """Tensors that somebody's own program wrote."""

    def dump(self, name, tensors):
        os.makedirs(os.path.dirname(self.path(name)), exist_ok=True)
        with zipfile.ZipFile(self.path(name), "w") as archive:
            for key, values in tensors.items():
                archive.writestr(key + ".npy", npy("<f4", [len(values)], struct.pack(f"<{len(values)}f", *values)))

    def test_two_runs_are_compared_where_isobit_never_ran(self):
        for cluster, last in (("a", 4.0), ("b", 5.0)):
            self.dump(f"{cluster}/step_9.npz", {"z_first": [1.0, 2.0], "a_second": [3.0]})
            self.dump(f"{cluster}/step_10.npz", {"z_first": [1.0, 2.0], "a_second": [last], "third": [last]})
            told = self.isobit_json("measure", "--import", self.path(cluster), "--out", self.path(f"{cluster}.lab"))
            self.assertEqual((told["platform"], told["steps"], told["values"]), (cluster, 2, 5))
        told = self.isobit_json("compare", self.path("a.lab"), self.path("b.lab"), code=1)["subjects"][0]
        fork = told["operators"]["first_fork"]
        self.assertEqual((fork["step"], fork["name"], fork["place"]), (10, "a_second", 3))
        self.assertEqual(told["largest_difference"]["absolute"], 1.0)

    def test_names_in_any_script(self):
        self.dump("a/0.npz", {"sch\u00f6n": [1.0], "\u5c64 2": [2.0]})
        env = {"LC_ALL": "C"}
        self.assertEqual(self.isobit_json("measure", "--import", self.path("a"), "--out", self.path("a.lab"), env=env)["values"], 2)
        told = self.isobit_json("compare", self.path("a.lab"), code=4)["subjects"][0]["classes"][0]["outputs"]
        self.assertEqual([value["name"] for value in told], ["sch\u00f6n", "\u5c64 2"])

    def test_long_names_are_cut_in_the_text(self):
        name = "n" * 60000
        for folder, made in (("a", 1.0), ("b", 2.0)):
            self.dump(f"{folder}/0.npz", {name: [made]})
            self.isobit("measure", "--import", self.path(folder), "--out", self.path(f"{folder}.lab"))
        labs = [self.path("a.lab"), self.path("b.lab")]
        self.assertLess(len(self.isobit("compare", *labs, code=1).out), 4000)
        self.assertEqual(self.isobit_json("compare", *labs, code=1)["subjects"][0]["operators"]["first_fork"]["name"], name)

    def test_a_small_file_with_a_large_tensor(self):
        count = 32 * MEGABYTE  # of zeros: 128 MiB, which pack well
        os.mkdir(self.path("z"))
        with zipfile.ZipFile(self.path("z", "0.npz"), "w", zipfile.ZIP_DEFLATED) as archive, archive.open("x.npy", "w") as entry:
            entry.write(npy("<f4", [count], b""))
            for _ in range(count * 4 // MEGABYTE):
                entry.write(bytes(MEGABYTE))
        lab = ["measure", "--import", self.path("z"), "--out", self.path("z.lab"), "--max-memory"]
        self.limited(*lab, "100M", "--keep", "none", code=4, says=["0.npz: entry 'x.npy'", "105 MB", "--max-memory"], resident=100 * MEGABYTE)
        self.limited(*lab, "300M", code=4, says=["0.npz: entry 'x.npy'", "--keep none"], resident=100 * MEGABYTE)
        self.assertFalse(os.path.exists(self.path("z.lab")))
        self.limited(*lab, "140M", "--keep", "none", code=0, resident=200 * MEGABYTE)  # one copy

    def test_what_is_kept_is_what_was_hashed(self):
        # The second step is written anew while the first one goes into the lab, be that new or not.
        for name in ("new.lab", "old.lab"):
            if name == "old.lab":
                self.dump("before/0.npz", {"w": [7.0]})
                self.isobit("measure", "--import", self.path("before"), "--out", self.path(name))
            self.dump("d/0.npz", {"x": [1.0]})
            self.dump("d/1.npz", {"x": [2.0]})
            process = self.start_until(name, 1, "measure", "--import", self.path("d"), "--out", self.path(name))
            self.dump("d/1.npz", {"x": [3.0]})
            process.send_signal(signal.SIGCONT)
            _, err = process.communicate(timeout=60)
            self.assertEqual(process.returncode, 0, err)
            with sqlite3.connect(self.path(name)) as lab:
                self.assertEqual(lab.execute("SELECT count(*) FROM run_values WHERE hash NOT IN (SELECT hash FROM tensors)").fetchall(), [(0,)])

    def test_of_a_folder_with_a_damaged_step_nothing_is_in_a_lab(self):
        self.dump("before/0.npz", {"w": [7.0]})
        self.isobit("measure", "--import", self.path("before"), "--out", self.path("m.lab"))
        self.dump("d/0.npz", {"x": [1.0]})
        self.write("d/1.npz", "no archive")
        with open(self.path("m.lab"), "rb") as file:
            whole = file.read()
        for name in ("m.lab", "new.lab"):
            self.fails("measure", "--import", self.path("d"), "--out", self.path(name), code=3, says=["1.npz"])
        with open(self.path("m.lab"), "rb") as file:
            self.assertEqual(file.read(), whole)
        self.assertEqual([n for n in os.listdir(self.dir) if ".lab" in n], ["m.lab"])

    def test_hostile_folders(self):
        lab = ["--out", self.path("m.lab")]
        self.fails("measure", "--import", self.path("none"), *lab, code=3, says=["none"])
        os.mkdir(self.path("empty"))
        self.fails("measure", "--import", self.path("empty"), *lab, code=2, says=["no .npz or .safetensors"])
        self.dump("good/0.npz", {"x": [1.0]})
        with open(self.path("good", "0.npz"), "rb") as file:
            whole = file.read()
        self.write("cut/0.npz", whole[:-10])
        self.fails("measure", "--import", self.path("cut"), *lab, code=3, says=["0.npz", "no whole .npz file"])
        self.write("pickled/0.npz", whole.replace(b"'<f4'", b"'|O8'"))
        self.fails("measure", "--import", self.path("pickled"), *lab, code=3, says=["0.npz"])
        with zipfile.ZipFile(self.path("good", "1.npz"), "w") as archive:
            archive.writestr("../../x.txt", "no tensor")
        self.fails("measure", "--import", self.path("good"), *lab, code=3, says=["1.npz", "expected an .npy file"])
        self.write("bad/0.safetensors", b"\xff" * 20)
        self.fails("measure", "--import", self.path("bad"), *lab, code=3, says=["0.safetensors"])
        for option in (["--platforms", "ordered"], ["--repeat", "2"], ["--max-seconds", "5"],
                       ["--python", "python3"], ["--engines", "x"], ["--keep", "forks"], ["--seed", "1"]):
            self.fails("measure", "--import", self.path("good"), *lab, *option, code=2, says=[option[0]])
        self.fails("measure", "m.onnx", *lab, "--as", "x", code=2, says=["--as", "--import"])


if __name__ == "__main__":
    main()
