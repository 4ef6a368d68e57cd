#!/usr/bin/env python3
"""Jobs whose network is that of an ONNX file, from the command line: train, audit, resume, eval, export, info."""
import json
import os
import shutil
import struct

from isobit_cli import Case, main, shared_data
from onnx_by_hand import field, floats, graph, node, npy, opset, value

JOB = """[job]
name = "mlp"
seed = 4
steps = 6
[model]
onnx = "mlp.onnx"
{model}
[data]
dataset = "digits"
batch = {batch}
[optimizer]
lr = 0.1
momentum = 0.9
[checkpoint]
every = 2
[evaluate]
samples = 40
"""


def spread(count, seed):
    return [((i * 29 + seed * 13) % 17 - 8) / 64 for i in range(count)]


def mlp(batch="batch", hidden="Relu", first=None, scores=10):
    """scores = c relu(a x); of digits."""
    nodes = [node("Flatten", ["x"], ["flat"]),
             node("Gemm", ["flat", "a.weight", "a.bias"], ["h"], "first", transB=1),
             node(hidden, ["h"], ["r"], "middle"),
             node("Gemm", ["r", "c.weight", "c.bias"], ["scores"], "last", transB=1)]
    weights = [floats("a.weight", [12, 64], *(first or spread(12 * 64, 1))), floats("a.bias", [12], *spread(12, 2)),
               floats("c.weight", [scores, 12], *spread(scores * 12, 3)), floats("c.bias", [scores], *spread(scores, 4))]
    body = graph(nodes, [value("x", [batch, 1, 8, 8])], [value("scores", [batch, scores])], weights)
    return field(1, 8) + field(2, "by hand") + field(7, body) + opset(13)


class Imported(Case):
    def job(self, model="", batch=16):
        self.write("mlp.onnx", mlp())
        return self.write("job.toml", JOB.format(model=model, batch=batch))

    def make_keys(self):
        """So that a training that is refused says so and nothing of keys."""
        for role in ("client", "trainer"):
            self.isobit("keygen", "--role", role)

    def accepts(self, *arguments):
        self.assertEqual(self.isobit_json("audit", *arguments)["verdict"], "accepted")

    def test_a_life_of_a_run(self):
        run, job = self.path("run"), self.job()
        trained = self.isobit_json("train", job, "--out", run)
        self.assertEqual(trained["steps"], 6)
        # Its own register knows where the network lies; nothing that is published does.
        self.accepts(run, "--platform", "ordered@portable/1t")
        for name in ("job.toml", "manifest.json"):
            with open(os.path.join(run, name), encoding="utf-8") as f:
                self.assertNotIn("mlp.onnx", f.read())
        with open(os.path.join(run, "job.toml"), encoding="utf-8") as f:
            self.assertIn('builder = "onnx"', f.read().replace("'", '"'))
        self.isobit_json("info", run)
        self.isobit_json("verify", run)
        scored = self.isobit_json("eval", run)
        self.assertEqual(scored["samples"], 40)
        self.assertEqual(scored["top1"], trained["test_top1"])
        weights = self.path("w.safetensors")
        self.assertEqual(self.isobit_json("export", run, "--out", weights)["tensors"], 4)
        # What was exported scores the same, and begins another training.
        self.assertEqual(self.isobit_json("eval", job, "--weights", weights)["top1"], scored["top1"])
        again = self.isobit_json("train", job, "--out", self.path("again"), "--set", f"model.weights={weights}")
        self.assertNotEqual(again["job_root"], trained["job_root"])
        self.accepts(self.path("again"))

    def test_an_auditor_brings_a_copy_of_the_network(self):
        run, job = self.path("run"), self.job()
        self.isobit_json("train", job, "--out", run)
        copy = self.path("copy.onnx")
        shutil.move(self.path("mlp.onnx"), copy)
        self.fails("audit", run, code=3, says=["mlp.onnx"])
        self.accepts(run, "--set", f"model.onnx={copy}")
        other = self.write("other.onnx", mlp(first=spread(12 * 64, 9)))
        told = self.isobit("audit", run, "--set", f"model.onnx={other}", code=1)
        self.assertIn("the network or its weights", told.out + told.err)

    def test_job_check_says_what_of_the_file_is_trained(self):
        job = self.job('freeze = ["a.*"]')
        told = self.isobit_json("job", "check", job)
        self.assertEqual((told["parameters"], told["frozen_parameters"]), (12 * 10 + 10, 12 * 64 + 12))
        self.assertTrue(told["disputable"])
        text = self.isobit("job", "check", job).out
        self.assertIn("frozen        780 parameters and running statistics stay", text)
        entries = self.isobit_json("job", "check", job, "--trace-schema")["entries"]
        names = [e["name"] for e in entries if e["kind"] == "state"]
        self.assertEqual(names, ["c.weight", "c.weight/momentum", "c.bias", "c.bias/momentum"])

    def test_frozen_parameters_stay_and_are_scored_with(self):
        job, run = self.job('freeze = ["a.*"]'), self.path("run")
        trained = self.isobit_json("train", job, "--out", run)
        self.accepts(run)
        self.assertEqual(self.isobit_json("eval", run)["top1"], trained["test_top1"])
        self.assertEqual(self.isobit_json("export", run, "--out", self.path("w"))["tensors"], 2)

    def test_another_file_completes_no_run(self):
        """What is frozen is no part of a run: the reader's own file has it, and the job root binds it."""
        job, run = self.job('freeze = ["a.*"]'), self.path("run")
        self.isobit_json("train", job, "--out", run)
        other = self.write("other.onnx", mlp(first=spread(12 * 64, 9)))
        for command in (["eval", run], ["export", run, "--onnx", "--out", self.path("o.onnx")]):
            self.fails(*command, "--set", f"model.onnx={other}", code=1, says=["the network or its weights"])
        self.assertFalse(os.path.exists(self.path("o.onnx")))

    def test_networks_that_cannot_be_trained_are_refused_before_the_first_step(self):
        self.make_keys()
        job = self.job()
        for name, model, says in (
                ("shape", mlp(scores=7), ["7 scores for the 10 classes of dataset 'digits'"]),
                ("batch", mlp(batch=3), ["made for batches of 3", "set data.batch = 3"]),
                ("operator", mlp(hidden="Strange"), ["node 'middle' (Strange, opset 13)"]),
                ("nan", mlp(first=[float("nan")] + spread(12 * 64 - 1, 1)), ["'a.weight'", "NaN"]),
                ("cut", mlp()[:-400], ["mlp.onnx"]),
                ("empty", b"", ["mlp.onnx: is empty"])):
            self.write("mlp.onnx", model)
            self.fails("train", job, "--out", self.path(name), code=3, says=says)
            self.assertFalse(os.path.exists(os.path.join(self.path(name), "transcript")), name)
        os.remove(self.path("mlp.onnx"))
        self.fails("train", job, "--out", self.path("absent"), code=3, says=["mlp.onnx"])
        self.fails("train", job, "--set", "model.builder=resnet", code=3, says=["model.builder", "beside model.onnx"])
        self.fails("train", job, "--set", "model.freeze=[\"\"]", code=3, says=["model.freeze: found an empty pattern"])
        self.fails("train", job, "--set", "model.loss=mae", code=3, says=["cross-entropy, mse, l1, huber"])

    def test_weights_of_another_network_are_refused_with_all_that_is_wrong(self):
        self.make_keys()
        job = self.job()

        def weights(tensors):
            header, data = {}, b""
            for name, dims in tensors.items():
                count = 1
                for d in dims:
                    count *= d
                header[name] = {"dtype": "F32", "shape": dims, "data_offsets": [len(data), len(data) + 4 * count]}
                data += bytes(4 * count)
            text = json.dumps(header).encode()
            return self.write("w.safetensors", struct.pack("<Q", len(text)) + text + data)

        path = weights({"a.weight": [12, 64], "a.bias": [13], "c.wieght": [10, 12], "c.bias": [10]})
        self.fails("train", job, "--set", f"model.weights={path}", code=3, says=[
            "missing: 'c.weight'", "unknown to the network: 'c.wieght'", "'a.bias' is float32 [13], expected float32 [12]"])

    def test_of_nothing_that_was_scored_no_loss_is_said(self):
        """A loss that is an output is that of one sample; a file for batches of four has none of one."""
        nodes = [node("Mul", ["x", "w"], ["o"]), node("Sub", ["o", "t"], ["d"]), node("Mul", ["d", "d"], ["e"]),
                 node("ReduceMean", ["e"], ["loss"], keepdims=0)]
        body = graph(nodes, [value("x", [4, 2]), value("t", [4, 2])], [value("loss")], [floats("w", [2], 0.5, 0.25)])
        self.write("mlp.onnx", field(1, 8) + field(2, "by hand") + field(7, body) + opset(13))
        for name in ("inputs", "labels", "test_inputs", "test_labels"):
            self.write(f"data/{name}.npy", npy("<f4", (8, 2), struct.pack("<16f", *spread(16, 5))))
        job = self.write("job.toml", JOB.format(model='loss = "output"', batch=4).replace(
            '"digits"', '"npy"\npath = "data/"'))
        run = self.path("run")
        trained = self.isobit_json("train", job, "--out", run)
        for told, prefix in ((trained, "test_"), (self.isobit_json("info", run), "test_"),
                             (self.isobit_json("eval", run), "")):
            self.assertEqual(told[prefix + "samples"], 0)
            self.assertNotIn(prefix + "loss", told)
        text = self.isobit("eval", run).out
        self.assertIn("nothing scored", text)
        self.assertNotIn("loss", text)

    def test_networks_of_others_are_trained(self):
        folder = shared_data("models")
        for name, shape in (("mnist-cnn.onnx", (1, 28, 28)), ("resnet20-cifar10.onnx", (3, 32, 32))):
            path = os.path.join(folder, name)
            batch = self.isobit_json("info", path)["inputs"][0]["shape"][0]
            count = batch if isinstance(batch, int) else 4
            elements = shape[0] * shape[1] * shape[2]
            self.write("data/inputs.npy", npy("<f4", (8, *shape), struct.pack(f"<{8 * elements}f", *spread(8 * elements, 5))))
            self.write("data/labels.npy", npy("<i8", (8,), struct.pack("<8q", *range(8))))
            job = self.write("job.toml", JOB.format(model="", batch=count).replace('"digits"', '"npy"\npath = "data/"')
                             .replace("mlp.onnx", path).replace("steps = 6", "steps = 2").replace("lr = 0.1", "lr = 0.001"))
            run = self.path(name + ".run")
            self.isobit_json("train", job, "--out", run)
            self.accepts(run, "--platform", "ordered@portable/1t")


if __name__ == "__main__":
    main()
