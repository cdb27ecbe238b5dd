"""Updates of the perceptrons, divided by the bounds of their theorems
===================================================================

Runs every algorithm on separable data, real and constructed, and prints the median and the largest ratio of updates to
the bound. A ratio above 1 would refute a theorem.

    python examples/theorems.py [--data FOLDER] [--picture ratios.png]

FOLDER holds more data sets in svmlight text: mushrooms, sonar_scale, leu, colon-cancer (.svm.gz or .svm.xz).
"""

import argparse
import gzip
import lzma
import warnings
from pathlib import Path

import numpy as np
from sklearn.datasets import load_digits, load_iris, load_svmlight_file, load_wine
from sklearn.preprocessing import scale

from maxmargin import (
    LimitWarning,
    MarginPerceptron,
    Perceptron,
    incremental_search_bound,
    margin_perceptron_bound,
    mistake_bound,
)


def hard_set(gamma, n=40, d=3, seed=0):
    """Return points of length 1 whose largest margin, by a hyperplane through the origin, is ``gamma``, and labels.

    Rows 0 and 2 are positive and differ in the sign of all columns but the first. The mean of the two is a point of the
    hull of the y_i x_i of length gamma, so that no margin is larger; the first unit vector reaches it.
    """
    generator = np.random.default_rng(seed)
    y = np.where(np.arange(n) % 2 == 0, 1, -1)
    X = generator.standard_normal((n, d))
    X[:, 1:] *= np.sqrt(1 - gamma**2) / np.linalg.norm(X[:, 1:], axis=1, keepdims=True)
    X[:, 0] = gamma * y
    X[0, 1:], X[2, 1:] = X[1, 1:], -X[1, 1:]
    return X, y


def data_sets(folder):
    """Yield the name, X and y of each data set."""
    for name in ("mushrooms", "sonar_scale", "leu", "colon-cancer"):
        for suffix, opener in ((".svm.gz", gzip.open), (".svm.xz", lzma.open)):
            path = Path(folder) / (name + suffix)
            if path.exists():
                with opener(path, "rb") as file:
                    yield name, *load_svmlight_file(file)
    for name, (X, y), positive in [
        ("iris", load_iris(return_X_y=True), 0),
        ("wine", load_wine(return_X_y=True), 0),
        ("digits", load_digits(return_X_y=True), 0),
        ("wine 2", load_wine(return_X_y=True), 2),
    ]:
        yield name, (X / 16.0 if name == "digits" else scale(X)), y == positive
    for gamma in (0.5, 0.2, 0.1, 0.05, 0.02):
        yield f"constructed, margin {gamma}", *hard_set(gamma)


def ratios(X, y):
    """Yield each theorem with updates divided by its bound, at the hyperplane with the largest margin found."""
    searched = MarginPerceptron(min_gamma=1e-4).fit(X, y)
    finest = MarginPerceptron(gamma=searched.margin_).fit(X, y)
    best = max((searched, finest), key=lambda model: model.margin_)
    gamma, radius = best.margin_, best.certificate_.radius
    for seed in range(3):
        online = Perceptron(tol=None, max_iter=10**6, random_state=seed).fit(X, y)
        bound = mistake_bound(X, y, best.coef_, best.intercept_, gamma=gamma)
        yield "Novikoff's bound: (R/γ)²", online.n_updates_ / bound.bound
        yield "inseparable data, best γ: (R/γ)² + 2T/γ", online.n_updates_ / online.certificate_.bound
        margin = MarginPerceptron(gamma=gamma, random_state=seed).fit(X, y)
        yield "margin perceptron: 8R²/γ² + 4R/γ", margin.n_updates_ / margin_perceptron_bound(radius, gamma)
        search = MarginPerceptron(min_gamma=1e-4, random_state=seed).fit(X, y)
        yield "incremental search: 64R²/γ²", search.n_updates_ / incremental_search_bound(radius, gamma)
        yield "incremental search: (γ/4) / margin", gamma / 4 / search.margin_
    batch = Perceptron(rule="batch", tol=None, max_iter=10**5).fit(X, y)
    yield "batch perceptron: n(R/γ)²", batch.n_updates_ / (len(y) * (radius / gamma) ** 2)


def main():
    """Print the table, and draw it if asked to."""
    parser = argparse.ArgumentParser(description="Updates of the perceptrons, divided by the bounds of their theorems.")
    parser.add_argument("--data", default="../shared/data", help="a folder with more data sets")
    parser.add_argument("--picture", help="also draw all ratios into this file")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore", LimitWarning)
    observed = {}
    for name, X, y in data_sets(arguments.data):
        for theorem, ratio in ratios(X, y):
            observed.setdefault(theorem, []).append((ratio, name))
    print(f"{'theorem':42} {'runs':>5} {'median':>9} {'worst':>9}  on")
    for theorem, pairs in sorted(observed.items()):
        worst, name = max(pairs)
        print(f"{theorem:42} {len(pairs):5} {np.median([ratio for ratio, _ in pairs]):9.2g} {worst:9.2g}  {name}")
    if arguments.picture:
        draw(observed, arguments.picture)


def draw(observed, path):
    """Draw one dot for each run: updates divided by the bound, on a logarithmic axis."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(figsize=(8, 3.5), layout="constrained")
    for height, (_, pairs) in enumerate(sorted(observed.items())):
        values = [ratio for ratio, _ in pairs]
        axes.plot(values, np.full(len(values), height), "o", alpha=0.4)
    axes.axvline(1.0, color="black", linewidth=1)
    axes.set_xscale("log")
    axes.set_yticks(range(len(observed)), sorted(observed))
    axes.invert_yaxis()
    axes.set_xlabel("updates / bound (a dot right of the line would refute the theorem)")
    figure.savefig(path, dpi=130)


if __name__ == "__main__":
    main()
