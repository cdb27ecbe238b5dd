"""The suite of data beyond one process: covtype repeated, in memory, on Dask and on Spark."""

import matplotlib.pyplot as plt

from suite import Objective


class Scale(Objective):
    """The same linear SVM at growing size."""

    title = "Scale: covtype ×1, ×10, ×100"
    part_order = ("covtype",)
    packages = ("dask", "distributed", "pyspark", "scikit-learn")
    picture_text = "Seconds to a relative gap of 1e-3, against the number of rows"

    def timing(self, _options):
        """Name the repeats."""
        return "A time is that of one run in a fresh process, with the data made and the code compiled before."

    def draw(self, findings, path):
        """Draw seconds against the size, a line a tool."""
        figure, axes = plt.subplots(figsize=(6.0, 4.0), layout="constrained")
        runs = findings["covtype"].runs
        tools = dict.fromkeys(tool for found in runs.values() for tool in found)
        for tool in tools:
            points = [(found[tool]["rows"], found[tool]["seconds"]) for found in runs.values() if tool in found]
            axes.plot(*zip(*points, strict=True), "o-", label=tool)
        axes.set_xscale("log")
        axes.set_yscale("log")
        axes.set_xlabel("rows")
        axes.set_ylabel("seconds")
        axes.legend(frameon=False)
        figure.savefig(path, dpi=150)
        plt.close(figure)
