"""The suite of small data."""

import matplotlib.pyplot as plt

from suite import Objective


class Small(Objective):
    """Beside scikit-learn's estimators of the same name."""

    title = "Small data"
    part_order = ("default",)
    packages = ("scikit-learn",)
    picture_text = "scikit-learn's time divided by ours, at default settings"

    def timing(self, options):
        """Name the repeats."""
        return f"A time is the least of at least {options.repeats} rounds, in which both take turns."

    def draw(self, findings, path):
        """Draw the ratios of every estimator, one point a data set."""
        figure, axes = plt.subplots(figsize=(8.0, 5.0), layout="constrained")
        runs = [run for found in findings.values() for run in found.runs.values()]
        names = list(dict.fromkeys(run["estimator"] for run in runs))
        axes.plot([run["ratio"] for run in runs], [names.index(run["estimator"]) for run in runs], "o", color="#0b4f6c")
        axes.set_yticks(range(len(names)), names)
        axes.axvline(1.0, color="C3")
        axes.set_xscale("log")
        axes.invert_yaxis()
        axes.set_xlabel("scikit-learn's time / ours")
        figure.savefig(path, dpi=150)
        plt.close(figure)
