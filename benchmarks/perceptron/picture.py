"""The picture of the perceptron suite."""

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.ticker import FuncFormatter

from measure import median_ratio
from perceptron.parts.lazy import pass_seconds
from perceptron.parts.passes import PASSES, seconds_a_row

COLOURS = {"scikit-learn": "#1f6f8b", "Vowpal Wabbit": "#e0a030", "river": "#a04060"}
LEGEND = {
    "scikit-learn": "scikit-learn",
    "Vowpal Wabbit": "Vowpal Wabbit, per row visited",
    "river": "river, per row visited",
}
SHOWN = "imdb.tfidf"


def draw(findings, path):
    """Draw both panels into a file."""
    figure, (left, right) = plt.subplots(1, 2, figsize=(13, 6), width_ratios=(3, 2), layout="constrained")
    draw_ratios(left, ratios(findings))
    lazy = findings["lazy"].runs if "lazy" in findings else {}
    draw_passes(right, lazy.get(SHOWN))
    figure.savefig(path, dpi=150)
    plt.close(figure)


def ratios(findings):
    """For each bar: its label, the rival, and the rival's time divided by ours."""
    bars = []
    for part, suffix in (("passes", f", {PASSES} passes"), ("until_clean", ", until clean")):
        for name, runs in findings[part].runs.items() if part in findings else ():
            ours = runs["maxmargin"]
            bars.append((name + suffix, "scikit-learn", 1.0 / median_ratio(ours, runs["scikit-learn"])))
            bars += [
                (name + suffix, rival, seconds_a_row(runs[rival]) / seconds_a_row(ours))
                for rival in ("Vowpal Wabbit", "river")
                if rival in runs
            ]
    return bars


def draw_ratios(axes, bars):
    """Draw horizontal bars on a logarithmic scale, in groups of one data set each."""
    if not bars:
        axes.set_axis_off()
        return
    groups = list(dict.fromkeys(label for label, _, _ in bars))
    places, ticks, place = [], [], 0.0
    for group in groups:
        members = [bar for bar in bars if bar[0] == group]
        ticks.append(place + (len(members) - 1) / 2)
        for _, rival, ratio in members:
            places.append((place, rival, ratio))
            place += 1.0
        place += 0.7
    for position, rival, ratio in places:
        # A bar begins at 1: to the right of it maxmargin is faster.
        axes.barh(position, ratio - 1.0, left=1.0, height=0.9, color=COLOURS[rival])
        faster = ratio >= 1.0
        axes.annotate(
            f"{ratio:.2g}" if ratio < 9.95 else f"{ratio:.0f}",
            (ratio, position),
            xytext=(3 if faster else -3, 0),
            textcoords="offset points",
            ha="left" if faster else "right",
            va="center",
            fontsize=8,
        )
    axes.axvline(1.0, color="black", linewidth=1)
    axes.set_xscale("log")
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axes.set_yticks(ticks, groups)
    axes.invert_yaxis()
    axes.margins(x=0.12)
    axes.set_xlabel("time of the rival / time of maxmargin (right of 1: maxmargin is faster)")
    axes.set_title("Against the rivals")
    used = [rival for rival in COLOURS if any(rival == bar[1] for bar in bars)]
    axes.legend(
        [plt.Rectangle((0, 0), 1, 1, color=COLOURS[rival]) for rival in used],
        [LEGEND[rival] for rival in used],
        loc="lower right",
    )
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)


def draw_passes(axes, runs):
    """Draw the time of each pass with and without lazy passes, and the mistakes that it met."""
    if runs is None:
        axes.set_axis_off()
        return
    mistakes = np.array(runs["lazy"][-1].result["mistakes"])
    numbers = np.arange(1, mistakes.size + 1)
    for name, colour in (("every row", "#888888"), ("lazy", "#1f6f8b")):
        axes.plot(numbers, 1e3 * pass_seconds(runs[name]), color=colour, label=name, linewidth=2)
    axes.set_ylim(bottom=0.0)
    axes.set_xlabel("pass")
    axes.set_ylabel("milliseconds")
    axes.set_title(f"Lazy passes on {SHOWN}")
    counts = axes.twinx()
    counts.plot(numbers, mistakes, ":", color="#a04060", label="mistakes (right scale)")
    counts.set_yscale("symlog")
    counts.set_ylim(bottom=0)
    counts.set_ylabel("mistakes in the pass")
    lines = [*axes.get_lines(), *counts.get_lines()]
    axes.legend(lines, [line.get_label() for line in lines], loc="lower left", frameon=False)
    for panel in (axes, counts):
        panel.spines["top"].set_visible(False)
