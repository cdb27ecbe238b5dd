"""The bracket around the hard margin: a hyperplane from below, points of the two classes' convex hulls from above."""

import math
from fractions import Fraction

import numpy as np

from maxmargin.certificates.bounds import (
    OF_BOUNDS,
    distances_at_least,
    longest_row_at_most,
    score_error_at_most,
    score_errors_at_most,
)
from maxmargin.certificates.margin_bracket import MarginBracket
from maxmargin.certificates.rounding import (
    SMALLEST,
    UNIT,
    down,
    gamma,
    length_at_least,
    length_at_most,
    lower_bound,
    up,
)
from maxmargin.data import Points, centred_and_scaled
from maxmargin.data.interruption import check_interruption
from maxmargin.data.points import KnownRows
from maxmargin.problems.exact_arithmetic import exact_margins, hulls_meet
from maxmargin.problems.hard_margin import HardMarginProblem

# Where no margin exceeds this share of R (some ten thousand roundings of a coordinate), or this number at all (rows of
# zeros), it is tested whether the hulls meet exactly. A margin may be smaller: the share alone decides nothing.
SHARE_TO_TEST = 1e-11
MARGIN_TO_TEST = 1e-300
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
        if problem.numbers is not None:
            # The points are the user's numbers, rounded: every one of them is off by at most this much.
            moved = up(2.0 * UNIT * longest_row_at_most(problem.dataset.points))
            radius, upper = up(radius + moved), up(upper + moved)
    # R bounds every margin, and so does the smaller of two upper bounds.
    upper = radius if math.isnan(upper) else min(radius, upper)
    weights = np.where(beta * problem.dataset.signs > 0.0, np.abs(beta), 0.0)
    tiny = not lower > 0.0 and upper <= max(SHARE_TO_TEST * radius, MARGIN_TO_TEST)
    meet = tiny and hulls_meet(problem, weights)
    return MarginBracket(lower=lower_bound(lower), upper=upper, radius=radius, space=problem.space, hulls_meet=meet)


def margin_at_least(problem: HardMarginProblem, w: np.ndarray, b: float) -> float:
    """A lower bound on the smallest distance y f(x)/||w|| of a point of positive weight; ``-inf`` where w = 0."""
    longest, shortest = length_at_most(w), length_at_least(w)
    if shortest == 0.0 or not math.isfinite(longest):
        return -math.inf
    points, counted = problem.dataset.points, problem.counted > 0.0
    functional = problem.dataset.signs * (points.scores(w) + b)
    error = score_error_at_most(points, w, b)
    if problem.numbers is not None:
        error = up(error + up(2.0 * UNIT * longest_row_at_most(points) * longest))
    computed = float(functional.min(where=counted, initial=math.inf))
    smallest = computed - error
    if computed > -error and not smallest > 0.0:
        smallest = max(smallest, _smallest_margin(problem, w, b, functional))
    return float(distances_at_least(smallest, shortest, longest))


def margin_of_all_at_least(points: KnownRows, w: np.ndarray, b: float, smallest: float) -> float:
    """A lower bound on the smallest distance of rows in partitions, given the smallest y f(x) as computed."""
    longest, shortest = length_at_most(w), length_at_least(w)
    if shortest == 0.0 or not math.isfinite(longest):
        return -math.inf
    # The score is computed first, and b is added then.
    return float(distances_at_least(smallest - score_error_at_most(points, w, b), shortest, longest))


def _smallest_margin(problem: HardMarginProblem, w: np.ndarray, b: float, functional: np.ndarray) -> float:
    """A lower bound on the smallest y f(x), where norms alone decide nothing: by entries, then in exact arithmetic."""
    counted = np.flatnonzero(problem.counted)
    if problem.numbers is None:
        errors = score_errors_at_most(problem.dataset.points, w, b)[counted]
        bounds, unclear = functional[counted] - errors, functional[counted] <= errors
        if np.any(functional[counted] < -errors):
            return float(bounds.min())
    else:
        bounds, unclear = np.full(counted.size, -math.inf), np.ones(counted.size, dtype=bool)
    exact = exact_margins(problem, w, b, counted[unclear])
    if exact is None:
        return float(bounds.min())
    return min([float(bounds[~unclear].min(initial=math.inf)), *(_float_below(margin) for margin in exact)])


def _float_below(value: Fraction) -> float:
    """A float that is at most this number, and positive where it is and float64 reaches that far."""
    try:
        nearest = float(value)
    except OverflowError:
        return math.copysign(math.inf, value) if value < 0 else math.nextafter(math.inf, 0.0)
    return nearest if nearest <= value else down(nearest)


def has_no_margin(bracket: MarginBracket) -> bool:
    """Whether it is proven that no hyperplane separates: the convex hulls of the classes intersect, exactly."""
    return bracket.hulls_meet


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
    coefficients = beta[used] / total
    vector, n_blocks = np.zeros(points.n_columns), 0
    for start in range(0, used.size, size):
        check_interruption()
        block = slice(start, start + size)
        vector += points.matrix[used[block]].astype(np.float64, copy=False).T @ coefficients[block]
        n_blocks += 1
    # Roundings: one each for the total, centred entries, coefficients and products; one per row within a block, one per
    # block. The absolute values of the coefficients sum to one.
    terms = min(size, used.size) + n_blocks + 7
    error = gamma(terms) * longest_row_at_most(points) + used.size * SMALLEST
    return vector, up(error * (1.0 + OF_BOUNDS))
