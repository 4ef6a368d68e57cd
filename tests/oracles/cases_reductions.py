"""The cases of torch_oracle.py of reductions, running sums, ranks along an axis and norms over rows."""
from exchange import torch
from operator_cases import EXACT, FLOATS, ROUNDED, Case, node, u, uniform

F = torch.nn.functional


def product(x, dims, keep):
    for d in sorted((d % x.dim() for d in dims), reverse=True):
        x = x.prod(d, keepdim=bool(keep))
    return x


def few_values(dtype):
    return torch.randint(0, 4, (5, 9)).to(dtype)


def reductions(c):
    for axes, keep in (([], 1), ([1], 1), ([0, -1], 0)):
        dims = [0, 1, 2] if not axes else axes
        arguments = dict(axes=axes, keepdims=keep)
        c.op("ReduceMax", [u(3, 40, 7)], lambda x, d=dims, k=keep: x.amax(d, bool(k)), EXACT, EXACT, **arguments)
        c.op("ReduceMin", [u(3, 40, 7)], lambda x, d=dims, k=keep: x.amin(d, bool(k)), EXACT, EXACT, **arguments)
        c.op("ReduceProd", [u(3, 6, 4, low=0.7, high=1.4)], lambda x, d=dims, k=keep: product(x, d, k), ("each", 36),
             ("each", 40), **arguments)
        c.op("ReduceSumSquare", [u(3, 40, 7)], lambda x, d=dims, k=keep: (x * x).sum(d, bool(k)), ROUNDED, ("each", 1),
             **arguments)
        c.op("ReduceL2", [u(3, 40, 7)], lambda x, d=dims, k=keep: (x * x).sum(d, bool(k)).sqrt(), ("each", 1),
             ("each", 3), **arguments)
        c.op("ReduceLogSumExp", [u(3, 40, 7, low=-6, high=6)], lambda x, d=dims, k=keep: torch.logsumexp(x, d, bool(k)),
             ("tensor", 2), ("tensor", 16), **arguments)
    # Nearly every row has several of the largest: they share the gradient.
    c.op("ReduceMax", [few_values], lambda x: x.amax(1), EXACT, ("each", 1), axes=[1], keepdims=0)
    c.op("ReduceMin", [few_values], lambda x: x.amin(0), EXACT, ("each", 1), axes=[0], keepdims=0)


def running_sums(c):
    for exclusive in (0, 1):
        for reverse in (0, 1):
            def cumulative(x, e=exclusive, r=reverse):
                x = x.flip(1) if r else x
                sums = x.cumsum(1) - x if e else x.cumsum(1)
                return sums.flip(1) if r else sums
            # The first of an exclusive sum is 0; what cancels to it here is no more than an error of the oracle.
            c.op("CumSum", [u(3, 300, 2, low=0.5, high=1.5)], cumulative, ("tensor", 0.5), ("each", 1), axis=1,
                 exclusive=exclusive, reverse=reverse)


def ranks(c):
    for axis in (0, 1, -1):
        for keep in (0, 1):
            where = dict(axis=axis, keepdims=keep)
            c.op("ArgMax", [u(6, 7, 5)], lambda x, a=axis, k=keep: x.argmax(a, bool(k)), EXACT, **where)
            c.op("ArgMin", [u(6, 7, 5)], lambda x, a=axis, k=keep: x.argmin(a, bool(k)), EXACT, **where)
        for largest in (0, 1):
            c.op("TopK", [u(6, 7, 5)], lambda x, a=axis, l=largest: tuple(torch.topk(x, 3, a, bool(l))), EXACT, EXACT,
                 outputs=2, k=3, axis=axis, largest=largest)


def norms(c):
    def layer_norm(x, scale, bias):
        mean = x.mean((1, 2))
        return F.layer_norm(x, x.shape[1:], scale, bias, 1e-5), mean, (x.var((1, 2), False) + 1e-5).rsqrt()
    c.op("LayerNormalization", [u(4, 6, 7), u(6, 7, low=0.5, high=1.5), u(6, 7)], layer_norm, ("tensor", 3),
         ("tensor", 5), outputs=3, axis=1)

    def rms_norm(x, scale, dims=(-1,)):
        return x * (x.square().mean(dims, keepdim=True) + 1e-5).rsqrt() * scale
    for shape in ((4, 9), (3, 5, 70)):
        c.op("RMSNormalization", [u(*shape), u(shape[-1], low=0.5, high=1.5)], rms_norm, ("tensor", 3), ("tensor", 6))
    c.op("RMSNormalization", [u(4, 6, 7), u(7, low=0.5, high=1.5)], lambda x, scale: rms_norm(x, scale, (1, 2)),
         ("tensor", 3), ("tensor", 8), axis=1)
    for size in (1, 3, 5):
        c.op("LRN", [u(2, 7, 4, 3, low=-9, high=9)],
             lambda x, s=size: F.local_response_norm(x, s, alpha=0.25, beta=0.75, k=1.5), ("each", 4), ("tensor", 32),
             size=size, alpha=0.25, beta=0.75, bias=1.5)
    for dtype in FLOATS:
        inputs = {"x": uniform(dtype, (4, 3, 2, 5)), "scale": uniform(dtype, (3,), 0.5, 1.5),
                  "bias": uniform(dtype, (3,)), "mean": uniform(dtype, (3,)), "var": uniform(dtype, (3,), 0.3, 2)}
        c.add(Case(c.new_name("BatchNormalization", dtype), dtype, inputs,
                   [node("BatchNormalization", list(inputs), ["y"], epsilon=1e-3)], ["y"],
                   lambda x, scale, bias, mean, var: {"y": F.batch_norm(x, mean, var, scale, bias, False, 0.0, 1e-3)},
                   ("tensor", 3), ("tensor", 16), ["x", "scale", "bias"]))

        def by_given(x, scale, bias, mean, var):
            spread = [v[:, None, None] for v in (scale, bias, mean, var)]
            return {"y": (x - spread[2]) * (spread[3] + 1e-3).rsqrt() * spread[0] + spread[1]}
        c.add(Case(c.new_name("BatchNormalization", dtype), dtype, inputs,
                   [node("BatchNormalization", list(inputs), ["y"], epsilon=1e-3)], ["y"], by_given, ("tensor", 3),
                   ("tensor", 32), list(inputs)))


GROUPS = (reductions, running_sums, ranks, norms)
