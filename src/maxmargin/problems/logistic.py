"""Logistic regression, with an L2 penalty or without one."""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from maxmargin.data import Points
from maxmargin.data.interruption import check_interruption
from maxmargin.problems.column_statistics import ColumnStatistics, column_statistics

# Newton steps for the intercept: convergence is quadratic, and far out the steps double.
MAX_INTERCEPT_STEPS = 60
# Without a penalty on w, gaps hold for coefficients up to this many times as long as those of the model.
RADIUS_FACTOR = 10.0


class LogisticLosses:
    """What problems with logistic losses share, of two classes or of several."""

    points: Points
    weights: np.ndarray
    C: float
    fit_intercept: bool

    @property
    def is_penalised(self) -> bool:
        """Whether the coefficients have the penalty ||w||²/2."""
        return not math.isinf(self.C)

    @property
    def loss_factor(self) -> float:
        """The factor on the losses: C, or 1 where the coefficients are not penalised."""
        return self.C if self.is_penalised else 1.0

    @cached_property
    def columns(self) -> ColumnStatistics:
        """Offsets and standard deviations of the columns."""
        return column_statistics(self.points, self.weights, self.fit_intercept)


@dataclass(frozen=True)
class LogisticProblem(LogisticLosses):
    r"""Logistic regression in primal and dual form: w·x + b is the logarithm of the odds.

    .. math:: \min_{w, b} \tfrac12 \lVert w \rVert^2 + C \sum_i c_i \log(1 + e^{-y_i (w \cdot x_i + b)})

    or, with C = inf, the sum of the losses alone, as in the lecture. With p_i in [0, 1] and
    H(p) = -p log p - (1 - p) log(1 - p), the dual of a finite C is

    .. math:: \max_p\; C \sum_i c_i H(p_i) - \tfrac12 \Big\lVert C \sum_i c_i p_i y_i x_i \Big\rVert^2
              \quad\text{with}\quad \sum_i c_i p_i y_i = 0,

    and p_i is the probability of the other class under the model.

    Attributes
    ----------
    points : Points
    signs, weights : ndarray of shape (n,)
        A row of weight 2 is a row given twice.
    C : float
    fit_intercept : bool
        Without it b = 0, and the dual has no equality constraint.
    """

    points: Points
    signs: np.ndarray
    weights: np.ndarray
    C: float = math.inf
    fit_intercept: bool = True

    def of_block(self, points: Points, signs: np.ndarray, weights: np.ndarray) -> "LogisticProblem":
        """The same losses and penalty on other rows."""
        return replace(self, points=points, signs=signs, weights=weights)

    def without_rows(self) -> "LogisticProblem":
        """The losses and the penalty alone."""
        return self.of_block(Points(np.empty((0, self.points.n_columns))), np.empty(0), np.empty(0))

    def losses(self, scores: np.ndarray) -> np.ndarray:
        """c_i log(1 + exp(-y_i f_i)), without overflow."""
        margins = self.signs * scores
        found: np.ndarray = self.weights * (np.log1p(np.exp(-np.abs(margins))) + np.maximum(-margins, 0.0))
        return found

    def others(self, scores: np.ndarray) -> np.ndarray:
        """p_i, the probability of the other class."""
        return sigmoid(-self.signs * scores)

    def best_intercept(self, scores: np.ndarray) -> float:
        """Compute the intercept to add to the scores at which the loss is smallest: there its derivative is zero."""

        def derivatives(b: float) -> tuple[float, float]:
            others = self.others(scores + b)
            first = self.weights * self.signs * others
            return float(first.sum()), float((self.weights * others * (1.0 - others)).sum())

        return falling_root(derivatives, 0.0)


def sigmoid(scores: np.ndarray) -> np.ndarray:
    """1/(1 + exp(-f)), without overflow."""
    tail = np.exp(-np.abs(scores))
    found: np.ndarray = np.where(scores >= 0.0, 1.0, tail) / (1.0 + tail)
    return found


def entropy(p: np.ndarray) -> np.ndarray:
    """-p log p - (1 - p) log(1 - p), zero at both ends."""
    inside = (p > 0.0) & (p < 1.0)
    safe = np.where(inside, p, 0.5)
    return np.where(inside, -safe * np.log(safe) - (1.0 - safe) * np.log1p(-safe), 0.0)


def falling_root(function: Callable[[float], tuple[float, float]], b: float, precision: float = 0.0) -> float:
    """Find the root of a falling function by Newton steps, safeguarded by the bracket that is known.

    Parameters
    ----------
    function : callable
        Returns the value at b, and the absolute value of the derivative.
    b : float
        The initial point.
    precision : float, default=0.0
        A step of less than this share of 1 + |b| is the last; by default one that rounding leaves.
    """
    low, high = -math.inf, math.inf
    for _ in range(MAX_INTERCEPT_STEPS):
        check_interruption()
        value, derivative = function(b)
        if value == 0.0:
            break
        low, high = (b, high) if value > 0.0 else (low, b)
        # Far out the derivative vanishes: steps are bounded, so that b at most about doubles.
        step = value / derivative if derivative > 0.0 else math.copysign(math.inf, value)
        longest = 1.0 + abs(b)
        new = b + min(max(step, -longest), longest)
        if not low < new < high:
            new = 0.5 * (low + high)
        if new == b or abs(step) <= 1e-15 * (1.0 + abs(b)):
            break
        b = new
        if abs(step) <= precision * (1.0 + abs(b)):
            break
    return b


def certified_radius(w: np.ndarray, deviations: np.ndarray) -> float:
    """The norm of w, in standardised columns, up to which a gap holds where w is not penalised.

    One is added because coefficients of norm one hardly change a score by more than one.
    """
    return RADIUS_FACTOR * float(np.linalg.norm(w * deviations)) + 1.0
