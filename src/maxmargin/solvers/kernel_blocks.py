"""Blocks of a kernel matrix, made through BLAS in the precision that a solver needs."""

import threading
from typing import Any

import numpy as np
import scipy.sparse as sp

from maxmargin.loops.exponential import store_exponentials
from maxmargin.loops.smo import store_block
from maxmargin.problems.kernel_svm import KernelSVMProblem
from maxmargin.problems.kernels import Kernel, RadialBasis, UserFunction

# Columns are made in blocks of this many, which stay in a core's cache.
COLUMNS_PER_BLOCK = 1024
# Sparse rows are made dense where the array takes no more bytes than this, or than so many times the rows' own.
DENSE_BYTES = 1 << 27
DENSE_TIMES = 3.0


class KernelBlocks:
    """The rows of a problem, made ready for products, and blocks of their kernel matrix.

    Parameters
    ----------
    problem : KernelSVMProblem
    dtype : float32, which is twice as fast, or float64
    """

    def __init__(self, problem: KernelSVMProblem, dtype: type) -> None:
        self._kernel, self._dtype = problem.kernel, dtype
        self._columns = problem.columns_of(np.arange(problem.n_rows)) if problem.kernel is None else None
        self._matrix = rows_for_products(problem, dtype)
        self._squares: np.ndarray = problem.squared_norms.astype(dtype)
        # -gamma ||x - z||² = 2 gamma x·z - gamma ||x||² - gamma ||z||²
        self._gamma = problem.kernel.gamma if isinstance(problem.kernel, RadialBasis) else None
        self._terms: np.ndarray | None = (
            None if self._gamma is None else (-self._gamma * problem.squared_norms).astype(dtype)
        )
        self._rooms = threading.local()

    @property
    def in_threads(self) -> bool:
        """Whether blocks may be made in threads: a user's function is called by one at a time."""
        return self._kernel is not None and not isinstance(self._kernel, UserFunction)

    def prepare(self, rows: np.ndarray) -> Any:
        """Make some rows ready to be multiplied by all the others."""
        if not self.in_threads:
            return rows
        others = self._matrix[rows]
        others = others.toarray() if sp.issparse(others) else others
        if self._gamma is None or self._terms is None:
            return others, self._squares[rows]
        return others * self._dtype(2.0 * self._gamma), self._terms[rows]

    def store(self, prepared: Any, columns: slice | np.ndarray, slots: np.ndarray, first: int, stored: Any) -> None:
        """Put the kernel values of prepared rows with others into ``stored``, one row a slot, from ``first`` on."""
        if not self.in_threads:
            values = self._known_values(prepared, columns)
            stored[slots, first : first + values.shape[1]] = values
            return
        others, of_rows = prepared
        matrix = self._matrix[columns]
        if sp.issparse(matrix):
            inner = np.ascontiguousarray((matrix @ np.ascontiguousarray(others.T)).T)
        else:
            inner = np.matmul(others, matrix.T, out=self._room(others.shape[0], matrix.shape[0]))
        if self._terms is not None:
            store_exponentials(inner, (of_rows, self._terms[columns]), slots, first, stored)
        else:
            values = self._kernel.of_inner(inner, (of_rows, self._squares[columns]))  # type: ignore[union-attr]
            store_block(values, slots, first, stored)

    def _known_values(self, rows: np.ndarray, columns: slice | np.ndarray) -> np.ndarray:
        """Values of a gram matrix, or of a user's function."""
        kernel: Kernel | None = self._kernel
        if kernel is None:
            assert self._columns is not None
            return self._matrix[np.ix_(self._columns[rows], self._columns[columns])]
        return kernel.gram(self._matrix[rows], self._matrix[columns])

    def _room(self, n_rows: int, n_columns: int) -> np.ndarray:
        """An array of this thread's own: fresh memory for every block would cost more than the products."""
        size = n_rows * n_columns
        room = getattr(self._rooms, "array", None)
        if room is None or room.size < size:
            room = self._rooms.array = np.empty(size, dtype=self._dtype)
        return room[:size].reshape(n_rows, n_columns)


def rows_for_products(problem: KernelSVMProblem, dtype: type) -> Any:
    """The rows in the kernel's precision, dense where that is not much larger: then BLAS multiplies them."""
    matrix = problem.points.matrix
    if problem.kernel is None:
        return matrix
    if problem.rows is not None:
        matrix = matrix[problem.rows]
    if isinstance(problem.kernel, UserFunction):
        return matrix
    if sp.issparse(matrix):
        own = 12 * matrix.nnz
        if np.dtype(dtype).itemsize * matrix.shape[0] * matrix.shape[1] <= max(DENSE_BYTES, DENSE_TIMES * own):
            return matrix.astype(dtype).toarray()
    return matrix.astype(dtype, copy=False)
