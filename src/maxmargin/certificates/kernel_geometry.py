"""The geometry of a kernel perceptron's hyperplane among the points of the feature space."""

import math

import numpy as np

from maxmargin.certificates.bounds import distances_at_least, feature_vector
from maxmargin.certificates.geometry import Geometry
from maxmargin.certificates.rounding import sum_at_least, up
from maxmargin.problems.kernel_expansion import expansion_scores
from maxmargin.problems.kernel_perceptron import KernelPerceptronProblem
from maxmargin.problems.semidefinite import KernelFacts


def feature_space_scores(
    problem: KernelPerceptronProblem, support: np.ndarray, signed_alphas: np.ndarray
) -> np.ndarray:
    """f(x_i) of all rows, for w = sum signed_alpha_j phi(x_j) of all tasks (k, s) at once."""
    matrix = problem.dataset.points.matrix
    columns = support if problem.kernel is None else matrix[support]
    return (
        expansion_scores(problem.kernel, matrix, columns, signed_alphas.T)
        + signed_alphas.sum(axis=1) * problem.intercept_step
    )


def kernel_geometry(
    problem: KernelPerceptronProblem,
    scores: np.ndarray,
    support: np.ndarray,
    signed_alpha: np.ndarray,
    facts: KernelFacts | None = None,
) -> Geometry:
    """Measure the hyperplane w = sum signed_alpha_j phi(x_j), over the rows ``support``, among all points.

    ``scores`` are its values at all rows; ``facts`` are those of another problem with the same kernel and rows. The
    result holds for the kernel's exact values, where the kernel is positive semidefinite; a precomputed matrix and the
    values of a user's function are taken as exact, and for these the result states the assumption. Where the kernel is
    seen to be indefinite, or is not positive semidefinite in general, all bounds are infinite and nothing is proven.
    """
    facts = problem.kernel_facts if facts is None else facts
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
        margins = distances_at_least(problem.dataset.signs * scores - up(w.score_error), w.shortest, w.longest)
    hull, total = w.radius, sum_at_least(np.abs(signed_alpha))
    if total > 0.0:
        hull = min(hull, up(w.longest / total))
    return Geometry(space, w.radius, margins, hull, start_length=0.0, assumption=facts.assumption)
