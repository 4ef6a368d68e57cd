"""The operators that compute, for a library with NumPy's functions: NumPy itself and jax.numpy.

`np` is that library, `array` makes its arrays, `e` has what the libraries do not have in common: matmul, add, mul, tanh,
sigmoid, erf, windows(x, kernel, strides, dilations)."""
import math

import numpy

from lstm import lstm
from protocol import Refused
from windows import Windows, in_rows


def table(np, array, e):
    def operand(v):
        # Whole numbers of the host say where and how large, and stay what a compiled program knows beforehand.
        return v if v is None or (isinstance(v, numpy.ndarray) and v.dtype.kind in "iub") else array(v)

    def on_arrays(function):
        return lambda node, x: function(node, [operand(v) for v in x])

    def of(function):
        return lambda node, x: function(*x)

    def padded(x, w, value):
        return np.pad(x, [(0, 0), (0, 0), *w.pads], constant_values=value)

    def pooled(node, x, value):
        w = Windows(node, x.shape[2:], None)
        view = e.windows(padded(x, w, value), w.kernel, w.strides, w.dilations)
        return view, tuple(range(2 + len(w.kernel), 2 + 2 * len(w.kernel))), w

    def max_pool(node, x):
        if len(node.outputs) > 1 and node.outputs[1]:
            raise Refused(f"node '{node.label()}' (MaxPool): indices have no converter")
        view, axes, _ = pooled(node, x[0], -math.inf)
        return np.max(view, axis=axes)

    def average_pool(node, x):
        view, axes, w = pooled(node, x[0], 0.0)
        if not w.padded() or node.get("count_include_pad", 0):
            return np.mean(view, axis=axes, dtype=x[0].dtype)
        ones, _, _ = pooled(node, np.ones_like(x[0]), 0.0)
        return np.sum(view, axis=axes) / np.sum(ones, axis=axes)

    def gemm(node, x):
        a = np.transpose(x[0]) if node.get("transA", 0) else x[0]
        b = np.transpose(x[1]) if node.get("transB", 0) else x[1]
        product = e.matmul(a, b)
        alpha, beta = node.get("alpha", 1.0), node.get("beta", 1.0)
        product = product if alpha == 1 else product * array(alpha).astype(product.dtype)
        if len(x) < 3 or x[2] is None:
            return product
        return product + (x[2] if beta == 1 else x[2] * array(beta).astype(product.dtype))

    def batch_norm(node, x):
        src, scale, bias, mean, variance = x[:5]
        over = (1, -1) + (1,) * (src.ndim - 2)
        root = np.sqrt(variance + number(src, node.get("epsilon", 1e-5)))
        return (src - mean.reshape(over)) / root.reshape(over) * scale.reshape(over) + bias.reshape(over)

    def number(x, value):
        return array(value).astype(x.dtype)

    def layer_norm(node, x):
        axes = tuple(range(node.get("axis", -1) % x[0].ndim, x[0].ndim))
        centred = x[0] - np.mean(x[0], axis=axes, keepdims=True)
        variance = np.mean(centred * centred, axis=axes, keepdims=True)
        scaled = centred / np.sqrt(variance + number(x[0], node.get("epsilon", 1e-5))) * x[1]
        return scaled + x[2] if len(x) > 2 and x[2] is not None else scaled

    def softmax(x, axis):
        exponentials = np.exp(x - np.max(x, axis=axis, keepdims=True))
        return exponentials / np.sum(exponentials, axis=axis, keepdims=True)

    def log_softmax(x, axis):
        shifted = x - np.max(x, axis=axis, keepdims=True)
        return shifted - np.log(np.sum(np.exp(shifted), axis=axis, keepdims=True))

    def reduced(function):
        def reduce(node, x):
            axes = (tuple(int(v) for v in x[1].reshape(-1)) if len(x) > 1 and x[1] is not None
                    else tuple(node.get("axes") or ()))
            if not axes and node.get("noop_with_empty_axes", 0):
                return x[0]
            return function(x[0], axis=axes or None, keepdims=bool(node.get("keepdims", 1)))
        return reduce

    def clip(node, x):
        low = x[1] if len(x) > 1 and x[1] is not None else node.get("min", -math.inf)
        high = x[2] if len(x) > 2 and x[2] is not None else node.get("max", math.inf)
        return np.minimum(np.maximum(x[0], number(x[0], low)), number(x[0], high))

    def gelu(node, x):
        if node.get("approximate", "none") != "none":
            inner = number(x[0], math.sqrt(2 / math.pi)) * (x[0] + number(x[0], 0.044715) * x[0] * x[0] * x[0])
            return number(x[0], 0.5) * x[0] * (1 + np.tanh(inner))
        return number(x[0], 0.5) * x[0] * (1 + e.erf(x[0] * number(x[0], math.sqrt(0.5))))

    def fold(function):
        def folded(node, x):
            total = x[0]
            for other in x[1:]:
                total = function(total, other)
            return total
        return folded

    def global_pool(function):
        return lambda node, x: function(x[0], axis=tuple(range(2, x[0].ndim)), keepdims=True)

    operators = {
        "Add": of(np.add), "Sub": of(np.subtract), "Mul": of(np.multiply), "Div": of(np.divide),
        "Pow": lambda node, x: np.power(x[0], x[1].astype(x[0].dtype)),
        "Max": fold(np.maximum), "Min": fold(np.minimum), "Sum": fold(np.add), "Sqrt": of(np.sqrt), "Exp": of(np.exp),
        "Log": of(np.log), "Tanh": of(np.tanh), "Sigmoid": of(e.sigmoid), "Erf": of(e.erf), "Neg": of(np.negative),
        "Abs": of(np.abs), "Reciprocal": lambda node, x: 1 / x[0], "Sin": of(np.sin), "Cos": of(np.cos),
        "Floor": of(np.floor), "Ceil": of(np.ceil), "Relu": lambda node, x: np.maximum(x[0], number(x[0], 0.0)),
        "LeakyRelu": lambda node, x: np.where(x[0] < 0, x[0] * number(x[0], node.get("alpha", 0.01)), x[0]),
        "Clip": clip, "Gelu": gelu, "Gemm": gemm, "MatMul": of(e.matmul), "MaxPool": max_pool,
        "AveragePool": average_pool, "GlobalAveragePool": global_pool(np.mean), "GlobalMaxPool": global_pool(np.max),
        "BatchNormalization": batch_norm, "LayerNormalization": layer_norm,
        "Softmax": lambda node, x: in_rows(softmax, node, x[0]),
        "LogSoftmax": lambda node, x: in_rows(log_softmax, node, x[0]),
        "ReduceMean": reduced(np.mean), "ReduceSum": reduced(np.sum),
        "LSTM": lambda node, x: lstm(e, np, node, x),
    }
    return {name: on_arrays(function) for name, function in operators.items()}
