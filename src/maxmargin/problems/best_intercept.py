"""The unpenalised intercept of a support vector machine that is optimal for given scores."""

import numpy as np

from maxmargin.problems.linear_svm import LinearSVMProblem

# A derivative of at most this share of all weights is zero, up to the rounding of their sum.
FLAT = 1e-12
# The most bisection or Newton steps for the intercept of a squared loss; 60 bisections exhaust the digits of a float.
MOST_HALVINGS = 200


def best_intercept(problem: LinearSVMProblem, scores: np.ndarray) -> float:
    """The unpenalised intercept with the smallest loss, given the scores without intercept."""
    kinks, weights, above = _kinks(problem, scores)
    if not kinks.size:
        # No row counts, as in a pair of classes of weight zero.
        return 0.0
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
        has_loss = np.where(above, kinks > b, kinks < b)
        total = float(weights.sum(where=has_loss))
        if total == 0.0:
            break
        derivative = float((weights * (b - kinks)).sum(where=has_loss))
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
    first = min(int(np.searchsorted(derivative, -FLAT * total)), order.size - 1)
    last = min(int(np.searchsorted(derivative, FLAT * total, side="right")), order.size - 1)
    return 0.5 * float(kinks[order[first]] + kinks[order[last]])
