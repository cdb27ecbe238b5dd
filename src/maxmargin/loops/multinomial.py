"""Passes of multinomial logistic regression over the scores of a block of rows.

A row of class y has the loss log sum_k exp(f_k) - f_y. All scores are taken relative to the largest one, so that no
exponential overflows, and the loss is a sum of two terms that are not negative, without cancellation.
"""

import math

from maxmargin.loops.exponential import exponential
from maxmargin.loops.jit import jit


@jit
def evaluate_classes(scores, b, codes, weights, probabilities, derivatives):
    """Fill in the probabilities, and the negative derivatives of the losses in the scores.

    Returns the loss of all rows, NaN where a score is not finite, and the smallest margin of a row of positive weight,
    its own score less the largest of the others.
    """
    total, smallest, check = 0.0, math.inf, 0.0
    for i in range(codes.size):
        row, shares, own = scores[i], probabilities[i], codes[i]
        top, largest, second = 0, -math.inf, -math.inf
        for k in range(b.size):
            value = row[k] + b[k]
            check += value - value
            shares[k] = value
            if value > largest:
                top, largest, second = k, value, largest
            elif value > second:
                second = value
        height = shares[own] - largest
        if weights[i] > 0.0:
            smallest = min(smallest, largest - second if own == top else height)
        tail = 0.0
        for k in range(b.size):
            shares[k] = exponential(shares[k] - largest)
            if k != top:
                tail += shares[k]
        factor = 1.0 / (1.0 + tail)
        for k in range(b.size):
            shares[k] *= factor
            derivatives[i, k] = -weights[i] * shares[k]
        derivatives[i, own] += weights[i]
        total += weights[i] * (math.log1p(tail) - height)
    return total + check, smallest


@jit
def loss_along(scores, changes, t, b, codes, weights):
    """Compute the loss of all rows at ``scores + t changes + b``; NaN where one of them is not finite."""
    total, check = 0.0, 0.0
    for i in range(codes.size):
        top, largest = 0, -math.inf
        for k in range(b.size):
            value = scores[i, k] + t * changes[i, k] + b[k]
            check += value - value
            if value > largest:
                top, largest = k, value
        tail = 0.0
        for k in range(b.size):
            if k != top:
                tail += exponential(scores[i, k] + t * changes[i, k] + b[k] - largest)
        own = codes[i]
        total += weights[i] * (math.log1p(tail) - (scores[i, own] + t * changes[i, own] + b[own] - largest))
    return total + check
