#!/usr/bin/env python3
"""Jobs, data, platforms and weights that are wrong: one clear line each, and nothing half-written."""
import gzip
import json
import os
import random
import struct

from isobit_cli import DIGITS, JOBS, SHORT, Case, files_of, main, overrides, shared_data

MNIST = os.path.join(JOBS, "mnist.toml")
GOOD = """[job]
name = "small"
steps = 3
[model]
builder = "logistic"
[data]
dataset = "digits"
batch = 4
[optimizer]
name = "sgd"
lr = 0.1
"""


class Refused(Case):
    """Every refusal is checked with all that a user could look at."""

    def refused(self, job, *arguments, code=3, says=()):
        before = files_of(self.dir)
        result = self.fails("-q", "train", job, "--out", "never", *arguments, code=code, says=says)
        self.assertFalse(os.path.exists(self.path("never")), str(result))
        self.assertEqual([f for f in files_of(self.dir) if not f.startswith("keys")],
                         [f for f in before if not f.startswith("keys")], str(result))
        self.fails("-q", "job", "check", job, *arguments, code=code, says=says)
        return result


class Job(Refused):
    def bad(self, text, *says, code=3):
        job = self.write("job.toml", text)
        return self.refused(job, code=code, says=says)

    def changed(self, old, new, *says):
        self.assertIn(old, GOOD)
        return self.bad(GOOD.replace(old, new), *says)

    def test_the_good_one_is_good(self):
        self.write("job.toml", GOOD)
        self.assertEqual(self.isobit_json("train", "job.toml")["run"], "small.run")
        self.assertEqual(self.isobit_json("audit", "small.run")["verdict"], "accepted")

    def test_malformed_toml(self):
        self.changed("steps = 3", "steps = ", "job.toml:3:9: ")
        self.changed("[model]", "[model", "job.toml:4:")
        self.changed('"logistic"', '"logistic', "job.toml:5:")
        self.changed("steps = 3", "steps = 3\nsteps = 4", "job.toml:4:", "steps")
        self.bad("\0\1\2", "job.toml:1:1: ")
        self.bad(b"\xff\xfe[job]", "job.toml:1: has a character outside of strings")
        self.bad("", "job.toml: job.steps: is missing")
        self.bad("[" * 100000, "job.toml:1:")
        self.bad("a" * (2 << 20), "job.toml", "more than")

    def test_unknown_names(self):
        self.changed("steps", "stpes", "job.toml: job.steps: is missing")
        self.changed("steps = 3", "steps = 3\nsede = 4", "job.toml:4: [job] has no key 'sede'; did you mean 'seed'?")
        self.changed("lr = 0.1", "lr = 0.1\nmomentun = 0.9", "job.toml:12: ", "did you mean 'momentum'?")
        self.changed("lr = 0.1", "lr = 0.1\nzzzzzz = 0.9", "[optimizer] has no key 'zzzzzz'; it has name, lr")
        self.bad(GOOD + "[checkpiont]\nevery = 3\n", "job.toml:12: ", "did you mean [checkpoint]?")
        self.bad(GOOD + "[zzzzzz]\n", "job.toml:12: ", "'zzzzzz'", "checkpoint or evaluate")
        self.bad("steps = 3\n" + GOOD, "job.toml:1: ", "'steps'")
        self.bad(GOOD.replace("[job]\nname = \"small\"\nsteps = 3\n", "job = 3\n"), "job.toml:1: ", "[job]")

    def test_wrong_types_and_ranges(self):
        self.changed("steps = 3", "steps = '3'", "job.toml:3: job.steps: ", "string", "whole number")
        self.changed("steps = 3", "steps = 3.0", "job.toml:3: job.steps: ", "whole number")
        self.changed("steps = 3", "steps = 0", "job.toml:3: job.steps: found 0, expected 1 to")
        self.changed("steps = 3", "steps = -9223372036854775808", "job.steps: found -9223372036854775808")
        self.changed("steps = 3", "steps = 9223372036854775808", "job.toml:3:")
        self.changed("steps = 3", "steps = 3\nseed = -1", "job.seed: found -1, expected 0 to")
        self.changed("batch = 4", "batch = 99999999999", "data.batch: found 99999999999")
        self.changed("lr = 0.1", "lr = nan", "optimizer.lr: ", "a number")
        self.changed("lr = 0.1", "lr = inf", "optimizer.lr: found inf")
        self.changed("lr = 0.1", "lr = -0.1", "optimizer.lr: found -0.1")
        self.changed("lr = 0.1", "lr = [1]", "optimizer.lr: ", "array")
        self.changed("lr = 0.1", "", "optimizer.lr: is missing")
        self.changed("lr = 0.1", "lr = 0.1\nmomentum = 1.0", "optimizer.momentum: found 1")
        self.changed("lr = 0.1", "lr = 0.1\nnesterov = true", "optimizer.nesterov: needs a momentum")
        self.changed("lr = 0.1", "lr = 0.1\nnesterov = 1", "optimizer.nesterov: ", "true or false")
        self.changed('name = "sgd"', 'name = "sdg"', "optimizer.name: found 'sdg', expected sgd, adam or adamw")
        self.changed('"small"', '"../small"', "job.name: found '../small', expected 1 to 64 letters")
        self.changed('"small"', '""', "job.name: ")
        self.changed("steps = 3", 'steps = 3\narithmetic = "ordered-9"', "job.arithmetic: found 'ordered-9'", "ordered-1")
        logged = ("steps = 3", 'steps = 3\narithmetic = "logged-1"')
        self.bad(GOOD + "[rounding]\nbits = 30\n", "[rounding]", "'ordered-1' does not round")
        for line, says in (("bits = 21", "22 to 32"), ('log = "paper"', "sparse or ovt"), ("divergence = -1", "0 to"),
                           ("divergence = 1e9", "0 to 134217728"), ("distance = true", "rounding.distance: found a value, expected none"),
                           ('log = "ovt"\ndistance = 1', "true or false"),
                           ("divergences = { Cnv = 3 }", "did you mean 'Conv'?"), ("divergences = 3", "a table of numbers"),
                           ("thresholds = { Conv = 0.7 }", "0 to 0.5"), ("margin = 4", "no key 'margin'"),
                           ('bound = "sound"\ndivergences = { Conv = 3 }', "rounding.divergences: found a value, expected none")):
            self.bad(GOOD.replace(*logged) + f"[rounding]\n{line}\n", "rounding", says)
        self.bad(GOOD + '[schedule]\nname = "cosine"\nwarmup = 3\n', "schedule.warmup: found 3, expected less than")
        self.bad(GOOD + '[schedule]\nname = "step"\n', "schedule.every: is missing")
        self.bad(GOOD + "[commit]\nevery = 0\n", "job.toml:13: commit.every: found 0, expected 1")

    def test_models_and_data_that_do_not_exist(self):
        self.changed('"logistic"', '"logistics"', "logistics", "logistic")
        self.changed('builder = "logistic"', "", "model.builder: is missing")
        self.changed('"digits"', '"digit"', 'found "digit"', 'did you mean "digits"?')
        self.changed('dataset = "digits"', "", "data.dataset: is missing", "cifar10")
        self.changed("batch = 4", 'batch = 4\npath = "x"', 'data.path: found a value, expected none')
        self.changed("batch = 4", 'batch = 4\naugment = ["spin"]', "data.augment", "spin")
        self.changed("batch = 4", "batch = 4\naugment = [1]", "data.augment", "list of texts")
        self.changed('"logistic"', '"gpt"', "gpt")

    def test_overrides(self):
        for text in ("steps=3", "job.steps", "=3", ".=", "job.=3", "job", ""):
            self.refused(DIGITS, "--set", text, code=2, says=["--set", "TABLE.KEY=VALUE"])
        self.refused(DIGITS, "--set", "job.stepz=3", says=["--set: [job] has no key 'stepz'; did you mean 'steps'?"])
        self.refused(DIGITS, "--set", "jab.steps=3", says=["--set: a job has no 'jab'", "did you mean [job]?"])
        self.refused(DIGITS, "--set", "job.steps=many", says=["--set: job.steps: ", "string", "whole number"])
        self.refused(DIGITS, "--set", "job.steps=0", says=["--set: job.steps: found 0"])
        self.fails("-q", "train", DIGITS, "--out", "never", "--set", "job.steps=", code=2, says=["job.steps=: has no value"])
        # What it sets fits the rest no more: the line of the file is named.
        self.refused(DIGITS, "--set", "job.steps=12", says=["digits.toml:23: schedule.warmup: found 20"])

    def test_no_job(self):
        self.refused("nothing.toml", says=["nothing.toml", "No such file"])
        self.refused(self.dir, says=[self.dir, "not a regular file"])
        self.refused("/dev/null", says=["/dev/null", "not a regular file"])
        self.bad('[job]\n"\\u001b[2J\\u0000" = 1\nsteps = 3\n', "\\x1b[2J\\x00")


class Names(Case):
    def test_too_long(self):
        self.train("r")
        name = 300 * "x"
        for command in (["train", name], ["train", DIGITS, "--out", name], ["train", DIGITS, "--out", "a/" + name + "/b"],
                        ["train", DIGITS, "--out", "s", "--keys", name], ["train", "--resume", name],
                        ["train", "--resume", "r", "--keys", name], ["train", MNIST, "--set", "data.path=" + name],
                        ["audit", name], ["audit", "r", "--keys", name], ["audit", "r", "--client-key", name],
                        ["verify", name], ["info", name], ["eval", name], ["eval", DIGITS, "--weights", name],
                        ["export", name, "--out", "w"], ["export", "r", "--out", name], ["keygen", "--out", name],
                        ["keygen", "--salt", name], ["job", "check", name],
                        ["cheat", DIGITS, "--kind", "rate", "--out", name]):
            result = self.isobit("-q", *command, code=(2, 3, 4))
            self.assertEqual((result.out, result.err.count("\n")), ("", 1), str(result))
            self.assertIn("xxx", result.err, str(result))
            self.assertNotIn("what()", result.err, str(result))

    def test_strange(self):
        for name in ("a b", "'", "\u00e4\U0001f600", "-r", "$HOME"):
            self.isobit("train", DIGITS, *SHORT, "--out=" + name)
            self.assertEqual(self.isobit_json("audit", os.path.join(".", name))["verdict"], "accepted")
        control = "\x1b[2J\n"
        result = self.isobit("info", control, code=3)
        self.assertEqual(result.err.count("\n"), 1)
        self.assertNotIn("\x1b", result.err)


class Platform(Refused):
    def test_unknown(self):
        for text in ("orderd", "ordered@avx3", "cuda:0", "ordered@", "ordered/0t", "ordered/2", "ordered/-1t",
                     "ordered/99999999999t", "ordered@portable/1t/2t"):
            self.refused(DIGITS, "--platform", text, code=2, says=[f"platform '{text}'"])
        self.refused(DIGITS, "--platform", "", code=2, says=["--platform", "is empty"])
        self.refused(DIGITS, "--platform", "orderd", code=2, says=["did you mean 'ordered'?", "isobit platforms"])

    def test_not_on_this_machine(self):
        here = {p["platform"].split("/")[0] for p in self.isobit_json("platforms")}
        absent = {f"ordered@{isa}" for isa in ("avx2", "avx512", "neon")} - here
        if not absent:
            self.skipTest("skipped: no platform is missing here")
        self.train("r")
        for platform in absent:
            name = platform.split("@")[1]
            self.refused(DIGITS, "--platform", platform, code=4, says=[f"no {name}", "isobit platforms"])
            self.fails("audit", "r", "--platform", platform, code=4, says=[f"no {name}"])
            self.fails("eval", "r", "--platform", platform, code=4, says=[f"no {name}"])


def idx(array_type, shape, data):
    return struct.pack(">HBB", 0, array_type, len(shape)) + struct.pack(f">{len(shape)}I", *shape) + data


def npy(descr, shape, data):
    header = f"{{'descr': '{descr}', 'fortran_order': False, 'shape': ({', '.join(map(str, shape))},), }}"
    header += " " * (-(len(header) + 11) % 64) + "\n"
    return b"\x93NUMPY\1\0" + struct.pack("<H", len(header)) + header.encode() + data


class Data(Refused):
    def setUp(self):
        super().setUp()
        generator = random.Random(3)
        self.pixels = {n: generator.randbytes(n * 28 * 28) for n in (20, 10)}
        self.labels = {n: bytes(generator.randrange(10) for _ in range(n)) for n in (20, 10)}
        self.mnist("mnist")
        self.small = overrides("job.steps=2", "schedule.warmup=0", "data.batch=4")

    def mnist(self, folder, **replaced):
        """The four files; `replaced`: train_images=bytes and so on, None for a file that is not there."""
        for part, prefix, n in (("train", "train", 20), ("test", "t10k", 10)):
            files = {"images-idx3": idx(8, (n, 28, 28), self.pixels[n]), "labels-idx1": idx(8, (n,), self.labels[n])}
            for name, data in files.items():
                key = f"{part}_{name[:6]}"
                data = replaced.get(key, gzip.compress(data))
                if data is not None:
                    self.write(f"{folder}/{prefix}-{name}-ubyte.gz", data)
        return overrides(f"data.path={folder}")

    def bad_mnist(self, *says, **replaced):
        # A new folder each time: files of the last one must not help.
        folder = f"bad{len(os.listdir(self.dir))}"
        return self.refused(MNIST, *self.small, *self.mnist(folder, **replaced), says=says)

    def test_trained_here_audited_there(self):
        trained = self.isobit_json("train", MNIST, *self.small, "--set", "data.path=mnist", "--out", "r")
        os.rename(self.path("mnist"), self.path("moved"))
        self.fails("audit", "r", code=3, says=["mnist/train-images-idx3-ubyte", "data.path"])
        there = ["--set", "data.path=moved"]
        self.assertEqual(self.isobit_json("audit", "r", *there)["verdict"], "accepted")
        self.assertEqual(self.isobit_json("eval", "r", *there)["top1"], trained["test_top1"])
        # The same data in another wrapping are the same data.
        with gzip.open(self.path("moved", "train-images-idx3-ubyte.gz")) as f:
            plain = f.read()
        self.write("moved/train-images-idx3-ubyte", plain)
        self.assertEqual(self.isobit_json("audit", "r", *there)["verdict"], "accepted")
        for at in (16, len(plain) - 1):
            changed = bytearray(plain)
            changed[at] ^= 1
            self.write("moved/train-images-idx3-ubyte", bytes(changed))
            audited = self.isobit_json("audit", "r", *there, code=1)
            self.assertEqual((audited["verdict"], audited["first_difference"]["part"]), ("rejected", "job"))

    def test_mnist(self):
        images = idx(8, (20, 28, 28), self.pixels[20])
        packed = gzip.compress(images)
        for size in (0, 5, 10, len(packed) // 2, len(packed) - 4, len(packed) - 1):
            self.bad_mnist("train-images-idx3-ubyte.gz", train_images=packed[:size])
        broken = bytearray(packed)
        broken[len(packed) // 2] ^= 0x55
        self.bad_mnist("train-images-idx3-ubyte.gz", train_images=bytes(broken))
        self.bad_mnist("train-images-idx3-ubyte.gz", train_images=images)
        wrong = [("first bytes 01000803", b"\1" + images[1:]), ("element type", images[:2] + b"\x0d" + images[3:]),
                 ("bytes of data", images[:-1]), ("bytes of data", images + b"\0"), ("28x28", idx(8, (20, 27, 28), images[16 + 560:])),
                 ("", images[:10]), ("", b""), ("", idx(8, (0, 28, 28), b"")), ("", idx(8, (15680,), self.pixels[20]))]
        for says, data in wrong:
            self.bad_mnist("train-images-idx3-ubyte", says, train_images=gzip.compress(data))
        for shape in ((0xffffffff,) * 3, (0xffffffff, 28, 28), (0x80000000, 0x80000000, 4)):
            self.bad_mnist("train-images-idx3-ubyte", train_images=gzip.compress(idx(8, shape, b"")))
        self.bad_mnist("found 19 labels, expected 20", train_labels=gzip.compress(idx(8, (19,), self.labels[20][:19])))
        self.bad_mnist("label of sample 3: found 10", test_labels=gzip.compress(idx(8, (10,), bytes([0, 1, 2, 10] * 2 + [0, 0]))))
        self.bad_mnist("t10k-images-idx3-ubyte", "neither", "data.path", test_images=None)
        self.refused(MNIST, *self.small, "--set", "data.path=nowhere", says=["nowhere/train-images-idx3-ubyte"])

    def test_cifar(self):
        job = self.write("c.toml", GOOD.replace('"digits"', '"cifar10"'))
        files = overrides("data.files=['train.bin']", "data.test_files=['test.bin']")
        record = bytes([3]) + bytes(3072)
        self.write("test.bin", record * 4)
        for data in (b"", record[:-1], record * 3 + b"\0"):
            self.write("train.bin", data)
            self.refused(job, *files, says=["train.bin", "3073"])
        self.write("train.bin", record + b"\x0a" + bytes(3072))
        self.refused(job, *files, says=["train.bin: record 1: found label 10"])
        os.remove(self.path("train.bin"))
        self.refused(job, *files, says=["train.bin", "No such file"])
        self.refused(job, says=["data.path"])
        self.refused(job, "--set", "data.path=mnist", says=["mnist", "data_batch_1.bin"])

    def test_npy(self):
        job = self.write("n.toml", GOOD.replace('"digits"', '"npy"'))
        paths = overrides("data.path=x.npy", "data.labels_path=y.npy")
        good_x, good_y = npy("<f4", (8, 1, 8, 8), bytes(2048)), npy("<i8", (8,), bytes(64))
        self.write("y.npy", good_y)
        for says, data in (("<c8", npy("<c8", (8, 64), bytes(4096))),
                           ("big-endian", npy(">f4", (8, 64), bytes(2048))), ("first bytes", b"PK" + good_x),
                           ("", good_x[:-1]), ("", good_x[:40]), ("", b""), ("[8, 0]", npy("<f4", (8, 0), b"")),
                           ("", npy("<f4", (2 ** 62, 2 ** 62), b"")), ("", npy("<f4", (2 ** 64,), b"")),
                           ("sample 0", npy("<f4", (8, 64), b"\0\0\x80\x7f" * 512)), ("|O", npy("|O", (8, 1), b""))):
            self.write("x.npy", data)
            self.refused(job, *paths, says=["x.npy", says])
        self.write("x.npy", good_x)
        self.refused(job, *paths, "--set", "data.bytes=unit", says=["data.bytes", "scaled"])
        for says, data in (("", b"\x93NUMPY"), ("7 labels", npy("<i8", (7,), bytes(56))),
                           ("-1", npy("<i8", (8,), b"\xff" * 64)), ("[8, 1]", npy("<i8", (8, 1), bytes(64)))):
            self.write("y.npy", data)
            self.refused(job, *paths, says=["y.npy", says])
        self.write("y.npy", good_y)
        # Data that are none of a network's own: it says what it takes.
        self.write("x.npy", npy("<f8", (8, 64), bytes(4096)))
        self.refused(job, *paths, says=["model.builder", "takes float32", "float64"])
        self.write("x.npy", good_x)
        self.write("y.npy", npy("<f4", (8,), bytes(32)))
        self.refused(job, *paths, says=["model.builder", "learns targets of kind class", "regression", "data.target"])
        self.refused(job, *paths, "--set", "data.target=class", says=["y.npy", "float32"])
        self.refused(job, *paths, "--set", "data.target=clas", says=["data.target", "class-per-token"])
        self.write("y.npy", good_y)
        two = ["--set", "data.inputs={a='x.npy', b='x.npy'}", "--set", "data.labels_path=y.npy"]
        self.refused(job, *two, says=["takes one input", "2 (a, b)"])
        self.refused(DIGITS, "--set", "data.target=class", says=["no key 'target'"])

    def test_text(self):
        job = self.write("t.toml", GOOD.replace('"digits"', '"text"').replace('"logistic"', '"gpt"'))
        self.write("book.txt", "too short")
        here = ["--set", "data.path=book.txt"]
        self.refused(job, *here, says=["context"])
        self.refused(job, *here, "--set", "data.context=64", says=["book.txt"])
        self.refused(job, "--set", "data.path=none.txt", "--set", "data.context=4", says=["none.txt"])

    def test_real_data(self):
        folder = shared_data("mnist")
        trained = self.isobit_json("train", MNIST, *self.small, *overrides("evaluate.samples=200", f"data.path={folder}"),
                                   "--out", "r")
        self.assertEqual(trained["steps"], 2)
        self.assertEqual(self.isobit_json("audit", "r", "--platform", "ordered@portable/1t")["verdict"], "accepted")


class Weights(Case):
    def test_not_weights(self):
        good = struct.pack("<Q", 2) + b"{}"
        for says, data in (("", b""), ("", b"\xff" * 8), ("", struct.pack("<Q", 1 << 60) + b"{}"), ("", good[:-1]),
                           ("missing", good), ("", struct.pack("<Q", 5) + b"[1,2]"),
                           ("", struct.pack("<Q", 60) + b'{"a":{"dtype":"F32","shape":[4],"data_offsets":[0,99999999]}}')):
            self.write("w.safetensors", data)
            self.fails("eval", DIGITS, "--weights", "w.safetensors", code=3, says=["w.safetensors", says])
        self.fails("eval", DIGITS, "--weights", "none.safetensors", code=3, says=["none.safetensors", "No such file"])
        self.train("r")
        self.isobit("export", "r", "--out", "w.safetensors", "--force")
        result = self.fails("eval", DIGITS, *SHORT, "--weights", "w.safetensors", "--set", "model.builder='mnist-cnn'",
                            code=3, says=["w.safetensors", "expected float32"])
        self.assertNotIn("checkpoint: checkpoint", result.err)

    def test_a_tensor_that_the_network_does_not_have(self):
        self.train("r")
        self.isobit("export", "r", "--out", "w.safetensors", "--force")
        with open(os.path.join(self.dir, "w.safetensors"), "rb") as f:
            data = f.read()
        length = struct.unpack("<Q", data[:8])[0]
        header, values = json.loads(data[8:8 + length]), data[8 + length:]
        header["fc.weihgt"] = {"dtype": "F32", "shape": [1], "data_offsets": [len(values), len(values) + 4]}
        text = json.dumps(header).encode()
        text += b" " * (-len(text) % 8)
        self.write("other.safetensors", struct.pack("<Q", len(text)) + text + values + bytes(4))
        self.isobit("eval", DIGITS, *SHORT, "--weights", "w.safetensors")
        self.fails("eval", DIGITS, *SHORT, "--weights", "other.safetensors", code=3,
                   says=["other.safetensors: found a tensor 'fc.weihgt', expected those of the job's network ('"])


if __name__ == "__main__":
    main()
