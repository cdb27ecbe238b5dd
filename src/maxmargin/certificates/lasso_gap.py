"""How far coefficients can be from those of the best lasso, and which of those are zero (theory D3)."""

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from maxmargin.certificates.base import Certificate
from maxmargin.certificates.duality_gap import DualityGap
from maxmargin.certificates.error_bounds import Dual, dual_of, products_at_most, spreads_between, squares_at_most
from maxmargin.certificates.rounding import UNIT, down, sum_at_most, up
from maxmargin.problems.squared_errors import LassoProblem


@dataclass(frozen=True)
class LassoGap(DualityGap):
    r"""The gap of a lasso, and how many columns are proven to be of no use.

    The dual point is the residual times the weights, scaled so that no column's product with it exceeds lambda. The
    best dual point is within sqrt(2 gap) of it: a column whose product stays below lambda everywhere there has a
    coefficient of zero in every best model (Ndiaye, Fercoq, Gramfort, Salmon, "Gap safe screening rules for sparsity
    enforcing penalties", 2017).

    Attributes
    ----------
    primal, dual : float
    unused : int
        Columns that no best model uses. (There may be more: this is how many are proven.)
    """

    unused: int

    _rivals: ClassVar[str] = "no coefficients have"

    def _more_to_say(self) -> str:
        return f"; {self.unused} columns are proven to be of no use"

    def check(self, proven: Certificate) -> None:
        """Raise CertificateError where a value is better than what the data prove."""
        super().check(proven)
        assert isinstance(proven, LassoGap)
        self._refuse_unless(self.unused <= proven.unused, f"unused {self.unused!r} is more than {proven.unused!r}")


def measure_lasso_gap(problem: LassoProblem, w: np.ndarray, b: float) -> LassoGap:
    """State what coefficients and an intercept prove."""
    errors, lam = problem.errors.centred, problem.lam
    b = problem.errors.centring.intercept_here(w, b)
    with np.errstate(over="ignore", invalid="ignore"):
        residuals = errors.residuals(w, b)
        penalty = up(lam * sum_at_most(np.abs(w)))
        primal = up(0.5 * squares_at_most(errors, w, b, residuals, 2.0 * penalty) + penalty)
        point = dual_of(errors, residuals)
        products = products_at_most(errors, point, errors.points.combination(point.alpha))
        share = _best_share(point, lam, float(products.max(initial=0.0)))
        dual = max(0.0, down(down(share * point.gain) - up(0.5 * up(up(share * share) * point.squares))))
        if math.isnan(primal) or not math.isfinite(dual):
            return LassoGap(math.inf if math.isnan(primal) else primal, 0.0, unused=0)
        reach = up(math.sqrt(up(2.0 * up(primal - dual))))
        farthest = share * products + reach * spreads_between(errors)[1]
        unused = int(np.count_nonzero(farthest * (1.0 + 8.0 * UNIT) < lam))
    return LassoGap(primal, dual, unused=unused)


def _best_share(point: Dual, lam: float, largest: float) -> float:
    """The s for which s alpha gains most, among those for which no product exceeds lambda."""
    if not point.gain > 0.0:
        return 0.0
    share = point.gain / point.squares
    return min(share, max(0.0, down(lam / largest))) if largest > 0.0 else share
