"""Where the windows of Conv and of pooling lie."""
from protocol import Refused


class Windows:
    """kernel, strides, dilations, and pads as (before, after) of each spatial axis."""

    def __init__(self, node, extents, kernel):
        rank = len(extents)
        self.kernel = list(node.get("kernel_shape", kernel))
        self.strides = node.get("strides", [1] * rank)
        self.dilations = node.get("dilations", [1] * rank)
        pads = node.get("pads", [0] * (2 * rank))
        self.pads = list(zip(pads[:rank], pads[rank:]))
        auto = node.get("auto_pad", "NOTSET")
        if auto in ("SAME_UPPER", "SAME_LOWER"):
            self.pads = [self.same(*shape, auto == "SAME_UPPER")
                         for shape in zip(extents, self.kernel, self.strides, self.dilations)]
        elif auto == "VALID":
            self.pads = [(0, 0)] * rank
        elif auto != "NOTSET":
            raise Refused(f"node '{node.label()}' ({node.op}): auto_pad {auto} has no converter")
        if node.get("ceil_mode", 0):
            raise Refused(f"node '{node.label()}' ({node.op}): ceil_mode has no converter")

    @staticmethod
    def same(extent, kernel, stride, dilation, upper):
        outputs = -(-extent // stride)
        total = max((outputs - 1) * stride + (kernel - 1) * dilation + 1 - extent, 0)
        return (total // 2, total - total // 2) if upper else (total - total // 2, total // 2)

    def symmetric(self):
        return all(before == after for before, after in self.pads)

    def padded(self):
        return any(before or after for before, after in self.pads)


def single_axis(node, rank):
    """The axis of a softmax: from opset 13 on one axis; before that everything from it on is one row."""
    if node.opset >= 13:
        return node.get("axis", -1) % rank, False
    axis = node.get("axis", 1) % rank
    return axis, axis != rank - 1


def in_rows(softmax, node, x):
    """softmax(x, axis) of an array that has shape and reshape, as the opset means it."""
    axis, joined = single_axis(node, len(x.shape))
    if not joined:
        return softmax(x, axis)
    rows = 1
    for extent in x.shape[:axis]:
        rows *= int(extent)
    return softmax(x.reshape((rows, -1)), 1).reshape(tuple(x.shape))
