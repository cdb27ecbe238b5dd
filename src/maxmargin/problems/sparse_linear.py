"""Linear classifiers with an L1 penalty: squared hinge or logistic losses, with an elastic net of penalties."""

import math
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from maxmargin.data import Centring, Points, centred
from maxmargin.problems.best_intercept import best_intercept
from maxmargin.problems.linear_svm import LinearSVMProblem, squared_hinge
from maxmargin.problems.logistic import LogisticProblem, entropy
from maxmargin.problems.squared_errors import SquaredErrors

# With a penalty on the squared norm, so many multiples of a dual point are compared.
N_MULTIPLES = 5


@dataclass(frozen=True)
class SparseLinearProblem:
    r"""A linear classifier with penalties on the 1-norm and the squared norm of w.

    .. math:: \min_{w, b} \lambda \lVert w \rVert_1 + \tfrac{\rho}{2} \lVert w \rVert^2
              + C \sum_i c_i \ell(y_i (w \cdot x_i + b))

    with the squared hinge :math:`\ell(m) = \max(0, 1 - m)^2` or the logistic loss :math:`\log(1 + e^{-m})`. Its dual,
    over signed duals beta with sum beta_i = 0 where the intercept is free, is

    .. math:: \max_\beta \sum_i d_i(\beta_i)
              - \frac{1}{2 \rho} \sum_j \max(0, \lvert (X^T \beta)_j \rvert - \lambda)^2

    where for rho = 0 the last sum is the constraint that every one of its terms is zero. The dual terms are
    ``|beta| - beta²/(4 C c)`` for the squared hinge, and C c H(p) for the logistic loss, with the entropy H of
    p = |beta|/(C c). They are strongly concave: ``modulus`` over C c is the least curvature of their negative.

    Attributes
    ----------
    losses : LinearSVMProblem or LogisticProblem
        The losses, the rows, and whether the intercept is free or zero. The penalty of this problem is not used.
    l1, l2 : float
        lambda, which is positive, and rho.
    """

    losses: LinearSVMProblem | LogisticProblem
    l1: float = 1.0
    l2: float = 0.0

    @classmethod
    def of(
        cls,
        points: Points,
        signs: np.ndarray,
        weights: np.ndarray,
        loss: str,
        C: float,
        *,
        fit_intercept: bool = True,
        l1: float = 1.0,
        l2: float = 0.0,
    ) -> "SparseLinearProblem":
        """The problem with the loss "squared_hinge" or "logistic"."""
        losses: LinearSVMProblem | LogisticProblem
        if loss == "logistic":
            losses = LogisticProblem(points, signs, weights, C, fit_intercept)
        else:
            losses = LinearSVMProblem(points, squared_hinge(signs, weights, C), 0.0 if fit_intercept else math.inf)
        return cls(losses, l1, l2)

    @property
    def points(self) -> Points:
        """The rows."""
        return self.losses.points

    @property
    def is_logistic(self) -> bool:
        """Whether the losses are logistic; else they are squared hinges."""
        return isinstance(self.losses, LogisticProblem)

    @property
    def signs(self) -> np.ndarray:
        """y_i"""
        return self.losses.signs if isinstance(self.losses, LogisticProblem) else self.losses.loss.targets

    @property
    def weights(self) -> np.ndarray:
        """c_i"""
        return self.losses.weights if isinstance(self.losses, LogisticProblem) else self.losses.loss.weights

    @property
    def C(self) -> float:  # noqa: N802
        """The factor on the losses."""
        return self.losses.C

    @property
    def fit_intercept(self) -> bool:
        """Whether the intercept is free; else it is zero."""
        losses = self.losses
        return losses.fit_intercept if isinstance(losses, LogisticProblem) else losses.has_intercept

    @property
    def modulus(self) -> float:
        """The least curvature of a row's negative dual term in beta, times C c_i."""
        return 4.0 if self.is_logistic else 0.5

    @cached_property
    def columns(self) -> SquaredErrors:
        """The columns with the weights C c_i of the rows: their means, squares and deviations."""
        return SquaredErrors(self.points, np.zeros(self.points.n_rows), self.C * self.weights, self.fit_intercept)

    @cached_property
    def centring(self) -> Centring:
        """The offsets of columns far from zero: w is the same without them, the intercept is not."""
        return centred(self.points, may_move=self.fit_intercept, weights=self.weights)

    @cached_property
    def centred(self) -> "SparseLinearProblem":
        """The same problem of points without these offsets; the intercept is that of the centring."""
        return self.with_points(self.centring.points)

    def with_points(self, points: Points) -> "SparseLinearProblem":
        """The same problem of other points."""
        return self if points is self.points else replace(self, losses=replace(self.losses, points=points))

    def of_rows(self, rows: slice, scale: float) -> "SparseLinearProblem":
        """The same problem of some of the rows, with the factor ``scale`` on C."""
        points, signs, weights = Points(self.points.matrix[rows]), self.signs[rows].copy(), self.weights[rows].copy()
        return replace(self, losses=self.losses.of_block(points, signs, weights)).with_factor(scale)

    def with_factor(self, scale: float) -> "SparseLinearProblem":
        """The same problem with the factor ``scale`` on C."""
        if isinstance(self.losses, LogisticProblem):
            return replace(self, losses=replace(self.losses, C=scale * self.C))
        return replace(self, losses=replace(self.losses, loss=squared_hinge(self.signs, self.weights, scale * self.C)))

    def penalty(self, w: np.ndarray) -> float:
        """The penalties of these coefficients."""
        return self.l1 * float(np.abs(w).sum()) + 0.5 * self.l2 * float(w @ w)

    def best_intercept(self, scores: np.ndarray) -> float:
        """The intercept to add to the scores at which the loss is smallest."""
        if isinstance(self.losses, LogisticProblem):
            return self.losses.best_intercept(scores)
        return best_intercept(self.losses, scores)

    def shares(self, scores: np.ndarray) -> np.ndarray:
        """|beta_i|/(C c_i) of every row: the negative derivative of its loss in the margin."""
        if isinstance(self.losses, LogisticProblem):
            return self.losses.others(scores)
        found: np.ndarray = 2.0 * np.maximum(0.0, 1.0 - self.signs * scores)
        return found

    def shares_of(self, beta: np.ndarray) -> np.ndarray:
        """|beta_i|/(C c_i) of signed duals, projected onto those that are possible."""
        counts = self.C * self.weights
        shares = np.divide(self.signs * beta, counts, out=np.zeros_like(counts), where=counts > 0.0)
        found: np.ndarray = np.clip(shares, 0.0, 1.0 if self.is_logistic else None)
        return found

    def duals(self, shares: np.ndarray) -> np.ndarray:
        """The signed duals beta_i = C c_i y_i p_i of these shares p_i."""
        found: np.ndarray = self.C * self.weights * self.signs * shares
        return found

    def dual_terms(self, shares: np.ndarray) -> float:
        """The sum of the dual terms, given |beta_i|/(C c_i)."""
        terms = entropy(shares) if self.is_logistic else shares * (1.0 - 0.25 * shares)
        return self.C * float(self.weights @ terms)

    def best_multiple(self, shares: np.ndarray, products: np.ndarray) -> float:
        """The multiple of a dual point that has the largest dual value, about; feasible where rho = 0.

        Parameters
        ----------
        shares : ndarray of shape (n,)
        products : ndarray of shape (d,)
            X^T beta.
        """
        largest = float(np.abs(products).max(initial=0.0))
        most = 1.0
        if not self.is_logistic:
            squares = float(self.weights @ np.square(shares))
            most = 2.0 * float(self.weights @ shares) / squares if squares > 0.0 else 1.0
        feasible = most if largest == 0.0 else min(most, self.l1 / largest)
        if self.l2 == 0.0 or feasible == most:
            return feasible
        # At the optimum, one is best.
        multiples = [1.0, *np.linspace(feasible, most, N_MULTIPLES)]
        return float(max(multiples, key=lambda s: self.dual_terms(s * shares) - self.excess(s * products)))

    def excess(self, products: np.ndarray) -> float:
        """sum_j max(0, |x_j·beta| - lambda)²/(2 rho), for rho > 0."""
        over = np.maximum(0.0, np.abs(products) - self.l1)
        return 0.5 * float(over @ over) / self.l2
