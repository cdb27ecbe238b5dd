"""Bounds on what squared errors lose and on what their duals gain, with every rounding error counted in."""

import math
from typing import NamedTuple

import numpy as np

from maxmargin.certificates.rounding import SMALLEST, UNIT, gamma, length_at_most, sum_at_most, up
from maxmargin.certificates.row_lengths import longest_row_at_most
from maxmargin.data import Points
from maxmargin.problems.squared_errors import SquaredErrors

# Finer bounds are not worth their time where rounding is no larger a share than this.
NEGLIGIBLE = 1e-9
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


def squares_at_most(errors: SquaredErrors, w: np.ndarray, b: float, residuals: np.ndarray, penalty: float) -> float:
    """sum m_i r_i², at most, where the residuals were computed in float64; ``penalty`` is what will be added to it."""
    points = errors.points
    about = float((errors.weighted(residuals) * residuals).sum())
    coarse = _squares_given_sizes(errors, b, residuals, row_lengths_at_most(points) * length_at_most(w))
    if coarse - about <= NEGLIGIBLE * (about + penalty):
        return coarse
    # Where columns are of very different size, another pass over the rows pays.
    sizes = points.absolute_scores(w) * (1.0 + 2.0 * gamma(points.longest_row + 4)) + points.longest_row * SMALLEST
    return min(coarse, _squares_given_sizes(errors, b, residuals, sizes))


def _squares_given_sizes(errors: SquaredErrors, b: float, residuals: np.ndarray, sizes: np.ndarray) -> float:
    """The same, with a bound on sum_j |x_ij w_j| of every row."""
    terms = errors.points.longest_row + 8
    off = gamma(terms) * (sizes + (abs(b) + np.abs(errors.targets))) + terms * SMALLEST
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


def products_at_most(errors: SquaredErrors, dual: Dual, combination: np.ndarray) -> np.ndarray:
    """|x_j·alpha| of every column j, at most, given their computed combination X^T alpha.

    The exact alpha, whose sum is zero if there is an intercept, is meant.
    """
    n_rows = errors.points.n_rows
    # With alpha_i = m_i r_i, sum |x_ij alpha_i| is at most the product of two lengths in which row i counts m_i times.
    lengths = np.sqrt(errors.squares_of_columns * (1.0 + 2.0 * gamma(n_rows + 4)) + n_rows * SMALLEST)
    off = gamma(n_rows + 8) * up(math.sqrt(dual.squares)) + n_rows * SMALLEST
    if errors.has_intercept:
        off = up(off + up(dual.imbalance / math.sqrt(errors.total_weight)) * (1.0 + gamma(n_rows + 8)))
    return (np.abs(combination) + lengths * off + n_rows * SMALLEST) * (1.0 + 8.0 * UNIT)


def spreads_between(errors: SquaredErrors) -> tuple[np.ndarray, np.ndarray]:
    """Bounds on every column's spread, the root of min over c of sum_i m_i (x_ij - c)² (c = 0 without an intercept).

    Where much has cancelled in it, they are far from each other.
    """
    terms = errors.points.n_rows + 8
    rounded = 8.0 * gamma(terms) * errors.squares_of_columns + terms * SMALLEST
    least = np.sqrt(np.maximum(0.0, errors.squared_deviations - rounded)) * (1.0 - 4.0 * UNIT)
    return least, np.sqrt(errors.squared_deviations + rounded) * (1.0 + 4.0 * UNIT)


def squared_combination_at_most(errors: SquaredErrors, dual: Dual, negligible: float) -> float:
    """||X^T alpha||², at most; a look at the single columns is taken where more than ``negligible`` is at stake."""
    lengths = row_lengths_at_most(errors.points)
    off = up(gamma(dual.alpha.size + 8) * up(length_at_most(lengths) * length_at_most(dual.alpha)))
    if errors.has_intercept:
        off = up(off + up(dual.imbalance * longest_row_at_most(errors.points)))
    combination = errors.points.combination(dual.alpha)
    computed = length_at_most(combination)
    if not off * (2.0 * computed + off) <= negligible:
        computed, off = length_at_most(products_at_most(errors, dual, combination)), 0.0
    length = up(computed + off)
    return up(length * length)
