"""The posterior of linear coefficients under the prior 1/sigma² (theory D4): least squares and its scale."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import scipy.linalg as sl
import scipy.sparse as sp

from maxmargin.problems.squared_errors import SquaredErrors
from maxmargin.solvers.core import Result, Status

EPS = float(np.finfo(np.float64).eps)
# A column whose spread is no more than this share of its length is constant, but for rounding.
CONSTANT = 1e-13
# Residuals that are no more than this share of the terms they are made of are nothing but rounding.
ROUNDING = 8.0 * EPS


@dataclass
class PosteriorPoint(Result):
    """Coefficients of least squares, and what their distribution is made of.

    Attributes
    ----------
    factor : ndarray of shape (d, d)
        A with A A' = (X'X)^-1, of X around its column means where there is an intercept.
    squares : float
        The sum of squared residuals; zero where the residuals are nothing but rounding.
    """

    factor: np.ndarray = field(default_factory=lambda: np.zeros((0, 0)))
    squares: float = 0.0


def solve(errors: SquaredErrors) -> PosteriorPoint:
    """Solve, or raise ValueError where no coefficients are the only best ones."""
    rows, targets = weighted_around_means(errors)
    lengths = np.sqrt(np.square(rows).sum(axis=0))
    whole_lengths = np.hypot(lengths, np.sqrt(errors.total_weight) * errors.column_means)
    refuse_constant_columns(errors, lengths, whole_lengths)
    # Columns of very different size are no reason to refuse: they are brought to one length.
    q, r = sl.qr(rows / lengths, mode="economic", overwrite_a=True, check_finite=False)
    left, values, right = sl.svd(r, full_matrices=False, check_finite=False)
    # The rounding of this decomposition, and that of the values in the columns.
    rounding = EPS * (rows.shape[0] * values[0] + np.linalg.norm(whole_lengths / lengths))
    if values.size < lengths.size or not values[-1] > rounding:
        others = "others, or of others and the intercept," if errors.has_intercept else "others,"
        remedy = ", set fit_intercept=False (the columns of one category add up to one)" if errors.has_intercept else ""
        raise ValueError(
            f"X has columns that are combinations of {others} so that beta has no proper posterior. Leave columns "
            f"out{remedy}, or use Ridge."
        )
    factor = right.T / values / lengths[:, None]
    w = factor @ (left.T @ (q.T @ targets))
    # Columns that nearly are combinations of others have cost digits.
    w += factor @ (left.T @ (q.T @ (targets - rows @ w)))
    residual = float(np.linalg.norm(targets - rows @ w))
    terms = float(np.sqrt(errors.weighted(np.square(errors.targets)).sum()) + np.abs(w) @ whole_lengths)
    squares = residual**2 if residual > ROUNDING * terms else 0.0
    return PosteriorPoint(
        w, errors.best_intercept(w), np.zeros(0), status=Status.SOLVED, factor=factor, squares=squares
    )


def weighted_around_means(errors: SquaredErrors) -> tuple[np.ndarray, np.ndarray]:
    """The rows and targets that count, less their means where there is an intercept, times the roots of the weights."""
    weights = errors.weighted(np.ones(errors.targets.size))
    counted = weights > 0.0
    weights = weights[counted]
    rows = dense(errors.points.matrix[counted]) - errors.column_means
    targets = errors.targets[counted] - errors.target_mean
    if errors.has_intercept:
        # A mean far from zero is rounded itself: what is left of it would make columns look independent.
        rows -= weights @ rows / errors.total_weight
        targets -= weights @ targets / errors.total_weight
    roots = np.sqrt(weights)
    rows *= roots[:, None]
    return rows, targets * roots


def refuse_constant_columns(errors: SquaredErrors, lengths: np.ndarray, whole_lengths: np.ndarray) -> None:
    """Raise ValueError for columns that cannot be told from the intercept's."""
    constant = np.flatnonzero(~(lengths > CONSTANT * whole_lengths))
    if constant.size:
        why = "are constant, as the intercept is" if errors.has_intercept else "are zero"
        raise ValueError(
            f"X has columns that {why}: {', '.join(map(str, constant[:5]))}. Leave them out, or use Ridge."
        )


def dense(rows: Any) -> np.ndarray:
    """The rows as an array."""
    return rows.toarray() if sp.issparse(rows) else rows
