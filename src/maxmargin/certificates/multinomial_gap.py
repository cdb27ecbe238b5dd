"""The duality gap of multinomial logistic regression; with C = inf, among coefficients up to a norm."""

import math
from dataclasses import dataclass

import numpy as np

from maxmargin.certificates.bounds import longest_row_at_most, score_error_at_most, score_errors_at_most
from maxmargin.certificates.logistic_gap import (
    MUCH_ROUNDING,
    OF_FUNCTIONS,
    SMALLEST_PROBABILITY,
    SMALLEST_SIZE,
    LogisticGap,
)
from maxmargin.certificates.rounding import (
    SMALLEST,
    SMALLEST_NORMAL,
    UNIT,
    down,
    gamma,
    length_at_most,
    lower_bound,
    sum_at_least,
    sum_at_most,
    up,
    upper_bound,
)
from maxmargin.certificates.task_sums import exact_sum
from maxmargin.data.interruption import check_interruption
from maxmargin.data.printed_bounds import digits_down, digits_up
from maxmargin.problems.logistic import certified_radius
from maxmargin.problems.multinomial import MultinomialProblem, multinomial_losses, softmax


@dataclass(frozen=True)
class MultinomialGap(LogisticGap):
    """The duality gap of one problem for all classes.

    The softmax probabilities at the intercepts that balance them are dual feasible. What rounding leaves of the
    imbalance is removed by mixing in a little of distributions that do not depend on x: entropies are concave, so that
    a share t of it costs at most that share of the entropies. ``reach`` and ``margin`` are those of all coefficients
    as one vector; the margin of a row is the score of its class less the largest other one.

    See Also
    --------
    LogisticGap : That of two classes.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from maxmargin import LogisticRegression
    >>> X, y = load_iris(return_X_y=True)
    >>> proof = LogisticRegression(tol=1e-10).fit(X, y).certificate_
    >>> print(f"{proof.dual:.4f} <= optimum <= {proof.primal:.4f}")
    28.8863 <= optimum <= 28.8863
    """

    def __str__(self) -> str:
        if self.margin > 0.0:
            return (
                "every row has the largest score in its own class, by at least "
                f"{digits_down(self.margin, 6)} times the norm of the coefficients: along them the loss, at most "
                f"{digits_up(self.primal, 6)} here, tends to zero and has no minimum"
            )
        return super().__str__()


def measure_multinomial_gap(problem: MultinomialProblem, W: np.ndarray, b: np.ndarray) -> MultinomialGap:
    """Measure the duality gap of one hyperplane per class.

    Parameters
    ----------
    problem : MultinomialProblem
    W : ndarray of shape (n_classes, d)
    b : ndarray of shape (n_classes,)

    Returns
    -------
    MultinomialGap
    """
    points = problem.points
    with np.errstate(over="ignore", invalid="ignore", divide="ignore", under="ignore"):
        # One class after the other: sums over few classes would be loops of a few numbers each.
        linear = np.asfortranarray(points.scores(W.T))
        reach = math.inf if problem.is_penalised else certified_radius(W.ravel(), _repeated(problem))
        reach = reach if problem.is_penalised or math.isfinite(reach) else 0.0
        coarse = max((score_error_at_most(points, w, float(b_k)) for w, b_k in zip(W, b, strict=True)), default=0.0)
        primal, rounding = _primal_at_most(problem, W, linear + b, coarse)
        dual = _dual_at_least(problem, linear, b, reach)
        if not rounding <= MUCH_ROUNDING * (primal - dual):
            errors = [score_errors_at_most(points, w, float(b_k)) for w, b_k in zip(W, b, strict=True)]
            primal = min(primal, _primal_at_most(problem, W, linear + b, np.max(errors, axis=0))[0])
        margin = 0.0 if problem.is_penalised else _margin_at_least(problem, W, linear + b, coarse)
    # Hyperplanes with an intercept are not feasible where the problem has none.
    feasible = problem.fit_intercept or not b.any()
    value = upper_bound(primal) if feasible else math.inf
    return MultinomialGap(value, max(0.0, lower_bound(dual)), reach, margin, 0)


def _repeated(problem: MultinomialProblem) -> np.ndarray:
    return np.tile(problem.columns.deviations, problem.n_classes)


def _primal_at_most(
    problem: MultinomialProblem, W: np.ndarray, scores: np.ndarray, errors: np.ndarray | float
) -> tuple[float, float]:
    """The objective, at most, and the part of it that allows for errors of the scores."""
    loss, rounding = losses_at_most(problem, scores, errors)
    length = length_at_most(W.ravel())
    penalty = up(0.5 * up(length * length)) if problem.is_penalised else 0.0
    return up(penalty + loss), rounding


def losses_at_most(problem: MultinomialProblem, scores: np.ndarray, errors: np.ndarray | float) -> tuple[float, float]:
    """C times the losses, at most, and the part of it that allows for errors of the scores."""
    check_interruption()
    losses = multinomial_losses(scores, problem.own) * (1.0 + OF_FUNCTIONS) + 4.0 * problem.n_classes * SMALLEST_NORMAL
    loss = sum_at_most(problem.weights * losses * (1.0 + (problem.n_classes + 8) * UNIT) + SMALLEST)
    # The derivative of a loss has a 1-norm of at most 2; scores are subtracted from each other, which rounds once more.
    off = 2.0 * errors + 8.0 * UNIT * np.abs(scores).max(axis=1, initial=0.0)
    rounding = up(problem.loss_factor * sum_at_most(problem.weights * off * (1.0 + 8.0 * UNIT) + SMALLEST))
    return up(up(problem.loss_factor * loss) + rounding), rounding


def _dual_at_least(problem: MultinomialProblem, linear: np.ndarray, b: np.ndarray, reach: float) -> float:
    columns = problem.columns
    entropies, entries = dual_point(problem, linear, b)
    if problem.is_penalised:
        length = length_at_most(entries.ravel())
        return down(entropies - up(0.5 * up(length * length)))
    entries = np.where(columns.constant, 0.0, entries / columns.deviations * (1.0 + 2.0 * UNIT) + SMALLEST)
    return down(entropies - up(reach * length_at_most(entries.ravel())))


def dual_point(problem: MultinomialProblem, linear: np.ndarray, b: np.ndarray) -> tuple[float, np.ndarray]:
    """The dual point of these scores: a lower bound on C sum_i c_i H(p_i), and bounds on its products with the columns.

    The products are C sum_i c_i (e_{y_i} - p_i) x_i^T, of shape (n_classes, d), in size and at most.
    """
    n_rows, n_classes = linear.shape
    rounded = gamma(n_classes + 8)
    present = problem.class_weights > 0.0
    if problem.fit_intercept:
        # Scores far from zero would cost the intercepts their last digits: they are centred first.
        means = (problem.weights @ linear) / (float(problem.weights.sum()) or 1.0)
        centred = linear - means
        # The points may be far from the origin, so that the intercepts that go with them are no start here.
        start = b + means
        scores = centred + problem.best_intercepts(centred, start - start[present].max(initial=-math.inf))
        scores[:, ~present] = -math.inf
    else:
        scores = linear
    check_interruption()
    # The own class has what the others leave, exactly: they are scaled down so that they never exceed one.
    others = softmax(scores) * (1.0 - 8.0 * rounded)
    others[problem.own] = 0.0
    others[~(others >= SMALLEST_PROBABILITY)] = 0.0
    check_interruption()
    off_own = others.sum(axis=1)
    counts = problem.loss_factor * problem.weights
    terms = counts * (_plogp(others).sum(axis=1) + _own_entropy(off_own))
    entropies = down(sum_at_least(terms) * (1.0 - OF_FUNCTIONS - 4.0 * rounded)) - 4.0 * n_rows * SMALLEST
    beta = -counts[:, None] * others
    beta[problem.own] = counts * off_own
    share = 0.0
    if problem.fit_intercept:
        share = _balancing_share(problem, beta, rounded)
        if not share < 1.0:
            # The unit vectors of the own classes have no entropy.
            return 0.0, np.zeros((n_classes, problem.points.n_columns))
        entropies = down(entropies * (1.0 - share)) if entropies > 0.0 else entropies
    columns = problem.columns
    products = np.abs(columns.combination(beta).T)
    # |beta_ik| <= C c_i, also of what is mixed in, and a mean of sizes is at most their root mean square.
    most = up(problem.loss_factor * sum_at_most(problem.weights)) * (1.0 + 4.0 * gamma(n_rows + 16))
    off = up(gamma(n_rows + 16) + up(2.0 * share + 2.0 * rounded)) * most * columns.sizes * (1.0 + 8.0 * UNIT)
    off += up(n_rows * SMALLEST * up(8.0 * longest_row_at_most(problem.points) + 4.0))
    off = np.where(columns.sizes >= SMALLEST_SIZE, off, math.inf)
    return entropies, np.where(columns.constant, 0.0, (products + off) * (1.0 + 4.0 * UNIT))


def _balancing_share(problem: MultinomialProblem, beta: np.ndarray, rounded: float) -> float:
    """The share of other distributions after which the duals of every class sum to zero.

    These distributions are the same for all rows: the classes' shares, moved against the imbalance. They are
    distributions as long as the imbalance of a class is at most this share of its weight.
    """
    largest = 0.0
    for duals, weight in zip(beta.T, problem.loss_factor * problem.class_weights, strict=True):
        check_interruption()
        imbalance = up(up(abs(exact_sum(duals)) * (1.0 + 4.0 * UNIT)) + up(2.0 * rounded * sum_at_most(np.abs(duals))))
        imbalance = up(imbalance + duals.size * SMALLEST)
        if weight > 0.0:
            largest = max(largest, up(imbalance / weight) * (1.0 + 4.0 * gamma(duals.size + 8)))
        elif duals.any():
            return math.inf
    return largest


def _plogp(p: np.ndarray) -> np.ndarray:
    inside = p > 0.0
    return np.where(inside, -p * np.log(np.where(inside, p, 1.0)), 0.0)


def _own_entropy(off: np.ndarray) -> np.ndarray:
    """-q log q of q = 1 - off."""
    inside = (off > 0.0) & (off < 1.0)
    safe = np.where(inside, off, 0.5)
    return np.where(inside, -(1.0 - safe) * np.log1p(-safe), 0.0)


def _margin_at_least(problem: MultinomialProblem, W: np.ndarray, scores: np.ndarray, error: float) -> float:
    """A lower bound on (f_y - max other f) / ||W|| over all rows; zero where it is not positive."""
    counted, length = problem.weights > 0.0, length_at_most(W.ravel())
    rivals = scores.copy()
    rivals[problem.own] = -math.inf
    margins = (scores[problem.own] - rivals.max(axis=1))[counted]
    smallest = float(margins.min(initial=math.inf)) - up(
        2.0 * error + 4.0 * UNIT * float(np.abs(scores).max(initial=0.0))
    )
    return down(smallest / length) if 0.0 < smallest < math.inf and 0.0 < length < math.inf else 0.0
