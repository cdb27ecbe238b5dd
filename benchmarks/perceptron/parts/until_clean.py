"""The time until nothing is misclassified."""

import numpy as np

from measure import InTurn, duration, median_ratio, median_seconds, shape_text, yes_or_no
from perceptron.stops import Stop


class UntilClean(InTurn):
    """Ours, which stops by itself, against a rival that is told when to stop."""

    name = "until_clean"
    title = "until_clean: until nothing is misclassified"
    text = (
        "maxmargin ends after its first pass without a mistake. scikit-learn does not notice that it is "
        "done: it is given the smallest number of passes after which its training accuracy is 1, found "
        "beforehand and not timed. Both have an intercept; on sparse rows scikit-learn damps it, and so "
        "needs another number of passes. Wanted: maxmargin / scikit-learn at most 1."
    )
    stop = Stop(passes=None)

    def row(self, dataset, data, runs):
        """Compare times on one data set."""
        ours, rival = runs["maxmargin"], runs["scikit-learn"]
        ratio = median_ratio(ours, rival)
        return {
            "data": dataset.name,
            "shape": shape_text(data["X"]),
            "maxmargin": duration(median_seconds(ours)),
            "passes": f"{ours[-1].result['passes']:,}",
            "accuracy": accuracy(data, ours[-1].result),
            "scikit-learn": duration(median_seconds(rival)),
            "passes of scikit-learn": f"{rival[-1].result['passes']:,}",
            "accuracy of scikit-learn": accuracy(data, rival[-1].result),
            "maxmargin / scikit-learn": f"{ratio:.2f}",
            "as wanted": yes_or_no(ratio <= 1.0),
        }


def accuracy(data, result):
    """The share of rows on the right side of a hyperplane."""
    scores = data["X"] @ result["w"] + result["intercept"]
    return f"{np.mean(np.where(scores >= 0.0, 1, -1) == data['y']):g}"
