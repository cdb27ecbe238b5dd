"""Passes of logistic regression (theory D1): over the scores alone, and over the rows.

A row of margin m = y f loses log(1 + exp(-m)). It pulls the plane with the probability 1/(1 + exp(m)) of the other
class, and bends the loss with the product of both probabilities. Only exp(-|m|) is ever taken, which cannot overflow.
"""

import math

from maxmargin.loops.jit import inlined, jit
from maxmargin.loops.rows import add_scaled


@inlined
def of_margin(margin):
    """The loss, the probability of the other class, and the curvature of a row."""
    tail = math.exp(-abs(margin))
    loss = math.log1p(tail) + max(-margin, 0.0)
    other = (tail if margin > 0.0 else 1.0) / (1.0 + tail)
    return loss, other, tail / ((1.0 + tail) * (1.0 + tail))


@jit
def look(first, last, signs, weights, scores, b, pulls, curvatures):
    """Fill in the pulls and curvatures of rows; return what they lose, and their smallest margin."""
    lost, smallest = 0.0, math.inf
    for i in range(first, last):
        margin = signs[i] * (scores[i] + b)
        loss, other, curvature = of_margin(margin)
        lost += weights[i] * loss
        pulls[i] = weights[i] * signs[i] * other
        curvatures[i] = weights[i] * curvature
        if weights[i] > 0.0:
            smallest = min(smallest, margin)
    return lost, smallest


@jit
def along(first, last, signs, weights, scores, changes, t):
    """The sums of pulls times changes, and of curvatures times their squares, at ``scores + t changes``."""
    slope, bend = 0.0, 0.0
    for i in range(first, last):
        _, other, curvature = of_margin(signs[i] * (scores[i] + t * changes[i]))
        slope += weights[i] * signs[i] * other * changes[i]
        bend += weights[i] * curvature * changes[i] * changes[i]
    return slope, bend


@jit
def lean(first, last, signs, weights, scores, b):
    """The sums of pulls and curvatures where the intercept is b."""
    balance, bend = 0.0, 0.0
    for i in range(first, last):
        _, other, curvature = of_margin(signs[i] * (scores[i] + b))
        balance += weights[i] * signs[i] * other
        bend += weights[i] * curvature
    return balance, bend


@jit
def combine(rows, first, last, factors, total):
    """total += sum of factors_i x_i"""
    for i in range(first, last):
        add_scaled(rows, i, factors[i], total)
