"""The training batches and the first test samples of a job's data, from docs/formats/samples.md alone: isobit is asked
for nothing."""
import os
import sys

import numpy

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "tests", "attacks"))
import philox  # noqa: E402

MEAN = numpy.array([0.4914, 0.4822, 0.4465], numpy.float32).reshape(1, 3, 1, 1)
DEVIATION = numpy.array([0.2470, 0.2435, 0.2616], numpy.float32).reshape(1, 3, 1, 1)


class Images:
    """Of CIFAR-10: preprocessing cifar10-standardized-1."""

    def __init__(self, train, test):
        self.train, self.test = (numpy.fromfile(path, numpy.uint8).reshape(-1, 3073) for path in (train, test))

    @staticmethod
    def fed(records):
        pixels = records[:, 1:].reshape(-1, 3, 32, 32).astype(numpy.float32)
        return (pixels / numpy.float32(255) - MEAN) / DEVIATION, records[:, 0].astype(numpy.int64)


class Tokens:
    """Blocks of `context` tokens and one more, the last tenth of which are the test; by the library of transformers."""

    def __init__(self, text, encoder, merges, context):
        import tokenizers
        with open(text, encoding="utf-8", newline="") as file:
            ids = tokenizers.ByteLevelBPETokenizer(encoder, merges).encode(file.read()).ids
        blocks = numpy.lib.stride_tricks.sliding_window_view(numpy.array(ids, numpy.int64), context + 1)[::context]
        tests = max(1, len(blocks) // 10)
        self.train, self.test = blocks[:-tests], blocks[-tests:]

    @staticmethod
    def fed(blocks):
        return blocks[:, :-1].copy(), blocks[:, 1:].copy()


def samples_of(job):
    data = job["data"]
    if data["dataset"] == "text":
        return Tokens(data["path"], data["encoder"], data["merges"], data["context"])
    return Images(data["files"][0], data["test_files"][0])


def batches(job, samples):
    """What each step is fed: inputs and labels."""
    seed, steps, batch, count = job["job"]["seed"], job["job"]["steps"], job["data"]["batch"], len(samples.train)
    for step in range(steps):
        places = range(step * batch, (step + 1) * batch)
        chosen = [philox.permute(seed, philox.BATCH_ORDER, s // count, count, s % count) for s in places]
        yield samples.fed(samples.train[chosen])


def test_batches(job, samples, size):
    most = job.get("evaluate", {}).get("samples", 0) or len(samples.test)
    for begin in range(0, most, size):
        yield samples.fed(samples.test[begin:min(begin + size, most)])
