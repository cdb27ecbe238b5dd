"""The soft-margin problem of the linear support vector machine, and its dual (theory B2, B5)."""

from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np

from maxmargin.data import Dataset


class MarginLoss(Protocol):
    """A convex loss of the functional margin m = y f(x), with what its dual needs.

    The dual of C loss(m) is -conjugate(alpha) on 0 <= alpha <= largest_dual(C).
    """

    def value(self, margins: np.ndarray) -> np.ndarray:
        """loss(m)"""

    def largest_dual(self, C: np.ndarray) -> np.ndarray:
        """The upper end of the box in which duals live."""

    def dual_value(self, alpha: np.ndarray, C: np.ndarray) -> np.ndarray:
        """What each dual adds to the dual's value, before -1/2||w||²."""

    def proximal_shape(self, sigmas: np.ndarray, C: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return ends and factors of the dual's proximal step.

        With v = a + sigmas (1 - m), factors · clip(v, 0, ends) is the alpha that maximises
        dual_value(alpha) - alpha m - (alpha - a)²/(2 sigmas).
        """


@dataclass(frozen=True)
class Hinge:
    """loss(m) = max(0, 1 - m); duals in [0, C], each adding alpha"""

    def value(self, margins: np.ndarray) -> np.ndarray:
        return np.maximum(0.0, 1.0 - margins)

    def largest_dual(self, C: np.ndarray) -> np.ndarray:
        return C

    def dual_value(self, alpha: np.ndarray, C: np.ndarray) -> np.ndarray:
        return alpha

    def proximal_shape(self, sigmas: np.ndarray, C: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return C, np.ones_like(C)


@dataclass(frozen=True)
class SquaredHinge:
    """loss(m) = max(0, 1 - m)²; duals in [0, inf), each adding alpha - alpha²/(4C)"""

    def value(self, margins: np.ndarray) -> np.ndarray:
        return np.square(np.maximum(0.0, 1.0 - margins))

    def largest_dual(self, C: np.ndarray) -> np.ndarray:
        return np.where(C > 0.0, np.inf, 0.0)

    def dual_value(self, alpha: np.ndarray, C: np.ndarray) -> np.ndarray:
        quadratic = np.divide(np.square(alpha), 4.0 * C, out=np.zeros_like(alpha), where=C > 0.0)
        return alpha - quadratic

    def proximal_shape(self, sigmas: np.ndarray, C: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return self.largest_dual(C), np.divide(2.0 * C, 2.0 * C + sigmas, out=np.zeros_like(C), where=C > 0.0)


LOSSES: dict[str, MarginLoss] = {"hinge": Hinge(), "squared_hinge": SquaredHinge()}


@dataclass(frozen=True)
class LinearSVMProblem:
    r"""The soft margin: a wide street, few points in it.

    .. math:: \min_{w, b} \tfrac12 \lVert w \rVert^2 + \sum_i C_i\, \ell(y_i (w \cdot x_i + b))

    The intercept b is not penalised. The dual is

    .. math:: \max_\alpha \sum_i d_i(\alpha_i) - \tfrac12 \Big\lVert \sum_i \alpha_i y_i x_i \Big\rVert^2,
              \quad \sum_i \alpha_i y_i = 0

    with alpha in the loss's box, and without the equation where there is no intercept.

    Attributes
    ----------
    dataset : Dataset
        Weights multiply C, row by row: a row of weight 2 is a row given twice.
    loss : MarginLoss
    C : float
    fit_intercept : bool
    """

    dataset: Dataset
    loss: MarginLoss
    C: float = 1.0
    fit_intercept: bool = True

    @cached_property
    def prices(self) -> np.ndarray:
        """C times the weight of each row."""
        weights = self.dataset.weights
        return np.full(self.dataset.points.n_rows, self.C) if weights is None else self.C * weights

    def margins(self, w: np.ndarray, b: float) -> np.ndarray:
        """y_i f(x_i)"""
        return self.dataset.signs * (self.dataset.points.scores(w) + b)

    def primal_value(self, w: np.ndarray, margins: np.ndarray) -> float:
        """The primal's value, given the margins of the plane."""
        return 0.5 * float(np.square(w).sum()) + float((self.prices * self.loss.value(margins)).sum())

    def dual_value(self, alpha: np.ndarray, w: np.ndarray) -> float:
        """The dual's value at a feasible point, given w = sum alpha_i y_i x_i."""
        return float(self.loss.dual_value(alpha, self.prices).sum()) - 0.5 * float(np.square(w).sum())

    def feasible(self, alpha: np.ndarray) -> np.ndarray:
        """Put duals into the box and, with an intercept, scale the heavier class so that sum alpha_i y_i = 0."""
        alpha = np.clip(alpha, 0.0, self.loss.largest_dual(self.prices))
        if not self.fit_intercept:
            return alpha
        positive = self.dataset.signs > 0.0
        heavy, light = float(alpha[positive].sum()), float(alpha[~positive].sum())
        if heavy < light:
            heavy, light, positive = light, heavy, ~positive
        return np.where(positive, alpha * (light / heavy), alpha) if heavy > light else alpha
