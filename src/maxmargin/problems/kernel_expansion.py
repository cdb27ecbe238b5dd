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
from maxmargin.data.points import WIDE, few_columns, only_columns, squared_norms
from maxmargin.loops.exponential import exponentiate
from maxmargin.problems.kernels import Kernel, RadialBasis, built_in, pays_dense

# The kernel's values of a block of rows with a block of the support; fewer of them where rows are long.
ROWS_PER_BLOCK = 512
SUPPORT_PER_BLOCK = 1024
ENTRIES_PER_BLOCK = 1 << 22
# Of very many columns, sparse rows are never made dense.
SPARSE_ROWS_PER_BLOCK = 512
# A support of so many entries is kept as it is multiplied; a larger one is made ready block by block, every time.
KEPT_ENTRIES = 1 << 23
# Sums of products of whole numbers are exact in single precision up to this.
LARGEST_EXACT = 2.0**24


class RowBlock:
    """Some rows in float64, and what several sums over different supports want to know of them.

    Parameters
    ----------
    rows : array or sparse matrix
    columns : ndarray of int, optional
        The only ones that count in products; all count in the rows' lengths.
    """

    def __init__(self, rows: Any, columns: np.ndarray | None = None) -> None:
        self._whole = rows.astype(np.float64, copy=False)
        self.rows = self._whole if columns is None else only_columns(self._whole, columns)

    @cached_property
    def squares(self) -> np.ndarray:
        """||x||² of every row; infinite where that overflows."""
        with np.errstate(over="ignore"):
            return squared_norms(self._whole)

    @cached_property
    def dense(self) -> np.ndarray:
        """The rows as an array."""
        return self.rows.toarray() if sp.issparse(self.rows) else self.rows

    @cached_property
    def in_single(self) -> np.ndarray | None:
        """The rows in single precision, where their inner products are exact in it: whole numbers, and not large."""
        if not float(self.squares.max(initial=0.0)) <= LARGEST_EXACT:
            return None
        return self.dense.astype(np.float32) if np.array_equal(self.dense, np.rint(self.dense)) else None


class KernelSums:
    """Sums of kernels with the same support, times coefficients of shape (s, k), for blocks of rows, in float64.

    Parameters
    ----------
    kernel : Kernel, or None for a gram matrix
    matrix : matrix, of which some rows are the support; not used where ``kernel`` is None
    places : ndarray of int, the rows of the support; where ``kernel`` is None, columns of the gram matrix
    coefficients : ndarray of shape (s, k)
    """

    def __init__(self, kernel: Kernel | None, matrix: Any, places: np.ndarray, coefficients: np.ndarray) -> None:
        self._kernel, self._matrix, self._places, self._coefficients = kernel, matrix, places, coefficients
        self.in_threads = built_in(kernel)
        self._dense = pays_dense(matrix)
        size = min(SUPPORT_PER_BLOCK, rows_at_once(matrix))
        starts = range(0, places.size, size)
        self._parts = [slice(start, min(places.size, start + size)) for start in starts]
        self._kept: list[RowBlock] | None = None
        entries_per_row = matrix.shape[1] if self._dense else matrix.nnz / matrix.shape[0]
        if self.in_threads and places.size * entries_per_row <= KEPT_ENTRIES:
            self._kept = [RowBlock(matrix[places[part]]) for part in self._parts]

    def of(self, block: RowBlock) -> np.ndarray:
        """The sums of some rows, (r, k)."""
        total = np.zeros((block.rows.shape[0], self._coefficients.shape[1]))
        if self._kernel is None:
            total += np.asarray(block.rows[:, self._places], dtype=np.float64) @ self._coefficients
            return total
        room = _Room()
        for k, part in enumerate(self._parts):
            support = RowBlock(self._matrix[self._places[part]]) if self._kept is None else self._kept[k]
            total += self._values(block, support, room) @ self._coefficients[part]
        return total

    def _values(self, block: RowBlock, support: RowBlock, room: "_Room") -> np.ndarray:
        assert self._kernel is not None
        if not self.in_threads:
            return self._kernel.gram(block.rows, support.rows)
        if self._dense and isinstance(self._kernel, RadialBasis):
            return _of_exponents(block, support, self._kernel.gamma, room)
        rows, others = (block.dense, support.dense) if self._dense else (block.rows, support.rows)
        return self._kernel.gram(rows, others, (block.squares, support.squares))


class _Room:
    """Arrays that serve block after block: fresh memory for each would cost as much as the exponentials."""

    def __init__(self) -> None:
        self._arrays: dict[Any, np.ndarray] = {}

    def array(self, shape: tuple[int, int], dtype: Any) -> np.ndarray:
        """An array of that shape, with anything in it."""
        size, array = shape[0] * shape[1], self._arrays.get(dtype)
        if array is None or array.size < size:
            array = self._arrays[dtype] = np.empty(size, dtype=dtype)
        return array[:size].reshape(shape)


def _of_exponents(block: RowBlock, support: RowBlock, gamma: float, room: _Room) -> np.ndarray:
    """-gamma ||x - z||² = 2 gamma x·z - gamma ||x||² - gamma ||z||², then the exponentials."""
    rows, others = block.in_single, support.in_single
    if rows is None or others is None:
        rows, others = block.dense, support.dense
    shape = rows.shape[0], others.shape[0]
    gram = room.array(shape, np.float64)
    inner = gram if rows.dtype == np.float64 else room.array(shape, np.float32)
    np.matmul(rows, others.T, out=inner)
    exponentiate(inner, 2.0 * gamma, -gamma * block.squares, -gamma * support.squares, gram)
    return gram


def expansion_scores(
    kernel: Kernel | None, matrix: Any, support: Any, coefficients: np.ndarray, places: np.ndarray | None = None
) -> np.ndarray:
    """The sums of all rows' kernels with the support, times coefficients (s, k), in float64.

    ``support`` is a matrix, and ``places`` are the rows of it that count, all if None; where ``kernel`` is None, the
    matrix is a gram matrix and ``support`` its columns. Blocks run in threads; every row's sum is made in the same
    order.
    """
    scores = np.zeros((matrix.shape[0], coefficients.shape[1]))
    if coefficients.shape[0] == 0:
        return scores
    columns = few_columns(support) if built_in(kernel) else None
    if kernel is None:
        sums, multiplied = KernelSums(None, matrix, np.asarray(support), coefficients), matrix
    else:
        multiplied = support if columns is None else only_columns(support, columns)
        sums = KernelSums(kernel, multiplied, np.arange(support.shape[0]) if places is None else places, coefficients)

    def fill(part: slice) -> None:
        scores[part] = sums.of(RowBlock(matrix[part], columns))

    each_block(matrix.shape[0], rows_at_once(multiplied), fill, cpu_count() if sums.in_threads else 1)
    return scores


def rows_at_once(matrix: Any) -> int:
    """How many rows of that length make a block that takes some ten megabytes."""
    n_columns = matrix.shape[1]
    if n_columns > WIDE and not pays_dense(matrix):
        return SPARSE_ROWS_PER_BLOCK
    return max(16, ENTRIES_PER_BLOCK // max(1, n_columns))


def each_block(n_rows: int, most_rows: int, work: Callable[[slice], None], n_threads: int) -> None:
    """Call ``work`` for every block of the rows, of no more than ``most_rows``, in threads."""
    n_blocks = -(-n_rows // min(ROWS_PER_BLOCK, most_rows))
    cuts = [n_rows * k // n_blocks for k in range(n_blocks + 1)]
    parts = [slice(first, last) for first, last in pairwise(cuts)]
    with one_blas_thread():
        if min(n_threads, len(parts)) <= 1:
            for part in parts:
                work(part)
            return
        with ThreadPoolExecutor(n_threads) as pool:
            list(pool.map(work, parts))
