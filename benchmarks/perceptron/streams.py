"""What the learners of streams have in common: they take one example at a time, from Python."""

import numpy as np
from scipy.sparse import csr_matrix

from data import evenly_spaced
from suite import Solver

ROWS = 2_000
PASSES = 2


class Stream(Solver):
    """Cuts evenly spaced rows out of the data, as lists of pairs (column, value)."""

    parts = ("passes",)

    def set_data(self, X, y):
        """Choose and convert the rows."""
        chosen = evenly_spaced(X.shape[0], ROWS)
        part = csr_matrix(X[chosen])
        columns, values = np.split(part.indices, part.indptr[1:-1]), np.split(part.data, part.indptr[1:-1])
        self.X, self.y = X[chosen], y[chosen]
        self.pairs = [list(zip(c.tolist(), v.tolist(), strict=True)) for c, v in zip(columns, values, strict=True)]

    def weights(self) -> np.ndarray:
        """Return w as an array."""
        raise NotImplementedError

    def get_result(self):
        """Return the hyperplane and the data that it was made from."""
        return {
            "w": self.weights(),
            "passes": PASSES,
            "rows": self.X.shape[0],
            "fit_intercept": self.fit_intercept,
            "X": self.X,
            "y": self.y,
        }
