"""Kernel values of the solvers: blocks of the kernel matrix.

Inner products of dense rows are computed by BLAS. Those of sparse rows, and of dense ones that are mostly zeros, go
through the stored entries of the other rows, column by column (an inverted index): only entries that meet are
multiplied.
"""

from collections.abc import Callable, Iterator
from functools import cached_property, partial
from typing import TypeAlias

import numpy as np
import scipy.sparse as sp

from maxmargin.data import Points
from maxmargin.data.interruption import check_interruption
from maxmargin.data.rows import Matrix, Rows, SparseMatrix, as_dense, is_sparse, rows_of
from maxmargin.engine.threads import MOST_BLOCKS, RangeThreads, ranges
from maxmargin.loops.exponential import store_exponentials
from maxmargin.loops.products import add_sparse_products, count_entries, store_entries
from maxmargin.loops.smo import mirror_block, store_block
from maxmargin.problems.kernel_expansion import Scratch, dense_rows_at_once
from maxmargin.problems.kernels import Kernel, RadialBasis, built_in
from maxmargin.problems.sparse_products import ColumnSplit, SplitRows
from maxmargin.solvers.core import Monitor

# Columns per block: such a block of kernel values stays in a core's cache. Fewer where rows are long.
COLUMNS_PER_BLOCK = 1024
# The fewest columns of a thread's block, for BLAS to be fast, and the multiplications that are worth a thread.
FEWEST_COLUMNS = 256
PRODUCTS_PER_THREAD = 1 << 22
# Rows and columns of a block of a symmetric matrix, of which one half is evaluated.
TILE = 512
# Kernel values of sparse rows that are evaluated before they are stored: they stay in a core's cache.
SPARSE_VALUES = 1 << 17
# Bytes: a copy of the rows in the solver's precision, sparse rows made dense, is kept up to this size. Larger data are
# converted block by block.
COPY_BYTES = 96 << 20
# Entries that one column counts for when columns are distributed to threads: a block of some dozen rows is read or
# written for each.
WORK_PER_COLUMN = 64.0
# Multiplications in the kernel values that are evaluated between two checks of the limits: some tenths of a second. An
# exponential, and a product of two sparse entries that meet in a column, take as long as this many (measured).
PRODUCTS_PER_CALL = 1 << 32
# The same for sparse rows, which are computed one after the other, while BLAS is fast for many together only.
PRODUCTS_PER_SPARSE_CALL = 1 << 29
PRODUCTS_PER_EXPONENTIAL = 32
PRODUCTS_PER_SPARSE = 32
# The fewest rows of a dense array that are searched for zeros, and how many of them are looked at.
SMALLEST_WITH_ZEROS = 1024
SAMPLED_ROWS = 256


def products_of_split(columns: ColumnSplit) -> float:
    """Multiplications of an inner product of sparse rows, or what takes as long."""
    return columns.n_frequent + PRODUCTS_PER_SPARSE * columns.meeting_entries


def has_many_zeros(matrix: Matrix, rows: np.ndarray) -> bool:
    """Whether the products of some rows of a dense array take less than half the time where zeros are left out.

    As in data of zeros and ones; a sample of the rows decides.
    """
    if rows.size < SMALLEST_WITH_ZEROS:
        return False
    sample = sp.csr_array(matrix[rows[:: rows.size // SAMPLED_ROWS]])
    answer: bool = 2.0 * (products_of_split(ColumnSplit(sample)) + PRODUCTS_PER_EXPONENTIAL) < matrix.shape[1]
    return answer


def csr_rows(matrix: np.ndarray, rows: np.ndarray, dtype: type) -> SparseMatrix:
    """Some rows of a dense array as a sparse matrix."""
    offsets = np.zeros(rows.size + 1, dtype=np.int64)
    count_entries(matrix, rows, offsets[1:])
    np.cumsum(offsets, out=offsets)
    kind = np.int32 if max(int(offsets[-1]), matrix.shape[1]) <= np.iinfo(np.int32).max else np.int64
    columns, values = np.empty(offsets[-1], dtype=kind), np.empty(offsets[-1], dtype=dtype)
    store_entries(matrix, rows, offsets, columns, values)
    found: SparseMatrix = sp.csr_array((values, columns, offsets.astype(kind)), shape=(rows.size, matrix.shape[1]))
    return found


# The left operand of products: the rows' numbers, or the rows themselves with what they add to the exponent.
Prepared: TypeAlias = np.ndarray | tuple[np.ndarray, np.ndarray]


class KernelMatrix:
    """Kernel matrix of some points; values are evaluated on request and not stored.

    Parameters
    ----------
    points : Points
    kernel : Kernel, or None where the points are rows of the Gram matrix
    dtype : float32, which is twice as fast, or float64
    rows : ndarray of int, optional
        The points that the matrix is about, all if None. Other indices count within these.
    engine : RangeThreads, optional
        Threads for whole rows of the matrix, with ``WORK_PER_COLUMN``; one if None.
    """

    def __init__(
        self,
        points: Points,
        kernel: Kernel | None,
        dtype: type,
        rows: np.ndarray | None = None,
        engine: RangeThreads | None = None,
    ) -> None:
        self.dtype, self.engine = dtype, engine or RangeThreads(WORK_PER_COLUMN, 1)
        self.n_rows = points.n_rows if rows is None else rows.size
        # A user's function is called by one thread at a time.
        self.in_threads = built_in(kernel)
        self._kernel, self._matrix, self._rows = kernel, points.matrix, rows
        n_columns = products = self._matrix.shape[1]
        self._split: SplitRows | None = None
        if self.in_threads and is_sparse(self._matrix):
            columns = ColumnSplit(self._matrix)
            products = products_of_split(columns)
            if products < n_columns:
                self._split = columns.of((self._matrix if rows is None else self._matrix[rows]).astype(dtype))
        elif self.in_threads:
            places = np.arange(self.n_rows) if rows is None else rows
            if has_many_zeros(self._matrix, places):
                stored = csr_rows(as_dense(self._matrix), places, dtype)
                check_interruption()
                columns = ColumnSplit(stored)
                products, self._split = products_of_split(columns), columns.of(stored)
        self._rows_at_once = dense_rows_at_once(n_columns)
        # Multiplications of one kernel value, or what takes as long.
        self.products_per_value: float = min(products, n_columns) + PRODUCTS_PER_EXPONENTIAL
        # Rows of the matrix that are evaluated between two checks of the limits.
        most = PRODUCTS_PER_CALL if self._split is None else PRODUCTS_PER_SPARSE_CALL
        self.rows_per_call = max(1, int(most / (self.products_per_value * max(1, self.n_rows))))
        small = self._split is None and self.n_rows * n_columns * np.dtype(dtype).itemsize <= COPY_BYTES
        as_it_is = rows is None and not is_sparse(self._matrix) and self._matrix.dtype == dtype
        if self.in_threads and small and not as_it_is:
            self._matrix, self._rows = self._converted(slice(None)), None
        if is_sparse(points.matrix) and dtype == np.float64 and not is_sparse(self._matrix):
            # Those of the dense rows: sums in another order have other bits, and so would the models.
            squares = Points(self._matrix).squared_norms
        else:
            squares = points.squared_norms if rows is None else points.squared_norms[rows]
        self._squares: np.ndarray = squares.astype(dtype)
        # -gamma ||x - z||² = 2 gamma x·z - gamma ||x||² - gamma ||z||²
        self._gamma = kernel.gamma if isinstance(kernel, RadialBasis) else None
        self._terms: np.ndarray | None = None if self._gamma is None else (-self._gamma * squares).astype(dtype)
        self._scratch = Scratch()

    @cached_property
    def _by_columns(self) -> Rows:
        """All rows of sparse data, column by column, without frequent columns."""
        assert self._split is not None
        return rows_of(self._split.rest.T.tocsr())

    def block(self, rows: np.ndarray, columns: np.ndarray, out: np.ndarray, first: int = 0) -> np.ndarray:
        """Write k(x_i, x_j), i in ``rows`` and j in ``columns``, to the first rows of ``out``, from a column on.

        Returns ``out``.
        """
        if self._split is not None:
            others = self._split.part(columns)
            by_columns = rows_of(others.rest.T.tocsr())
            slots = np.arange(rows.size)
            self.engine.run(list(self._sparse_jobs(rows, slots, by_columns, others.dense, columns, first, out)))
        else:
            self._store_block(rows, columns, out, first)
        if columns is rows:
            places = np.arange(rows.size)
            self._set_diagonal(places, first + places, out)
        return out

    def _store_block(self, rows: np.ndarray, columns: np.ndarray, out: np.ndarray, first: int) -> None:
        size = min(TILE, self._rows_at_once)

        def store(start: int) -> None:
            slots = np.arange(start, min(rows.size, start + size))
            prepared = self._prepared(rows[slots])
            for left in range(0, columns.size, self._rows_at_once):
                self._store(prepared, columns[left : left + self._rows_at_once], slots, first + left, out)

        jobs = [partial(store, start) for start in range(0, rows.size, size)]
        if self.in_threads:
            self.engine.run(jobs)
        else:
            for job in jobs:
                job()

    def whole_rows(self, rows: np.ndarray, slots: np.ndarray, out: np.ndarray) -> None:
        """Write k(x_i, x_j), i in ``rows`` and all j, to the rows ``slots`` of ``out``, in threads."""
        if self._split is not None:
            by_columns, dense = self._by_columns, self._split.dense
            self.engine.run(list(self._sparse_jobs(rows, slots, by_columns, dense, slice(None), 0, out)))
            self._set_diagonal(slots, rows, out)
            return
        size = min(COLUMNS_PER_BLOCK, self._rows_at_once)
        for begin in range(0, rows.size, self._rows_at_once):
            few = slots[begin : begin + self._rows_at_once]
            prepared = self._prepared(rows[begin : begin + self._rows_at_once])

            def store(first: int, last: int, prepared: Prepared = prepared, few: np.ndarray = few) -> None:
                for start in range(first, last, size):
                    self._store(prepared, slice(start, min(last, start + size)), few, start, out)

            products = few.size * self.n_rows * self.products_per_value
            most = min(MOST_BLOCKS, self.n_rows // FEWEST_COLUMNS, int(products / PRODUCTS_PER_THREAD))
            n_ranges = max(1, most) if self.in_threads else 1
            self.engine.run([partial(store, *ends) for ends in ranges(self.n_rows, n_ranges)])
        self._set_diagonal(slots, rows, out)

    def whole(self, out: np.ndarray, monitor: Monitor) -> bool:
        """Write all values to ``out``, in threads; return whether the limits left the time for that.

        Of the values of a built-in kernel, which are symmetric, one half is evaluated.
        """
        by_blas = self.in_threads and self._split is None
        size = min(TILE, self._rows_at_once) if by_blas else self.rows_per_call
        jobs: list[Callable[[], None]] = []
        n_values = 0
        for first in range(0, self.n_rows, size):
            last = min(self.n_rows, first + size)
            if first and n_values * self.products_per_value >= PRODUCTS_PER_CALL:
                self.engine.run(jobs, alike=False)
                jobs, n_values = [], 0
                if monitor.must_stop():
                    return False
            n_values += (last - first) * last
            rows = np.arange(first, last)
            if by_blas:
                prepared = self._prepared(rows)
                for left in range(0, last, size):
                    jobs.append(partial(self._store_symmetric, prepared, rows, left, min(last, left + size), out))
            else:
                self.whole_rows(rows, rows, out)
        self.engine.run(jobs, alike=False)
        if by_blas:
            places = np.arange(self.n_rows)
            self._set_diagonal(places, places, out)
        return True

    def _set_diagonal(self, slots: np.ndarray, rows: np.ndarray, out: np.ndarray) -> None:
        """Set k(x, x) of the RBF kernel, of which rounding leaves less than one where gamma is large."""
        if self._gamma is not None:
            out[slots, rows] = 1.0

    def _store_symmetric(self, prepared: Prepared, rows: np.ndarray, first: int, last: int, out: np.ndarray) -> None:
        """Store a block on or below the diagonal, and its transpose."""
        self._store(prepared, slice(first, last), rows, first, out)
        if first != rows[0]:
            mirror_block(out, int(rows[0]), int(rows[-1]) + 1, first, last)

    def _prepared(self, rows: np.ndarray) -> Prepared:
        """The left operand of the products of some rows, no more than ``rows_at_once``, with all others."""
        if not self.in_threads:
            return rows
        others = self._converted(rows)
        if self._gamma is not None:
            others = others * self.dtype(2.0 * self._gamma)
        return others, self._terms_of(rows)

    def _terms_of(self, rows: slice | np.ndarray) -> np.ndarray:
        """What a row adds to the exponent of the RBF kernel; ||x||² for other kernels."""
        return self._squares[rows] if self._terms is None else self._terms[rows]

    def _store(
        self, prepared: Prepared, columns: slice | np.ndarray, slots: np.ndarray, first: int, out: np.ndarray
    ) -> None:
        if isinstance(prepared, np.ndarray):
            values = self._known_values(prepared, columns)
            out[slots, first : first + values.shape[1]] = values
            return
        others, of_rows = prepared
        matrix = self._converted(columns)
        inner = np.matmul(others, matrix.T, out=self._scratch.array((others.shape[0], matrix.shape[0]), self.dtype))
        self._store_values(inner, (of_rows, self._terms_of(columns)), slots, first, out)

    def _store_values(
        self, inner: np.ndarray, terms: tuple[np.ndarray, np.ndarray], slots: np.ndarray, first: int, out: np.ndarray
    ) -> None:
        """Store the kernel values of inner products, which are overwritten."""
        if self._terms is not None:
            store_exponentials(inner, terms, slots, first, out)
        else:
            with np.errstate(over="ignore", invalid="ignore"):
                values = self._kernel.of_inner(inner, terms)  # type: ignore[union-attr]
            store_block(values, slots, first, out)

    def _sparse_jobs(
        self,
        rows: np.ndarray,
        slots: np.ndarray,
        by_columns: Rows,
        dense: np.ndarray,
        columns: slice | np.ndarray,
        first: int,
        out: np.ndarray,
    ) -> Iterator[Callable[[], None]]:
        """Jobs that store kernel values of sparse rows with others, given column by column and by frequent columns."""
        assert self._split is not None
        left, of_rows, of_columns = self._split.part(rows), self._terms_of(rows), self._terms_of(columns)
        if self._gamma is not None:
            left = SplitRows(*(part * self.dtype(2.0 * self._gamma) for part in left))
        rest, size = rows_of(left.rest), max(1, SPARSE_VALUES // max(1, of_columns.size))

        def store(begin: int, end: int) -> None:
            inner = self._scratch.array((end - begin, of_columns.size), self.dtype)
            np.matmul(left.dense[begin:end], dense.T, out=inner)
            add_sparse_products(rest, begin, by_columns, inner)
            self._store_values(inner, (of_rows[begin:end], of_columns), slots[begin:end], first, out)

        for begin in range(0, rows.size, size):
            yield partial(store, begin, min(rows.size, begin + size))

    def _known_values(self, rows: np.ndarray, columns: slice | np.ndarray) -> np.ndarray:
        """Values of a Gram matrix, or of a user's function."""
        if self._kernel is None:
            # A Gram matrix is dense.
            return self._matrix[np.ix_(self._places(rows), self._places(columns))]  # type: ignore[return-value]
        return self._kernel.gram(self._matrix[self._places(rows)], self._matrix[self._places(columns)])

    def _places(self, rows: slice | np.ndarray) -> np.ndarray:
        """Positions among all points."""
        return np.arange(self.n_rows)[rows] if self._rows is None else self._rows[rows]

    def _converted(self, rows: slice | np.ndarray) -> np.ndarray:
        """Some rows in the solver's precision."""
        part = self._matrix[rows if self._rows is None else self._rows[rows]]
        if is_sparse(part):
            return part.astype(self.dtype).toarray()
        return part.astype(self.dtype, copy=False)
