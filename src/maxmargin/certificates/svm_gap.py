"""How far a support vector machine's plane can be from the best one (theory B7)."""

import math
from dataclasses import dataclass, fields
from typing import ClassVar

import numpy as np

from maxmargin.certificates.base import Certificate
from maxmargin.certificates.duality_gap import DualityGap
from maxmargin.certificates.rounding import SMALLEST, UNIT, down, gamma, length_at_most, sum_at_most, up
from maxmargin.certificates.row_lengths import longest_row_at_most
from maxmargin.problems.linear_svm import LinearSVMProblem, sums_of_sides

# A dual this near to an end of its box, relative to the box, counts as being there.
AT_BOUND = 1e-9
# A point this near to an edge of the street or the tube counts as being on it.
ON_EDGE = 1e-6


@dataclass(frozen=True)
class SVMGap(DualityGap):
    r"""Proves that no plane has an objective below ``dual``, while the model's has at most ``primal``.

    .. math:: \text{dual} \le \text{optimum} \le \text{value of the model} \le \text{primal}

    The model's duals are put into their box, and with a free intercept the heavier side is scaled so that
    sum alpha_i y_i = 0; ``primal`` is rounded up and ``dual`` down.

    Attributes
    ----------
    primal, dual : float
    kkt_violation : float
        The largest violation of the KKT conditions (theory B6): of y f >= 1 where alpha = 0, of y f = 1 where alpha is
        free, of y f <= 1 where alpha is at its upper end.
    """

    kkt_violation: float

    _rivals: ClassVar[str] = "no plane has"
    _kinds_of_points: ClassVar[dict[str, str]] = {}

    def _more_to_say(self) -> str:
        points = "".join(f", {getattr(self, name)} {where}" for name, where in self._kinds_of_points.items())
        return points and "; points: " + points[2:]

    def check(self, proven: Certificate) -> None:
        """Raise CertificateError where a value is better than what the data prove."""
        super().check(proven)
        assert isinstance(proven, SVMGap)
        self._refuse_unless(
            math.isclose(self.kkt_violation, proven.kkt_violation, rel_tol=1e-6, abs_tol=1e-9),
            f"kkt_violation {self.kkt_violation!r} is not {proven.kkt_violation!r}",
        )
        counts = [field.name for field in fields(self) if field.type is int]
        self._refuse_unless(
            all(getattr(self, name) == getattr(proven, name) for name in counts), "the counts of points are others"
        )


@dataclass(frozen=True)
class ClassificationGap(SVMGap):
    """The gap of a classifier, and where the points lie (theory B6).

    Attributes
    ----------
    outside, on_street, inside, wrong : int
        Points beyond the street's edge (xi = 0, alpha = 0); on the edge; in the street (0 < xi < 1); on the wrong side
        of the plane (xi >= 1).
    """

    outside: int
    on_street: int
    inside: int
    wrong: int

    _kinds_of_points: ClassVar[dict[str, str]] = {
        "outside": "outside the street",
        "on_street": "on its edge",
        "inside": "in it",
        "wrong": "on the wrong side",
    }


@dataclass(frozen=True)
class RegressionGap(SVMGap):
    """The gap of a regression, and where the points lie.

    Attributes
    ----------
    within, on_edge, beyond : int
        Points in the tube |y - f| < epsilon; on its edge; beyond it.
    """

    within: int
    on_edge: int
    beyond: int

    _kinds_of_points: ClassVar[dict[str, str]] = {
        "within": "in the tube",
        "on_edge": "on its edge",
        "beyond": "beyond it",
    }


def measure_gap(problem: LinearSVMProblem, w: np.ndarray, b: float, beta: np.ndarray) -> SVMGap:
    """State what a plane and duals prove about the problem."""
    beta = problem.feasible(beta)
    with np.errstate(over="ignore", invalid="ignore"):
        scores = problem.scores(w, b)
        primal = _primal_at_most(problem, w, b, scores)
        dual = _dual_at_least(problem, beta)
    return stated_gap(problem, primal, dual, scores, beta)


def stated_gap(problem: LinearSVMProblem, primal: float, dual: float, scores: np.ndarray, beta: np.ndarray) -> SVMGap:
    """Two values, with what the scores and the duals say of the points."""
    kkt_violation = 0.0
    n_outside = n_edge = n_wrong = n_counted = 0
    for rows, part in problem.parts():
        kkt_violation = max(kkt_violation, _kkt_violation(part, scores[rows], beta[rows]))
        excess = _excess(part, scores[rows])
        on_edge = np.abs(excess) <= ON_EDGE
        n_counted += excess.size
        n_edge += int(np.count_nonzero(on_edge))
        n_outside += int(np.count_nonzero(~on_edge & (excess < 0.0)))
        n_wrong += int(np.count_nonzero(excess >= 1.0))
    values = (
        math.inf if math.isnan(primal) else primal,
        -math.inf if math.isnan(dual) else dual,
        kkt_violation,
    )
    if not problem.loss.one_sided:
        return RegressionGap(*values, within=n_outside, on_edge=n_edge, beyond=n_counted - n_outside - n_edge)
    n_inside = n_counted - n_outside - n_edge - n_wrong
    return ClassificationGap(*values, outside=n_outside, on_street=n_edge, inside=n_inside, wrong=n_wrong)


def _excess(problem: LinearSVMProblem, scores: np.ndarray) -> np.ndarray:
    """How far the rows that count are beyond the edge of street or tube."""
    loss = problem.loss
    counted = loss.weights > 0.0
    residuals = loss.targets[counted] - scores[counted]
    return (residuals * loss.targets[counted] if loss.one_sided else np.abs(residuals)) - loss.epsilon


def _kkt_violation(problem: LinearSVMProblem, scores: np.ndarray, beta: np.ndarray) -> float:
    """The largest distance of a residual from where its dual says that it should be."""
    loss = problem.loss
    excess = loss.targets - scores - problem.curvatures() * beta
    at_least = np.where(problem.counts_above, loss.epsilon, np.inf)
    at_most = np.where(problem.counts_below, -loss.epsilon, -np.inf)
    # A dual may rise where the residual exceeds epsilon, and fall where it is below; one at an end only the other way.
    near = AT_BOUND * np.where(loss.weights > 0.0, loss.weights, 1.0)
    near *= loss.box_bound if math.isfinite(loss.box_bound) else 0.5 / loss.curvature
    rise = np.where(beta < -near, at_most, at_least)
    fall = np.where(beta > near, at_least, at_most)
    may_rise = np.where(beta >= problem.uppers() - near, 0.0, np.maximum(0.0, excess - rise))
    may_fall = np.where(beta <= problem.lowers() + near, 0.0, np.maximum(0.0, fall - excess))
    return float(np.maximum(may_rise, may_fall)[loss.weights > 0.0].max(initial=0.0))


def _primal_at_most(problem: LinearSVMProblem, w: np.ndarray, b: float, scores: np.ndarray) -> float:
    length, terms = length_at_most(w), problem.points.longest_row + 4
    error = gamma(terms) * (longest_row_at_most(problem.points) * length + abs(b)) + terms * SMALLEST
    # The residual is rounded, too; for the signs of a classifier that is within the terms counted above.
    error += UNIT * float(np.abs(problem.loss.targets).max(initial=0.0))
    lost = losses_at_most(problem, scores, error)
    of_intercept = up(up(0.5 * problem.intercept_penalty * up(b * b))) if b != 0.0 else 0.0
    return up(up(up(0.5 * up(length * length)) + of_intercept) + lost)


def losses_at_most(problem: LinearSVMProblem, scores: np.ndarray, error: float) -> float:
    """What all rows lose, where scores are known up to ``error``."""
    lost = 0.0
    for rows, part in problem.parts():
        lost = up(lost + sum_at_most(part.losses(scores[rows], error) * (1.0 + 8.0 * UNIT)))
    return lost


def _dual_at_least(problem: LinearSVMProblem, beta: np.ndarray) -> float:
    used = int(np.count_nonzero(beta))
    total = sum_at_most(np.abs(beta))
    error = gamma(used + 4) * longest_row_at_most(problem.points) * total
    length = up(length_at_most(problem.points.combination(beta)) + error)
    at_least, sizes = dual_terms_at_least(problem, beta)
    if problem.balanced:
        at_least -= price_of_imbalance(beta, length, sizes, longest_row_at_most(problem.points))
    elif problem.has_intercept:
        total_beta = abs(math.fsum(beta[beta != 0.0])) * (1.0 + 4.0 * UNIT)
        at_least -= up(up(0.5 * up(total_beta * total_beta)) / problem.intercept_penalty) * (1.0 + 4.0 * UNIT)
    return down(at_least - up(0.5 * up(length * length)))


def dual_terms_at_least(problem: LinearSVMProblem, beta: np.ndarray) -> tuple[float, float]:
    """What the duals gain before the squares, and the sum of the absolute values of its terms, at most."""
    gains, sizes = 0.0, 0.0
    for rows, part in problem.parts():
        gains += float(part.dual_terms(beta[rows]).sum())
        sizes = up(sizes + _sizes_of_dual_terms(part, beta[rows]))
    return gains - gamma(beta.size + 8) * sizes, sizes


def _sizes_of_dual_terms(problem: LinearSVMProblem, beta: np.ndarray) -> float:
    """The sum of the absolute values of all terms of the gains, at most: what their rounding error is relative to."""
    loss, sizes = problem.loss, np.abs(beta)
    terms = sizes * (np.abs(loss.targets) + loss.epsilon)
    if loss.curvature > 0.0:
        terms += 0.5 * problem.curvatures() * np.square(beta)
    return sum_at_most(terms) * (1.0 + 2.0**-40)


def price_of_imbalance(beta: np.ndarray, length: float, sizes: float, radius: float) -> float:
    """What it costs to make sum beta_i exactly zero: the heavier side is scaled by 1 - share.

    That takes at most this share of the sizes of the gains, and moves w, of at most this length, by at most share R
    sum|beta|.
    """
    share, moved = cost_of_balance(beta, radius)
    if share == 0.0:
        return 0.0
    return up(share * sizes * (1.0 + 2.0**-40) + moved * (length + moved))


def cost_of_balance(beta: np.ndarray, radius: float, rounded: float = 0.0) -> tuple[float, float]:
    """The share by which the heavier side has to shrink so that the sum is exactly zero, and how far w moves then.

    ``rounded`` bounds what the sum is off by, where the duals themselves are rounded.
    """
    imbalance = abs(math.fsum(beta[beta != 0.0])) * (1.0 + 4.0 * UNIT) + rounded
    heavier = max(sums_of_sides(beta))
    if imbalance == 0.0 or heavier == 0.0:
        return 0.0, 0.0
    share = imbalance / heavier * (1.0 + 2.0**-40)
    return share, share * radius * sum_at_most(np.abs(beta))
