"""The networks of the experiments as ONNX files, with weights drawn from a seed: the same bytes wherever NumPy is.

Normal numbers come from PCG64 by NumPy's Generator, which is stable from release to release in practice; an experiment's
result says the hashes of the models it ran, so that two results of different files are not taken for one experiment.
"""
import numpy
import onnx
from onnx import TensorProto, helper, numpy_helper

TYPES = {"float16": (TensorProto.FLOAT16, numpy.float16), "float32": (TensorProto.FLOAT, numpy.float32),
         "float64": (TensorProto.DOUBLE, numpy.float64)}


class Builder:
    """A chain of operators; `last` is the value that the next one takes."""

    def __init__(self, shape, seed, dtype="float32", draw=None):
        self.nodes, self.weights = [], []
        self.last, self.shape, self.dtype = "x", tuple(shape), dtype
        self.input, self.products = tuple(shape), {}  # products: {value: (m, n, k)} of its matrix product
        self.chance = numpy.random.default_rng(seed)
        self.draw = draw or (lambda chance, dims: chance.standard_normal(dims))

    def parameter(self, name, dims, scale=1.0, draw=None):
        return self.constant(name, (draw or self.draw)(self.chance, dims) * scale)

    def constant(self, name, array):
        self.weights.append(numpy_helper.from_array(numpy.asarray(array).astype(TYPES[self.dtype][1]), name))
        return name

    def add(self, op, name, *more, **attributes):
        self.nodes.append(helper.make_node(op, [self.last, *more], [name], **attributes))
        self.last = name
        return self

    def conv(self, name, filters, window=3, stride=1, gain=2.0, bias=False):
        n, c, height, width = self.shape
        fan = c * window * window
        more = [self.parameter(f"{name}.weight", (filters, c, window, window), (gain / fan) ** 0.5)]
        if bias:
            more.append(self.constant(f"{name}.bias", numpy.zeros(filters)))
        self.add("Conv", name, *more, pads=[window // 2] * 4, strides=[stride] * 2)
        out = [(e + 2 * (window // 2) - window) // stride + 1 for e in (height, width)]
        self.shape = (n, filters, *out)
        self.products[name] = (filters, out[0] * out[1], fan)
        return self

    def batch_norm(self, name):
        c = self.shape[1]
        draws = [("scale", lambda g, d: 1 + 0.1 * g.standard_normal(d)), ("shift", lambda g, d: 0.1 * g.standard_normal(d)),
                 ("mean", lambda g, d: 0.1 * g.standard_normal(d)), ("variance", lambda g, d: 0.5 + g.random(d))]
        return self.add("BatchNormalization", name, *(self.parameter(f"{name}.{n}", (c,), draw=d) for n, d in draws))

    def pool(self, op, name):
        n, c, height, width = self.shape
        self.shape = (n, c, height // 2, width // 2)
        return self.add(op, name, kernel_shape=[2, 2], strides=[2, 2])

    def dense(self, name, features, gain=2.0):
        if len(self.shape) > 2:
            self.add("Flatten", f"{name}.flat")
            self.shape = (self.shape[0], int(numpy.prod(self.shape[1:])))
        inputs = self.shape[1]
        self.add("Gemm", name, self.parameter(f"{name}.weight", (inputs, features), (gain / inputs) ** 0.5),
                 self.constant(f"{name}.bias", numpy.zeros(features)))
        self.shape = (self.shape[0], features)
        self.products[name] = (self.shape[0], features, inputs)
        return self

    def save(self, path, any_batch=False):
        """Writes the model. `any_batch`: its first dimension is named, as training wants it."""
        first = lambda shape: (["n", *shape[1:]] if any_batch else list(shape))  # noqa: E731
        kind = TYPES[self.dtype][0]
        graph = helper.make_graph(self.nodes, "experiment", [helper.make_tensor_value_info("x", kind, first(self.input))],
                                  [helper.make_tensor_value_info(self.last, kind, first(self.shape))], self.weights)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
        onnx.checker.check_model(model)
        with open(path, "wb") as f:
            f.write(model.SerializeToString(deterministic=True))
        return path


def small(seed):
    """Two convolutions: the order of the study's small network."""
    net = Builder((1, 3, 32, 32), seed)
    net.conv("conv1", 16).add("Relu", "relu1").pool("MaxPool", "pool1")
    net.conv("conv2", 32).add("Relu", "relu2").pool("MaxPool", "pool2")
    return net.dense("scores", 10).add("Softmax", "softmax", axis=1)


def medium(seed):
    """Six convolutions with batch norm, in three stages."""
    net = Builder((1, 3, 32, 32), seed)
    for i, filters in enumerate((32, 32, 64, 64, 128, 128), 1):
        net.conv(f"conv{i}", filters).batch_norm(f"norm{i}").add("Relu", f"relu{i}")
        if i % 2 == 0:
            net.pool("MaxPool", f"pool{i // 2}")
    return net.dense("hidden", 128).add("Relu", "relu7").dense("scores", 10).add("Softmax", "softmax", axis=1)


def dense(seed):
    """No convolution: three products."""
    net = Builder((1, 1024), seed)
    net.dense("product1", 512).add("Relu", "relu1").dense("product2", 512).add("Relu", "relu2")
    return net.dense("scores", 10).add("Softmax", "softmax", axis=1)


def chain(seed):
    """A chain of 3x3 convolutions, some of which every algorithm of convolution can compute."""
    net = Builder((1, 16, 32, 32), seed)
    for i, (filters, stride) in enumerate(((16, 1), (16, 1), (32, 2), (32, 1), (32, 1), (64, 2), (64, 1), (64, 1)), 1):
        net.conv(f"conv{i}", filters, stride=stride).add("Relu", f"relu{i}")
    return net.dense("scores", 10)


NAMED = {"small": small, "medium": medium, "dense": dense, "chain": chain}


def images(shape, seed, low=0.0, high=1.0):
    """Drawn images, float32: smooth, as photographs are, with values between low and high."""
    chance = numpy.random.default_rng(seed)
    x = chance.random(shape)
    for axis in (-1, -2):
        x = (x + numpy.roll(x, 1, axis) + numpy.roll(x, -1, axis)) / 3
    x = (x - x.min()) / (x.max() - x.min())
    return (low + (high - low) * x).astype(numpy.float32)
