"""The multiclass support vector machine of Crammer and Singer: one problem for all classes.

Duals are flows between classes: row i has B_im <= 0 for every class m that is not its own, at most C c_i in all, and
B_iy = -sum of the others for its own.

K. Crammer, Y. Singer, "On the algorithmic implementation of multiclass kernel-based vector machines", JMLR 2, 2001.
"""

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from maxmargin.data import Points
from maxmargin.problems.dual_projection import balancing_shares
from maxmargin.problems.linear_svm import PenalizedIntercept


@dataclass(frozen=True)
class CrammerSingerProblem(PenalizedIntercept):
    r"""L2-regularised joint multiclass hinge loss.

    .. math:: \min_{w, b} \tfrac12 \sum_m \lVert w_m \rVert^2 + \tfrac\rho2 \sum_m b_m^2
              + C \sum_i c_i \max_m \big([m \ne y_i] + f_m(x_i) - f_{y_i}(x_i)\big)

    with its dual

    .. math:: \max_B \sum_i B_{i y_i} - \tfrac12 \sum_m \Big\lVert \sum_i B_{im} x_i \Big\rVert^2
              - \frac1{2\rho} \sum_m \Big(\sum_i B_{im}\Big)^2

    over B_im <= 0 for m ≠ y_i, B_iy <= C c_i, sum_m B_im = 0. Unpenalised intercepts, rho = 0, ask for sum_i B_im = 0.

    Attributes
    ----------
    points : Points
    codes : ndarray of int
        The class of each row, from 0 on.
    weights : ndarray of shape (n,)
        They multiply C, row by row: a row of weight 2 is a row given twice.
    n_classes : int
    C : float
    intercept_penalty : float
        rho. Zero leaves the intercepts free, infinity holds them at zero.
    """

    points: Points
    codes: np.ndarray
    weights: np.ndarray
    n_classes: int
    C: float
    intercept_penalty: float = 0.0

    @property
    def own(self) -> tuple[np.ndarray, np.ndarray]:
        """Where in an array of shape (n, n_classes) each row's own class is."""
        return np.arange(self.codes.size), self.codes

    def box_bounds(self) -> np.ndarray:
        """C c_i, the upper bound of B_iy."""
        return self.C * self.weights

    def scores(self, W: np.ndarray, b: np.ndarray) -> np.ndarray:
        """f_m(x_i), of shape (n, n_classes), for coefficients of shape (n_classes, d)."""
        found: np.ndarray = self.points.scores(W.T) + b
        return found

    def slack(self, scores: np.ndarray, error: float = 0.0) -> np.ndarray:
        """The slack of each row: xi_i = max(0, 1 + f_m(x_i) - f_y(x_i)).

        With ``error``, at most, where differences of scores are known only up to it.
        """
        others = scores.copy()
        others[self.own] = -np.inf
        found: np.ndarray = np.maximum(1.0 + others.max(axis=1) - scores[self.own] + error, 0.0)
        return found

    def losses(self, scores: np.ndarray) -> np.ndarray:
        """The loss of each row."""
        found: np.ndarray = self.box_bounds() * self.slack(scores)
        return found

    def primal_value(self, W: np.ndarray, b: np.ndarray, scores: np.ndarray) -> float:
        """The primal objective, given the scores."""
        of_intercepts = 0.5 * self.intercept_penalty * float(np.square(b).sum()) if b.any() else 0.0
        return 0.5 * float(np.vdot(W, W)) + of_intercepts + float(self.losses(scores).sum())

    def coefficients(self, B: np.ndarray) -> np.ndarray:
        """w_m = sum_i B_im x_i, of shape (n_classes, d)."""
        return np.stack([self.points.combination(of_class) for of_class in B.T])

    def dual_terms(self, B: np.ndarray) -> np.ndarray:
        """The terms of the dual objective that belong to single rows, B_iy."""
        found: np.ndarray = B[self.own]
        return found

    def dual_value(self, B: np.ndarray, W: np.ndarray) -> float:
        """The dual objective at a feasible point, given its coefficients."""
        value = float(self.dual_terms(B).sum()) - 0.5 * float(np.vdot(W, W))
        if self.has_intercept and not self.has_free_intercept:
            value -= 0.5 * float(np.square(B.sum(axis=0)).sum()) / self.intercept_penalty
        return value

    def feasible(self, B: np.ndarray) -> np.ndarray:
        """Project duals onto the feasible set: rows into their box and, with free intercepts, classes balanced.

        The own classes' duals are not read. They come back as the rounded sums of what the rows give; the exact sums
        are within the limits, too.
        """
        B = np.minimum(B, 0.0)
        B[self.own] = 0.0
        given = -B.sum(axis=1)
        most = self.box_bounds() * (1.0 - 2.0 * (self.n_classes + 4) * np.finfo(np.float64).eps)
        # In the subnormal range every rounding counts by its absolute size.
        most = np.maximum(0.0, most - (self.n_classes + 4) * np.finfo(np.float64).smallest_subnormal)
        B *= np.divide(most, given, out=np.ones_like(given), where=given > most)[:, None]
        if self.has_free_intercept:
            B *= balancing_shares(self.flows(B))[self.codes]
        B[self.own] = -B.sum(axis=1)
        return B

    def flows(self, B: np.ndarray) -> np.ndarray:
        """What the rows of each class give to each other class, of shape (n_classes, n_classes)."""
        n_rows = self.codes.size
        rows_of_class = sp.csr_array((np.ones(n_rows), self.codes, np.arange(n_rows + 1)), (n_rows, self.n_classes))
        flows = -np.asarray(rows_of_class.T @ B)
        np.fill_diagonal(flows, 0.0)
        return flows
