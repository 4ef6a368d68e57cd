"""The operators that compute, as TensorFlow has them. Its CPU kernels of windows want the channels last."""
import math

from lstm import lstm
from protocol import Refused
from windows import Windows, in_rows


def table(tf, tensor):
    def on_tensors(function):
        return lambda node, x: function(node, [None if v is None else tensor(v) for v in x])

    def of(function):
        return lambda node, x: function(*x)

    def channels_last(x):
        rank = len(x.shape)
        return tf.transpose(x, [0, *range(2, rank), 1])

    def channels_first(x):
        rank = len(x.shape)
        return tf.transpose(x, [0, rank - 1, *range(1, rank - 1)])

    def padded(x, w, value=0.0):
        if not w.padded():
            return x
        return tf.pad(x, [(0, 0), *w.pads, (0, 0)], constant_values=value)

    def conv(node, x):
        w = Windows(node, x[0].shape[2:], x[1].shape[2:])
        rank, groups = len(w.kernel), node.get("group", 1)
        src = padded(channels_last(x[0]), w)
        filters = tf.transpose(x[1], [*range(2, 2 + rank), 1, 0])  # k..., ic, oc
        depthwise = groups > 1 and groups == x[0].shape[1] and rank == 2 and len(set(w.strides)) == 1
        if depthwise:  # k..., c, outputs of each
            each = x[1].shape[0] // groups
            filters = tf.transpose(tf.reshape(x[1], (groups, each, *w.kernel)), [2, 3, 0, 1])
            dst = tf.nn.depthwise_conv2d(src, filters, [1, *w.strides, 1], "VALID", dilations=w.dilations)
        elif groups == 1:
            dst = tf.nn.convolution(src, filters, w.strides, "VALID", dilations=w.dilations)
        else:
            parts = zip(tf.split(src, groups, -1), tf.split(filters, groups, -1))
            dst = tf.concat([tf.nn.convolution(s, k, w.strides, "VALID", dilations=w.dilations) for s, k in parts], -1)
        if len(x) > 2 and x[2] is not None:
            dst = tf.nn.bias_add(dst, x[2])
        return channels_first(dst)

    def max_pool(node, x):
        if len(node.outputs) > 1 and node.outputs[1]:
            raise Refused(f"node '{node.label()}' (MaxPool): indices have no converter")
        w = Windows(node, x[0].shape[2:], None)
        src = padded(channels_last(x[0]), w, -math.inf)
        return channels_first(tf.nn.pool(src, w.kernel, "MAX", w.strides, "VALID", dilations=w.dilations))

    def average_pool(node, x):
        w = Windows(node, x[0].shape[2:], None)
        if w.padded() and not node.get("count_include_pad", 0):
            raise Refused(f"node '{node.label()}' (AveragePool): pads that do not count have no converter")
        src = padded(channels_last(x[0]), w)
        return channels_first(tf.nn.pool(src, w.kernel, "AVG", w.strides, "VALID", dilations=w.dilations))

    def gemm(node, x):
        product = tf.linalg.matmul(x[0], x[1], transpose_a=bool(node.get("transA", 0)),
                                   transpose_b=bool(node.get("transB", 0)))
        alpha, beta = node.get("alpha", 1.0), node.get("beta", 1.0)
        product = product if alpha == 1 else product * tf.constant(alpha, product.dtype)
        if len(x) < 3 or x[2] is None:
            return product
        return product + (x[2] if beta == 1 else x[2] * tf.constant(beta, product.dtype))

    def matmul(node, x):
        a, b = x
        if len(a.shape) == 1 or len(b.shape) == 1:
            raise Refused(f"node '{node.label()}' (MatMul): operands of one axis have no converter")
        return tf.linalg.matmul(a, b)

    def reduced(function):
        def reduce(node, x):
            axes = ([int(v) for v in tf.reshape(x[1], [-1])] if len(x) > 1 and x[1] is not None
                    else list(node.get("axes") or []))
            if not axes and node.get("noop_with_empty_axes", 0):
                return x[0]
            return function(x[0], axis=axes or None, keepdims=bool(node.get("keepdims", 1)))
        return reduce

    def batch_norm(node, x):
        if len(x[0].shape) != 4:
            raise Refused(f"node '{node.label()}' (BatchNormalization): only images have a converter")
        dst, _, _, _, _, _ = tf.raw_ops.FusedBatchNormV3(
            x=channels_last(x[0]), scale=x[1], offset=x[2], mean=x[3], variance=x[4],
            epsilon=node.get("epsilon", 1e-5), is_training=False)
        return channels_first(dst)

    def layer_norm(node, x):
        axes = list(range(node.get("axis", -1) % len(x[0].shape), len(x[0].shape)))
        mean, variance = tf.nn.moments(x[0], axes, keepdims=True)
        return tf.nn.batch_normalization(x[0], mean, variance, x[2] if len(x) > 2 else None, x[1],
                                         node.get("epsilon", 1e-5))

    def clip(node, x):
        low = x[1] if len(x) > 1 and x[1] is not None else node.get("min", -math.inf)
        high = x[2] if len(x) > 2 and x[2] is not None else node.get("max", math.inf)
        return tf.clip_by_value(x[0], low, high)

    def fold(function):
        def folded(node, x):
            total = x[0]
            for other in x[1:]:
                total = function(total, other)
            return total
        return folded

    def rows(function):
        class Array:
            """What windows.in_rows asks of an array."""
            def __init__(self, value):
                self.value, self.shape = value, tuple(value.shape)

            def reshape(self, dims):
                return Array(tf.reshape(self.value, dims))

        def over(node, x):
            return in_rows(lambda a, axis: Array(function(a.value, axis)), node, Array(x[0])).value
        return over

    class Steps:
        matmul, add, mul = tf.linalg.matmul, tf.add, tf.multiply
        sigmoid, tanh = tf.sigmoid, tf.tanh

    class Moving:
        transpose, stack = tf.transpose, tf.stack

        @staticmethod
        def zeros(dims, dtype):
            return tf.zeros(dims, dtype)

    operators = {
        "Add": of(tf.add), "Sub": of(tf.subtract), "Mul": of(tf.multiply), "Div": of(tf.divide),
        "Pow": lambda node, x: tf.pow(x[0], tf.cast(x[1], x[0].dtype)), "Max": fold(tf.maximum),
        "Min": fold(tf.minimum), "Sum": fold(tf.add), "Sqrt": of(tf.sqrt), "Exp": of(tf.exp), "Log": of(tf.math.log),
        "Tanh": of(tf.tanh), "Sigmoid": of(tf.sigmoid), "Relu": of(tf.nn.relu), "Erf": of(tf.math.erf),
        "Neg": of(tf.negative), "Abs": of(tf.abs), "Reciprocal": of(tf.math.reciprocal), "Sin": of(tf.sin),
        "Cos": of(tf.cos), "Floor": of(tf.floor), "Ceil": of(tf.math.ceil), "Softplus": of(tf.math.softplus),
        "LeakyRelu": lambda node, x: tf.nn.leaky_relu(x[0], node.get("alpha", 0.01)),
        "Gelu": lambda node, x: tf.nn.gelu(x[0], approximate=node.get("approximate", "none") != "none"),
        "Clip": clip, "Gemm": gemm, "MatMul": matmul, "Conv": conv, "MaxPool": max_pool, "AveragePool": average_pool,
        "GlobalAveragePool": lambda node, x: tf.reduce_mean(x[0], list(range(2, len(x[0].shape))), keepdims=True),
        "GlobalMaxPool": lambda node, x: tf.reduce_max(x[0], list(range(2, len(x[0].shape))), keepdims=True),
        "BatchNormalization": batch_norm, "LayerNormalization": layer_norm, "Softmax": rows(tf.nn.softmax),
        "LogSoftmax": rows(tf.nn.log_softmax), "ReduceMean": reduced(tf.reduce_mean),
        "ReduceSum": reduced(tf.reduce_sum), "LSTM": lambda node, x: lstm(Steps, Moving, node, x),
    }
    return {name: on_tensors(function) for name, function in operators.items()}
