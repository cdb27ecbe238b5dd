"""The duality gap of multinomial logistic regression with an L1 penalty, and its proven zeros."""

import math

import numpy as np

from maxmargin.certificates.bounds import score_error_at_most, score_errors_at_most
from maxmargin.certificates.logistic_gap import MUCH_ROUNDING
from maxmargin.certificates.multinomial_gap import dual_point, losses_at_most
from maxmargin.certificates.rounding import (
    SMALLEST,
    UNIT,
    down,
    length_at_most,
    lower_bound,
    sum_at_most,
    up,
    upper_bound,
)
from maxmargin.certificates.sparse_gap import SparseGap
from maxmargin.certificates.squared_errors import spreads_between
from maxmargin.problems.sparse_multinomial import MODULUS, SparseMultinomialProblem


def measure_sparse_multinomial_gap(problem: SparseMultinomialProblem, W: np.ndarray, b: np.ndarray) -> SparseGap:
    """Measure the duality gap of one hyperplane per class, and count the coefficients that are zero in every optimum.

    Parameters
    ----------
    problem : SparseMultinomialProblem
    W : ndarray of shape (n_classes, d)
    b : ndarray of shape (n_classes,)

    Returns
    -------
    SparseGap
        Its dual point are the softmax probabilities, mixed with the unit vectors of the rows' own classes until no
        product of a column with the duals of a class exceeds the penalty on the 1-norm.
    """
    losses, points = problem.losses, problem.points
    with np.errstate(over="ignore", invalid="ignore", divide="ignore", under="ignore"):
        linear = points.scores(W.T)
        coarse = max((score_error_at_most(points, w, float(b_k)) for w, b_k in zip(W, b, strict=True)), default=0.0)
        penalty = _penalty_at_most(problem, W)
        loss, rounding = losses_at_most(losses, linear + b, coarse)
        factor, products, dual = _dual_at_least(problem, linear, b)
        if not rounding <= MUCH_ROUNDING * (up(penalty + loss) - dual):
            errors = [score_errors_at_most(points, w, float(b_k)) for w, b_k in zip(W, b, strict=True)]
            loss = min(loss, losses_at_most(losses, linear + b, np.max(errors, axis=0))[0])
        # Hyperplanes with an intercept are not feasible where the problem has none.
        feasible = losses.fit_intercept or not b.any()
        primal = upper_bound(up(penalty + loss)) if feasible else math.inf
        dual = max(0.0, lower_bound(dual))
        if not math.isfinite(primal):
            return SparseGap(primal, dual, unused=0)
        radius = up(math.sqrt(up(2.0 * up(primal - dual) / MODULUS))) * (1.0 + 8.0 * UNIT)
        farthest = (factor if dual > 0.0 else 0.0) * products + radius * spreads_between(problem.columns)[1]
        unused = int(np.count_nonzero(farthest * (1.0 + 8.0 * UNIT) + 4.0 * SMALLEST < problem.l1))
    return SparseGap(primal, dual, unused=unused)


def _penalty_at_most(problem: SparseMultinomialProblem, W: np.ndarray) -> float:
    penalty = up(problem.l1 * sum_at_most(np.abs(W).ravel()))
    if problem.l2 > 0.0:
        length = length_at_most(W.ravel())
        penalty = up(penalty + up(0.5 * up(problem.l2 * up(length * length))))
    return penalty


def _dual_at_least(
    problem: SparseMultinomialProblem, linear: np.ndarray, b: np.ndarray
) -> tuple[float, np.ndarray, float]:
    """The factor on the dual point, bounds on the sizes of its products with the columns, and its value."""
    entropies, products = dual_point(problem.losses, linear, b)
    largest = float(products.max(initial=0.0))
    if not (entropies > 0.0 and largest < math.inf):
        # The unit vectors are feasible, and have the value zero.
        return 0.0, np.zeros_like(products), 0.0
    factor = 1.0 if largest <= problem.l1 else max(0.0, down(problem.l1 / largest))
    value = down(factor * entropies)
    if problem.l2 > 0.0 and factor < 1.0:
        over = np.maximum(0.0, products - problem.l1) * (1.0 + 4.0 * UNIT)
        length = length_at_most(over.ravel())
        other = down(entropies - up(up(0.5 * up(length * length)) / problem.l2) * (1.0 + 4.0 * UNIT))
        if other > value:
            factor, value = 1.0, other
    return factor, products, value
