"""The rows of X with their norms, and products of X with vectors, block by block in float64."""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Protocol

import numpy as np
import scipy.sparse as sp

from maxmargin.data.blocks import BLOCK_ENTRIES, blocks_to_transpose, row_blocks
from maxmargin.data.interruption import check_interruption
from maxmargin.data.rows import DenseRows, Matrix, Rows, SparseMatrix, aligned, as_dense, is_sparse, read_only, rows_of

# Share of non-zero coefficients below which gathering their rows is cheaper than reading all rows.
GATHER_SHARE = 0.02
# Share of stored entries above which sparse rows are made dense for products with many others: a sparse entry takes 12
# bytes and a dense one 8, so that the dense copy is less than three times as large.
DENSE_SHARE = 0.25
# Entries that are squared at a time: a copy of them that stays in a core's own cache.
SQUARED_ENTRIES = 1 << 16
# The most entries that one product reads, some tenths of a second: in between, a pass can be broken off.
ENTRIES_PER_PRODUCT = 1 << 27
# Number of columns above which empty columns are dropped, as in hashed features.
WIDE = 1 << 18
# Entries, rows and columns of data on which a run is one compiled call; beyond, BLAS, threads and working sets pay.
SMALL_ENTRIES, SMALL_ROWS, SMALL_COLUMNS = 3 << 17, 1 << 14, 100

if TYPE_CHECKING:
    from maxmargin.data.centring import Centring


class HasPoints(Protocol):
    """A problem of rows, as engines and their tasks need it."""

    @property
    def points(self) -> "Points":
        """The rows; of rows that lie elsewhere, what is known of them."""


class KnownRows(Protocol):
    """What error bounds need to know of rows, wherever these lie."""

    @property
    def n_columns(self) -> int: ...

    @property
    def largest_norm(self) -> float: ...

    @property
    def longest_row(self) -> int: ...


class Points:
    """The rows of a validated matrix, which is never written to, and products with it in float64.

    A float32 matrix is converted block by block, so that no float64 copy of all of it is made.

    Parameters
    ----------
    matrix : ndarray in C order or csr_array without duplicates, float32 or float64
    """

    def __init__(self, matrix: Matrix) -> None:
        self.matrix = matrix
        self.n_rows, self.n_columns = matrix.shape

    # Whether the matrix is in memory all the same, as a chunk of a persisted collection.
    is_borrowed = False

    def __sizeof__(self) -> int:
        # What a scheduler counts: it moves small objects, and workers write large ones to the disk.
        matrix = self.__dict__.get("matrix")
        size = object.__sizeof__(self) + sum(
            value.nbytes for name, value in vars(self).items() if name != "matrix" and isinstance(value, np.ndarray)
        )
        if matrix is None or self.is_borrowed:
            return size
        return size + (
            matrix.data.nbytes + matrix.indices.nbytes + matrix.indptr.nbytes if is_sparse(matrix) else matrix.nbytes
        )

    def __getstate__(self) -> Matrix:
        # What is computed from the rows is not sent with them.
        return self.matrix

    def __setstate__(self, matrix: Matrix) -> None:
        self.__init__(aligned(matrix))  # type: ignore[misc]

    @cached_property
    def rows(self) -> Rows:
        """The rows as the loops read them."""
        return rows_of(self.matrix)

    @cached_property
    def columns(self) -> Rows:
        """The columns, as the loops read rows: a copy of the matrix."""
        if is_sparse(self.matrix):
            return rows_of(self.sparse_columns)
        columns = np.empty((self.n_columns, self.n_rows), dtype=self.matrix.dtype)
        for rows, part in blocks_to_transpose(self.n_rows, self.n_columns):
            columns[part, rows] = self.matrix[rows, part].T
        return rows_of(columns)

    @cached_property
    def sparse_columns(self) -> SparseMatrix:
        """The sparse matrix by columns."""
        assert is_sparse(self.matrix)
        return self.matrix.tocsc()

    @cached_property
    def small_rows(self) -> DenseRows | None:
        """The rows, dense and in float64, where the data are small; else None."""
        few = self.n_rows <= SMALL_ROWS and self.n_columns <= SMALL_COLUMNS
        if not few or self.n_rows * self.n_columns > SMALL_ENTRIES:
            return None
        return DenseRows(read_only(np.ascontiguousarray(as_dense(self.matrix), dtype=np.float64)))

    @cached_property
    def factor(self) -> Matrix:
        """The rows for products with many others: well-filled sparse rows are made dense, for BLAS."""
        many_entries = self.entries_per_row > DENSE_SHARE * self.n_columns
        return self.matrix.toarray() if is_sparse(self.matrix) and many_entries else self.matrix

    @cached_property
    def centring(self) -> "Centring":
        """The points without columns that are very far from zero, as ``exactly_centred`` finds them: a ``Centring``."""
        from maxmargin.data.centring import exactly_centred

        return exactly_centred(self)

    @cached_property
    def narrow(self) -> "Points":
        """The rows without empty columns, where most of very many columns are empty; inner products stay the same."""
        columns = few_columns(self.matrix)
        return self if columns is None else Points(only_columns(self.matrix, columns))

    def neighbours(self, part: slice) -> "Points":
        """Some rows that follow each other, without a copy."""
        if part.stop - part.start == self.n_rows:
            return self
        if not is_sparse(self.matrix):
            return Points(self.matrix[part])
        offsets = self.matrix.indptr[part.start : part.stop + 1]
        stored = slice(int(offsets[0]), int(offsets[-1]))
        shape = part.stop - part.start, self.n_columns
        return Points(
            sp.csr_array((self.matrix.data[stored], self.matrix.indices[stored], offsets - offsets[0]), shape=shape)
        )

    def with_column(self, value: float) -> "Points":
        """The rows with one more column, of constants."""
        column = np.full((self.n_rows, 1), value, dtype=self.matrix.dtype)
        if is_sparse(self.matrix):
            return Points(sp.csr_array(sp.hstack([self.matrix, sp.csr_array(column)], format="csr")))
        return Points(np.hstack([self.matrix, column]))

    @cached_property
    def squared_norms(self) -> np.ndarray:
        """||x_i||², one for each row."""
        # Squares of huge entries may overflow: every bound is then infinite, and stays true.
        with np.errstate(over="ignore"):
            if type(self.matrix) is np.ndarray and self.matrix.size <= BLOCK_ENTRIES:
                return squared_norms(self._wide(slice(None)))
            norms = np.empty(self.n_rows)
            self._fill_squared_norms(norms)
        return norms

    def _fill_squared_norms(self, norms: np.ndarray) -> None:
        if not is_sparse(self.matrix):
            for part in self._blocks():
                norms[part] = squared_norms(self._wide(part))
            return
        for part in row_blocks(self.n_rows, self.entries_per_row * BLOCK_ENTRIES / SQUARED_ENTRIES):
            offsets = self.matrix.indptr[part.start : part.stop + 1]
            values = self.matrix.data[offsets[0] : offsets[-1]]
            norms[part] = _sums_of_squares(values, offsets - offsets[0])

    @cached_property
    def largest_norm(self) -> float:
        """max_i ||x_i||."""
        return math.sqrt(self.squared_norms.max(initial=0.0))

    @cached_property
    def typical_norm(self) -> float:
        """Root mean square of the norms, sqrt(mean ||x_i||²)."""
        return float(np.sqrt(self.squared_norms.mean())) if self.n_rows else 0.0

    @property
    def is_sparse(self) -> bool:
        """Whether the rows are compressed."""
        return bool(is_sparse(self.matrix))

    @cached_property
    def entries_per_row(self) -> float:
        """The mean number of stored entries of a row."""
        stored = self.matrix.nnz if is_sparse(self.matrix) else self.matrix.size
        return float(stored / max(1, self.n_rows))

    @property
    def _entries(self) -> np.ndarray:
        return np.asarray(self.matrix.data if is_sparse(self.matrix) else self.matrix)

    @cached_property
    def longest_row(self) -> int:
        """The largest number of stored entries in a row; it bounds the rounding error of a score."""
        if is_sparse(self.matrix):
            return int(np.diff(self.matrix.indptr).max(initial=0))
        return int(self.n_columns)

    @cached_property
    def nonnegative(self) -> bool:
        """Whether no entry is negative: an update then moves all scores in the same direction."""
        return bool(self._entries.size == 0 or self._entries.min() >= 0)

    @property
    def largest_entry(self) -> float:
        """max |x_ij|"""
        return float(np.abs(self._entries).max(initial=0.0))

    @property
    def all_zero(self) -> bool:
        """Whether all entries are zero; a norm of zero may also come from squares that underflow."""
        return not self._entries.any()

    def scores(self, w: np.ndarray) -> np.ndarray:
        """X w in float64, for one vector of coefficients (d,) or several (d, k)."""
        if self._in_one_product(w.size // max(1, self.n_columns)):
            return np.asarray(self.matrix @ w)
        result = np.empty((self.n_rows, *w.shape[1:]))
        for part in self._blocks():
            result[part] = self._wide(part) @ w
        return result

    def absolute_scores(self, w: np.ndarray) -> np.ndarray:
        """sum_j |x_ij w_j|, one for each row: the rounding error of a score is proportional to it."""
        result, sizes = np.empty(self.n_rows), np.abs(w)
        for part in self._blocks():
            result[part] = self._entrywise(part, np.abs) @ sizes
        return result

    def shared_entries(self, w: np.ndarray) -> np.ndarray:
        """Number of columns in which both the row and w differ from zero, one for each row."""
        result, used = np.empty(self.n_rows), (w != 0.0).astype(np.float64)
        for part in self._blocks():
            result[part] = (self.matrix[part] != 0.0).astype(np.float64) @ used
        return result

    def combination_around(self, place: np.ndarray, coefficients: np.ndarray) -> np.ndarray:
        """sum_i c_i (x_i - place) of a dense matrix, for one vector of coefficients (n,) or several (n, k)."""
        total = np.zeros((*coefficients.shape[1:], self.n_columns))
        for part in self._blocks():
            total += coefficients[part].T @ (self._wide(part) - place)
        return total.T

    def squares_of_columns(self, coefficients: np.ndarray | None = None) -> np.ndarray:
        """sum_i c_i x_ij², one for each column; without coefficients every c_i is one."""
        total = np.zeros(self.n_columns)
        for part in self._blocks():
            if coefficients is None and not is_sparse(self.matrix):
                rows = as_dense(self._wide(part))
                total += np.einsum("ij,ij->j", rows, rows)
            else:
                counts = np.ones(part.stop - part.start) if coefficients is None else coefficients[part]
                total += self._entrywise(part, np.square).T @ counts
        return total

    def squares_around(self, place: np.ndarray, coefficients: np.ndarray) -> np.ndarray:
        """sum_i c_i (x_ij - place_j)² of a dense matrix, one for each column."""
        total = np.zeros(self.n_columns)
        for part in self._blocks():
            differences = self._wide(part) - place
            total += coefficients[part] @ np.square(differences, out=differences)
        return total

    def combination(self, coefficients: np.ndarray) -> np.ndarray:
        """X^T c = sum_i c_i x_i in float64, for one vector of coefficients (n,) or several (n, k)."""
        if coefficients.ndim == 1 and np.count_nonzero(coefficients) < GATHER_SHARE * self.n_rows:
            used = np.flatnonzero(coefficients)
            return Points(self.matrix[used])._sum_rows(coefficients[used])
        return self._sum_rows(coefficients)

    def _sum_rows(self, coefficients: np.ndarray) -> np.ndarray:
        if self._in_one_product(coefficients.size // max(1, self.n_rows)):
            return np.asarray(self.matrix.T @ coefficients)
        total = np.zeros((self.n_columns, *coefficients.shape[1:]))
        for part in self._blocks():
            total += self._wide(part).T @ coefficients[part]
        return total

    def _in_one_product(self, n_vectors: int = 1) -> bool:
        """Whether a product with all rows needs no copy of them and does not take long."""
        check_interruption()
        is_short = self.n_rows * self.entries_per_row * n_vectors <= ENTRIES_PER_PRODUCT
        return bool(self.matrix.dtype == np.float64 and is_short)

    def _wide(self, part: slice) -> Matrix:
        """The rows of a block in float64."""
        return self.matrix[part].astype(np.float64, copy=False)

    def _entrywise(self, part: slice, function: Callable[[np.ndarray], np.ndarray]) -> Matrix:
        """A function of the entries of a block of rows; it must be zero at zero."""
        if not is_sparse(self.matrix):
            return function(as_dense(self._wide(part)))
        offsets = self.matrix.indptr[part.start : part.stop + 1]
        stored = slice(offsets[0], offsets[-1])
        entries = function(self.matrix.data[stored].astype(np.float64, copy=False))
        shape = part.stop - part.start, self.n_columns
        block: SparseMatrix = sp.csr_array((entries, self.matrix.indices[stored], offsets - offsets[0]), shape=shape)
        return block

    def _blocks(self) -> Iterator[slice]:
        return row_blocks(self.n_rows, self.entries_per_row)


def few_columns(matrix: Matrix) -> np.ndarray | None:
    """The non-empty columns in ascending order, where they are fewer than half of very many; else None."""
    if not is_sparse(matrix) or matrix.shape[1] <= WIDE:
        return None
    columns = np.unique(matrix.indices)
    if 2 * columns.size > matrix.shape[1]:
        return None
    return columns if columns.size else np.zeros(1, dtype=matrix.indices.dtype)


def only_columns(rows: Matrix, columns: np.ndarray) -> Matrix:
    """The rows restricted to these columns, which ascend; the cost is proportional to the stored entries."""
    if not is_sparse(rows):
        return rows[:, columns]
    places = np.searchsorted(columns, rows.indices)
    kept = columns[np.minimum(places, columns.size - 1)] == rows.indices
    offsets = np.concatenate([[0], np.cumsum(kept)])[rows.indptr].astype(rows.indptr.dtype)
    indices = places[kept].astype(rows.indices.dtype)
    found: SparseMatrix = sp.csr_array((rows.data[kept], indices, offsets), shape=(rows.shape[0], columns.size))
    return found


def squared_norms(rows: Matrix) -> np.ndarray:
    """||x||² of every row of a float64 matrix."""
    if is_sparse(rows):
        return _sums_of_squares(rows.data, rows.indptr)
    return np.asarray(np.vecdot(rows, rows))


def row_lengths(rows: Matrix) -> np.ndarray:
    """||x|| of every row, also where the squares overflow or underflow: rows are scaled by powers of two first."""
    dense = as_dense(rows).astype(np.float64)
    powers = np.frexp(np.abs(dense).max(axis=1, initial=0.0))[1]
    return np.asarray(np.ldexp(np.sqrt(squared_norms(np.ldexp(dense, -powers[:, None]))), powers))


def _sums_of_squares(values: np.ndarray, offsets: np.ndarray) -> np.ndarray:
    squares = np.square(values[: offsets[-1]], dtype=np.float64)
    is_filled = offsets[1:] > offsets[:-1]
    if is_filled.all():
        return np.add.reduceat(squares, offsets[:-1]) if is_filled.size else np.zeros(0)
    sums = np.zeros(is_filled.size)
    if is_filled.any():
        sums[is_filled] = np.add.reduceat(squares, offsets[:-1][is_filled])
    return sums


@dataclass(frozen=True)
class RowsAlone:
    """Rows without a problem, as engines take them."""

    points: Points

    def of_block(self, points: Points, targets: np.ndarray, weights: np.ndarray) -> "RowsAlone":  # noqa: ARG002
        """Other rows."""
        return RowsAlone(points)

    def without_rows(self) -> "RowsAlone":
        """No rows."""
        return RowsAlone(Points(np.empty((0, self.points.n_columns))))
