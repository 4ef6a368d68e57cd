"""NumPy: plain arrays, with the BLAS that its wheel brings; a reference that anybody can read."""

import numpy

ABOUT = "NumPy with the BLAS of its wheel"
PACKAGES = {"numpy": "numpy", "onnx": "onnx"}
TAP = "the same operators; their results are looked at"
SETTINGS = [""]
DEFAULTS = [""]


def prepare_environment(setting, threads):
    pass  # the BLAS takes its threads from worker.py, before NumPy is loaded


class Engine:
    def __init__(self, path, setting, threads, inputs):
        import array_operators
        import onnx_graph
        self.threads = threads
        self.compute = array_operators.table(numpy, numpy.asarray, Steps)
        self.compute["Conv"] = conv
        self.model = onnx_graph.Model(path, self)

    def namespace_of(self, values):
        return numpy

    def host(self, value):
        return numpy.asarray(value)

    movable = host

    def run(self, inputs, record=None):
        with numpy.errstate(all="ignore"):
            return self.model.run(inputs, record)

    def run_tapped(self, inputs, recorder):
        outputs = set(self.model.graph.outputs)
        return self.run(inputs, lambda name, op, value: recorder(name, op, value, output=name in outputs))

    def versions(self):
        blas = numpy.show_config(mode="dicts").get("Build Dependencies", {}).get("blas", {})
        return {"numpy": numpy.__version__, "blas": f"{blas.get('name', '?')} {blas.get('version', '?')}"}


class Steps:
    """What array_operators.py needs beside NumPy's own names."""
    matmul, add, mul, tanh = numpy.matmul, numpy.add, numpy.multiply, numpy.tanh

    @staticmethod
    def sigmoid(x):
        return 1 / (1 + numpy.exp(-x))

    @staticmethod
    def erf(x):
        import math
        return numpy.frompyfunc(math.erf, 1, 1)(x.astype("float64")).astype(x.dtype)

    @staticmethod
    def windows(x, kernel, strides, dilations):
        """[n, c, o..., k...]: a view of every window of the last axes."""
        rank = len(kernel)
        spans = tuple((k - 1) * d + 1 for k, d in zip(kernel, dilations))
        view = numpy.lib.stride_tricks.sliding_window_view(x, spans, axis=tuple(range(2, 2 + rank)))
        return view[(slice(None), slice(None), *(slice(None, None, s) for s in strides),
                     *(slice(None, None, d) for d in dilations))]


def conv(node, x):
    """Every window is a row of a matrix; one matrix product for each group."""
    from windows import Windows
    w = Windows(node, x[0].shape[2:], x[1].shape[2:])
    src = numpy.pad(x[0], [(0, 0), (0, 0), *w.pads])
    view = Steps.windows(src, w.kernel, w.strides, w.dilations)
    rank, groups = len(w.kernel), node.get("group", 1)
    n, outputs = x[0].shape[0], view.shape[2:2 + rank]
    ic, oc = x[1].shape[1], x[1].shape[0] // groups
    made = []
    for g in range(groups):
        part = view[:, g * ic:(g + 1) * ic]
        columns = numpy.moveaxis(part, 1, 1 + rank).reshape((n, -1, ic * x[1][0, 0].size))
        weights = x[1][g * oc:(g + 1) * oc].reshape((oc, -1))
        made.append(numpy.swapaxes(columns @ weights.T, 1, 2).reshape((n, oc, *outputs)))
    dst = numpy.concatenate(made, 1)
    return dst + x[2].reshape((1, -1) + (1,) * rank) if len(x) > 2 and x[2] is not None else dst
