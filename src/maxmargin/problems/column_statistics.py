"""Where the columns of a matrix lie, and how much they vary."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import scipy.sparse as sp

from maxmargin.data import Points, column_offsets

# Variances below this share of the mean of the squares are those of columns that are constant but for rounding.
CONSTANT = 1e-24


@dataclass(frozen=True)
class Columns:
    """The units in which coefficients are measured, and the place that all rows are seen from.

    Attributes
    ----------
    points : Points
    counted : ndarray of bool of shape (n,)
        The rows that have a weight.
    place : ndarray of shape (d,)
        The mean row, where an intercept makes up for it; else zero. Of sparse rows, which it would fill, only what is
        far from zero.
    moved : ndarray of int
        The columns that the place is taken from.
    moved_points : Points
        The rows with these columns alone, dense.
    sizes : ndarray of shape (d,)
        The root of the mean of (x_ij - place_j)².
    spreads : ndarray of shape (d,)
        The standard deviations; without an intercept, the sizes of columns that are constant.
    """

    points: Points
    counted: np.ndarray
    place: np.ndarray
    moved: np.ndarray
    moved_points: Points
    sizes: np.ndarray
    spreads: np.ndarray

    def combination(self, coefficients: np.ndarray) -> np.ndarray:
        """The sum of the rows, seen from the place, each times its coefficient."""
        around = self.moved_points.combination_around(self.place[self.moved], coefficients)
        if self.moved.size == self.place.size:
            return around
        total = self.points.combination(coefficients)
        total[self.moved] = around
        return total

    @cached_property
    def constant(self) -> np.ndarray:
        """Which columns are nothing but the place: a size of zero alone may be due to squares that underflow."""
        constant = self.sizes == 0.0
        if not constant.any():
            return constant
        suspects = constant[self.moved]
        of_moved = self.moved_points.matrix[:, suspects][self.counted] == self.place[self.moved][suspects]
        matrix = self.points.matrix
        if sp.issparse(matrix):
            seen = (matrix.data != 0.0) & np.repeat(self.counted, np.diff(matrix.indptr))
            constant &= np.bincount(matrix.indices[seen], minlength=constant.size) == 0
        constant[self.moved[suspects]] = of_moved.all(axis=0)
        return constant


def columns_of(points: Points, weights: np.ndarray, from_mean: bool) -> Columns:
    """Measure the columns, rows counted by their weights; ``from_mean`` says whether an intercept moves them."""
    shares, counted = weights / (float(weights.sum()) or 1.0), weights > 0.0
    means = points.combination(shares)
    if sp.issparse(points.matrix):
        squares = points.squares_of_columns(shares)
        place = column_offsets(means, squares)
        moved = np.flatnonzero(place)
        dense = Points(points.matrix[:, moved].toarray())
        variances = squares - np.square(means)
        # There the difference has lost its digits.
        squares[moved] = variances[moved] = dense.squares_around(place[moved], shares)
    else:
        place, moved, dense = means, np.arange(means.size), points
        squares = variances = points.squares_around(means, shares)
    if from_mean:
        return Columns(points, counted, place, moved, dense, np.sqrt(squares), np.sqrt(variances))
    nowhere = np.empty(0, dtype=int)
    squares = variances + np.square(means)
    spreads = np.sqrt(np.where(variances > CONSTANT * squares, variances, squares))
    nothing = Points(np.empty((points.n_rows, 0)))
    return Columns(points, counted, np.zeros(means.size), nowhere, nothing, np.sqrt(squares), spreads)
