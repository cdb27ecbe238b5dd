"""The suite of separability and the hard margin."""

import matplotlib.pyplot as plt

from suite import Objective

OURS = "maxmargin"


class Separability(Objective):
    """Is there a hyperplane, and which one has the largest margin?"""

    title = "Separability and the hard margin"
    part_order = ("decision", "margin")
    packages = ("scikit-learn", "scipy", "clarabel", "osqp")
    picture_text = "Seconds to the decision, and to the largest margin"

    def timing(self, options):
        """Name the repeats."""
        return (
            f"A time is the median of {options.repeats} runs where a run takes less than 1 s, of "
            f"{min(3, options.repeats)} below 5 s, one run above. Runs take turns."
        )

    def draw(self, findings, path):
        """Draw bars of seconds, one panel a part."""
        figure, panels = plt.subplots(
            1, max(1, len(findings)), figsize=(1.0 + 5.5 * len(findings), 4.5), squeeze=False, layout="constrained"
        )
        for axes, (name, found) in zip(panels[0], findings.items(), strict=False):
            draw_part(axes, name, found.runs)
        figure.savefig(path, dpi=150)
        plt.close(figure)


def draw_part(axes, title, runs):
    """Draw a group of bars for each data set."""
    names = list(dict.fromkeys(tool for result in runs.values() for tool in result))
    width = 0.8 / max(1, len(names))
    for k, tool in enumerate(names):
        places = [i + k * width for i, result in enumerate(runs.values()) if result.get(tool) is not None]
        heights = [result[tool] for result in runs.values() if result.get(tool) is not None]
        colour = "#0b4f6c" if tool == OURS else f"C{k}"
        axes.bar(places, heights, width, label=tool, color=colour)
    axes.set_xticks([i + 0.4 - width / 2 for i in range(len(runs))], list(runs), rotation=30, ha="right")
    axes.set_yscale("log")
    axes.set_ylabel("seconds")
    axes.set_title(title)
    axes.legend(frameon=False)
