"""Cases of torch_oracle.py: arithmetic on every type, functions, activations, logic, quantization."""
from functools import reduce

from exchange import torch
from operator_cases import EXACT, FLOATS, ROUNDED, u

F = torch.nn.functional
INTEGERS = (torch.int8, torch.int16, torch.int32, torch.int64, torch.uint8)
ONCE = [torch.float64]  # where no operand has the type of the case
COMPARISONS = (("Equal", torch.eq), ("Less", torch.lt), ("LessOrEqual", torch.le), ("Greater", torch.gt),
               ("GreaterOrEqual", torch.ge))


def whole(dtype, *shape, below=100):
    """Numbers of both signs where there are any, whose products leave a narrow type."""
    low = 0 if dtype == torch.uint8 else -below
    return lambda _: torch.randint(low, below, shape).to(dtype)


def nonzero(dtype, *shape):
    signs = [1] if dtype == torch.uint8 else [-1, 1]

    def make(_):
        return torch.randint(1, 100, shape).to(dtype) * torch.tensor(signs)[torch.randint(len(signs), shape)].to(dtype)
    return make


def chance(*shape):
    return lambda _: torch.rand(shape) < 0.5


def halves(*shape):
    return lambda dtype: torch.randint(-4, 5, shape).to(dtype) / 2


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
        c.op("Pow", [whole(dtype, 5, 7), whole(torch.uint8, 7, below=5)], torch.pow, EXACT, dtypes=ONCE)
        c.op("PRelu", [whole(dtype, 5, 7), whole(dtype, 7)], lambda x, s: torch.where(x < 0, s * x, x), EXACT,
             dtypes=ONCE)
    shifted, places = whole(torch.uint8, 5, 7), whole(torch.uint8, 7, below=8)
    c.op("BitShift", [shifted, places], torch.bitwise_left_shift, EXACT, dtypes=ONCE, direction="LEFT")
    c.op("BitShift", [shifted, places], torch.bitwise_right_shift, EXACT, dtypes=ONCE, direction="RIGHT")


def truths(c):
    a, b = chance(5, 7), chance(7)
    for op, f in (("And", torch.logical_and), ("Or", torch.logical_or), ("Xor", torch.logical_xor), ("Equal", torch.eq)):
        c.op(op, [a, b], f, EXACT, dtypes=ONCE)
    c.op("Not", [a], torch.logical_not, EXACT, dtypes=ONCE)
    for op, f in COMPARISONS:
        c.op(op, [halves(9, 1), halves(20)], f, EXACT)
    odd = [1.0, float("nan"), float("inf"), float("-inf"), 0.0]
    c.op("IsNaN", [lambda dtype: torch.tensor(odd, dtype=dtype)], torch.isnan, EXACT)
    c.op("IsInf", [lambda dtype: torch.tensor(odd, dtype=dtype)], torch.isinf, EXACT)
    c.op("IsInf", [lambda dtype: torch.tensor(odd, dtype=dtype)], torch.isposinf, EXACT, detect_negative=0)
    c.op("IsInf", [lambda dtype: torch.tensor(odd, dtype=dtype)], torch.isneginf, EXACT, detect_positive=0)
    for shapes in (((5, 7), (5, 7), (5, 7)), ((5, 1), (7,), (2, 5, 7)), ((), (3,), (2, 1))):
        c.op("Where", [chance(*shapes[0]), u(*shapes[1]), u(*shapes[2])], torch.where, EXACT, ("magnitude", 2))
    c.op("Cast", [u(20)], lambda x: x * 1, EXACT, EXACT, dtypes=ONCE, to=2)


def several(c):
    for shapes in (((4, 5), (5,)), ((4, 1), (5,), ()), ((5,), (1,), (4, 5), (4, 1))):
        inputs = [u(*s) for s in shapes]
        n = len(shapes)
        c.op("Max", inputs, lambda *x: reduce(torch.maximum, x), EXACT, ("tensor", 2))
        c.op("Min", inputs, lambda *x: reduce(torch.minimum, x), EXACT, ("tensor", 2))
        c.op("Sum", inputs, lambda *x: sum(x[1:], x[0]), ("magnitude", n), ("magnitude", 2))
        c.op("Mean", inputs, lambda *x: sum(x[1:], x[0]) / len(x), ("magnitude", n + 1), ("magnitude", 3))
    c.op("Clip", [u(9, 7), u(low=-0.5, high=-0.2), u(low=0.2, high=0.5)], torch.clamp, EXACT, ("tensor", 2))
    c.op("Mod", [u(9, 7, low=-50, high=50), u(7, low=0.1, high=4)], torch.fmod, EXACT, ("tensor", 4), fmod=1)
    c.op("Pow", [u(9, 7, low=0.1, high=4), u(7, low=-3, high=3)], torch.pow, ROUNDED, ("tensor", 16))
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
    # PyTorch's constants have more digits than ONNX's.
    activation("Selu", lambda v: 1.0507010221481323 * torch.where(v > 0, v, 1.6732631921768188 * torch.expm1(v)))
    activation("Selu", lambda v: 1.5 * torch.where(v > 0, v, 0.75 * torch.expm1(v)), alpha=0.75, gamma=1.5)
    activation("HardSigmoid", lambda v: torch.clamp(0.25 * v + 0.5, 0, 1), alpha=0.25, beta=0.5)
    activation("Swish", F.silu)
    activation("Swish", lambda v: v * torch.sigmoid(-0.75 * v), alpha=-0.75)
    activation("ThresholdedRelu", lambda v: torch.where(v > 1.5, v, 0 * v), EXACT, alpha=1.5)
    activation("Shrink", lambda v: torch.where(v < -1.5, v + 0.75, torch.where(v > 1.5, v - 0.75, 0 * v)), EXACT,
               lambd=1.5, bias=0.75)
    c.op("PRelu", [u(5, 7), u(7)], lambda v, s: torch.where(v < 0, s * v, v), ROUNDED, ("tensor", 3))
    c.op("PRelu", [u(2, 3, 4), u(3, 1)], lambda v, s: torch.where(v < 0, s * v, v), ROUNDED, ("tensor", 3))


def quantization_of(c, dtype):
    def quantized(x, scale, zero=None, low=0, high=255):
        numbers = torch.round((x.to(dtype) / scale.to(dtype)).double())  # one division in the type of the case
        return torch.clamp(numbers + (0 if zero is None else zero.double()), low, high)

    def signed(x, scale, zero):
        return quantized(x, scale, zero, -128, 127)

    def blocked(v):
        return v.repeat_interleave(2, 0)[:5]

    def dynamic(v):
        low, high = v.min().clamp(max=0).to(dtype), v.max().clamp(min=0).to(dtype)
        scale = (high - low) / 255
        zero = torch.clamp(torch.round(-low / scale), 0, 255)
        return quantized(v, scale, zero), scale.double(), zero
    x, codes, scale = u(6, 5, low=-9, high=9), whole(torch.int8, 6, 5), dict(low=0.05, high=0.1)
    ties = [lambda t: torch.arange(-20, 20).to(t) / 2, u(low=1, high=1), torch.tensor(100, dtype=torch.uint8)]
    zero = torch.tensor(-7, dtype=torch.int8)

    def op(name, inputs, expect, bound, **attributes):
        c.op(name, inputs, expect, bound, dtypes=[dtype], **attributes)
    op("QuantizeLinear", [x, u(**scale)], quantized, EXACT)
    op("QuantizeLinear", ties, quantized, EXACT)
    op("QuantizeLinear", [x, u(5, **scale), whole(torch.int8, 5)], signed, EXACT)
    op("QuantizeLinear", [u(5, 3, low=-9, high=9), u(3, 3, **scale), whole(torch.int8, 3, 3)],
       lambda v, s, z: signed(v, blocked(s), blocked(z)), EXACT, axis=0, block_size=2)
    op("DequantizeLinear", [codes, u(**scale), zero], lambda q, s, z: (q.double() - z) * s, ROUNDED)
    op("DequantizeLinear", [codes, u(6, **scale)], lambda q, s: q * s[:, None], ROUNDED, axis=-2)
    op("DequantizeLinear", [whole(torch.int8, 5, 3), u(3, 3, **scale)], lambda q, s: q * blocked(s), ROUNDED, axis=0,
       block_size=2)
    for low, high in ((-9, 5), (1, 4), (-7, -2)):
        op("DynamicQuantizeLinear", [u(40, low=low, high=high)], dynamic, ("each", 1), outputs=3)


def quantization(c):
    for dtype in FLOATS:
        quantization_of(c, dtype)


GROUPS = (integers, truths, several, functions, activations, quantization)
