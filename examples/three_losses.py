"""Perceptron criterion, hinge loss and logistic loss on the same points
=====================================================================

    python examples/three_losses.py [--output three_losses.png]

All three are convex functions of the functional margin m = y f(x), and straight lines far on the wrong side. The
perceptron criterion max(0, -m) counts misclassified points only; the hinge loss max(0, 1 - m) also counts points inside
the margin; the logistic loss log(1 + exp(-m)) is smooth and positive everywhere. Each is fitted to the same two columns
of the breast cancer data, whose classes no hyperplane separates.

The three hyperplanes have coefficients of different length, and all three losses depend on that length, so that values
of the loss at the coefficients as fitted cannot be compared. The table compares the hyperplanes themselves. Each is
scaled to ||w|| = 1 for the criterion, and to the length at which the loss is smallest for the other two columns:

* criterion: mean of max(0, -m) at ||w|| = 1, the mean distance by which points lie on the wrong side;
* hinge: mean hinge loss plus ||w||²/(2 C n), the objective of the soft margin, at the best length;
* logistic: mean logistic loss, at the best length.

The SVM has the smallest entry of the second column and logistic regression that of the third, because they minimise
these objectives. Nothing is guaranteed of the first column: the criterion has the trivial minimum zero at w = 0, and
the perceptron stops as soon as it is proven that no hyperplane separates the classes. The picture needs matplotlib.
"""

import argparse
import warnings

import numpy as np
from scipy.optimize import minimize_scalar
from sklearn.datasets import load_breast_cancer
from sklearn.preprocessing import scale

from maxmargin import LimitWarning, LinearSVC, LogisticRegression, Perceptron, margins

C = 1.0
# The largest length that is tried. The losses are convex in the length, and their minima lie far below it.
LONGEST = 1e3
LOSSES = {
    "perceptron criterion": lambda m: np.maximum(0.0, -m),
    "hinge": lambda m: np.maximum(0.0, 1.0 - m),
    "logistic": lambda m: np.logaddexp(0.0, -m),
}
STYLES = (("#d1495b", "-"), ("#0b4f6c", "--"), ("#edae49", ":"))


def load():
    """Return two columns, the mean texture and the mean concave points, and two classes."""
    X, y = load_breast_cancer(return_X_y=True)
    return scale(X[:, [1, 7]]), y


def fit(X, y):
    """Return one model for each loss."""
    return {
        "perceptron criterion": Perceptron(rule="batch", max_iter=2000, tol=None).fit(X, y),
        "hinge": LinearSVC(C=C).fit(X, y),
        "logistic": LogisticRegression(C=float("inf")).fit(X, y),
    }


def compare(model, X, y):
    """Return the criterion at unit length, and the hinge and logistic objectives at their best lengths."""
    distances = margins(X, y, model.coef_[0], model.intercept_[0]).geometric

    def hinge(length):
        return LOSSES["hinge"](length * distances).mean() + length**2 / (2.0 * C * len(y))

    def logistic(length):
        return LOSSES["logistic"](length * distances).mean()

    criterion = LOSSES["perceptron criterion"](distances).mean()
    best = [minimize_scalar(objective, bounds=(0.0, LONGEST), method="bounded").fun for objective in (hinge, logistic)]
    return [criterion, *best]


def table(models, X, y):
    """Return one line for each hyperplane: the length of w as fitted, the three comparisons, and the accuracy."""
    columns = ("||w|| as fitted", "criterion", "hinge", "logistic", "accuracy")
    lines = [f"{'hyperplane of':24}" + "".join(f"{name:>18}" for name in columns)]
    for name, model in models.items():
        values = [np.linalg.norm(model.coef_), *compare(model, X, y)]
        lines.append(f"{name:24}" + "".join(f"{value:>18.5f}" for value in values) + f"{model.score(X, y):>18.2%}")
    return "\n".join(lines)


def draw(models, X, y, path):
    """Draw the three losses, and the three hyperplanes among the points."""
    import matplotlib.pyplot as plt

    figure, (left, right) = plt.subplots(1, 2, figsize=(11.0, 4.5), layout="constrained")
    m = np.linspace(-3.0, 3.0, 301)
    for (name, loss), (colour, style) in zip(LOSSES.items(), STYLES, strict=True):
        left.plot(m, loss(m), style, color=colour, label=name, linewidth=2.0)
    left.set(xlabel="functional margin y f(x)", ylabel="loss", title="Loss of one point")
    left.legend(frameon=False)
    for label, marker in ((0, "o"), (1, "^")):
        name = load_breast_cancer().target_names[label]
        right.scatter(*X[y == label].T, s=10, marker=marker, color=("0.35", "0.7")[label], label=name)
    ends = np.array([X[:, 0].min(), X[:, 0].max()])
    for (name, model), (colour, style) in zip(models.items(), STYLES, strict=True):
        (first, second), b = model.coef_[0], model.intercept_[0]
        right.plot(ends, -(b + first * ends) / second, style, color=colour, label=name, linewidth=2.0)
    right.set(ylim=(X[:, 1].min() - 0.2, X[:, 1].max() + 0.2), xlabel="mean texture", ylabel="mean concave points")
    right.set_title("Hyperplanes f(x) = 0")
    right.legend(frameon=False, fontsize=8)
    figure.savefig(path, dpi=150)


def main():
    """Print the table and the certificates, and draw if asked to."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--output", metavar="FILE", help="a picture to write")
    arguments = parser.parse_args()
    X, y = load()
    with warnings.catch_warnings():
        # The classes are not separable, and the perceptron warns that it could not separate them.
        warnings.simplefilter("ignore", LimitWarning)
        models = fit(X, y)
    print(table(models, X, y))
    for name, model in models.items():
        print(f"\n{name}: {model.certificate_}")
    if arguments.output:
        draw(models, X, y, arguments.output)


if __name__ == "__main__":
    main()
