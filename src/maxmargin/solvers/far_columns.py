"""Columns that are far from zero for how much they vary: a year, a temperature in kelvin."""

import numpy as np

from maxmargin.data import Points
from maxmargin.problems.columns import far_part

# A sample of so many rows tells.
SAMPLE = 512


def far_place(points: Points) -> np.ndarray | None:
    """About the means of the columns that are far from zero, zero for all others; None if there is no such column."""
    sample = Points(points.matrix[:: max(1, points.n_rows // SAMPLE)])
    shares = np.full(sample.n_rows, 1.0 / sample.n_rows)
    place = far_part(sample.combination(shares), sample.squares_of_columns(shares))
    return place if place.any() else None
