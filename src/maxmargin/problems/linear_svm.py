"""Linear support vector machines: one primal and one dual for four losses.

Duals are signed here: beta_i = y_i alpha_i, so that w = sum beta_i x_i. With residuals r_i = t_i - f(x_i), where the
targets t are the signs for a classifier and the values for a regression, all four losses are

    C_i (r_i - epsilon)_+  +  C_i (-r_i - epsilon)_+,   or with squares,   C_i = C times the row's weight,

and a classifier has only one of the two terms, the first for a positive row and the second for a negative one: there
y r = 1 - y f.
"""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np

from maxmargin.data import Points
from maxmargin.data.blocks import row_blocks

# Memory of a row's losses and duals, in entries: the size of blocks of rows follows from it.
ENTRIES_OF_LOSSES = 32


class PenalizedIntercept:
    """A problem whose ``intercept_penalty`` is rho: zero leaves the intercept free, infinity holds it at zero."""

    intercept_penalty: float

    @property
    def has_intercept(self) -> bool:
        """Whether there is an intercept."""
        return not math.isinf(self.intercept_penalty)

    @property
    def has_free_intercept(self) -> bool:
        """Whether the intercept is not penalised, so that the duals sum to zero (for every class, if joint)."""
        return self.intercept_penalty == 0.0


class SVMLoss(NamedTuple):
    """A piecewise linear or quadratic loss of all rows, in the form of its conjugate.

    A signed dual beta lies between 0 and ``box_bound`` times the row's weight (and the same below zero for a two-sided
    loss) and has the dual term t beta - epsilon|beta| - curvature/weight beta²/2.

    Attributes
    ----------
    targets, weights : ndarray of shape (n,)
    box_bound : C, or infinity for squared losses
    curvature : 0, or 1/(2C) for squared losses
    epsilon : residuals up to this size have no loss
    one_sided : whether the sign of the target says which side counts
    """

    targets: np.ndarray
    weights: np.ndarray
    box_bound: float
    curvature: float
    epsilon: float
    one_sided: bool


def hinge(signs: np.ndarray, weights: np.ndarray, C: float) -> SVMLoss:
    """C max(0, 1 - y f)"""
    return SVMLoss(signs, weights, C, 0.0, 0.0, True)


def squared_hinge(signs: np.ndarray, weights: np.ndarray, C: float) -> SVMLoss:
    """C max(0, 1 - y f)²"""
    return SVMLoss(signs, weights, math.inf, 0.5 / C, 0.0, True)


def epsilon_insensitive(targets: np.ndarray, weights: np.ndarray, C: float, epsilon: float) -> SVMLoss:
    """C max(0, |y - f| - epsilon)"""
    return SVMLoss(targets, weights, C, 0.0, epsilon, False)


def squared_epsilon_insensitive(targets: np.ndarray, weights: np.ndarray, C: float, epsilon: float) -> SVMLoss:
    """C max(0, |y - f| - epsilon)²"""
    return SVMLoss(targets, weights, math.inf, 0.5 / C, epsilon, False)


def weights_of(points: Points, weights: np.ndarray | None) -> np.ndarray:
    """The weights, which are one where none are given."""
    return np.ones(points.n_rows) if weights is None else weights


LOSSES: dict[str, Callable[..., SVMLoss]] = {"hinge": hinge, "squared_hinge": squared_hinge}
REGRESSION_LOSSES: dict[str, Callable[..., SVMLoss]] = {
    "epsilon_insensitive": epsilon_insensitive,
    "squared_epsilon_insensitive": squared_epsilon_insensitive,
}


@dataclass(frozen=True)
class LinearSVMProblem(PenalizedIntercept):
    r"""Linear SVM or SVR: L2-regularised, piecewise linear or quadratic loss, optional unpenalised intercept.

    .. math:: \min_{w, b} \tfrac12 \lVert w \rVert^2 + \tfrac\rho2 b^2 + \sum_i \ell_i(t_i - w \cdot x_i - b)

    with its dual

    .. math:: \max_\beta \sum_i \Big(t_i \beta_i - \epsilon |\beta_i| - \frac{c}{2 m_i} \beta_i^2\Big)
              - \tfrac12 \Big\lVert \sum_i \beta_i x_i \Big\rVert^2 - \frac1{2\rho} \Big(\sum_i \beta_i\Big)^2

    in the box of the losses. The textbook's intercept is not penalised, rho = 0: then sum beta_i = 0.

    Attributes
    ----------
    points : Points
    loss : SVMLoss
        Weights multiply C, row by row: a row of weight 2 is a row given twice.
    intercept_penalty : float
        rho. Zero leaves the intercept free, infinity holds it at zero.
    """

    points: Points
    loss: SVMLoss
    intercept_penalty: float = 0.0

    @property
    def C(self) -> float:  # noqa: N802
        """C"""
        return self.loss.box_bound if self.loss.curvature == 0.0 else 0.5 / self.loss.curvature

    @cached_property
    def counts_above(self) -> np.ndarray:
        """Rows whose loss grows as f falls: their duals may be positive."""
        counted = self.loss.weights > 0.0
        return counted & (self.loss.targets > 0.0) if self.loss.one_sided else counted

    @cached_property
    def counts_below(self) -> np.ndarray:
        """Rows whose loss grows as f rises: their duals may be negative."""
        counted = self.loss.weights > 0.0
        return counted & (self.loss.targets < 0.0) if self.loss.one_sided else counted

    @property
    def centred(self) -> "LinearSVMProblem":
        """The problem of points without columns that are very far from zero, where the intercept makes up for them.

        It has the same w, duals and objective; the intercept is that of the points' centring.
        """
        if not self.has_free_intercept or self.points.centring.points is self.points:
            return self
        return replace(self, points=self.points.centring.points)

    def uppers(self) -> np.ndarray:
        """The largest value of each dual."""
        loss = self.loss
        if math.isinf(loss.box_bound):
            return np.where(self.counts_above, math.inf, 0.0)
        bounds = loss.box_bound * loss.weights
        return np.where(loss.targets > 0.0, bounds, 0.0) if loss.one_sided else bounds

    def lowers(self) -> np.ndarray:
        """The smallest value of each dual."""
        loss = self.loss
        if math.isinf(loss.box_bound):
            return np.where(self.counts_below, -math.inf, 0.0)
        bounds = -loss.box_bound * loss.weights
        return np.where(loss.targets < 0.0, bounds, 0.0) if loss.one_sided else bounds

    def curvatures(self) -> np.ndarray | float:
        """The coefficient of beta_i²/2 in the dual terms; a number where it is zero for all."""
        weights = self.loss.weights
        if self.loss.curvature == 0.0:
            return 0.0
        if np.count_nonzero(weights) == weights.size:
            return self.loss.curvature / weights
        found: np.ndarray | float = np.divide(
            self.loss.curvature, weights, out=np.zeros_like(weights), where=weights > 0.0
        )
        return found

    def scores(self, w: np.ndarray, b: float) -> np.ndarray:
        """f(x_i)"""
        return self.points.scores(w) + b

    def losses(self, scores: np.ndarray) -> np.ndarray:
        """The loss of each row."""
        loss = self.loss
        residuals = loss.targets - scores
        above, below = np.where(self.counts_above, residuals, 0.0), np.where(self.counts_below, -residuals, 0.0)
        excess = np.maximum(np.maximum(above, below) - loss.epsilon, 0.0)
        return self.C * loss.weights * (excess if loss.curvature == 0.0 else np.square(excess))

    def primal_value(self, w: np.ndarray, b: float, scores: np.ndarray) -> float:
        """The primal objective, given the scores."""
        of_intercept = 0.5 * self.intercept_penalty * b * b if b != 0.0 else 0.0
        return 0.5 * float(np.square(w).sum()) + of_intercept + float(self.losses(scores).sum())

    def dual_terms(self, beta: np.ndarray) -> np.ndarray:
        """The terms of the dual objective that belong to single rows: t beta - epsilon|beta| - c/(2m) beta²."""
        loss = self.loss
        terms: np.ndarray = loss.targets * beta
        if loss.epsilon > 0.0:
            terms -= loss.epsilon * np.abs(beta)
        if loss.curvature > 0.0:
            terms -= 0.5 * self.curvatures() * np.square(beta)
        return terms

    def dual_value(self, beta: np.ndarray, w: np.ndarray) -> float:
        """The dual objective at a feasible point, given w = sum beta_i x_i."""
        value = float(self.dual_terms(beta).sum()) - 0.5 * float(np.square(w).sum())
        if self.has_intercept and not self.has_free_intercept:
            total = float(beta.sum())
            value -= 0.5 * total * total / self.intercept_penalty
        return value

    def feasible(self, beta: np.ndarray) -> np.ndarray:
        """Project duals onto the box; with a free intercept, scale the heavier sign so that they sum to zero."""
        return self.balanced(self.within_box(beta))

    def within_box(self, beta: np.ndarray) -> np.ndarray:
        """Project duals onto the box."""
        within = np.empty_like(beta)
        for rows, part in self.parts():
            within[rows] = part._projected(beta[rows])
        return within

    def _projected(self, beta: np.ndarray) -> np.ndarray:
        """The projection in one block; numpy.clip takes as long for few rows as ten comparisons."""
        loss = self.loss
        # Of a one-sided loss the duals have the signs of the targets.
        sizes: np.ndarray = np.maximum(beta * loss.targets, 0.0) if loss.one_sided else np.abs(beta)
        if not math.isinf(loss.box_bound):
            sizes = np.minimum(sizes, loss.box_bound * loss.weights)
        elif np.count_nonzero(loss.weights) < loss.weights.size:
            sizes = np.where(loss.weights > 0.0, sizes, 0.0)
        # Zero has no sign.
        signed: np.ndarray = sizes * loss.targets if loss.one_sided else np.copysign(sizes, beta)
        signed += 0.0
        return signed

    def balanced(self, beta: np.ndarray) -> np.ndarray:
        """Scale, in place, the heavier sign of duals in their box where the intercept is free: they sum to zero."""
        if self.has_free_intercept:
            above, below = balancing_factors(*sums_of_sides(beta))
            if above < 1.0:
                beta *= np.where(beta > 0.0, above, 1.0)
            elif below < 1.0:
                beta *= np.where(beta < 0.0, below, 1.0)
        return beta

    def of_block(self, points: Points, targets: np.ndarray, weights: np.ndarray) -> "LinearSVMProblem":
        """The same losses and penalty on other rows."""
        return replace(self, points=points, loss=self.loss._replace(targets=targets, weights=weights))

    def without_rows(self) -> "LinearSVMProblem":
        """The losses and the penalty alone."""
        empty = np.empty(0)
        return self.of_block(Points(np.empty((0, self.points.n_columns))), empty, empty)

    def parts(self) -> Iterator[tuple[slice, "LinearSVMProblem"]]:
        """Yield blocks of rows, each with the part of the problem that concerns them."""
        for rows in row_blocks(self.loss.targets.size, ENTRIES_OF_LOSSES):
            yield rows, self.part(rows)

    def part(self, rows: slice) -> "LinearSVMProblem":
        """The problem with the targets and weights of some rows alone; ``points`` stay those of all rows."""
        if rows.start == 0 and rows.stop == self.loss.targets.size:
            return self
        loss = self.loss._replace(targets=self.loss.targets[rows], weights=self.loss.weights[rows])
        return replace(self, loss=loss)


def sums_of_sides(beta: np.ndarray) -> tuple[float, float]:
    """The sum of the positive duals, and minus that of the negative ones."""
    return float(np.maximum(beta, 0.0).sum()), -float(np.minimum(beta, 0.0).sum())


def balancing_factors(above: float, below: float) -> tuple[float, float]:
    """Factors on the positive and the negative duals, given their sums, with which both sums are equal."""
    if above > below:
        return below / above, 1.0
    return 1.0, above / below if below > 0.0 else 1.0


def C_from_lambda(lam: float) -> float:  # noqa: N802
    r"""Convert the regularisation strength lambda of the lecture's form into C.

    .. math:: \min_w \sum_i \xi_i + \lambda \lVert w \rVert^2 \quad\text{is the C form with}\quad C = \frac1{2\lambda}

    Parameters
    ----------
    lam : float
        The regularisation strength lambda, positive.

    Returns
    -------
    float

    See Also
    --------
    LinearSVC : The machine with the parameter C.
    svm_path : One machine for every C.

    Examples
    --------
    >>> from maxmargin import C_from_lambda
    >>> C_from_lambda(0.05)
    10.0
    """
    is_number = isinstance(lam, (int, float, np.integer, np.floating)) and not isinstance(lam, bool)
    if not (is_number and 0.0 < lam < math.inf and 0.5 / float(lam) < math.inf):
        raise ValueError(f"lam must be a positive, finite number, and so must C = 1/(2 lam); lam is {lam!r}.")
    return 0.5 / float(lam)
