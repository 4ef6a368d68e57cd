"""Scores that the final state does not have, and evaluations of a form that none has."""
import evaluation_oracle
from canon import Reader, sha, u64
from falsehood import LIE, REFUSED, falsehood, family
from objects import Metric

ONE = 1 << 149  # in the units of an exact sum


def _metric(which, **fields):
    def act(final):
        for field, value in fields.items():
            metric = final.metric(which)
            setattr(metric, field, value(metric) if callable(value) else value)
    return act


def _set(**fields):
    def act(final):
        for field, value in fields.items():
            setattr(final, field, value)
    return act


SCORES = {
    "one more right": _metric("top1", units=lambda m: m.units + ONE),
    "one less right": _metric("top1", units=lambda m: m.units - ONE),
    "all right": _metric("top1", units=60 * ONE),
    "none right": _metric("top1", units=0),
    "more right than there are": _metric("top1", units=1000 * ONE),
    "fewer than none right": _metric("top1", units=-5 * ONE),
    "half a sample more right": _metric("top1", units=lambda m: m.units + ONE // 2),
    "one more among the first five": _metric("top5", units=lambda m: m.units + ONE),
    "half the loss": _metric("loss", units=lambda m: m.units // 2),
    "a loss one unit lower": _metric("loss", units=lambda m: m.units - 1),
    "no loss": _metric("loss", units=0),
    "a negative loss": _metric("loss", units=lambda m: -m.units),
    "the largest loss": _metric("loss", units=(1 << 383) - 1),
    "the smallest loss": _metric("loss", units=-(1 << 383)),
    "a loss of infinity": _metric("loss", kind=1, units=0),
    "a loss of minus infinity": _metric("loss", kind=2, units=0),
    "a loss that is NaN": _metric("loss", kind=3, units=0),
    "a loss of half the rows": _metric("loss", count=30),
    "a loss of no rows": _metric("loss", count=0),
    "a loss of 2^64 - 1 rows": _metric("loss", count=2**64 - 1),
    "of no samples": _set(samples=0),
    "of fewer samples": _set(samples=30),
    "of more samples": _set(samples=360),
    "of 2^64 - 1 samples": _set(samples=2**64 - 1),
    "a tree of nothing": _set(tree=bytes(32)),
    "a tree made up": _set(tree=sha(b"tree")),
    "no metrics": _set(metrics=[]),
    "no loss among the metrics": lambda final: final.metrics.remove(final.metric("loss")),
    "a metric more": lambda final: final.metrics.append(_another("zeal", 60)),
    "a metric with another name": _metric("top5", name="top6"),
}


def _another(name, right):
    return Metric(Reader(u64(len(name.encode())) + name.encode() + b"\0" + (right * ONE).to_bytes(48, "little") + u64(60)))


@family([(f"evaluation: {name}", act) for name, act in SCORES.items()], LIE, "differs evaluation")
def _(run, act):
    act(run.final)


def _totals(*values):
    """Sums of one row each."""
    out = []
    for value in values:
        total = evaluation_oracle.Total()
        total.units, total.count = value, 1
        out.append(total)
    return out


@family([("evaluation: a whole tree of right answers", [60, True]), ("evaluation: a whole tree of some right answers", [60, False])],
        LIE, "differs evaluation")
def _(run, row):
    samples, all_right = row
    scores = [_totals(ONE // 8, ONE if all_right or i % 2 else 0, ONE) for i in range(samples)]
    reader = Reader(evaluation_oracle.evaluation_bytes(["loss", "top1", "top5"], scores))
    run.final.samples, run.final.tree = reader.u64(), reader.fixed(32)
    run.final.metrics = [Metric(reader) for _ in range(reader.u64())]


FORMS = {
    "metrics out of order": lambda final: final.metrics.reverse(),
    "a metric twice": lambda final: final.metrics.append(final.metrics[-1]),
    "a metric without a name": _metric("loss", name=""),
    "a metric in capitals": _metric("top1", name="Top1"),
    "a metric with a control character": _metric("top1", name="top1\x1b[2J"),
    "a metric whose name runs backwards": _metric("top1", name="\u202etop"),
    "a metric with a name of 33 letters": _metric("top5", name="t" * 33),
    "nine metrics": lambda final: final.metrics.extend(_another("top%d" % i, 1) for i in range(6, 12)),
    "2^60 metrics": _set(metric_count=1 << 60),
    "more metrics than follow": _set(metric_count=4),
    "fewer metrics than follow": _set(metric_count=2),
    "a sum of no kind": _metric("loss", kind=4),
    "an infinite sum with a value": _metric("loss", kind=1),
    "a NaN with a value": _metric("loss", kind=3),
}


@family([(f"evaluation: {name}", act) for name, act in FORMS.items()], REFUSED, "leaf 6")
def _(run, act):
    act(run.final)


@falsehood("evaluation: a metric with a name of 900 letters", REFUSED, "heads")  # no leaf is as long, so the file ends before it
def _(run, arena, arithmetic):
    run.final.metric("top5").name = "t" * 900


__all__ = ["falsehood"]
