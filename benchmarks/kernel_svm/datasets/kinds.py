"""Other kinds of data: sparse text, many dense columns, few columns, classes with few support vectors."""

from typing import ClassVar

import numpy as np
from sklearn.datasets import make_classification
from sklearn.preprocessing import normalize

from data import as_signs, evenly_spaced, load_text
from datasets.covtype import scaled_rows
from kernel_svm.stops import Machine
from suite import Dataset


def _of_all_sizes(gamma: float) -> tuple[Machine, ...]:
    """Small, usual and large penalties."""
    return tuple(Machine(C, gamma) for C in (0.1, 1.0, 10.0, 1000.0))


class _Kind(Dataset):
    """Data on which classifiers are fitted."""

    parts: ClassVar[tuple[str, ...]] = ("fit",)
    machines: ClassVar[tuple[Machine, ...]]


class _Text(_Kind):
    """Sparse rows of length one."""

    machines = (*_of_all_sizes(1.0), Machine(1.0, None), Machine(100.0, None))


class SmsSpam(_Text):
    """5,574 short messages, 8,890 words, 14 entries a row."""

    name = "sms-spam"

    def get_data(self):
        """Return rows scaled to length one."""
        X, y = load_text("sms-spam")
        return {"X": normalize(X), "y": y.astype(int)}


class Sector(_Text):
    """6,412 pages, 55,197 words, 163 entries a row; one class, the largest, against the other 104."""

    name = "sector, one class"

    def get_data(self):
        """Return rows and signs."""
        X, y = load_text("sector.scale")
        classes, counts = np.unique(y, return_counts=True)
        return {"X": X, "y": as_signs(y == classes[counts.argmax()])}


class Imdb(_Text):
    """5,000 reviews, 47,603 words, 140 entries a row."""

    name = "imdb.tfidf 5,000"

    def get_data(self):
        """Return evenly spaced rows."""
        X, y = load_text("imdb.tfidf")
        chosen = evenly_spaced(y.size, 5_000)
        return {"X": X[chosen], "y": y[chosen].astype(int)}


class ManyColumns(_Kind):
    """2,600 made rows of 500 columns, 20 of which matter."""

    name = "made 2,600 × 500"
    machines = _of_all_sizes(1.0 / 500.0)

    def get_data(self):
        """Return columns of variance one."""
        X, y = make_classification(
            2_600, 500, n_informative=5, n_redundant=15, n_clusters_per_class=16, class_sep=1.5, random_state=0
        )
        return {"X": X / X.std(axis=0), "y": y}


class FewColumns(_Kind):
    """30,000 rows of forest cover, the ten columns that are measurements, one kind against the rest."""

    name = "covtype 30,000 × 10"
    machines = _of_all_sizes(4.0)[:3]
    n_columns = 10

    def get_data(self):
        """Return evenly spaced rows."""
        X, y = scaled_rows()
        chosen = evenly_spaced(y.size, 30_000)
        return {"X": np.ascontiguousarray(X[chosen, : self.n_columns]), "y": y[chosen]}


class TwoColumns(FewColumns):
    """The same with two columns."""

    name = "covtype 30,000 × 2"
    machines = _of_all_sizes(4.0)[:2]
    n_columns = 2


class SmallDigits(_Kind):
    """7,291 images of digits, means of 16 squares; 10 classes, few support vectors."""

    name = "usps 4 × 4"
    machines = _of_all_sizes(0.25)

    def get_data(self):
        """Return the means of squares of 4 × 4 pixels."""
        X, y = load_text("usps")
        means = X.toarray().reshape(-1, 4, 4, 4, 4).mean(axis=(2, 4))
        return {"X": means.reshape(-1, 16), "y": y.astype(int)}


class TenLetters(_Kind):
    """The first ten letters, 5,800 rows of 16 columns."""

    name = "letter.scale, ten classes"
    machines = _of_all_sizes(0.5)

    def get_data(self):
        """Return an array."""
        X, y = load_text("letter.scale")
        return {"X": X[y <= 10].toarray(), "y": y[y <= 10].astype(int)}
