"""The duality gap: bounds on a model's objective and on the optimum (weak duality, :doc:`/theory`)."""

import math
from dataclasses import dataclass

from maxmargin.certificates.base import Certificate
from maxmargin.certificates.rounding import up
from maxmargin.data.printed_bounds import digits_down, digits_up

# Shares of the gap and of the value above which rounding errors are bounded more finely, which takes more passes.
ROUNDING_SHARE = 0.1
NEGLIGIBLE_ROUNDING = 1e-10


def rounding_matters(rounding: float, primal: float, dual: float, wanted: float = 0.0) -> bool:
    """Whether bounds on rounding errors make up much of the gap, and are not negligible beside the value.

    They do not matter where the relative gap is at most ``wanted`` as it is.
    """
    gap = primal - dual
    is_large = NEGLIGIBLE_ROUNDING * abs(primal) < rounding and ROUNDING_SHARE * gap < rounding < math.inf
    return is_large and not gap <= wanted * primal


@dataclass(frozen=True)
class DualityGap(Certificate):
    r"""Proof that the objective of a model is at most ``primal`` and the optimum is at least ``dual``.

    .. math:: \text{dual} \le \text{optimum} \le \text{value of the model} \le \text{primal}

    By weak duality every dual feasible point bounds the optimum from below. ``primal`` is rounded up and ``dual``
    down, so that both hold in exact arithmetic.

    Attributes
    ----------
    primal : float
        Upper bound on the objective of the model.
    dual : float
        Lower bound on the objective of every model of the same problem.

    See Also
    --------
    SVMGap, LogisticGap, RidgeGap, LassoGap, SparseGap, NuGap : The gaps of the problems of this package.
    certify : Computes a gap again, from the data alone.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from maxmargin import LinearSVC
    >>> X, y = load_iris(return_X_y=True)
    >>> proof = LinearSVC(tol=1e-8).fit(X, y == 1).certificate_
    >>> print(f"{proof.dual:.3f} <= optimum <= {proof.primal:.3f}")
    88.538 <= optimum <= 88.538
    """

    primal: float
    dual: float

    def __post_init__(self) -> None:
        if not self.dual <= self.primal:
            self._refuse(f"dual {self.dual!r} <= primal {self.primal!r} does not hold")

    @property
    def objective(self) -> float:
        """The model's objective, rounded up."""
        return self.primal

    @property
    def gap(self) -> float:
        """The duality gap, primal - dual."""
        return up(self.primal - self.dual) if self.primal > self.dual else 0.0

    @property
    def relative(self) -> float:
        """The duality gap relative to the primal value; at most 1 where the dual value is not negative."""
        if math.isinf(self.primal):
            return math.inf
        gap = self.gap
        ratio = up(gap / self.primal) if self.primal > 0.0 < gap else 0.0
        return min(1.0, ratio) if self.dual >= 0.0 else ratio

    def __str__(self) -> str:
        return f"{self._values(self.dual > 0.0)}{self._details()}"

    def _values(self, relative: bool) -> str:
        """The gap and its two values; relative to an optimum that may be zero a gap says nothing."""
        gap = (
            f"relative duality gap {digits_up(self.relative, 2)}"
            if relative
            else f"duality gap {digits_up(self.gap, 2)}"
        )
        return f"{gap} (primal {digits_up(self.primal, 8)}, dual {digits_down(self.dual, 8)})"

    def _details(self) -> str:
        """Return the rest of the sentence, which depends on the problem."""
        return ""

    def check(self, proven: Certificate) -> None:
        """Raise CertificateError where a value is better than what the data prove."""
        self._same_kind(proven)
        assert isinstance(proven, DualityGap)
        scale = abs(proven.primal)
        self._check_upper_bounds(proven, "primal", scale=scale)
        self._check_lower_bounds(proven, "dual", scale=scale)
