"""Initial points of linear support vector machines."""

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from maxmargin.problems.best_intercept import best_intercept
from maxmargin.problems.linear_svm import LinearSVMProblem


class StartingPoint(Protocol):
    """Coefficients w and b, and the first proximal step size sigma."""

    @property
    def w(self) -> np.ndarray: ...

    @property
    def b(self) -> float: ...

    @property
    def sigma(self) -> float: ...


@dataclass
class InitialPoint:
    """Feasible signed duals, their coefficients w and b, the scores, and the first proximal step size sigma."""

    beta: np.ndarray
    w: np.ndarray
    b: float
    scores: np.ndarray
    sigma: float


def initial_point(problem: LinearSVMProblem, beta: np.ndarray | None = None) -> InitialPoint:
    """Start from given duals, or from the best multiple of duals that are equal within a class."""
    beta, w = _first_duals(problem) if beta is None else _given_duals(problem, beta)
    loss = problem.loss
    scores = problem.points.scores(w)
    b = 0.0
    if problem.has_intercept:
        b = (
            best_intercept(problem, scores)
            if problem.has_free_intercept
            else float(np.add.reduce(beta)) / problem.intercept_penalty
        )
    scores += b
    distance = float(loss.weights @ np.abs(loss.targets - scores)) / float(np.add.reduce(loss.weights))
    return InitialPoint(beta, w, b, scores, problem.C / max(1e-12, distance))


def _given_duals(problem: LinearSVMProblem, beta: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    beta = problem.feasible(beta)
    return beta, problem.points.combination(beta)


def _first_duals(problem: LinearSVMProblem) -> tuple[np.ndarray, np.ndarray]:
    loss = problem.loss
    if not loss.one_sided:
        return np.zeros(loss.targets.size), np.zeros(problem.points.n_columns)
    # They are in their box: the targets are signs.
    beta = problem.balanced(problem.C * loss.weights * loss.targets)
    w = problem.points.combination(beta)
    square = float(w @ w)
    if loss.curvature > 0.0:
        square += float(beta @ (problem.curvatures() * beta))
    if problem.has_intercept and not problem.has_free_intercept:
        total = float(np.add.reduce(beta))
        square += total * total / problem.intercept_penalty
    # The targets are the signs of the duals.
    multiple = min(1.0, float(beta @ loss.targets) / square) if square > 0.0 else 1.0
    return multiple * beta, multiple * w
