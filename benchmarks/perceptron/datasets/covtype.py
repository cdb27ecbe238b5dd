"""Forest cover: 581,012 rows of 54 columns, the second kind of cover against the rest; far from separable."""

from scipy.sparse import csr_matrix
from sklearn.preprocessing import minmax_scale

from data import as_signs, load_text
from suite import Dataset


class CovtypeDense(Dataset):
    """An array, each column scaled to [0, 1]."""

    name = "covtype dense"
    parts = ("passes", "lazy")

    def get_data(self):
        """Return an array."""
        X, y = load_text("covtype")
        return {"X": minmax_scale(X.toarray()), "y": as_signs(y == 2)}


class CovtypeSparse(CovtypeDense):
    """The same numbers in sparse rows."""

    name = "covtype sparse"

    def get_data(self):
        """Return sparse rows."""
        data = super().get_data()
        return {**data, "X": csr_matrix(data["X"])}
