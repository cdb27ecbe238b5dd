"""Coordinate descent on the quadratic model of a linear classifier's objective, and passes over its losses.

The model of the losses at scores f_i is sum_i (g_i s_i + h_i s_i²/2) in the changes s_i of the scores, with the
derivatives g_i and curvatures h_i: Yuan, Ho, Lin, "An improved GLMNET for L1-regularized logistic regression", 2012. A
column of X is a row of X^T, so that the loops take columns as ``Rows``.
"""

from typing import NamedTuple

import numpy as np

from maxmargin.loops.jit import inlined, jit
from maxmargin.loops.lasso import best_coefficient
from maxmargin.loops.logistic import loss_terms
from maxmargin.loops.rows import add_scaled, add_weighted, dot, weighted_sums


class Model(NamedTuple):
    """The state of a descent, changed in place, and the statistics of the columns.

    The intercept is eliminated: ``drift`` is its change. The derivatives are those without it.

    Attributes
    ----------
    w : coefficients, one a column
    derivatives : of the model in the score of every row
    drift : one number
    curvatures : h_i of every row
    means : sum_i h_i x_ij / sum_i h_i of every column; zeros without an intercept
    totals : sum_i h_i x_ij of every column; zeros without an intercept
    columns_curvatures : sum_i h_i (x_ij - mean_j)² + l2 of every column
    l1, l2 : the penalties
    """

    w: np.ndarray
    derivatives: np.ndarray
    drift: np.ndarray
    curvatures: np.ndarray
    means: np.ndarray
    totals: np.ndarray
    columns_curvatures: np.ndarray
    l1: float
    l2: float


@jit
def measure_columns(columns, chosen, first, last, curvatures, totals, squares):
    """Fill in sum_i h_i x_ij and sum_i h_i x_ij² of the columns chosen."""
    for k in range(first, last):
        j = chosen[k]
        totals[j], squares[j] = weighted_sums(columns, j, curvatures)


@jit
def descend_on_model(columns, model, chosen, first, last):
    """Set the coefficients of columns to their minimisers in turn; return by how much the model fell, about."""
    w, derivatives, drift = model.w, model.derivatives, model.drift
    decrease = 0.0
    for k in range(first, last):
        j = chosen[k]
        curvature = model.columns_curvatures[j]
        if curvature <= 0.0:
            continue
        derivative = dot(columns, j, derivatives) + drift[0] * model.totals[j] + model.l2 * w[j]
        best = best_coefficient(curvature * w[j] - derivative, curvature, model.l1, False)
        change = best - w[j]
        if change != 0.0:
            add_weighted(columns, j, change, model.curvatures, derivatives)
            drift[0] -= change * model.means[j]
            w[j] = best
            decrease += 0.5 * curvature * change * change
    return decrease


@jit
def change_coefficients(columns, model, chosen, changes):
    """Change the coefficients of the columns chosen."""
    for k in range(chosen.size):
        j = chosen[k]
        if changes[k] != 0.0:
            add_weighted(columns, j, changes[k], model.curvatures, model.derivatives)
            model.drift[0] -= changes[k] * model.means[j]
            model.w[j] += changes[k]


@jit
def fill_negative_gradient(columns, model, chosen, negative_gradient):
    """Fill in minus the derivatives of the model, without the 1-norm, in the columns chosen."""
    for k in range(chosen.size):
        j = chosen[k]
        negative_gradient[k] = (
            -dot(columns, j, model.derivatives) - model.drift[0] * model.totals[j] - model.l2 * model.w[j]
        )


@jit
def add_columns(columns, chosen, factors, scores):
    """Add the columns chosen, times their factors, to the scores."""
    for k in range(chosen.size):
        add_scaled(columns, chosen[k], factors[k], scores)


@jit
def fill_products(columns, values, products):
    """Fill in the inner products of all columns with one value a row."""
    for j in range(products.size):
        products[j] = dot(columns, j, values)


@inlined
def terms_of(is_logistic, margin):
    """The loss of a margin, minus its derivative, and its curvature."""
    if is_logistic:
        return loss_terms(margin)
    slack = max(1.0 - margin, 0.0)
    return slack * slack, 2.0 * slack, 2.0 if slack > 0.0 else 0.0


@jit
def evaluate_rows(is_logistic, signs, weights, scores, b, duals, curvatures):
    """Fill in the signed duals of rows, minus the derivatives of their losses, and the curvatures; return the loss."""
    total = 0.0
    for i in range(signs.size):
        loss, dual, curvature = terms_of(is_logistic, signs[i] * (scores[i] + b))
        total += weights[i] * loss
        duals[i] = weights[i] * signs[i] * dual
        curvatures[i] = weights[i] * curvature
    return total


@jit
def loss_along(is_logistic, signs, weights, scores, b, changes, t):
    """The loss at ``scores + b + t changes``."""
    total = 0.0
    for i in range(signs.size):
        total += weights[i] * terms_of(is_logistic, signs[i] * (scores[i] + b + t * changes[i]))[0]
    return total


@jit
def intercept_terms(is_logistic, signs, weights, scores, b):
    """Minus the derivative, and the curvature, of the loss in the intercept."""
    derivative, curvature = 0.0, 0.0
    for i in range(signs.size):
        _, dual, row_curvature = terms_of(is_logistic, signs[i] * (scores[i] + b))
        derivative += weights[i] * signs[i] * dual
        curvature += weights[i] * row_curvature
    return derivative, curvature
