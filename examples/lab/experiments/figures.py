"""Figures: SVG with text as text, colours that colour-blind people tell apart, and a second sign beside each colour."""
import re
from xml.sax.saxutils import escape

import matplotlib

matplotlib.use("svg")
import matplotlib.pyplot as plt  # noqa: E402
import matplotlib.ticker  # noqa: E402

# Okabe and Ito's palette, and a marker and a hatch for each colour, for those who see or print none.
COLOURS = ["#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#000000", "#8C8C8C", "#7A5195", "#B0A000"]
MARKERS = ["o", "s", "^", "D", "v", "P", "X", "*", "<", ">"]
HATCHES = ["", "//", "\\\\", "xx", "--", "||", "++", "/", "\\", "-"]

plt.rcParams.update({
    "svg.fonttype": "none", "svg.hashsalt": "isobit", "font.family": "sans-serif",
    "font.sans-serif": ["DejaVu Sans", "Arial", "Helvetica", "sans-serif"], "font.size": 9, "axes.titlesize": 10,
    "axes.spines.top": False, "axes.spines.right": False, "axes.grid": True, "axes.axisbelow": True,
    "grid.color": "#DDDDDD", "grid.linewidth": 0.6, "legend.frameon": False, "figure.constrained_layout.use": True,
    "hatch.linewidth": 0.6,
})


def heading(figure, text):
    """A title over the whole figure: for those whose labels need more room than their marks."""
    figure.suptitle(text, x=0.01, ha="left", fontsize=10)


def whole_numbers(axis):
    axis.set_major_locator(matplotlib.ticker.MaxNLocator(integer=True))


def panels(rows=1, columns=1, size=(7.6, 3.4), **more):
    return plt.subplots(rows, columns, figsize=size, **more)


def save(figure, path, title, description):
    """Writes the figure; the title and the description are for those who do not see it."""
    figure.savefig(path, format="svg", metadata={"Date": None, "Creator": None})
    plt.close(figure)
    with open(path) as f:
        text = f.read()
    text = re.sub(r"(?<=\d)\.\d{3,}", lambda m: f"{float('0' + m.group()):.2f}"[1:] if m.group() < ".995" else m.group(), text)
    text = re.sub(r" <metadata>.*?</metadata>\n", "", text, flags=re.S)
    text = re.sub(r"(<svg [^>]*)>", rf'\1 role="img" aria-labelledby="title description">'
                  rf'\n <title id="title">{escape(title)}</title>\n <desc id="description">{escape(description)}</desc>'.replace("\\n", "\n"),
                  text, count=1)
    with open(path, "w") as f:
        f.write("\n".join(line.rstrip() for line in text.split("\n")))


def bars(axes, labels, series):
    """Grouped bars with their numbers. series: {name: [number for each label, or None]}"""
    width = 0.8 / len(series)
    for i, (name, numbers) in enumerate(series.items()):
        at = [x + (i - (len(series) - 1) / 2) * width for x, number in enumerate(numbers) if number is not None]
        drawn = axes.bar(at, [number for number in numbers if number is not None], width * 0.92, label=name,
                         color=COLOURS[i], hatch=HATCHES[i], edgecolor="white")
        axes.bar_label(drawn, fontsize=7, padding=1)
    axes.set_xticks(range(len(labels)), labels)
    axes.grid(axis="x", visible=False)


def line(axes, x, y, name, index, **more):
    axes.plot(x, y, label=name, color=COLOURS[index % len(COLOURS)], marker=MARKERS[index % len(MARKERS)],
              markersize=4.5, linewidth=1.4, **more)


def doubling(axes, counts):
    """Numbers of threads or cores along the horizontal axis, each twice as far as its half; classes from nothing up."""
    axes.set_xscale("log", base=2)
    axes.set_xticks(counts, [str(c) for c in counts])
    axes.minorticks_off()
    axes.set_ylim(bottom=0)
    whole_numbers(axes.yaxis)


def presence(axes, rows, columns, marks):
    """A matrix of marks. marks[r][c]: truth, or a text to write there."""
    for r, row in enumerate(marks):
        for c, mark in enumerate(row):
            if isinstance(mark, str):
                axes.text(c, r, mark, ha="center", va="center", fontsize=7.5)
            elif mark:
                axes.plot(c, r, marker="s", color=COLOURS[0], markersize=6.5, linestyle="none")
            else:
                axes.plot(c, r, marker="_", color="#BBBBBB", markersize=5, linestyle="none")
    axes.set_xlim(-0.6, len(columns) - 0.4)
    axes.set_ylim(len(rows) - 0.4, -0.6)
    axes.set_yticks(range(len(rows)), rows)
    axes.set_xticks(range(len(columns)), columns, rotation=60, ha="right", rotation_mode="anchor")
    axes.tick_params(length=0)
    axes.grid(visible=False)
    for side in ("left", "bottom"):
        axes.spines[side].set_visible(False)


def dendrogram(axes, names, merges, most):
    """Single linkage as `isobit compare` gives it: merges of {left, right, remaining_precision}, classes are 0 .. n - 1,
    merge i makes n + i. names: of the classes."""
    count = len(names)
    children = {count + i: (m["left"], m["right"]) for i, m in enumerate(merges)}
    order, stack = [], [count + len(merges) - 1]
    while stack:
        item = stack.pop()
        if item in children:
            stack += reversed(children[item])
        else:
            order.append(item)
    at = {item: (most, i) for i, item in enumerate(order)}
    for i, m in enumerate(merges):
        (xa, ya), (xb, yb), x = at[m["left"]], at[m["right"]], m["remaining_precision"]
        axes.plot([xa, x, x, xb], [ya, ya, yb, yb], color=COLOURS[0], linewidth=1.2)
        at[count + i] = (x, (ya + yb) / 2)
    axes.set_yticks(range(len(order)), [names[item] for item in order], fontsize=7)
    axes.yaxis.tick_right()
    axes.set_ylim(len(order) - 0.4, -0.6)
    axes.set_xlim(-0.5, most + most * 0.02)
    axes.grid(axis="y", visible=False)
    axes.spines["left"].set_visible(False)
    axes.tick_params(axis="y", length=0)
