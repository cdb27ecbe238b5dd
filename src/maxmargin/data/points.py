"""The points of a data set, with the sums over them that the upper layers ask for."""

from collections.abc import Callable, Iterator
from functools import cached_property

import numpy as np
import scipy.sparse as sp

from maxmargin.data.blocks import row_blocks
from maxmargin.data.rows import Matrix, Rows, rows_of

# Below this share of non-zero coefficients it is cheaper to gather their rows than to read all of them.
GATHER_SHARE = 0.02
# Sparse rows take 12 bytes an entry and dense ones 8: above this share a dense copy is not three times as large.
DENSE_SHARE = 0.25
# Of more columns than these, as hashing makes them, only those are looked at that have entries.
WIDE = 1 << 18


class Points:
    """The rows of a validated matrix, never written to, and sums over them in float64.

    A float32 matrix is widened block by block, so that no float64 copy of it is ever made.

    Parameters
    ----------
    matrix : ndarray in C order or csr_array without duplicates, float32 or float64
    """

    def __init__(self, matrix: Matrix) -> None:
        self.matrix = matrix
        self.n_rows, self.n_columns = matrix.shape

    @cached_property
    def rows(self) -> Rows:
        """The rows as the loops take them."""
        return rows_of(self.matrix)

    @cached_property
    def factor(self) -> Matrix:
        """The rows, to multiply by many others: well-filled sparse ones made dense, for which BLAS is much faster."""
        well_filled = self.entries_per_row > DENSE_SHARE * self.n_columns
        return self.matrix.toarray() if sp.issparse(self.matrix) and well_filled else self.matrix

    @cached_property
    def narrow(self) -> "Points":
        """The rows without empty columns, where almost all of very many are empty: their products are the same."""
        columns = few_columns(self.matrix)
        return self if columns is None else Points(only_columns(self.matrix, columns))

    @cached_property
    def squared_norms(self) -> np.ndarray:
        """||x_i||², one entry a row."""
        norms = np.empty(self.n_rows)
        # Squares of huge entries may overflow: an infinite norm then makes every bound infinite, too.
        with np.errstate(over="ignore"):
            self._fill_squared_norms(norms)
        return norms

    def _fill_squared_norms(self, norms: np.ndarray) -> None:
        for part in self._blocks():
            if sp.issparse(self.matrix):
                offsets = self.matrix.indptr[part.start : part.stop + 1]
                values = self.matrix.data[offsets[0] : offsets[-1]]
                norms[part] = _sums_of_squares(values, offsets - offsets[0])
            else:
                norms[part] = squared_norms(self._wide(part))

    @cached_property
    def largest_norm(self) -> float:
        """max ||x_i||"""
        return float(np.sqrt(self.squared_norms.max(initial=0.0)))

    @cached_property
    def typical_norm(self) -> float:
        """The root of the mean of ||x_i||²."""
        return float(np.sqrt(self.squared_norms.mean())) if self.n_rows else 0.0

    @property
    def entries_per_row(self) -> float:
        """The mean number of stored entries of a row."""
        stored = self.matrix.nnz if sp.issparse(self.matrix) else self.matrix.size
        return stored / max(1, self.n_rows)

    @cached_property
    def longest_row(self) -> int:
        """The largest number of stored entries in a row: what bounds the rounding error of a score."""
        if sp.issparse(self.matrix):
            return int(np.diff(self.matrix.indptr).max(initial=0))
        return self.n_columns

    @cached_property
    def nonnegative(self) -> bool:
        """Whether no entry is negative: then an update can only move all scores the same way."""
        entries = self.matrix.data if sp.issparse(self.matrix) else self.matrix
        return bool(entries.size == 0 or entries.min() >= 0)

    @property
    def all_zero(self) -> bool:
        """Whether no entry differs from zero: a norm of zero alone may be due to squares that underflow."""
        entries = self.matrix.data if sp.issparse(self.matrix) else self.matrix
        return not entries.any()

    def scores(self, w: np.ndarray) -> np.ndarray:
        """X w in float64, for one plane (d,) or several (d, k)."""
        if self.matrix.dtype == np.float64:
            return np.asarray(self.matrix @ w)
        result = np.empty((self.n_rows, *w.shape[1:]))
        for part in self._blocks():
            result[part] = self._wide(part) @ w
        return result

    def absolute_scores(self, w: np.ndarray) -> np.ndarray:
        """sum_j |x_ij w_j|, one entry a row: what the rounding error of a score is relative to."""
        result, sizes = np.empty(self.n_rows), np.abs(w)
        for part in self._blocks():
            result[part] = self._entrywise(part, np.abs) @ sizes
        return result

    def shared_entries(self, w: np.ndarray) -> np.ndarray:
        """How many entries of each row differ from zero where w does, too."""
        result, used = np.empty(self.n_rows), (w != 0.0).astype(np.float64)
        for part in self._blocks():
            result[part] = (self.matrix[part] != 0.0).astype(np.float64) @ used
        return result

    def combination_around(self, place: np.ndarray, coefficients: np.ndarray) -> np.ndarray:
        """The sum of the rows of a dense matrix less a place, each times its coefficient."""
        total = np.zeros(self.n_columns)
        for part in self._blocks():
            total += coefficients[part] @ (self._wide(part) - place)
        return total

    def squares_of_columns(self, coefficients: np.ndarray | None = None) -> np.ndarray:
        """sum_i c_i x_ij², one entry a column; every c_i is one where none are given."""
        total = np.zeros(self.n_columns)
        for part in self._blocks():
            if coefficients is None and not sp.issparse(self.matrix):
                rows = self._wide(part)
                total += np.einsum("ij,ij->j", rows, rows)
            else:
                counts = np.ones(part.stop - part.start) if coefficients is None else coefficients[part]
                total += self._entrywise(part, np.square).T @ counts
        return total

    def squares_around(self, place: np.ndarray, coefficients: np.ndarray) -> np.ndarray:
        """sum_i c_i (x_ij - place_j)² of a dense matrix, one entry a column."""
        total = np.zeros(self.n_columns)
        for part in self._blocks():
            total += coefficients[part] @ np.square(self._wide(part) - place)
        return total

    def combination(self, coefficients: np.ndarray) -> np.ndarray:
        """X^T c in float64: the sum of the rows, each times its coefficient."""
        used = np.flatnonzero(coefficients)
        if used.size < GATHER_SHARE * self.n_rows:
            return Points(self.matrix[used])._sum_rows(coefficients[used])
        return self._sum_rows(coefficients)

    def _sum_rows(self, coefficients: np.ndarray) -> np.ndarray:
        if self.matrix.dtype == np.float64:
            return np.asarray(self.matrix.T @ coefficients)
        total = np.zeros(self.n_columns)
        for part in self._blocks():
            total += self._wide(part).T @ coefficients[part]
        return total

    def _wide(self, part: slice) -> Matrix:
        """The rows of a block in float64."""
        return self.matrix[part].astype(np.float64, copy=False)

    def _entrywise(self, part: slice, function: Callable[[np.ndarray], np.ndarray]) -> Matrix:
        """The rows of a block with a function of their entries, which is zero at zero."""
        if not sp.issparse(self.matrix):
            return function(self._wide(part))
        offsets = self.matrix.indptr[part.start : part.stop + 1]
        stored = slice(offsets[0], offsets[-1])
        entries = function(self.matrix.data[stored].astype(np.float64, copy=False))
        shape = part.stop - part.start, self.n_columns
        return sp.csr_array((entries, self.matrix.indices[stored], offsets - offsets[0]), shape=shape)

    def _blocks(self) -> Iterator[slice]:
        return row_blocks(self.n_rows, self.entries_per_row)


def few_columns(matrix: Matrix) -> np.ndarray | None:
    """The columns that have entries, in rising order, where they are fewer than half of very many; else None."""
    if not sp.issparse(matrix) or matrix.shape[1] <= WIDE:
        return None
    columns = np.unique(matrix.indices)
    if 2 * columns.size > matrix.shape[1]:
        return None
    return columns if columns.size else np.zeros(1, dtype=matrix.indices.dtype)


def only_columns(rows: Matrix, columns: np.ndarray) -> Matrix:
    """The rows with no other columns than these, which rise; a sparse matrix costs no more than its entries."""
    if not sp.issparse(rows):
        return rows[:, columns]
    places = np.searchsorted(columns, rows.indices)
    kept = columns[np.minimum(places, columns.size - 1)] == rows.indices
    offsets = np.concatenate([[0], np.cumsum(kept)])[rows.indptr].astype(rows.indptr.dtype)
    indices = places[kept].astype(rows.indices.dtype)
    return sp.csr_array((rows.data[kept], indices, offsets), shape=(rows.shape[0], columns.size))


def squared_norms(rows: Matrix) -> np.ndarray:
    """||x||² of every row of a float64 matrix."""
    if sp.issparse(rows):
        return _sums_of_squares(rows.data, rows.indptr)
    return np.vecdot(rows, rows)


def _sums_of_squares(values: np.ndarray, offsets: np.ndarray) -> np.ndarray:
    sums = np.zeros(offsets.size - 1)
    filled = np.flatnonzero(np.diff(offsets))
    if filled.size:
        squares = np.square(values[: offsets[-1]], dtype=np.float64)
        sums[filled] = np.add.reduceat(squares, offsets[filled])
    return sums
