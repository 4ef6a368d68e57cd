"""Draws what growth.py measured: step time over each size, of isobit and of PyTorch, with the ratio beside the points.

usage: growth_figure.py RESULTS OUT.svg
"""
import os
import statistics
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "examples", "lab", "experiments"))
import figures  # noqa: E402
import growth  # noqa: E402
from results import Results  # noqa: E402

LABELS = {"width": "channels of the first stage", "blocks": "blocks of a stage", "B": "images of a batch", "channels": "channels",
          "layers": "layers", "threads": "threads"}
TOKENS = "sequences of a batch"


def panel(axes, family, name, points):
    sizes = [size for size, _ in points]
    times = [[1e3 * statistics.median(record["seconds"][who]) for _, record in points] for who in ("isobit", "eager")]
    for index, (who, ms) in enumerate(zip(("isobit", "PyTorch, eager"), times)):
        figures.line(axes, sizes, ms, who, index)
    for (size, record), *pair in zip(points, *times):
        axes.annotate(f"{growth.ratio(record):.2f}", (size, max(pair)), (0, 7), textcoords="offset points", ha="center", fontsize=7.5)
    axes.set_xscale("log", base=2)
    axes.set_yscale("log")
    axes.set_xticks(sizes, [str(size) for size in sizes])
    axes.xaxis.set_minor_locator(figures.matplotlib.ticker.NullLocator())
    axes.yaxis.set_major_formatter(figures.matplotlib.ticker.FormatStrFormatter("%g"))
    axes.yaxis.set_minor_formatter(figures.matplotlib.ticker.NullFormatter())
    axes.margins(x=0.12, y=0.16)
    axes.set_xlabel(TOKENS if family == "gpt" and name == "B" else LABELS[name])
    if len(points) > 1:
        axes.set_title(f"slope of the ratio {growth.slope(points):+.2f}", fontsize=8.5)


def main():
    axes_of = {key: points for key, points in growth.measured(Results(sys.argv[1])).items() if points}
    families = list(dict.fromkeys(family for family, _ in axes_of))
    figure, panels = figures.panels(len(families), 4, (10.5, 2.9 * len(families)), squeeze=False, sharey="row")
    said = []
    for row, family in zip(panels, families):
        mine = [(name, points) for (f, name), points in axes_of.items() if f == family]
        for axes, (name, points) in zip(row, mine):
            panel(axes, family, name, points)
            said.append(f"{family}, {name} " + ", ".join(f"{size}: {growth.ratio(record):.2f}" for size, record in points))
        for axes in row[len(mine):]:
            axes.set_visible(False)
        row[0].set_ylabel(f"{family}: ms a step")
    figure.legend(*panels[0][0].get_legend_handles_labels(), loc="outside upper right", ncols=2)
    figures.heading(figure, "Time of a training step; the numbers are isobit's time over PyTorch's")
    figures.save(figure, sys.argv[2], "Step time over the size of networks, isobit and PyTorch",
                 "Two lines a panel, over logarithmic axes; isobit's time over PyTorch's: " + "; ".join(said))


if __name__ == "__main__":
    main()
