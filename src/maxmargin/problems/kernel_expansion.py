"""Kernel expansion f(x) = sum_j beta_j k(x_j, x) for many x, by BLAS on blocks that stay in a core's cache.

Certificates evaluate it with NumPy's exponential function. Solvers and predictions pass a faster, compiled one in.
"""

import math
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from functools import cached_property, partial
from itertools import pairwise

import numpy as np
import scipy.sparse as sp
from joblib import cpu_count

from maxmargin.data import Points, as_dense
from maxmargin.data.blas import one_blas_thread
from maxmargin.data.interruption import check_interruption
from maxmargin.data.points import few_columns, only_columns, squared_norms
from maxmargin.data.rows import Matrix, SparseMatrix, is_sparse
from maxmargin.problems.kernels import Kernel, Linear, RadialBasis, built_in, pays_dense, refuse_unless_finite
from maxmargin.problems.sparse_products import ColumnSplit, SplitRows

# Rows per block, and rows of the support per block; fewer where rows are long.
ROWS_PER_BLOCK = 512
SUPPORT_PER_BLOCK = 1024
# Support vectors per block where kernel values among them are evaluated once for both: a block on the diagonal is
# evaluated whole.
SYMMETRIC_PER_BLOCK = 512
# Entries of a block of rows: 32 megabytes in float64.
MOST_BLOCK_ENTRIES = 1 << 22
# Multiplications of the values of two such blocks, between which a run may be interrupted: about 0.06 s.
MOST_BLOCK_PRODUCTS = 1 << 29
# Rows per block of sparse data that are not made dense.
SPARSE_ROWS_PER_BLOCK = 512
# Entries up to which the support is converted once and kept; a larger one is converted again for every block of rows.
KEPT_SUPPORT_ENTRIES = 1 << 23
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
    split : ColumnSplit, optional
        Of these columns, where products of sparse rows are computed.
    """

    def __init__(self, rows: Matrix, columns: np.ndarray | None = None, split: ColumnSplit | None = None) -> None:
        self._whole = rows.astype(np.float64, copy=False)
        self.rows = self._whole if columns is None else only_columns(self._whole, columns)
        self._columns = split

    @cached_property
    def split(self) -> SplitRows:
        """The rows, split into frequent columns and the others."""
        rows = self.rows
        assert self._columns is not None
        assert is_sparse(rows)
        return self._columns.of(rows)

    @cached_property
    def by_columns(self) -> SparseMatrix:
        """The entries of the columns that are not frequent, column by column."""
        return self.split.rest.T.tocsr()

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
        if any(not value.is_integer() for value in self.dense[0, :8].tolist()):
            # Most rows that are no integers are seen by their first numbers.
            return None
        return self.dense.astype(np.float32) if np.array_equal(self.dense, np.rint(self.dense)) else None


class Scratch(threading.local):
    """Arrays of each thread that are used again for block after block: fresh memory costs as much as kernel values."""

    def __init__(self) -> None:
        self._arrays: dict[type, np.ndarray] = {}

    def array(self, shape: tuple[int, int], dtype: type) -> np.ndarray:
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
    split : ColumnSplit, optional
        Of the matrix, where it is known and products of sparse rows are computed.
    most : int
        The most rows of the support in a block.
    """

    def __init__(
        self,
        kernel: Kernel | None,
        matrix: Matrix,
        places: np.ndarray,
        coefficients: np.ndarray,
        exponentiate: Exponentiate = exponentiate,
        split: ColumnSplit | None = None,
        most: int = SUPPORT_PER_BLOCK,
    ) -> None:
        self._kernel, self._matrix, self._places, self._coefficients = kernel, matrix, places, coefficients
        self._exponentiate = exponentiate
        # A user's function is called by one thread at a time.
        self.in_threads = built_in(kernel)
        self._dense = pays_dense(matrix)
        self.split = split or split_of(kernel, matrix)
        size = min(most, rows_at_once(matrix))
        starts = range(0, places.size, size)
        self.parts = [slice(start, min(places.size, start + size)) for start in starts]
        self._kept: list[RowBlock] | None = None
        entries_per_row = matrix.shape[1] if self._dense or not is_sparse(matrix) else matrix.nnz / matrix.shape[0]
        if self.in_threads and places.size * entries_per_row <= KEPT_SUPPORT_ENTRIES:
            self._kept = [self.row_block(places[part]) for part in self.parts]

    def row_block(self, places: np.ndarray | slice) -> RowBlock:
        """Some rows of the matrix."""
        check_interruption()
        return RowBlock(self._matrix[places], split=self.split)

    def support(self, k: int) -> RowBlock:
        """The support's block of that number."""
        return self.row_block(self._places[self.parts[k]]) if self._kept is None else self._kept[k]

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
        for k, part in enumerate(self.parts):
            check_interruption()
            total += self._values(block, self.support(k), scratch) @ self._coefficients[part]
        return total

    def scores_in_support(self, k: int) -> list[np.ndarray]:
        """What kernel values of a block of the support with those before add to the scores, of its values and theirs.

        The last result is for the block itself, those before are for the blocks before.
        """
        block, scratch, own = self.support(k), Scratch(), self.parts[k]
        total = np.zeros((own.stop - own.start, self._coefficients.shape[1]))
        results = []
        for j in range(k):
            check_interruption()
            values = self._values(block, self.support(j), scratch)
            total += values @ self._coefficients[self.parts[j]]
            results.append(values.T @ self._coefficients[own])
        total += self._values(block, block, scratch) @ self._coefficients[own]
        return [*results, total]

    def _values(self, block: RowBlock, support: RowBlock, scratch: Scratch) -> np.ndarray:
        assert self._kernel is not None
        if not self.in_threads:
            return self._kernel.gram(block.rows, support.rows)
        if not self._dense:
            return self._of_sparse(block, support, scratch)
        if isinstance(self._kernel, RadialBasis):
            return self._radial_basis(block, support, self._kernel.gamma, scratch)
        return self._kernel.gram(block.dense, support.dense, (block.squares, support.squares))

    def _of_sparse(self, block: RowBlock, support: RowBlock, scratch: Scratch) -> np.ndarray:
        """Frequent columns by BLAS, the others by SciPy's product of sparse matrices."""
        rows, others = block.split, support.split
        inner = scratch.array((rows.dense.shape[0], others.dense.shape[0]), np.float64)
        np.matmul(rows.dense, others.dense.T, out=inner)
        inner += (rows.rest @ support.by_columns).toarray()
        if isinstance(self._kernel, RadialBasis):
            gamma = self._kernel.gamma
            self._exponentiate(inner, 2.0 * gamma, -gamma * block.squares, -gamma * support.squares, inner)
            return inner
        values: np.ndarray = self._kernel.values(inner, (block.squares, support.squares))  # type: ignore[union-attr]
        return values

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
    matrix: Matrix,
    support: Matrix,
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
    if isinstance(kernel, Linear) and coefficients.shape[1] == 1:
        if columns is not None:
            matrix, support = only_columns(matrix, columns), only_columns(support, columns)
        if is_sparse(support) and not is_sparse(matrix):
            # The same bits for the same numbers, sparse or dense: those of sums over the entries that are not zero.
            matrix = sp.csr_array(matrix)
        scores[:, 0] = Points(matrix).scores(linear_coefficients(support, coefficients[:, 0], places))
        refuse_unless_finite(math.isfinite(scores.sum()))
        return scores
    if kernel is None:
        expansion, multiplied = KernelExpansion(None, matrix, np.asarray(support), coefficients), matrix
    else:
        multiplied = support if columns is None else only_columns(support, columns)
        places = np.arange(support.shape[0]) if places is None else places
        expansion = KernelExpansion(kernel, multiplied, places, coefficients, exponentiate)

    def fill(part: slice) -> None:
        rows = matrix[part]
        if (columns is not None or expansion.split is not None) and not is_sparse(rows):
            # The same bits for the same numbers, sparse or dense.
            rows = sp.csr_array(rows)
        scores[part] = expansion.scores(RowBlock(rows, columns, expansion.split))

    each_block(matrix.shape[0], rows_at_once(multiplied), fill, n_threads if expansion.in_threads else 1)
    return scores


def linear_coefficients(matrix: Matrix, coefficients: np.ndarray, places: np.ndarray | None = None) -> np.ndarray:
    """w = sum_j beta_j x_j of the linear kernel, whose scores are w·x without a kernel value.

    The error of such a score is at most what :func:`maxmargin.certificates.bounds.feature_vector` counts for a sum of
    kernel values: both round as many products and sums.

    Parameters
    ----------
    matrix : array or sparse matrix
    coefficients : ndarray of shape (s,)
    places : ndarray of int, optional
        The rows of the matrix that count, all if None.
    """
    if places is not None:
        given, coefficients = coefficients, np.zeros(matrix.shape[0])
        coefficients[places] = given
    return Points(matrix).combination(coefficients)


def scores_of_own_rows(
    kernel: Kernel,
    matrix: Matrix,
    rows: np.ndarray,
    support: np.ndarray,
    coefficients: np.ndarray,
    *,
    n_threads: int | None = None,
    exponentiate: Exponentiate = exponentiate,
) -> np.ndarray:
    """Evaluate expansions of a built-in kernel over some rows of a matrix at more of its rows, in float64.

    A kernel value of two support vectors is evaluated once and serves the scores of both.

    Parameters
    ----------
    kernel : Kernel
    matrix : array or sparse matrix of shape (n, d)
    rows : ndarray of int
        Different rows of the matrix.
    support : ndarray of int
        The support, as positions in ``rows``.
    coefficients : ndarray of shape (s, k)
    n_threads, exponentiate :
        As for :func:`expansion_scores`.

    Returns
    -------
    ndarray of shape (rows.size, k)
    """
    scores = np.zeros((rows.size, coefficients.shape[1]))
    if support.size == 0:
        return scores
    expansion = KernelExpansion(
        kernel, matrix, rows[support], coefficients, exponentiate, most=min(SYMMETRIC_PER_BLOCK, rows_at_once(matrix))
    )
    others = np.delete(np.arange(rows.size), support)
    of_support: dict[int, list[np.ndarray]] = {}

    def fill_others(part: slice) -> None:
        scores[others[part]] = expansion.scores(expansion.row_block(rows[others[part]]))

    def fill_support(k: int) -> None:
        of_support[k] = expansion.scores_in_support(k)

    n_blocks = len(expansion.parts)
    # The longest jobs first.
    run_jobs([partial(fill_support, k) for k in reversed(range(n_blocks))], n_threads)
    each_block(others.size, rows_at_once(matrix), fill_others, n_threads)
    for j, part in enumerate(expansion.parts):
        for k in range(j, n_blocks):
            scores[support[part]] += of_support[k][j]
    return scores


def split_of(kernel: Kernel | None, matrix: Matrix) -> ColumnSplit | None:
    """The split of the columns, where products of sparse rows are computed."""
    return ColumnSplit(matrix) if built_in(kernel) and is_sparse(matrix) and not pays_dense(matrix) else None


def rows_at_once(matrix: Matrix) -> int:
    """How many rows make a block: sparse rows that are not made dense, or few enough for both limits above."""
    if not pays_dense(matrix):
        return SPARSE_ROWS_PER_BLOCK
    n_columns = matrix.shape[1]
    return min(dense_rows_at_once(n_columns), max(16, math.isqrt(MOST_BLOCK_PRODUCTS // max(1, n_columns))))


def dense_rows_at_once(n_columns: int) -> int:
    """How many rows of that length make a block of ``MOST_BLOCK_ENTRIES``."""
    return max(16, MOST_BLOCK_ENTRIES // max(1, n_columns))


def each_block(n_rows: int, most_rows: int, work: Callable[[slice], None], n_threads: int | None) -> None:
    """Call ``work`` for every block of the rows, of no more than ``most_rows``, in threads: all cores if None."""
    run_jobs([partial(work, part) for part in blocks_of(n_rows, most_rows)], n_threads)


def blocks_of(n_rows: int, most_rows: int) -> list[slice]:
    """Blocks of the rows, of no more than ``most_rows``."""
    n_blocks = -(-n_rows // min(ROWS_PER_BLOCK, most_rows))
    if n_blocks == 0:
        return []
    return [slice(first, last) for first, last in pairwise(n_rows * k // n_blocks for k in range(n_blocks + 1))]


def run_jobs(jobs: Sequence[Callable[[], None]], n_threads: int | None) -> None:
    """Run jobs in threads, all cores if None, each with one thread of BLAS."""
    n_threads = cpu_count() if n_threads is None else n_threads
    with one_blas_thread():
        if min(n_threads, len(jobs)) <= 1:
            for job in jobs:
                _checked(job)
            return
        contexts = [copy_context() for _ in jobs]
        with ThreadPoolExecutor(n_threads) as pool:
            list(pool.map(lambda job, context: context.run(_checked, job), jobs, contexts))


def _checked(job: Callable[[], None]) -> None:
    check_interruption()
    job()
