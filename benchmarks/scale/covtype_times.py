"""Forest cover, repeated with noise: block r has the rows of covtype, columns scaled to [0, 1], plus a little noise."""

import numpy as np

from datasets.covtype import scaled_rows

NOISE = 0.01
# Partitions of every repetition.
PARTS = 2


def block(number: int, rows: slice | None = None) -> tuple[np.ndarray, np.ndarray]:
    """Repetition ``number``, or some of its rows; repetition 0 has no noise."""
    X, y = scaled_rows()
    rows = rows or slice(0, len(y))
    X = X[rows]
    if number:
        X = X + NOISE * np.random.default_rng((number, rows.start)).standard_normal(X.shape)
    return X, y[rows]


def stretches() -> list[slice]:
    """The rows of the partitions of a repetition."""
    n_rows = len(scaled_rows()[1])
    cuts = [n_rows * k // PARTS for k in range(PARTS + 1)]
    return [slice(*cuts[k : k + 2]) for k in range(PARTS)]


def pieces(times: int) -> list[tuple[int, slice]]:
    """Repetition and rows of every partition."""
    return [(number, rows) for number in range(times) for rows in stretches()]
