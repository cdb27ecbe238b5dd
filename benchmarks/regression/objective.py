"""The suite of linear regressions."""

import matplotlib.pyplot as plt

from suite import Objective

WANTED = 1.2


class Regression(Objective):
    """Beside scikit-learn's."""

    title = "Logistic regression, ridge, lasso, and classifiers with an L1 penalty"
    part_order = ("logistic", "ridge", "lasso", "sparse")
    packages = ("scikit-learn", "scipy")
    picture_text = "Our time divided by scikit-learn's, to the same objective"

    def timing(self, options):
        """Name the repeats."""
        return f"A time is the median of {options.repeats} rounds, in which the solvers take turns."

    def draw(self, findings, path):
        """Draw the ratios, one bar a row."""
        ratios = {
            f"{part} {name}": runs["ratio"]
            for part, found in findings.items()
            for name, runs in found.runs.items()
            if "ratio" in runs
        }
        figure, axes = plt.subplots(figsize=(8.0, 1.0 + 0.25 * len(ratios)), layout="constrained")
        axes.barh(list(ratios), list(ratios.values()), color="#0b4f6c")
        axes.axvline(WANTED, color="C3")
        axes.set_xscale("log")
        axes.invert_yaxis()
        axes.set_xlabel("ours / scikit-learn's")
        figure.savefig(path, dpi=150)
        plt.close(figure)
