"""Whole runs of Newton's method for multinomial logistic regression with few coefficients on small dense data.

The algorithm is that of :mod:`maxmargin.solvers.regression.multinomial`: Hessians are factorised, and steps halved.
"""

import math

import numpy as np

from maxmargin.loops.cholesky import factorise, fill_gram, inner, solve_factorised
from maxmargin.loops.jit import jit, merged
from maxmargin.loops.logistic_run import GAP, LOGISTIC_STALL_RULE, PRIMAL, STEPS
from maxmargin.loops.multinomial import evaluate_classes, loss_along
from maxmargin.loops.termination import LIMIT, NO_PROGRESS, REACHED, has_stalled

# A step is taken where the objective falls by this share of what its derivative promises (Armijo).
ARMIJO_SHARE, MAX_HALVINGS = 1e-4, 40
# Added to the diagonal of the Hessian, relative to it: without a penalty it may be singular.
DIAGONAL_SHARE = 1e-11


@jit
def multinomial_steps(rows, codes, weights, C, n_penalised, W, vectors, values, tol, n_steps):
    """Make Newton steps to a relative gap of ``tol``, at most so many in all. Returns how the call ends.

    Parameters
    ----------
    rows : ndarray of shape (n, m)
        With a last column of ones where there are intercepts; ``n_penalised`` columns are penalised.
    codes, weights : ndarray of shape (n,)
    W : ndarray of shape (n_classes, m)
    vectors : ndarray of shape (4, n, n_classes)
        The scores, their changes, the probabilities, and the negative derivatives of the losses.
    values : ndarray
        See the places in :mod:`maxmargin.loops.logistic_run`.
    """
    n_classes, size = W.shape
    scores, changes, probabilities, derivatives = vectors[0], vectors[1], vectors[2], vectors[3]
    zero, gradient, step = np.zeros(n_classes), np.empty((n_classes, size)), np.empty((n_classes, size))
    hessian = np.empty((n_classes * size, n_classes * size))
    of_intercepts, right = np.empty((n_classes, n_classes)), np.empty(n_classes)
    gram, shares = np.empty((size, size)), np.empty(weights.size)
    while True:
        loss, _ = evaluate_classes(scores, zero, codes, weights, probabilities, derivatives)
        values[PRIMAL] = C * loss
        values[GAP] = 0.0
        for k in range(n_classes):
            for j in range(size):
                gradient[k, j] = W[k, j] if j < n_penalised else 0.0
        for i in range(weights.size):
            for k in range(n_classes):
                scaled = C * derivatives[i, k]
                for j in range(size):
                    gradient[k, j] -= scaled * rows[i, j]
        for k in range(n_classes):
            values[PRIMAL] += 0.5 * inner(W[k], W[k], n_penalised)
            values[GAP] += 0.5 * inner(gradient[k], gradient[k], n_penalised)
        if n_penalised < size:
            values[GAP] += _intercept_gap(weights, C, probabilities, gradient, of_intercepts, right)
        primal, gap = values[PRIMAL], values[GAP]
        if not (math.isfinite(primal) and math.isfinite(gap)):
            return NO_PROGRESS
        if gap <= tol * primal:
            return REACHED
        if has_stalled(values, gap, primal, primal - gap, values[STEPS], LOGISTIC_STALL_RULE):
            return NO_PROGRESS
        if values[STEPS] >= n_steps:
            return LIMIT
        _fill_hessian(rows, weights, C, n_penalised, probabilities, hessian, gram, shares)
        if not factorise(hessian):
            return NO_PROGRESS
        flat, flat_gradient = step.reshape(hessian.shape[0]), gradient.reshape(hessian.shape[0])
        for j in range(flat.size):
            flat[j] = -flat_gradient[j]
        solve_factorised(hessian, flat)
        along = inner(flat, flat_gradient, flat.size)
        if not along < 0.0:
            return NO_PROGRESS
        for i in range(weights.size):
            for k in range(n_classes):
                changes[i, k] = inner(rows[i], step[k], size)
        t = 1.0
        for _ in range(MAX_HALVINGS):
            value = C * loss_along(scores, changes, t, zero, codes, weights)
            for k in range(n_classes):
                for j in range(n_penalised):
                    moved = W[k, j] + t * step[k, j]
                    value += 0.5 * moved * moved
            # Near the optimum the decrease is a rounding error.
            if value <= primal + ARMIJO_SHARE * t * along + 1e-14 * abs(primal):
                break
            t *= 0.5
        for k in range(n_classes):
            for j in range(size):
                W[k, j] += t * step[k, j]
            for i in range(weights.size):
                scores[i, k] += t * changes[i, k]
        values[STEPS] += 1.0


@merged
def _fill_hessian(rows, weights, C, n_penalised, probabilities, hessian, gram, shares):
    """C sum_i c_i p_ik (1[k = l] - p_il) x_i x_i^T, the penalty, and what makes the intercepts unique."""
    n_classes, size = probabilities.shape[1], gram.shape[0]
    for k in range(n_classes):
        for other in range(k + 1):
            for i in range(weights.size):
                share = (1.0 if k == other else 0.0) - probabilities[i, other]
                shares[i] = C * weights[i] * probabilities[i, k] * share
            fill_gram(rows, shares, gram)
            for i in range(size):
                for j in range(size):
                    hessian[k * size + i, other * size + j] = gram[max(i, j), min(i, j)]
    for j in range(size):
        mean = 0.0
        for k in range(n_classes):
            mean += hessian[k * size + j, k * size + j] / n_classes
        for k in range(n_classes):
            place = k * size + j
            hessian[place, place] += DIAGONAL_SHARE * (hessian[place, place] + mean)
            if j < n_penalised:
                hessian[place, place] += 1.0
            else:
                # The same constant in all intercepts does not change the losses.
                for other in range(k + 1):
                    hessian[place, other * size + j] += mean / n_classes


@merged
def _intercept_gap(weights, C, probabilities, gradient, matrix, right):
    """Estimate how much smaller the objective is at the best intercepts for W."""
    n_classes, last, trace, square = right.size, gradient.shape[1] - 1, 0.0, 0.0
    for k in range(n_classes):
        right[k] = gradient[k, last]
        square += right[k] * right[k]
        for other in range(k + 1):
            matrix[k, other] = 0.0
            for i in range(weights.size):
                share = (1.0 if k == other else 0.0) - probabilities[i, other]
                matrix[k, other] += C * weights[i] * probabilities[i, k] * share
        trace += matrix[k, k]
    if square == 0.0:
        return 0.0
    for k in range(n_classes):
        for other in range(k + 1):
            matrix[k, other] += trace / (n_classes * n_classes)
    if not factorise(matrix):
        return math.inf
    solve_factorised(matrix, right)
    total = 0.0
    for k in range(n_classes):
        total += right[k] * gradient[k, last]
    return max(0.0, total)
