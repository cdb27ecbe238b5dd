"""How far a soft-margin plane can be from the best one (theory B7)."""

import math
from dataclasses import dataclass

import numpy as np

from maxmargin.certificates.base import Certificate, not_above
from maxmargin.certificates.rounding import SMALLEST, UNIT, down, gamma, length_at_most, sum_at_most, up
from maxmargin.problems.linear_svm import LinearSVMProblem

# A dual this near to an end of its box, relative to the box, counts as being there.
AT_BOUND = 1e-9


@dataclass(frozen=True)
class DualityGap(Certificate):
    r"""Proves that no plane has an objective below ``dual``, while the model's has at most ``primal``.

    .. math:: \text{dual} \le \text{optimum} \le \text{value of the model} \le \text{primal}

    The model's duals are put into their box, and with an intercept the heavier class is scaled so that
    sum alpha_i y_i = 0; ``primal`` is rounded up and ``dual`` down.

    Attributes
    ----------
    primal, dual : float
    complementarity : float
        The largest violation of the KKT conditions (theory B6): of y f >= 1 where alpha = 0, of y f = 1 where alpha is
        free, of y f <= 1 where alpha is at its upper end.
    outside, on_street, inside, wrong : int
        Points beyond the street's edge (xi = 0, alpha = 0); on the edge; in the street (0 < xi < 1); on the wrong side
        of the plane (xi >= 1).
    """

    primal: float
    dual: float
    complementarity: float
    outside: int
    on_street: int
    inside: int
    wrong: int

    def __post_init__(self) -> None:
        self._refuse_unless(self.dual <= self.primal, f"dual {self.dual!r} <= primal {self.primal!r} does not hold")

    @property
    def gap(self) -> float:
        """primal - dual: how far the model's value can be from the best one."""
        return up(self.primal - self.dual) if self.primal > self.dual else 0.0

    @property
    def relative(self) -> float:
        """The gap divided by the primal's value."""
        return self.gap / self.primal if self.primal > 0.0 else 0.0

    def __str__(self) -> str:
        return (
            f"objective {self.primal:.8g}, no plane has less than {self.dual:.8g}: within {self.relative:.2g} of the "
            f"best; {self.outside} points outside the street, {self.on_street} on its edge, {self.inside} in it, "
            f"{self.wrong} on the wrong side"
        )

    def check(self, proven: Certificate) -> None:
        """Raise CertificateError where a value is better than what the data prove."""
        self._same_kind(proven)
        assert isinstance(proven, DualityGap)
        scale = abs(proven.primal)
        self._refuse_unless(
            not_above(-self.primal, -proven.primal, scale), f"primal {self.primal!r} is less than {proven.primal!r}"
        )
        self._refuse_unless(
            not_above(self.dual, proven.dual, scale), f"dual {self.dual!r} is more than {proven.dual!r}"
        )
        self._refuse_unless(
            math.isclose(self.complementarity, proven.complementarity, rel_tol=1e-6, abs_tol=1e-9),
            f"complementarity {self.complementarity!r} is not {proven.complementarity!r}",
        )
        counts = ("outside", "on_street", "inside", "wrong")
        self._refuse_unless(
            all(getattr(self, name) == getattr(proven, name) for name in counts), "the counts of points are others"
        )


def measure_gap(problem: LinearSVMProblem, w: np.ndarray, b: float, alpha: np.ndarray) -> DualityGap:
    """State what a plane and duals prove about the problem."""
    alpha = problem.feasible(alpha)
    with np.errstate(over="ignore", invalid="ignore"):
        margins = problem.margins(w, b)
        primal = _primal_at_most(problem, w, b, margins)
        dual = _dual_at_least(problem, alpha)
    slack = np.maximum(0.0, 1.0 - margins)
    upper = problem.loss.largest_dual(problem.prices)
    free = (alpha > AT_BOUND * problem.C) & (alpha < upper * (1.0 - AT_BOUND))
    short, far = np.maximum(0.0, 1.0 - margins), np.maximum(0.0, margins - 1.0)
    violation = np.where(free, np.maximum(short, far), np.where(alpha > AT_BOUND * problem.C, far, short))
    counted = problem.prices > 0.0
    on_street = counted & (np.abs(1.0 - margins) <= 1e-6)
    return DualityGap(
        primal=math.inf if math.isnan(primal) else primal,
        dual=-math.inf if math.isnan(dual) else dual,
        complementarity=float(violation[counted].max(initial=0.0)),
        outside=int(np.count_nonzero(counted & ~on_street & (slack == 0.0))),
        on_street=int(np.count_nonzero(on_street)),
        inside=int(np.count_nonzero(counted & ~on_street & (slack > 0.0) & (slack < 1.0))),
        wrong=int(np.count_nonzero(counted & (slack >= 1.0))),
    )


def _longest_row(problem: LinearSVMProblem) -> float:
    points = problem.dataset.points
    return up(points.largest_norm * (1.0 + gamma(points.longest_row + 4)) + SMALLEST)


def _primal_at_most(problem: LinearSVMProblem, w: np.ndarray, b: float, margins: np.ndarray) -> float:
    length, terms = length_at_most(w), problem.dataset.points.longest_row + 4
    error = gamma(terms) * (_longest_row(problem) * length + abs(b)) + terms * SMALLEST
    losses = problem.prices * problem.loss.value(margins - error) * (1.0 + 8.0 * UNIT)
    return up(up(0.5 * up(length * length)) + sum_at_most(losses))


def _dual_at_least(problem: LinearSVMProblem, alpha: np.ndarray) -> float:
    points, signed = problem.dataset.points, alpha * problem.dataset.signs
    used = int(np.count_nonzero(alpha))
    total = sum_at_most(alpha)
    error = gamma(used + 4) * _longest_row(problem) * total
    length = up(length_at_most(points.combination(signed)) + error)
    gains = problem.loss.dual_value(alpha, problem.prices)
    at_least = float(gains.sum()) - gamma(alpha.size + 4) * float(np.abs(gains).sum() + total) * (1.0 + 2.0**-40)
    if problem.fit_intercept:
        at_least -= _price_of_imbalance(problem, alpha, signed, length)
    return down(at_least - up(0.5 * up(length * length)))


def _price_of_imbalance(problem: LinearSVMProblem, alpha: np.ndarray, signed: np.ndarray, length: float) -> float:
    """What it costs to make sum alpha_i y_i exactly zero: the heavier class is scaled by 1 - share.

    That takes at most this share of the class's gains, and moves w, of at most this length, by at most share R sum
    alpha.
    """
    imbalance = abs(math.fsum(signed)) * (1.0 + 4.0 * UNIT)
    heavier = max(float(alpha[signed > 0.0].sum()), float(alpha[signed < 0.0].sum()))
    if imbalance == 0.0 or heavier == 0.0:
        return 0.0
    share = imbalance / heavier * (1.0 + 2.0**-40)
    total = sum_at_most(alpha)
    gains = float(np.abs(problem.loss.dual_value(alpha, problem.prices)).sum())
    moved = share * _longest_row(problem) * total
    return up(share * (gains + total) * (1.0 + 2.0**-40) + moved * (length + moved))
