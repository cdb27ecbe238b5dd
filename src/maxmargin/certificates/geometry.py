"""What a certificate looks at: a plane among points, with every number bounded in exact arithmetic.

The same few numbers describe a linear plane and a kernel's plane in feature space, so that one proof serves both.
"""

import math
from dataclasses import dataclass

import numpy as np

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


@dataclass(frozen=True)
class Geometry:
    """A plane and points, through the origin of the space in which the theorems speak.

    Attributes
    ----------
    space : str
        The points, as a formula: ``x``, ``(x, 1)``, and whether they are divided by their length.
    radius : float
        At least the length of the longest point.
    margins : ndarray
        At most the exact distances y_i f(x_i)/||w|| of the points that count; empty where w = 0.
    shortest_in_hull : float
        At least the length of some point in the convex hull of the y_i x_i; ``radius`` where none is better.
    start_length : float
        At least the length of the vector that the run started from.
    """

    space: str
    radius: float
    margins: np.ndarray
    shortest_in_hull: float
    start_length: float


def space_of(problem: PerceptronProblem, point: str = "x") -> str:
    """Name the points that the theorems speak of."""
    if problem.fit_intercept:
        point = f"({point}, 1)"
    return f"{point}/|{point}|" if problem.normalize else point


def linear_geometry(
    problem: PerceptronProblem,
    w: np.ndarray,
    intercept: float,
    alpha: np.ndarray | None = None,
    start: tuple[np.ndarray, float] | None = None,
    witness: np.ndarray | None = None,
) -> Geometry:
    """Measure a plane w·x + b among the problem's points; ``alpha`` and ``witness`` are duals, where there are any."""
    # Values so large that their squares overflow leave infinite bounds behind, which claim nothing.
    with np.errstate(over="ignore", invalid="ignore"):
        radius = _radius(problem)
        lengths = [_length_in_hull(problem, duals) for duals in (alpha, witness) if duals is not None]
        return Geometry(
            space=space_of(problem),
            radius=radius,
            margins=_margins(problem, w, intercept),
            shortest_in_hull=min(radius, *lengths, math.inf),
            start_length=0.0 if start is None else length_at_most(start[0], start[1] * problem.intercept_step),
        )


def _longest_point(problem: PerceptronProblem) -> float:
    """At least the length of the longest point, before any division by lengths."""
    terms = problem.dataset.points.longest_row + 4
    squared = float(problem.squared_norms[problem.dataset.counted].max(initial=0.0))
    return up(math.sqrt(up(squared * (1.0 + 2.0 * gamma(terms)) + terms * SMALLEST)))


def _radius(problem: PerceptronProblem) -> float:
    if not problem.normalize:
        return _longest_point(problem)
    counted = problem.dataset.counted
    scaled = np.sqrt(problem.squared_norms[counted]) / problem.lengths[counted]
    return float(scaled.max(initial=0.0)) * (1.0 + 2.0 * gamma(problem.dataset.points.longest_row + 4))


def _margins(problem: PerceptronProblem, w: np.ndarray, intercept: float) -> np.ndarray:
    dataset, longest_row = problem.dataset, problem.dataset.points.longest_row
    longest, shortest = length_at_most(w, intercept), length_at_least(w, intercept)
    if shortest == 0.0 or not math.isfinite(longest):
        return np.empty(0)
    functional = dataset.signs * (dataset.points.scores(w) + intercept)
    # |x|·|w| <= ||x|| ||w||, so one number bounds the error of every score.
    error = gamma(longest_row + 3) * _longest_point(problem) * longest + longest_row * SMALLEST
    lower = (functional[dataset.counted] - error) / problem.lengths[dataset.counted]
    # Dividing a positive number by an upper bound of the length keeps it below; a negative one needs a lower bound.
    margins = np.where(lower > 0.0, lower / longest, lower / shortest)
    return np.nextafter(margins - np.abs(margins) * 4.0 * UNIT, -np.inf)


def _length_in_hull(problem: PerceptronProblem, alpha: np.ndarray) -> float:
    dataset = problem.dataset
    total = sum_at_least(alpha * problem.lengths) * (1.0 - 8.0 * UNIT)
    if not total > 0.0:
        return math.inf
    signed = alpha * dataset.signs
    vector = dataset.points.combination(signed)
    intercept = float(signed.sum()) * problem.intercept_step
    used = int(np.count_nonzero(alpha))
    error = gamma(used + 4) * _longest_point(problem) * sum_at_most(alpha)
    return up(up(length_at_most(vector, intercept) + error) / total)
