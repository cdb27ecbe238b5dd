"""Duplicate columns, up to their sign and, with an intercept, a shift: the lasso needs one of each."""

from functools import lru_cache
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from maxmargin.data.rows import is_sparse
from maxmargin.problems.squared_errors import SquaredErrors

# Products of two columns with random numbers that are nearer to each other than this, relatively, suggest duplicates.
SUSPICIOUS = 1e-9
# Entries of duplicates, less their means, differ by rounding errors only: relative to the largest one, by this much.
ROUNDED = 1e-12
# The most entries that are compared, and the most that sparse data may have.
MAX_ENTRIES, MAX_STORED = 1 << 25, 1 << 20
# The most random numbers that are kept for later fits.
KEPT_NUMBERS = 1 << 14


class Duplicates(NamedTuple):
    """Columns, the first column that each is a duplicate of, and with which sign."""

    columns: np.ndarray
    originals: np.ndarray
    signs: np.ndarray


def duplicates_among(errors: SquaredErrors, columns: np.ndarray) -> Duplicates:
    """Find duplicates among these columns, where the search costs little in comparison with what it saves."""
    nothing = Duplicates(np.empty(0, dtype=np.intp), np.empty(0, dtype=np.intp), np.empty(0))
    points = errors.points
    if is_sparse(points.matrix) and (points.n_columns <= points.n_rows or points.matrix.nnz > MAX_STORED):
        return nothing
    products = _random_products(errors)[columns]
    sizes = np.abs(products)
    order = np.argsort(sizes, kind="stable")
    near = np.diff(sizes[order]) <= SUSPICIOUS * sizes[order][1:]
    suspects = np.flatnonzero(near)
    if not suspects.size or suspects.size * points.n_rows > MAX_ENTRIES:
        return nothing
    left, right = order[suspects], order[suspects + 1]
    near[suspects] = _same(errors, columns[left], columns[right], np.sign(products[left] * products[right]))
    # Where each column is a duplicate of the one before it, all are: the leftmost is the original.
    begins = np.concatenate([[True], ~near])
    first = np.minimum.reduceat(order, np.flatnonzero(begins))[np.cumsum(begins) - 1]
    copied = first != order
    signs = np.sign(products[order[copied]] * products[first[copied]])
    return Duplicates(columns[order[copied]], columns[first[copied]], signs)


def _random_products(errors: SquaredErrors) -> np.ndarray:
    """Compute the product of every column, less its mean if there is an intercept, with the same random numbers."""
    n_rows = errors.targets.size
    numbers = _random_numbers(n_rows) if n_rows <= KEPT_NUMBERS else _random_numbers.__wrapped__(n_rows)
    return errors.points.combination(errors.weighted(numbers - errors.mean(numbers)))


@lru_cache(maxsize=8)
def _random_numbers(size: int) -> np.ndarray:
    numbers = np.random.default_rng(0).standard_normal(size)
    numbers.flags.writeable = False
    return numbers


def _same(errors: SquaredErrors, left: np.ndarray, right: np.ndarray, signs: np.ndarray) -> np.ndarray:
    """Which columns on the left are those on the right times a sign, rows without a weight left out."""
    matrix, means = errors.points.matrix, errors.column_means
    counted = slice(None) if errors.weights is None else errors.weights > 0.0
    if is_sparse(matrix):
        columns = errors.sparse_columns
        difference = columns[:, left] - columns[:, right] @ sp.diags_array(signs)
        same: np.ndarray = np.asarray(abs(difference)[counted].max(axis=0).toarray()).ravel() == 0.0
        return same
    matrix = matrix[counted]
    ours = matrix[:, left] - means[left]
    difference = np.abs(ours - signs * (matrix[:, right] - means[right])).max(axis=0)
    alike: np.ndarray = difference <= ROUNDED * np.abs(ours).max(axis=0)
    return alike
