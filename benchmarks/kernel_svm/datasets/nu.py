"""Small data of two classes for the machines with nu."""

from typing import ClassVar

from data import as_signs, load_text
from datasets.covtype import scaled_rows
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


class _FromZero(_TwoClasses):
    parts: ClassVar[tuple[str, ...]] = ("one_class",)

    def get_data(self):
        """Return an array with columns from zero on, on one side of the origin: else w = 0 is optimal."""
        data = super().get_data()
        return {**data, "X": data["X"] - data["X"].min(axis=0)}


class MushroomsFromZero(_FromZero):
    """8,124 rows of 112 columns."""

    name = "mushrooms"


class Ijcnn1FromZero(_FromZero):
    """49,990 rows of 22 columns."""

    name = "ijcnn1"


class A9aFromZero(_FromZero):
    """32,561 rows of 123 columns."""

    name = "a9a"


class CovtypeFromZero(_FromZero):
    """581,012 rows of 54 columns in [0, 1]."""

    name = "covtype"

    def get_data(self):
        """Return an array."""
        X, y = scaled_rows()
        return {"X": X, "y": y}
