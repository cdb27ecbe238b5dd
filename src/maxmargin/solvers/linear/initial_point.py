"""Initial points of linear support vector machines, and the optimal intercept for given scores."""

from dataclasses import dataclass

import numpy as np

from maxmargin.problems.linear_svm import LinearSVMProblem

# A derivative of at most this share of all weights is zero, up to the rounding of their sum.
FLAT = 1e-12
# The most bisection or Newton steps for the intercept of a squared loss; 60 bisections exhaust the digits of a float.
MOST_HALVINGS = 200


@dataclass(frozen=True)
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
            else float(beta.sum()) / problem.intercept_penalty
        )
    scores += b
    distance = float(loss.weights @ np.abs(loss.targets - scores)) / float(loss.weights.sum())
    return InitialPoint(beta, w, b, scores, problem.C / max(1e-12, distance))


def _given_duals(problem: LinearSVMProblem, beta: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    beta = problem.feasible(beta)
    return beta, problem.points.combination(beta)


def _first_duals(problem: LinearSVMProblem) -> tuple[np.ndarray, np.ndarray]:
    loss = problem.loss
    if not loss.one_sided:
        return np.zeros(loss.targets.size), np.zeros(problem.points.n_columns)
    beta = problem.feasible(problem.C * loss.weights * loss.targets)
    w = problem.points.combination(beta)
    square = float(w @ w) + float((problem.curvatures() * np.square(beta)).sum())
    if problem.has_intercept and not problem.has_free_intercept:
        total = float(beta.sum())
        square += total * total / problem.intercept_penalty
    multiple = min(1.0, float(np.abs(beta).sum()) / square) if square > 0.0 else 1.0
    return multiple * beta, multiple * w


def best_intercept(problem: LinearSVMProblem, scores: np.ndarray) -> float:
    """The unpenalised intercept with the smallest loss, given the scores without intercept."""
    kinks, weights, above = _kinks(problem, scores)
    return (
        _weighted_median(kinks, weights, above)
        if problem.loss.curvature == 0.0
        else _minimum_of_squares(kinks, weights, above)
    )


def _kinks(problem: LinearSVMProblem, scores: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The intercept where the loss of each row begins, its weight, and whether the loss lies below it (``above``)."""
    loss = problem.loss
    above, below = np.flatnonzero(problem.counts_above), np.flatnonzero(problem.counts_below)
    residuals = loss.targets - scores
    kinks = np.concatenate([residuals[above] - loss.epsilon, residuals[below] + loss.epsilon])
    weights = np.concatenate([loss.weights[above], loss.weights[below]])
    return kinks, weights, np.arange(kinks.size) < above.size


def _minimum_of_squares(kinks: np.ndarray, weights: np.ndarray, above: np.ndarray) -> float:
    """The minimum of squared losses in b, by safeguarded Newton steps: the mean of the kinks with a loss."""
    low, high = float(kinks.min()), float(kinks.max())
    b = 0.5 * (low + high)
    for _ in range(MOST_HALVINGS):
        lost = np.where(above, kinks > b, kinks < b)
        total = float(weights.sum(where=lost))
        if total == 0.0:
            break
        derivative = float((weights * (b - kinks)).sum(where=lost))
        if derivative > 0.0:
            high = b
        else:
            low = b
        # Newton's step, where it stays within the bracket.
        step = b - derivative / total
        following = step if low < step < high else 0.5 * (low + high)
        if following == b or high - low <= 1e-15 * max(abs(low), abs(high)):
            break
        b = following
    return b


def _weighted_median(kinks: np.ndarray, weights: np.ndarray, above: np.ndarray) -> float:
    """The minimum of piecewise linear losses in b.

    The loss falls up to r - epsilon for every row with an upper dual bound, and rises from r + epsilon for every row
    with a lower one. Where the minimum is an interval, its middle is taken, which treats both classes alike.
    """
    order = np.argsort(kinks)
    total = float(weights.sum(where=above))
    derivative = np.cumsum(weights[order]) - total
    place = min(int(np.searchsorted(derivative, -FLAT * total)), order.size - 1)
    end = min(int(np.searchsorted(derivative, FLAT * total, side="right")), order.size - 1)
    return 0.5 * float(kinks[order[place]] + kinks[order[end]])
