"""JAX on the CPU: operator by operator, or the whole model compiled by XLA."""
import os

import numpy

ABOUT = "JAX on the CPU (XLA)"
PACKAGES = {"jax": "jax", "onnx": "onnx"}
TAP = "eager: the same operators, their results are looked at; jit: none, one program has no operators to look at"
SETTINGS = ["jit", "eager"]
DEFAULTS = ["jit"]


def prepare_environment(setting, threads):
    os.environ["JAX_PLATFORMS"] = "cpu"
    os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
    # XLA takes as many threads as the process may use cores.
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:threads])


class Engine:
    def __init__(self, path, setting, threads, inputs):
        import jax
        import jax.numpy
        import array_operators
        import onnx_graph
        self.jax, self.compiles = jax, setting == "jit"
        jax.config.update("jax_enable_x64", True)
        self.compute = array_operators.table(jax.numpy, jax.numpy.asarray, steps_of(jax))
        self.compute["Conv"] = conv_of(jax)
        self.model = onnx_graph.Model(path, self)

    def namespace_of(self, values):
        return self.jax.numpy if any(isinstance(v, self.jax.Array) for v in values) else numpy

    def host(self, value):
        return numpy.asarray(value)

    def movable(self, value):
        return value

    def run(self, inputs):
        if not self.compiles:
            return self.eagerly(inputs)
        # Whole numbers may say where and how large, which a compiled program knows beforehand.
        traced = {k: v for k, v in inputs.items() if v.dtype.kind == "f"}
        fixed = {k: v for k, v in inputs.items() if k not in traced}
        program = self.jax.jit(lambda given: self.model.run({**fixed, **given}))
        return {k: self.host(v) for k, v in program(traced).items()}

    def eagerly(self, inputs, record=None):
        return {k: self.host(v) for k, v in self.model.run(inputs, record).items()}

    def run_tapped(self, inputs, recorder):
        if self.compiles:
            return None
        outputs = set(self.model.graph.outputs)
        return self.eagerly(inputs, lambda name, op, value: recorder(name, op, self.host(value),
                                                                     output=name in outputs))

    def versions(self):
        import jaxlib
        return {"jax": self.jax.__version__, "jaxlib": jaxlib.__version__}


def steps_of(jax):
    np = jax.numpy

    class Steps:
        add, mul, tanh, sigmoid, erf = np.add, np.multiply, np.tanh, jax.nn.sigmoid, jax.scipy.special.erf

        @staticmethod
        def matmul(a, b):
            return np.matmul(a, b, precision="highest")

        @staticmethod
        def windows(x, kernel, strides, dilations):
            rank = len(kernel)
            outputs = [(x.shape[2 + i] - (kernel[i] - 1) * dilations[i] - 1) // strides[i] + 1 for i in range(rank)]
            for i in range(rank):  # a window's elements along axis i, moved to the end
                places = (numpy.arange(outputs[i])[:, None] * strides[i] +
                          numpy.arange(kernel[i])[None, :] * dilations[i])
                x = np.moveaxis(np.take(x, places, axis=2 + i), 3 + i, -1)
            return x
    return Steps


def conv_of(jax):
    from windows import Windows

    def conv(node, x):
        x = [None if v is None else jax.numpy.asarray(v) for v in x]
        w = Windows(node, x[0].shape[2:], x[1].shape[2:])
        dst = jax.lax.conv_general_dilated(x[0], x[1], w.strides, w.pads, rhs_dilation=w.dilations,
                                           feature_group_count=node.get("group", 1), precision="highest")
        if len(x) < 3 or x[2] is None:
            return dst
        return dst + x[2].reshape((1, -1) + (1,) * (dst.ndim - 2))
    return conv
