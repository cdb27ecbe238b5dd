"""Sequential minimal optimisation (SMO) as in the lecture: exact steps on pairs of dual variables
===============================================================================================

    python examples/lecture_smo.py [--picture smo.png]

The dual of the soft-margin SVM is  max  Σ α_i - ½ Σ α_i α_j y_i y_j k(x_i, x_j)  with 0 <= α_i <= C and Σ α_i y_i = 0.
The equality constraint fixes each dual variable by the others, so two are changed together, along a line. On that line
the dual is a concave parabola. The step goes to its maximum, clipped to the box.

The package's solver takes the same steps within working sets of dual variables, whose kernel rows it computes together.
The table shows that both reach the same dual value, and the relative duality gap that SVC proves.

"Large Margin Classifiers. Linear Support Vector Machines", lecture 9 (SMO); Platt, 1998. The pair is the maximal
violating pair of Keerthi, Shevade, Bhattacharyya and Murthy, 2001.
"""

import argparse
import time

import numpy as np
from sklearn.datasets import make_moons

from maxmargin import SVC

ROWS, NOISE, GAMMA = 300, 0.2, 1.0
PENALTIES = (0.1, 1.0, 10.0, 100.0)


def smo(K, y, C, tol=1e-6, on_step=None):
    """Return α whose maximal violating pair violates the KKT conditions by at most ``tol``."""
    alpha = np.zeros(len(y))
    while True:
        # The derivative of the dual in y_i α_i, without the intercept: y_i - w·x_i.
        gradient = y - K @ (alpha * y)
        can_rise = np.where(y > 0, alpha < C, alpha > 0)
        can_fall = np.where(y > 0, alpha > 0, alpha < C)
        i = np.argmax(np.where(can_rise, gradient, -np.inf))
        j = np.argmin(np.where(can_fall, gradient, np.inf))
        if gradient[i] - gradient[j] <= tol:
            return alpha
        alpha = step(K, y, C, alpha, i, j, gradient[i] - gradient[j])
        if on_step is not None:
            on_step(alpha)


def step(K, y, C, alpha, i, j, derivative):
    """Return α after an exact step: y_i α_i grows and y_j α_j shrinks by the same length, which keeps Σ α_i y_i."""
    curvature = K[i, i] + K[j, j] - 2 * K[i, j]
    unclipped = derivative / max(curvature, 1e-12)
    longest = min(C - alpha[i] if y[i] > 0 else alpha[i], alpha[j] if y[j] > 0 else C - alpha[j])
    length = min(unclipped, longest)
    alpha = alpha.copy()
    alpha[i] += y[i] * length
    alpha[j] -= y[j] * length
    return alpha


def dual_value(K, y, alpha):
    """Return Σ α_i - ½ Σ α_i α_j y_i y_j k(x_i, x_j)."""
    return alpha.sum() - 0.5 * (alpha * y) @ K @ (alpha * y)


def rbf(X, gamma):
    """Return exp(-γ ||x - z||²) for all pairs of rows."""
    return np.exp(-gamma * ((X[:, None] - X[None]) ** 2).sum(axis=-1))


def compare(C):
    """Run both on the two moons; return one row of the table, and the dual value after each step."""
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
        "SVC steps": int(model.n_iter_[0]),
        "SVC dual": dual_value(K, y, ours),
        "SVC gap": model.certificate_.relative,
        "values": values,
    }


def draw(rows, path):
    """Draw the relative distance of the dual value from the best one, after each step."""
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(figsize=(7, 4.5), layout="constrained")
    for k, row in enumerate(rows):
        best = max(row["dual"], row["SVC dual"])
        axes.plot(1.0 - np.array(row["values"]) / best, color=plt.get_cmap("viridis")(k / 4), label=f"C = {row['C']:g}")
    axes.set(
        xscale="log", yscale="log", xlabel="step", ylabel="relative distance from the best dual value", ylim=(1e-9, 1)
    )
    axes.legend(frameon=False)
    figure.savefig(path, dpi=150)


def main():
    """Print the table, and draw it if asked to."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--picture", metavar="PNG")
    arguments = parser.parse_args()
    rows = [compare(C) for C in PENALTIES]
    names = [name for name in rows[0] if name != "values"]
    print("  ".join(f"{name:>12}" for name in names))
    for row in rows:
        print("  ".join(f"{row[name]:>12.7g}" for name in names))
    if arguments.picture:
        draw(rows, arguments.picture)


if __name__ == "__main__":
    main()
