"""The duality gap of a linear classifier with an L1 penalty, and the columns that gap safe screening excludes."""

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from maxmargin.certificates import logistic_gap, svm_gap
from maxmargin.certificates.accurate_products import accurate_combination, accurate_scores
from maxmargin.certificates.bounds import score_error_at_most
from maxmargin.certificates.duality_gap import rounding_matters
from maxmargin.certificates.lasso_gap import LassoGap
from maxmargin.certificates.passes import combination, scores
from maxmargin.certificates.rounding import (
    SMALLEST,
    UNIT,
    down,
    gamma,
    length_at_most,
    lower_bound,
    sum_at_most,
    up,
    upper_bound,
)
from maxmargin.certificates.squared_errors import lengths_of_columns_at_most, spreads_between
from maxmargin.certificates.svm_dual_bounds import balancing_share, dual_terms_at_least, sides_of
from maxmargin.engine import MemoryEngine, Threads
from maxmargin.problems.logistic import LogisticProblem
from maxmargin.problems.sparse_linear import SparseLinearProblem


@dataclass(frozen=True)
class SparseGap(LassoGap):
    r"""The duality gap of a linear classifier with an L1 penalty, and the number of proven zeros.

    The dual point are the derivatives of the losses at the intercept that is best for w, so that they sum to zero, and
    scaled: without a penalty on the squared norm so that no column's product with them exceeds the penalty on the
    1-norm. The dual terms are strongly concave: the dual optimum is within a ball around that point whose squared
    radius is proportional to the gap. A column whose product stays below the penalty in the whole ball has a
    coefficient of zero in every optimum (Ndiaye, Fercoq, Gramfort, Salmon, "Gap safe screening rules for sparsity
    enforcing penalties", 2017).

    Attributes
    ----------
    primal, dual : float
    unused : int
        Columns whose coefficient is proven to be zero in every optimum; there may be more.

    See Also
    --------
    LassoGap : The same for squared errors.
    LinearSVC : With ``penalty="l1"``.
    LogisticRegression : With ``l1_ratio`` above 0.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.preprocessing import scale
    >>> from maxmargin import LinearSVC
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = LinearSVC(penalty="l1", loss="squared_hinge", C=0.01, tol=1e-6).fit(scale(X), y)
    >>> int((model.coef_ == 0.0).sum()), model.certificate_.unused  # zeros, and zeros in every optimum
    (24, 24)
    """


class _DualPoint(NamedTuple):
    """A dual point beta_i = C c_i y_i p_i, as computed, by bounds on its terms.

    The heavier side is scaled down, by ``moved`` of itself at most, until the exact sum is zero where the intercept is
    free. ``length`` is an upper bound on (sum_i beta_i²/(C c_i))^½, ``value`` a lower bound on the sum of the dual
    terms.
    """

    beta: np.ndarray
    moved: float
    length: float
    value: float


def measure_sparse_gap(
    problem: SparseLinearProblem, w: np.ndarray, b: float, beta: np.ndarray | None = None, n_threads: int = 1
) -> SparseGap:
    """Measure the duality gap of coefficients and an intercept.

    Parameters
    ----------
    problem : SparseLinearProblem
    w : ndarray of shape (d,)
    b : float
    beta : ndarray of shape (n,), optional
        Signed duals y_i alpha_i, which need not be feasible: they are projected. By default those of the scores.
    n_threads : int, default=1
        The number of threads that share the passes over the rows.

    Returns
    -------
    SparseGap
    """
    points = problem.points
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"), Threads(n_threads) as threads:
        engine = MemoryEngine(problem, threads)
        linear = scores(engine, "linear", w)
        error = score_error_at_most(points, w, b)
        primal = _primal_at_most(problem, w, linear + b, error)
        shares = _shares(problem, linear) if beta is None else problem.shares_of(beta)
        point = _dual_point(problem, shares, 1.0)
        engine["beta"] = point.beta
        multiple = problem.best_multiple(shares, combination(engine, "beta"))
        point = _dual_point(problem, shares, multiple if math.isfinite(multiple) else 0.0)
        engine["beta"] = point.beta
        computed = combination(engine, "beta")
        lengths = lengths_of_columns_at_most(problem.columns)
        # Errors of the sum, of the duals themselves, and the move of one side (Cauchy–Schwarz).
        off = up(gamma(points.n_rows + 8) + point.moved) * point.length * lengths
        products = (np.abs(computed) + off + 2.0 * points.n_rows * SMALLEST) * (1.0 + 8.0 * UNIT)
        factor, dual = _dual_at_least(problem, point, products)
        of_losses, of_products = error * float(np.abs(point.beta).sum()), primal * _share_of_rounding(products, off)
        if rounding_matters(of_losses + of_products, primal, dual):
            # More exact products of the rows with w and with the duals: a few more passes.
            exact_scores, errors = accurate_scores(points, w)
            errors = errors + 4.0 * UNIT * (np.abs(exact_scores) + abs(b))
            primal = min(primal, _primal_at_most(problem, w, exact_scores + b, errors))
            exact, errors = accurate_combination(points, point.beta)
            off = errors + up(16.0 * UNIT + point.moved) * point.length * lengths
            products = np.fmin(products, (np.abs(exact) + off + 4.0 * SMALLEST) * (1.0 + 8.0 * UNIT))
            factor, dual = _dual_at_least(problem, point, products)
        if b != 0.0 and not problem.fit_intercept:
            # Not feasible.
            primal = math.inf
        primal = upper_bound(primal)
        if not math.isfinite(primal):
            return SparseGap(primal, dual, unused=0)
        # The modulus is that of weights C c_i, which are rounded here.
        radius = up(math.sqrt(up(2.0 * up(primal - dual) / problem.modulus))) * (1.0 + 8.0 * UNIT)
        farthest = (factor if dual > 0.0 else 0.0) * products + radius * spreads_between(problem.columns)[1]
        unused = int(np.count_nonzero(farthest * (1.0 + 8.0 * UNIT) + 4.0 * SMALLEST < problem.l1))
    return SparseGap(primal, dual, unused=unused)


def _share_of_rounding(products: np.ndarray, off: np.ndarray) -> float:
    """The share of the dual point that rounding takes where the largest product holds it back."""
    largest = int(np.argmax(products)) if products.size else 0
    return float(off[largest] / products[largest]) if products.size and products[largest] > 0.0 else 0.0


def _primal_at_most(
    problem: SparseLinearProblem, w: np.ndarray, scores: np.ndarray, errors: np.ndarray | float
) -> float:
    losses = problem.losses
    if isinstance(losses, LogisticProblem):
        loss, rounding = logistic_gap.losses_at_most(losses.weights, losses.signs * scores, errors)
        total = up(losses.C * up(loss + rounding))
    else:
        total = svm_gap.losses_at_most(losses, scores, np.broadcast_to(errors, scores.shape))
    penalty = up(problem.l1 * sum_at_most(np.abs(w)))
    if problem.l2 > 0.0:
        length = length_at_most(w)
        penalty = up(penalty + up(0.5 * up(problem.l2 * up(length * length))))
    return up(penalty + total)


def _shares(problem: SparseLinearProblem, linear: np.ndarray) -> np.ndarray:
    """|beta_i|/(C c_i) at the best intercept for these scores."""
    if problem.fit_intercept:
        # Scores far from zero would cost the intercept its last digits: they are centred first.
        linear = linear - float((problem.weights * linear).sum()) / (float(problem.weights.sum()) or 1.0)
        linear = linear + problem.best_intercept(linear)
    return problem.shares(linear)


def _dual_point(problem: SparseLinearProblem, shares: np.ndarray, multiple: float) -> _DualPoint:
    losses, counts = problem.losses, problem.C * problem.weights
    shares = multiple * shares
    if problem.is_logistic:
        shares = np.minimum(shares, 1.0)
    # Any share is feasible, also zero in place of those whose products could underflow.
    shares[shares < logistic_gap.SMALLEST_PROBABILITY] = 0.0
    beta = problem.duals(shares)
    squares = sum_at_most(counts * shares * shares * (1.0 + 16.0 * UNIT) + 4.0 * SMALLEST)
    sides = sides_of(beta)
    if isinstance(losses, LogisticProblem):
        # The duals are those of the probabilities, of which beta is computed with rounding errors.
        rounded = up(4.0 * UNIT * sides.total) + 2.0 * sides.n_rows * SMALLEST
        at_least, at_most = logistic_gap.entropies_between(counts, shares)
        value, size = down(at_least - 2.0 * sides.n_rows * SMALLEST), at_most * (1.0 + logistic_gap.OF_FUNCTIONS)
    else:
        rounded = 0.0
        value, size = dual_terms_at_least(losses, beta)
    moved = balancing_share(sides, rounded) if problem.fit_intercept else 0.0
    # Dual terms are concave, and zero at zero: scaling a side by 1 - moved costs at most that share of their sizes.
    return _DualPoint(beta, moved, up(math.sqrt(squares)), lower_bound(down(value - up(moved * size))))


def _dual_at_least(problem: SparseLinearProblem, point: _DualPoint, products: np.ndarray) -> tuple[float, float]:
    """The factor on the dual point that makes it feasible, one with a penalty on the squared norm; and its value."""
    largest = float(products.max(initial=0.0))
    if not (point.value > 0.0 and largest < math.inf):
        # Zero is feasible, and has the value zero.
        return 0.0, 0.0
    # Dual terms are concave, and zero at zero: those of a multiple are at least that multiple of them.
    factor = 1.0 if largest <= problem.l1 else max(0.0, down(problem.l1 / largest))
    value = down(factor * point.value)
    if problem.l2 > 0.0 and factor < 1.0:
        over = np.maximum(0.0, products - problem.l1) * (1.0 + 4.0 * UNIT)
        length = length_at_most(over)
        other = down(point.value - up(up(0.5 * up(length * length)) / problem.l2) * (1.0 + 4.0 * UNIT))
        if other > value:
            factor, value = 1.0, other
    return factor, max(0.0, value)
