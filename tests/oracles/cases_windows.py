"""The cases of torch_oracle.py of the operators that slide windows over images or sample them."""
import itertools
import math

from exchange import torch
from operator_cases import EXACT, u

F = torch.nn.functional
SUMS = ("magnitude", 3)
ONCE = [torch.float64]  # where no operand has the type of the case


def both_sides(pads):
    """ONNX's pads as F.pad wants them: the last axis first."""
    axes = len(pads) // 2
    return [pads[i + side * axes] for i in reversed(range(axes)) for side in (0, 1)]


def convolutions(c):
    for src, weights, a in [((2, 4, 9), (6, 2, 3), {"group": 2, "pads": [1, 2], "strides": [2], "dilations": [2]}),
                            ((2, 3, 20), (5, 3, 4), {})]:
        c.op("Conv", [u(*src), u(*weights), u(weights[0])],
             lambda x, w, b, a=a: F.conv1d(F.pad(x, both_sides(a.get("pads", [0, 0]))), w, b, a.get("strides", [1]), 0,
                                           a.get("dilations", [1]), a.get("group", 1)), SUMS, SUMS, **a)
    for side in ("UPPER", "LOWER"):
        odd = [0, 1] if side == "UPPER" else [1, 0]  # 7 places, stride 2, 4 taps: 3 of padding
        pads = [1 + odd[0], 1 + odd[1]] * 2
        c.op("Conv", [u(2, 3, 7, 7), u(4, 3, 4, 4)],
             lambda x, w, p=pads: F.conv2d(F.pad(x, p), w, stride=2), SUMS, SUMS, auto_pad="SAME_" + side,
             strides=[2, 2])
    for src, weights, a in [((2, 4, 5), (4, 3, 3), {"strides": [2], "pads": [1, 1], "output_padding": [1]}),
                            ((2, 4, 5, 4), (4, 3, 3, 2), {}),
                            ((2, 4, 5, 4), (4, 3, 3, 2), {"strides": [3, 2], "pads": [1, 0, 1, 0], "group": 2,
                                                          "output_padding": [2, 1], "dilations": [1, 2]})]:
        def transposed(x, w, a=a, axes=len(src) - 2):
            f = F.conv_transpose1d if axes == 1 else F.conv_transpose2d
            return f(x, w, None, a.get("strides", 1), a.get("pads", [0] * axes)[:axes], a.get("output_padding", 0),
                     a.get("group", 1), a.get("dilations", 1))
        c.op("ConvTranspose", [u(*src), u(*weights)], transposed, SUMS, SUMS, **a)


def columns(c):
    windows = dict(strides=[2, 1], pads=[1, 2, 1, 2], dilations=[1, 2])
    arguments = dict(kernel_size=(3, 2), dilation=(1, 2), padding=(1, 2), stride=(2, 1))
    c.op("isobit.Im2Col", [u(2, 3, 7, 6)], lambda x: F.unfold(x, **arguments), EXACT, SUMS, kernel_shape=[3, 2],
         **windows)
    c.op("Col2Im", [u(2, 18, 32)], lambda x: F.fold(x, (7, 6), **arguments), SUMS, EXACT, image_shape=[7, 6],
         block_shape=[3, 2], **windows)

    def deformed(x, offset, mask):
        n, ch, h, w = x.shape
        taps = []
        for tap, (i, j) in enumerate(itertools.product(range(2), range(3))):
            y = torch.arange(h - 1, dtype=x.dtype)[:, None] + i + offset[:, 2 * tap]
            z = torch.arange(w - 2, dtype=x.dtype)[None, :] + j + offset[:, 2 * tap + 1]
            grid = torch.stack([2 * z / (w - 1) - 1, 2 * y / (h - 1) - 1], -1)
            taps.append(F.grid_sample(x, grid, align_corners=True) * mask[:, tap:tap + 1])
        return torch.stack(taps, 2).reshape(n, ch * 6, -1)
    c.op("isobit.DeformIm2Col", [u(2, 3, 5, 6), u(2, 12, 4, 4, low=-1.4, high=1.4), u(2, 6, 4, 4, low=0.5)], deformed,
         ("tensor", 4), ("tensor", 16), kernel_shape=[2, 3])


def places_of(f, x, kernel, **arguments):
    """Maxima and their places in all of x."""
    y, places = f(x, kernel, return_indices=True, **arguments)
    planes = torch.arange(x.shape[0] * x.shape[1]).reshape(x.shape[:2] + (1,) * (x.dim() - 2))
    return y, places + planes * math.prod(x.shape[2:])


def pools(c):
    for f, src, a in [(F.max_pool1d, (2, 3, 12), dict(kernel=[3], strides=[2], pads=1, dilations=[2], ceil=1)),
                      (F.max_pool2d, (2, 3, 8, 9), dict(kernel=[3, 2], strides=[2, 3], pads=1, dilations=[1, 2], ceil=0)),
                      (F.max_pool2d, (2, 3, 8, 9), dict(kernel=[3, 3], strides=[2, 2], pads=0, dilations=[1, 1], ceil=1)),
                      (F.max_pool3d, (2, 2, 6, 7, 5),
                       dict(kernel=[2, 3, 2], strides=[2, 2, 1], pads=1, dilations=[1, 1, 2], ceil=1))]:
        c.op("MaxPool", [u(*src)],
             lambda x, f=f, a=a: places_of(f, x, a["kernel"], stride=a["strides"], padding=a["pads"],
                                           dilation=a["dilations"], ceil_mode=bool(a["ceil"])), EXACT, ("tensor", 2),
             outputs=2, kernel_shape=a["kernel"], strides=a["strides"], pads=[a["pads"]] * 2 * len(a["kernel"]),
             dilations=a["dilations"], ceil_mode=a["ceil"])
    for f, src in ((F.avg_pool1d, (2, 3, 12)), (F.avg_pool2d, (2, 3, 8, 11)), (F.avg_pool3d, (2, 2, 6, 7, 5))):
        axes = len(src) - 2
        for include, ceil in itertools.product((0, 1), (0, 1)):
            c.op("AveragePool", [u(*src)],
                 lambda x, f=f, i=include, e=ceil: f(x, 3, 2, 1, bool(e), bool(i)), ("magnitude", 1),
                 ("magnitude", 4), kernel_shape=[3] * axes, strides=[2] * axes, pads=[1] * 2 * axes, ceil_mode=ceil,
                 count_include_pad=include)
    for p in (1, 2, 3):
        c.op("LpPool", [u(2, 3, 8, 9, low=0.1)], lambda x, p=p: F.lp_pool2d(x, p, (2, 3), (2, 1)), ("each", 1),
             ("tensor", 16), kernel_shape=[2, 3], strides=[2, 1], p=p)
        c.op("GlobalLpPool", [u(2, 3, 8)], lambda x, p=p: x.norm(p, 2, True), ("each", 1), ("tensor", 8), p=p)
    c.op("GlobalMaxPool", [u(2, 3, 8)], lambda x: x.amax(2, True), EXACT, EXACT)
    c.op("GlobalMaxPool", [u(2, 3, 4, 5, 2)], lambda x: x.amax((2, 3, 4), True), EXACT, EXACT)
    c.op("GlobalAveragePool", [u(2, 3, 8)], lambda x: x.mean(2, True), ("each", 1), ("each", 1))
    indices = torch.tensor([[[[0, 3], [9, 14]]]])
    c.op("MaxUnpool", [u(1, 1, 2, 2), indices], lambda x, i: F.max_unpool2d(x, i, 2), EXACT, EXACT,
         kernel_shape=[2, 2], strides=[2, 2])


def resizing(c):
    src = (2, 3, 5, 7)
    for out in ((9, 12), (3, 4), (10, 3)):
        sizes = dict(sizes=list(out), axes=[2, 3])
        for mode, torch_mode in (("linear", "bilinear"), ("cubic", "bicubic")):
            for corners, name in ((False, "half_pixel"), (True, "align_corners")):
                # Cubic weights have both signs.
                bounds = (SUMS, SUMS) if mode == "linear" else (("tensor", 4), ("tensor", 8))
                c.op("Resize", [u(*src)],
                     lambda x, o=out, m=torch_mode, k=corners: F.interpolate(x, o, mode=m, align_corners=k), *bounds,
                     mode=mode, coordinate_transformation_mode=name, **sizes)
        c.op("Resize", [u(*src)], lambda x, o=out: F.interpolate(x, o, mode="nearest"), EXACT, SUMS, mode="nearest",
             coordinate_transformation_mode="asymmetric", nearest_mode="floor", **sizes)
    for mode, torch_mode, a in (("linear", "bilinear", -0.75), ("cubic", "bicubic", -0.5)):
        c.op("Resize", [u(2, 3, 12, 15)],
             lambda x, m=torch_mode: F.interpolate(x, (5, 4), mode=m, align_corners=False, antialias=True),
             ("tensor", 4), ("tensor", 8), mode=mode, antialias=1, exclude_outside=1, cubic_coeff_a=a,
             sizes=[5, 4], axes=[2, 3])
    c.op("Resize", [u(2, 3, 7)], lambda x: F.interpolate(x, scale_factor=2.5, mode="linear"), SUMS, SUMS,
         mode="linear", scales=[1.0, 1.0, 2.5])
    c.op("Resize", [u(2, 3, 3, 4, 5)], lambda x: F.interpolate(x, (5, 3, 8), mode="trilinear"), SUMS, SUMS,
         mode="linear", sizes=[5, 3, 8], axes=[2, 3, 4])


def grids(c):
    for image, points in (((4, 5), (3, 6)), ((3, 4, 2), (3, 2, 2))):
        for mode, padding, corners in itertools.product(("linear", "nearest"), ("zeros", "border", "reflection"),
                                                        (0, 1)):
            torch_mode = "bilinear" if mode == "linear" else mode
            c.op("GridSample", [u(2, 3, *image), u(2, *points, len(image), low=-1.3, high=1.3)],
                 lambda x, g, m=torch_mode, p=padding, k=corners: F.grid_sample(x, g, m, p, bool(k)),
                 ("tensor", 16), ("tensor", 64), mode=mode, padding_mode=padding, align_corners=corners)
        for corners in (0, 1):
            size = [2, 3, *image]
            c.op("AffineGrid", [u(2, len(image), len(image) + 1)],
                 lambda t, s=size, k=corners: F.affine_grid(t, s, bool(k)), ("tensor", 4), ("tensor", 8), size=size,
                 align_corners=corners)
    c.op("GridSample", [u(2, 3, 6, 5), u(2, 4, 3, 2, low=-1.3, high=1.3)],
         lambda x, g: F.grid_sample(x, g, "bicubic", "zeros", False), ("tensor", 32), ("tensor", 64), mode="cubic")


def regions(c):
    rois, images = torch.tensor([[0.3, 1.2, 4.1, 5.7], [1.0, 0.0, 2.5, 6.0]], dtype=torch.float64), torch.tensor([1, 0])

    def aligned(x, boxes, batch):
        bins = []
        for box, image in zip(boxes, batch):
            x1, y1, x2, y2 = (box - 0.5).tolist()
            steps = torch.arange(6, dtype=x.dtype) + 0.5  # 3 bins of 2 samples
            across, down = x1 + steps * (x2 - x1) / 6, y1 + steps * (y2 - y1) / 6
            h, w = x.shape[2:]
            grid = torch.stack([(2 * across.clamp(0, w - 1) / (w - 1) - 1).expand(6, 6),
                                (2 * down.clamp(0, h - 1) / (h - 1) - 1)[:, None].expand(6, 6)], -1)
            samples = F.grid_sample(x[image][None], grid[None], align_corners=True)
            bins.append(F.avg_pool2d(samples, 2)[0])
        return torch.stack(bins)
    c.op("RoiAlign", [u(2, 3, 7, 6), lambda dtype: rois.to(dtype), images], aligned, ("tensor", 16), ("tensor", 16),
         constants=[1], output_height=3, output_width=3, sampling_ratio=2)
    five = torch.cat([images[:, None].double(), rois], 1)

    def largest(x, boxes):
        out = []
        for image, x1, y1, x2, y2 in boxes.tolist():
            x1, y1, x2, y2 = (math.floor(v + 0.5) for v in (x1, y1, x2, y2))
            out.append(F.adaptive_max_pool2d(x[int(image), :, y1:y2 + 1, x1:x2 + 1], (2, 2)))
        return torch.stack(out)
    c.op("MaxRoiPool", [u(2, 3, 7, 6), lambda dtype: five.to(dtype)], largest, EXACT, ("tensor", 2), constants=[1],
         pooled_shape=[2, 2])
    corners = torch.tensor([[[0, 0, 1, 1], [0, 0.1, 1, 1.1], [0, 2, 1, 3], [0, 2.6, 1, 3.6]]], dtype=torch.float64)
    scores = torch.tensor([[[0.3, 0.9, 0.8, 0.7]]], dtype=torch.float64)
    c.op("NonMaxSuppression", [lambda dtype: corners.to(dtype), lambda dtype: scores.to(dtype), torch.tensor(3),
                               lambda dtype: torch.tensor(0.5, dtype=dtype)],
         lambda *x: torch.tensor([[0, 0, 1], [0, 0, 2], [0, 0, 3]]), EXACT)


def integers(c):
    def some(*shape, low=0, high=256, dtype=torch.uint8):
        return torch.randint(low, high, shape).to(dtype)

    torch.manual_seed(11)
    a, b, a_zero, b_zero = some(2, 3, 40), some(40, 5, low=-128, high=128, dtype=torch.int8), some(), some(
        5, low=-128, high=128, dtype=torch.int8)

    def product(x, y, x0, y0):
        return (x.long() - x0.long()) @ (y.long() - y0.long())
    c.op("MatMulInteger", [a, b, a_zero, b_zero], product, EXACT, dtypes=ONCE)
    x, w, x_zero, w_zero = some(2, 4, 6, 5), some(6, 2, 3, 2, low=-128, high=128, dtype=torch.int8), some(), some(
        6, low=-128, high=128, dtype=torch.int8)

    def conv(i, k, i0, k0):
        return F.conv2d(F.pad((i.long() - i0.long()).double(), (0, 1, 1, 0)),
                        (k.long() - k0.long()[:, None, None, None]).double(), stride=(2, 1), groups=2)
    window = dict(strides=[2, 1], pads=[1, 0, 0, 1], group=2)
    c.op("ConvInteger", [x, w, x_zero, w_zero], lambda *v: conv(*v).long(), EXACT, dtypes=ONCE, **window)

    # Scales that are powers of two, so that every rounding is the one that is asked for.
    def saturated(sums, scale, zero):
        return (torch.round(sums.double() * scale) + zero.double()).clamp(0, 255).to(torch.uint8)
    quarter, half, one, y_zero = (torch.tensor(v, dtype=torch.float32) for v in (0.25, 0.5, 64.0, 0.0))
    y_zero = torch.tensor(120, dtype=torch.uint8)
    c.op("QLinearMatMul", [a, quarter, a_zero, b, half, b_zero, one, y_zero],
         lambda x, xs, x0, y, ys, y0, s, z: saturated(product(x, y, x0, y0), xs * ys / s, z), EXACT,
         dtypes=[torch.float32])
    bias = torch.randint(-9999, 9999, (6,), dtype=torch.int32)
    c.op("QLinearConv", [x, quarter, x_zero, w, half, w_zero, one, y_zero, bias],
         lambda i, s, i0, k, ks, k0, ys, z, added: saturated(conv(i, k, i0, k0) + added.double()[:, None, None],
                                                             s * ks / ys, z), EXACT, dtypes=[torch.float32], **window)


GROUPS = (convolutions, columns, pools, resizing, grids, regions, integers)
