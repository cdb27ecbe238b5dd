"""Centring and scaling: rows far from the origin, or with tiny or huge entries, lose digits to rounding."""

import math
from fractions import Fraction
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from maxmargin.data.points import Points
from maxmargin.data.rows import Matrix

# Rows are centred where ||mean x||² exceeds this share of mean ||x||²: the spread around the mean is then less than a
# tenth of the squares, and inner products lose at least one digit.
FAR_SHARE = 0.9
# Largest norms outside of this range are scaled to about one, by a power of two, which rounds nothing.
SMALLEST_RADIUS, LARGEST_RADIUS = 1e-6, 1e6
# A column is far from zero (years, temperatures in kelvin) where |mean| / standard deviation exceeds FAR. Copying all
# rows pays only above VERY_FAR.
FAR, VERY_FAR = 4.0, 64.0
# Number of rows from which means and standard deviations are estimated.
SAMPLE_ROWS = 512
# Rows whose weight is below this share of the largest weight are left out of the estimate.
NEGLIGIBLE_WEIGHT = 1e-6
# Relative rounding error that the mean of SAMPLE_ROWS equal numbers may have.
ROUNDED_MEAN = 1e-13


class Centring(NamedTuple):
    """The points scale (x - centre).

    Attributes
    ----------
    points : Points
        The centred and scaled points.
    centre : ndarray of shape (d,)
    scale : float
    """

    points: Points
    centre: np.ndarray
    scale: float

    def intercept_here(self, w: np.ndarray, b: float) -> float:
        """Intercept for the centred points, b + w·centre, where b is that of the original ones and the scale is one.

        The sum is computed exactly and rounded once: its terms may be large and cancel.
        """
        return _exact_sum(b, w, self.centre)

    def intercept_there(self, w: np.ndarray, b: float) -> float:
        """Intercept for the original points, b - w·centre, where b is that of the centred ones."""
        return _exact_sum(b, w, -self.centre)


def centred_and_scaled(points: Points, *, may_move: bool) -> Centring:
    """Centre the points where their mean is far from the origin, and scale them where their norms are extreme.

    Parameters
    ----------
    points : Points
    may_move : bool
        Whether the points may be centred: only where there is an intercept. Of sparse points only the columns with an
        entry in every row are centred.

    Returns
    -------
    Centring
        With the points themselves where neither is needed.
    """
    matrix, centre = points.matrix, np.zeros(points.n_columns)
    if may_move and points.n_rows:
        centre = _mean(points)
        if float(centre @ centre) <= FAR_SHARE * float(points.squared_norms.mean()):
            centre = np.zeros(points.n_columns)
    if centre.any():
        matrix = _subtracted(matrix, centre)
        points = Points(matrix)
    scale = 1.0
    if not (SMALLEST_RADIUS <= points.largest_norm <= LARGEST_RADIUS or points.all_zero):
        # The norms themselves may have underflowed or overflowed: the scale is that of the largest entry.
        scale = 2.0 ** -max(-1022, min(1022, math.frexp(points.largest_entry)[1]))
        points = Points(matrix.astype(np.float64) * scale)
    return Centring(points, centre, scale)


def centred(points: Points, *, may_move: bool, weights: np.ndarray | None) -> Centring:
    """Centre the columns that are very far from zero, if there is an intercept; every entry is rounded once.

    The centre need not be the mean: any point among the rows will do, so that a sample suffices.
    """
    centre = estimate_offsets(points, VERY_FAR, weights) if may_move and points.n_rows else None
    if centre is not None and sp.issparse(points.matrix):
        centre[~_is_full(points)] = 0.0
    if centre is None or not centre.any():
        return Centring(points, np.zeros(points.n_columns), 1.0)
    return Centring(Points(_subtracted(points.matrix, centre)), centre, 1.0)


def estimate_offsets(points: Points, times: float = FAR, weights: np.ndarray | None = None) -> np.ndarray | None:
    """Column offsets estimated from a sample of the rows; None if no column is far from zero.

    Parameters
    ----------
    points : Points
    times : float
        Least ratio |mean| / standard deviation of a column that is far from zero.
    weights : ndarray or None
        Rows of negligible weight are left out.

    Returns
    -------
    ndarray of shape (d,) or None
        About the means of the columns that are far from zero, zero for the others.
    """
    matrix = points.matrix
    if weights is not None and weights.min() < NEGLIGIBLE_WEIGHT * weights.max():
        matrix = matrix[np.flatnonzero(weights >= NEGLIGIBLE_WEIGHT * weights.max())]
    sample = matrix[:: max(1, matrix.shape[0] // SAMPLE_ROWS)].astype(np.float64, copy=False)
    shares = np.full(sample.shape[0], 1.0 / sample.shape[0])
    with np.errstate(over="ignore", invalid="ignore"):
        squares = sample.power(2) if sp.issparse(sample) else np.square(sample)
        offsets = column_offsets(sample.T @ shares, squares.T @ shares, times)
    if not np.count_nonzero(offsets):
        return None
    # A constant column becomes exactly zero.
    first = Points(sample[:1]).combination(np.ones(1))
    return np.where(np.abs(offsets - first) <= ROUNDED_MEAN * np.abs(offsets), first, offsets)


def column_offsets(means: np.ndarray, squares: np.ndarray, times: float = FAR) -> np.ndarray:
    """The means of the columns that are far from zero, zero for all others.

    Parameters
    ----------
    means, squares : ndarray of shape (d,)
        Mean of each column and of its squares.
    times : float
        Least ratio |mean| / standard deviation.
    """
    squared_means = np.square(means)
    return np.where(squared_means > times**2 * (squares - squared_means), means, 0.0)


def _mean(points: Points) -> np.ndarray:
    """The mean of the points, in the columns that can be centred; zero where it overflows."""
    with np.errstate(over="ignore", invalid="ignore"):
        mean = points.combination(np.ones(points.n_rows)) / points.n_rows
        if sp.issparse(points.matrix):
            mean[~_is_full(points)] = 0.0
    return mean if np.isfinite(mean @ mean) else np.zeros(points.n_columns)


def _is_full(points: Points) -> np.ndarray:
    """Which columns of sparse points have an entry in every row."""
    return np.asarray(np.bincount(points.matrix.indices, minlength=points.n_columns) == points.n_rows)


def _exact_sum(b: float, w: np.ndarray, centre: np.ndarray) -> float:
    """b + w·centre, computed in rational numbers and rounded once."""
    if not np.count_nonzero(centre):
        return float(b)
    used = np.flatnonzero(centre)
    if not (math.isfinite(b) and np.isfinite(w[used]).all()):
        return float(b + w[used] @ centre[used])
    total = sum((Fraction(float(w[j])) * Fraction(float(centre[j])) for j in used), start=Fraction(b))
    try:
        return float(total)
    except OverflowError:
        return math.copysign(math.inf, total)


def _subtracted(matrix: Matrix, centre: np.ndarray) -> Matrix:
    if not sp.issparse(matrix):
        return matrix.astype(np.float64) - centre
    moved = matrix.astype(np.float64)
    moved.data -= centre[moved.indices]
    return moved
