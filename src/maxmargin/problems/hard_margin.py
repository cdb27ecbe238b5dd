"""The hard margin problem, and its dual: the nearest points of two convex hulls."""

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from maxmargin.data import Dataset, Points
from maxmargin.problems.linear_svm import LinearSVMProblem, SVMLoss


@dataclass(frozen=True)
class HardMarginProblem:
    r"""The hyperplane with the largest margin.

    .. math:: \min_{w, b} \tfrac12 \lVert w \rVert^2 \quad\text{with}\quad y_i (w \cdot x_i + b) \ge 1, \qquad
              \gamma_{opt} = \frac1{\lVert w \rVert}

    Its dual, up to scale, is the shortest distance between the convex hulls of the two classes:

    .. math:: 2 \gamma_{opt} = \min \Big\lVert \sum_{y_i = 1} c_i x_i - \sum_{y_i = -1} c_i x_i \Big\rVert, \quad
              c \ge 0, \quad \sum_{y_i = 1} c_i = \sum_{y_i = -1} c_i = 1

    Through the origin it is the shortest point of the hull of the y_i x_i, of length gamma_opt.

    Attributes
    ----------
    dataset : Dataset
        Rows of weight zero do not count; all others count the same.
    fit_intercept : bool
    numbers : ndarray of object of shape (n, d), or None
        The user's own numbers as fractions, where float64 rounds them: exact decisions are about these.
    """

    dataset: Dataset
    fit_intercept: bool = True
    numbers: np.ndarray | None = None

    @property
    def points(self) -> Points:
        """The rows."""
        return self.dataset.points

    @cached_property
    def counted(self) -> np.ndarray:
        """One for the rows that count, zero for the others."""
        weights = self.dataset.weights
        return np.ones(self.dataset.points.n_rows) if weights is None else (weights > 0.0).astype(np.float64)

    @property
    def soft(self) -> LinearSVMProblem:
        """The support vector machine with C = inf, of which this is the limit."""
        loss = SVMLoss(self.dataset.signs, self.counted, math.inf, 0.0, 0.0, True)
        return LinearSVMProblem(self.dataset.points, loss, 0.0 if self.fit_intercept else math.inf)

    @property
    def space(self) -> str:
        """The points that margins refer to, in words."""
        return "x" if self.fit_intercept else "x, by hyperplanes through the origin,"

    def best_margin(self, scores: np.ndarray) -> tuple[float, float]:
        """Return the largest minimum of y f(x) over all intercepts, and that intercept.

        ``scores`` are those without intercept.
        """
        signs, counted = self.dataset.signs, self.counted > 0.0
        lowest = float(scores.min(where=counted & (signs > 0.0), initial=math.inf))
        highest = float(scores.max(where=counted & (signs < 0.0), initial=-math.inf))
        if not self.fit_intercept:
            return min(lowest, -highest), 0.0
        return 0.5 * (lowest - highest), -0.5 * (lowest + highest)

    def hull_weights(self, beta: np.ndarray) -> np.ndarray:
        """Scale signed duals to convex weights: a sum of one for each class, or in all without intercept."""
        weights, signs = np.abs(beta), self.dataset.signs
        result: np.ndarray = np.zeros_like(weights)
        for side in (signs > 0.0, signs < 0.0) if self.fit_intercept else (np.ones(signs.size, dtype=bool),):
            largest = float(weights.max(where=side, initial=0.0))
            # Without duals every point of the hull will do: the mean of the rows that count.
            shares = weights[side] / largest if 0.0 < largest < math.inf else self.counted[side]
            result[side] = shares / shares.sum()
        return result
