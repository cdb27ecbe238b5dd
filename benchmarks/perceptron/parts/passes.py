"""The same number of passes in the same order."""

import numpy as np

from maxmargin import Perceptron
from measure import InTurn, duration, median_ratio, median_seconds, shape_text, yes_or_no
from perceptron.stops import Stop

PASSES = 20


class Passes(InTurn):
    """Ours against the rivals, for a fixed number of passes."""

    name = "passes"
    title = f"passes: {PASSES} passes in the order of the rows"
    text = (
        "`maxmargin` is a whole fit with validation and certificate, `passes only` the solver without "
        "them. Sparse rows are learned without an intercept, because scikit-learn damps it there and "
        "would go another way. Wanted: maxmargin / scikit-learn at most 1. `river` and `Vowpal Wabbit` "
        "learn from one example at a time: they are run from Python on 2,000 evenly spaced rows, "
        "prepared beforehand, for 2 passes, and are compared by the time per row visited (`a row`). "
        "Vowpal Wabbit has no perceptron: it takes steps of 2^20 on the hinge loss, in float32, which "
        "are the perceptron's updates. `difference` is the largest one between the rival's w and ours "
        "from the same rows and passes, divided by the largest entry of w."
    )
    stop = Stop(passes=PASSES, sparse_intercept=False)

    def row(self, dataset, data, runs):
        """Compare times and hyperplanes on one data set."""
        ours, passes_only, rival = (runs[name] for name in ("maxmargin", "maxmargin, passes only", "scikit-learn"))
        ratio = median_ratio(ours, rival)
        row = {
            "data": dataset.name,
            "shape": shape_text(data["X"]),
            "maxmargin": duration(median_seconds(ours)),
            "passes only": duration(median_seconds(passes_only)),
            "scikit-learn": duration(median_seconds(rival)),
            "maxmargin / scikit-learn": f"{ratio:.2f}",
            "passes only / scikit-learn": f"{median_ratio(passes_only, rival):.2f}",
            "as wanted": yes_or_no(ratio <= 1.0),
            "difference": f"{difference(ours[-1].result['w'], rival[-1].result['w']):.1e}",
            "maxmargin a row": duration(seconds_a_row(ours)),
        }
        for name in [rival for rival in ("Vowpal Wabbit", "river") if rival in runs]:
            row[f"{name} a row"] = duration(seconds_a_row(runs[name]))
            row[f"{name}: difference"] = f"{difference_on_part(runs[name][-1].result):.1e}"
        return row


def seconds_a_row(runs):
    """The median time divided by the number of rows visited."""
    result = runs[-1].result
    return median_seconds(runs) / (result["rows"] * result["passes"])


def difference(w, other):
    """The largest difference of two hyperplanes, relative to the largest entry."""
    return float(np.max(np.abs(w - other)) / np.max(np.abs(w)))


def difference_on_part(result):
    """The difference between a hyperplane and ours from the same rows."""
    model = Perceptron(fit_intercept=result["fit_intercept"], shuffle=False, tol=None, max_iter=result["passes"]).fit(
        result["X"], result["y"]
    )
    return difference(model.coef_[0], result["w"])
