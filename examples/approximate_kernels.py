"""Beyond 100,000 rows: features that approximate a kernel, and a linear SVM on them
=================================================================================

Run it as::

    python examples/approximate_kernels.py [--data covtype.svm.xz] [--rows 10000] [--features 500]

A kernel SVM evaluates the kernel on pairs of rows, so that its time grows nearly with the square of their number.
scikit-learn's ``Nystroem`` and ``RBFSampler`` map every row to a few hundred features whose inner products approximate
the kernel. The time of ``LinearSVC`` on these features grows linearly with the number of rows. Its certificate is about
the problem it solves, the one with these features.

Without a file, 60,000 random rows are used. The file of the forest cover data is that of the LIBSVM page (581,012 rows
of 54 columns); the classes are cover type 2 and the rest.
"""

import argparse
import time

from sklearn.datasets import load_svmlight_file, make_classification
from sklearn.kernel_approximation import Nystroem, RBFSampler
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import minmax_scale

from maxmargin import SVC, LinearSVC

GAMMA, C = 4.0, 10.0


def load(path):
    """Return rows scaled to [0, 1], and labels of two classes."""
    if path is None:
        X, y = make_classification(60_000, 20, n_informative=12, n_clusters_per_class=8, random_state=0)
        return minmax_scale(X), y
    import lzma

    with lzma.open(path) if path.endswith(".xz") else open(path, "rb") as file:
        X, y = load_svmlight_file(file)
    return minmax_scale(X.toarray()), (y == 2).astype(int)


def exact(rows):
    """Return the name, the model and the number of rows of an SVM with the exact kernel."""
    return f"SVC on {rows:,} rows", SVC(C=C, gamma=GAMMA), rows


def approximate(map_class, features):
    """Return the name and the pipeline of a linear SVM on approximate features, for all rows."""
    feature_map = map_class(gamma=GAMMA, n_components=features, random_state=0)
    return (
        f"{map_class.__name__}({features:,}) + LinearSVC",
        make_pipeline(feature_map, LinearSVC(C=C, tol=1e-3)),
        None,
    )


def measure(name, model, rows, split):
    """Fit, and return one line: rows, seconds, accuracy on held-out rows, relative duality gap."""
    X, X_test, y, y_test = split
    X, y = X[:rows], y[:rows]
    began = time.perf_counter()
    model.fit(X, y)
    seconds = time.perf_counter() - began
    svm = model if isinstance(model, SVC) else model[-1]
    gap = svm.certificate_.relative
    return f"{name:32}{len(y):>10,}{seconds:>9.1f} s{model.score(X_test, y_test):>11.2%}{gap:>13.0e}"


def main():
    """Print one line for each model."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", metavar="FILE", help="svmlight text, .xz or plain")
    parser.add_argument("--rows", type=int, default=10_000, help="rows for the exact kernel")
    parser.add_argument("--features", type=int, default=500)
    arguments = parser.parse_args()
    X, y = load(arguments.data)
    split = train_test_split(X, y, test_size=0.1, random_state=0, stratify=y)
    # Numba compiles the loops at the first fit, which is not timed.
    for model in (SVC(C=C, gamma=GAMMA), LinearSVC(C=C, tol=1e-3)):
        model.fit(split[0][:2000], split[2][:2000])
    print(f"{'model':32}{'rows':>10}{'fit':>11}{'accuracy':>11}{'duality gap':>13}")
    models = [
        exact(arguments.rows // 4),
        exact(arguments.rows),
        approximate(RBFSampler, arguments.features),
        approximate(Nystroem, arguments.features),
        ("LinearSVC alone", make_pipeline(LinearSVC(C=C, tol=1e-3)), None),
    ]
    for name, model, rows in models:
        print(measure(name, model, rows, split), flush=True)


if __name__ == "__main__":
    main()
