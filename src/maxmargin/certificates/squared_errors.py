"""Bounds on sums of squared errors and on their dual points, rounding errors included."""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from maxmargin.certificates.accurate_products import accurate_combination
from maxmargin.certificates.bounds import (
    absolute_scores_at_most,
    longest_row_at_most,
    row_lengths_at_most,
)
from maxmargin.certificates.passes import combination, scores, total_at_most
from maxmargin.certificates.rounding import (
    SMALLEST,
    UNIT,
    dot_at_most,
    gamma,
    length_at_most,
    sum_at_most,
    up,
    upper_bound,
)
from maxmargin.certificates.task_sums import exact_sum, sum_of
from maxmargin.engine import MemoryEngine
from maxmargin.problems.partitioned import ErrorSums
from maxmargin.problems.squared_errors import SquaredErrors

# Share of the value below which the rounding error is not bounded more finely, which would take another pass.
NEGLIGIBLE_ERROR = 1e-9
# Numbers that are added in float64 before their sum is added exactly.
SUMMED_AT_ONCE = 128


class Dual(NamedTuple):
    r"""The dual point of residuals, alpha_i = m_i r_i, by bounds on its terms.

    With an intercept, m_i / sum m times the sum of all alpha is subtracted, so that the exact sum is zero. This does
    not increase sum alpha_i²/m_i, and moves X^T alpha by the sum times a mean of the rows.

    Attributes
    ----------
    imbalance : float
        Upper bound on the absolute sum of the computed alpha.
    linear : float
        Lower bound on alpha·y.
    squares : float
        Upper bound on sum alpha_i²/m_i.
    length : float
        Upper bound on the norm of alpha.
    """

    imbalance: float
    linear: float
    squares: float
    length: float


class DualTerms(NamedTuple):
    """Sums over the dual point of some rows, with ``alpha``·(y - c) for a number c.

    Attributes
    ----------
    total, total_error : float
        The computed sum of alpha, and a bound on its error.
    linear, linear_error : float
        The computed alpha·(y - c), and a bound on its error.
    squares, length : float
        As those of ``Dual``.
    largest_target : float
        The largest |y_i - c|.
    """

    total: float
    total_error: float
    linear: float
    linear_error: float
    squares: float
    length: float
    largest_target: float


def squares_at_most(errors: SquaredErrors, w: np.ndarray, b: float, residuals: np.ndarray, penalty: float) -> float:
    """sum m_i r_i², at most, of residuals computed in float64; ``penalty`` is the other term of the objective."""
    points = errors.points
    about = float(np.vdot(errors.weighted(residuals), residuals))
    coarse = squares_by_lengths(errors, w, b, residuals)
    if coarse - about <= NEGLIGIBLE_ERROR * (about + penalty):
        return coarse
    # Where columns have very different sizes, another pass over the rows gives a much smaller bound.
    return min(coarse, _squares_given_sizes(errors, b, residuals, absolute_scores_at_most(points, w)))


def squares_by_lengths(errors: SquaredErrors, w: np.ndarray, b: float, residuals: np.ndarray) -> float:
    """The same, from the norms of the rows and of w."""
    return _squares_given_sizes(errors, b, residuals, row_lengths_at_most(errors.points) * length_at_most(w))


def _squares_given_sizes(errors: SquaredErrors, b: float, residuals: np.ndarray, sizes: np.ndarray) -> float:
    """The same, given a bound on sum_j |x_ij w_j| of every row."""
    terms = errors.points.longest_row + 8
    largest = np.abs(residuals) + (gamma(terms) * (sizes + (abs(b) + np.abs(errors.targets))) + terms * SMALLEST)
    # The weight comes first: the square of a residual underflows before its product with a large weight does.
    return up(dot_at_most(errors.weighted(largest) + SMALLEST, largest) * (1.0 + 16.0 * UNIT))


def dual_of(errors: SquaredErrors, residuals: np.ndarray) -> tuple[np.ndarray, Dual]:
    """The dual point of these residuals, as computed, and its bounds."""
    alpha, terms = dual_terms(errors, residuals, errors.mean(residuals), errors.target_mean)
    return alpha, merged_dual(errors.has_intercept, [terms])


def dual_terms(
    errors: SquaredErrors, residuals: np.ndarray, mean: float, centre: float
) -> tuple[np.ndarray, DualTerms]:
    """The dual point of the residuals less their mean, and its sums; the centre is about the mean of the targets."""
    if errors.has_intercept:
        residuals = residuals - mean
    alpha = errors.weighted(residuals)
    targets = errors.targets - centre
    total, total_error = _sum_between(alpha) if errors.has_intercept else (0.0, 0.0)
    # With a sum of zero, alpha·y is alpha·(y - c) for every c.
    absolute, sizes = np.abs(alpha), np.abs(targets)
    off = up(gamma(alpha.size + 4) * dot_at_most(absolute, sizes)) + alpha.size * SMALLEST
    # alpha_i is m_i r_i, rounded once: alpha_i²/m_i is alpha_i r_i up to that rounding, without a division.
    of_rows = absolute if errors.weights is None else np.abs(residuals)
    squares = up(dot_at_most(absolute, of_rows) * (1.0 + 8.0 * UNIT) + 2.0 * alpha.size * SMALLEST)
    largest = float(sizes.max(initial=0.0))
    return alpha, DualTerms(total, total_error, float(alpha @ targets), off, squares, length_at_most(alpha), largest)


def merged_dual(has_intercept: bool, parts: Sequence[DualTerms]) -> Dual:
    """The bounds of the dual point of all rows."""
    totals, total_errors, linear_terms, linear_errors, squares, lengths, largest = zip(*parts, strict=True)
    imbalance = 0.0
    if has_intercept:
        whole = up(abs(sum_of(totals)) * (1.0 + 4.0 * UNIT))
        imbalance = upper_bound(up(whole + total_at_most(total_errors)))
    off = up(total_at_most(linear_errors) + up(imbalance * max(largest)))
    total = sum_of(linear_terms)
    if len(parts) > 1:
        off = up(off + 2.0 * UNIT * abs(total))
    linear = total - off
    return Dual(imbalance, linear - abs(linear) * 2.0 * UNIT, total_at_most(squares), length_at_most(np.array(lengths)))


def _sum_between(values: np.ndarray) -> tuple[float, float]:
    """The sum of all values and a bound on its error: short pieces are summed in float64, their sums exactly."""
    if not values.size:
        return 0.0, 0.0
    pieces = np.add.reduceat(values, np.arange(0, values.size, SUMMED_AT_ONCE))
    total = exact_sum(pieces)
    off = up(gamma(SUMMED_AT_ONCE) * sum_at_most(np.abs(values)))
    return total, up(off + up(2.0 * UNIT * abs(total)))


def products_at_most(errors: SquaredErrors | ErrorSums, dual: Dual, combination: np.ndarray) -> np.ndarray:
    """|x_j·alpha| of every column j, at most, given their computed combination X^T alpha.

    The bound holds for the exact alpha, whose sum is zero if there is an intercept.
    """
    n_rows = errors.points.n_rows
    # Cauchy–Schwarz with weights m_i: sum |x_ij alpha_i| <= (sum m_i x_ij²)^½ (sum alpha_i²/m_i)^½.
    lengths = lengths_of_columns_at_most(errors)
    off = up(gamma(n_rows + 8) * up(math.sqrt(dual.squares)))
    if errors.has_intercept:
        off = up(off + up(dual.imbalance / math.sqrt(errors.total_weight)) * (1.0 + gamma(n_rows + 8)))
    found: np.ndarray = (np.abs(combination) + lengths * off + 2.0 * n_rows * SMALLEST) * (1.0 + 8.0 * UNIT)
    return found


def lengths_of_columns_at_most(errors: SquaredErrors | ErrorSums) -> np.ndarray:
    """(sum_i m_i x_ij²)^½ of every column, at most."""
    squares = errors.squares_of_columns * (1.0 + 2.0 * gamma(errors.points.n_rows + 4))
    return np.sqrt(squares + _underflow_of_squares(errors))


def accurate_products_at_most(errors: SquaredErrors, alpha: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Products x_j·alpha that are nearly exact, which takes several passes over the rows, and the bound from them."""
    products, off = accurate_combination(errors.points, alpha)
    if errors.has_intercept:
        # The share m_i / sum m of the sum is subtracted from each alpha_i, and so is that of the column's sum.
        ones = np.ones(alpha.size) if errors.weights is None else errors.weights
        imbalance, total = exact_sum(alpha), exact_sum(ones)
        columns, of_columns = accurate_combination(errors.points, ones)
        moved = columns * (imbalance / total)
        products = products - moved
        off = off + of_columns * abs(imbalance / total) + 16.0 * UNIT * (np.abs(moved) + np.abs(products))
    found: np.ndarray = (np.abs(products) + off + 4.0 * SMALLEST) * (1.0 + 8.0 * UNIT)
    return products, found


def spreads_between(errors: SquaredErrors | ErrorSums) -> tuple[np.ndarray, np.ndarray]:
    """Bounds on the spread of every column, (min over c of sum_i m_i (x_ij - c)²)^½; c = 0 without an intercept.

    They are far apart where the spread is small beside the mean, and most digits cancel.
    """
    terms = errors.points.n_rows + 8
    # Weights times squares that underflow, and the same of the mean.
    of_means = 4.0 * (terms + errors.total_weight) * SMALLEST * np.abs(errors.column_means)
    rounded = 8.0 * gamma(terms) * errors.squares_of_columns + 4.0 * _underflow_of_squares(errors) + of_means
    least = np.sqrt(np.maximum(0.0, errors.squared_deviations - rounded)) * (1.0 - 4.0 * UNIT)
    return least, np.sqrt(errors.squared_deviations + rounded) * (1.0 + 4.0 * UNIT)


def _underflow_of_squares(errors: SquaredErrors | ErrorSums) -> float:
    """What sum_i m_i x_ij² loses to underflow, at most: SMALLEST in a square, times the weight, and in a product."""
    return up(2.0 * (errors.total_weight + errors.points.n_rows) * SMALLEST)


def residuals_of(engine: MemoryEngine[SquaredErrors], w: np.ndarray, b: float) -> np.ndarray:
    """y_i - w·x_i - b of all rows."""
    found: np.ndarray = engine.problem.targets - scores(engine, "scores", w, b)
    return found


def combination_of(engine: MemoryEngine[SquaredErrors], alpha: np.ndarray) -> np.ndarray:
    """X^T alpha, as computed."""
    engine["alpha"] = alpha
    return combination(engine, "alpha")


def squared_combination_at_most(
    errors: SquaredErrors | ErrorSums, dual: Dual, combined: np.ndarray, frobenius_norm: float, negligible: float
) -> float:
    """||X^T alpha||², at most, given X^T alpha as computed, and a bound on the norm of all entries of X.

    It is bounded column by column where the rounding error may exceed ``negligible``.
    """
    n_rows = errors.points.n_rows
    off = up(gamma(n_rows + 8) * up(frobenius_norm * dual.length))
    off = up(off + n_rows * errors.points.n_columns * SMALLEST)
    if errors.has_intercept:
        off = up(off + up(dual.imbalance * longest_row_at_most(errors.points)))
    computed = length_at_most(combined)
    if not off * (2.0 * computed + off) <= negligible:
        computed, off = length_at_most(products_at_most(errors, dual, combined)), 0.0
    length = up(computed + off)
    return up(length * length)
