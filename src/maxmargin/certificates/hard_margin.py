"""The bracket around the hard margin: a hyperplane from below, points of the two classes' convex hulls from above."""

import math

import numpy as np

from maxmargin.certificates.bounds import OF_BOUNDS, distances_at_least, longest_row_at_most, score_error_at_most
from maxmargin.certificates.margin_bracket import MarginBracket
from maxmargin.certificates.rounding import SMALLEST, UNIT, gamma, length_at_least, length_at_most, lower_bound, up
from maxmargin.data import Points, centred_and_scaled
from maxmargin.problems.hard_margin import HardMarginProblem

# The classes are said not to be separable where no margin exceeds this share of R (some ten thousand roundings of a
# coordinate), or this number at all (rows of zeros).
NO_MARGIN = 1e-11
NOTHING = 1e-300
# Rows per block of a sum, at least: blocks, and then their sums, round less than one long sum.
ROWS_PER_SUM = 256


def bracket_hard_margin(problem: HardMarginProblem, w: np.ndarray, b: float, beta: np.ndarray) -> MarginBracket:
    """Bracket the largest margin by a hyperplane and signed duals.

    Parameters
    ----------
    problem : HardMarginProblem
    w : ndarray of shape (d,)
    b : float
    beta : ndarray of shape (n,)
        Signed duals: the weights of a point in the hull of each class, up to scale.

    Returns
    -------
    MarginBracket
    """
    with np.errstate(over="ignore", invalid="ignore"):
        # With an intercept, distances do not change under translation: R is measured from the centre of the points.
        placed = centred_and_scaled(problem.dataset.points, may_move=problem.fit_intercept)
        radius = up(longest_row_at_most(placed.points) / placed.scale)
        lower = margin_at_least(problem, w, b)
        upper = up(half_distance_at_most(problem, placed.points, beta) / placed.scale)
    # R bounds every margin, and so does the smaller of two upper bounds.
    upper = radius if math.isnan(upper) else min(radius, upper)
    return MarginBracket(lower=lower_bound(lower), upper=upper, radius=radius, space=problem.space)


def margin_at_least(problem: HardMarginProblem, w: np.ndarray, b: float) -> float:
    """A lower bound on the smallest distance y f(x)/||w|| of a point of positive weight; ``-inf`` where w = 0."""
    longest, shortest = length_at_most(w), length_at_least(w)
    if shortest == 0.0 or not math.isfinite(longest):
        return -math.inf
    points, counted = problem.dataset.points, problem.counted > 0.0
    functional = problem.dataset.signs * (points.scores(w) + b)
    smallest = float(functional.min(where=counted, initial=math.inf)) - score_error_at_most(points, w, b)
    return float(distances_at_least(smallest, shortest, longest))


def has_no_margin(bracket: MarginBracket) -> bool:
    """Whether every margin is zero up to rounding: the convex hulls of the classes intersect."""
    return not bracket.separates and bracket.upper <= max(NO_MARGIN * bracket.radius, NOTHING)


def half_distance_at_most(problem: HardMarginProblem, points: Points, beta: np.ndarray) -> float:
    """An upper bound on half the distance of the hull points of the duals; without b, on the norm of the only one.

    Duals of the wrong sign, and of rows of weight zero, are left out.
    """
    beta = np.where((beta * problem.dataset.signs > 0.0) & (problem.counted > 0.0), beta, 0.0)
    if not problem.fit_intercept:
        point, error = _hull_point(points, beta)
        return up(length_at_most(point) + error)
    above, error_above = _hull_point(points, np.maximum(beta, 0.0))
    below, error_below = _hull_point(points, np.minimum(beta, 0.0))
    # The two points have opposite signs: their sum is the difference vector, and is rounded once more.
    rounded = 2.0 * UNIT * (length_at_most(above) + length_at_most(below))
    return up(0.5 * up(length_at_most(above + below) + up(error_above + error_below + rounded)))


def _hull_point(points: Points, beta: np.ndarray) -> tuple[np.ndarray, float]:
    """Sum beta_i x_i / sum |beta_i| and a bound on its rounding error, which includes that of centred points."""
    used = np.flatnonzero(beta)
    # fsum adds exactly and rounds once.
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
    # Roundings: one each for the total, centred entries, coefficients and products; one per row within a block, one per
    # block. The absolute values of the coefficients sum to one.
    terms = min(size, used.size) + n_blocks + 7
    error = gamma(terms) * longest_row_at_most(points) + used.size * SMALLEST
    return vector, up(error * (1.0 + OF_BOUNDS))
