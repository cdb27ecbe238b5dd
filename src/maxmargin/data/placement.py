"""Points moved and scaled so that numbers stay near one: far from the origin, or tiny, they lose digits."""

import math
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from maxmargin.data.points import Points

# Points are moved where the square of their mean is more than this share of the mean of their squares.
FAR_SHARE = 0.9
# Lengths outside of this range are scaled to about one, by a power of two, which rounds nothing.
SMALLEST_RADIUS, LARGEST_RADIUS = 1e-6, 1e6


class Placement(NamedTuple):
    """The points scale (x - centre)."""

    points: Points
    centre: np.ndarray
    scale: float


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


def _centre(points: Points) -> np.ndarray:
    """The mean of the points, in the columns that can be moved."""
    with np.errstate(over="ignore", invalid="ignore"):
        mean = points.combination(np.ones(points.n_rows)) / points.n_rows
        if sp.issparse(points.matrix):
            entries = np.bincount(points.matrix.indices, minlength=points.n_columns)
            mean[entries < points.n_rows] = 0.0
    return mean if np.isfinite(mean @ mean) else np.zeros(points.n_columns)


def _moved(matrix: Any, centre: np.ndarray) -> Any:
    if not sp.issparse(matrix):
        return matrix.astype(np.float64) - centre
    moved = matrix.astype(np.float64)
    moved.data -= centre[moved.indices]
    return moved
