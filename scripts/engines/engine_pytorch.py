"""PyTorch, eager: its own kernels, MKL's and oneDNN's as it chooses."""
import os

import numpy

ABOUT = "PyTorch, eager"
PACKAGES = {"torch": "torch", "onnx": "onnx"}
TAP = "the same operators; their results are looked at"
# channels_last: the memory format of images; native: without oneDNN; avx2, default: caps on the instruction sets of
# PyTorch's kernels, oneDNN's and MKL's.
SETTINGS = ["", "channels_last", "native", "avx2", "default"]
DEFAULTS = ["", "channels_last", "native", "avx2"]


def prepare_environment(setting, threads):
    os.environ["OMP_NUM_THREADS"] = os.environ["MKL_NUM_THREADS"] = str(threads)
    if setting in ("avx2", "default"):
        os.environ["ATEN_CPU_CAPABILITY"] = setting
        os.environ["ONEDNN_MAX_CPU_ISA"] = "AVX2" if setting == "avx2" else "SSE41"
        os.environ["MKL_ENABLE_INSTRUCTIONS"] = "AVX2" if setting == "avx2" else "SSE4_2"


class Engine:
    def __init__(self, path, setting, threads, inputs):
        import torch
        import onnx_graph
        import torch_operators
        self.torch = torch
        torch.set_num_threads(threads)
        torch.set_num_interop_threads(1)
        torch.set_grad_enabled(False)
        if setting == "native":
            torch.backends.mkldnn.enabled = False
        self.compute = torch_operators.table(torch, setting == "channels_last", self.tensor)
        self.constants = {}
        self.model = onnx_graph.Model(path, self)

    def tensor(self, value):
        """The engine's own kind; of a constant of the model once."""
        if isinstance(value, self.torch.Tensor):
            return value
        array = numpy.ascontiguousarray(value)
        return self.torch.from_numpy(array if array.flags.writeable else array.copy()).reshape(numpy.shape(value))

    def namespace_of(self, values):
        return numpy

    def host(self, value):
        return value.numpy() if isinstance(value, self.torch.Tensor) else numpy.asarray(value)

    movable = host

    def run(self, inputs, record=None):
        return {k: self.host(v) for k, v in self.model.run(inputs, record).items()}

    def run_tapped(self, inputs, recorder):
        outputs = set(self.model.graph.outputs)
        return self.run(inputs, lambda name, op, value: recorder(name, op, self.host(value), output=name in outputs))

    def versions(self):
        backends = self.torch.backends
        return {"torch": self.torch.__version__, "cpu_capability": backends.cpu.get_cpu_capability(),
                "onednn": backends.mkldnn.is_available() and backends.mkldnn.enabled}
