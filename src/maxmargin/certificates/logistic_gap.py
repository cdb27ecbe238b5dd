"""How far a plane can be from the best one of logistic regression (theory D1)."""

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar, NamedTuple

import numpy as np
import scipy.sparse as sp

from maxmargin.certificates.base import Certificate, not_above
from maxmargin.certificates.duality_gap import DualityGap
from maxmargin.certificates.rounding import SMALLEST, UNIT, down, gamma, length_at_most, sum_at_least, sum_at_most, up
from maxmargin.certificates.row_lengths import longest_row_at_most
from maxmargin.certificates.svm_gap import cost_of_balance
from maxmargin.problems.logistic import LogisticProblem, certified_radius, sigmoid

# What exponentials, logarithms and the few operations around them are off by, relative to their results.
OF_FUNCTIONS = 2.0**-46
# Rounding that is more than this share of the gap is bounded with more care.
ROUNDING_SHARE = 0.5
# Sizes of columns below this are roots of squares that may have lost digits.
SMALLEST_SIZE = 1e-140
# Probabilities below this are taken as zero.
NOTHING = 1e-190
# The most scores that are computed in rational arithmetic.
MOST_EXACT = 20_000


@dataclass(frozen=True)
class LogisticGap(DualityGap):
    r"""Proves that no plane (or none up to a length) has an objective below ``dual``.

    With a finite C the probabilities of the other class, at the intercept that balances them, are a point of the dual.
    With C = inf weak duality bounds the planes up to a length, in columns of unit spread: for every p with
    sum c_i p_i y_i = 0 and all s_j > 0

    .. math:: \sum_i c_i \log(1 + e^{-y_i f(x_i)}) \ge \sum_i c_i H(p_i)
              - \Big(\sum_j s_j^2 w_j^2\Big)^{1/2} \Big(\sum_j v_j^2 / s_j^2\Big)^{1/2},
              \quad v = \sum_i c_i p_i y_i x_i.

    Attributes
    ----------
    primal, dual : float
    reach : float
        The bound holds for all w with sum (s_j w_j)² up to the square of this, where s_j is the standard deviation of
        column j as ``LogisticProblem.columns`` computes it. It says nothing of longer planes. Infinity where C is
        finite.
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
        rivals = f" among all planes up to the length {self.reach:.3g} in columns of unit spread"
        endless = f"; {self.freed} points are on the right side of a plane and none on its wrong one: no minimum"
        return rivals + endless if self.freed else rivals

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


class _Bound(NamedTuple):
    """A bound, and how much of it is there for rounding errors alone."""

    value: float
    rounding: float


class _DualPoint(NamedTuple):
    """Pulls C c_i p_i y_i, and what is known of them where the heavier side is scaled down until they balance.

    ``total`` is the sum of their sizes, at most, ``share`` by how much the side shrinks, and ``gained`` what the
    entropies are then, at least.
    """

    pulls: np.ndarray
    total: float
    share: float
    gained: float


def measure_logistic_gap(
    problem: LogisticProblem, w: np.ndarray, b: float, separating: tuple[np.ndarray, float] | None = None
) -> LogisticGap:
    """State what a plane, and one that may have no point on its wrong side, prove about the problem."""
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        linear = problem.points.scores(w)
        reach = math.inf if problem.is_penalised else certified_radius(w, problem.columns.deviations)
        primal = _primal_at_most(problem, w, linear + b, _error_of_all_scores(problem, w, b))
        point = _dual_point(problem, linear)
        dual = _dual_by_rows(problem, point) if problem.is_penalised else _dual_by_columns(problem, point, reach)
        # A pass over all entries is worth it only where rounding is what the gap is made of.
        much = ROUNDING_SHARE * (primal.value - dual.value)
        if not primal.rounding <= much:
            primal = _primal_at_most(problem, w, linear + b, _errors_of_scores(problem, w, b))
        if problem.is_penalised and not dual.rounding <= much:
            dual = max(dual, _dual_by_columns(problem, point, reach))
        margin = 0.0 if problem.is_penalised else _margin_at_least(problem, w, b, linear + b)
        freed = 0 if problem.is_penalised or separating is None else _points_freed(problem, *separating)
    value = primal.value
    if math.isnan(value) or (b != 0.0 and not problem.fit_intercept):
        # A plane with an intercept is none of those that were asked for.
        value = math.inf
    # No loss is negative.
    return LogisticGap(value, 0.0 if math.isnan(dual.value) else max(0.0, dual.value), reach, margin, freed)


def _error_of_all_scores(problem: LogisticProblem, w: np.ndarray, b: float) -> float:
    """How far a score can be from what it is in exact arithmetic, from lengths alone."""
    terms = problem.points.longest_row + 4
    return gamma(terms) * (longest_row_at_most(problem.points) * length_at_most(w) + abs(b)) + terms * SMALLEST


def _errors_of_scores(problem: LogisticProblem, w: np.ndarray, b: float) -> np.ndarray:
    """The same of every row, from its entries: much less where columns have very different sizes."""
    terms = problem.points.longest_row + 4
    sizes = problem.points.absolute_scores(w) * (1.0 + 2.0 * gamma(terms)) + (abs(b) + terms * SMALLEST)
    return gamma(terms + 4) * sizes + terms * SMALLEST


def _primal_at_most(problem: LogisticProblem, w: np.ndarray, scores: np.ndarray, errors: np.ndarray | float) -> _Bound:
    lost = sum_at_most(problem.losses(scores) * (1.0 + OF_FUNCTIONS) + SMALLEST)
    # The loss is convex: it changes by no more than the score does times the steeper end's slope. That end is taken a
    # little further out, since it is rounded itself.
    slopes = sigmoid(2.0 * errors - problem.signs * scores) * (1.0 + OF_FUNCTIONS)
    rounding = sum_at_most(problem.weights * errors * slopes * (1.0 + 8.0 * UNIT) + SMALLEST)
    length = length_at_most(w)
    of_length = up(0.5 * up(length * length)) if problem.is_penalised else 0.0
    return _Bound(up(of_length + up(problem.loss_factor * up(lost + rounding))), problem.loss_factor * rounding)


def _dual_point(problem: LogisticProblem, linear: np.ndarray) -> _DualPoint:
    if problem.fit_intercept:
        # Scores far from zero would take the last digits from the intercept: it is found for those around their mean.
        linear = linear - float((problem.weights * linear).sum()) / (float(problem.weights.sum()) or 1.0)
        linear = linear + problem.best_intercept(linear)
    others = problem.others(linear)
    # Any probabilities will do: those whose products could underflow are taken as zero.
    others[others < NOTHING] = 0.0
    counts = problem.loss_factor * problem.weights
    gains = counts * entropy(others)
    # Never above what the entropies are in exact arithmetic.
    gained = sum_at_least(gains * (1.0 - OF_FUNCTIONS))
    pulls = counts * problem.signs * others
    total = sum_at_most(np.abs(pulls) * (1.0 + 4.0 * UNIT))
    if not problem.fit_intercept:
        return _DualPoint(pulls, total, 0.0, gained)
    # The heavier side is scaled down: the entropy, concave and zero at zero, loses no more than that share.
    share, _ = cost_of_balance(pulls, 0.0, rounded=4.0 * UNIT * total)
    lost = up(share * sum_at_most(gains) * (1.0 + OF_FUNCTIONS))
    return _DualPoint(pulls, total, share, down(gained - lost))


def _dual_by_rows(problem: LogisticProblem, point: _DualPoint) -> _Bound:
    """The dual's value for a finite C, where rounding is bounded by the length of the longest row."""
    length = length_at_most(problem.points.combination(point.pulls))
    radius = longest_row_at_most(problem.points)
    off = up(up(gamma(point.pulls.size + 4) + point.share) * up(radius * point.total))
    most = up(length + up(off + point.pulls.size * problem.points.n_columns * SMALLEST))
    return _Bound(down(point.gained - up(0.5 * up(most * most))), off * most)


def _dual_by_columns(problem: LogisticProblem, point: _DualPoint, reach: float) -> _Bound:
    """The same where rounding is bounded by the size of every column, seen from the mean row where that can be.

    The pulls balance, so that it makes no difference from where the rows are seen.
    """
    columns, n_rows = problem.columns, point.pulls.size
    pulled = np.abs(columns.combination(point.pulls))
    # No pull is more than C c_i, and a mean of sizes is no more than the root of the mean of their squares.
    most = up(problem.loss_factor * sum_at_most(problem.weights)) * (1.0 + 4.0 * gamma(n_rows + 16))
    off = up(gamma(n_rows + 8) + point.share) * most * columns.sizes * (1.0 + 8.0 * UNIT) + n_rows * SMALLEST
    # The squares of these may have lost digits to underflow.
    off = np.where(columns.sizes >= SMALLEST_SIZE, off, math.inf)
    entries = np.where(columns.constant, 0.0, (pulled + off) * (1.0 + 2.0 * UNIT))
    if problem.is_penalised:
        length = length_at_most(entries)
        return _Bound(down(point.gained - up(0.5 * up(length * length))), 0.0)
    entries = np.where(columns.constant, 0.0, entries / columns.deviations * (1.0 + 2.0 * UNIT))
    return _Bound(down(point.gained - up(reach * length_at_most(entries))), 0.0)


def entropy(p: np.ndarray) -> np.ndarray:
    """-p log p - (1 - p) log(1 - p), zero at both ends."""
    inside = (p > 0.0) & (p < 1.0)
    safe = np.where(inside, p, 0.5)
    return np.where(inside, -safe * np.log(safe) - (1.0 - safe) * np.log1p(-safe), 0.0)


def _margin_at_least(problem: LogisticProblem, w: np.ndarray, b: float, scores: np.ndarray) -> float:
    counted = problem.weights > 0.0
    margins = (problem.signs * scores)[counted]
    length = length_at_most(w)
    if length == 0.0 or not margins.min(initial=math.inf) > 0.0:
        return 0.0
    smallest = down(float((margins - _errors_of_scores(problem, w, b)[counted]).min(initial=math.inf)))
    return down(smallest / length) if 0.0 < smallest < math.inf else 0.0


def _points_freed(problem: LogisticProblem, w: np.ndarray, b: float) -> int:
    """How many points are on the right side of a plane that has none on its wrong side; zero where it has."""
    if not (np.isfinite(w).all() and math.isfinite(b)):
        return 0
    counted = np.flatnonzero(problem.weights > 0.0)
    margins = (problem.signs * (problem.points.scores(w) + b))[counted]
    errors = _errors_of_scores(problem, w, b)[counted]
    if (margins < -errors).any():
        return 0
    near = counted[np.abs(margins) <= errors]
    # A row of which the plane sees nothing is on it exactly.
    if b == 0.0:
        near = near[problem.points.shared_entries(w)[near] > 0.0]
    if near.size > MOST_EXACT:
        return 0
    exact = [problem.signs[row] * _exact_score(problem, row, w, b) for row in near]
    if any(margin < 0 for margin in exact):
        return 0
    return int(np.count_nonzero(margins > errors)) + sum(margin > 0 for margin in exact)


def _exact_score(problem: LogisticProblem, row: int, w: np.ndarray, b: float) -> int:
    """The sign of a score in rational arithmetic."""
    values = problem.points.matrix[[row]]
    values = values.toarray().ravel() if sp.issparse(values) else values.ravel()
    used = np.flatnonzero((values != 0.0) & (w != 0.0))
    total = Fraction(b) + sum(Fraction(float(values[j])) * Fraction(float(w[j])) for j in used)
    return (total > 0) - (total < 0)
