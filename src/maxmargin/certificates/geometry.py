"""A hyperplane among points: the numbers from which margin brackets and mistake bounds are computed.

The same few numbers describe a linear hyperplane and one in the feature space of a kernel, so that one proof serves
both.
"""

import math
from dataclasses import dataclass

import numpy as np

from maxmargin.certificates.bounds import distances_at_least, feature_vector, score_error_at_most, score_errors_at_most
from maxmargin.certificates.rounding import (
    SMALLEST,
    UNIT,
    gamma,
    length_at_least,
    length_at_most,
    sum_at_least,
    sum_at_most,
    up,
)
from maxmargin.problems import PerceptronProblem
from maxmargin.problems.exact_arithmetic import hulls_meet
from maxmargin.problems.hard_margin import HardMarginProblem
from maxmargin.problems.kernel_expansion import expansion_scores
from maxmargin.problems.kernel_perceptron import KernelPerceptronProblem
from maxmargin.problems.semidefinite import KernelFacts

# Normalised rows shorter than this share of the longest one get error bounds of their own, for one more pass.
SHORT_ROW = 1e-6


@dataclass(frozen=True)
class Geometry:
    """Bounds on a hyperplane through the origin and on the points of the space in which the theorems hold.

    Attributes
    ----------
    space : str
        The points, as a formula: ``x``, ``(x, 1)``, and whether they are divided by their length.
    radius : float
        Upper bound on the largest norm of a point.
    margins : ndarray
        Lower bounds on the signed distances y_i f(x_i)/||w|| of the points of positive weight; empty where w = 0.
    shortest_in_hull : float
        Upper bound on the norm of some point in the convex hull of the y_i x_i; at most ``radius``.
    start_length : float
        Upper bound on the norm of the run's initial w.
    hulls_meet : bool
        Whether it is proven that the convex hulls of the classes meet exactly.
    assumption : str
        What the bounds rest on besides the data, for example "if the kernel is positive semidefinite".
    """

    space: str
    radius: float
    margins: np.ndarray
    shortest_in_hull: float
    start_length: float
    hulls_meet: bool = False
    assumption: str = ""


def space_of(problem: PerceptronProblem) -> str:
    """The formula of the points in which the theorems hold."""
    point = "(x, 1)" if problem.fit_intercept else "x"
    return f"{point}/|{point}|" if problem.normalize else point


def linear_geometry(
    problem: PerceptronProblem,
    w: np.ndarray,
    intercept: float,
    alpha: np.ndarray | None = None,
    start: tuple[np.ndarray, float] | None = None,
    witness: np.ndarray | None = None,
) -> Geometry:
    """Measure the hyperplane w·x + b among the problem's points.

    Parameters
    ----------
    problem : PerceptronProblem
    w : ndarray of shape (d,)
    intercept : float
    alpha, witness : ndarray of shape (n,), optional
        Nonnegative duals: each is a point of the convex hull of the y_i x_i, whose norm bounds the margin from above.
    start : (ndarray, float), optional
        The initial w and intercept of the run, where they are not zero.

    Returns
    -------
    Geometry
    """
    # Values whose squares overflow leave infinite bounds, which claim nothing.
    with np.errstate(over="ignore", invalid="ignore"):
        radius = _radius(problem)
        lengths = [_length_in_hull(problem, duals) for duals in (alpha, witness) if duals is not None]
        # Neither an intercept's feature nor normalisation changes whether a hyperplane separates.
        meet = witness is not None and hulls_meet(HardMarginProblem(problem.dataset, problem.fit_intercept), witness)
        return Geometry(
            space=space_of(problem),
            radius=radius,
            margins=_margins(problem, w, intercept),
            shortest_in_hull=min(radius, *lengths, math.inf),
            start_length=0.0 if start is None else length_at_most(start[0], start[1] * problem.intercept_step),
            hulls_meet=meet,
        )


def _longest_point(problem: PerceptronProblem) -> float:
    """An upper bound on the largest norm of a point, before normalisation."""
    terms = problem.dataset.points.longest_row + 4
    squared = float(problem.squared_norms[problem.dataset.counted].max(initial=0.0))
    return up(math.sqrt(up(squared * (1.0 + 2.0 * gamma(terms)) + terms * SMALLEST)))


def _radius(problem: PerceptronProblem) -> float:
    if not problem.normalize:
        return _longest_point(problem)
    # Points are divided by their length, computed with this relative error, or by more.
    is_zero = not problem.fit_intercept and problem.dataset.points.all_zero
    return 0.0 if is_zero else 1.0 + 2.0 * gamma(problem.dataset.points.longest_row + 8)


def _margins(problem: PerceptronProblem, w: np.ndarray, intercept: float) -> np.ndarray:
    dataset = problem.dataset
    longest, shortest = length_at_most(w, intercept), length_at_least(w, intercept)
    if shortest == 0.0 or not math.isfinite(longest):
        return np.empty(0)
    functional = dataset.signs * (dataset.points.scores(w) + intercept)
    lengths = problem.lengths[dataset.counted]
    # The longest row bounds the errors of all: too much where normalisation enlarges much shorter ones.
    alike = lengths.min(initial=1.0) >= SHORT_ROW * lengths.max(initial=1.0)
    errors = score_error_at_most if alike else score_errors_at_most
    error = np.broadcast_to(errors(dataset.points, w, intercept), dataset.signs.shape)[dataset.counted]
    distances = distances_at_least(functional[dataset.counted] - error, shortest, longest)
    # First ||w||, which scores are small beside: their quotients with the lengths of points might underflow.
    return np.nextafter(distances / lengths, -math.inf) if problem.normalize else distances


def _length_in_hull(problem: PerceptronProblem, alpha: np.ndarray) -> float:
    dataset = problem.dataset
    total = sum_at_least(alpha * problem.lengths) * (1.0 - 8.0 * UNIT)
    if not total > 0.0:
        return math.inf
    signed = alpha * dataset.signs
    vector = dataset.points.combination(signed)
    intercept = float(signed.sum()) * problem.intercept_step
    used = int(np.count_nonzero(alpha))
    sizes = sum_at_most(alpha * problem.lengths) if problem.normalize else _longest_point(problem) * sum_at_most(alpha)
    error = gamma(used + 4 + dataset.points.longest_row) * sizes
    return up(up(length_at_most(vector, intercept) + error) / total)


def feature_space_scores(
    problem: KernelPerceptronProblem, support: np.ndarray, signed_alphas: np.ndarray
) -> np.ndarray:
    """f(x_i) of all rows, for w = sum signed_alpha_j phi(x_j) of all tasks (k, s) at once."""
    matrix = problem.dataset.points.matrix
    columns = support if problem.kernel is None else matrix[support]
    of_intercept = signed_alphas.sum(axis=1) * problem.intercept_step
    scores: np.ndarray = expansion_scores(problem.kernel, matrix, columns, signed_alphas.T) + of_intercept
    return scores


def kernel_geometry(
    problem: KernelPerceptronProblem,
    scores: np.ndarray,
    support: np.ndarray,
    signed_alpha: np.ndarray,
    facts: KernelFacts,
) -> Geometry:
    """Measure the hyperplane w = sum signed_alpha_j phi(x_j), over the rows ``support``, among all points.

    ``scores`` are its values at all rows; ``facts`` are those of another problem with the same kernel and rows. The
    result holds for the kernel's exact values, where the kernel is positive semidefinite; a precomputed matrix and the
    values of a user's function are taken as exact, and for these the result states the assumption. Where the kernel is
    seen to be indefinite, or is not positive semidefinite in general, all bounds are infinite and nothing is proven.
    """
    entry_error = facts.asymmetry
    if problem.kernel is not None:
        points = problem.dataset.points
        entry_error = problem.kernel.error(points.largest_norm, points.longest_row)
    w = feature_vector(problem.squared_norms, entry_error, signed_alpha, scores[support])
    space = "(phi(x), 1)" if problem.fit_intercept else "phi(x)"
    if not w.semidefinite or facts.may_be_indefinite:
        return Geometry(space, math.inf, np.empty(0), math.inf, 0.0)
    margins = np.empty(0)
    if w.shortest > 0.0:
        margins = distances_at_least(
            problem.dataset.signs * scores - np.nextafter(w.score_error, np.inf), w.shortest, w.longest
        )
    hull, total = w.radius, sum_at_least(np.abs(signed_alpha))
    if total > 0.0:
        hull = min(hull, up(w.longest / total))
    return Geometry(space, w.radius, margins, hull, start_length=0.0, assumption=facts.assumption)
