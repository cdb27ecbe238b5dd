"""Points moved and scaled so that numbers stay near one: far from the origin, or tiny, they lose digits."""

import math
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from maxmargin.data.points import Points

# Points are moved where the square of their mean is more than this share of the mean of their squares.
FAR_SHARE = 0.9
# Lengths outside of this range are scaled to about one, by a power of two, which rounds nothing.
SMALLEST_RADIUS, LARGEST_RADIUS = 1e-6, 1e6
# A column is far from zero, as years or temperatures in kelvin are, where its mean is so many times as large as its
# standard deviation; it is worth a copy of all rows where it is very far. A sample of so many rows tells.
FAR, VERY_FAR, ROWS_THAT_TELL = 4.0, 64.0, 512
# Weights that are less than this share of the largest one are light.
LIGHT = 1e-6
# A mean of equal numbers differs from them by a share no larger than this.
ROUNDED = 1e-13


class Centring(NamedTuple):
    """The points scale (x - centre)."""

    points: Points
    centre: np.ndarray
    scale: float

    def intercept_here(self, w: np.ndarray, b: float) -> float:
        """b + w·centre, where b is the intercept of the points as they were and the scale is one.

        It is rounded once only, because both terms are large where their sum is not.
        """
        return _exact_sum(b, w, self.centre)

    def intercept_there(self, w: np.ndarray, b: float) -> float:
        """The intercept of the points as they were, where b is that of these points."""
        return _exact_sum(b, w, -self.centre)


def centred_and_scaled(points: Points, *, may_move: bool) -> Centring:
    """Points as they are, where they are well placed; else moved, if they may be, and scaled.

    Sparse points are moved in those columns alone that have an entry in every row.
    """
    matrix, centre = points.matrix, np.zeros(points.n_columns)
    if may_move and points.n_rows:
        centre = _centre(points)
        if float(centre @ centre) <= FAR_SHARE * float(points.squared_norms.mean()):
            centre = np.zeros(points.n_columns)
    if centre.any():
        matrix = _moved(matrix, centre)
        points = Points(matrix)
    radius = points.largest_norm
    scale = 1.0
    if radius > 0.0 and not SMALLEST_RADIUS <= radius <= LARGEST_RADIUS:
        scale = 2.0 ** -math.frexp(radius)[1]
        points = Points(matrix.astype(np.float64) * scale)
    return Centring(points, centre, scale)


def centred(points: Points, *, may_move: bool, weights: np.ndarray | None = None) -> Centring:
    """Points as they are, but for columns far from zero, which are moved if they may be; every entry is rounded once.

    Any place among the rows will do for what is said of the rows around it, so that a sample decides.
    """
    place = far_place(points, VERY_FAR, weights) if may_move and points.n_rows else None
    if place is not None and sp.issparse(points.matrix):
        place[~_can_be_moved(points)] = 0.0
    if place is None or not place.any():
        return Centring(points, np.zeros(points.n_columns), 1.0)
    return Centring(Points(_moved(points.matrix, place)), place, 1.0)


def far_place(points: Points, times: float = FAR, weights: np.ndarray | None = None) -> np.ndarray | None:
    """About the means of the columns that are far from zero, zero for all others; None if there is no such column.

    Rows that weigh next to nothing beside others have no say.
    """
    matrix = points.matrix
    if weights is not None and weights.min() < LIGHT * weights.max():
        matrix = matrix[np.flatnonzero(weights >= LIGHT * weights.max())]
    sample = Points(matrix[:: max(1, matrix.shape[0] // ROWS_THAT_TELL)])
    shares = np.full(sample.n_rows, 1.0 / sample.n_rows)
    with np.errstate(over="ignore", invalid="ignore"):
        place = column_offsets(sample.combination(shares), sample.squares_of_columns(shares), times)
    if not place.any():
        return None
    # What is left of a constant column is zero to the last bit.
    first = Points(sample.matrix[:1]).combination(np.ones(1))
    return np.where(np.abs(place - first) <= ROUNDED * np.abs(place), first, place)


def column_offsets(means: np.ndarray, squares: np.ndarray, times: float = FAR) -> np.ndarray:
    """The means of the columns that are far from zero for how much they vary, zero for all others.

    ``squares`` are the means of the columns' squares.
    """
    of_means = np.square(means)
    return np.where(of_means > times**2 * (squares - of_means), means, 0.0)


def _centre(points: Points) -> np.ndarray:
    """The mean of the points, in the columns that can be moved."""
    with np.errstate(over="ignore", invalid="ignore"):
        mean = points.combination(np.ones(points.n_rows)) / points.n_rows
        if sp.issparse(points.matrix):
            mean[~_can_be_moved(points)] = 0.0
    return mean if np.isfinite(mean @ mean) else np.zeros(points.n_columns)


def _can_be_moved(points: Points) -> np.ndarray:
    """Which columns of sparse points have an entry in every row."""
    return np.bincount(points.matrix.indices, minlength=points.n_columns) == points.n_rows


def _exact_sum(b: float, w: np.ndarray, centre: np.ndarray) -> float:
    used = np.flatnonzero(centre)
    if not used.size or not (math.isfinite(b) and np.isfinite(w[used]).all()):
        return float(b + w[used] @ centre[used])
    total = sum((Fraction(float(w[j])) * Fraction(float(centre[j])) for j in used), start=Fraction(b))
    try:
        return float(total)
    except OverflowError:
        return math.copysign(math.inf, total)


def _moved(matrix: Any, centre: np.ndarray) -> Any:
    if not sp.issparse(matrix):
        return matrix.astype(np.float64) - centre
    moved = matrix.astype(np.float64)
    moved.data -= centre[moved.indices]
    return moved
