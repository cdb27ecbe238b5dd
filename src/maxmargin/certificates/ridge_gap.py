"""The duality gap of ridge regression and least squares."""

import math
from dataclasses import dataclass

import numpy as np

from maxmargin.certificates.base import Certificate
from maxmargin.certificates.bounds import frobenius_norm_at_most
from maxmargin.certificates.duality_gap import DualityGap
from maxmargin.certificates.passes import ask_scores, combination, set_zero, total_at_most
from maxmargin.certificates.rounding import SMALLEST, UNIT, down, length_at_most, lower_bound, up, upper_bound
from maxmargin.certificates.squared_errors import (
    NEGLIGIBLE_ERROR,
    Dual,
    DualTerms,
    combination_of,
    dual_of,
    dual_terms,
    merged_dual,
    products_at_most,
    residuals_of,
    spreads_between,
    squared_combination_at_most,
    squares_at_most,
    squares_by_lengths,
)
from maxmargin.data.printed_bounds import digits_down
from maxmargin.data.rows import is_sparse
from maxmargin.engine import Block, MemoryEngine, Threads
from maxmargin.engine.dask import DaskEngine, Handle
from maxmargin.problems.partitioned import ErrorSums, PartitionedProblem, column_sums
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

    See Also
    --------
    LassoGap : With the 1-norm as penalty.
    Ridge, BayesianRegression : The models that have it.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from sklearn.preprocessing import scale
    >>> from maxmargin import Ridge
    >>> X, y = load_diabetes(return_X_y=True)
    >>> proof = Ridge(alpha=10.0).fit(scale(X), y).certificate_
    >>> print(f"{proof.dual:.1f} <= optimum <= {proof.primal:.1f}")
    1287634.5 <= optimum <= 1287634.5
    """

    radius: float

    def _details(self) -> str:
        norm = digits_down(self.radius, 3)
        return "" if math.isinf(self.radius) else f" among standardised coefficients of norm up to {norm}"

    def check(self, proven: Certificate) -> None:
        """Raise CertificateError where a value is better than what the data prove."""
        super().check(proven)
        assert isinstance(proven, RidgeGap)
        self._check_region(proven, "radius")


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
        alpha, point = dual_of(errors, residuals)
        combined = combination_of(engine, alpha)
        if lam > 0.0:
            dual = _dual_with_penalty(errors, lam, point, combined, frobenius_norm_at_most(errors.points))
        else:
            around = float(errors.weighted(np.square(errors.targets - errors.target_mean)).sum())
            spreads = spreads_between(errors)[0]
            too_small = _too_small(errors, spreads)
            dual, radius = _dual_within_radius(errors, w, point, combined, (spreads, too_small, around))
    if dual_point is not None:
        dual_point[:] = alpha if dual > 0.0 else 0.0
    return RidgeGap(primal=upper_bound(primal), dual=dual, radius=radius)


def measure_partitioned_ridge_gap(problem: PartitionedProblem, w: np.ndarray, b: float) -> tuple[RidgeGap, Handle]:
    """Measure the same where the rows lie in partitions; also return where the dual point is."""
    ridge = problem.problem
    assert isinstance(ridge, RidgeProblem)
    errors, lam = ridge.errors, ridge.lam
    engine = DaskEngine(errors, problem.task.local)
    b = problem.points.centring.intercept_here(w, b)
    length, radius = length_at_most(w), math.inf
    with np.errstate(over="ignore", invalid="ignore"):
        ask_scores(engine, "residuals", w, b)
        engine.allocate("alpha")
        parts = engine.ask_all(_residuals, w, b, writes=("residuals",))
        known = ErrorSums(errors.points, errors.has_intercept, engine.sum(column_sums))
        squares, totals, norms = zip(*parts.value, strict=True)
        primal = up(total_at_most(squares) + up(up(lam * length) * length))
        mean = math.fsum(totals) / known.total_weight if all(map(math.isfinite, totals)) else 0.0
        terms = engine.ask_all(_dual_terms, mean, known.target_mean, writes=("alpha",))
        combined = combination(engine, "alpha")
        point = merged_dual(errors.has_intercept, terms.value)
        if lam > 0.0:
            dual = _dual_with_penalty(known, lam, point, combined, length_at_most(np.array(norms)))
        else:
            around = max(0.0, known.squares_of_targets - known.total_weight * known.target_mean**2)
            spreads = spreads_between(known)[0]
            # Whether such a column is zero everywhere is not asked for: nothing is proven of it.
            too_small = np.flatnonzero(~(spreads >= NO_SPREAD))
            dual, radius = _dual_within_radius(known, w, point, combined, (spreads, too_small, around))
    if dual == 0.0:
        engine.do(set_zero, "alpha", writes=("alpha",))
    return RidgeGap(primal=upper_bound(primal), dual=dual, radius=radius), engine["alpha"]


def _residuals(block: Block[SquaredErrors], w: np.ndarray, b: float) -> tuple[float, float, float]:
    """Turn scores into residuals; return bounds on their squares, their weighted sum, and a bound on the norm of X."""
    errors, residuals = block.problem, block["residuals"]
    np.subtract(errors.targets, residuals, out=residuals)
    squares = squares_by_lengths(errors, w, b, residuals)
    return squares, float(errors.weighted(residuals).sum()), frobenius_norm_at_most(errors.points)


def _dual_terms(block: Block[SquaredErrors], mean: float, centre: float) -> DualTerms:
    alpha, terms = dual_terms(block.problem, block["residuals"], mean, centre)
    block["alpha"][:] = alpha
    return terms


def _dual_with_penalty(
    errors: SquaredErrors | ErrorSums, lam: float, point: Dual, combined: np.ndarray, frobenius_norm: float
) -> float:
    """The dual value at the best point of the ray, at least, given X^T alpha as computed."""
    negligible = NEGLIGIBLE_ERROR * lam * point.squares
    length = squared_combination_at_most(errors, point, combined, frobenius_norm, negligible)
    return _best_on_ray(point.linear, up(point.squares + up(length / lam)))


def _dual_within_radius(
    errors: SquaredErrors | ErrorSums,
    w: np.ndarray,
    point: Dual,
    combined: np.ndarray,
    columns: tuple[np.ndarray, np.ndarray, float],
) -> tuple[float, float]:
    """The same without a penalty, and the radius it holds for.

    ``columns`` are lower bounds on the spreads, the columns of which nothing is proven, and sum m_i (y_i - mean)².
    """
    spreads, too_small, around = columns
    spreads = np.maximum(spreads, NO_SPREAD)
    radius = _radius(spreads * w, around)
    products = products_at_most(errors, point, combined) / spreads + SMALLEST
    products[too_small] = math.inf
    linear = down(point.linear - up(radius * length_at_most(products * (1.0 + 2.0 * UNIT))))
    return _best_on_ray(linear, point.squares), radius


def _too_small(errors: SquaredErrors, spreads: np.ndarray) -> np.ndarray:
    """Columns that are not zero although their spread may be: nothing is proven of their coefficients."""
    suspects = np.flatnonzero(~(spreads >= NO_SPREAD))
    columns = errors.points.matrix[:, suspects]
    sizes = abs(columns) if is_sparse(columns) else np.abs(columns)
    return suspects[np.asarray(sizes.sum(axis=0)).ravel() > 0.0]


def _radius(standardised: np.ndarray, around: float) -> float:
    """The norm of standardised coefficients up to which the bound holds: that of w and of y, times NORMS."""
    radius = NORMS * (float(np.linalg.norm(standardised)) + math.sqrt(around))
    # Where it overflows, nothing is stated.
    return radius if math.isfinite(radius) else 0.0


def _best_on_ray(linear: float, curvature: float) -> float:
    """A lower bound on 2 s linear - s² curvature at the best s, where s = 0, which is feasible, has the value zero."""
    if not linear > 0.0:
        return 0.0
    share = linear / curvature
    # The computed share is itself an exact number: the value is bounded at it.
    value = down(down(2.0 * share * linear) - up(share * up(share * curvature)))
    return max(0.0, lower_bound(value))
