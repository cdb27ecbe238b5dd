"""Coordinate descent for the lasso: one coefficient at a time is set to its minimiser.

Friedman, Hastie, Tibshirani, "Regularization paths for generalized linear models via coordinate descent", 2010: with
the residuals updated ("naive updates"), or with the Gram matrix of the columns ("covariance updates"). A column of X is
a row of X^T, so that the loops take columns as ``Rows``.
"""

from typing import NamedTuple

import numpy as np

from maxmargin.loops.jit import inlined, jit
from maxmargin.loops.rows import add_scaled, dot


class Descent(NamedTuple):
    """The state of a descent, changed in place, and the statistics of the columns.

    The residuals are those of columns that were not centred; ``drift`` times the roots of the weights is missing.

    Attributes
    ----------
    beta : coefficients, one a column
    residuals : one a row, times the root of the row's weight
    drift : one number, the sum of beta_j times the column's mean
    curvatures : sum_i m_i (x_ij - mean)² of every column
    means, totals : the mean of every column, and sum_i m_i x_ij; zeros where the columns are centred
    lam : the penalty on the 1-norm
    ridge : that on half the squared norm, which the curvatures contain
    positive : whether no coefficient may be negative
    """

    beta: np.ndarray
    residuals: np.ndarray
    drift: np.ndarray
    curvatures: np.ndarray
    means: np.ndarray
    totals: np.ndarray
    lam: float
    ridge: float
    positive: bool


@inlined
def best_coefficient(derivative, curvature, lam, positive):
    """The minimiser of curvature/2 b² - derivative b + lam |b|, among b >= 0 where ``positive``."""
    if derivative > lam:
        return (derivative - lam) / curvature
    if derivative < -lam and not positive:
        return (derivative + lam) / curvature
    return 0.0


@jit
def descend(columns, descent, order, first, last):
    """Update the coefficients of columns in turn; return by how much the objective fell, about."""
    beta, residuals, drift = descent.beta, descent.residuals, descent.drift
    decrease = 0.0
    for k in range(first, last):
        j = order[k]
        curvature = descent.curvatures[j]
        if curvature <= 0.0:
            continue
        derivative = dot(columns, j, residuals) + drift[0] * descent.totals[j] - descent.ridge * beta[j]
        best = best_coefficient(derivative + curvature * beta[j], curvature, descent.lam, descent.positive)
        change = best - beta[j]
        if change != 0.0:
            add_scaled(columns, j, -change, residuals)
            drift[0] += change * descent.means[j]
            beta[j] = best
            decrease += 0.5 * curvature * change * change
    return decrease


@jit
def descend_with_gram(gram, gradient, beta, lam, positive, n_epochs):
    """Make epochs over all columns, given x_j·x_k of all pairs and x_j·r of every column, which is updated."""
    for _ in range(n_epochs):
        changed = False
        for j in range(beta.size):
            curvature = gram[j, j]
            if curvature <= 0.0:
                continue
            best = best_coefficient(gradient[j] + curvature * beta[j], curvature, lam, positive)
            change = best - beta[j]
            if change != 0.0:
                changed = True
                beta[j] = best
                for k in range(beta.size):
                    gradient[k] -= change * gram[j, k]
        if not changed:
            break
