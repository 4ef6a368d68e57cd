"""Cases of determinants and ensembles of trees."""
from exchange import torch
from operator_cases import EXACT, FLOATS, ROUNDED, Case, node, u, uniform

TESTS = (torch.le, torch.lt, torch.ge, torch.gt, torch.eq, torch.ne)


def composites(c):
    # The error of elimination is measured against the largest determinant: float32 operands are computed in float64.
    for n in (1, 2, 3, 5, 8):
        c.op("Det", [u(20, n, n)], torch.linalg.det, ("tensor", 1), ("tensor", 4))
    for aggregate, combine in ((0, lambda a, b: (a + b) / 2), (1, torch.add), (2, torch.minimum), (3, torch.maximum)):
        for mode, test in enumerate(TESTS):
            def expect(x, test=test, combine=combine):
                # Tree 0: node 0 on feature 0, then leaf 0, or node 1 on feature 1 and leaves 1 and 2; tree 1: node 2.
                split = torch.tensor(0.25, dtype=x.dtype)
                pick = lambda holds, a, b: torch.where(holds, torch.tensor(a, dtype=x.dtype), b)
                two = lambda b: torch.tensor(b, dtype=x.dtype)
                first = pick(test(x[:, 0], split), 1.5, pick(test(x[:, 1], split), -2.0, two(4.0)))
                second = pick(test(x[:, 1], split), 4.0, two(1.5))
                return combine(first, second)[:, None]
            c.op("isobit.TreeEnsemble", [u(40, 2)], expect, EXACT, tree_roots=[0, 2], nodes_featureids=[0, 1, 1],
                 nodes_modes=[mode] * 3, nodes_splits=[0.25] * 3, nodes_missing_value_tracks_true=[0] * 3,
                 nodes_truenodeids=[0, 1, 2], nodes_trueleafs=[1, 1, 1], nodes_falsenodeids=[1, 2, 0],
                 nodes_falseleafs=[0, 1, 1], leaf_starts=[0, 1, 2, 3], leaf_targetids=[0, 0, 0],
                 leaf_weights=[1.5, -2.0, 4.0], n_targets=1, aggregate_function=aggregate)
    # A tree is constant between its bounds: the gradient is that of what it is multiplied by.
    for dtype in FLOATS:
        c.add(Case(c.new_name("isobit.TreeEnsemble", dtype), dtype, {"x": uniform(dtype, (40, 2))},
                   [node("isobit.TreeEnsemble", ["x"], ["leaf"], tree_roots=[0], nodes_featureids=[1], nodes_modes=[0],
                         nodes_splits=[0.25], nodes_missing_value_tracks_true=[0], nodes_truenodeids=[0],
                         nodes_trueleafs=[1], nodes_falsenodeids=[1], nodes_falseleafs=[1], leaf_starts=[0, 1, 2],
                         leaf_targetids=[0, 0], leaf_weights=[1.5, -2.0]), node("Mul", ["leaf", "x"], ["y"])], ["y"],
                   lambda x: {"y": torch.where(x[:, 1:] <= 0.25, 1.5, -2.0) * x}, ROUNDED, ("each", 1), ["x"]))


GROUPS = (composites,)
