"""The figure: of each network the loss of every step, and below it how far the curves are from PyTorch's, in float64
if there is such a one."""
import matplotlib

matplotlib.use("svg")
from matplotlib import pyplot, ticker  # noqa: E402

TITLES = {"resnet18": "ResNet-18 on CIFAR-10", "gpt2": "GPT-2 (124 M) on tinyshakespeare"}
# The same bytes whenever it is drawn, with letters that a browser sets.
STEADY = {"svg.fonttype": "none", "svg.hashsalt": "isobit", "font.family": "sans-serif", "font.size": 9,
          "path.simplify": False}


def apart(losses, others):
    """Relative; where curves meet to the last bit a logarithm has no place, and the least that float32 shows is drawn."""
    return [max(abs(a - b) / abs(b), 1e-8) for a, b in zip(losses, others)]


def curve(plot, values, **more):
    plot(range(1, len(values) + 1), values, **more)


def draw(path, results):
    """results: {network: {"isobit": losses, "pytorch": losses, "float64": losses or None}}"""
    with pyplot.rc_context(STEADY):
        figure, axes = pyplot.subplots(2, len(results), figsize=(4.6 * len(results), 5.2), sharex="col", squeeze=False,
                                       gridspec_kw={"height_ratios": [3, 2]}, layout="constrained")
        for (name, found), above, below in zip(results.items(), *axes):
            curve(above.plot, found["pytorch"], color="#d98032", linewidth=2.6, alpha=0.7, label="PyTorch")
            curve(above.plot, found["isobit"], color="#1f4e8c", linewidth=0.9, label="isobit, ordered-1")
            above.set_title(TITLES[name], fontsize=10)
            exact = found.get("float64")
            if exact:
                curve(below.semilogy, apart(found["pytorch"], exact), color="#d98032", linewidth=0.9, label="PyTorch")
            curve(below.semilogy, apart(found["isobit"], exact or found["pytorch"]), color="#1f4e8c", linewidth=0.9,
                  label="isobit")
            below.set_ylabel("relative distance of the\nloss from " + ("float64's" if exact else "PyTorch's"))
            below.set_xlabel("step")
            below.xaxis.set_major_locator(ticker.MaxNLocator(integer=True))
            for axis in (above, below):
                axis.grid(linewidth=0.3)
                axis.spines[["top", "right"]].set_visible(False)
                axis.legend(frameon=False, fontsize=8)
        axes[0][0].set_ylabel("training loss")
        figure.savefig(path, metadata={"Date": None, "Creator": None})
        pyplot.close(figure)
