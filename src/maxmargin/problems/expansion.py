"""f(x) = sum of coefficients times k(x_j, x), for many x: through BLAS, in blocks that stay in a core's cache."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import scipy.sparse as sp
from joblib import cpu_count

from maxmargin.data.blas import one_blas_thread
from maxmargin.data.blocks import row_blocks
from maxmargin.data.points import squared_norms
from maxmargin.problems.kernels import Kernel, RadialBasis, UserFunction

# The kernel's values of a block of rows with a block of the support.
ROWS_PER_BLOCK = 512
SUPPORT_PER_BLOCK = 1024
# Sparse rows are multiplied as dense ones where no more than this many of their entries are zeros to one that is not,
# and the support has no more entries than that.
ZEROS_TO_ONE = 40.0
DENSE_ENTRIES = 1 << 25


def expansion_scores(kernel: Kernel | None, matrix: Any, support: Any, coefficients: np.ndarray) -> np.ndarray:
    """The sums of all rows' kernels with the support, times coefficients (s, k), in float64.

    ``support`` are rows; or, where ``kernel`` is None, the columns of a gram matrix. Blocks run in threads; every row's
    sum is made in the same order.
    """
    scores = np.zeros((matrix.shape[0], coefficients.shape[1]))
    if coefficients.shape[0] == 0:
        return scores
    if kernel is None or isinstance(kernel, UserFunction):
        for part in row_blocks(matrix.shape[0], coefficients.shape[0]):
            block = matrix[part]
            gram = block[:, support] if kernel is None else kernel.gram(block, support)
            scores[part] = np.asarray(gram, dtype=np.float64) @ coefficients
        return scores
    fill = _filler(kernel, matrix, support, coefficients, scores)
    starts = range(0, matrix.shape[0], ROWS_PER_BLOCK)
    with one_blas_thread(), ThreadPoolExecutor(cpu_count()) as pool:
        list(pool.map(fill, starts))
    return scores


def _filler(
    kernel: Kernel, matrix: Any, support: Any, coefficients: np.ndarray, scores: np.ndarray
) -> Callable[[int], None]:
    entries = support.shape[0] * support.shape[1]
    stored = support.nnz if sp.issparse(support) else entries
    dense = entries <= max(DENSE_ENTRIES, stored) and entries <= ZEROS_TO_ONE * max(1, stored)
    support = support.astype(np.float64, copy=False)
    squares = squared_norms(support)
    if dense and sp.issparse(support):
        support = support.toarray()
    exponents = dense and isinstance(kernel, RadialBasis)
    if exponents:
        support = other_side(support, squares, kernel.gamma)  # type: ignore[attr-defined]

    def fill(start: int) -> None:
        rows = matrix[start : start + ROWS_PER_BLOCK].astype(np.float64, copy=False)
        own = squared_norms(rows)
        if dense and sp.issparse(rows):
            rows = rows.toarray()
        if exponents:
            rows = one_side(rows, own, kernel.gamma)  # type: ignore[attr-defined]
        total = np.zeros((rows.shape[0], coefficients.shape[1]))
        for first in range(0, coefficients.shape[0], SUPPORT_PER_BLOCK):
            part = slice(first, first + SUPPORT_PER_BLOCK)
            if exponents:
                gram = exponentials(rows @ support[part].T)
            else:
                gram = kernel.gram(rows, support[part], (own, squares[part]))
            total += gram @ coefficients[part]
        scores[start : start + ROWS_PER_BLOCK] = total

    return fill


def one_side(rows: np.ndarray, squares: np.ndarray, gamma: float) -> np.ndarray:
    """x, 1, -gamma ||x||²: its inner products with the other side are the exponents -gamma ||x - z||²."""
    extended = np.empty((rows.shape[0], rows.shape[1] + 2), dtype=rows.dtype)
    extended[:, :-2] = rows
    extended[:, -2] = 1.0
    extended[:, -1] = -gamma * squares
    return extended


def other_side(rows: np.ndarray, squares: np.ndarray, gamma: float) -> np.ndarray:
    """2 gamma z, -gamma ||z||², 1"""
    extended = np.empty((rows.shape[0], rows.shape[1] + 2), dtype=rows.dtype)
    np.multiply(rows, rows.dtype.type(2.0 * gamma), out=extended[:, :-2])
    extended[:, -2] = -gamma * squares
    extended[:, -1] = 1.0
    return extended


def exponentials(exponents: np.ndarray) -> np.ndarray:
    """The RBF kernel, in place; rounding may have made an exponent of nearly equal points positive."""
    np.minimum(exponents, 0.0, out=exponents)
    return np.exp(exponents, out=exponents)
