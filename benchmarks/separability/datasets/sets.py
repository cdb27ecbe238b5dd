"""Sets that a hyperplane separates, and sets that none does."""

from data import as_signs, load_text
from datasets.covtype import CovtypeSparse
from datasets.signed_rows import ImdbTfidf, SignedRows

BOTH = ("decision", "margin")


class Mushrooms(SignedRows):
    """8,124 rows of zeros and ones in 112 columns; separable."""

    name = "mushrooms"
    parts = BOTH

    def get_data(self):
        """The labels are 1 and 2."""
        X, y = load_text(self.name)
        return {"X": X, "y": as_signs(y == 2)}


class Leu(SignedRows):
    """38 rows of 7,129 columns; separable."""

    name = "leu"
    parts = BOTH


class Sonar(SignedRows):
    """208 rows of 60 columns; separable with a small margin."""

    name = "sonar_scale"
    parts = BOTH


class A9a(SignedRows):
    """Not separable."""

    name = "a9a"
    parts = ("decision",)


class W8a(SignedRows):
    """Not separable."""

    name = "w8a"
    parts = ("decision",)


class FilmReviews(ImdbTfidf):
    """Wide and sparse; separable."""

    parts = BOTH


class Covtype(CovtypeSparse):
    """Not separable."""

    name = "covtype"
    parts = ("decision",)
