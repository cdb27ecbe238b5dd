"""Sequential minimal optimisation as the lecture has it: two duals at a time, on a line, in a box.

    python examples/lecture_smo.py [--picture smo.png]

The dual of the soft margin is  max  Σ α_i - ½ Σ α_i α_j y_i y_j k(x_i, x_j)  with 0 <= α_i <= C and Σ α_i y_i = 0.
One dual alone cannot move, for the sum would change; two can, along a line. There the dual is a parabola, whose top is
known, and the box cuts a piece out of the line: the step ends at the top or at the piece's end.

The package's own solver takes the same steps, within blocks of duals whose kernel rows it makes at once. The table
shows that both end at the same value, and what the plane of the last step proves of it.

"Large Margin Classifiers. Linear Support Vector Machines", lecture 9 (SMO); Platt, 1998; the choice of the pair is the
"most violating" one of Keerthi, Shevade, Bhattacharyya, Murthy, 2001.
"""

import argparse
import time

import numpy as np
from sklearn.datasets import make_moons

from maxmargin import SVC

ROWS, NOISE, GAMMA = 300, 0.2, 1.0
PRICES = (0.1, 1.0, 10.0, 100.0)


def smo(K, y, C, tol=1e-6, on_step=None):
    """Return α that no pair can improve by more than ``tol`` a unit of its step."""
    alpha = np.zeros(len(y))
    while True:
        # y_i - f(x_i): what the dual's value gains when y_i α_i rises, and loses when it falls.
        slope = y - K @ (alpha * y)
        can_rise = np.where(y > 0, alpha < C, alpha > 0)
        can_fall = np.where(y > 0, alpha > 0, alpha < C)
        i = np.argmax(np.where(can_rise, slope, -np.inf))
        j = np.argmin(np.where(can_fall, slope, np.inf))
        if slope[i] - slope[j] <= tol:
            return alpha
        alpha = step(K, y, C, alpha, i, j, slope[i] - slope[j])
        if on_step is not None:
            on_step(alpha)


def step(K, y, C, alpha, i, j, slope):
    """Move y_i α_i up and y_j α_j down by the same length, which keeps Σ α_i y_i."""
    curvature = K[i, i] + K[j, j] - 2 * K[i, j]
    top = slope / max(curvature, 1e-12)
    end = min(C - alpha[i] if y[i] > 0 else alpha[i], alpha[j] if y[j] > 0 else C - alpha[j])
    length = min(top, end)
    alpha = alpha.copy()
    alpha[i] += y[i] * length
    alpha[j] -= y[j] * length
    return alpha


def dual_value(K, y, alpha):
    """Σ α_i - ½ Σ α_i α_j y_i y_j k(x_i, x_j)"""
    return alpha.sum() - 0.5 * (alpha * y) @ K @ (alpha * y)


def rbf(X, gamma):
    """exp(-γ ||x - z||²) for all pairs of rows."""
    return np.exp(-gamma * ((X[:, None] - X[None]) ** 2).sum(axis=-1))


def compare(C):
    """Run both on the two moons."""
    X, labels = make_moons(ROWS, noise=NOISE, random_state=0)
    y = np.where(labels == 1, 1.0, -1.0)
    K, values = rbf(X, GAMMA), []
    began = time.perf_counter()
    alpha = smo(K, y, C, on_step=lambda alpha: values.append(dual_value(K, y, alpha)))
    seconds = time.perf_counter() - began
    model = SVC(C=C, gamma=GAMMA, tol=1e-6).fit(X, labels)
    ours = np.zeros(ROWS)
    ours[model.support_] = np.abs(model.dual_coef_[0])
    return {
        "C": C,
        "steps": len(values),
        "dual": dual_value(K, y, alpha),
        "seconds": seconds,
        "steps of SVC": int(model.n_iter_[0]),
        "dual of SVC": dual_value(K, y, ours),
        "proven gap": model.certificate_.relative,
        "values": values,
    }


def draw(rows, path):
    """Draw how far each step is from the best value."""
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(figsize=(7, 4.5), layout="constrained")
    for k, row in enumerate(rows):
        best = max(row["dual"], row["dual of SVC"])
        axes.plot(1.0 - np.array(row["values"]) / best, color=plt.get_cmap("viridis")(k / 4), label=f"C = {row['C']:g}")
    axes.set(
        xscale="log", yscale="log", xlabel="step", ylabel="relative distance from the best dual value", ylim=(1e-9, 1)
    )
    axes.legend(frameon=False)
    figure.savefig(path, dpi=150)


def main():
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--picture", metavar="PNG")
    arguments = parser.parse_args()
    rows = [compare(C) for C in PRICES]
    names = [name for name in rows[0] if name != "values"]
    print("  ".join(f"{name:>12}" for name in names))
    for row in rows:
        print("  ".join(f"{row[name]:>12.7g}" for name in names))
    if arguments.picture:
        draw(rows, arguments.picture)


if __name__ == "__main__":
    main()
