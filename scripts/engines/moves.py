"""Operators that only move values or compute with integers and truth values: their results are the same wherever they
are computed. Each is f(np, node, arrays) where np is NumPy, or a library with NumPy's functions (jax.numpy)."""
import numpy

from protocol import Refused

TYPES = {1: "float32", 2: "uint8", 3: "int8", 4: "uint16", 5: "int16", 6: "int32", 7: "int64", 9: "bool",
         10: "float16", 11: "float64", 12: "uint32", 13: "uint64"}


def over_integers(values):
    return all(v is None or numpy.dtype(getattr(v, "dtype", "float32") if is_array(v) else "float32").kind in "iub"
               for v in values)


def is_array(value):
    return isinstance(value, numpy.ndarray) or type(value).__module__.split(".")[0] in ("jax", "jaxlib")


def integers(value):
    return [int(v) for v in numpy.asarray(value).reshape(-1)]


def type_of(node, number):
    if number not in TYPES:
        raise Refused(f"node '{node.label()}' ({node.op}): element type {number} has no place here")
    return TYPES[number]


def constant(np, node, _):
    if "value" in node.attributes:
        return node.get("value")
    for name, dtype in (("value_int", "int64"), ("value_ints", "int64"), ("value_float", "float32"),
                        ("value_floats", "float32")):
        if name in node.attributes:
            return numpy.asarray(node.get(name), dtype)
    raise Refused(f"node '{node.label()}' (Constant): only tensors and numbers have a converter")


def reshape(np, node, x):
    dims = integers(x[1]) if len(x) > 1 else node.get("shape")
    if not node.get("allowzero", 0):
        dims = [x[0].shape[i] if d == 0 else d for i, d in enumerate(dims)]
    return np.reshape(x[0], dims)


def flatten(np, node, x):
    axis = node.get("axis", 1)
    axis += x[0].ndim if axis < 0 else 0
    rows = 1
    for d in x[0].shape[:axis]:
        rows *= d
    return np.reshape(x[0], (rows, -1) if x[0].size else (rows, 0))


def axes_of(node, x, place):
    if len(x) > place and x[place] is not None:
        return tuple(integers(x[place]))
    axes = node.get("axes")
    return None if axes is None else tuple(axes)


def squeeze(np, node, x):
    return np.squeeze(x[0], axes_of(node, x, 1))


def unsqueeze(np, node, x):
    return np.expand_dims(x[0], axes_of(node, x, 1))


def slice_(np, node, x):
    if node.opset < 10:
        starts, ends, axes = node.get("starts"), node.get("ends"), node.get("axes")
        steps = None
    else:
        starts, ends = integers(x[1]), integers(x[2])
        axes = integers(x[3]) if len(x) > 3 and x[3] is not None else None
        steps = integers(x[4]) if len(x) > 4 and x[4] is not None else None
    axes = list(range(len(starts))) if axes is None else axes
    steps = [1] * len(starts) if steps is None else steps
    index = [slice(None)] * x[0].ndim
    for start, end, axis, step in zip(starts, ends, axes, steps):
        extent = x[0].shape[axis]
        if step > 0:
            first, last = max(start + extent, 0) if start < 0 else start, max(end + extent, 0) if end < 0 else end
        else:
            first = max(start + extent, -1) if start < 0 else min(start, extent - 1)
            last = end + extent if end < 0 else end
            last = None if last < 0 else last
        index[axis] = slice(first, last, step)
    return x[0][tuple(index)]


def gather(np, node, x):
    axis = node.get("axis", 0)
    indices = np.where(x[1] < 0, x[1] + x[0].shape[axis], x[1])
    return np.take(x[0], indices, axis=axis)


def gather_nd(np, node, x):
    batch = node.get("batch_dims", 0)
    if batch == 0:
        return x[0][tuple(np.moveaxis(x[1], -1, 0))]
    dims = x[0].shape[:batch]
    rows, places = x[0].reshape((-1, *x[0].shape[batch:])), x[1].reshape((-1, *x[1].shape[batch:]))
    made = [rows[i][tuple(np.moveaxis(places[i], -1, 0))] for i in range(rows.shape[0])]
    return np.stack(made).reshape((*dims, *made[0].shape))


def concat(np, node, x):
    return np.concatenate(x, axis=node.get("axis"))


def split(np, node, x):
    axis, extent = node.get("axis", 0), x[0].shape[node.get("axis", 0)]
    sizes = integers(x[1]) if len(x) > 1 and x[1] is not None else node.get("split")
    if sizes is None:
        count = node.get("num_outputs", len(node.outputs))
        each = -(-extent // count)
        sizes = [min(each, extent - each * i) for i in range(count)]
    return np.split(x[0], list(numpy.cumsum(sizes)[:-1]), axis=axis)


def expand(np, node, x):
    return np.broadcast_to(x[0], numpy.broadcast_shapes(x[0].shape, tuple(integers(x[1]))))


def pad(np, node, x):
    pads = integers(x[1]) if len(x) > 1 else node.get("pads")
    value = x[2] if len(x) > 2 and x[2] is not None else node.get("value", 0.0)
    axes = integers(x[3]) if len(x) > 3 and x[3] is not None else range(x[0].ndim)
    widths = [(0, 0)] * x[0].ndim
    half = len(pads) // 2
    for i, axis in enumerate(axes):
        widths[axis] = (pads[i], pads[half + i])
    if any(w < 0 for pair in widths for w in pair):
        raise Refused(f"node '{node.label()}' (Pad): negative pads have no converter")
    mode = node.get("mode", "constant")
    if mode == "constant":
        return np.pad(x[0], widths, constant_values=numpy.asarray(value).reshape(-1)[0].astype(x[0].dtype))
    return np.pad(x[0], widths, mode={"reflect": "reflect", "edge": "edge", "wrap": "wrap"}[mode])


def range_(np, node, x):
    start, limit, delta = (numpy.asarray(v).reshape(-1)[0] for v in x)
    return numpy.arange(start, limit, delta, dtype=numpy.asarray(x[0]).dtype)


def trilu(np, node, x):
    k = int(numpy.asarray(x[1]).reshape(-1)[0]) if len(x) > 1 and x[1] is not None else 0
    return (np.triu if node.get("upper", 1) else np.tril)(x[0], k)


def divide(np, node, x):
    """Integers, toward zero."""
    quotient = np.abs(x[0]) // np.abs(x[1])
    return (quotient * np.sign(x[0]) * np.sign(x[1])).astype(x[0].dtype)


def constant_of_shape(np, node, x):
    value = node.get("value", numpy.zeros(1, "float32"))
    return numpy.full(integers(x[0]), value.reshape(-1)[0], value.dtype)


def reduce_integers(name):
    def reduce(np, node, x):
        return getattr(np, name)(x[0], axis=axes_of(node, x, 1), keepdims=bool(node.get("keepdims", 1)))
    return reduce


def shape(np, node, x):
    return numpy.asarray(x[0].shape[node.get("start", 0):node.get("end", None)], "int64")


MOVES = {
    "Constant": constant, "ConstantOfShape": constant_of_shape, "Shape": shape,
    "Size": lambda np, node, x: numpy.asarray(x[0].size, "int64"),
    "Identity": lambda np, node, x: x[0], "Dropout": lambda np, node, x: (x[0],),
    "Cast": lambda np, node, x: x[0].astype(type_of(node, node.get("to"))),
    "Reshape": reshape, "Flatten": flatten, "Squeeze": squeeze, "Unsqueeze": unsqueeze, "Slice": slice_,
    "Transpose": lambda np, node, x: np.transpose(x[0], node.get("perm")),
    "Gather": gather, "GatherND": gather_nd, "Concat": concat, "Split": split, "Expand": expand, "Pad": pad, "Range": range_, "Trilu": trilu,
    "Tile": lambda np, node, x: np.tile(x[0], integers(x[1])),
    "Where": lambda np, node, x: np.where(x[0], x[1], x[2]),
    "GatherElements": lambda np, node, x: np.take_along_axis(x[0], x[1], node.get("axis", 0)),
    "Not": lambda np, node, x: np.logical_not(x[0]), "And": lambda np, node, x: np.logical_and(x[0], x[1]),
    "Or": lambda np, node, x: np.logical_or(x[0], x[1]), "Xor": lambda np, node, x: np.logical_xor(x[0], x[1]),
    "Equal": lambda np, node, x: x[0] == x[1], "Less": lambda np, node, x: x[0] < x[1],
    "Greater": lambda np, node, x: x[0] > x[1], "LessOrEqual": lambda np, node, x: x[0] <= x[1],
    "GreaterOrEqual": lambda np, node, x: x[0] >= x[1], "IsNaN": lambda np, node, x: np.isnan(x[0]),
    # Over integers alone; what an engine computes goes before these.
    "Add": lambda np, node, x: x[0] + x[1], "Sub": lambda np, node, x: x[0] - x[1],
    "Mul": lambda np, node, x: x[0] * x[1], "Div": divide,
    "Mod": lambda np, node, x: np.fmod(x[0], x[1]) if node.get("fmod", 0) else np.mod(x[0], x[1]),
    "ReduceMax": reduce_integers("max"), "ReduceMin": reduce_integers("min"), "ReduceProd": reduce_integers("prod"),
    "ReduceSum": reduce_integers("sum"),
    "ArgMax": lambda np, node, x: (np.expand_dims if node.get("keepdims", 1) else lambda v, _: v)(
        np.argmax(x[0], axis=node.get("axis", 0)), node.get("axis", 0)).astype("int64"),
}
# Of real numbers these are computed, and are the engine's own or nobody's.
INTEGERS_ONLY = {"Add", "Sub", "Mul", "Div", "ReduceProd", "ReduceSum"}
