"""Logistic loss, hinge loss and perceptron criterion on the same points: the soft and the hard versions of one idea.

    python examples/three_losses.py [--output three_losses.png]

All three are functions of the margin m = y f(x), zero (or nearly so) on the right side and a straight line far on the
wrong one: the criterion max(0, -m) looks at mistakes only, the hinge max(0, 1 - m) also asks for a street, and the
logistic loss log(1 + exp(-m)) is smooth and never quite content. Each rule is fitted to the same two columns of the
breast cancer data, where no plane separates the classes; the table holds every plane against every loss. The picture
needs matplotlib.
"""

import argparse
import warnings

import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.preprocessing import scale

from maxmargin import LimitWarning, LinearSVC, LogisticRegression, Perceptron, margins

LOSSES = {
    "perceptron criterion": lambda m: np.maximum(0.0, -m),
    "hinge": lambda m: np.maximum(0.0, 1.0 - m),
    "logistic": lambda m: np.logaddexp(0.0, -m),
}
COLOURS = ("#d1495b", "#0b4f6c", "#edae49")


def load():
    """Return two columns, the mean texture and the mean concave points, and two classes."""
    X, y = load_breast_cancer(return_X_y=True)
    return scale(X[:, [1, 7]]), y


def fit(X, y):
    """Return a model a loss."""
    return {
        "perceptron criterion": Perceptron(rule="batch", max_iter=2000, tol=None).fit(X, y),
        "hinge": LinearSVC(C=1.0).fit(X, y),
        "logistic": LogisticRegression().fit(X, y),
    }


def table(models, X, y):
    """Every plane against every loss, a point on average, and its accuracy.

    The criterion does not care how long w is; to compare, the perceptron's is made as long as the hinge's.
    """
    length = np.linalg.norm(models["hinge"].coef_)
    lines = [f"{'plane of':24}" + "".join(f"{name:>22}" for name in LOSSES) + f"{'accuracy':>12}"]
    for name, model in models.items():
        found = margins(X, y, model.coef_[0], model.intercept_[0])
        found = length * found.geometric if isinstance(model, Perceptron) else found.functional
        values = "".join(f"{loss(found).mean():>22.4f}" for loss in LOSSES.values())
        lines.append(f"{name:24}{values}{model.score(X, y):>12.2%}")
    return "\n".join(lines)


def draw(models, X, y, path):
    """The three losses, and the three planes among the points."""
    import matplotlib.pyplot as plt

    figure, (left, right) = plt.subplots(1, 2, figsize=(11.0, 4.5), layout="constrained")
    m = np.linspace(-3.0, 3.0, 301)
    for (name, loss), colour in zip(LOSSES.items(), COLOURS, strict=True):
        left.plot(m, loss(m), color=colour, label=name, linewidth=2.0)
    left.set(xlabel="margin y f(x)", ylabel="loss", title="One point's loss")
    left.legend(frameon=False)
    for label, marker in ((0, "o"), (1, "^")):
        right.scatter(*X[y == label].T, s=10, marker=marker, alpha=0.5, label=load_breast_cancer().target_names[label])
    ends = np.array([X[:, 0].min(), X[:, 0].max()])
    for (name, model), colour in zip(models.items(), COLOURS, strict=True):
        (first, second), b = model.coef_[0], model.intercept_[0]
        right.plot(ends, -(b + first * ends) / second, color=colour, label=name, linewidth=2.0)
    right.set(ylim=(X[:, 1].min() - 0.2, X[:, 1].max() + 0.2), xlabel="mean texture", ylabel="mean concave points")
    right.set_title("Where f(x) = 0")
    right.legend(frameon=False, fontsize=8)
    figure.savefig(path, dpi=150)


def main():
    """Print the table and the certificates, and draw if asked to."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--output", metavar="FILE", help="a picture to write")
    arguments = parser.parse_args()
    X, y = load()
    with warnings.catch_warnings():
        # The perceptron cannot come to an end here, and says so.
        warnings.simplefilter("ignore", LimitWarning)
        models = fit(X, y)
    print(table(models, X, y))
    for name, model in models.items():
        print(f"\n{name}: {model.certificate_}")
    if arguments.output:
        draw(models, X, y, arguments.output)


if __name__ == "__main__":
    main()
