"""f(x) = sum of coefficients times k(x_j, x), for many x: through BLAS, in blocks that stay in a core's cache."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import scipy.sparse as sp
from joblib import cpu_count

from maxmargin.data.blas import one_blas_thread
from maxmargin.data.points import squared_norms
from maxmargin.loops.exponential import exponentiate
from maxmargin.problems.kernels import Kernel, RadialBasis, UserFunction

# The kernel's values of a block of rows with a block of the support.
ROWS_PER_BLOCK = 512
SUPPORT_PER_BLOCK = 1024
# Sparse rows are multiplied as dense ones where no more than this many of their entries are zeros to one that is not,
# and the support has no more entries than that.
ZEROS_TO_ONE = 40.0
DENSE_ENTRIES = 1 << 25


class KernelSums:
    """Sums of kernels with the same support, times coefficients of shape (s, k), for blocks of rows, in float64.

    Parameters
    ----------
    kernel : Kernel, or None for a gram matrix
    support : matrix of s rows; or, where ``kernel`` is None, columns of the gram matrix
    coefficients : ndarray of shape (s, k)
    """

    def __init__(self, kernel: Kernel | None, support: Any, coefficients: np.ndarray) -> None:
        self._kernel, self._coefficients = kernel, coefficients
        self.in_threads = not (kernel is None or isinstance(kernel, UserFunction))
        self._support = support
        if not self.in_threads:
            return
        entries = support.shape[0] * support.shape[1]
        stored = support.nnz if sp.issparse(support) else entries
        self._dense = entries <= max(DENSE_ENTRIES, stored) and entries <= ZEROS_TO_ONE * max(1, stored)
        support = support.astype(np.float64, copy=False)
        self._squares = squared_norms(support)
        if self._dense and sp.issparse(support):
            support = support.toarray()
        # -gamma ||x - z||² = 2 gamma x·z - gamma ||x||² - gamma ||z||²
        self._gamma = kernel.gamma if self._dense and isinstance(kernel, RadialBasis) else None
        if self._gamma is not None:
            support = support * (2.0 * self._gamma)
        self._support = support

    def of(self, rows: Any) -> np.ndarray:
        """The sums of some rows, (r, k)."""
        if self._kernel is None:
            return np.asarray(rows[:, self._support], dtype=np.float64) @ self._coefficients
        if not self.in_threads:
            return self._kernel.gram(rows, self._support) @ self._coefficients
        rows = rows.astype(np.float64, copy=False)
        squares = squared_norms(rows)
        if self._dense and sp.issparse(rows):
            rows = rows.toarray()
        return self._of_kernel(rows, squares) if self._gamma is None else self._of_exponents(rows, squares)

    def _of_kernel(self, rows: Any, squares: np.ndarray) -> np.ndarray:
        total = np.zeros((rows.shape[0], self._coefficients.shape[1]))
        for first in range(0, self._coefficients.shape[0], SUPPORT_PER_BLOCK):
            part = slice(first, first + SUPPORT_PER_BLOCK)
            gram = self._kernel.gram(rows, self._support[part], (squares, self._squares[part]))  # type: ignore[union-attr]
            total += gram @ self._coefficients[part]
        return total

    def _of_exponents(self, rows: np.ndarray, squares: np.ndarray) -> np.ndarray:
        assert self._gamma is not None
        n_rows, n_support = rows.shape[0], self._coefficients.shape[0]
        of_rows, of_columns = -self._gamma * squares, -self._gamma * self._squares
        total = np.zeros((n_rows, self._coefficients.shape[1]))
        # One array for all blocks: fresh memory for each would cost as much as the exponentials.
        room = np.empty(n_rows * min(n_support, SUPPORT_PER_BLOCK))
        for first in range(0, n_support, SUPPORT_PER_BLOCK):
            part = slice(first, min(n_support, first + SUPPORT_PER_BLOCK))
            gram = room[: n_rows * (part.stop - first)].reshape(n_rows, part.stop - first)
            np.matmul(rows, self._support[part].T, out=gram)
            exponentiate(gram, of_rows, of_columns[part])
            total += gram @ self._coefficients[part]
        return total


def expansion_scores(kernel: Kernel | None, matrix: Any, support: Any, coefficients: np.ndarray) -> np.ndarray:
    """The sums of all rows' kernels with the support, times coefficients (s, k), in float64.

    ``support`` are rows; or, where ``kernel`` is None, the columns of a gram matrix. Blocks run in threads; every row's
    sum is made in the same order.
    """
    scores = np.zeros((matrix.shape[0], coefficients.shape[1]))
    if coefficients.shape[0] == 0:
        return scores
    sums = KernelSums(kernel, support, coefficients)

    def fill(part: slice) -> None:
        scores[part] = sums.of(matrix[part])

    each_block(matrix.shape[0], fill, cpu_count() if sums.in_threads else 1)
    return scores


def each_block(n_rows: int, work: Callable[[slice], None], n_threads: int) -> None:
    """Call ``work`` for every block of the rows, in threads."""
    parts = [slice(first, min(n_rows, first + ROWS_PER_BLOCK)) for first in range(0, n_rows, ROWS_PER_BLOCK)]
    with one_blas_thread():
        if min(n_threads, len(parts)) <= 1:
            for part in parts:
                work(part)
            return
        with ThreadPoolExecutor(n_threads) as pool:
            list(pool.map(work, parts))
