"""The cases of torch_oracle.py: for each, isobit's nodes, their inputs, and the same function in torch."""
import math
import zlib

from exchange import torch

F = torch.nn.functional
FLOATS = (torch.float32, torch.float64)


class Case:
    """nodes over named inputs; expect(**inputs in float64) gives {output: tensor}.

    Bounds are (mode, ulps of float32). The error of an element is measured against
      exact       nothing: it must be equal
      each        the expected element itself
      tensor      the largest expected element of the tensor
      magnitude   the sum of the magnitudes of its terms: the same function of the absolute values
    """

    def __init__(self, name, dtype, inputs, nodes, outputs, expect, forward, gradient=None, wrt=(), magnitude=None,
                 check=None, constants=()):
        self.name, self.dtype, self.inputs, self.nodes, self.outputs = name, dtype, inputs, nodes, outputs
        self.expect, self.forward, self.gradient, self.wrt = expect, forward, gradient, list(wrt)
        self.magnitude, self.check = magnitude or expect, check
        self.constants = list(constants)  # inputs that the graph has as constants
        self.weights = None  # of the first output, when there are gradients

    def description(self):
        out = {"name": self.name, "inputs": list(self.inputs), "nodes": self.nodes, "outputs": self.outputs,
               "constants": self.constants}
        if self.wrt:
            out.update(weighted=self.outputs[0], wrt=self.wrt)
        return out


def node(op, inputs, outputs, **attributes):
    return {"op": op, "in": inputs, "out": outputs, "attributes": attributes}


def uniform(dtype, shape, low=-1.0, high=1.0):
    return (torch.rand(shape, dtype=torch.float64) * (high - low) + low).to(dtype)


class Cases:
    def __init__(self):
        self.all = []
        self.counts = {}

    def new_name(self, op, dtype):
        base = f"{op}.{'f64' if dtype == torch.float64 else 'f32'}"
        self.counts[base] = self.counts.get(base, 0) + 1
        name = f"{base}.{self.counts[base]}"
        torch.manual_seed(zlib.crc32(name.encode()))  # a case keeps its numbers when others come and go
        return name

    def op(self, op, inputs, expect, forward, gradient=None, outputs=1, magnitude=None, dtypes=FLOATS, check=None,
           constants=(), **attributes):
        """One operator. inputs: functions of the dtype, or tensors as they are; expect: the torch function of them.

        With `gradient`, gradients with respect to every floating-point input are checked as well. constants: numbers of
        inputs that the graph has as constants.
        """
        for dtype in dtypes:
            name = self.new_name(op, dtype)
            values = {f"x{i}": make(dtype) if callable(make) else make for i, make in enumerate(inputs)}
            names = [f"y{i}" for i in range(outputs)]
            known = [f"x{i}" for i in constants]
            wrt = [n for n, v in values.items() if v.dtype == dtype and n not in known] if gradient else ()
            self.add(Case(name, dtype, values, [node(op, list(values), names, **attributes)], names,
                          named(expect, outputs), forward, gradient, wrt,
                          named(magnitude, outputs) if magnitude else None, check, known))

    def add(self, case):
        self.all.append(case)


def named(function, outputs):
    def call(**inputs):
        result = function(*inputs.values())
        return {f"y{i}": r for i, r in enumerate(result if outputs > 1 else [result])}
    return call


def u(*shape, low=-1.0, high=1.0):
    return lambda dtype: uniform(dtype, shape, low, high)


ROUNDED = ("each", 0.5)  # one correctly rounded operation
EXACT = ("exact", 0)


def elementwise(c):
    shapes = [((3, 4), (3, 4)), ((2, 3, 4), (3, 1)), ((4,), (2, 1, 4)), ((), (5,)), ((70, 33), (33,))]
    for a, b in shapes:
        for op, f in (("Add", torch.add), ("Sub", torch.sub), ("Mul", torch.mul), ("Div", torch.div)):
            c.op(op, [u(*a), u(*b, low=0.5, high=2)], f, ROUNDED, ("magnitude", 4))
    for op, f, low, high in [
            ("Neg", torch.neg, -1, 1), ("Identity", lambda x: x * 1, -1, 1), ("Sqrt", torch.sqrt, 0.01, 9),
            ("Exp", torch.exp, -20, 20), ("Log", torch.log, 1e-3, 50), ("Reciprocal", torch.reciprocal, 0.1, 7)]:
        c.op(op, [u(37, 9, low=low, high=high)], f, ROUNDED, ("each", 3))
    c.op("Abs", [u(37, 9)], torch.abs, EXACT, EXACT)
    c.op("Erf", [u(37, 9, low=-2, high=2)], torch.erf, ROUNDED, ("each", 6))
    for op, f in (("Sin", torch.sin), ("Cos", torch.cos)):
        c.op(op, [u(37, 9, low=-50, high=50)], f, ROUNDED, ("each", 2))
    c.op("Relu", [u(37, 9)], torch.relu, EXACT, EXACT)
    for alpha in (0.01, 0.25):
        c.op("LeakyRelu", [u(37, 9)], lambda x, alpha=alpha: F.leaky_relu(x, alpha), ("each", 1), ("each", 1), alpha=alpha)
    c.op("Sigmoid", [u(37, 9, low=-9, high=9)], torch.sigmoid, ROUNDED, ("tensor", 2))
    c.op("Tanh", [u(37, 9, low=-4, high=4)], torch.tanh, ROUNDED, ("tensor", 2))
    for form in ("none", "tanh"):
        c.op("Gelu", [u(37, 9, low=-5, high=5)], lambda x, form=form: F.gelu(x, approximate=form), ("tensor", 0.5),
             ("tensor", 4), approximate=form)
    # In the left tail torch's own gelu loses digits to 1 + erf and 1 + tanh; these do not.
    c.op("Gelu", [u(37, 9, low=-5, high=5)], lambda x: 0.5 * x * torch.erfc(-x / math.sqrt(2)), ROUNDED,
         approximate="none")
    c.op("Gelu", [u(37, 9, low=-5, high=5)],
         lambda x: x * torch.sigmoid(2 * math.sqrt(2 / math.pi) * (x + 0.044715 * x ** 3)), ROUNDED,
         approximate="tanh")


def steps(c):
    """What is constant between steps, times its operand: the gradient is that of the factor alone."""
    for op, f in (("Floor", torch.floor), ("Ceil", torch.ceil), ("Round", torch.round), ("Sign", torch.sign)):
        for dtype in FLOATS:
            c.add(Case(c.new_name(op, dtype), dtype, {"x": uniform(dtype, (37, 9), -9, 9)},
                       [node(op, ["x"], ["step"]), node("Mul", ["step", "x"], ["y"])], ["y"],
                       lambda x, f=f: {"y": f(x) * x}, ROUNDED, ("each", 1), ["x"]))


def casts(c):
    types = [torch.float32, torch.float64, torch.int64, torch.int32, torch.uint8, torch.bool]  # DType 1 to 6
    for source in types:
        for code, target in enumerate(types, 1):
            x = uniform(torch.float64, (50,), 0, 200).to(source)
            c.op("Cast", [x], lambda v, s=source, t=target: v.to(s).to(t), EXACT, dtypes=[torch.float64], to=code)


def dropout(c):
    n = 40000
    for ratio in (0.0, 0.3, 0.9):
        kept = []

        def check(inputs, found, dtype, ratio=ratio, kept=kept):
            x, y, w, dx = inputs["x0"], found["y0"], inputs["weights"], found["grad/x0"]
            mask, scale = y != 0, torch.tensor(1 / (1 - ratio), dtype=dtype)
            share, deviation = mask.double().mean().item(), (ratio * (1 - ratio) / n) ** 0.5
            neighbours = (mask[1:] & mask[:-1]).double().mean().item()
            kept.append(mask)
            return {"kept elements are scaled": torch.equal(y[mask], (x * scale)[mask]),
                    "the gradient has the same mask": torch.equal(dx, torch.where(mask, w * scale, w * 0)),
                    f"share kept {share}": abs(share - (1 - ratio)) <= 5 * deviation,
                    f"share of kept neighbours {neighbours}": abs(neighbours - (1 - ratio) ** 2) <= 8 * deviation,
                    "another seed, step or node, another mask": ratio == 0 or all(
                        dtype == torch.float64 or not torch.equal(mask, other) for other in kept[:-1])}
        for seed, step, place in ((1, 3, 0), (2, 3, 0), (1, 4, 0), (1, 3, 1)):
            c.op("isobit.Dropout", [u(n, low=0.5, high=1.5), torch.tensor(step)], lambda x, s: x, EXACT, EXACT,
                 dtypes=[torch.float32], check=check, seed=seed, node=place, ratio=ratio)
        c.op("isobit.Dropout", [u(n, low=0.5, high=1.5), torch.tensor(3)], lambda x, s: x, EXACT, EXACT,
             dtypes=[torch.float64], check=check, seed=1, node=0, ratio=ratio)


def products(c):
    for a, b in [((3, 4), (4, 5)), ((2, 3, 4), (2, 4, 5)), ((2, 3, 4), (4, 5)), ((2, 1, 3, 4), (3, 4, 5)),
                 ((3, 300), (300, 2)), ((2, 4200), (4200, 1)), ((37, 65), (65, 50))]:
        for ta in (0, 1):
            for tb in (0, 1):
                sa, sb = list(a), list(b)
                if ta:
                    sa[-2:] = sa[:-3:-1]
                if tb:
                    sb[-2:] = sb[:-3:-1]

                def product(x, y, ta=ta, tb=tb):
                    return torch.matmul(x.transpose(-1, -2) if ta else x, y.transpose(-1, -2) if tb else y)
                c.op("MatMul", [u(*sa), u(*sb)], product, ("magnitude", 3), ("magnitude", 3), transA=ta, transB=tb)
                if len(a) == 2:
                    c.op("Gemm", [u(*sa), u(*sb), u(sb[-2] if tb else sb[-1])],
                         lambda x, y, bias, f=product: f(x, y) + bias, ("magnitude", 3), ("magnitude", 3), transA=ta,
                         transB=tb)
    c.op("Gemm", [u(3, 4), u(4, 5)], torch.matmul, ("magnitude", 3), ("magnitude", 3))


def padded(x, pads, value=0.0):
    top, left, bottom, right = pads
    return F.pad(x, (left, right, top, bottom), value=value)


def convolutions(c):
    for src, weights, attributes in [
            ((2, 4, 7, 6), (6, 4, 3, 3), {}),
            ((2, 4, 7, 6), (6, 4, 3, 3), {"pads": [1, 1, 1, 1]}),
            ((2, 3, 8, 9), (5, 3, 3, 2), {"pads": [0, 1, 2, 1], "strides": [2, 3]}),
            ((2, 4, 9, 8), (6, 4, 3, 3), {"dilations": [2, 1], "pads": [2, 0, 1, 1]}),
            ((2, 4, 7, 6), (6, 2, 3, 3), {"group": 2, "pads": [1, 0, 1, 0]}),
            ((1, 6, 7, 7), (6, 1, 3, 3), {"group": 6, "pads": [1, 1, 1, 1], "strides": [2, 2]}),
            ((3, 40, 6, 5), (33, 40, 1, 1), {}),
            ((2, 35, 5, 5), (18, 35, 3, 3), {"pads": [1, 1, 1, 1]}),
            ((5, 3, 20, 18), (4, 3, 5, 5), {"pads": [2, 2, 2, 2]})]:
        def conv(x, w, b=None, a=attributes):
            return F.conv2d(padded(x, a.get("pads", [0] * 4)), w, b, stride=a.get("strides", [1, 1]),
                            dilation=a.get("dilations", [1, 1]), groups=a.get("group", 1))
        c.op("Conv", [u(*src), u(*weights), u(weights[0])], conv, ("magnitude", 3), ("magnitude", 3), **attributes)
    c.op("Conv", [u(2, 3, 6, 6), u(4, 3, 3, 3)], conv, ("magnitude", 3), ("magnitude", 3), pads=[2, 2, 2, 2])


def pools(c):
    windows = [dict(kernel_shape=[2, 2], strides=[2, 2]), dict(kernel_shape=[3, 2], strides=[2, 1], pads=[1, 0, 1, 1]),
               dict(kernel_shape=[3, 3], strides=[1, 1], pads=[2, 1, 0, 1])]
    for window in windows:
        kernel, strides, pads = window["kernel_shape"], window["strides"], window.get("pads", [0] * 4)

        def max_pool(x, kernel=kernel, strides=strides, pads=pads):
            y, places = F.max_pool2d(padded(x, pads, float("-inf")), kernel, strides, return_indices=True)
            wide = x.shape[3] + pads[1] + pads[3]  # places count in the padded plane
            planes = torch.arange(x.shape[0] * x.shape[1]).reshape(x.shape[:2] + (1, 1)) * x.shape[2] * x.shape[3]
            rows, columns = places.div(wide, rounding_mode="floor") - pads[0], places % wide - pads[1]
            return y, planes + rows * x.shape[3] + columns

        # Small whole numbers: nearly every window has a tie.
        for make in (u(2, 3, 7, 6), lambda dtype: torch.randint(0, 3, (2, 3, 7, 6)).to(dtype)):
            c.op("MaxPool", [make], max_pool, EXACT, ("tensor", 2), outputs=2, **window)
        for include in (0, 1):
            def average_pool(x, include=include, kernel=kernel, strides=strides, pads=pads):
                inside = padded(torch.ones_like(x), pads, 1.0 if include else 0.0)
                return F.avg_pool2d(padded(x, pads), kernel, strides) / F.avg_pool2d(inside, kernel, strides)
            c.op("AveragePool", [u(2, 3, 7, 6)], average_pool, ("magnitude", 1), ("magnitude", 4),
                 count_include_pad=include, **window)
    c.op("GlobalAveragePool", [u(2, 3, 4, 5)], lambda x: x.mean((2, 3), keepdim=True), ("each", 1), ("each", 1))


def softmaxes(c):
    for shape in ((2, 5, 7), (3, 130)):
        c.op("Softmax", [u(*shape, low=-8, high=8)], lambda x: torch.softmax(x, -1), ("each", 12), ("tensor", 6))
        c.op("LogSoftmax", [u(*shape, low=-8, high=8)], lambda x: torch.log_softmax(x, -1), ("tensor", 2),
             ("tensor", 8))
    for queries, keys in ((6, 6), (3, 7)):
        c.op("isobit.CausalSoftmax", [u(2, 2, queries, keys, low=-4, high=4)], causal_softmax, ("each", 8),
             ("tensor", 6))
    labels = torch.tensor([0, 5, 2, 2, 1, 0, 3])

    def cross_entropy(x, y):
        top = x.amax(1)
        rows = F.cross_entropy(x, y, reduction="none")
        return F.cross_entropy(x, y), rows, top, torch.logsumexp(x, 1) - top
    c.op("isobit.CrossEntropy", [u(7, 6, low=-4, high=4), labels], cross_entropy, ("tensor", 2), ("tensor", 6),
         outputs=4)
    for dtype in FLOATS:  # the losses of rows
        c.add(Case(c.new_name("isobit.CrossEntropy", dtype), dtype,
                   {"x": uniform(dtype, (7, 6), -4, 4), "labels": labels},
                   [node("isobit.CrossEntropy", ["x", "labels"], ["mean", "y", "top", "sums"])], ["y"],
                   lambda x, labels: {"y": F.cross_entropy(x, labels, reduction="none")}, ("tensor", 2), ("tensor", 6),
                   ["x"]))


def causal_softmax(x):
    allowed = torch.ones(x.shape[-2:], dtype=torch.bool).tril(x.shape[-1] - x.shape[-2])
    return torch.softmax(x.masked_fill(~allowed, float("-inf")), -1)


def reductions(c):
    for axes, keep in (([], 1), ([1], 1), ([0, -1], 0), ([2], 0)):
        dims = [0, 1, 2] if not axes else axes
        arguments = dict(axes=axes, keepdims=keep)
        c.op("ReduceSum", [u(3, 40, 7)], lambda x, d=dims, k=keep: x.sum(d, bool(k)), ROUNDED, ("each", 1),
             **arguments)
        c.op("ReduceMean", [u(3, 40, 7)], lambda x, d=dims, k=keep: x.mean(d, bool(k)), ("each", 1), ("each", 1),
             **arguments)
        c.op("ReduceMax", [u(3, 40, 7)], lambda x, d=dims, k=keep: x.amax(d, bool(k)), EXACT, **arguments)
    for shape in ([3, 1], [4], [], [2, 1, 4]):
        c.op("isobit.SumTo", [u(2, 3, 4)], lambda x, s=shape: x.sum_to_size(s) if s else x.sum(), ROUNDED, EXACT,
             shape=shape)
    c.op("isobit.GlobalNorm", [u(50, 3), u(17), u()],
         lambda *xs: torch.stack([x.norm() for x in xs]).norm(), ("each", 2))
    for norm in (0.3, 2.5):
        c.op("isobit.ClipFactor", [torch.tensor(norm)], lambda x: (1.25 / (x + 1e-6)).clamp(max=1), ("each", 2),
             dtypes=[torch.float32], max_norm=1.25)


def movements(c):
    def move(op, inputs, f, gradient=EXACT, **attributes):
        c.op(op, inputs, f, EXACT, gradient, **attributes)
    move("Transpose", [u(2, 3, 4)], lambda x: x.permute(2, 0, 1), perm=[2, 0, 1])
    move("Transpose", [u(2, 5, 3, 4)], lambda x: x.permute(0, 2, 1, 3), perm=[0, 2, 1, 3])
    move("Transpose", [u(70, 65)], lambda x: x.t(), perm=[1, 0])
    move("Reshape", [u(2, 6)], lambda x: x.reshape(3, 4), shape=[3, -1])
    move("Reshape", [u(2, 6, 5)], lambda x: x.reshape(2, 30), shape=[0, 30])
    move("Flatten", [u(2, 3, 4)], lambda x: x.flatten(1))
    move("Flatten", [u(2, 3, 4)], lambda x: x.reshape(6, 4), axis=2)
    move("Concat", [u(2, 3), u(2, 1), u(2, 2)], lambda *x: torch.cat(x, -1), axis=-1)
    move("Concat", [u(2, 3), u(4, 3)], lambda *x: torch.cat(x, 0), axis=0)
    move("isobit.Block", [u(4, 5)], lambda x: x[1:3, 2:5], starts=[1, 2], counts=[2, 3])
    rows = torch.tensor([[4, 0, 4], [1, 4, 3]])
    move("Gather", [u(5, 7), rows], lambda table, i: table[i], ("magnitude", 1))
    move("Gather", [u(5, 7), rows.int()], lambda table, i: table[:, i.long()], None, axis=1)
    move("Expand", [u(3, 1)], lambda x: x.expand(2, 3, 4), ("magnitude", 1), shape=[2, 3, 4])


GROUPS = (elementwise, steps, casts, dropout, products, convolutions, pools, softmaxes, reductions, movements)
