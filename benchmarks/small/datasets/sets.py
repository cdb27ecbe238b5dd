"""Small sets, and samples of larger ones: dense, standardised rows."""

from typing import Any, ClassVar

import numpy as np
from sklearn import datasets
from sklearn.preprocessing import scale

from data import evenly_spaced, load_text
from suite import Dataset

MOST_ROWS, MOST_COLUMNS = 2_000, 100


class _Small(Dataset):
    parts: ClassVar[tuple[str, ...]] = ("default",)

    def rows(self) -> tuple[Any, np.ndarray]:
        """Return rows and labels."""
        X, y = load_text(self.name)
        chosen = evenly_spaced(X.shape[0], MOST_ROWS)
        return X[chosen].toarray(), y[chosen]

    def get_data(self):
        """Return at most so many rows of the columns that are filled most often."""
        X, y = self.rows()
        columns = np.sort(np.argsort(-(X != 0.0).sum(axis=0), kind="stable")[:MOST_COLUMNS])
        return {"X": np.ascontiguousarray(scale(X[:, columns])), "y": y}


class Iris(_Small):
    """150 x 4, 3 classes."""

    name = "iris"

    def rows(self):
        """Return rows and labels."""
        return datasets.load_iris(return_X_y=True)


class Wine(_Small):
    """178 x 13, 3 classes."""

    name = "wine"

    def rows(self):
        """Return rows and labels."""
        return datasets.load_wine(return_X_y=True)


class BreastCancer(_Small):
    """569 x 30."""

    name = "breast cancer"

    def rows(self):
        """Return rows and labels."""
        return datasets.load_breast_cancer(return_X_y=True)


class Diabetes(_Small):
    """442 x 10, real targets."""

    name = "diabetes"

    def rows(self):
        """Return rows and targets."""
        X, y = datasets.load_diabetes(return_X_y=True)
        return X, scale(y)


class Heart(_Small):
    """270 x 13."""

    name = "heart_scale"


class Australian(_Small):
    """690 x 14."""

    name = "australian_scale"


class Ionosphere(_Small):
    """351 x 34."""

    name = "ionosphere_scale"


class Sonar(_Small):
    """208 x 60."""

    name = "sonar_scale"


class Adult(_Small):
    """A sample of a9a."""

    name = "a9a"


class Web(_Small):
    """A sample of w8a."""

    name = "w8a"


class Ijcnn(_Small):
    """A sample of ijcnn1."""

    name = "ijcnn1"


class Digits(_Small):
    """A sample of usps, 10 classes."""

    name = "usps"


class Letter(_Small):
    """A sample of letter, 26 classes."""

    name = "letter.scale"
