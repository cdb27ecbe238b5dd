"""Predicting."""

from kernel_svm.stops import Stop
from measure import InTurn, duration, median_ratio, median_seconds

WANTED = 3.0


class Predict(InTurn):
    """New rows by fitted models."""

    name = "predict"
    title = "predict: many rows at once"
    text = (
        "Every tool fits its own model on the rows (not timed) and then predicts all of them. A ratio is the median "
        f"over the rounds of the rival's time divided by ours. Wanted: at least {WANTED:g} against LIBSVM."
    )

    def measure(self, dataset, solvers, options):
        """Fit first."""
        self.stop = Stop(dataset.machines[0], 1e-3)
        yield from super().measure(dataset, [Prediction(solver) for solver in solvers], options)

    def row(self, dataset, data, runs):
        """One column a tool."""
        row = {"data": dataset.name, "rows": f"{data['y'].size:,}"}
        for name, taken in runs.items():
            row[name] = duration(median_seconds(taken))
        for name, taken in runs.items():
            if name != "maxmargin":
                ratio = 1.0 / median_ratio(runs["maxmargin"], taken)
                row[f"{name} / ours"] = f"{ratio:.2f}" if ratio >= WANTED or name != "LIBSVM" else f"**{ratio:.2f}**"
                same = (taken[0].result["labels"] == runs["maxmargin"][0].result["labels"]).mean()
                row[f"same labels as {name}"] = f"{100 * same:.2f} %"
        return row


class Prediction:
    """A tool whose prediction is timed."""

    def __init__(self, tool):
        self.tool, self.name = tool, tool.name

    def set_data(self, X, y):
        """Take the data."""
        self.tool.set_data(X, y)

    def warm_up(self, stop):
        """Fit, and predict a few rows."""
        self.tool.run(stop)
        self.tool.model.predict(self.tool.X[:100])

    def before_run(self, _stop):
        """Nothing is left to do."""

    def run(self, _stop):
        """Predict."""
        self.labels = self.tool.model.predict(self.tool.X)

    def get_result(self):
        """Return the labels."""
        return {"labels": self.labels}
