"""What is proven of a support vector machine in the feature space of a kernel (theory B5, B7; C3, C4 for C = inf)."""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from maxmargin.certificates.base import Certificate
from maxmargin.certificates.margin_bracket import MarginBracket
from maxmargin.certificates.rounding import UNIT, down, gamma, sum_at_least, sum_at_most, up
from maxmargin.certificates.svm_gap import (
    dual_terms_at_least,
    losses_at_most,
    price_of_imbalance,
    stated_gap,
)
from maxmargin.problems.kernel_svm import KernelSVMProblem
from maxmargin.problems.one_vs_one import PairProblems


def measure_kernel_gap(problem: KernelSVMProblem, beta: np.ndarray, b: float) -> Certificate:
    """State what the duals, and the plane that they make with the intercept b, prove about the problem.

    What is stated is true of the kernel's exact values, where the kernel is positive semidefinite; a precomputed matrix
    and the values of a user's function are taken as exact. Where it is seen not to be, or known not to be in general,
    nothing is claimed of the best plane: the dual value is minus infinity.
    """
    beta = problem.losses.feasible(beta)
    support = np.flatnonzero(beta)
    with np.errstate(over="ignore", invalid="ignore"):
        return _from_scores(problem, beta, b, problem.scores_of(slice(None), support, beta[support]))


def measure_pair_gaps(problems: PairProblems, betas: Sequence[np.ndarray], intercepts: np.ndarray) -> list[Certificate]:
    """State what is proven of every pair of classes; kernel values within a class serve all its pairs."""
    each = [problems.problem(pair) for pair in problems.pairs.tasks()]
    feasible = [problem.losses.feasible(beta) for problem, beta in zip(each, betas, strict=True)]
    with np.errstate(over="ignore", invalid="ignore"):
        return [
            _from_scores(problem, beta, float(b), scores)
            for problem, beta, b, scores in zip(each, feasible, intercepts, problems.scores(feasible), strict=True)
        ]


class _Plane(NamedTuple):
    """What is known of a plane in feature space: by how much its scores may be off, and how long it is."""

    error: float
    square: float
    shortest: float
    radius: float
    definite: bool


def _measure_plane(problem: KernelSVMProblem, beta: np.ndarray, scores: np.ndarray) -> _Plane:
    support = np.flatnonzero(beta)
    entry_error = 0.0
    if problem.kernel is not None:
        entry_error = problem.kernel.error(problem.largest_norm, problem.longest_row)
    largest_entry = float(problem.diagonal.max(initial=0.0)) + entry_error
    total = sum_at_most(np.abs(beta))
    rounding = gamma(support.size + 3)
    error = total * (entry_error + rounding * largest_entry) * (1.0 + 2.0**-40)
    # ||w||² = sum beta_j f(x_j)
    squared = float(beta[support] @ scores[support])
    squared_error = total * error + rounding * total * float(np.abs(scores[support]).max(initial=0.0))
    squared_error *= 1.0 + 2.0**-40
    definite = squared + squared_error >= 0.0 and float(problem.diagonal.min(initial=0.0)) >= -entry_error
    return _Plane(
        error=error,
        square=up(max(0.0, up(squared + squared_error))),
        shortest=math.sqrt(max(0.0, squared - squared_error)) * (1.0 - 2.0**-50),
        radius=up(math.sqrt(max(0.0, largest_entry))),
        definite=definite and not problem.may_be_indefinite,
    )


def _from_scores(problem: KernelSVMProblem, beta: np.ndarray, b: float, scores: np.ndarray) -> Certificate:
    plane = _measure_plane(problem, beta, scores)
    if problem.hard:
        return _bracket(problem, beta, scores + b, plane)
    targets = float(np.abs(problem.loss.targets).max(initial=0.0))
    of_intercept = 2.0 * UNIT * (abs(b) + float(np.abs(scores).max(initial=0.0)) + targets)
    lost = losses_at_most(problem.losses, scores + b, up(plane.error + of_intercept))
    primal = up(up(0.5 * plane.square) + lost)
    gains, sizes = dual_terms_at_least(problem.losses, beta)
    length = up(math.sqrt(plane.square))
    dual = down(gains - price_of_imbalance(beta, length, sizes, plane.radius) - up(0.5 * plane.square))
    return stated_gap(problem.losses, primal, dual if plane.definite else -math.inf, scores + b, beta)


def _bracket(problem: KernelSVMProblem, beta: np.ndarray, scores: np.ndarray, plane: _Plane) -> MarginBracket:
    """The hard margin in feature space: the plane on one side, points of the classes' hulls on the other (C3, C4)."""
    longest, counted = up(math.sqrt(plane.square)), problem.loss.weights > 0.0
    lower, upper = -math.inf, plane.radius
    if plane.definite and plane.shortest > 0.0:
        error = plane.error + 2.0 * UNIT * float(np.abs(scores).max(initial=0.0))
        functional = problem.loss.targets * scores
        smallest = float(functional.min(where=counted, initial=math.inf)) - up(error)
        margin = smallest / (longest if smallest > 0.0 else plane.shortest)
        lower = math.nextafter(margin - abs(margin) * 2.0**-50, -math.inf)
    sides = [side[side > 0.0] for side in (beta, -beta)]
    least, most = min(map(sum_at_least, sides)), max(map(sum_at_most, sides))
    if plane.definite and least > 0.0:
        # Sides of nearly the same sum: w over one of them is nearly the way between the hull points.
        way = longest / least + plane.radius * (most - least) / least
        upper = min(plane.radius, up(0.5 * way * (1.0 + 2.0**-50)))
    radius = plane.radius if plane.definite else math.inf
    return MarginBracket(min(lower, upper), min(upper, radius) if plane.definite else math.inf, radius, "phi(x)")
