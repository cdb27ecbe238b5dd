"""f(x) = sum of coefficients times k(x_j, x), for many x: through BLAS, in blocks that stay in a core's cache."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property
from itertools import pairwise
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


# Sums of products of whole numbers are exact in single precision up to this.
LARGEST_EXACT = 2.0**24


class RowBlock:
    """Some rows in float64, and what several sums over different supports want to know of them.

    Parameters
    ----------
    rows : array or sparse matrix
    """

    def __init__(self, rows: Any) -> None:
        self.rows = rows.astype(np.float64, copy=False)

    @cached_property
    def squares(self) -> np.ndarray:
        """||x||² of every row."""
        return squared_norms(self.rows)

    @cached_property
    def dense(self) -> np.ndarray:
        """The rows as an array."""
        return self.rows.toarray() if sp.issparse(self.rows) else self.rows

    @cached_property
    def in_single(self) -> np.ndarray | None:
        """The rows in single precision, where their inner products are exact in it: whole numbers, and not large."""
        if not float(self.squares.max(initial=0.0)) <= LARGEST_EXACT:
            return None
        single = self.dense.astype(np.float32)
        return single if np.array_equal(single, np.rint(self.dense)) else None


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
        if not self.in_threads:
            self._places = support
            return
        entries = support.shape[0] * support.shape[1]
        stored = support.nnz if sp.issparse(support) else entries
        self._dense = entries <= max(DENSE_ENTRIES, stored) and entries <= ZEROS_TO_ONE * max(1, stored)
        self._support = RowBlock(support)

    def of(self, block: RowBlock) -> np.ndarray:
        """The sums of some rows, (r, k)."""
        if self._kernel is None:
            return np.asarray(block.rows[:, self._places], dtype=np.float64) @ self._coefficients
        if not self.in_threads:
            return self._kernel.gram(block.rows, self._places) @ self._coefficients
        if self._dense and isinstance(self._kernel, RadialBasis):
            return self._of_exponents(block, self._kernel.gamma)
        rows = block.dense if self._dense else block.rows
        support = self._support.dense if self._dense else self._support.rows
        total = np.zeros((rows.shape[0], self._coefficients.shape[1]))
        for part in _parts(self._coefficients.shape[0]):
            squares = block.squares, self._support.squares[part]
            total += self._kernel.gram(rows, support[part], squares) @ self._coefficients[part]
        return total

    def _of_exponents(self, block: RowBlock, gamma: float) -> np.ndarray:
        """-gamma ||x - z||² = 2 gamma x·z - gamma ||x||² - gamma ||z||², then the exponentials' sums."""
        rows, support = block.in_single, self._support.in_single
        if rows is None or support is None:
            rows, support = block.dense, self._support.dense
        n_rows, n_support = rows.shape[0], self._coefficients.shape[0]
        of_rows, of_columns = -gamma * block.squares, -gamma * self._support.squares
        total = np.zeros((n_rows, self._coefficients.shape[1]))
        # One array for all blocks: fresh memory for each would cost as much as the exponentials.
        entries = n_rows * min(n_support, SUPPORT_PER_BLOCK)
        room = np.empty(entries)
        products = room if rows.dtype == np.float64 else np.empty(entries, dtype=np.float32)
        for part in _parts(n_support):
            shape = n_rows, part.stop - part.start
            inner, gram = (array[: shape[0] * shape[1]].reshape(shape) for array in (products, room))
            np.matmul(rows, support[part].T, out=inner)
            exponentiate(inner, 2.0 * gamma, of_rows, of_columns[part], gram)
            total += gram @ self._coefficients[part]
        return total


def _parts(n_support: int) -> list[slice]:
    starts = range(0, n_support, SUPPORT_PER_BLOCK)
    return [slice(start, min(n_support, start + SUPPORT_PER_BLOCK)) for start in starts]


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
        scores[part] = sums.of(RowBlock(matrix[part]))

    each_block(matrix.shape[0], fill, cpu_count() if sums.in_threads else 1)
    return scores


def each_block(n_rows: int, work: Callable[[slice], None], n_threads: int) -> None:
    """Call ``work`` for every block of the rows, in threads."""
    n_blocks = -(-n_rows // ROWS_PER_BLOCK)
    cuts = [n_rows * k // n_blocks for k in range(n_blocks + 1)]
    parts = [slice(first, last) for first, last in pairwise(cuts)]
    with one_blas_thread():
        if min(n_threads, len(parts)) <= 1:
            for part in parts:
                work(part)
            return
        with ThreadPoolExecutor(n_threads) as pool:
            list(pool.map(work, parts))
