"""Passes of multinomial logistic regression over the scores of a block of rows.

A row of class y has the loss log sum_k exp(f_k) - f_y. All scores are taken relative to the largest one, so that no
exponential overflows, and the loss is a sum of two terms that are not negative, without cancellation.
"""

import math

import numpy as np

from maxmargin.loops.exponential import exponential
from maxmargin.loops.jit import inlined, jit


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
        # A loop of its own, which is vectorised.
        for k in range(b.size):
            shares[k] = exponential(shares[k] - largest)
        tail = _sum_but_one(shares, top)
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
    total, check, shares = 0.0, 0.0, np.empty(b.size)
    for i in range(codes.size):
        top, largest = 0, -math.inf
        for k in range(b.size):
            value = scores[i, k] + t * changes[i, k] + b[k]
            check += value - value
            shares[k] = value
            if value > largest:
                top, largest = k, value
        height = shares[codes[i]] - largest
        for k in range(b.size):
            shares[k] = exponential(shares[k] - largest)
        total += weights[i] * (math.log1p(_sum_but_one(shares, top)) - height)
    return total + check


@inlined
def _sum_but_one(values, left_out):
    """The sum of all values but one, in their order."""
    total = 0.0
    for k in range(left_out):
        total += values[k]
    for k in range(left_out + 1, values.size):
        total += values[k]
    return total
