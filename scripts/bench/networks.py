"""The training steps that are measured: example jobs, with data and of batches of these shapes."""
import os
import subprocess
import sys
import tomllib

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
JOBS = os.path.join(ROOT, "examples", "jobs")

# Name: the job's file, what is different, the shape of a batch (images: bytes; [batch, context]: tokens), classes.
NETWORKS = {
    "digits B=32": ("digits", {}, (32, 1, 8, 8), 10),
    "mnist B=64": ("mnist", {}, (64, 1, 28, 28), 10),
    "tiny-gpt B=16 T=64": ("tiny-gpt", {}, (16, 64), 256),
    "resnet18 B=128 32x32": ("cifar10-resnet18", {}, (128, 3, 32, 32), 10),
    "resnet50 B=64 32x32": ("cifar10-resnet18", {"builder": "resnet50"}, (64, 3, 32, 32), 10),
    "resnet50 B=8 224x224": ("imagenet-resnet50", {}, (8, 3, 224, 224), 1000),
    "vgg11-bn B=16 224x224": ("imagenet-resnet50", {"builder": "vgg11-bn", "dropout": 0.5}, (16, 3, 224, 224), 1000),
    "vit-s16 B=8 224x224": ("vit-s16", {}, (8, 3, 224, 224), 1000),
    "gpt2-124m B=4 T=64": ("gpt2-124m", {}, (4, 64), 50257),
    "gpt2-124m B=8 T=64": ("gpt2-124m", {}, (8, 64), 50257),
    "gpt2-124m B=2 T=512": ("gpt2-124m", {}, (2, 512), 50257),
}
SAMPLES = 4  # batches of them
CONTEXT, HEAD = 64, 64  # tokens of a sample, and channels of a head, of a GPT of any size


def network(name):
    """An entry of NETWORKS, or one of any size, as "resnet width=32 blocks=1 B=64" and "gpt channels=256 layers=4 B=8" say it."""
    if name in NETWORKS:
        return NETWORKS[name]
    kind, *words = name.split()
    sizes = {key: int(size) for key, _, size in (word.partition("=") for word in words)}
    batch = sizes.pop("B")
    if kind == "resnet":
        return "cifar10-resnet", sizes, (batch, 3, 32, 32), 10
    return "tiny-gpt", {**sizes, "heads": max(1, sizes["channels"] // HEAD), "dropout": 0.0}, (batch, CONTEXT), 256


def example(file):
    with open(os.path.join(JOBS, f"{file}.toml"), "rb") as toml:
        return tomllib.load(toml)


def job_of(name, folder):
    """The job as tables of TOML: of the example with a batch of this size, in one part, whole and without checkpoints;
    `folder` has the data, and the network where that is a file."""
    file, changed, shape, classes = network(name)
    job = example(file)
    job["job"].pop("epochs", None)
    job["model"].update(changed)
    if "onnx" in job["model"]:
        job["model"]["onnx"] = os.path.join(folder, "network.onnx")
    job["data"] = {"dataset": "npy", "path": folder, "batch": shape[0], "classes": classes}
    job.pop("schedule", None)
    job.pop("evaluate", None)
    job.pop("checkpoint", None)
    job["commit"] = {"every": 1 << 20}
    return job


def toml_of(job):
    def value(v):
        if isinstance(v, bool):
            return str(v).lower()
        if isinstance(v, list):
            return f"[{', '.join(map(value, v))}]"
        return f'"{v}"' if isinstance(v, str) else repr(v)
    return "".join(f"[{table}]\n" + "".join(f"{k} = {value(v)}\n" for k, v in fields.items()) for table, fields in job.items())


def write_data(name, folder):
    import numpy
    _, _, shape, classes = network(name)
    chance = numpy.random.default_rng(1)
    samples = (SAMPLES * shape[0], *shape[1:])
    images = len(shape) == 4
    inputs = chance.integers(0, 256 if images else classes, samples, numpy.uint8 if images else numpy.int64)
    numpy.save(os.path.join(folder, "inputs.npy"), inputs)
    labels = chance.integers(0, classes, samples[:1] if images else samples, numpy.int64)
    numpy.save(os.path.join(folder, "labels.npy"), labels)


def write(name, folder):
    """Job, data and network, the latter by the libraries of this interpreter."""
    os.makedirs(folder, exist_ok=True)
    job = job_of(name, folder)
    write_data(name, folder)
    if "onnx" in job["model"]:
        subprocess.run([sys.executable, os.path.join(JOBS, "networks.py"), job["job"]["name"], job["model"]["onnx"]],
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True)
    with open(os.path.join(folder, "job.toml"), "w", encoding="utf-8") as file:
        file.write(toml_of(job))


if __name__ == "__main__":
    write(*sys.argv[1:])
