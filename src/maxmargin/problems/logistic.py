"""Logistic regression (theory D1), with a price on the length of the plane or without one."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from maxmargin.data import Points

# Newton steps for the intercept that balances the pulls; each one gains digits.
BALANCING_STEPS = 60
# Without a price on the length of w nothing is proven of planes that are longer than this, in lengths of the model.
REACH = 10.0


@dataclass(frozen=True)
class LogisticProblem:
    r"""A plane whose distance is the logarithm of the odds.

    .. math:: \min_{w, b} \tfrac12 \lVert w \rVert^2 + C \sum_i c_i \log(1 + e^{-y_i (w \cdot x_i + b)})

    or, with C = inf, the sum alone, as in the lecture. With p_i in [0, 1] and H(p) = -p log p - (1 - p) log(1 - p), the
    dual of a finite C is

    .. math:: \max_p\; C \sum_i c_i H(p_i) - \tfrac12 \Big\lVert C \sum_i c_i p_i y_i x_i \Big\rVert^2
              \quad\text{with}\quad \sum_i c_i p_i y_i = 0,

    and p_i is the probability that the model gives to the other class.

    Attributes
    ----------
    points : Points
    signs, weights : ndarray of shape (n,)
        A row of weight 2 is a row given twice.
    C : float
    fit_intercept : bool
        Without it b = 0, and the pulls need not balance.
    """

    points: Points
    signs: np.ndarray
    weights: np.ndarray
    C: float = math.inf
    fit_intercept: bool = True

    @property
    def price(self) -> float:
        """What the losses are multiplied by: C, or 1 where the length of w costs nothing."""
        return self.C if self.is_penalised else 1.0

    @property
    def is_penalised(self) -> bool:
        """Whether the length of w has a price."""
        return not math.isinf(self.C)

    @cached_property
    def typical_norm(self) -> float:
        """The root of the mean of ||x_i||², rows counted by their weights; with an intercept, of their distances from
        the mean row, since the intercept takes that up.
        """
        total = float(self.weights.sum())
        if total <= 0.0:
            return 0.0
        if not self.fit_intercept:
            return math.sqrt(float(self.weights @ self.points.squared_norms) / total)
        mean = self.points.combination(self.weights / total)
        return math.sqrt(float(self.weights @ self.points.squared_distances(mean)) / total)

    def losses(self, scores: np.ndarray) -> np.ndarray:
        """c_i log(1 + exp(-y_i f_i)), without overflow."""
        margins = self.signs * scores
        return self.weights * (np.log1p(np.exp(-np.abs(margins))) + np.maximum(-margins, 0.0))

    def others(self, scores: np.ndarray) -> np.ndarray:
        """p_i, the probability of the other class."""
        return sigmoid(-self.signs * scores)

    def balancing_intercept(self, scores: np.ndarray) -> float:
        """The intercept to add to the scores with which the loss is smallest: there the pulls of both sides balance."""

        def lean(b: float) -> tuple[float, float]:
            others = self.others(scores + b)
            pulls = self.weights * self.signs * others
            return float(pulls.sum()), float((self.weights * others * (1.0 - others)).sum())

        return balanced(lean, 0.0)


def sigmoid(scores: np.ndarray) -> np.ndarray:
    """1/(1 + exp(-f)), without overflow."""
    tail = np.exp(-np.abs(scores))
    return np.where(scores >= 0.0, 1.0, tail) / (1.0 + tail)


def balanced(lean: Callable[[float], tuple[float, float]], b: float) -> float:
    """The zero of a falling function by Newton steps, kept between the ends that are known.

    Parameters
    ----------
    lean : callable
        Returns the value at b, and its slope without the sign.
    b : float
        Where to begin.
    """
    low, high = -math.inf, math.inf
    for _ in range(BALANCING_STEPS):
        value, slope = lean(b)
        if value == 0.0:
            break
        low, high = (b, high) if value > 0.0 else (low, b)
        # Far out the slope vanishes, and the logarithm of the odds changes by more than one only in doubling steps.
        step = value / slope if slope > 0.0 else math.copysign(math.inf, value)
        longest = 1.0 + abs(b)
        new = b + min(max(step, -longest), longest)
        if not low < new < high:
            new = 0.5 * (low + high)
        if new == b or abs(step) <= 1e-15 * (1.0 + abs(b)):
            break
        b = new
    return b


def reach_of(length: float, typical_norm: float) -> float:
    """Up to which length of w a gap is stated where that has no price; a shorter plane hardly moves a score by one."""
    return REACH * length + (1.0 / typical_norm if typical_norm > 0.0 else 1.0)
