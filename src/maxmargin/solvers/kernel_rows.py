"""Rows of a kernel matrix, made through BLAS in blocks of columns, and kept up to a bound of memory."""

import numpy as np
import scipy.sparse as sp

from maxmargin.loops.smo import store_block
from maxmargin.problems.expansion import exponentials, one_side, other_side
from maxmargin.problems.kernel_svm import KernelSVMProblem
from maxmargin.problems.kernels import RadialBasis, UserFunction
from maxmargin.solvers.row_blocks import RowBlocks

# Columns are made in blocks of this many, which stay in a core's cache.
COLUMNS_PER_BLOCK = 1024
# Sparse rows are made dense where the array takes no more bytes than this, or than so many times the rows' own.
DENSE_BYTES = 1 << 27
DENSE_TIMES = 3.0


class KernelRows:
    """The rows of the kernel matrix that were used last, in at most ``megabytes``.

    Parameters
    ----------
    problem : KernelSVMProblem
    megabytes : float
    blocks : RowBlocks
    dtype : float32, which is twice as fast, or float64
    """

    def __init__(
        self, problem: KernelSVMProblem, megabytes: float, blocks: RowBlocks, dtype: type = np.float32
    ) -> None:
        self._kernel, self._blocks = problem.kernel, blocks
        n_rows = problem.points.n_rows
        self._dtype = dtype
        width = np.dtype(dtype).itemsize
        self.capacity = int(max(2, min(n_rows, megabytes * 2**20 // (width * max(1, n_rows)))))
        self.stored = np.empty((self.capacity, n_rows), dtype=dtype)
        self._matrix = rows_for_products(problem, dtype)
        self._squares: np.ndarray = problem.points.squared_norms.astype(dtype)
        # A copy of the rows can as well be one from whose products the RBF kernel's exponents come at once.
        own_copy = not sp.issparse(self._matrix) and self._matrix is not problem.points.matrix
        self._exponents = isinstance(problem.kernel, RadialBasis) and own_copy
        if self._exponents:
            self._matrix = one_side(self._matrix, self._squares, problem.kernel.gamma)  # type: ignore[union-attr]
        self._slot_of = np.full(n_rows, -1, dtype=np.int64)
        self._row_in = np.full(self.capacity, -1, dtype=np.int64)
        self._last_use = np.zeros(self.capacity, dtype=np.int64)
        self._clock = 0
        self.n_made = 0

    def slots(self, rows: np.ndarray) -> np.ndarray:
        """Where the rows are stored, making those that are missing; they are no more than the capacity."""
        self._clock += 1
        known = self._slot_of[rows]
        self._last_use[known[known >= 0]] = self._clock
        missing = rows[known < 0]
        if missing.size:
            free = np.argsort(self._last_use, kind="stable")[: missing.size]
            evicted = self._row_in[free]
            self._slot_of[evicted[evicted >= 0]] = -1
            self._row_in[free], self._slot_of[missing] = missing, free
            self._last_use[free] = self._clock
            self._make(missing, free)
        return self._slot_of[rows]

    def _make(self, rows: np.ndarray, slots: np.ndarray) -> None:
        self.n_made += rows.size
        if self._kernel is None or isinstance(self._kernel, UserFunction):
            values = self._matrix[rows] if self._kernel is None else self._kernel.gram(self._matrix[rows], self._matrix)
            self.stored[slots] = values
            return
        others = self._for_products(rows)

        def make_block(first: int, last: int) -> None:
            for start in range(first, last, COLUMNS_PER_BLOCK):
                part = slice(start, min(last, start + COLUMNS_PER_BLOCK))
                store_block(self._block(part, others, rows), slots, start, self.stored)

        n_rows = self._squares.size
        self._blocks.each(n_rows, make_block, max(1, n_rows // COLUMNS_PER_BLOCK))

    def _for_products(self, rows: np.ndarray) -> np.ndarray:
        """The rows as one side of the products: dense, and for the RBF kernel as the other side of its exponents."""
        others = self._matrix[rows]
        others = others.toarray() if sp.issparse(others) else others
        if not self._exponents:
            return others
        return other_side(others[:, :-2], self._squares[rows], self._kernel.gamma)  # type: ignore[union-attr]

    def _block(self, part: slice, others: np.ndarray, rows: np.ndarray) -> np.ndarray:
        """Kernel values of some rows with a block of all rows, one row each."""
        matrix = self._matrix[part]
        if sp.issparse(matrix):
            inner: np.ndarray = np.ascontiguousarray((matrix @ np.ascontiguousarray(others.T)).T)
        else:
            inner = others @ matrix.T
        if self._exponents:
            return exponentials(inner)
        squares = self._squares[rows], self._squares[part]
        return self._kernel.of_inner(inner, squares)  # type: ignore[union-attr]


def rows_for_products(problem: KernelSVMProblem, dtype: type) -> np.ndarray:
    """The rows in the kernel's precision, dense where that is not much larger: then BLAS multiplies them."""
    matrix = problem.points.matrix
    if problem.kernel is None or isinstance(problem.kernel, UserFunction):
        return matrix
    if sp.issparse(matrix):
        own = 12 * matrix.nnz
        if np.dtype(dtype).itemsize * matrix.shape[0] * matrix.shape[1] <= max(DENSE_BYTES, DENSE_TIMES * own):
            return matrix.astype(dtype).toarray()
    return matrix.astype(dtype, copy=False)
