"""Cost of separating two classes as the margin shrinks: online perceptron against smooth perceptron
=================================================================================================

Novikoff's bound allows the online perceptron (R/γ)² updates. The smooth perceptron of Soheili and Peña needs at most
2 √(log n) R/γ passes. Updates and passes are different units: an update adds one row, a pass reads all n rows. The
table therefore shows both counts beside their bounds, and then the cost of both algorithms in one unit, *row
operations*: inner products with a row, and additions of a row.

* Online perceptron: n inner products a pass, one addition an update (screening, which skips rows, is not counted).
* Smooth perceptron: n inner products and 2n additions a pass, and 3n to start.

The points have length 1 and a known largest margin γ. With 3 columns the online perceptron makes far fewer updates than
Novikoff's bound allows, and it is the cheaper one at every margin shown. With 50 columns its updates grow almost as
1/γ² and the smooth perceptron's passes as 1/γ, so that the smooth perceptron is cheaper at the smallest margin, γ =
0.001, but at no larger one. A better rate is not a lower cost unless the margin is small enough.

    python examples/accelerated_perceptron.py [--picture cost.png]
"""

import argparse
import math

import numpy as np

from maxmargin import MarginPerceptron, Perceptron
from theorems import hard_set

MARGINS = (0.3, 0.1, 0.03, 0.01, 0.003, 0.001)
ROWS = 200
WIDTHS = (3, 50)
# The guess of the margin perceptron: so small that every separating hyperplane satisfies it.
ANY_MARGIN = 1e-12
# Sweeps over all rows that one pass of the smooth perceptron makes: one of inner products, two of additions.
SWEEPS = 3


def measure(columns, gamma):
    """Return the counts of both algorithms, their bounds, and their costs in row operations."""
    X, y = hard_set(gamma, n=ROWS, d=columns)
    online = Perceptron(tol=None, max_iter=10**7, fit_intercept=False).fit(X, y)
    smooth = MarginPerceptron(gamma=ANY_MARGIN, accelerated=True, fit_intercept=False).fit(X, y)
    half = MarginPerceptron(accelerated=True, fit_intercept=False, min_gamma=1e-6).fit(X, y)
    return {
        "columns": columns,
        "1/γ": 1 / gamma,
        "updates": online.n_updates_,
        "(R/γ)²": 1 / gamma**2,
        "passes": smooth.n_iter_,
        "2√(log n) R/γ": 2 * math.sqrt(math.log(ROWS)) / gamma,
        "passes to γ/2": half.n_iter_,
        "cost, online": ROWS * online.n_iter_ + online.n_updates_,
        "cost, smooth": SWEEPS * ROWS * (smooth.n_iter_ + 1),
        "cost to γ/2": SWEEPS * ROWS * (half.n_iter_ + 1),
    }


def draw(rows, path):
    """Draw the cost in row operations against 1/γ, one panel for each number of columns."""
    import matplotlib.pyplot as plt

    styles = {
        "cost, online": ("#e08a00", "o-", "online perceptron"),
        "cost, smooth": ("#0b4f6c", "o-", "smooth perceptron"),
        "cost to γ/2": ("#0b4f6c", "s:", "smooth perceptron, to half of the largest margin"),
    }
    figure, panels = plt.subplots(1, len(WIDTHS), figsize=(10, 4.5), sharey=True, layout="constrained")
    for axes, columns in zip(panels, WIDTHS, strict=True):
        shown = [row for row in rows if row["columns"] == columns]
        inverse = np.array([row["1/γ"] for row in shown])
        for name, (colour, style, label) in styles.items():
            axes.plot(inverse, [row[name] for row in shown], style, color=colour, label=label)
        anchor = shown[-1]["cost, smooth"]
        for power, style in ((1, "--"), (2, "-.")):
            guide = anchor * (inverse / inverse[-1]) ** power
            axes.plot(inverse, guide, style, color="0.7", linewidth=1, label=f"slope {power}")
        axes.set(xscale="log", yscale="log", ylim=(2e2, 4e6), title=f"{ROWS} rows, {columns} columns")
        axes.set_xlabel("1/γ, for points of length 1")
    panels[0].set_ylabel("row operations until the classes are separated")
    panels[0].legend(frameon=False, fontsize=8)
    figure.savefig(path, dpi=150)


def main():
    """Print the table, and draw it if asked to."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--picture", metavar="FILE", help="file to draw into; needs matplotlib")
    arguments = parser.parse_args()
    rows = [measure(columns, gamma) for columns in WIDTHS for gamma in MARGINS]
    print("".join(f"{name:>15}" for name in rows[0]))
    for row in rows:
        print("".join(f"{value:>15.6g}" for value in row.values()))
    if arguments.picture:
        draw(rows, arguments.picture)


if __name__ == "__main__":
    np.seterr(all="raise", under="ignore")
    main()
