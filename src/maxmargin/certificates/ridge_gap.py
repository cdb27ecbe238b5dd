"""How far coefficients can be from those of the best ridge regression or of least squares (theory D2, D4)."""

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from maxmargin.certificates.base import Certificate, not_above
from maxmargin.certificates.duality_gap import DualityGap
from maxmargin.certificates.error_bounds import (
    NEGLIGIBLE,
    dual_of,
    products_at_most,
    spreads_between,
    squared_combination_at_most,
    squares_at_most,
)
from maxmargin.certificates.rounding import UNIT, down, length_at_most, up
from maxmargin.problems.squared_errors import RidgeProblem, SquaredErrors

# Without a price on their length, coefficients are compared with others that are so many times as long.
LENGTHS = 16.0
# What the spread of a column without any counts as: too little to divide by zero, and to matter.
NO_SPREAD = 1e-150


@dataclass(frozen=True)
class RidgeGap(DualityGap):
    r"""The gap of a ridge regression; of least squares, against all coefficients up to a length.

    The dual point is the residual times the weights, put on the best point of its ray. Where lambda = 0 that point
    would have to be orthogonal to every column to the last bit, so that what is proven is less: no coefficients w with
    ||(s_1 w_1, ..., s_d w_d)|| <= ``radius`` have a value below ``dual``, where s_j is the spread of column j, the root
    of sum_i m_i (x_ij - mean_j)² (without an intercept, of sum_i m_i x_ij²).

    Attributes
    ----------
    primal, dual : float
    radius : float
        Infinity for every lambda > 0.
    """

    radius: float

    _rivals: ClassVar[str] = "no coefficients have"

    def _more_to_say(self) -> str:
        return "" if math.isinf(self.radius) else f" with standardised coefficients up to a length of {self.radius:.3g}"

    def check(self, proven: Certificate) -> None:
        """Raise CertificateError where a value is better than what the data prove."""
        super().check(proven)
        assert isinstance(proven, RidgeGap)
        self._refuse_unless(
            not_above(self.radius, proven.radius, proven.radius),
            f"radius {self.radius!r} is more than {proven.radius!r}",
        )


def measure_ridge_gap(problem: RidgeProblem, w: np.ndarray, b: float) -> RidgeGap:
    """State what coefficients and an intercept prove."""
    errors, lam = problem.errors.centred, problem.lam
    b = problem.errors.centring.intercept_here(w, b)
    length, radius = length_at_most(w), math.inf
    with np.errstate(over="ignore", invalid="ignore"):
        residuals = errors.residuals(w, b)
        penalty = up(lam * up(length * length))
        primal = up(squares_at_most(errors, w, b, residuals, penalty) + penalty)
        point = dual_of(errors, residuals)
        gain, curve = point.gain, point.squares
        if lam > 0.0:
            curve = up(curve + up(squared_combination_at_most(errors, point, NEGLIGIBLE * lam * curve) / lam))
        else:
            spreads = np.maximum(spreads_between(errors)[0], NO_SPREAD)
            radius = _radius(errors, spreads * w)
            pulls = products_at_most(errors, point, errors.points.combination(point.alpha)) / spreads
            pulls[_too_small(errors)] = math.inf
            gain = down(gain - up(radius * length_at_most(pulls * (1.0 + 2.0 * UNIT))))
        dual = _best_on_ray(gain, curve)
    return RidgeGap(
        primal=math.inf if math.isnan(primal) else primal,
        # The dual point zero is always there.
        dual=max(0.0, dual) if dual == dual else 0.0,
        radius=radius,
    )


def _too_small(errors: SquaredErrors) -> np.ndarray:
    """The columns that vary although their squares have nearly vanished: of their coefficients nothing is proven."""
    suspects = np.flatnonzero(errors.squares_of_columns < NO_SPREAD**2)
    return suspects[np.asarray(abs(errors.points.matrix[:, suspects]).sum(axis=0)).ravel() > 0.0]


def _radius(errors: SquaredErrors, standardised: np.ndarray) -> float:
    """Up to which length of coefficients, each times its column's spread, a bound is given; about that of fits to y."""
    around = float(errors.weighted(np.square(errors.targets - errors.target_mean)).sum())
    return LENGTHS * (float(np.linalg.norm(standardised)) + math.sqrt(around))


def _best_on_ray(gain: float, curve: float) -> float:
    """The value 2 s gain - s² curve at the best s, at least."""
    if not gain > 0.0:
        return 0.0
    share = gain / curve
    # share is one exact number: what is bounded is the value at that share.
    return down(down(2.0 * share * gain) - up(up(share * share) * curve) * (1.0 + 2.0 * UNIT))
