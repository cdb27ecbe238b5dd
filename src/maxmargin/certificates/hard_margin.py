"""The bracket around the hard margin: a plane on one side, points of the two classes' hulls on the other (C3, C4)."""

import math

import numpy as np

from maxmargin.certificates.margin_bracket import MarginBracket
from maxmargin.certificates.rounding import (
    SMALLEST,
    UNIT,
    gamma,
    length_at_least,
    length_at_most,
    up,
)
from maxmargin.certificates.row_lengths import longest_row_at_most
from maxmargin.data import Points, centred_and_scaled
from maxmargin.problems.hard_margin import HardMarginProblem

# No plane is said to separate the classes where none can have a margin above this share of R, or above this at all:
# that of rows of zeros.
NO_MARGIN = 1e-11
NOTHING = 1e-300
# Rows are added up in blocks of this many at least, and the blocks' sums then: that rounds less than one long sum.
ROWS_PER_SUM = 256


def bracket_hard_margin(problem: HardMarginProblem, w: np.ndarray, b: float, beta: np.ndarray) -> MarginBracket:
    """State what a plane and signed duals prove about the largest margin."""
    with np.errstate(over="ignore", invalid="ignore"):
        # With an intercept, distances do not change when all points are moved: R is measured from their middle.
        placed = centred_and_scaled(problem.dataset.points, may_move=problem.fit_intercept)
        radius = up(longest_row_at_most(placed.points) / placed.scale)
        lower = margin_at_least(problem, w, b)
        upper = up(half_distance_at_most(problem, placed.points, beta) / placed.scale)
    upper = radius if math.isnan(upper) else min(radius, upper)
    return MarginBracket(
        lower=-math.inf if math.isnan(lower) else min(lower, upper),
        upper=upper,
        radius=radius,
        space=problem.space,
    )


def margin_at_least(problem: HardMarginProblem, w: np.ndarray, b: float) -> float:
    """At most the smallest distance y f(x)/||w|| of a point that counts; minus infinity where w = 0."""
    longest, shortest = length_at_most(w), length_at_least(w)
    if shortest == 0.0 or not math.isfinite(longest):
        return -math.inf
    points, counted = problem.dataset.points, problem.counted > 0.0
    functional = problem.dataset.signs * (points.scores(w) + b)
    terms = points.longest_row + 4
    error = gamma(terms) * (longest_row_at_most(points) * longest + abs(b)) + terms * SMALLEST
    smallest = float(functional.min(where=counted, initial=math.inf)) - up(error)
    margin = smallest / (longest if smallest > 0.0 else shortest)
    return math.nextafter(margin - abs(margin) * 4.0 * UNIT, -math.inf)


def has_no_margin(bracket: MarginBracket) -> bool:
    """Whether no plane can have a margin that is worth the name: the hulls meet, up to rounding."""
    return not bracket.separates and bracket.upper <= max(NO_MARGIN * bracket.radius, NOTHING)


def half_distance_at_most(problem: HardMarginProblem, points: Points, beta: np.ndarray) -> float:
    """At least half the distance of the hull points that the duals stand for, or the length of the one without b.

    Duals of the wrong sign, and of rows that do not count, are left out.
    """
    beta = np.where((beta * problem.dataset.signs > 0.0) & (problem.counted > 0.0), beta, 0.0)
    if not problem.fit_intercept:
        point, error = _hull_point(points, beta)
        return up(length_at_most(point) + error)
    above, error_above = _hull_point(points, np.maximum(beta, 0.0))
    below, error_below = _hull_point(points, np.minimum(beta, 0.0))
    # The sides' points have opposite signs: their sum is the way from one to the other, and is rounded once more.
    rounded = 2.0 * UNIT * (length_at_most(above) + length_at_most(below))
    return up(0.5 * up(length_at_most(above + below) + up(error_above + error_below + rounded)))


def _hull_point(points: Points, beta: np.ndarray) -> tuple[np.ndarray, float]:
    """Sum beta_i x_i / sum |beta_i|, and how far rounding can have moved it; points may have been moved, too."""
    used = np.flatnonzero(beta)
    # Added exactly and rounded once.
    total = math.fsum(np.abs(beta[used])) if np.isfinite(beta[used]).all() else math.inf
    if not 0.0 < total < math.inf:
        return np.full(points.n_columns, math.nan), math.nan
    size = max(ROWS_PER_SUM, math.isqrt(used.size))
    matrix, coefficients = points.matrix[used], beta[used] / total
    vector, n_blocks = np.zeros(points.n_columns), 0
    for start in range(0, used.size, size):
        block = slice(start, start + size)
        vector += matrix[block].astype(np.float64, copy=False).T @ coefficients[block]
        n_blocks += 1
    # The total is rounded once, and so are entries that were moved, coefficients and products; then a block's sum by
    # its rows, and the sum of the blocks by their number. The coefficients' sizes add up to one.
    terms = min(size, used.size) + n_blocks + 7
    error = gamma(terms) * longest_row_at_most(points) + used.size * SMALLEST
    return vector, up(error * (1.0 + 2.0**-40))
