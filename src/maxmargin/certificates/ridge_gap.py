"""The duality gap of ridge regression and least squares."""

import math
from dataclasses import dataclass

import numpy as np

from maxmargin.certificates.base import Certificate
from maxmargin.certificates.duality_gap import DualityGap
from maxmargin.certificates.rounding import SMALLEST, UNIT, down, length_at_most, lower_bound, up, upper_bound
from maxmargin.certificates.squared_errors import (
    NEGLIGIBLE_ERROR,
    combination_of,
    dual_of,
    products_at_most,
    residuals_of,
    spreads_between,
    squared_combination_at_most,
    squares_at_most,
)
from maxmargin.engine import MemoryEngine, Threads
from maxmargin.problems.squared_errors import RidgeProblem, SquaredErrors

# Least squares: the bound holds for coefficients up to this many times the norm of those of a fit, enough to contain
# every optimum that is not ill-conditioned, and small enough for the bound to be sharp.
NORMS = 16.0
# The spread of a constant column: its square is the smallest that does not underflow.
NO_SPREAD = 1e-150


@dataclass(frozen=True)
class RidgeGap(DualityGap):
    r"""The duality gap of ridge regression; of least squares, among all coefficients up to a norm.

    The dual point is the residual times the weights, scaled to the best point of its ray. For lambda = 0 a dual
    feasible point is orthogonal to every column, which rounding does not allow, so that the claim is weaker: no
    coefficients w with ||(s_1 w_1, ..., s_d w_d)|| <= ``radius`` have an objective below ``dual``, where s_j is the
    spread of column j, (sum_i m_i (x_ij - mean_j)²)^½ (without an intercept, (sum_i m_i x_ij²)^½).

    Attributes
    ----------
    primal, dual : float
    radius : float
        Infinity for every lambda > 0.
    """

    radius: float

    def _details(self) -> str:
        return "" if math.isinf(self.radius) else f" among standardised coefficients of norm up to {self.radius:.3g}"

    def check(self, proven: Certificate) -> None:
        """Raise CertificateError where a value is better than what the data prove."""
        super().check(proven)
        assert isinstance(proven, RidgeGap)
        self._check_lower_bounds(proven, "radius", scale=proven.radius)


def measure_ridge_gap(
    problem: RidgeProblem, w: np.ndarray, b: float, n_threads: int = 1, dual_point: np.ndarray | None = None
) -> RidgeGap:
    """Measure the duality gap of coefficients and an intercept; the dual point is made from their residuals.

    ``dual_point``, of shape (n,), is filled with the point whose value is ``dual``, before it is scaled.
    """
    errors, lam = problem.errors.centred, problem.lam
    b = problem.errors.centring.intercept_here(w, b)
    length, radius = length_at_most(w), math.inf
    with np.errstate(over="ignore", invalid="ignore"), Threads(n_threads) as threads:
        engine = MemoryEngine(errors, threads)
        residuals = residuals_of(engine, w, b)
        penalty = up(up(lam * length) * length)
        primal = up(squares_at_most(errors, w, b, residuals, penalty) + penalty)
        point = dual_of(errors, residuals)
        gain, curvature = point.gain, point.squares
        if lam > 0.0:
            curvature = up(
                curvature + up(squared_combination_at_most(engine, point, NEGLIGIBLE_ERROR * lam * curvature) / lam)
            )
        else:
            spreads = spreads_between(errors)[0]
            too_small = _too_small(errors, spreads)
            spreads = np.maximum(spreads, NO_SPREAD)
            radius = _radius(errors, spreads * w)
            products = products_at_most(errors, point, combination_of(engine, point)) / spreads + SMALLEST
            products[too_small] = math.inf
            gain = down(gain - up(radius * length_at_most(products * (1.0 + 2.0 * UNIT))))
        # The dual point zero is feasible and has the value zero.
        dual = max(0.0, lower_bound(_best_on_ray(gain, curvature)))
    if dual_point is not None:
        dual_point[:] = point.alpha if dual > 0.0 else 0.0
    return RidgeGap(primal=upper_bound(primal), dual=dual, radius=radius)


def _too_small(errors: SquaredErrors, spreads: np.ndarray) -> np.ndarray:
    """Columns that are not zero although their spread may be: nothing is proven of their coefficients."""
    suspects = np.flatnonzero(~(spreads >= NO_SPREAD))
    return suspects[np.asarray(abs(errors.points.matrix[:, suspects]).sum(axis=0)).ravel() > 0.0]


def _radius(errors: SquaredErrors, standardised: np.ndarray) -> float:
    """The norm of standardised coefficients up to which the bound holds: that of w and of y, times NORMS."""
    around = float(errors.weighted(np.square(errors.targets - errors.target_mean)).sum())
    radius = NORMS * (float(np.linalg.norm(standardised)) + math.sqrt(around))
    # Where it overflows, nothing is stated.
    return radius if math.isfinite(radius) else 0.0


def _best_on_ray(gain: float, curvature: float) -> float:
    """A lower bound on 2 s gain - s² curvature at the best s."""
    if not gain > 0.0:
        return 0.0
    share = gain / curvature
    # The computed share is itself an exact number: the value is bounded at it.
    return down(down(2.0 * share * gain) - up(share * up(share * curvature)))
