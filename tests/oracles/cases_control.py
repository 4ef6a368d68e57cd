"""The cases of torch_oracle.py of the operators that run graphs."""
from exchange import torch
from operator_cases import node, uniform

EXACT, CLOSE = ("exact", 0), ("each", 4)


def graph(inputs, nodes, outputs):
    """An attribute. inputs: (name, dtype, dims); what is said of them holds where the graph stands alone."""
    return {"inputs": [list(i) for i in inputs], "nodes": nodes, "outputs": outputs}


def row(name):
    return name, "float32", [3]


def rows(shape):
    return lambda dtype: uniform(dtype, shape, 0.5, 1.5)


def if_cases(cases):
    then_branch = graph([row("a"), row("b")], [node("Neg", ["a"], ["y"])], ["y"])
    else_branch = graph([row("a"), row("b")], [node("Mul", ["a", "b"], ["y"])], ["y"])
    for cond in (True, False):
        for known in ((), (0,)):
            cases.op("If", [torch.tensor(cond), rows((3,)), rows((3,))],
                     lambda c, a, b: -a + 0 * b if c else a * b, EXACT, None if cond and known else EXACT,
                     constants=known, then_branch=then_branch, else_branch=else_branch)
    # Two levels, and what both capture.
    inner = node("If", ["c", "a", "b"], ["y"], then_branch=then_branch, else_branch=else_branch)
    outer = graph([("c", "bool", []), row("a"), row("b")], [inner], ["y"])
    cases.op("If", [torch.tensor(True), torch.tensor(False), rows((3,)), rows((3,))], lambda _, c, a, b: a * b, EXACT,
             EXACT, then_branch=outer, else_branch=outer)


def loop_cases(cases):
    body = graph([("i", "int64", []), ("go", "bool", []), row("x"), row("y")],
                 [node("Mul", ["x", "y"], ["next"]), node("Neg", ["next"], ["each"])], ["go", "next", "each"])

    def expect(trips, go, x, y):
        each = []
        for _ in range(int(trips) if go else 0):
            x = x * y
            each.append(-x)
        return x, torch.stack(each) if each else torch.zeros((0, 3), dtype=x.dtype)
    for trips, go in ((3, True), (0, True), (2, False)):
        cases.op("Loop", [torch.tensor(trips), torch.tensor(go), rows((3,)), rows((3,))], expect, CLOSE, outputs=2,
                 body=body, carried=1)
    cases.op("Loop", [torch.tensor(3), torch.tensor(True), rows((3,)), rows((3,))], expect, CLOSE, ("each", 16),
             outputs=2, constants=[0, 1], body=body, carried=1)


def scan_cases(cases):
    body = graph([row("s"), row("e"), row("c")], [node("Add", ["s", "e"], ["t"]), node("Mul", ["t", "c"], ["y"])],
                 ["t", "y"])

    def expect(state, sequence, factor, axis=0, backward=False, out_axis=0):
        each = []
        elements = list(sequence.unbind(axis))
        for element in reversed(elements) if backward else elements:
            state = state + element
            each.append(state * factor)
        return state, torch.stack(each, out_axis)
    cases.op("Scan", [rows((3,)), rows((5, 3)), rows((3,))], expect, CLOSE, outputs=2, body=body, carried=1,
             num_scan_inputs=1)
    cases.op("Scan", [rows((3,)), rows((3, 5)), rows((3,))], lambda s, q, f: expect(s, q, f, 1, True, 1), CLOSE,
             outputs=2, body=body, carried=1, num_scan_inputs=1, scan_input_axes=[-1], scan_input_directions=[1],
             scan_output_axes=[1])
    # Of what is stacked: the first output of a case is what gradients are taken of.
    turned = graph([row("e"), row("c")], [node("Tanh", ["e"], ["t"]), node("Mul", ["t", "c"], ["y"])], ["y"])
    cases.op("Scan", [rows((5, 3)), rows((3,))], lambda q, f: torch.tanh(q) * f, CLOSE, ("tensor", 8), body=turned,
             num_scan_inputs=1)


GROUPS = [if_cases, loop_cases, scan_cases]
