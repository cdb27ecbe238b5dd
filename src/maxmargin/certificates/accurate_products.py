"""Products of the rows with vectors, nearly as exact as their result can be rounded, with a bound on each error.

The error of a float64 sum of k products grows with k and with the sum of their sizes; where these are much larger than
the result, it hides a small duality gap. Here both factors are cut into a high part of few bits and a low part. The sum
of the products of the high parts is an integer below 2^53 times a power of two: float64 adds it without rounding, in
any order. Only the products with a low part, which are smaller by thousands to millions, are rounded (K. Ozaki,
T. Ogita, S. Oishi, S. Rump, "Error-free transformations of matrix multiplication by using fast routines of matrix
multiplication", 2012).
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from maxmargin.certificates.bounds import OF_BOUNDS
from maxmargin.certificates.rounding import SMALLEST, UNIT, gamma, sum_at_most
from maxmargin.data import Points
from maxmargin.data.blocks import row_blocks
from maxmargin.data.rows import Matrix, is_sparse

# Bits of an integer that float64 holds.
MANTISSA = 53


class Product(NamedTuple):
    """Computed values, and an upper bound on the error of each."""

    values: np.ndarray
    errors: np.ndarray


def accurate_scores(points: Points, w: np.ndarray) -> Product:
    """w·x_i of every row."""
    n_terms = points.longest_row
    columns = _Columns(points, n_terms)
    # The scale of a column moves to its coefficient.
    scaled = _Parts(np.ldexp(w, columns.exponents), columns.bits_left)
    high, low = np.empty(points.n_rows), np.empty(points.n_rows)
    for rows, integers, rest in columns.blocks():
        high[rows] = integers @ scaled.integers
        low[rows] = np.ldexp(integers @ scaled.low, -columns.bits) + rest @ w
    high = np.ldexp(high, scaled.exponent - columns.bits)
    sizes = n_terms * scaled.unit + 2.0**-columns.bits * sum_at_most(np.abs(scaled.values))
    return _sum_of_parts(high, low, gamma(2 * n_terms + 8) * sizes, 8 * n_terms + 8)


def accurate_combination(points: Points, coefficients: np.ndarray) -> Product:
    """X^T c = sum_i c_i x_i, column by column."""
    used = np.flatnonzero(coefficients)
    if used.size < coefficients.size:
        points, coefficients = Points(points.matrix[used]), coefficients[used]
    columns = _Columns(points, used.size)
    parts = _Parts(coefficients, columns.bits_left)
    high, low = np.zeros(points.n_columns), np.zeros(points.n_columns)
    units = columns.exponents - columns.bits
    for rows, integers, rest in columns.blocks():
        high += integers.T @ parts.integers[rows]
        low += np.ldexp(integers.T @ parts.low[rows], units) + rest.T @ coefficients[rows]
    sizes = used.size * parts.unit + 2.0**-columns.bits * sum_at_most(np.abs(coefficients))
    errors = gamma(2 * used.size + 8) * np.ldexp(sizes, columns.exponents)
    return _sum_of_parts(np.ldexp(high, units + parts.exponent), low, errors, 8 * used.size + 8)


def _sum_of_parts(high: np.ndarray, low: np.ndarray, errors: np.ndarray | float, n_underflows: int) -> Product:
    values = high + low
    rounded = 2.0 * UNIT * (np.abs(values) + np.abs(low)) + n_underflows * SMALLEST
    return Product(values, (errors + rounded) * (1.0 + OF_BOUNDS))


class _Parts:
    """A vector as integers times 2^exponent, of few bits, plus the rest ``low``, each below ``unit``."""

    def __init__(self, values: np.ndarray, bits: int) -> None:
        self.values = values
        top = int(np.frexp(np.abs(values).max(initial=0.0))[1])
        self.exponent = top - bits
        self.integers = np.rint(np.ldexp(values, -self.exponent))
        self.low = values - np.ldexp(self.integers, self.exponent)
        self.unit = float(np.ldexp(1.0, self.exponent))


class _Columns:
    """The rows in blocks, each as integers of few bits times a power of two for every column, and the rest.

    Attributes
    ----------
    exponents : ndarray of int of shape (d,)
        Entries of column j are below 2^exponents[j].
    bits, bits_left : int
        Of the integers here, and of those that they may be multiplied with, so that ``n_terms`` products add up to less
        than 2^53.
    """

    def __init__(self, points: Points, n_terms: int) -> None:
        available = MANTISSA - int(n_terms).bit_length() - 1
        self.points, self.bits, self.bits_left = points, available // 2, available - available // 2
        matrix = points.matrix
        if points.n_rows == 0:
            largest = np.zeros(points.n_columns)
        elif is_sparse(matrix):
            largest = abs(matrix).max(axis=0).toarray().ravel()
        else:
            largest = np.maximum(matrix.max(axis=0), -matrix.min(axis=0))
        self.exponents = np.frexp(largest.astype(np.float64))[1]

    def blocks(self) -> Iterator[tuple[slice, Matrix, Matrix]]:
        """Yield the rows of a block, the integers and the rest, as matrices."""
        shifts = self.bits - self.exponents
        for rows in row_blocks(self.points.n_rows, self.points.entries_per_row):
            block = self.points.matrix[rows].astype(np.float64, copy=False)
            if is_sparse(block):
                shift = shifts[block.indices]
                integers = np.rint(np.ldexp(block.data, shift))
                rest = block.data - np.ldexp(integers, -shift)
                place = block.indices, block.indptr
                yield rows, *(sp.csr_array((data, *place), shape=block.shape) for data in (integers, rest))
            else:
                integers = np.rint(np.ldexp(block, shifts))
                yield rows, integers, block - np.ldexp(integers, -shifts)
