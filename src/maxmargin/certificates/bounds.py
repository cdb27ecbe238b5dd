"""Bounds that several certificates use: norms of rows, errors of scores, distances to a hyperplane, feature space.

All of them hold in exact arithmetic. Errors of sums are bounded as in :mod:`maxmargin.certificates.rounding`, and
|x|·|w| <= ||x|| ||w|| (Cauchy–Schwarz), so that one number bounds the error of every score.
"""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from maxmargin.certificates.rounding import SMALLEST, UNIT, gamma, length_at_most, sum_at_most, up, upper_bound
from maxmargin.certificates.task_sums import OneTask, sums_at_most
from maxmargin.data import Points
from maxmargin.data.points import KnownRows

# Relative slack for the handful of roundings in an error bound itself: far more than they take, far less than matters.
OF_BOUNDS = 2.0**-40


def longest_row_at_most(points: KnownRows) -> float:
    """An upper bound on the largest norm of a row."""
    # Squares that underflow lose this much at most, and a root of a sum is at most the sum of the roots.
    underflow = math.sqrt(2.0 * points.longest_row * SMALLEST)
    return up(points.largest_norm * (1.0 + gamma(points.longest_row + 4)) + up(underflow))


def row_lengths_at_most(points: Points) -> np.ndarray:
    """An upper bound on the norm of every row."""
    # Squares that underflow lose this much at most.
    squares = points.squared_norms + 2.0 * points.longest_row * SMALLEST
    return np.sqrt(squares) * (1.0 + 2.0 * gamma(points.longest_row + 4))


def frobenius_norm_at_most(points: Points) -> float:
    """An upper bound on the norm of all entries together."""
    underflow = 2.0 * points.longest_row * points.n_rows * SMALLEST
    squares = sum_at_most(points.squared_norms) * (1.0 + 2.0 * gamma(points.longest_row + 4)) + underflow
    return up(math.sqrt(up(squares)))


def score_error_at_most(points: KnownRows, w: np.ndarray, b: float) -> float:
    """An upper bound on the rounding error of every computed score w·x_i + b, from norms alone."""
    return score_error_of_lengths(points, longest_row_at_most(points), length_at_most(w), b)


def score_error_of_lengths(points: KnownRows, radius: float, length: float, b: float) -> float:
    """The same, given upper bounds on the largest norm of a row and on ||w||."""
    terms = points.longest_row + 4
    return up(gamma(terms) * (radius * length + abs(b)) + terms * SMALLEST)


def score_errors_at_most(points: Points, w: np.ndarray, b: float) -> np.ndarray:
    """An upper bound on the rounding error of each score, from |x_i|·|w|: one more pass over the rows.

    It is much smaller than the bound from norms where columns have very different sizes.
    """
    terms = points.longest_row + 4
    return gamma(terms + 4) * (absolute_scores_at_most(points, w) + abs(b)) + terms * SMALLEST


def absolute_scores_at_most(points: Points, w: np.ndarray) -> np.ndarray:
    """An upper bound on |x_i|·|w| of every row."""
    terms = points.longest_row + 4
    return points.absolute_scores(w) * (1.0 + 2.0 * gamma(terms)) + terms * SMALLEST


def distances_at_least(functional: np.ndarray | float, shortest: float, longest: float) -> np.ndarray:
    """Lower bounds on the signed distances y f(x)/||w||, given lower bounds on y f(x) and both bounds on ||w||.

    A positive margin is divided by the upper bound on ||w||, a negative one by the lower bound. The result allows for
    the roundings of two divisions and one subtraction.
    """
    functional = np.asarray(functional)
    distances = np.where(functional > 0.0, functional / longest, functional / shortest)
    return np.nextafter(distances - np.abs(distances) * 4.0 * UNIT, -np.inf)


class FeatureVector(NamedTuple):
    """Bounds on w = sum_j beta_j phi(x_j) in the feature space of a kernel.

    Attributes
    ----------
    score_error : float or ndarray of shape (n,)
        Upper bound on the error of every computed score w·phi(x_i), or of each.
    squared_norm : float
        Upper bound on ||w||².
    shortest, longest : float
        Bounds on ||w||.
    radius : float
        Upper bound on the largest ||phi(x_i)||.
    semidefinite : bool
        False where the kernel is seen not to be positive semidefinite: ||w||² or some k(x_i, x_i) is negative by more
        than rounding. There is no feature space then, and nothing is proven in it.
    """

    score_error: float | np.ndarray
    squared_norm: float
    shortest: float
    longest: float
    radius: float
    semidefinite: bool


def feature_vector(
    diagonal: np.ndarray, entry_error: float, coefficients: np.ndarray, scores: np.ndarray
) -> FeatureVector:
    """Bound w = sum_j beta_j phi(x_j).

    Parameters
    ----------
    diagonal : ndarray of shape (n,)
        k(x_i, x_i) of all rows.
    entry_error : float
        Upper bound on the error of a computed kernel value.
    coefficients : ndarray of shape (s,)
        beta_j of the support.
    scores : ndarray of shape (s,)
        w·phi(x_j) of the support, as computed.
    """
    total = sum_at_most(np.abs(coefficients))
    extremes = float(diagonal.min(initial=0.0)), float(diagonal.max(initial=0.0))
    w = _without_norm(extremes, entry_error, coefficients.size, total)
    return feature_vector_of_scores(w, coefficients, scores, total * float(w.score_error))


def feature_vectors(
    extremes: Sequence[tuple[float, float]],
    entry_errors: Sequence[float],
    beta: np.ndarray,
    scores: np.ndarray,
    tasks: OneTask,
) -> list[FeatureVector]:
    """The bounds of several tasks, given the duals and scores of all their rows.

    ``extremes`` are the smallest and the largest k(x_i, x_i) of every task.
    """
    products, totals = beta * scores, sums_at_most(np.abs(beta), tasks)
    sums = tasks.counts(beta != 0.0), totals, tasks.sums(products), sums_at_most(np.abs(products), tasks)
    found = []
    for of_task, entry_error, used, total, squared, sizes in zip(extremes, entry_errors, *sums, strict=True):
        w = _without_norm(of_task, entry_error, used, total)
        found.append(_with_norm(w, used, squared, sizes, total * float(w.score_error)))
    return found


def _without_norm(extremes: tuple[float, float], entry_error: float, n_used: int, total: float) -> FeatureVector:
    """What follows from the diagonal, the number of coefficients and the sum of their sizes."""
    # max(0, nan) is 0: overflow bounds nothing.
    smallest_entry, largest_entry = extremes[0], upper_bound(max(0.0, upper_bound(extremes[1])) + entry_error)
    underflow = (n_used + 4) * SMALLEST
    return FeatureVector(
        score_error=total * (entry_error + gamma(n_used + 3) * largest_entry) * (1.0 + OF_BOUNDS) + underflow,
        squared_norm=math.inf,
        shortest=0.0,
        longest=math.inf,
        radius=up(math.sqrt(max(0.0, largest_entry))),
        semidefinite=smallest_entry >= -entry_error,
    )


def feature_vector_of_scores(
    w: FeatureVector, coefficients: np.ndarray, scores: np.ndarray, off: float
) -> FeatureVector:
    """The bounds on ||w||² = sum_j beta_j f(x_j), where errors of the scores change the sum by at most ``off``."""
    sizes = sum_at_most(np.abs(coefficients) * np.abs(scores))
    return _with_norm(w, coefficients.size, float(coefficients @ scores), sizes, off)


def _with_norm(w: FeatureVector, n_used: int, squared: float, sizes: float, off: float) -> FeatureVector:
    """The bounds on ||w||², given the sum of so many products and an upper bound on that of their sizes."""
    error = (off + gamma(n_used + 3) * sizes) * (1.0 + OF_BOUNDS) + (n_used + 4) * SMALLEST
    # The exact value is not negative in a feature space, so that zero is a bound, too.
    squared_norm = up(max(0.0, up(upper_bound(squared + error))))
    return w._replace(
        squared_norm=squared_norm,
        shortest=math.sqrt(max(0.0, squared - error)) * (1.0 - 8.0 * UNIT),
        longest=up(math.sqrt(squared_norm)),
        semidefinite=w.semidefinite and squared + error >= 0.0,
    )
