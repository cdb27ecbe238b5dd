"""Logistic regression (theory D1), with a price on the length of the plane or without one."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from maxmargin.data import Points
from maxmargin.problems.column_statistics import Columns, columns_of

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
    def loss_factor(self) -> float:
        """What the losses are multiplied by: C, or 1 where the length of w costs nothing."""
        return self.C if self.is_penalised else 1.0

    @property
    def is_penalised(self) -> bool:
        """Whether the length of w has a price."""
        return not math.isinf(self.C)

    @cached_property
    def columns(self) -> Columns:
        """Where the columns lie, and how much they vary."""
        return columns_of(self.points, self.weights, self.fit_intercept)

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


def reach_of(w: np.ndarray, spreads: np.ndarray) -> float:
    """Up to which length of w, in columns of unit spread, a gap is stated where that has no price.

    A plane of length one hardly moves a score by more than one.
    """
    return REACH * float(np.linalg.norm(w * spreads)) + 1.0
