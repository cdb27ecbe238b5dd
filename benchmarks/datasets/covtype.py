"""Forest cover: 581,012 rows of 54 columns, the second kind of cover against the rest; far from separable."""

from functools import cache

import numpy as np
from scipy.sparse import csr_matrix
from sklearn.preprocessing import minmax_scale

from data import as_signs, load_text
from suite import Dataset


class CovtypeDense(Dataset):
    """An array, each column scaled to [0, 1]."""

    name = "covtype dense"

    def get_data(self):
        """Return an array."""
        X, y = scaled_rows()
        return {"X": X, "y": y}


class CovtypeSparse(CovtypeDense):
    """The same numbers in sparse rows."""

    name = "covtype sparse"

    def get_data(self):
        """Return sparse rows."""
        data = super().get_data()
        return {**data, "X": csr_matrix(data["X"])}


@cache
def scaled_rows() -> tuple[np.ndarray, np.ndarray]:
    """Load and scale, once a process."""
    X, y = load_text("covtype")
    return minmax_scale(X.toarray()), as_signs(y == 2)
