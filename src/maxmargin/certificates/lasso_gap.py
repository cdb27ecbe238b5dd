"""The duality gap of the lasso, and the columns that gap safe screening excludes."""

import math
from dataclasses import dataclass

import numpy as np

from maxmargin.certificates.base import Certificate
from maxmargin.certificates.duality_gap import DualityGap, rounding_matters
from maxmargin.certificates.rounding import SMALLEST, UNIT, down, length_at_most, sum_at_most, up, upper_bound
from maxmargin.certificates.squared_errors import (
    Dual,
    accurate_products_at_most,
    combination_of,
    dual_of,
    products_at_most,
    residuals_of,
    spreads_between,
    squares_at_most,
)
from maxmargin.engine import MemoryEngine, Threads
from maxmargin.problems.squared_errors import LassoProblem

# Newton steps for the factor of the dual point: every one settles which columns count.
MAX_SHARE_STEPS = 50


@dataclass(frozen=True)
class LassoGap(DualityGap):
    r"""The duality gap of a lasso or an elastic net, and the number of coefficients that are zero in every optimum.

    The dual point is the residual times the weights, scaled: for the lasso so that no column's product with it exceeds
    lambda. The dual optimum is within sqrt(2 gap) of it: a column whose product stays below lambda in that ball has a
    coefficient of zero in every optimum (Ndiaye, Fercoq, Gramfort, Salmon, "Gap safe screening rules for sparsity
    enforcing penalties", 2017).

    Attributes
    ----------
    primal, dual : float
    unused : int
        Columns whose coefficient is proven to be zero in every optimum; there may be more.

    See Also
    --------
    RidgeGap : With the squared norm as penalty.
    Lasso, ElasticNet : The models that have it.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from sklearn.preprocessing import scale
    >>> from maxmargin import Lasso
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = Lasso(alpha=3.0, tol=1e-8).fit(scale(X), y)
    >>> int((model.coef_ == 0.0).sum()), model.certificate_.unused  # zeros, and zeros in every optimum
    (3, 3)
    """

    unused: int

    def _details(self) -> str:
        return f"; {self.unused} coefficients are zero in every optimum"

    def check(self, proven: Certificate) -> None:
        """Raise CertificateError where a value is better than what the data prove."""
        super().check(proven)
        self._check_lower_bounds(proven, "unused", scale=0.0)


def measure_lasso_gap(
    problem: LassoProblem,
    w: np.ndarray,
    b: float,
    n_threads: int = 1,
    dual_point: np.ndarray | None = None,
    wanted: float = 0.0,
) -> LassoGap:
    """Measure the duality gap of coefficients and an intercept; the dual point is made from their residuals.

    ``dual_point``, of shape (n,), is filled with the point whose value is ``dual``, before it is scaled. A relative gap
    of at most ``wanted`` need not be bounded more finely.
    """
    errors, lam = problem.errors.centred, problem.lam
    b = problem.errors.centring.intercept_here(w, b)
    with np.errstate(over="ignore", invalid="ignore"), Threads(n_threads) as threads:
        engine = MemoryEngine(errors, threads)
        residuals = residuals_of(engine, w, b)
        penalty = up(lam * sum_at_most(np.abs(w)))
        if problem.ridge > 0.0:
            length = length_at_most(w)
            penalty = up(penalty + up(0.5 * up(problem.ridge * up(length * length))))
        primal = up(0.5 * squares_at_most(errors, w, b, residuals, 2.0 * penalty) + penalty)
        alpha, point = dual_of(errors, residuals)
        computed = combination_of(engine, alpha)
        products = _bounded(problem, products_at_most(errors, point, computed), computed)
        share, dual = _best_share(problem, point, products)
        largest, of_rounding = float(products.max(initial=0.0)), float((products - np.abs(computed)).max(initial=0.0))
        # Where the constraint holds back the dual point, its length, and its value with it, lose this share.
        holds_back = 2.0 * share * largest > lam
        if holds_back and rounding_matters(of_rounding / largest * primal, primal, dual, wanted):
            accurate, bounds = accurate_products_at_most(errors, alpha)
            products = np.fmin(products, _bounded(problem, bounds, accurate))
            share, dual = _best_share(problem, point, products)
        if problem.positive and (w < 0.0).any():
            primal = math.inf
        if dual_point is not None:
            dual_point[:] = alpha if 0.0 < dual < math.inf else 0.0
        if not (math.isfinite(primal) and math.isfinite(dual)):
            return LassoGap(upper_bound(primal), 0.0, unused=0)
        radius = up(math.sqrt(up(2.0 * up(primal - dual))))
        farthest = share * products + radius * spreads_between(errors)[1]
        unused = int(np.count_nonzero(farthest * (1.0 + 8.0 * UNIT) + 4.0 * SMALLEST < lam))
    return LassoGap(primal, dual, unused=unused)


def _bounded(problem: LassoProblem, products: np.ndarray, computed: np.ndarray) -> np.ndarray:
    """Bounds on what may not exceed lambda: the sizes of the products, or with ``positive`` the products themselves.

    ``products`` bound the sizes, given those that were computed.
    """
    if not problem.positive:
        return products
    # A bound on the size of a negative product, plus twice the product, is what rounding may have hidden.
    return np.where(computed < 0.0, np.maximum(0.0, products + 2.0 * computed + 8.0 * UNIT * products), products)


def _best_share(problem: LassoProblem, point: Dual, products: np.ndarray) -> tuple[float, float]:
    """The s that maximises the dual value of s alpha, among those that are dual feasible, and a bound on that value."""
    lam, ridge, largest = problem.lam, problem.ridge, float(products.max(initial=0.0))
    # Zero is feasible, also where a product overflows, and has the value zero.
    if not (point.linear > 0.0 and largest < math.inf):
        return 0.0, 0.0
    share = point.linear / point.squares
    feasible = min(share, max(0.0, down(lam / largest))) if largest > 0.0 else share
    excess = 0.0
    if ridge == 0.0:
        share = feasible
    elif feasible < share:
        # Every s is feasible. The derivative in s falls in straight pieces: Newton steps find its root.
        for _ in range(MAX_SHARE_STEPS):
            used = products[share * products > lam]
            curvature = point.squares + float(used @ used) / ridge
            new = max(feasible, (point.linear + lam * float(used.sum()) / ridge) / curvature)
            if not abs(new - share) > 1e-15 * share:
                break
            share = new
        over = np.maximum(0.0, share * products * (1.0 + 4.0 * UNIT) - lam) * (1.0 + 4.0 * UNIT)
        length = length_at_most(over)
        excess = up(up(0.5 * up(length * length)) / ridge) * (1.0 + 4.0 * UNIT)
    value = down(down(share * point.linear) - up(0.5 * up(share * up(share * point.squares))))
    return share, max(0.0, down(value - excess))
