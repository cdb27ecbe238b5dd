"""Where a run of the linear support vector machine begins."""

from dataclasses import dataclass

import numpy as np

from maxmargin.problems.linear_svm import LinearSVMProblem


@dataclass(frozen=True)
class FirstPoint:
    """Feasible signed duals, the plane that they make, its scores, and the size of the first proximal step."""

    beta: np.ndarray
    w: np.ndarray
    b: float
    scores: np.ndarray
    sigma: float


def first_point(problem: LinearSVMProblem, beta: np.ndarray | None = None) -> FirstPoint:
    """Begin with given duals, or with the best multiple of those that treat all points of a side alike."""
    beta, w = _first_duals(problem) if beta is None else _given_duals(problem, beta)
    shape = problem.shape
    scores = problem.points.scores(w)
    b = 0.0
    if problem.has_intercept:
        b = best_intercept(problem, scores) if problem.balanced else float(beta.sum()) / problem.intercept_penalty
    scores += b
    distance = float(shape.weights @ np.abs(shape.targets - scores)) / float(shape.weights.sum())
    return FirstPoint(beta, w, b, scores, problem.price / max(1e-12, distance))


def _given_duals(problem: LinearSVMProblem, beta: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    beta = problem.feasible(beta)
    return beta, problem.points.combination(beta)


def _first_duals(problem: LinearSVMProblem) -> tuple[np.ndarray, np.ndarray]:
    shape = problem.shape
    if not shape.one_sided:
        return np.zeros(shape.targets.size), np.zeros(problem.points.n_columns)
    beta = problem.feasible(problem.price * shape.weights * shape.targets)
    w = problem.points.combination(beta)
    square = float(w @ w) + float((problem.curvatures() * np.square(beta)).sum())
    if problem.has_intercept and not problem.balanced:
        square += float(beta.sum()) ** 2 / problem.intercept_penalty
    multiple = min(1.0, float(np.abs(beta).sum()) / square) if square > 0.0 else 1.0
    return multiple * beta, multiple * w


def best_intercept(problem: LinearSVMProblem, scores: np.ndarray) -> float:
    """The free intercept with the smallest loss (not squared), given the scores without one.

    The loss is convex and piecewise linear in b: it falls up to r - epsilon for every row that counts above, and rises
    from r + epsilon for every row that counts below. The smallest is where as much rises as still falls.
    """
    shape = problem.shape
    above, below = np.flatnonzero(problem.counts_above), np.flatnonzero(problem.counts_below)
    residuals = shape.targets - scores
    kinks = np.concatenate([residuals[above] - shape.epsilon, residuals[below] + shape.epsilon])
    weights = np.concatenate([shape.weights[above], shape.weights[below]])
    order = np.argsort(kinks)
    slope = -float(shape.weights[above].sum()) + np.cumsum(weights[order])
    return float(kinks[order[min(int(np.searchsorted(slope, 0.0)), order.size - 1)]])
