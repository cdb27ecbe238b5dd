"""Dense arrays with the machines that are trained on them: the usual one, and harder ones."""

from typing import ClassVar

from data import load_images, load_text
from datasets.covtype import scaled_rows
from kernel_svm.stops import Machine
from suite import Dataset

HARD = 100.0


class _Classes(Dataset):
    """The file of the data set's name, with a class a label."""

    parts: ClassVar[tuple[str, ...]] = ("fit",)
    machines: ClassVar[tuple[Machine, ...]]

    def get_data(self):
        """Return an array."""
        X, y = load_text(self.name)
        return {"X": X.toarray(), "y": y.astype(int)}


def _harder(C: float, gamma: float) -> tuple[Machine, ...]:
    """The usual machine, one that pays more for errors, and one that is narrower, too."""
    return Machine(C, gamma), Machine(HARD, gamma), Machine(HARD, 4.0 * gamma)


class A9a(_Classes):
    """32,561 rows of 123 zeros and ones; a third of them become support vectors."""

    name = "a9a"
    parts = ("fit", "memory")
    machines = _harder(1.0, 1.0 / 123.0)[:2]


class W8a(_Classes):
    """49,749 rows of 300 zeros and ones, few of them positive."""

    name = "w8a"
    machines = _harder(10.0, 1.0 / 300.0)[:2]


class Ijcnn1(_Classes):
    """49,990 rows of 22 columns, few support vectors."""

    name = "ijcnn1"
    machines = _harder(10.0, 1.0)


class Usps(_Classes):
    """7,291 images of digits, 256 columns, 10 classes."""

    name = "usps"
    machines = _harder(10.0, 1.0 / 128.0)


class Letter(_Classes):
    """15,000 letters, 16 columns, 26 classes."""

    name = "letter.scale"
    machines = _harder(10.0, 1.0)


class Covtype(Dataset):
    """The first 50,000 rows of forest cover, one kind against the rest."""

    name = "covtype 50,000"
    parts = ("fit", "memory")
    machines = _harder(10.0, 1.0)[:2]

    def get_data(self):
        """Return an array."""
        X, y = scaled_rows()
        return {"X": X[:50_000].copy(), "y": y[:50_000]}


class Mnist10(Dataset):
    """The first 10,000 images of digits, 784 columns, 10 classes."""

    name = "mnist 10,000"
    parts = ("fit", "predict")
    machines = _harder(10.0, 0.02)
    n_rows = 10_000

    def get_data(self):
        """Return an array with entries in [0, 1]."""
        X, y = load_images("mnist")
        return {"X": X[: self.n_rows] / 255.0, "y": y[: self.n_rows].astype(int)}


class Mnist60(Mnist10):
    """All 60,000."""

    name = "mnist 60,000"
    parts = ("fit", "memory")
    machines = (Machine(10.0, 0.02),)
    n_rows = 60_000


class _Values(_Classes):
    """A regression."""

    parts = ("regression",)

    def get_data(self):
        """Return an array and values."""
        X, y = load_text(self.name)
        return {"X": X.toarray(), "y": y}


class Abalone(_Values):
    """4,177 rows of 8 columns."""

    name = "abalone_scale"
    machines = (Machine(10.0, 0.125, 0.1), Machine(HARD, 0.125, 0.1), Machine(HARD, 1.0, 0.1))


class Housing(_Values):
    """506 rows of 13 columns."""

    name = "housing_scale"
    machines = (Machine(10.0, 1.0 / 13.0, 0.1), Machine(HARD, 1.0 / 13.0, 0.1), Machine(HARD, 4.0 / 13.0, 0.1))
