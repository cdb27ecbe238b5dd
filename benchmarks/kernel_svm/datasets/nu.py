"""Small data of two classes for the machines with nu."""

from typing import ClassVar

from data import as_signs, load_text
from suite import Dataset


class _TwoClasses(Dataset):
    parts: ClassVar[tuple[str, ...]] = ("nu",)

    def get_data(self):
        """Return an array and signs."""
        X, y = load_text(self.name)
        return {"X": X.toarray(), "y": as_signs(y == y.max())}


class Australian(_TwoClasses):
    """690 rows of 14 columns."""

    name = "australian_scale"


class Ionosphere(_TwoClasses):
    """351 rows of 34 columns."""

    name = "ionosphere_scale"


class BreastCancer(_TwoClasses):
    """683 rows of 10 columns."""

    name = "breast-cancer_scale"


class Mushrooms(_TwoClasses):
    """8,124 rows of 112 columns."""

    name = "mushrooms"
