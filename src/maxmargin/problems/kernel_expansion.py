"""Kernel expansion f(x) = sum_j beta_j k(x_j, x) for many x, by BLAS on blocks that stay in a core's cache.

Certificates evaluate it with NumPy's exponential function. Solvers and predictions pass a faster, compiled one in.
"""

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
from joblib import cpu_count

from maxmargin.data import as_dense
from maxmargin.data.blas import one_blas_thread
from maxmargin.data.points import WIDE, few_columns, only_columns, squared_norms
from maxmargin.problems.kernels import Kernel, RadialBasis, built_in, pays_dense

# Rows per block, and rows of the support per block; fewer where rows are long.
ROWS_PER_BLOCK = 512
SUPPORT_PER_BLOCK = 1024
# Entries of a block of rows: 32 megabytes in float64.
MOST_BLOCK_ENTRIES = 1 << 22
# Rows per block of sparse data with so many columns that they are never made dense.
SPARSE_ROWS_PER_BLOCK = 512
# Entries up to which the support is converted once and kept; a larger one is converted again for every block of rows.
KEPT_ENTRIES = 1 << 23
# Sums of products of integers are exact in single precision up to this value.
LARGEST_EXACT_SINGLE = 2.0**24

# exponentiate(values, factor, of_rows, of_columns, results): see the function of that name.
Exponentiate = Callable[[np.ndarray, float, np.ndarray, np.ndarray, np.ndarray], None]


def exponentiate(
    values: np.ndarray, factor: float, of_rows: np.ndarray, of_columns: np.ndarray, results: np.ndarray
) -> None:
    """Store exp(min(0, factor v_ij + r_i + c_j)) by NumPy's exponential function.

    The exponent -gamma ||x - z||² is not positive; rounding may make it so where x = z. NumPy's exp is within 4 units
    in the last place on all processors, which ``Kernel.error`` counts.
    """
    # Products of values in single precision are in double precision, too.
    np.multiply(values, factor, out=results, dtype=np.float64)
    results += of_rows[:, None]
    results += of_columns
    np.minimum(results, 0.0, out=results)
    np.exp(results, out=results)


class RowBlock:
    """Some rows in float64, with what the expansions over different supports need of them.

    Parameters
    ----------
    rows : array or sparse matrix
    columns : ndarray of int, optional
        The only columns that count in products; all count in the rows' norms.
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
        return as_dense(self.rows)

    @cached_property
    def in_single(self) -> np.ndarray | None:
        """The rows in single precision, where their inner products are exact in it: integers that are not large."""
        if not float(self.squares.max(initial=0.0)) <= LARGEST_EXACT_SINGLE:
            return None
        return self.dense.astype(np.float32) if np.array_equal(self.dense, np.rint(self.dense)) else None


class Scratch(threading.local):
    """Arrays of each thread that are used again for block after block: fresh memory costs as much as kernel values."""

    def __init__(self) -> None:
        self._arrays: dict[Any, np.ndarray] = {}

    def array(self, shape: tuple[int, int], dtype: Any) -> np.ndarray:
        """An uninitialised array; it is overwritten by the next one of the same type."""
        size, array = shape[0] * shape[1], self._arrays.get(dtype)
        if array is None or array.size < size:
            array = self._arrays[dtype] = np.empty(size, dtype=dtype)
        return array[:size].reshape(shape)


class KernelExpansion:
    """Expansions over one support with coefficients of shape (s, k), evaluated in float64.

    Parameters
    ----------
    kernel : Kernel, or None for a Gram matrix
    matrix : matrix, of which some rows are the support; not used where ``kernel`` is None
    places : ndarray of int
        The rows of the support; where ``kernel`` is None, columns of the Gram matrix.
    coefficients : ndarray of shape (s, k)
    exponentiate : callable
        As :func:`exponentiate`.
    """

    def __init__(
        self,
        kernel: Kernel | None,
        matrix: Any,
        places: np.ndarray,
        coefficients: np.ndarray,
        exponentiate: Exponentiate = exponentiate,
    ) -> None:
        self._kernel, self._matrix, self._places, self._coefficients = kernel, matrix, places, coefficients
        self._exponentiate = exponentiate
        # A user's function is called by one thread at a time.
        self.in_threads = built_in(kernel)
        self._dense = pays_dense(matrix)
        size = min(SUPPORT_PER_BLOCK, rows_at_once(matrix))
        starts = range(0, places.size, size)
        self._parts = [slice(start, min(places.size, start + size)) for start in starts]
        self._kept: list[RowBlock] | None = None
        entries_per_row = matrix.shape[1] if self._dense else matrix.nnz / matrix.shape[0]
        if self.in_threads and places.size * entries_per_row <= KEPT_ENTRIES:
            self._kept = [RowBlock(matrix[places[part]]) for part in self._parts]

    def values(self, block: RowBlock) -> np.ndarray:
        """The kernel values of some rows and the support, (r, s), for a support that is kept."""
        assert self._kept is not None
        found = [self._values(block, support, Scratch()) for support in self._kept]
        if len(found) == 1:
            return found[0]
        return np.hstack(found) if found else np.zeros((block.rows.shape[0], 0))

    def scores(self, block: RowBlock) -> np.ndarray:
        """The values at some rows, (r, k)."""
        total = np.zeros((block.rows.shape[0], self._coefficients.shape[1]))
        if self._kernel is None:
            total += np.asarray(block.rows[:, self._places], dtype=np.float64) @ self._coefficients
            return total
        scratch = Scratch()
        for k, part in enumerate(self._parts):
            support = RowBlock(self._matrix[self._places[part]]) if self._kept is None else self._kept[k]
            total += self._values(block, support, scratch) @ self._coefficients[part]
        return total

    def _values(self, block: RowBlock, support: RowBlock, scratch: Scratch) -> np.ndarray:
        assert self._kernel is not None
        if not self.in_threads:
            return self._kernel.gram(block.rows, support.rows)
        if self._dense and isinstance(self._kernel, RadialBasis):
            return self._radial_basis(block, support, self._kernel.gamma, scratch)
        rows, others = (block.dense, support.dense) if self._dense else (block.rows, support.rows)
        return self._kernel.gram(rows, others, (block.squares, support.squares))

    def _radial_basis(self, block: RowBlock, support: RowBlock, gamma: float, scratch: Scratch) -> np.ndarray:
        """-gamma ||x - z||² = 2 gamma x·z - gamma ||x||² - gamma ||z||², then the exponentials."""
        rows, others = block.in_single, support.in_single
        if rows is None or others is None:
            rows, others = block.dense, support.dense
        shape = rows.shape[0], others.shape[0]
        gram = scratch.array(shape, np.float64)
        inner = gram if rows.dtype == np.float64 else scratch.array(shape, np.float32)
        np.matmul(rows, others.T, out=inner)
        self._exponentiate(inner, 2.0 * gamma, -gamma * block.squares, -gamma * support.squares, gram)
        return gram


def expansion_scores(
    kernel: Kernel | None,
    matrix: Any,
    support: Any,
    coefficients: np.ndarray,
    places: np.ndarray | None = None,
    *,
    n_threads: int | None = None,
    exponentiate: Exponentiate = exponentiate,
) -> np.ndarray:
    """Evaluate kernel expansions at all rows of a matrix, in float64.

    Parameters
    ----------
    kernel : Kernel, or None where ``matrix`` is a Gram matrix
    matrix : array or sparse matrix of shape (n, d)
    support : array or sparse matrix; where ``kernel`` is None, columns of the Gram matrix
    coefficients : ndarray of shape (s, k)
    places : ndarray of int, optional
        The rows of ``support`` that count, all if None.
    n_threads : int, optional
        All cores if None. The result does not depend on it: every row's sum is computed in the same order.
    exponentiate : callable
        As :func:`exponentiate`.

    Returns
    -------
    ndarray of shape (n, k)
    """
    scores = np.zeros((matrix.shape[0], coefficients.shape[1]))
    if coefficients.shape[0] == 0:
        return scores
    columns = few_columns(support) if built_in(kernel) else None
    if kernel is None:
        expansion, multiplied = KernelExpansion(None, matrix, np.asarray(support), coefficients), matrix
    else:
        multiplied = support if columns is None else only_columns(support, columns)
        places = np.arange(support.shape[0]) if places is None else places
        expansion = KernelExpansion(kernel, multiplied, places, coefficients, exponentiate)

    def fill(part: slice) -> None:
        scores[part] = expansion.scores(RowBlock(matrix[part], columns))

    each_block(matrix.shape[0], rows_at_once(multiplied), fill, n_threads if expansion.in_threads else 1)
    return scores


def rows_at_once(matrix: Any) -> int:
    """How many rows of that length make a block of ``MOST_BLOCK_ENTRIES``."""
    n_columns = matrix.shape[1]
    if n_columns > WIDE and not pays_dense(matrix):
        return SPARSE_ROWS_PER_BLOCK
    return max(16, MOST_BLOCK_ENTRIES // max(1, n_columns))


def each_block(n_rows: int, most_rows: int, work: Callable[[slice], None], n_threads: int | None) -> None:
    """Call ``work`` for every block of the rows, of no more than ``most_rows``, in threads: all cores if None."""
    n_blocks = -(-n_rows // min(ROWS_PER_BLOCK, most_rows))
    cuts = [n_rows * k // n_blocks for k in range(n_blocks + 1)]
    in_threads(work, [slice(first, last) for first, last in pairwise(cuts)], n_threads)


def in_threads(work: Callable[[Any], None], parts: Sequence[Any], n_threads: int | None) -> None:
    """Call ``work`` for every part, in threads: all cores if None."""
    n_threads = cpu_count() if n_threads is None else n_threads
    with one_blas_thread():
        if min(n_threads, len(parts)) <= 1:
            for part in parts:
                work(part)
            return
        with ThreadPoolExecutor(n_threads) as pool:
            list(pool.map(work, parts))
