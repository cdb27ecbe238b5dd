"""The choice of a subsample for a warm start: with many rows and few columns, its solution is near that of all rows."""

from collections.abc import Sequence

import numpy as np

# Logistic loss and squared hinge: one of so many rows goes into the subsample, if that leaves enough rows for every
# column and so many of every class; its solution is not nearer to that of all rows than to this relative gap.
STRIDE, ROWS_PER_CLASS, SUBSAMPLE_TOL = 16, 50, 1e-2
# The subsample has at least this many rows for every column.
FEWEST_ROWS_PER_COLUMN = 12


def subsample_rows(
    shape: tuple[int, int], weights: np.ndarray, targets: np.ndarray | None, strides: Sequence[int], rows_per_class: int
) -> slice | None:
    """Choose every k-th row, for the first stride k that leaves enough rows, or none.

    Parameters
    ----------
    shape : tuple of two ints
        Rows and columns of the data.
    weights : ndarray of shape (n,)
    targets : ndarray of shape (n,) or None
        The signs of the classes, of each of which there have to be enough rows; None for a regression.
    strides : sequence of ints
        From the largest to the smallest.
    rows_per_class : int
        The least number of rows with a positive weight.

    Returns
    -------
    slice or None
    """
    n_rows, n_columns = shape
    stride = next((k for k in strides if n_rows >= k * FEWEST_ROWS_PER_COLUMN * (n_columns + 1)), None)
    if stride is None:
        return None
    every = slice(None, None, stride)
    counted = weights[every] > 0.0
    sides = [counted] if targets is None else [counted & (targets[every] > 0.0), counted & (targets[every] < 0.0)]
    return every if min(map(np.count_nonzero, sides)) >= rows_per_class else None
