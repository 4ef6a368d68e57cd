"""The cases of torch_oracle.py of the operators that move elements, and of those of shapes and places."""
from exchange import torch
from operator_cases import EXACT, u

F = torch.nn.functional
SUMS = ("magnitude", 1)
ONCE = [torch.float64]  # where no operand has the type of the case


def shapes(c):
    def move(op, inputs, f, gradient=EXACT, **attributes):
        c.op(op, inputs, f, EXACT, gradient, **attributes)
    move("Transpose", [u(2, 3, 4)], lambda x: x.permute(2, 1, 0))
    move("Flatten", [u(2, 3, 4)], lambda x: x.flatten(0, 1), axis=-1)
    move("Reshape", [u(0, 3)], lambda x: x.reshape(3, 0), None, shape=[3, 0], allowzero=1)
    move("Squeeze", [u(1, 3, 1)], lambda x: x.squeeze())
    move("Squeeze", [u(1, 3, 1)], lambda x: x.squeeze(0), axes=[-3])
    move("Unsqueeze", [u(3, 2)], lambda x: x[:, None, :, None], axes=[1, -1])
    move("Tile", [u(2, 3)], lambda x: x.tile(2, 3), SUMS, repeats=[2, 3])
    move("DepthToSpace", [u(2, 12, 3, 4)], lambda x: F.pixel_shuffle(x, 2), blocksize=2, mode="CRD")
    move("DepthToSpace", [u(2, 12, 3, 4)],
         lambda x: F.pixel_shuffle(x.reshape(2, 4, 3, 3, 4).transpose(1, 2).reshape(2, 12, 3, 4), 2), blocksize=2)
    move("SpaceToDepth", [u(2, 3, 6, 4)],
         lambda x: F.pixel_unshuffle(x, 2).reshape(2, 3, 4, 3, 2).transpose(1, 2).reshape(2, 12, 3, 2), blocksize=2)
    for k in (-2, 0, 1):
        move("Trilu", [u(2, 3, 5)], lambda x, k=k: x.triu(k), k=k)
        move("Trilu", [u(5, 3)], lambda x, k=k: x.tril(k), k=k, upper=0)
    lengths = torch.tensor([2, 4, 0])

    def reversed_steps(x, n):
        return torch.stack([torch.cat([x[:n[b], b].flip(0), x[n[b]:, b]]) for b in range(3)], 1)
    move("ReverseSequence", [u(4, 3, 2), lengths], reversed_steps)
    for operand, shape, f in ((torch.tensor([3, -1]), (2, 6), lambda x, s: x.reshape(3, 4)),
                              (torch.tensor([6, 2]), (2, 6), lambda x, s: x.reshape(6, 2))):
        c.op("Reshape", [u(*shape), operand], f, EXACT)


def slices(c):
    def move(op, inputs, f, **attributes):
        c.op(op, inputs, f, EXACT, EXACT, **attributes)
    move("Slice", [u(5, 7)], lambda x: x.flip(0)[0:4:2, 1:6:2], starts=[-1, 1], ends=[0, 6], axes=[0, -1], steps=[-2, 2])
    move("Slice", [u(5, 7)], lambda x: x[2:, :], starts=[2], ends=[2 ** 62])
    move("Slice", [u(5, 7)], lambda x: x.flip(1), starts=[2 ** 40], ends=[-2 ** 40], axes=[1], steps=[-1])
    c.op("Slice", [u(5, 7), torch.tensor([1, 0]), torch.tensor([4, 5])], lambda x, *_: x[1:4, 0:5], EXACT)
    c.op("Split", [u(2, 6)], lambda x: x.split([1, 2, 3], 1), EXACT, EXACT, outputs=3, axis=1, split=[1, 2, 3])
    c.op("Split", [u(7)], lambda x: x.split(3), EXACT, EXACT, outputs=3, num_outputs=3)


def pads(c):
    def pad(shape, f, gradient=EXACT, **attributes):
        c.op("Pad", [u(*shape)], f, EXACT, gradient, **attributes)
    pad((3, 4), lambda x: F.pad(x, (2, -1, 1, 3)), pads=[1, 2, 3, -1])
    pad((3, 4), lambda x: F.pad(x, (2, 1)), pads=[2, 1], axes=[-1])
    for mode, torch_mode in (("reflect", "reflect"), ("edge", "replicate"), ("wrap", "circular")):
        pad((2, 3, 5, 6), lambda x, m=torch_mode: F.pad(x, (3, 2, 1, 4), mode=m), SUMS, pads=[0, 0, 1, 3, 0, 0, 4, 2],
            mode=mode)
    c.op("CenterCropPad", [u(4, 5)], lambda x: F.pad(x[1:3], (1, 2)), EXACT, EXACT, shape=[2, 8])
    c.op("CenterCropPad", [u(4, 5)], lambda x: x[:, 1:3], EXACT, EXACT, shape=[2], axes=[1])


def tuple_index(x, i, batch=0):
    if batch:
        return torch.stack([tuple_index(x[b], i[b]) for b in range(len(x))])
    return x[tuple(i[..., k] for k in range(i.shape[-1]))]


def gathers(c):
    rows = torch.tensor([[2, 0, -1], [1, 2, 2]])
    for axis in (0, 1, 2):
        c.op("Gather", [u(3, 4, 5), rows], lambda x, i, a=axis: x.movedim(a, 0)[i].movedim((0, 1), (a, a + 1)), EXACT, SUMS,
             axis=axis)
    c.op("Gather", [u(3, 4), torch.tensor(-1)], lambda x, i: x[-1], EXACT, EXACT)
    places = torch.tensor([[0, 2, 1, 2], [1, 1, 0, 2]])
    c.op("GatherElements", [u(3, 4), places], lambda x, i: x.gather(0, i), EXACT, SUMS)
    c.op("GatherElements", [u(2, 3), places], lambda x, i: x.gather(1, i), EXACT, SUMS, axis=-1)
    c.op("GatherND", [u(3, 4, 2), torch.tensor([[0, 3], [-1, 1], [0, 3]])], tuple_index, EXACT, SUMS)
    c.op("GatherND", [u(2, 4, 3), torch.tensor([[[0], [3], [0]], [[1], [-1], [1]]])],
         lambda x, i: tuple_index(x, i, 1), EXACT, SUMS, batch_dims=1)


def scatters(c):
    at, once = torch.tensor([[0, 2, 1, 2], [1, 2, 0, 2]]), torch.tensor([[0, 2, 1, 2], [1, 0, 0, 1]])
    tuples, single = torch.tensor([[3], [-1], [0]]), torch.tensor([[2], [-1], [0]])
    c.op("ScatterElements", [u(3, 4), once, u(2, 4)], lambda x, i, v: x.scatter(0, i, v), EXACT, EXACT)
    c.op("ScatterND", [u(4, 3), single, u(3, 3)], lambda x, i, v: x.index_put((i[:, 0],), v), EXACT, EXACT)
    c.op("ScatterElements", [u(3, 4), at, u(2, 4)], lambda x, i, v: x.scatter_add(0, i, v), SUMS, EXACT, reduction="add")
    c.op("ScatterND", [u(4, 3), tuples, u(3, 3)], lambda x, i, v: x.index_put((i[:, 0],), v, accumulate=True), SUMS, EXACT,
         reduction="add")
    for reduction, name, bound in (("mul", "prod", ("each", 2)), ("max", "amax", EXACT), ("min", "amin", EXACT)):
        c.op("ScatterElements", [u(3, 4), at, u(2, 4)],
             lambda x, i, v, n=name: x.scatter_reduce(0, i, v, n), bound, ("tensor", 4), reduction=reduction)

        def rows_reduced(x, i, v, n=name):
            return x.scatter_reduce(0, (i % len(x)).expand(v.shape), v, n)
        c.op("ScatterND", [u(4, 3), tuples, u(3, 3)], rows_reduced, bound, ("tensor", 4), reduction=reduction)

    def replaced(x, v, start, wrap):
        x = x.clone()
        for b, s in enumerate(start.tolist()):
            for t in range(v.shape[1]):
                x[b, (s + t) % x.shape[1] if wrap else s + t] = v[b, t]
        return x
    c.op("TensorScatter", [u(2, 5, 3), u(2, 2, 3), torch.tensor([3, 0])], lambda x, v, s: replaced(x, v, s, False), EXACT,
         EXACT)
    c.op("TensorScatter", [u(2, 5, 3), u(2, 4, 3), torch.tensor([3, 13])], lambda x, v, s: replaced(x, v, s, True), EXACT,
         EXACT, mode="circular")


def choices(c):
    c.op("Compress", [u(3, 4), torch.tensor([True, False, True])], lambda x, k: x[k], EXACT, axis=0)
    c.op("Compress", [u(3, 4), torch.tensor([False, True])], lambda x, k: x.flatten()[:2][k], EXACT)
    c.op("OneHot", [torch.tensor([[0, 3], [-1, 7]]), torch.tensor(4), u(2)],
         lambda i, n, v: v[((i[..., None] == torch.arange(4)) | (i[..., None] + 4 == torch.arange(4))).long()], EXACT,
         SUMS, constants=[1])
    c.op("NonZero", [lambda dtype: torch.tensor([[0, 1, -0.0], [2, 0, float("nan")]]).to(dtype)],
         lambda x: torch.nonzero(x).t().contiguous(), EXACT)
    numbers = torch.tensor([5, -1, 5, 2, 2, 5])

    def unique(x):
        values, inverse, counts = torch.unique(x, return_inverse=True, return_counts=True)
        first = torch.stack([(x == v).long().argmax() for v in values])
        return values, first, inverse, counts
    c.op("Unique", [numbers], unique, EXACT, outputs=4, dtypes=ONCE)
    c.op("Unique", [lambda dtype: numbers.to(dtype) / 2], unique, EXACT, outputs=4)
    c.op("Unique", [torch.tensor([[1, 0, 1], [2, 9, 2]])],
         lambda x: (torch.tensor([[0, 1], [9, 2]]), torch.tensor([1, 0]), torch.tensor([1, 0, 1]), torch.tensor([1, 2])),
         EXACT, outputs=4, dtypes=ONCE, axis=1)


def extents(c):
    c.op("Shape", [u(2, 3, 4)], lambda x: torch.tensor([3, 4]), EXACT, start=1)
    c.op("Size", [u(2, 3, 4)], lambda x: torch.tensor(24), EXACT)
    c.op("EyeLike", [u(3, 4)], lambda x: torch.ones_like(x).triu(1).tril(1), EXACT, k=1)
    c.op("ConstantOfShape", [torch.tensor([2, 3])], lambda s: torch.zeros(2, 3), EXACT, dtypes=ONCE)
    for start, limit, delta in ((1, 5, 2), (0.5, -3, -0.75), (3, 3, 1)):
        bounds = [lambda dtype, n=n: torch.tensor(n).to(dtype) for n in (start, limit, delta)]
        c.op("Range", bounds, lambda *_, b=(start, limit, delta): torch.arange(*b, dtype=torch.float64), EXACT)
    c.op("Range", [torch.tensor(10), torch.tensor(-2), torch.tensor(-5)], lambda *_: torch.tensor([10, 5, 0]), EXACT,
         dtypes=ONCE)


GROUPS = (shapes, slices, pads, gathers, scatters, choices, extents)
