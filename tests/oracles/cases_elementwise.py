"""Cases of torch_oracle.py: arithmetic on every type, functions, activations, logic, quantization."""
from functools import reduce

from exchange import torch
from operator_cases import EXACT, FLOATS, ROUNDED, u

F = torch.nn.functional
INTEGERS = (torch.int8, torch.int16, torch.int32, torch.int64, torch.uint8)
ONCE = [torch.float64]  # where no operand has the type of the case


def whole(dtype, *shape):
    """Numbers of both signs where there are any, whose products leave a narrow type."""
    return torch.randint(0 if dtype == torch.uint8 else -100, 100, shape).to(dtype)


def nonzero(dtype, *shape):
    x = whole(dtype, *shape)
    return torch.where(x == 0, torch.ones_like(x), x)


def integers(c):
    for dtype in INTEGERS:
        a, b = whole(dtype, 5, 7), nonzero(dtype, 7)
        for op, f in (("Add", torch.add), ("Sub", torch.sub), ("Mul", torch.mul), ("Max", torch.maximum),
                      ("Min", torch.minimum), ("Div", lambda x, y: torch.div(x, y, rounding_mode="trunc"))):
            c.op(op, [a, b], f, EXACT, dtypes=ONCE)
        c.op("Mod", [a, b], torch.remainder, EXACT, dtypes=ONCE, fmod=0)
        c.op("Mod", [a, b], torch.fmod, EXACT, dtypes=ONCE, fmod=1)
        c.op("Abs", [a], torch.abs, EXACT, dtypes=ONCE)
        c.op("Sign", [a], torch.sign, EXACT, dtypes=ONCE)
        if dtype != torch.uint8:
            c.op("Neg", [a], torch.neg, EXACT, dtypes=ONCE)
            c.op("Relu", [a], torch.relu, EXACT, dtypes=ONCE)
        limits = [torch.tensor(-20 if dtype != torch.uint8 else 20, dtype=dtype), torch.tensor(60, dtype=dtype)]
        c.op("Clip", [a, *limits], lambda x, low, high: torch.minimum(high, torch.maximum(x, low)), EXACT, dtypes=ONCE)
        for op, f in (("BitwiseAnd", torch.bitwise_and), ("BitwiseOr", torch.bitwise_or),
                      ("BitwiseXor", torch.bitwise_xor)):
            c.op(op, [a, b], f, EXACT, dtypes=ONCE)
        c.op("BitwiseNot", [a], torch.bitwise_not, EXACT, dtypes=ONCE)
        for op, f in COMPARISONS:
            c.op(op, [a, b], f, EXACT, dtypes=ONCE)
    for dtype in (torch.int32, torch.int64):
        c.op("Pow", [whole(dtype, 5, 7), whole(torch.uint8, 7) % 5], torch.pow, EXACT, dtypes=ONCE)
        c.op("PRelu", [whole(dtype, 5, 7), whole(dtype, 7)], lambda x, s: torch.where(x < 0, s * x, x), EXACT,
             dtypes=ONCE)
    shifted, places = whole(torch.uint8, 5, 7), torch.randint(0, 8, (7,)).to(torch.uint8)
    c.op("BitShift", [shifted, places], torch.bitwise_left_shift, EXACT, dtypes=ONCE, direction="LEFT")
    c.op("BitShift", [shifted, places], torch.bitwise_right_shift, EXACT, dtypes=ONCE, direction="RIGHT")


COMPARISONS = (("Equal", torch.eq), ("Less", torch.lt), ("LessOrEqual", torch.le), ("Greater", torch.gt),
               ("GreaterOrEqual", torch.ge))


def truths(c):
    a, b = torch.rand(5, 7) < 0.5, torch.rand(7) < 0.5
    for op, f in (("And", torch.logical_and), ("Or", torch.logical_or), ("Xor", torch.logical_xor), ("Equal", torch.eq)):
        c.op(op, [a, b], f, EXACT, dtypes=ONCE)
    c.op("Not", [a], torch.logical_not, EXACT, dtypes=ONCE)
    halves = lambda *shape: lambda dtype: torch.randint(-4, 5, shape).to(dtype) / 2  # noqa: E731
    for op, f in COMPARISONS:
        c.op(op, [halves(9, 1), halves(20)], f, EXACT)
    odd = [1.0, float("nan"), float("inf"), float("-inf"), 0.0]
    c.op("IsNaN", [lambda dtype: torch.tensor(odd, dtype=dtype)], torch.isnan, EXACT)
    c.op("IsInf", [lambda dtype: torch.tensor(odd, dtype=dtype)], torch.isinf, EXACT)
    c.op("IsInf", [lambda dtype: torch.tensor(odd, dtype=dtype)], torch.isposinf, EXACT, detect_negative=0)
    c.op("IsInf", [lambda dtype: torch.tensor(odd, dtype=dtype)], torch.isneginf, EXACT, detect_positive=0)
    for shapes in (((5, 7), (5, 7), (5, 7)), ((5, 1), (7,), (2, 5, 7)), ((), (3,), (2, 1))):
        condition = torch.rand(shapes[0]) < 0.5
        c.op("Where", [condition, u(*shapes[1]), u(*shapes[2])], torch.where, EXACT, ("magnitude", 2))
    c.op("Cast", [u(20)], lambda x: x * 1, EXACT, EXACT, dtypes=ONCE, to=2)


def several(c):
    for shapes in (((4, 5), (5,)), ((4, 1), (5,), ()), ((5,), (1,), (4, 5), (4, 1))):
        inputs = [u(*s) for s in shapes]
        n = len(shapes)
        c.op("Max", inputs, lambda *x: reduce(torch.maximum, x), EXACT, ("magnitude", 2))
        c.op("Min", inputs, lambda *x: reduce(torch.minimum, x), EXACT, ("magnitude", 2))
        c.op("Sum", inputs, lambda *x: sum(x[1:], x[0]), ("magnitude", n), ("magnitude", 2))
        c.op("Mean", inputs, lambda *x: sum(x[1:], x[0]) / len(x), ("magnitude", n + 1), ("magnitude", 3))
    c.op("Clip", [u(9, 7), u(low=-0.5, high=-0.2), u(low=0.2, high=0.5)], torch.clamp, EXACT, ("magnitude", 2))
    c.op("Mod", [u(9, 7, low=-50, high=50), u(7, low=0.1, high=4)], torch.fmod, EXACT, fmod=1)
    c.op("Pow", [u(9, 7, low=0.1, high=4), u(7, low=-3, high=3)], torch.pow, ROUNDED, ("magnitude", 16))
    for exponent in (2.0, 3.0, 0.5, -1.0):
        c.op("Pow", [u(37, 9, low=0.1, high=4), lambda dtype, e=exponent: torch.tensor(e, dtype=dtype)], torch.pow,
             ROUNDED)
    c.op("Pow", [u(37, 9, low=-4, high=4), torch.tensor(3)], torch.pow, ROUNDED, ("each", 4))


def functions(c):
    for op, f, low, high in (
            ("Tan", torch.tan, -20, 20), ("Asin", torch.asin, -1, 1), ("Acos", torch.acos, -1, 1),
            ("Atan", torch.atan, -9, 9), ("Sinh", torch.sinh, -20, 20), ("Cosh", torch.cosh, -20, 20),
            ("Asinh", torch.asinh, -9, 9), ("Acosh", torch.acosh, 1, 9), ("Atanh", torch.atanh, -1, 1)):
        c.op(op, [u(37, 9, low=low, high=high)], f, ("each", 0.501))
        inner = 0.02 * (high - low)
        c.op(op, [u(37, 9, low=low + inner, high=high - inner)], f, ("each", 0.501), ("each", 24))
    for op, f in (("Floor", torch.floor), ("Ceil", torch.ceil), ("Round", torch.round), ("Sign", torch.sign)):
        c.op(op, [u(37, 9, low=-50, high=50)], f, EXACT)
        c.op(op, [lambda dtype: torch.arange(-9, 10).to(dtype) / 2], f, EXACT)


def hard_swish(x):
    return x * torch.clamp(x / 6 + 0.5, 0, 1)


def activations(c):
    x = u(37, 9, low=-6, high=6)

    def activation(op, f, gradient=("tensor", 6), **attributes):
        c.op(op, [x], f, ("tensor", 0.501), gradient, **attributes)
    activation("Softplus", lambda v: torch.logaddexp(v, torch.zeros_like(v)))
    activation("Mish", lambda v: v * torch.tanh(torch.logaddexp(v, torch.zeros_like(v))))
    activation("Softsign", F.softsign)
    activation("HardSwish", hard_swish)
    activation("Elu", F.elu)
    activation("Elu", lambda v: F.elu(v, 0.3), alpha=0.3)
    activation("Celu", lambda v: F.celu(v, 2.5), alpha=2.5)
    activation("Selu", F.selu)
    activation("Selu", lambda v: 1.5 * torch.where(v > 0, v, 0.75 * torch.expm1(v)), alpha=0.75, gamma=1.5)
    activation("HardSigmoid", lambda v: torch.clamp(0.25 * v + 0.5, 0, 1), alpha=0.25, beta=0.5)
    activation("Swish", F.silu)
    activation("Swish", lambda v: v * torch.sigmoid(-0.75 * v), alpha=-0.75)
    activation("ThresholdedRelu", lambda v: torch.where(v > 1.5, v, 0 * v), EXACT, alpha=1.5)
    activation("Shrink", lambda v: torch.where(v < -1.5, v + 0.75, torch.where(v > 1.5, v - 0.75, 0 * v)), EXACT,
               lambd=1.5, bias=0.75)
    c.op("PRelu", [u(5, 7), u(7)], lambda v, s: torch.where(v < 0, s * v, v), ROUNDED, ("magnitude", 3))
    c.op("PRelu", [u(2, 3, 4), u(3, 1)], lambda v, s: torch.where(v < 0, s * v, v), ROUNDED, ("magnitude", 3))


def quantization(c):
    for dtype in FLOATS:
        def quantized(x, scale, zero=None, low=0, high=255, t=dtype):
            whole_numbers = torch.round((x.to(t) / scale.to(t)).double())
            return torch.clamp(whole_numbers + (0 if zero is None else zero.double()), low, high)

        def signed(x, scale, zero):
            return quantized(x, scale, zero, -128, 127)
        x, codes = u(6, 5, low=-9, high=9), whole(torch.int8, 6, 5)
        c.op("QuantizeLinear", [x, u(low=0.05, high=0.1)], quantized, EXACT, dtypes=[dtype])
        c.op("QuantizeLinear", [lambda t: torch.arange(-20, 20).to(t) / 2, u(low=1, high=1), torch.tensor(100).byte()],
             quantized, EXACT, dtypes=[dtype])  # ties
        c.op("QuantizeLinear", [x, u(5, low=0.05, high=0.1), whole(torch.int8, 5)], signed, EXACT, dtypes=[dtype])

        def blocked(v):
            return v.repeat_interleave(2, 0)[:5]
        c.op("QuantizeLinear", [u(5, 3, low=-9, high=9), u(3, 3, low=0.05, high=0.1), whole(torch.int8, 3, 3)],
             lambda v, s, z, b=blocked: signed(v, b(s), b(z)), EXACT, dtypes=[dtype], axis=0, block_size=2)
        c.op("DequantizeLinear", [codes, u(low=0.05, high=0.1), torch.tensor(-7).char()],
             lambda q, s, z: (q.double() - z) * s, ROUNDED, dtypes=[dtype])
        c.op("DequantizeLinear", [codes, u(6, low=0.05, high=0.1)], lambda q, s: q * s[:, None], ROUNDED,
             dtypes=[dtype], axis=-2)
        c.op("DequantizeLinear", [whole(torch.int8, 5, 3), u(3, 3, low=0.05, high=0.1)],
             lambda q, s, b=blocked: q * b(s), ROUNDED, dtypes=[dtype], axis=0, block_size=2)

        def dynamic(v, t=dtype):
            low, high = v.min().clamp(max=0).to(t), v.max().clamp(min=0).to(t)
            scale = (high - low) / 255
            zero = torch.clamp(torch.round(-low / scale), 0, 255)
            return quantized(v, scale, zero, t=t), scale.double(), zero
        for low, high in ((-9, 5), (1, 4), (-7, -2)):
            c.op("DynamicQuantizeLinear", [u(40, low=low, high=high)], dynamic, ("each", 1), outputs=3, dtypes=[dtype])


GROUPS = (integers, truths, several, functions, activations, quantization)
