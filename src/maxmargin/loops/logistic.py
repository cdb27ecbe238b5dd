"""Passes of logistic regression over the scores of a block of rows.

A row of margin m = y f has the loss log(1 + exp(-m)). The derivative of its loss in the score is -y times the
probability of the other class, 1/(1 + exp(m)), and its curvature is the product of both probabilities. Only exp(-|m|)
is computed, which cannot overflow.
"""

import math

from maxmargin.loops.jit import inlined, jit


@inlined
def loss_terms(margin):
    """Compute the loss, the probability of the other class, and the curvature of a row."""
    tail = math.exp(-abs(margin))
    loss = math.log1p(tail) + max(-margin, 0.0)
    other = (tail if margin > 0.0 else 1.0) / (1.0 + tail)
    return loss, other, tail / ((1.0 + tail) * (1.0 + tail))


@jit
def evaluate_losses(signs, weights, scores, b, derivatives, curvatures):
    """Fill in the negative derivatives and the curvatures of rows; return their loss and their smallest margin."""
    total, smallest = 0.0, math.inf
    for i in range(signs.size):
        margin = signs[i] * (scores[i] + b)
        loss, other, curvature = loss_terms(margin)
        total += weights[i] * loss
        derivatives[i] = weights[i] * signs[i] * other
        curvatures[i] = weights[i] * curvature
        if weights[i] > 0.0:
            smallest = min(smallest, margin)
    return total, smallest


@jit
def derivatives_along(signs, weights, scores, b, changes, t):
    """Compute the negative derivative and the curvature in t of the loss at ``scores + b + t changes``."""
    derivative, curvature = 0.0, 0.0
    for i in range(signs.size):
        _, other, row_curvature = loss_terms(signs[i] * (scores[i] + b + t * changes[i]))
        derivative += weights[i] * signs[i] * other * changes[i]
        curvature += weights[i] * row_curvature * changes[i] * changes[i]
    return derivative, curvature


@jit
def intercept_derivatives(signs, weights, scores, b):
    """Compute the negative derivative and the curvature in the intercept of the loss at ``scores + b``."""
    derivative, curvature = 0.0, 0.0
    for i in range(signs.size):
        _, other, row_curvature = loss_terms(signs[i] * (scores[i] + b))
        derivative += weights[i] * signs[i] * other
        curvature += weights[i] * row_curvature
    return derivative, curvature
