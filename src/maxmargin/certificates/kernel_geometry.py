"""A kernel's plane among the points of its feature space, as a certificate looks at it."""

import math

import numpy as np

from maxmargin.certificates.geometry import Geometry
from maxmargin.certificates.rounding import gamma, up
from maxmargin.problems.kernel_expansion import expansion_scores
from maxmargin.problems.kernel_perceptron import KernelPerceptronProblem


def feature_space_scores(
    problem: KernelPerceptronProblem, support: np.ndarray, signed_alphas: np.ndarray
) -> np.ndarray:
    """f(x_i) of all rows, for the planes sum signed_alpha_j phi(x_j) of all tasks (k, s) at once."""
    matrix = problem.dataset.points.matrix
    columns = support if problem.kernel is None else matrix[support]
    return (
        expansion_scores(problem.kernel, matrix, columns, signed_alphas.T)
        + signed_alphas.sum(axis=1) * problem.intercept_step
    )


def kernel_geometry(
    problem: KernelPerceptronProblem, scores: np.ndarray, support: np.ndarray, signed_alpha: np.ndarray
) -> Geometry:
    """Measure the plane sum signed_alpha_j phi(x_j), over the rows ``support`` of the problem, among all its points.

    ``scores`` are its values at all rows. What is stated is true of the kernel's exact values, where the kernel is
    positive semidefinite; a precomputed matrix and the values of a user's function are taken as exact.
    """
    entry_error = 0.0
    if problem.kernel is not None:
        points = problem.dataset.points
        entry_error = problem.kernel.error(points.largest_norm, points.longest_row)
    largest_entry = float(problem.squared_norms.max(initial=0.0)) + entry_error
    total = float(np.abs(signed_alpha).sum())
    score_error = total * (entry_error + gamma(support.size + 3) * largest_entry) * (1.0 + 2.0**-40)
    # ||w||² = sum alpha_j y_j f(x_j)
    squared = float(signed_alpha @ scores[support])
    squared_error = total * score_error + gamma(support.size + 3) * total * float(
        np.abs(scores[support]).max(initial=0.0)
    )
    longest = math.sqrt(max(0.0, squared + squared_error)) * (1.0 + 2.0**-50)
    shortest = math.sqrt(max(0.0, squared - squared_error)) * (1.0 - 2.0**-50)
    # A negative square of a length: there is no such feature space, and nothing can be proven in it.
    semidefinite = squared + squared_error >= 0.0 and float(problem.squared_norms.min(initial=0.0)) >= -entry_error
    radius = up(math.sqrt(max(0.0, largest_entry))) if semidefinite else math.inf
    margins = np.empty(0)
    if semidefinite and shortest > 0.0:
        lower = problem.dataset.signs * scores - score_error
        margins = np.where(lower > 0.0, lower / longest, lower / shortest)
        margins = np.nextafter(margins - np.abs(margins) * 2.0**-50, -np.inf)
    hull = radius
    if semidefinite and total > 0.0:
        hull = up(longest / (total * (1.0 - gamma(support.size + 2))))
    point = "phi(x)"
    return Geometry(
        space=f"({point}, 1)" if problem.fit_intercept else point,
        radius=radius,
        margins=margins,
        shortest_in_hull=min(radius, hull),
        start_length=0.0,
    )
