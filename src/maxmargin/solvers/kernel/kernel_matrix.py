"""Blocks of a kernel matrix, made through BLAS in the precision that a solver needs."""

import threading
from typing import Any

import numpy as np
import scipy.sparse as sp

from maxmargin.loops.exponential import store_exponentials
from maxmargin.loops.smo import store_block
from maxmargin.problems.kernel_expansion import rows_at_once
from maxmargin.problems.kernel_svm import KernelSVMProblem
from maxmargin.problems.kernels import RadialBasis, built_in, pays_dense

# Columns are made in blocks of this many, which stay in a core's cache; fewer where rows are long.
COLUMNS_PER_BLOCK = 1024
# A copy of the rows in the solver's precision, sparse ones made dense, is kept where it takes no more bytes than this;
# else a block is converted when it is needed.
COPY_BYTES = 96 << 20


class KernelMatrix:
    """The rows of a problem, made ready for products, and blocks of their kernel matrix.

    Parameters
    ----------
    problem : KernelSVMProblem
    dtype : float32, which is twice as fast, or float64
    """

    def __init__(self, problem: KernelSVMProblem, dtype: type) -> None:
        self._kernel, self._dtype = problem.kernel, dtype
        self._matrix, self._rows = problem.points.matrix, problem.rows
        self._dense = pays_dense(self._matrix)
        self._squares: np.ndarray = problem.squared_norms.astype(dtype)
        n_columns = self._matrix.shape[1]
        self.most_rows = rows_at_once(self._matrix)
        small = problem.n_rows * n_columns * np.dtype(dtype).itemsize <= COPY_BYTES
        as_it_is = problem.rows is None and not sp.issparse(self._matrix) and self._matrix.dtype == dtype
        if self.in_threads and self._dense and small and not as_it_is:
            self._matrix, self._rows = self._converted(slice(None)), None
        # -gamma ||x - z||² = 2 gamma x·z - gamma ||x||² - gamma ||z||²
        self._gamma = problem.kernel.gamma if isinstance(problem.kernel, RadialBasis) else None
        self._terms: np.ndarray | None = (
            None if self._gamma is None else (-self._gamma * problem.squared_norms).astype(dtype)
        )
        self._rooms = threading.local()

    @property
    def in_threads(self) -> bool:
        """Whether blocks may be made in threads: a user's function is called by one at a time."""
        return built_in(self._kernel)

    def prepare(self, rows: np.ndarray) -> Any:
        """Make some rows, no more than ``most_rows``, ready to be multiplied by all the others."""
        if not self.in_threads:
            return rows
        others = self._converted(rows)
        of_rows = self._squares[rows] if self._terms is None else self._terms[rows]
        if self._gamma is not None:
            others = others * self._dtype(2.0 * self._gamma)
        return others.T.tocsr() if sp.issparse(others) else others, of_rows

    def fill(self, rows: np.ndarray, columns: np.ndarray, stored: np.ndarray, first: int) -> None:
        """Put the kernel values of some rows with others into the first lines of ``stored``, from a column on."""
        for start in range(0, rows.size, self.most_rows):
            slots = np.arange(start, min(rows.size, start + self.most_rows))
            prepared = self.prepare(rows[slots])
            for left in range(0, columns.size, self.most_rows):
                self.store(prepared, columns[left : left + self.most_rows], slots, first + left, stored)

    def store(self, prepared: Any, columns: slice | np.ndarray, slots: np.ndarray, first: int, stored: Any) -> None:
        """Put the kernel values of prepared rows with others into ``stored``, one row a slot, from ``first`` on."""
        if not self.in_threads:
            values = self._known_values(prepared, columns)
            stored[slots, first : first + values.shape[1]] = values
            return
        others, of_rows = prepared
        matrix = self._converted(columns)
        if sp.issparse(matrix):
            inner = np.ascontiguousarray((matrix @ others).toarray().T)
        else:
            inner = np.matmul(others, matrix.T, out=self._room(others.shape[0], matrix.shape[0]))
        if self._terms is not None:
            store_exponentials(inner, (of_rows, self._terms[columns]), slots, first, stored)
        else:
            values = self._kernel.of_inner(inner, (of_rows, self._squares[columns]))  # type: ignore[union-attr]
            store_block(values, slots, first, stored)

    def _known_values(self, rows: np.ndarray, columns: slice | np.ndarray) -> np.ndarray:
        """Values of a gram matrix, or of a user's function."""
        if self._kernel is None:
            return self._matrix[np.ix_(self._places(rows), self._places(columns))]
        return self._kernel.gram(self._matrix[self._places(rows)], self._matrix[self._places(columns)])

    def _places(self, rows: slice | np.ndarray) -> np.ndarray:
        """Where rows of the problem are among all points."""
        return np.arange(self._squares.size)[rows] if self._rows is None else self._rows[rows]

    def _converted(self, rows: slice | np.ndarray) -> Any:
        """Some rows of the problem in the solver's precision."""
        part = self._matrix[rows if self._rows is None else self._rows[rows]]
        if sp.issparse(part) and self._dense:
            return part.astype(self._dtype).toarray()
        return part.astype(self._dtype, copy=False)

    def _room(self, n_rows: int, n_columns: int) -> np.ndarray:
        """An array of this thread's own: fresh memory for every block would cost more than the products."""
        size = n_rows * n_columns
        room = getattr(self._rooms, "array", None)
        if room is None or room.size < size:
            room = self._rooms.array = np.empty(size, dtype=self._dtype)
        return room[:size].reshape(n_rows, n_columns)
