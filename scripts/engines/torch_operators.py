"""The operators that compute, as PyTorch has them."""
import math

from lstm import lstm
from protocol import Refused
from windows import Windows, in_rows


def table(torch, channels_last, tensor):
    """`tensor` makes PyTorch's tensors of arrays."""
    f = torch.nn.functional

    def image(x):
        return x.contiguous(memory_format=torch.channels_last) if channels_last and x.dim() == 4 else x

    def on_tensors(function):
        return lambda node, x: function(node, [None if v is None else tensor(v) for v in x])

    def padded(x, w, value=0.0):
        flat = [side for pair in reversed(w.pads) for side in pair]
        return f.pad(x, flat, value=value)

    def conv(node, x):
        w = Windows(node, x[0].shape[2:], x[1].shape[2:])
        src, pads = image(x[0]), [before for before, _ in w.pads]
        if not w.symmetric():
            src, pads = image(padded(src, w)), [0] * len(pads)
        function = {3: f.conv1d, 4: f.conv2d, 5: f.conv3d}[x[0].dim()]
        return function(src, image(x[1]), x[2] if len(x) > 2 else None, w.strides, pads, w.dilations,
                        node.get("group", 1))

    def max_pool(node, x):
        if len(node.outputs) > 1 and node.outputs[1]:
            raise Refused(f"node '{node.label()}' (MaxPool): indices have no converter")
        w = Windows(node, x[0].shape[2:], None)
        src = padded(x[0], w, -math.inf) if w.padded() else x[0]
        return {3: f.max_pool1d, 4: f.max_pool2d, 5: f.max_pool3d}[x[0].dim()](image(src), w.kernel, w.strides, 0,
                                                                             w.dilations)

    def average_pool(node, x):
        w = Windows(node, x[0].shape[2:], None)
        if not w.symmetric():
            raise Refused(f"node '{node.label()}' (AveragePool): pads that are not symmetric have no converter")
        return {3: f.avg_pool1d, 4: f.avg_pool2d, 5: f.avg_pool3d}[x[0].dim()](
            image(x[0]), w.kernel, w.strides, [before for before, _ in w.pads], False,
            bool(node.get("count_include_pad", 0)))

    def gemm(node, x):
        a = x[0].t() if node.get("transA", 0) else x[0]
        b = x[1].t() if node.get("transB", 0) else x[1]
        alpha, beta = node.get("alpha", 1.0), node.get("beta", 1.0)
        if len(x) > 2 and x[2] is not None:
            return torch.addmm(x[2], a, b, beta=beta, alpha=alpha)
        return torch.mm(a, b) if alpha == 1 else torch.mm(a, b) * alpha

    def reduced(function):
        def reduce(node, x):
            axes = ([int(v) for v in x[1].reshape(-1)] if len(x) > 1 and x[1] is not None else node.get("axes")) or []
            if not axes and node.get("noop_with_empty_axes", 0):
                return x[0]
            return function(x[0], axes or list(range(x[0].dim())), bool(node.get("keepdims", 1)))
        return reduce

    def layer_norm(node, x):
        axis = node.get("axis", -1) % x[0].dim()
        return f.layer_norm(x[0], x[0].shape[axis:], x[1], x[2] if len(x) > 2 else None, node.get("epsilon", 1e-5))

    def clip(node, x):
        low = x[1] if len(x) > 1 else node.get("min")
        high = x[2] if len(x) > 2 else node.get("max")
        return torch.clamp(x[0], None if low is None else float(low), None if high is None else float(high))

    def of(function):
        return lambda node, x: function(*x)

    class Steps:
        matmul, add, mul = torch.matmul, torch.add, torch.mul
        sigmoid, tanh = torch.sigmoid, torch.tanh

    class Moving:
        transpose = staticmethod(lambda v: v.t())
        zeros = staticmethod(lambda dims, dtype: torch.zeros(dims, dtype=dtype))
        stack = staticmethod(torch.stack)

    operators = {
        "Add": of(torch.add), "Sub": of(torch.sub), "Mul": of(torch.mul), "Div": of(torch.div), "Pow": of(torch.pow),
        "Max": lambda node, x: fold(torch.maximum, x), "Min": lambda node, x: fold(torch.minimum, x),
        "Sum": lambda node, x: fold(torch.add, x),
        "Sqrt": of(torch.sqrt), "Exp": of(torch.exp), "Log": of(torch.log), "Tanh": of(torch.tanh),
        "Sigmoid": of(torch.sigmoid), "Relu": of(torch.relu), "Erf": of(torch.erf), "Neg": of(torch.neg),
        "Abs": of(torch.abs), "Reciprocal": of(torch.reciprocal), "Sin": of(torch.sin), "Cos": of(torch.cos),
        "Floor": of(torch.floor), "Ceil": of(torch.ceil), "Softplus": of(f.softplus), "HardSwish": of(f.hardswish),
        "LeakyRelu": lambda node, x: f.leaky_relu(x[0], node.get("alpha", 0.01)),
        "Elu": lambda node, x: f.elu(x[0], node.get("alpha", 1.0)),
        "Gelu": lambda node, x: f.gelu(x[0], approximate=node.get("approximate", "none")),
        "Clip": clip, "Gemm": gemm, "MatMul": of(torch.matmul), "Conv": conv, "MaxPool": max_pool,
        "AveragePool": average_pool, "LayerNormalization": layer_norm,
        "GlobalAveragePool": lambda node, x: x[0].mean(tuple(range(2, x[0].dim())), keepdim=True),
        "GlobalMaxPool": lambda node, x: x[0].amax(tuple(range(2, x[0].dim())), keepdim=True),
        "BatchNormalization": lambda node, x: f.batch_norm(image(x[0]), x[3], x[4], x[1], x[2], False, 0.0,
                                                           node.get("epsilon", 1e-5)),
        "Softmax": lambda node, x: in_rows(torch.softmax, node, x[0]),
        "LogSoftmax": lambda node, x: in_rows(torch.log_softmax, node, x[0]),
        "ReduceMean": reduced(torch.mean), "ReduceSum": reduced(torch.sum),
        "LSTM": lambda node, x: lstm(Steps, Moving, node, x),
    }
    return {name: on_tensors(function) for name, function in operators.items()}


def fold(function, x):
    total = x[0]
    for other in x[1:]:
        total = function(total, other)
    return total
