#!/usr/bin/env python3
"""Builders with a library's names: steps against PyTorch's, and weights there and back, as the libraries read and write
them.

usage: library_networks_test.py ISOBIT TRAINING_DUMP

With the interpreter of ISOBIT_PYTHON, where that one has torchvision and transformers. Exit status 77 without.
"""
import os
import subprocess
import sys
import tempfile
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PYTHON = os.environ.get("ISOBIT_PYTHON", sys.executable)
LIBRARIES = "import numpy, onnx, safetensors.torch, torch, torchvision, transformers"
ISOBIT = DUMP = ""

JOB = """[job]
steps = 2
[model]
weights = "w/model.safetensors"
{model}
[data]
dataset = "npy"
path = "."
batch = 2
classes = {classes}
[optimizer]
lr = 0.05
momentum = 0.9
[checkpoint]
every = 1
"""

# Both write weights of their own and data, and read what isobit made of them.
TORCHVISION = """
import sys, os, numpy, safetensors.torch, torch, torchvision
module = torchvision.models.resnet18(num_classes=5)
if sys.argv[1] == "write":
    os.makedirs("w")
    safetensors.torch.save_file(module.state_dict(), "w/model.safetensors")
    numpy.save("inputs.npy", torch.randn(4, 3, 32, 32).numpy())
    numpy.save("labels.npy", numpy.array([0, 4, 2, 1]))
    numpy.save("test_inputs.npy", torch.randn(4, 3, 32, 32).numpy())
    numpy.save("test_labels.npy", numpy.array([0, 4, 2, 1]))
else:
    module.load_state_dict(safetensors.torch.load_file("out.safetensors"))
    x = torch.from_numpy(numpy.load("test_inputs.npy"))
    numpy.save("scores.npy", module.eval()(x).detach().numpy())
"""

TRANSFORMERS = """
import sys, os, numpy, torch, transformers
config = transformers.GPT2Config(n_layer=2, n_head=2, n_embd=16, n_positions=12, vocab_size=31)
if sys.argv[1] == "write":
    transformers.GPT2LMHeadModel(config).save_pretrained("w")
    text = torch.randint(0, 31, (4, 9)).numpy()
    numpy.save("inputs.npy", text[:, :-1])
    numpy.save("labels.npy", text[:, 1:])
    numpy.save("test_inputs.npy", text[:, :-1])
    numpy.save("test_labels.npy", text[:, 1:])
else:
    os.replace("out.safetensors", "w/model.safetensors")
    module, found = transformers.GPT2LMHeadModel.from_pretrained("w", output_loading_info=True)
    assert not found["missing_keys"] and not found["unexpected_keys"] and not found["mismatched_keys"], found
    x = torch.from_numpy(numpy.load("test_inputs.npy"))
    numpy.save("scores.npy", module.eval()(input_ids=x).logits.reshape(-1, 31).detach().numpy())
"""

COMPARE = """
import sys, numpy
found, wanted = numpy.load(sys.argv[1]), numpy.load("scores.npy")
found = found.reshape(wanted.shape)
apart = abs(found - wanted).max() / abs(wanted).max()
assert apart < 1e-5, apart
"""


class Libraries(unittest.TestCase):
    def run_in(self, folder, *command):
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True,
                              env={**os.environ, "ISOBIT_HOME": os.path.join(folder, "home")})
        self.assertEqual(done.returncode, 0, f"{command}\n{done.stdout}{done.stderr}")

    def there_and_back(self, code, model, classes):
        with tempfile.TemporaryDirectory(prefix="isobit-libraries-") as folder:
            with open(os.path.join(folder, "job.toml"), "w", encoding="utf-8") as file:
                file.write(JOB.format(model=model, classes=classes))
            self.run_in(folder, PYTHON, "-c", code, "write")
            self.run_in(folder, ISOBIT, "train", "job.toml", "--out", "a.run")
            self.run_in(folder, ISOBIT, "export", "a.run", "--out", "out.safetensors")
            self.run_in(folder, ISOBIT, "export", "a.run", "--onnx", "--out", "out.onnx", "--set", 'data.path="."')
            self.run_in(folder, PYTHON, "-c", code, "read")
            self.run_in(folder, ISOBIT, "run", "out.onnx", "--input", "test_inputs.npy", "--out", "found")
            names = [n for n in os.listdir(os.path.join(folder, "found")) if n.endswith(".npy")]
            self.assertEqual(len(names), 1, names)
            self.run_in(folder, PYTHON, "-c", COMPARE, os.path.join("found", names[0]))

    def test_torchvision_writes_and_reads(self):
        self.there_and_back(TORCHVISION, 'builder = "resnet18"\nform = "imagenet"', 5)

    def test_transformers_writes_and_reads(self):
        self.there_and_back(TRANSFORMERS, 'builder = "gpt2"\nlayers = 2\nheads = 2\nchannels = 16\npositions = 12', 31)

    def test_steps_are_pytorchs(self):
        names = ["gpt2, small", "gpt2, small, without a head", "logistic, 1024", "vit, small", "bert, small",
                 "resnet18, 32x32", "vgg11-bn, 32x32"]
        only = [word for name in names for word in ("--only", name)]
        with tempfile.TemporaryDirectory(prefix="isobit-libraries-") as folder:
            self.run_in(folder, PYTHON, "-B", os.path.join(ROOT, "scripts", "real_networks", "builders.py"), folder,
                        "--program", DUMP, *only)


if __name__ == "__main__":
    ISOBIT, DUMP = map(os.path.abspath, sys.argv[1:3])
    del sys.argv[1:3]
    if subprocess.run([PYTHON, "-c", LIBRARIES], capture_output=True, check=False).returncode != 0:
        print("skipped: no torchvision or transformers; name an interpreter that has them in ISOBIT_PYTHON")
        sys.exit(77)
    unittest.main()
