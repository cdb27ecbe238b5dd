"""How far a plane can be from the best one of logistic regression (theory D1)."""

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np
import scipy.sparse as sp

from maxmargin.certificates.base import Certificate, not_above
from maxmargin.certificates.duality_gap import cost_of_balance
from maxmargin.certificates.gap import Gap
from maxmargin.certificates.rounding import SMALLEST, UNIT, down, gamma, length_at_most, sum_at_least, sum_at_most, up
from maxmargin.certificates.row_lengths import longest_row_at_most
from maxmargin.problems.logistic import LogisticProblem, reach_of

# What exponentials, logarithms and the few operations around them are off by, relative to their results.
OF_FUNCTIONS = 2.0**-46
# The most scores that are computed in rational arithmetic.
MOST_EXACT = 20_000


@dataclass(frozen=True)
class LogisticGap(Gap):
    r"""Proves that no plane (or none up to a length) has an objective below ``dual``.

    With a finite C the probabilities of the other class, at the intercept that balances them, are a point of the dual.
    With C = inf weak duality bounds the planes up to a length: for every p with sum c_i p_i y_i = 0

    .. math:: \sum_i c_i \log(1 + e^{-y_i f(x_i)}) \ge \sum_i c_i H(p_i)
              - \lVert w \rVert \Big\lVert \sum_i c_i p_i y_i x_i \Big\rVert.

    Attributes
    ----------
    primal, dual : float
    reach : float
        The length of w up to which the bound holds; infinity where C is finite.
    margin : float
        With C = inf, a positive margin y f/||w|| of all points, if they have one: the loss then falls to zero along w
        and has no minimum. Else zero.
    freed : int
        With C = inf, how many points a plane that was found has on its right side, while it has none on the wrong one:
        along it the loss falls for ever. Zero where there is no such plane.
    """

    reach: float
    margin: float
    freed: int

    _rivals: ClassVar[str] = "no plane has"

    def __str__(self) -> str:
        if self.margin > 0.0:
            return (
                f"the plane separates the classes with a margin of at least {self.margin:.6g}: along it the loss, "
                f"{self.primal:.6g} here, falls to zero and has no minimum"
            )
        return super().__str__()

    def _more_to_say(self) -> str:
        if math.isinf(self.reach):
            return ""
        endless = f"; {self.freed} points are on the right side of a plane and none on its wrong one: no minimum"
        return f" among all planes up to the length {self.reach:.3g}{endless if self.freed else ''}"

    def check(self, proven: Certificate) -> None:
        """Raise CertificateError where a value is better than what the data prove."""
        super().check(proven)
        assert isinstance(proven, LogisticGap)
        self._refuse_unless(
            self.reach == proven.reach or not_above(self.reach, proven.reach, abs(proven.reach)),
            f"reach {self.reach!r} is more than {proven.reach!r}",
        )
        self._refuse_unless(
            not_above(self.margin, proven.margin, abs(proven.margin)),
            f"margin {self.margin!r} is more than {proven.margin!r}",
        )
        self._refuse_unless(
            self.freed <= proven.freed, f"freed {self.freed!r} is more than the {proven.freed!r} of the data"
        )


def measure_logistic_gap(
    problem: LogisticProblem, w: np.ndarray, b: float, separating: tuple[np.ndarray, float] | None = None
) -> LogisticGap:
    """State what a plane, and one that may have no point on its wrong side, prove about the problem."""
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        linear = problem.points.scores(w)
        length = length_at_most(w)
        error = _error_of_scores(problem, length, b)
        primal = _primal_at_most(problem, length, linear + b, error)
        reach = math.inf if problem.is_penalised else reach_of(length, problem.typical_norm)
        dual = _dual_at_least(problem, linear, reach)
        margin = 0.0 if problem.is_penalised else _margin_at_least(problem, length, linear + b, error)
        freed = 0 if problem.is_penalised or separating is None else _points_freed(problem, *separating)
    if math.isnan(primal) or (b != 0.0 and not problem.fit_intercept):
        # A plane with an intercept is none of those that were asked for.
        primal = math.inf
    # No loss is negative.
    return LogisticGap(primal, 0.0 if math.isnan(dual) else max(0.0, dual), reach, margin, freed)


def _error_of_scores(problem: LogisticProblem, length: float, b: float) -> float:
    terms = problem.points.longest_row + 4
    return gamma(terms) * (longest_row_at_most(problem.points) * length + abs(b)) + terms * SMALLEST


def _primal_at_most(problem: LogisticProblem, length: float, scores: np.ndarray, error: float) -> float:
    # The loss changes by no more than the score does.
    lost = sum_at_most(problem.losses(scores) * (1.0 + OF_FUNCTIONS) + SMALLEST)
    lost = up(lost + up(sum_at_most(problem.weights) * error))
    of_length = up(0.5 * up(length * length)) if problem.is_penalised else 0.0
    return up(of_length + up(problem.price * lost))


def _dual_at_least(problem: LogisticProblem, linear: np.ndarray, reach: float) -> float:
    if problem.fit_intercept:
        linear = linear + problem.balancing_intercept(linear)
    others = problem.others(linear)
    counts = problem.price * problem.weights
    gains = counts * entropy(others)
    # Never above what the entropies are in exact arithmetic.
    gained = sum_at_least(gains * (1.0 - OF_FUNCTIONS))
    pulls = counts * problem.signs * others
    total = sum_at_most(np.abs(pulls))
    radius = longest_row_at_most(problem.points)
    length = up(length_at_most(problem.points.combination(pulls)) + gamma(pulls.size + 4) * radius * total)
    if problem.fit_intercept:
        # The heavier side is scaled down: the entropy, concave and zero at zero, loses no more than that share.
        share, moved = cost_of_balance(pulls, radius, rounded=4.0 * UNIT * total)
        gained, length = gained - up(share * sum_at_most(gains) * (1.0 + OF_FUNCTIONS)), up(length + moved)
    if not problem.is_penalised:
        return down(gained - up(reach * length))
    return down(gained - up(0.5 * up(length * length)))


def entropy(p: np.ndarray) -> np.ndarray:
    """-p log p - (1 - p) log(1 - p), zero at both ends."""
    inside = (p > 0.0) & (p < 1.0)
    safe = np.where(inside, p, 0.5)
    return np.where(inside, -safe * np.log(safe) - (1.0 - safe) * np.log1p(-safe), 0.0)


def _margin_at_least(problem: LogisticProblem, length: float, scores: np.ndarray, error: float) -> float:
    margins = (problem.signs * scores)[problem.weights > 0.0]
    smallest = down(float(margins.min(initial=math.inf)) - error)
    return down(smallest / length) if 0.0 < smallest < math.inf and length > 0.0 else 0.0


def _points_freed(problem: LogisticProblem, w: np.ndarray, b: float) -> int:
    """How many points are on the right side of a plane that has none on its wrong side; zero where it has."""
    counted = np.flatnonzero(problem.weights > 0.0)
    scores = problem.points.scores(w) + b
    margins = (problem.signs * scores)[counted]
    error = _error_of_scores(problem, length_at_most(w), b)
    if (margins < -error).any():
        return 0
    near = counted[np.abs(margins) <= error]
    # A row of which the plane sees nothing is on it exactly.
    if b == 0.0:
        near = near[problem.points.shared_entries(w)[near] > 0.0]
    if near.size > MOST_EXACT:
        return 0
    exact = [problem.signs[row] * _exact_score(problem, row, w, b) for row in near]
    return (
        0 if any(margin < 0 for margin in exact) else int(np.count_nonzero(margins > error)) + sum(m > 0 for m in exact)
    )


def _exact_score(problem: LogisticProblem, row: int, w: np.ndarray, b: float) -> int:
    """The sign of a score in rational arithmetic."""
    values = problem.points.matrix[[row]]
    values = values.toarray().ravel() if sp.issparse(values) else values.ravel()
    used = np.flatnonzero((values != 0.0) & (w != 0.0))
    total = Fraction(b) + sum(Fraction(float(values[j])) * Fraction(float(w[j])) for j in used)
    return (total > 0) - (total < 0)
