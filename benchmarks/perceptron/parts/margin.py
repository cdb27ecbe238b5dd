"""How much of the largest margin the margin perceptron reaches."""

import numpy as np
from scipy.optimize import nnls
from scipy.sparse import issparse

from maxmargin import margin_perceptron_bound
from measure import InTurn, duration, median_seconds, shape_text, yes_or_no


class Margin(InTurn):
    """MarginPerceptron without a guess, beside the largest margin and the theorem."""

    name = "margin"
    title = "margin: MarginPerceptron(gamma=None)"
    text = (
        "Margins are those of the points (x, 1) and hyperplanes through the origin. `best margin` is "
        "computed without the package, as a least-distance problem by non-negative least squares. The "
        "theorem promises a quarter of it, `proven share` is what the certificate promises. `bound` is "
        "the theorem's on the updates of a single guess that is at most the best margin. Wanted: a "
        "share of at least 0.25, and the best margin within the bracket. Medians of 3 rounds."
    )
    most_repeats = 3

    def row(self, dataset, data, runs):
        """Report seconds, updates and margin on one data set."""
        run = runs["maxmargin margin"]
        result = run[-1].result
        bracket = result["bracket"]
        best = largest_margin(data["X"], data["y"])
        share = bracket.lower / best
        return {
            "data": dataset.name,
            "shape": shape_text(data["X"]),
            "seconds": duration(median_seconds(run)),
            "passes": f"{result['passes']:,}",
            "rounds": str(result["rounds"]),
            "updates": f"{result['updates']:,}",
            "bound": f"{margin_perceptron_bound(bracket.radius, best):,.0f}",
            "margin": f"{bracket.lower:.4g}",
            "best margin": f"{best:.4g}",
            "share": f"{share:.3f}",
            "proven share": f"{bracket.share:.3f}",
            "best in the bracket": yes_or_no(bracket.lower <= best * (1 + 1e-9) and best <= bracket.upper * (1 + 1e-9)),
            "as wanted": yes_or_no(share >= 0.25),
        }


def largest_margin(X, y):
    """The largest margin of the points (x, 1) by a hyperplane through the origin.

    The shortest u with y_i u·(x_i, 1) >= 1 has length 1/margin. As a least-distance problem it is solved
    by the residual r of the non-negative least squares problem with the columns (y_i (x_i, 1), 1) and the
    right side (0, ..., 0, 1): u is -r divided by its last entry (Lawson and Hanson, "Solving least squares
    problems", 1974, chapter 23).
    """
    dense = X.toarray() if issparse(X) else X
    n_rows, n_columns = dense.shape
    columns = np.ones((n_columns + 2, n_rows))
    columns[:n_columns] = dense.T
    columns[:-1] *= y
    right = np.zeros(n_columns + 2)
    right[-1] = 1.0
    weights, _ = nnls(columns, right, maxiter=100 * n_rows)
    residual = columns @ weights - right
    u = -residual[:-1] / residual[-1]
    return float(np.min(y * (dense @ u[:-1] + u[-1])) / np.linalg.norm(u))
