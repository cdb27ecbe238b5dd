"""How far coefficients can be from those of the best ridge regression or of least squares (theory D2, D4)."""

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from maxmargin.certificates.base import Certificate
from maxmargin.certificates.error_bounds import (
    Dual,
    dual_of,
    off_by_imbalance,
    row_lengths_at_most,
    squares_at_most,
)
from maxmargin.certificates.gap import Gap
from maxmargin.certificates.rounding import UNIT, down, gamma, length_at_most, up
from maxmargin.problems.squared_errors import RidgeProblem, SquaredErrors

# Without a price on their length, coefficients are compared with others that are so many times as long.
LENGTHS = 1024.0


@dataclass(frozen=True)
class RidgeGap(Gap):
    r"""The gap of a ridge regression; of least squares, against all coefficients up to a length.

    The dual point is the residual times the weights, put on the best point of its ray. Where lambda = 0 that point
    would have to be orthogonal to every column to the last bit, so that what is proven is less: no coefficients of
    length ``radius`` or less have a value below ``dual``.

    Attributes
    ----------
    primal, dual : float
    radius : float
        Infinity for every lambda > 0.
    """

    radius: float

    _rivals: ClassVar[str] = "no coefficients have"

    def _more_to_say(self) -> str:
        return "" if math.isinf(self.radius) else f" with coefficients of length {self.radius:.3g} or less"

    def check(self, proven: Certificate) -> None:
        """Raise CertificateError where a value is better than what the data prove."""
        super().check(proven)
        assert isinstance(proven, RidgeGap)
        self._refuse_unless(self.radius <= proven.radius, f"radius {self.radius!r} is more than {proven.radius!r}")


def measure_ridge_gap(problem: RidgeProblem, w: np.ndarray, b: float) -> RidgeGap:
    """State what coefficients and an intercept prove."""
    errors, lam = problem.errors, problem.lam
    length = length_at_most(w)
    radius = math.inf if lam > 0.0 else up(LENGTHS * length)
    with np.errstate(over="ignore", invalid="ignore"):
        residuals = errors.residuals(w, b)
        squares = squares_at_most(errors, w, b, residuals)
        primal = up(squares + up(lam * up(length * length)))
        point = dual_of(errors, residuals)
        dual = _dual_at_least(lam, point, _combination_at_most(errors, point), radius)
    return RidgeGap(
        primal=math.inf if math.isnan(primal) else primal,
        # The dual point zero is always there.
        dual=max(0.0, dual) if dual == dual else 0.0,
        radius=radius,
    )


def _combination_at_most(errors: SquaredErrors, point: Dual) -> float:
    """||X^T alpha||, at most."""
    all_lengths = length_at_most(row_lengths_at_most(errors.points))
    off = up(gamma(point.alpha.size + 4) * up(all_lengths * length_at_most(point.alpha)))
    return up(length_at_most(errors.points.combination(point.alpha)) + up(off + off_by_imbalance(errors, point)))


def _dual_at_least(lam: float, point: Dual, length: float, radius: float) -> float:
    """The value of s alpha for the best s: 2 s gain - s² curve, with the best w of length ``radius`` or less."""
    gain, curve = point.gain, point.squares
    if lam > 0.0:
        curve = up(curve + up(up(length * length) / lam))
    elif radius > 0.0:
        gain = down(gain - up(radius * length))
    if not gain > 0.0:
        return 0.0
    share = gain / curve
    # share is one exact number: what is bounded is the value at that share.
    return down(down(2.0 * share * gain) - up(up(share * share) * curve) * (1.0 + 2.0 * UNIT))
