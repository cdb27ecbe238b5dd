"""What a certificate looks at: a plane among points, with every number bounded in exact arithmetic.

The same few numbers describe a linear plane and a kernel's plane in feature space, so that one proof serves both.
"""

from dataclasses import dataclass

import numpy as np

from maxmargin.certificates.rounding import SMALLEST, gamma, length_at_least, length_at_most, sum_at_least, up
from maxmargin.problems import PerceptronProblem


@dataclass(frozen=True)
class Scene:
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


def linear_scene(
    problem: PerceptronProblem,
    w: np.ndarray,
    intercept: float,
    alpha: np.ndarray | None = None,
    start: tuple[np.ndarray, float] | None = None,
) -> Scene:
    """Measure a plane w·x + b among the problem's points; ``alpha`` are duals, where there are any."""
    with np.errstate(over="ignore", invalid="ignore"):
        return _measured(problem, w, intercept, alpha, start)


def _measured(problem, w, intercept, alpha, start) -> Scene:
    dataset, points = problem.dataset, problem.dataset.points
    counted = dataset.counted
    bias = problem.intercept_step
    norm_doubt = gamma(points.longest_row + 4)
    longest = np.sqrt(problem.squared_norms[counted].max(initial=0.0)) * (1.0 + norm_doubt) + SMALLEST
    radius = _largest_scaled(problem, counted, longest, norm_doubt)
    return Scene(
        space=space_of(problem),
        radius=radius,
        margins=_margins(problem, w, intercept, counted, longest),
        shortest_in_hull=radius if alpha is None else _shortest(problem, alpha, bias, longest, radius),
        start_length=0.0 if start is None else length_at_most(start[0], start[1] * bias),
    )


def _largest_scaled(problem, counted, longest, norm_doubt) -> float:
    if not problem.normalize:
        return float(longest)
    scaled = np.sqrt(problem.squared_norms[counted]) / problem.lengths[counted]
    return float(scaled.max(initial=0.0) * (1.0 + 2.0 * norm_doubt))


def _margins(problem, w, intercept, counted, longest) -> np.ndarray:
    dataset = problem.dataset
    length = length_at_most(w, intercept)
    if length == 0.0 or not np.isfinite(length):
        return np.empty(0)
    functional = dataset.signs * (dataset.points.scores(w) + intercept)
    # |x|·|w| <= ||x|| ||w||, so one number bounds the error of every score.
    error = gamma(dataset.points.longest_row + 3) * longest * length + dataset.points.longest_row * SMALLEST
    lower = (functional[counted] - error) / problem.lengths[counted]
    # Dividing a positive number by an upper bound of the length keeps it below; a negative one needs a lower bound.
    shortest = length_at_least(w, intercept)
    margins = np.where(lower > 0.0, lower / length, lower / shortest)
    return np.nextafter(np.nextafter(margins, -np.inf) * (1.0 + np.copysign(4.0, -margins) * 2.0**-53), -np.inf)


def _shortest(problem, alpha, bias, longest, radius) -> float:
    dataset = problem.dataset
    total = sum_at_least(alpha * problem.lengths) * (1.0 - 2.0**-50)
    if not total > 0.0:
        return radius
    signed = alpha * dataset.signs
    vector = dataset.points.combination(signed)
    intercept = float(signed.sum()) * bias
    used = int(np.count_nonzero(alpha))
    error = gamma(used + 3) * longest * float(alpha.sum()) * (1.0 + gamma(used + 3))
    return min(radius, up(up(length_at_most(vector, intercept) + error) / total))
