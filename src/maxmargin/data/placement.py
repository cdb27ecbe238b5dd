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
# A column is far from zero where its middle is so many times as large as its range, as with years; so many rows tell.
FAR, ROWS_THAT_TELL = 64.0, 64


class Placement(NamedTuple):
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


def well_placed(points: Points, *, may_move: bool) -> Placement:
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
    return Placement(points, centre, scale)


def near_zero(points: Points, *, may_move: bool) -> Placement:
    """Points as they are, but for columns far from zero, which are moved if they may be; every entry is rounded once.

    Any place among the rows will do for what is said of the rows around it, so that a sample decides.
    """
    centre = np.zeros(points.n_columns)
    if not may_move or not points.n_rows:
        return Placement(points, centre, 1.0)
    sample: Any = points.matrix[:: -(-points.n_rows // ROWS_THAT_TELL)]
    movable: Any = slice(None)
    if sp.issparse(sample):
        candidates = Points(sample)
        movable = np.flatnonzero(_can_be_moved(points) if _can_be_moved(candidates).any() else [])
        sample = sample[:, movable].toarray()
    low, high = sample.min(axis=0).astype(np.float64), sample.max(axis=0).astype(np.float64)
    with np.errstate(over="ignore"):
        # A constant column becomes zero to the last bit.
        middle = low + 0.5 * (high - low)
        centre[movable] = np.where(np.abs(middle) > FAR * (high - low), middle, 0.0)
    if not centre.any():
        return Placement(points, centre, 1.0)
    return Placement(Points(_moved(points.matrix, centre)), centre, 1.0)


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
