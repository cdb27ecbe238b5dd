"""Small real data sets as files, for the golden tests of the command."""

from pathlib import Path

import numpy as np
from sklearn import datasets
from sklearn.preprocessing import scale

from maxmargin.files import write_svmlight


def write_data_set(name: str) -> None:
    """Write a data set of ``DATA_SETS`` into the working folder under its name."""
    DATA_SETS[name](Path(name))


def _iris_table(path: Path) -> None:
    iris = datasets.load_iris()
    names = ["sepal_length", "sepal_width", "petal_length", "petal_width", "species"]
    rows = ([*map(str, row), str(iris.target_names[label])] for row, label in zip(iris.data, iris.target, strict=True))
    path.write_text("\n".join(map(",".join, [names, *rows])) + "\n", encoding="utf-8")


def _cancer(path: Path) -> None:
    X, y = datasets.load_breast_cancer(return_X_y=True)
    write_svmlight(path, scale(X)[:200].round(3), np.where(y == 1, 1, -1)[:200])


def _iris(path: Path) -> None:
    write_svmlight(path, *datasets.load_iris(return_X_y=True))


def _petals(path: Path) -> None:
    X, _ = datasets.load_iris(return_X_y=True)
    write_svmlight(path, X[:, :3], X[:, 3])


def _digits(path: Path) -> None:
    X, y = datasets.load_digits(return_X_y=True)
    write_svmlight(path, X[:300] / 16.0, y[:300])


def _letters(path: Path) -> None:
    """26 classes in five columns, around random centres."""
    rng = np.random.default_rng(0)
    y = np.repeat(np.arange(26), 8)
    write_svmlight(path, (10.0 * rng.standard_normal((26, 5))[y] + rng.standard_normal((y.size, 5))).round(2), y)


DATA_SETS = {
    "iris.csv": _iris_table,
    "iris.svm": _iris,
    "cancer.svm": _cancer,
    "petals.svm": _petals,
    "digits.svm": _digits,
    "letters.svm": _letters,
}
