"""Linear models with squared errors: least squares, ridge and lasso."""

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from maxmargin.data import Centring, Points, TargetPoints, centred
from maxmargin.data.rows import SparseMatrix


@dataclass(frozen=True)
class SquaredErrors:
    """The squared errors of a linear model, sum m_i (y_i - w·x_i - b)².

    Attributes
    ----------
    points : Points
    targets : ndarray of shape (n,)
    weights : ndarray of shape (n,), or None where every m_i is one
        A row of weight 2 is a row given twice.
    has_intercept : bool
        Whether b is free; else it is zero.
    """

    points: Points
    targets: np.ndarray
    weights: np.ndarray | None
    has_intercept: bool

    @classmethod
    def of(cls, data: TargetPoints, has_intercept: bool) -> "SquaredErrors":
        """The errors on checked data; a row of weight zero is a row left out."""
        points, targets, weights = data.points, data.targets, data.weights
        if weights is not None and not weights.all():
            counted = np.flatnonzero(weights)
            points, targets, weights = Points(points.matrix[counted]), targets[counted], weights[counted]
        return cls(points, targets, weights, has_intercept)

    def with_targets(self, targets: np.ndarray) -> "SquaredErrors":
        """The errors of other targets of the same rows; what is known of the rows is not computed again."""
        other = replace(self, targets=targets)
        of_rows = ("total_weight", "column_means", "squares_of_columns", "squared_deviations")
        vars(other).update({name: vars(self)[name] for name in of_rows if name in vars(self)}, centring=self.centring)
        if self.centred is not self:
            vars(other)["centred"] = replace(self.centred, targets=targets)
        return other

    def with_weights(self, weights: np.ndarray) -> "SquaredErrors":
        """The errors with other weights of the same rows."""
        return replace(self, weights=weights)

    def of_block(self, points: Points, targets: np.ndarray, weights: np.ndarray) -> "SquaredErrors":
        """The errors on other rows."""
        return SquaredErrors(points, targets, weights, self.has_intercept)

    def without_rows(self) -> "SquaredErrors":
        """The kind of errors alone."""
        return self.of_block(Points(np.empty((0, self.points.n_columns))), np.empty(0), np.empty(0))

    @cached_property
    def total_weight(self) -> float:
        """The sum of all weights: the number of rows, where none are given."""
        return float(self.targets.size if self.weights is None else self.weights.sum())

    @cached_property
    def target_mean(self) -> float:
        """The weighted mean of the targets; zero without an intercept."""
        return self.mean(self.targets)

    @cached_property
    def column_means(self) -> np.ndarray:
        """The weighted mean of every column; zeros without an intercept."""
        if not self.has_intercept:
            return np.zeros(self.points.n_columns)
        ones = np.ones(self.points.n_rows) if self.weights is None else self.weights
        return self.points.combination(ones) / self.total_weight

    @property
    def sparse_columns(self) -> SparseMatrix:
        """The sparse matrix by columns."""
        return self.points.sparse_columns

    @cached_property
    def squares_of_columns(self) -> np.ndarray:
        """sum_i m_i x_ij² of every column j."""
        return self.points.squares_of_columns(self.weights)

    @cached_property
    def squared_deviations(self) -> np.ndarray:
        """sum_i m_i (x_ij - mean_j)² of every column j: its total squared deviation from the mean."""
        found: np.ndarray = np.maximum(0.0, self.squares_of_columns - self.total_weight * np.square(self.column_means))
        return found

    @cached_property
    def centring(self) -> Centring:
        """The offsets of columns far from zero: w is the same without them, the intercept is not."""
        return centred(self.points, may_move=self.has_intercept, weights=self.weights)

    @cached_property
    def centred(self) -> "SquaredErrors":
        """The same errors of points without these offsets; the intercept is that of the centring."""
        return self if self.centring.points is self.points else replace(self, points=self.centring.points)

    def mean(self, values: np.ndarray) -> float:
        """The weighted mean of one value a row; zero without an intercept."""
        if not self.has_intercept:
            return 0.0
        total = values.sum() if self.weights is None else self.weights @ values
        return float(total) / self.total_weight

    def weighted(self, values: np.ndarray) -> np.ndarray:
        """m_i v_i"""
        return values if self.weights is None else self.weights * values

    def best_intercept(self, w: np.ndarray) -> float:
        """The b with the smallest errors for these coefficients."""
        return self.target_mean - float(self.column_means @ w) if self.has_intercept else 0.0

    def residuals(self, w: np.ndarray, b: float) -> np.ndarray:
        """y_i - w·x_i - b"""
        return self.targets - (self.points.scores(w) + b)


@dataclass(frozen=True)
class RidgeProblem:
    r"""Ridge regression: squared errors, with the penalty lambda on the squared norm of w.

    .. math:: \min_{w, b} \sum_i m_i (y_i - w \cdot x_i - b)^2 + \lambda \lVert w \rVert^2

    with its dual, over alpha with sum alpha_i = 0 where there is an intercept,

    .. math:: \max_\alpha 2 \alpha \cdot y - \sum_i \alpha_i^2 / m_i - \lVert X^T \alpha \rVert^2 / \lambda
    """

    errors: SquaredErrors
    lam: float


@dataclass(frozen=True)
class LassoProblem:
    r"""The lasso and the elastic net: half the squared errors, with penalties on the 1-norm and the squared norm of w.

    .. math:: \min_{w, b} \tfrac12 \sum_i m_i (y_i - w \cdot x_i - b)^2
              + \lambda \lVert w \rVert_1 + \tfrac{\rho}{2} \lVert w \rVert^2

    with its dual, over alpha with sum alpha_i = 0 where there is an intercept,

    .. math:: \max_\alpha \alpha \cdot y - \tfrac12 \sum_i \alpha_i^2 / m_i
              - \frac{1}{2 \rho} \sum_j \max(0, \lvert (X^T \alpha)_j \rvert - \lambda)^2

    where for rho = 0, the lasso, the last sum is the constraint that every one of its terms is zero. With ``positive``
    no coefficient is negative, and the absolute value of the product is the product itself.
    """

    errors: SquaredErrors
    lam: float
    ridge: float = 0.0
    positive: bool = False

    def sizes(self, products: np.ndarray) -> np.ndarray:
        """What of the products may not exceed lambda: their absolute values, or themselves with ``positive``."""
        return products if self.positive else np.abs(products)
