"""A bound on the rows' lengths, on which all bounds of rounding errors rest."""

from maxmargin.certificates.rounding import SMALLEST, gamma, up
from maxmargin.data import Points


def longest_row_at_most(points: Points) -> float:
    """An upper bound on the largest length of a row."""
    return up(points.largest_norm * (1.0 + gamma(points.longest_row + 4)) + SMALLEST)
