"""Where a run of the linear support vector machine begins."""

from dataclasses import dataclass

import numpy as np

from maxmargin.problems.linear_svm import LinearSVMProblem

# A slope no larger than this share of all weights is one of zero, up to the rounding of their sum.
FLAT = 1e-12
MOST_HALVINGS = 200


@dataclass(frozen=True)
class InitialPoint:
    """Feasible signed duals, the plane that they make, its scores, and the size of the first proximal step."""

    beta: np.ndarray
    w: np.ndarray
    b: float
    scores: np.ndarray
    sigma: float


def initial_point(problem: LinearSVMProblem, beta: np.ndarray | None = None) -> InitialPoint:
    """Begin with given duals, or with the best multiple of those that treat all points of a side alike."""
    beta, w = _first_duals(problem) if beta is None else _given_duals(problem, beta)
    loss = problem.loss
    scores = problem.points.scores(w)
    b = 0.0
    if problem.has_intercept:
        b = best_intercept(problem, scores) if problem.balanced else float(beta.sum()) / problem.intercept_penalty
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
    if problem.has_intercept and not problem.balanced:
        total = float(beta.sum())
        square += total * total / problem.intercept_penalty
    multiple = min(1.0, float(np.abs(beta).sum()) / square) if square > 0.0 else 1.0
    return multiple * beta, multiple * w


def best_intercept(problem: LinearSVMProblem, scores: np.ndarray) -> float:
    """The free intercept with the smallest loss, given the scores without one."""
    kinks, weights, above = _kinks(problem, scores)
    return _weighted_median(kinks, weights, above) if problem.loss.curvature == 0.0 else _middle(kinks, weights, above)


def _kinks(problem: LinearSVMProblem, scores: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Where the loss of each row begins, its weight, and whether it is lost below (above is True) or above there."""
    loss = problem.loss
    above, below = np.flatnonzero(problem.counts_above), np.flatnonzero(problem.counts_below)
    residuals = loss.targets - scores
    kinks = np.concatenate([residuals[above] - loss.epsilon, residuals[below] + loss.epsilon])
    weights = np.concatenate([loss.weights[above], loss.weights[below]])
    return kinks, weights, np.arange(kinks.size) < above.size


def _middle(kinks: np.ndarray, weights: np.ndarray, above: np.ndarray) -> float:
    """The smallest sum of squares: b is the mean of the kinks beyond which it lies, found by halving what is left."""
    low, high = float(kinks.min()), float(kinks.max())
    b = 0.5 * (low + high)
    for _ in range(MOST_HALVINGS):
        lost = np.where(above, kinks > b, kinks < b)
        total = float(weights.sum(where=lost))
        if total == 0.0:
            break
        slope = float((weights * (b - kinks)).sum(where=lost))
        if slope > 0.0:
            high = b
        else:
            low = b
        # Newton's step, where it stays within what is left.
        step = b - slope / total
        following = step if low < step < high else 0.5 * (low + high)
        if following == b or high - low <= 1e-15 * max(abs(low), abs(high)):
            break
        b = following
    return b


def _weighted_median(kinks: np.ndarray, weights: np.ndarray, above: np.ndarray) -> float:
    """The smallest sum of losses that are not squared.

    The loss is convex and piecewise linear in b: it falls up to r - epsilon for every row that counts above, and rises
    from r + epsilon for every row that counts below. The smallest is where as much rises as still falls; where that is
    an interval, its middle is taken, which treats both sides alike.
    """
    order = np.argsort(kinks)
    total = float(weights.sum(where=above))
    slope = np.cumsum(weights[order]) - total
    place = min(int(np.searchsorted(slope, -FLAT * total)), order.size - 1)
    end = min(int(np.searchsorted(slope, FLAT * total, side="right")), order.size - 1)
    return 0.5 * float(kinks[order[place]] + kinks[order[end]])
