"""The cases of torch_oracle.py that take several nodes: norms, attention, optimizers over several steps."""
import math

from exchange import torch
from operator_cases import FLOATS, ROUNDED, Case, causal_softmax, node, u, uniform

F = torch.nn.functional


def norms(c):
    for shape in ((6, 3), (4, 3, 2, 5), (16, 5, 6, 6)):
        channels = shape[1]
        vectors = [u(channels, low=0.5, high=1.5), u(channels)]
        for dtype in FLOATS:
            batch_norm_training(c, dtype, shape)
        c.op("BatchNormalization", [u(*shape)] + vectors + [u(channels), u(channels, low=0.3, high=2)],
             lambda x, scale, bias, mean, var: F.batch_norm(x, mean, var, scale, bias, False, 0.0, 1e-3),
             ("tensor", 3), epsilon=1e-3)
    c.op("isobit.RunningUpdate", [u(9), u(9)], lambda running, now: 0.9 * running + (1 - 0.9) * now, ("tensor", 2),
         momentum=0.9)
    c.op("isobit.RunningUpdate", [u(9), u(9)], lambda running, now: 0.9 * running + (1 - 0.9) * now * 5 / 4, ("tensor", 4),
         momentum=0.9, count=5)
    for shape in ((4, 9), (2, 3, 70)):
        def layer_norm(x, scale, bias):
            mean = x.mean(-1)
            return F.layer_norm(x, x.shape[-1:], scale, bias, 1e-5), mean, (x.var(-1, False) + 1e-5).rsqrt()
        c.op("LayerNormalization", [u(*shape), u(shape[-1], low=0.5, high=1.5), u(shape[-1])], layer_norm,
             ("tensor", 3), ("tensor", 5), outputs=3)


def batch_norm_training(c, dtype, shape):
    """The gradient of the whole goes through the statistics.

    The bound is wide because the terms of the scale's gradient cancel, and x - mean rounds every x of one binade the
    same way.
    """
    inputs = {"x": uniform(dtype, shape), "scale": uniform(dtype, shape[1:2], 0.5, 1.5),
              "bias": uniform(dtype, shape[1:2])}
    axes = [i for i in range(len(shape)) if i != 1]

    def expect(x, scale, bias):
        return {"y": F.batch_norm(x, None, None, scale, bias, True, 0.0, 1e-5), "mean": x.mean(axes),
                "var": x.var(axes, False)}
    c.add(Case(c.new_name("isobit.BatchNormApply", dtype), dtype, inputs,
               [node("isobit.BatchStatistics", ["x"], ["mean", "var"]),
                node("isobit.BatchNormApply", ["x", "scale", "bias", "mean", "var"], ["y"], epsilon=1e-5)],
               ["y", "mean", "var"], expect, ("tensor", 3), ("tensor", 16), ["x", "scale", "bias"]))
    c.add(Case(c.new_name("isobit.BatchStatistics", dtype), dtype, {"x": inputs["x"]},
               [node("isobit.BatchStatistics", ["x"], ["mean", "var"])], ["mean", "var"],
               lambda x: {"mean": x.mean(axes), "var": x.var(axes, False)}, ROUNDED))


def attention(c):
    """Scaled dot-product attention with a causal mask, from the nodes isobit's own models use."""
    for dtype in FLOATS:
        for batch, context, heads, width in ((1, 5, 1, 4), (2, 7, 2, 8), (1, 33, 4, 32)):
            name = c.new_name("attention", dtype)
            rows, each = batch * context, width // heads
            nodes = []
            for part, x in enumerate("qkv"):
                nodes += [node("isobit.Block", ["qkv"], [x + "1"], starts=[0, part * width], counts=[rows, width]),
                          node("Reshape", [x + "1"], [x + "2"], shape=[batch, context, heads, each]),
                          node("Transpose", [x + "2"], [x], perm=[0, 2, 1, 3])]
            nodes += [node("MatMul", ["q", "k"], ["scores"], transB=1), node("Mul", ["scores", "factor"], ["scaled"]),
                      node("isobit.CausalSoftmax", ["scaled"], ["p"]), node("MatMul", ["p", "v"], ["mixed"]),
                      node("Transpose", ["mixed"], ["together"], perm=[0, 2, 1, 3]),
                      node("Reshape", ["together"], ["y"], shape=[rows, width])]

            def expect(qkv, factor, batch=batch, context=context, heads=heads, width=width):
                q, k, v = (t.view(batch, context, heads, -1).transpose(1, 2) for t in qkv.split(width, 1))
                p = causal_softmax(q @ k.transpose(-1, -2) / math.sqrt(width // heads))
                return {"y": (p @ v).transpose(1, 2).reshape(-1, width)}
            c.add(Case(name, dtype, {"qkv": uniform(dtype, (rows, 3 * width), -2, 2),
                                     "factor": torch.tensor(1 / math.sqrt(each), dtype=dtype)},
                       nodes, ["y"], expect, ("tensor", 4), ("tensor", 8), ["qkv"]))


STEPS = 6


def training(c, op, dtype, settings, add_step, optimizer, states):
    """STEPS updates of two parameters, the gradients given; clipped together when settings ask for it."""
    name, clip = c.new_name(op, dtype), settings.pop("clip", None)
    inputs, nodes, outputs = {}, [], []
    for p in "ab":
        inputs[p] = uniform(dtype, (5, 7) if p == "a" else (3,))
        for s in states:
            inputs[p + s] = torch.zeros_like(inputs[p])
    for t in range(1, STEPS + 1):
        inputs[f"lr{t}"] = torch.tensor(0.1 / t, dtype=torch.float64)
        for p in "ab":
            inputs[f"{p}g{t}"] = uniform(dtype, inputs[p].shape)
        if clip:
            nodes += [node("isobit.GlobalNorm", [f"ag{t}", f"bg{t}"], [f"norm{t}"]),
                      node("isobit.ClipFactor", [f"norm{t}"], [f"clip{t}"], max_norm=clip)]
        for p in "ab":
            before = f".{t - 1}" if t > 1 else ""
            after = [f"{p}.{t}"] + [f"{p}{s}.{t}" for s in states]
            nodes.append(add_step(t, inputs, [p + before, f"{p}g{t}"], [p + s + before for s in states],
                                  f"clip{t}" if clip else "", after))
            outputs += after[:1] if t < STEPS else after

    def expect(**given):
        parameters = {p: torch.nn.Parameter(given[p].clone()) for p in "ab"}
        theirs, found = optimizer(list(parameters.values()), settings), {}
        for t in range(1, STEPS + 1):
            theirs.param_groups[0]["lr"] = given[f"lr{t}"].item()
            for p, parameter in parameters.items():
                parameter.grad = given[f"{p}g{t}"].clone()
            if clip:
                torch.nn.utils.clip_grad_norm_(list(parameters.values()), clip)
            theirs.step()
            for p, parameter in parameters.items():
                found[f"{p}.{t}"] = parameter.detach().clone()
        for p, parameter in parameters.items():
            for s, key in states.items():
                found[f"{p}{s}.{STEPS}"] = theirs.state[parameter][key].detach().clone()
        return found
    c.add(Case(name, dtype, inputs, nodes, outputs, expect, ("tensor", 6)))


def optimizers(c):
    for dtype in FLOATS:
        for settings in ({}, {"weight_decay": 0.1}, {"momentum": 0.9}, {"momentum": 0.9, "weight_decay": 0.1},
                         {"momentum": 0.8, "nesterov": True, "weight_decay": 0.01}, {"momentum": 0.9, "clip": 1.5},
                         {"clip": 1e3}):
            sgd(c, dtype, dict(settings))
        for settings in ({}, {"weight_decay": 0.1}, {"decoupled": True, "weight_decay": 0.1},
                         {"decoupled": True, "weight_decay": 0.01, "betas": (0.8, 0.95), "eps": 1e-3, "clip": 1.0}):
            adam(c, dtype, dict(settings))


def sgd(c, dtype, settings):
    momentum = settings.get("momentum", 0.0)
    attributes = dict(momentum=momentum, weight_decay=settings.get("weight_decay", 0.0),
                      nesterov=int(settings.get("nesterov", False)))

    def step(t, inputs, tensors, states, clip, outputs):
        return node("isobit.Sgd", tensors + [f"lr{t}"] + (states or [""]) + [clip], outputs, **attributes)
    training(c, "isobit.Sgd", dtype, settings, step, lambda p, s: torch.optim.SGD(p, lr=0.1, **s),
             {"m": "momentum_buffer"} if momentum else {})


def adam(c, dtype, settings):
    decoupled = settings.pop("decoupled", False)
    beta1, beta2 = settings.get("betas", (0.9, 0.999))
    attributes = dict(beta1=beta1, beta2=beta2, epsilon=settings.get("eps", 1e-8),
                      weight_decay=settings.get("weight_decay", 0.0), decoupled=int(decoupled))

    def step(t, inputs, tensors, states, clip, outputs):
        inputs[f"b1.{t}"] = torch.tensor(beta1 ** t, dtype=torch.float64)
        inputs[f"b2.{t}"] = torch.tensor(beta2 ** t, dtype=torch.float64)
        return node("isobit.Adam", tensors + states + [f"lr{t}", f"b1.{t}", f"b2.{t}", clip], outputs, **attributes)
    kind = torch.optim.AdamW if decoupled else torch.optim.Adam
    if decoupled and "weight_decay" not in settings:
        settings["weight_decay"] = 0.0
    training(c, "isobit.Adam", dtype, settings, step, lambda p, s: kind(p, lr=0.1, **s),
             {"m": "exp_avg", "v": "exp_avg_sq"})


GROUPS = (norms, attention, optimizers)
