"""Multinomial logistic regression with an L1 penalty, or an elastic net of penalties."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from maxmargin.data import Points
from maxmargin.problems.multinomial import MultinomialProblem
from maxmargin.problems.squared_errors import SquaredErrors

# The least curvature of the negative entropies in the probabilities of one class, times C c_i: by Pinsker's inequality
# they are 1-strongly convex in the 1-norm, which is at least twice the change of one probability.
MODULUS = 4.0


@dataclass(frozen=True)
class SparseMultinomialProblem:
    r"""Multinomial logistic regression with penalties on the 1-norm and the squared norm of all coefficients.

    .. math:: \min_{W, b} \lambda \lVert W \rVert_1 + \tfrac{\rho}{2} \lVert W \rVert_F^2
              + C \sum_i c_i \Big(\log \sum_k e^{f_k(x_i)} - f_{y_i}(x_i)\Big)

    With distributions p_i over the classes, their entropies H(p_i), and G = C sum_i c_i (e_{y_i} - p_i) x_i^T, its dual
    is

    .. math:: \max_p\; C \sum_i c_i H(p_i) - \frac{1}{2 \rho} \sum_{kj} \max(0, \lvert G_{kj} \rvert - \lambda)^2
              \quad\text{with}\quad \sum_i c_i (e_{y_i} - p_i) = 0,

    where for rho = 0 every term of the second sum has to be zero, and there is no equality constraint without
    intercepts. The mixture s p_i + (1 - s) e_{y_i} has s G in place of G, and at least s H(p_i).

    Attributes
    ----------
    losses : MultinomialProblem
        The losses and the rows; its penalty is not used.
    l1, l2 : float
        lambda, which is positive, and rho.
    """

    losses: MultinomialProblem
    l1: float = 1.0
    l2: float = 0.0

    @property
    def points(self) -> Points:
        """The rows."""
        return self.losses.points

    @cached_property
    def columns(self) -> SquaredErrors:
        """The columns with the weights C c_i of the rows: their means, squares and deviations."""
        losses = self.losses
        zeros = np.zeros(self.points.n_rows)
        return SquaredErrors(self.points, zeros, losses.C * losses.weights, losses.fit_intercept)

    def penalty(self, W: np.ndarray) -> float:
        """The penalties of these coefficients."""
        return self.l1 * float(np.abs(W).sum()) + 0.5 * self.l2 * float(np.square(W).sum())

    def best_shifts(self, W: np.ndarray) -> np.ndarray:
        """The number for each column whose subtraction from its coefficients of all classes costs least.

        It changes no probability. The minimiser of sum_k lambda |w_k - c| + rho (w_k - c)²/2 is the median of all w_k
        and mean_k w_k + (K - 2 m) lambda / (K rho) for m = 0, ..., K; with rho = 0 it is a median of the w_k, here the
        one nearest zero (Friedman, Hastie, Tibshirani, "Regularization paths for generalized linear models via
        coordinate descent", 2010, section 4.1).
        """
        derivatives = self.l1 * np.sign(W).sum(axis=0) + self.l2 * W.sum(axis=0)
        moved = np.flatnonzero(np.abs(derivatives) > self.l1 * np.count_nonzero(W == 0.0, axis=0))
        columns, n_classes, shifts = W[:, moved], len(W), np.zeros(W.shape[1])
        if self.l2 > 0.0:
            multiples = np.arange(n_classes, -n_classes - 1, -2)[:, None] / n_classes
            ends = columns.mean(axis=0) + multiples * (self.l1 / self.l2)
            shifts[moved] = np.median(np.vstack([columns, ends]), axis=0)
        else:
            ordered = np.sort(columns, axis=0)
            shifts[moved] = np.clip(0.0, ordered[(n_classes - 1) // 2], ordered[n_classes // 2])
        return shifts

    def dual_value(self, entropies: float, products: np.ndarray) -> tuple[float, float]:
        """The factor s and the dual value, given C sum_i c_i H(p_i) and upper bounds on the sizes of G."""
        largest = float(products.max(initial=0.0))
        factor = 1.0 if largest <= self.l1 else self.l1 / largest
        value = factor * entropies
        if self.l2 > 0.0 and factor < 1.0:
            other = entropies - 0.5 * float(np.square(np.maximum(0.0, products - self.l1)).sum()) / self.l2
            if other > value:
                factor, value = 1.0, other
        return factor, max(0.0, value)
