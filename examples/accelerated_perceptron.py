"""How many steps until a plane separates the classes, as the margin shrinks?

The lecture's perceptron makes at most (R/γ)² updates, the smooth perceptron at most 2 √(log n) R/γ passes. Both run
here on points of length 1 whose largest margin is known, and their steps are printed, and drawn, beside the theorems.

    python examples/accelerated_perceptron.py [--picture steps.png]
"""

import argparse
import math

import numpy as np

from maxmargin import MarginPerceptron, Perceptron
from theorems import hard_set

MARGINS = (0.3, 0.1, 0.03, 0.01, 0.003, 0.001)
ROWS = 200
# A guess so small that any plane that separates is good enough.
ANY_MARGIN = 1e-12


def steps(gamma):
    """Return 1/γ, and the steps of both algorithms with their bounds."""
    X, y = hard_set(gamma, n=ROWS)
    lecture = Perceptron(tol=None, max_iter=10**7, fit_intercept=False).fit(X, y)
    smooth = MarginPerceptron(gamma=ANY_MARGIN, accelerated=True, fit_intercept=False).fit(X, y)
    half = MarginPerceptron(accelerated=True, fit_intercept=False, min_gamma=1e-6).fit(X, y)
    return {
        "1/γ": 1 / gamma,
        "updates": lecture.n_updates_,
        "(R/γ)²": 1 / gamma**2,
        "passes": smooth.n_updates_,
        "2√(log n) R/γ": 2 * math.sqrt(math.log(ROWS)) / gamma,
        "passes to γ/2": half.n_updates_,
    }


def draw(rows, path):
    """Draw steps against 1/γ."""
    import matplotlib.pyplot as plt

    styles = {
        "updates": ("#e08a00", "o-", "the lecture's perceptron, updates"),
        "(R/γ)²": ("#e08a00", "--", "its theorem, (R/γ)²"),
        "passes": ("#0b4f6c", "o-", "smooth perceptron, passes"),
        "2√(log n) R/γ": ("#0b4f6c", "--", "its theorem, 2√(log n) R/γ"),
        "passes to γ/2": ("#0b4f6c", "s:", "smooth perceptron, passes to half of the largest margin"),
    }
    figure, axes = plt.subplots(figsize=(7, 5), layout="constrained")
    for name, (colour, style, label) in styles.items():
        axes.plot([row["1/γ"] for row in rows], [row[name] for row in rows], style, color=colour, label=label)
    axes.set(xscale="log", yscale="log", xlabel="1/γ, for points of length 1", ylabel="steps")
    axes.legend(frameon=False)
    figure.savefig(path, dpi=150)


def main():
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--picture", help="file to draw into; needs matplotlib")
    arguments = parser.parse_args()
    rows = [steps(gamma) for gamma in MARGINS]
    print("".join(f"{name:>16}" for name in rows[0]))
    for row in rows:
        print("".join(f"{value:>16.6g}" for value in row.values()))
    if arguments.picture:
        draw(rows, arguments.picture)


if __name__ == "__main__":
    np.seterr(all="raise", under="ignore")
    main()
