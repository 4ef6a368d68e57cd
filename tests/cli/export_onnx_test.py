#!/usr/bin/env python3
"""isobit export --onnx: the network of a run as other programs open it."""
import os
import shutil
import struct

from isobit_cli import DIGITS, Case, files_of, main, overrides
from onnx_by_hand import npy


def real_npy(values, shape):
    return npy("<f4", shape, struct.pack(f"<{len(values)}f", *values))


def floats_of(path):
    with open(path, "rb") as f:
        data = f.read()
    return data[10 + struct.unpack_from("<H", data, 8)[0]:]


class ExportOnnx(Case):
    def setUp(self):
        super().setUp()
        self.train("digits.run", *overrides("model.builder=logistic"))

    def test_the_model_is_one_that_isobit_reads(self):
        told = self.isobit_json("export", "digits.run", "--onnx")
        self.assertEqual((told["file"], told["opset"], told["batch"], told["data_file"]), ("digits.onnx", 17, None, None))
        info = self.isobit_json("info", "digits.onnx")
        self.assertEqual(info["inputs"], [{"name": "input", "dtype": "float32", "shape": ["batch", 1, 8, 8]}])
        self.assertEqual(info["outputs"], [{"name": "fc", "dtype": "float32", "shape": ["batch", 10]}])
        self.assertEqual(info["operators"], {"Gemm": 1, "Reshape": 1})
        self.assertEqual((info["producer"], info["parameters"], info["supported"]), ("isobit", 650, True))
        line = self.isobit("export", "digits.run", "--onnx", "--force").out
        self.assertRegex(line, r"wrote +digits\.onnx: \d tensors, .*, after step 12, ONNX opset 17, any batch\n")

    def test_the_same_run_gives_the_same_bytes(self):
        for name in ("a.onnx", "b.onnx"):
            self.isobit("export", "digits.run", "--onnx", "-o", name)
        with open(self.path("a.onnx"), "rb") as a, open(self.path("b.onnx"), "rb") as b:
            self.assertEqual(a.read(), b.read())

    def test_samples_do_not_meet(self):
        self.isobit("export", "digits.run", "--onnx")
        values = [((i * 37) % 101) / 50 - 1 for i in range(5 * 64)]
        rows = {}
        for name, batch in (("all", 5), ("first", 1)):
            self.write(f"{name}.npy", real_npy(values[:batch * 64], (batch, 1, 8, 8)))
            self.isobit("run", "digits.onnx", "--input", f"{name}.npy", "--out", name)
            rows[name] = floats_of(self.path(name, files_of(self.path(name))[0]))
        self.assertEqual(len(rows["all"]), 5 * 10 * 4)
        self.assertEqual(rows["all"][:40], rows["first"])

    def test_opset_and_batch_are_chosen(self):
        told = self.isobit_json("export", "digits.run", "--onnx", "--opset", "22", "--batch", "3", "-o", "m.onnx")
        self.assertEqual((told["opset"], told["ir_version"], told["batch"]), (22, 10, 3))
        info = self.isobit_json("info", "m.onnx")
        self.assertEqual((info["opsets"], info["inputs"][0]["shape"]), ({"ai.onnx": 22}, [3, 1, 8, 8]))

    def test_a_checkpoint(self):
        told = self.isobit_json("export", "digits.run", "--onnx", "--step", "4", "-o", "m.onnx")
        self.assertEqual(told["step"], 4)

    def test_what_makes_no_sense(self):
        self.fails("export", "digits.run", "--onnx", "--all", code=2, says=["--all"])
        self.fails("export", "digits.run", "-o", "w", "--opset", "17", code=2, says=["--onnx"])
        self.fails("export", "digits.run", "-o", "w", "--batch", "1", code=2, says=["--onnx"])
        self.fails("export", "digits.run", code=2, says=["--out"])
        for opset in ("0", "16", "26", "9999999999999999999"):
            self.fails("export", "digits.run", "--onnx", "--opset", opset, code=2, says=["--opset", "17 to 25"])
        self.fails("export", "digits.run", "--onnx", "--batch", "0", code=2, says=["--batch"])
        self.fails("export", "digits.run", "--onnx", "--set", "data.batch=9", code=2, says=["--set"])
        self.fails("export", ".", "--onnx", code=2, says=["--out"])
        self.fails("export", "absent.run", "--onnx", code=3, says=["absent.run"])
        self.assertEqual([n for n in os.listdir(self.dir) if n.endswith(("onnx", ".data"))], [])

    def test_nothing_is_replaced_unasked(self):
        path = self.write("digits.onnx", "mine")
        self.fails("export", "digits.run", "--onnx", code=2, says=["digits.onnx"])
        with open(path) as f:
            self.assertEqual(f.read(), "mine")
        self.isobit("export", "digits.run", "--onnx", "--force")
        self.assertTrue(self.isobit_json("info", "digits.onnx")["supported"])

    def test_data_whose_files_alone_say_their_shape(self):
        folder = self.path("data")
        self.write("data/inputs.npy", real_npy([i / 7 for i in range(12 * 6)], (12, 6)))
        self.write("data/labels.npy", npy("<i8", (12,), struct.pack("<12q", *[i % 3 for i in range(12)])))
        data = overrides("model.builder=logistic", "data.dataset=npy", f"data.path={folder}/")
        self.isobit("train", DIGITS, *data, *overrides("job.steps=2", "schedule.warmup=1", "data.batch=2"), "--out", "npy.run")
        self.isobit("export", "npy.run", "--onnx")  # one's own home knows where the data lie
        self.assertEqual(self.isobit_json("info", "npy.onnx")["inputs"][0]["shape"], ["batch", 6])
        elsewhere = dict(ISOBIT_HOME=self.path("other"))
        self.fails("export", "npy.run", "--onnx", "-o", "b.onnx", code=3, env=elsewhere)
        self.isobit("export", "npy.run", "--onnx", "-o", "b.onnx", "--set", f"data.path={folder}/", env=elsewhere)


JOB = """[job]
name = "same"
seed = 5
steps = {steps}
[model]
{model}
[data]
{data}
batch = 8
[optimizer]
name = "adamw"
lr = {lr}
weight_decay = {decay}
[evaluate]
samples = 12
"""
TEXT = "context = 8\ndataset = \"text\"\npath = \"text.txt\""


class OfABuilder(Case):
    """A builder's network, exported with the values that it begins with, trains as the builder does."""

    def roots(self, model, data, arithmetic="ordered-1"):
        """Of the builder's run and of the one of its export: state root, loss, how many are right."""
        def train(name, **fields):
            self.write(f"{name}.toml", JOB.format(data=data, **fields))
            return self.isobit_json("train", f"{name}.toml", "--set", f"job.arithmetic={arithmetic}", "--out", f"{name}.run")

        # A step that changes nothing, so that what is exported are the values of the beginning.
        train("still", steps=1, model=model, lr=0, decay=0)
        self.isobit("export", "still.run", "--onnx", "-o", "m.onnx")
        told = [train("own", steps=5, model=model, lr=0.01, decay=0.1),
                train("file", steps=5, model='onnx = "m.onnx"', lr=0.01, decay=0.1)]
        return [(t["final_state_root"], t["test_loss"], t["test_top1"]) for t in told]

    def test_it_has_the_same_state_root(self):
        self.write("text.txt", "the same network, weights and input give the same bits on other machines. " * 20)
        digits = 'dataset = "digits"'
        for model, data in (("logistic", digits), ("digits-cnn", digits), ("mnist-cnn", digits),
                            ('gpt"\nlayers = 1\nheads = 2\nchannels = 16\ndropout = 0 #"', TEXT)):
            for arithmetic in ("ordered-1", "correct-1", "logged-1"):
                with self.subTest(model=model, arithmetic=arithmetic):
                    own, file = self.roots(f'builder = "{model}"', data, arithmetic)
                    self.assertEqual(own, file)
                    shutil.rmtree(self.path("keys"))
                    for name in ("still", "own", "file"):
                        shutil.rmtree(self.path(f"{name}.run"))
                    os.remove(self.path("m.onnx"))

    def test_what_drops_in_training_alone_is_not_in_the_file(self):
        self.write("text.txt", "to drop or not to drop. " * 40)
        own, file = self.roots('builder = "gpt"\nlayers = 1\nheads = 2\nchannels = 16\ndropout = 0.5', TEXT)
        self.assertNotEqual(own[0], file[0])


if __name__ == "__main__":
    main()
