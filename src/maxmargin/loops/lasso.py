"""Coordinate descent for the lasso: one coefficient at a time to its best value (theory D3).

Friedman, Hastie, Tibshirani, "Regularization paths for generalized linear models via coordinate descent", 2010: with
the residuals at hand ("naive updates"), or with the products of the columns ("covariance updates"). A column of X is a
row of X^T, so that the loops take columns as ``Rows``.
"""

from typing import NamedTuple

import numpy as np

from maxmargin.loops.jit import inlined, jit
from maxmargin.loops.rows import add_scaled, dot


class Descent(NamedTuple):
    """What a descent changes, and what it has to know of the columns.

    The residuals are those of columns that were not centred; ``drift`` times the roots of the weights is missing.

    Attributes
    ----------
    beta : coefficients, one a column
    residuals : one a row, times the root of the row's weight
    drift : one number, the sum of beta_j times the column's mean
    curvatures : sum_i m_i (x_ij - mean)² of every column
    means, totals : the mean of every column, and sum_i m_i x_ij; zeros where the columns are centred
    lam : the price of a coefficient
    """

    beta: np.ndarray
    residuals: np.ndarray
    drift: np.ndarray
    curvatures: np.ndarray
    means: np.ndarray
    totals: np.ndarray
    lam: float


@inlined
def best_coefficient(slope, curvature, lam):
    """The minimum of curvature/2 b² - slope b + lam |b|."""
    if slope > lam:
        return (slope - lam) / curvature
    if slope < -lam:
        return (slope + lam) / curvature
    return 0.0


@jit
def descend(columns, descent, order, first, last):
    """Visit columns in turn. Returns by how much the objective fell, about."""
    beta, residuals, drift = descent.beta, descent.residuals, descent.drift
    fallen = 0.0
    for k in range(first, last):
        j = order[k]
        curvature = descent.curvatures[j]
        if curvature <= 0.0:
            continue
        slope = dot(columns, j, residuals) + drift[0] * descent.totals[j]
        best = best_coefficient(slope + curvature * beta[j], curvature, descent.lam)
        change = best - beta[j]
        if change != 0.0:
            add_scaled(columns, j, -change, residuals)
            drift[0] += change * descent.means[j]
            beta[j] = best
            fallen += 0.5 * curvature * change * change
    return fallen


@jit
def descend_by_products(products, slopes, beta, lam, n_passes):
    """Make passes over all columns, given x_j·x_k of all pairs and x_j·r of every column, which is kept up."""
    for _ in range(n_passes):
        moved = False
        for j in range(beta.size):
            curvature = products[j, j]
            if curvature <= 0.0:
                continue
            best = best_coefficient(slopes[j] + curvature * beta[j], curvature, lam)
            change = best - beta[j]
            if change != 0.0:
                moved = True
                beta[j] = best
                for k in range(beta.size):
                    slopes[k] -= change * products[j, k]
        if not moved:
            break
