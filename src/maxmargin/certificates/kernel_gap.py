"""The duality gap of a support vector machine in the feature space of a kernel (theory B5, B7)."""

import math

import numpy as np

from maxmargin.certificates.duality_gap import (
    DualityGap,
    gains_at_least,
    losses_at_most,
    price_of_imbalance,
    stated_gap,
)
from maxmargin.certificates.rounding import UNIT, down, gamma, sum_at_most, up
from maxmargin.problems.expansion import expansion_scores
from maxmargin.problems.kernel_svm import KernelSVMProblem


def measure_kernel_gap(problem: KernelSVMProblem, beta: np.ndarray, b: float) -> DualityGap:
    """State what the duals, and the plane that they make with the intercept b, prove about the problem.

    What is stated is true of the kernel's exact values, where the kernel is positive semidefinite; a precomputed matrix
    and the values of a user's function are taken as exact. Where it is seen not to be, or known not to be in general,
    nothing is claimed of the best plane: the dual value is minus infinity.
    """
    beta = problem.losses.feasible(beta)
    matrix, support = problem.points.matrix, np.flatnonzero(beta)
    scores = np.zeros(problem.points.n_rows)
    columns = support if problem.kernel is None else matrix[support]
    with np.errstate(over="ignore", invalid="ignore"):
        if support.size:
            scores = expansion_scores(problem.kernel, matrix, columns, beta[support][:, None])[:, 0]
        return _from_scores(problem, beta, b, scores, support)


def _from_scores(
    problem: KernelSVMProblem, beta: np.ndarray, b: float, scores: np.ndarray, support: np.ndarray
) -> DualityGap:
    points = problem.points
    entry_error = 0.0
    if problem.kernel is not None:
        entry_error = problem.kernel.error(points.largest_norm, points.longest_row)
    largest_entry = float(problem.diagonal.max(initial=0.0)) + entry_error
    total = sum_at_most(np.abs(beta))
    rounding = gamma(support.size + 3)
    error = total * (entry_error + rounding * largest_entry) * (1.0 + 2.0**-40)
    # ||w||² = sum beta_j f(x_j)
    squared = float(beta[support] @ scores[support])
    squared_error = total * error + rounding * total * float(np.abs(scores[support]).max(initial=0.0))
    squared_error *= 1.0 + 2.0**-40
    definite = squared + squared_error >= 0.0 and float(problem.diagonal.min(initial=0.0)) >= -entry_error
    square = up(max(0.0, up(squared + squared_error)))
    targets = float(np.abs(problem.shape.targets).max(initial=0.0))
    of_intercept = 2.0 * UNIT * (abs(b) + float(np.abs(scores).max(initial=0.0)) + targets)
    lost = losses_at_most(problem.losses, scores + b, up(error + of_intercept))
    primal = up(up(0.5 * square) + lost)
    gains, sizes = gains_at_least(problem.losses, beta)
    length, radius = up(math.sqrt(square)), up(math.sqrt(max(0.0, largest_entry)))
    dual = down(gains - price_of_imbalance(beta, length, sizes, radius) - up(0.5 * square))
    if problem.may_be_indefinite or not definite:
        dual = -math.inf
    return stated_gap(problem.losses, primal, dual, scores + b, beta)
