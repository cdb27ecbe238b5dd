"""The suite of files: from text to a saved model, and reading alone."""

import matplotlib.pyplot as plt

from files.command import CAP
from measure import median_seconds
from suite import Objective


class Files(Objective):
    """The command beside other programs."""

    title = "Files: from text to a saved model"
    part_order = ("reading", "end_to_end", "store")
    packages = ("scikit-learn",)
    picture_text = "Seconds from a text file to a saved model"

    def timing(self, options):
        """Name the repeats."""
        return f"A time is the median of {options.repeats} runs in fresh processes, which take turns."

    def draw(self, findings, path):
        """Draw bars of seconds."""
        figure, axes = plt.subplots(figsize=(8.0, 4.5), layout="constrained")
        runs = findings["end_to_end"].runs if "end_to_end" in findings else {}
        tools = list(dict.fromkeys(tool for taken in runs.values() for tool in taken))
        width = 0.8 / max(1, len(tools))
        for k, tool in enumerate(tools):
            places = [i + k * width for i, taken in enumerate(runs.values()) if taken.get(tool)]
            heights = [_seconds(taken[tool]) for taken in runs.values() if taken.get(tool)]
            axes.bar(places, heights, width, label=tool, color="#0b4f6c" if tool == "maxmargin" else f"C{k}")
        axes.set_xticks([i + 0.4 - width / 2 for i in range(len(runs))], list(runs))
        axes.set_yscale("log")
        axes.set_ylabel("seconds")
        axes.legend(frameon=False)
        figure.savefig(path, dpi=150)
        plt.close(figure)


def _seconds(taken):
    """The median, or the time after which the program was ended."""
    return CAP if any(run.result["ended"] for run in taken) else median_seconds(taken)
