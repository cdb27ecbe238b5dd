"""Means and standard deviations of the columns of a matrix, computed without cancellation."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from maxmargin.data import Points, as_dense, column_offsets
from maxmargin.data.rows import is_sparse

# A variance below this share of the mean square is the rounding error of a constant column.
CONSTANT_VARIANCE = 1e-24


@dataclass(frozen=True)
class ColumnStatistics:
    """Offsets and standard deviations of columns: the units in which coefficients are measured.

    Attributes
    ----------
    points : Points
    counted : ndarray of bool of shape (n,)
        The rows with a positive weight.
    offset : ndarray of shape (d,)
        The column means, where an intercept makes up for them; else zero. For sparse rows, which it would fill, only
        the means of columns far from zero.
    shifted : ndarray of int
        The columns that the offset is subtracted from.
    shifted_points : Points
        The rows with these columns alone, dense.
    sizes : ndarray of shape (d,)
        The root of the mean of (x_ij - offset_j)².
    deviations : ndarray of shape (d,)
        The standard deviations; without an intercept, the sizes of columns that are constant.
    """

    points: Points
    counted: np.ndarray
    offset: np.ndarray
    shifted: np.ndarray
    shifted_points: Points
    sizes: np.ndarray
    deviations: np.ndarray

    def combination(self, coefficients: np.ndarray) -> np.ndarray:
        """Compute sum_i c_i (x_i - offset), for one vector of coefficients (n,) or several (n, k)."""
        around = self.shifted_points.combination_around(self.offset[self.shifted], coefficients)
        if self.shifted.size == self.offset.size:
            return around
        total = self.points.combination(coefficients)
        total[self.shifted] = around
        return total

    @cached_property
    def constant(self) -> np.ndarray:
        """Which columns are equal to the offset: a size of zero alone may be due to squares that underflow."""
        constant: np.ndarray = self.sizes == 0.0
        if not constant.any():
            return constant
        suspects = constant[self.shifted]
        equal = self.shifted_points.matrix[:, suspects][self.counted] == self.offset[self.shifted][suspects]
        matrix = self.points.matrix
        if not is_sparse(matrix) and not self.shifted.size:
            # Without an intercept the offset is zero.
            places = np.flatnonzero(constant)
            constant[places] = ~as_dense(matrix)[:, places][self.counted].any(axis=0)
        if is_sparse(matrix):
            nonzero = (matrix.data != 0.0) & np.repeat(self.counted, np.diff(matrix.indptr))
            constant &= np.bincount(matrix.indices[nonzero], minlength=constant.size) == 0
        constant[self.shifted[suspects]] = equal.all(axis=0)
        return constant


def column_statistics(points: Points, weights: np.ndarray, has_intercept: bool) -> ColumnStatistics:
    """Compute the statistics of weighted rows; with an intercept, columns have an offset."""
    shares, counted = weights / (float(weights.sum()) or 1.0), weights > 0.0
    means = points.combination(shares)
    if is_sparse(points.matrix):
        squares = points.squares_of_columns(shares)
        offset = column_offsets(means, squares)
        shifted = np.flatnonzero(offset)
        dense = Points(points.matrix[:, shifted].toarray())
        variances = squares - np.square(means)
        # Where the mean is large, the difference has lost its digits.
        squares[shifted] = variances[shifted] = dense.squares_around(offset[shifted], shares)
    else:
        offset, shifted, dense = means, np.arange(means.size), points
        squares = variances = points.squares_around(means, shares)
    if has_intercept:
        return ColumnStatistics(points, counted, offset, shifted, dense, np.sqrt(squares), np.sqrt(variances))
    squares = variances + np.square(means)
    deviations = np.sqrt(np.where(variances > CONSTANT_VARIANCE * squares, variances, squares))
    no_columns, no_points = np.empty(0, dtype=int), Points(np.empty((points.n_rows, 0)))
    return ColumnStatistics(points, counted, np.zeros(means.size), no_columns, no_points, np.sqrt(squares), deviations)
