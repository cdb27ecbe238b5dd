"""Multinomial logistic regression: one problem for all classes, with an L2 penalty or without one."""

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from maxmargin.data import Points
from maxmargin.data.interruption import check_interruption
from maxmargin.problems.logistic import LogisticLosses

# Newton steps for the intercepts: convergence is quadratic.
MAX_INTERCEPT_STEPS = 60
# A class whose rows have no weight gets this intercept: its probabilities are rounding errors.
INTERCEPT_WITHOUT_WEIGHT = -64.0


@dataclass(frozen=True)
class MultinomialProblem(LogisticLosses):
    r"""Multinomial logistic regression in primal and dual form: f_k(x) = w_k·x + b_k, probabilities by softmax.

    .. math:: \min_{W, b} \tfrac12 \lVert W \rVert_F^2
              + C \sum_i c_i \Big(\log \sum_k e^{f_k(x_i)} - f_{y_i}(x_i)\Big)

    or, with C = inf, the sum of the losses alone. With distributions p_i over the classes, their entropies
    H(p_i) = -sum_k p_ik log p_ik, and the unit vectors e of the rows' own classes, the dual of a finite C is

    .. math:: \max_p\; C \sum_i c_i H(p_i) - \tfrac12 \Big\lVert C \sum_i c_i (e_{y_i} - p_i) x_i^T \Big\rVert_F^2
              \quad\text{with}\quad \sum_i c_i (e_{y_i} - p_i) = 0.

    Without intercepts there is no equality constraint.

    Attributes
    ----------
    points : Points
    codes : ndarray of int of shape (n,)
    weights : ndarray of shape (n,)
        A row of weight 2 is a row given twice.
    n_classes : int
    C : float
    fit_intercept : bool
    """

    points: Points
    codes: np.ndarray
    weights: np.ndarray
    n_classes: int
    C: float = 1.0
    fit_intercept: bool = True

    @cached_property
    def class_weights(self) -> np.ndarray:
        """The weight of all rows of each class."""
        return np.bincount(self.codes, self.weights, self.n_classes)

    @cached_property
    def own(self) -> tuple[np.ndarray, np.ndarray]:
        """The index of every row's own class in an array of shape (n, n_classes)."""
        return np.arange(self.codes.size), self.codes

    def initial_intercepts(self) -> np.ndarray:
        """The intercepts that are optimal with W = 0: logarithms of the classes' shares."""
        if not self.fit_intercept:
            return np.zeros(self.n_classes)
        shares = self.class_weights / self.class_weights.sum()
        present = shares > 0.0
        found = np.full(self.n_classes, INTERCEPT_WITHOUT_WEIGHT)
        found[present] = np.log(shares[present])
        return found

    def best_intercepts(self, scores: np.ndarray, start: np.ndarray) -> np.ndarray:
        """Compute the intercepts to add to the scores at which the loss is smallest, by Newton steps from ``start``."""
        b, present = start.astype(np.float64), self.class_weights > 0.0
        total = float(self.weights.sum()) or 1.0
        best, least = b, math.inf
        for _ in range(MAX_INTERCEPT_STEPS):
            check_interruption()
            probabilities = softmax(scores + b)
            weighted = probabilities * self.weights[:, None]
            gradient = (weighted.sum(axis=0) - self.class_weights)[present]
            size = float(np.abs(gradient).max(initial=0.0))
            if not size < least:
                break
            best, least = b, size
            if size <= 1e-15 * total:
                break
            hessian = np.diag(weighted.sum(axis=0)[present])
            hessian -= weighted[:, present].T @ probabilities[:, present]
            # The same constant in all intercepts changes nothing.
            hessian += hessian.trace() / hessian.shape[0] ** 2
            step = np.linalg.lstsq(hessian, gradient, rcond=1e-14)[0]
            longest = float(np.abs(step).max(initial=0.0))
            b = b.copy()
            b[present] -= step * min(1.0, 2.0 / longest) if longest > 0.0 else 0.0
        return best


def softmax(scores: np.ndarray) -> np.ndarray:
    """exp(f_k) / sum_l exp(f_l) in every row, without overflow."""
    shares = np.exp(scores - scores.max(axis=1, keepdims=True))
    found: np.ndarray = shares / shares.sum(axis=1, keepdims=True)
    return found


def multinomial_losses(scores: np.ndarray, own: tuple[np.ndarray, np.ndarray]) -> np.ndarray:
    """log sum_k exp(f_k) - f_y of every row: a sum of two terms that are not negative, without cancellation."""
    largest = scores.argmax(axis=1)
    rows = own[0]
    heights = scores - scores[rows, largest][:, None]
    exponentials = np.exp(heights)
    exponentials[rows, largest] = 0.0
    found: np.ndarray = np.log1p(exponentials.sum(axis=1)) - heights[own]
    return found
