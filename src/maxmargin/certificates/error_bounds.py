"""Bounds on what squared errors lose and on what their duals gain, with every rounding error counted in."""

import math
from typing import NamedTuple

import numpy as np

from maxmargin.certificates.rounding import SMALLEST, UNIT, gamma, length_at_most, sum_at_most, up
from maxmargin.certificates.row_lengths import longest_row_at_most
from maxmargin.data import Points
from maxmargin.problems.squared_errors import SquaredErrors

# So many numbers are added in float64 before their sum is added exactly.
PIECE = 128


class Dual(NamedTuple):
    r"""A dual point made from residuals, alpha_i = m_i r_i, and what is known of it.

    With an intercept it is alpha less the share of every row, m_i / sum m, in the sum of all alpha: so the exact sum
    is zero. That cannot make sum alpha_i²/m_i larger, and moves X^T alpha by the sum times a mean of the rows.

    Attributes
    ----------
    alpha : ndarray of shape (n,)
        As computed: its sum is ``imbalance`` away from zero, at most.
    imbalance : float
    gain : float
        A lower bound on alpha·y.
    squares : float
        An upper bound on sum alpha_i²/m_i.
    """

    alpha: np.ndarray
    imbalance: float
    gain: float
    squares: float


def squares_at_most(errors: SquaredErrors, w: np.ndarray, b: float, residuals: np.ndarray) -> float:
    """sum m_i r_i², at most, where the residuals were computed in float64."""
    points = errors.points
    lengths = row_lengths_at_most(points)
    sizes = lengths * length_at_most(w) + (abs(b) + np.abs(errors.targets))
    off = gamma(points.longest_row + 6) * sizes + (points.longest_row + 4) * SMALLEST
    squares = np.square(np.abs(residuals) + off) * (1.0 + 8.0 * UNIT) + SMALLEST
    return sum_at_most(errors.weighted(squares) * (1.0 + 2.0 * UNIT) + SMALLEST)


def dual_of(errors: SquaredErrors, residuals: np.ndarray) -> Dual:
    """Make the dual point of these residuals."""
    if errors.has_intercept:
        residuals = residuals - errors.mean(residuals)
    alpha = errors.weighted(residuals)
    centre = errors.target_mean
    targets = errors.targets - centre
    imbalance = _size_of_sum_at_most(alpha) if errors.has_intercept else 0.0
    # With a sum of zero, alpha·y is alpha·(y - c) for every c.
    products = np.abs(alpha) * np.abs(targets)
    off = up(gamma(alpha.size + 4) * sum_at_most(products)) + alpha.size * SMALLEST
    off = up(off + up(imbalance * float(np.abs(targets).max(initial=0.0))))
    gain = float(alpha @ targets) - off
    # alpha_i is m_i r_i, rounded once: alpha_i²/m_i is alpha_i r_i but for that, and needs no division by m_i = 0.
    squares = sum_at_most(np.abs(alpha) * np.abs(residuals) * (1.0 + 8.0 * UNIT) + 2.0 * SMALLEST)
    return Dual(alpha, imbalance, gain - abs(gain) * 2.0 * UNIT, squares)


def _size_of_sum_at_most(values: np.ndarray) -> float:
    """|sum of all values|, at most: sums of short pieces are rounded little, and the sum of those not at all."""
    pieces = np.add.reduceat(values, np.arange(0, values.size, PIECE))
    off = gamma(PIECE) * sum_at_most(np.abs(values))
    return up(up(abs(math.fsum(pieces)) * (1.0 + 4.0 * UNIT)) + up(off))


def row_lengths_at_most(points: Points) -> np.ndarray:
    """An upper bound on the length of every row."""
    # Squares that underflow take this much at most.
    squares = points.squared_norms + 2.0 * points.longest_row * SMALLEST
    return np.sqrt(squares) * (1.0 + 2.0 * gamma(points.longest_row + 4))


def off_by_imbalance(errors: SquaredErrors, dual: Dual) -> float:
    """How far an entry of X^T alpha is moved, at most, where the sum of all alpha is made zero."""
    if not errors.has_intercept:
        return 0.0
    return up(dual.imbalance * longest_row_at_most(errors.points))
