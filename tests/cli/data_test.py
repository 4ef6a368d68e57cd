#!/usr/bin/env python3
"""Data of one's own: .npy files and folders of images, from `job check` to the audit on other files."""
import gzip
import os
import random
import struct
import zlib

from isobit_cli import JOBS, Case, main, overrides, shared_data

JOB = """[job]
name = "own"
steps = 4
[model]
builder = "logistic"
[data]
dataset = "{dataset}"
batch = 4
[optimizer]
name = "sgd"
lr = 0.1
"""


def npy(descr, shape, data):
    header = f"{{'descr': '{descr}', 'fortran_order': False, 'shape': ({', '.join(map(str, shape))},), }}"
    header += " " * (-(len(header) + 11) % 64) + "\n"
    return b"\x93NUMPY\1\0" + struct.pack("<H", len(header)) + header.encode() + data


def png(width, height, pixels, level=6):
    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
    rows = b"".join(b"\0" + pixels[y * width:(y + 1) * width] for y in range(height))
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)) + \
        chunk(b"IDAT", zlib.compress(rows, level)) + chunk(b"IEND", b"")


class Own(Case):
    def setUp(self):
        super().setUp()
        self.draw = random.Random(7)

    def idx(self, path):
        with gzip.open(path) as f:
            data = f.read()
        return data

    def audited(self, *there, code=0):
        return self.isobit_json("audit", "r", *there, code=code)

    def refused_data(self, *there):
        """The audit of run r with those data ends before its first step."""
        verdict = self.audited(*there, code=1)
        self.assertEqual((verdict["verdict"], verdict["first_difference"]["part"]), ("rejected", "job"))
        shown = self.isobit("audit", "r", *there, code=1)
        self.assertIn("the dataset differs", shown.out + shown.err)


class Images(Own):
    def setUp(self):
        super().setUp()
        self.job = self.write("i.toml", JOB.format(dataset="images"))
        self.files = {}
        for part, n in (("train", 6), ("test", 3)):
            for label in ("ant", "bee"):
                for i in range(n):
                    self.files[f"{part}/{label}/{i}.png"] = self.draw.randbytes(6 * 5)
        self.put("pictures")

    def put(self, folder, level=6):
        for name, pixels in self.files.items():
            self.write(f"{folder}/{name}", png(6, 5, pixels, level))

    def test_are_checked_trained_and_audited(self):
        here = overrides("data.path=pictures")
        checked = self.isobit_json("job", "check", self.job, *here)
        self.assertEqual((checked["train_samples"], checked["test_samples"]), (12, 6))
        self.assertEqual(checked["inputs"], [{"name": "input", "dtype": "float32", "shape": [1, 5, 6]}])
        self.assertEqual(checked["target"], {"kind": "class", "shape": [], "classes": 2})
        self.assertIn("input float32 [1, 5, 6]; one of 2 classes", self.isobit("job", "check", self.job, *here).out)
        self.isobit("train", self.job, *here, "--out", "r")
        self.assertEqual(self.audited()["verdict"], "accepted")
        # Written otherwise, and under other names: the same pixels are the same data.
        self.files = {name.replace(".png", ".PNG"): pixels for name, pixels in self.files.items()}
        self.put("elsewhere", level=0)
        self.assertEqual(self.audited(*overrides("data.path=elsewhere"))["verdict"], "accepted")
        # One value of one pixel of one image of the test.
        name = "test/bee/2.PNG"
        self.files[name] = bytes([self.files[name][0] ^ 1]) + self.files[name][1:]
        self.put("elsewhere")
        self.refused_data(*overrides("data.path=elsewhere"))

    def test_are_brought_to_a_size(self):
        self.write("pictures/train/ant/9.png", png(3, 3, bytes(9)))
        self.fails("-q", "train", self.job, "--set", "data.path=pictures", code=3, says=["train/ant/9.png", "data.height"])
        small = overrides("data.path=pictures", "data.height=4", "data.width=4", "data.channels=3")
        checked = self.isobit_json("job", "check", self.job, *small)
        self.assertEqual(checked["inputs"][0]["shape"], [3, 4, 4])
        self.isobit("train", self.job, *small, "--out", "r")
        self.assertEqual(self.audited()["verdict"], "accepted")

    def test_wrong_fields(self):
        at = ["--set", "data.path=pictures"]
        for says, setting in (("height alone", "data.height=4"), ("1 (grey) or 3", "data.channels=2"),
                              ("no key 'target'", "data.target=class"), ("no key 'classes'", "data.classes=2"),
                              ("data.files", "data.files=['x']")):
            self.fails("-q", "train", self.job, *at, "--set", setting, code=3, says=[says])


class Npy(Own):
    def test_large_files_stay_on_the_disk(self):
        rows, side = 3000, 112
        pixels = self.draw.randbytes(rows * side * side)
        self.write("d/inputs.npy", npy("|u1", (rows, 1, side, side), pixels))
        self.write("d/labels.npy", npy("<i8", (rows,), b"".join(struct.pack("<q", i % 5) for i in range(rows))))
        job = self.write("n.toml", JOB.format(dataset="npy"))
        here = overrides("data.path=d")
        held = self.isobit_json("job", "check", job, *here)
        # 36 MiB in one file: beyond what is held.
        self.assertLess(held["data_held_bytes"], 1 << 20)
        self.isobit("train", job, *here, "--out", "r")
        self.assertEqual(self.audited()["verdict"], "accepted")
        part = 2000
        self.write("s/inputs.npy", npy("|u1", (part, 1, side, side), pixels[:part * side * side]))
        self.write("s/labels.npy", npy("<i8", (part,), b"".join(struct.pack("<q", i % 5) for i in range(part))))
        small = self.isobit_json("job", "check", job, "--set", "data.path=s")
        self.assertGreater(small["data_held_bytes"], part * side * side)
        changed = bytearray(pixels)
        changed[-1] ^= 1
        self.write("d/inputs.npy", npy("|u1", (rows, 1, side, side), bytes(changed)))
        self.refused_data()

    def test_several_inputs_are_named_from_where_one_is(self):
        self.write("in/a.npy", npy("<f4", (8, 2), bytes(64)))
        self.write("in/y.npy", npy("<i8", (8,), bytes(64)))
        job = self.write("jobs/n.toml", JOB.format(dataset="npy") + "[data.inputs]\ninput = \"../in/a.npy\"\n")
        self.assertEqual(self.isobit_json("job", "check", job, "--set", "data.labels_path=in/y.npy",
                                          "--set", "data.classes=3")["target"]["classes"], 3)
        named = ["--set", "data.inputs={input='in/a.npy'}", "--set", "data.labels_path=in/y.npy"]
        self.isobit("train", job, *named, "--out", "r")
        self.assertEqual(self.audited()["verdict"], "accepted")
        # The home keeps where they lie; the run does not say it.
        with open(self.path("r", "job.toml")) as f:
            self.assertNotIn("a.npy", f.read())
        os.rename(self.path("in"), self.path("moved"))
        self.fails("audit", "r", code=3, says=["in/a.npy"])
        there = ["--set", "data.inputs={input='moved/a.npy'}", "--set", "data.labels_path=moved/y.npy"]
        self.assertEqual(self.audited(*there)["verdict"], "accepted")

    def test_real_data_in_another_format_are_the_same_training(self):
        folder = shared_data("mnist")
        job, short = os.path.join(JOBS, "mnist.toml"), overrides("job.steps=3", "schedule.warmup=0", "evaluate.samples=50")
        for part, prefix in (("train", ""), ("t10k", "test_")):
            images = self.idx(os.path.join(folder, f"{part}-images-idx3-ubyte.gz"))[16:]
            labels = self.idx(os.path.join(folder, f"{part}-labels-idx1-ubyte.gz"))[8:]
            self.write(f"m/{prefix}inputs.npy", npy("|u1", (len(labels), 1, 28, 28), images))
            self.write(f"m/{prefix}labels.npy", npy("|u1", (len(labels),), labels))
        one = self.isobit_json("train", job, *short, "--set", f"data.path={folder}", "--out", "a")
        other = self.isobit_json("train", job, *short, "--set", "data.dataset=npy", "--set", "data.path=m", "--out", "b")
        self.assertEqual(one["final_state_root"], other["final_state_root"])
        self.assertEqual(one["test_top1"], other["test_top1"])


if __name__ == "__main__":
    main()
