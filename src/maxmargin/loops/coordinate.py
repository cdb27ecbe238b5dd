"""Dual coordinate ascent: one dual variable at a time is set to its optimum.

Hsieh, Chang, Lin, Keerthi, Sundararajan, "A dual coordinate descent method for large-scale linear SVM", 2008
(Algorithm 1, and shrinking as in its section 3.2); Ho, Lin, "Large-scale linear support vector regression", 2012.
"""

from typing import NamedTuple

import numpy as np

from maxmargin.loops.jit import inlined, jit
from maxmargin.loops.prefetch import fetch_early
from maxmargin.loops.rows import add_scaled, dot, fetch_row

# The state of a row lies in one cache line: dual, target, lower and upper bound, curvature, and 1/Q_ii.
DUAL, TARGET, LOWER, UPPER, CURVATURE, STEP = range(6)
STATE_SIZE = 8
# Rows are prefetched this many steps before they are needed.
AHEAD = 3


class Ascent(NamedTuple):
    """Per-row state, w, and the intercept, which moves by ``intercept_step`` times every dual's change."""

    state: np.ndarray
    w: np.ndarray
    b: np.ndarray
    intercept_step: float
    epsilon: float


class EpochPart(NamedTuple):
    """The rows order[first:last] of an epoch, and the shrinking threshold.

    A bounded dual whose projected-gradient slack exceeds the threshold leaves the order.
    """

    order: np.ndarray
    first: int
    last: int
    shrinking_threshold: float


@inlined
def optimal_dual(cell, gradient, epsilon):
    """The optimum of one dual variable, given the derivative of the dual objective's smooth part."""
    dual = cell[DUAL] - (gradient + epsilon) * cell[STEP]
    if dual <= 0.0:
        dual = min(0.0, cell[DUAL] - (gradient - epsilon) * cell[STEP])
    return min(max(dual, cell[LOWER]), cell[UPPER])


@inlined
def projected_gradient_slack(cell, gradient, epsilon):
    """Projected-gradient slack of a dual variable: positive at an optimal bound, minus the violation elsewhere."""
    slack = np.inf
    if cell[DUAL] < cell[UPPER]:
        slack = min(slack, gradient + (epsilon if cell[DUAL] >= 0.0 else -epsilon))
    if cell[DUAL] > cell[LOWER]:
        slack = min(slack, -gradient + (epsilon if cell[DUAL] <= 0.0 else -epsilon))
    return slack


@jit
def shuffle(order, n_active, seed):
    """Bring the first rows into random order; return the generator's next state (xorshift, Marsaglia 2003)."""
    for k in range(n_active - 1):
        seed ^= seed << np.uint64(13)
        seed ^= seed >> np.uint64(7)
        seed ^= seed << np.uint64(17)
        other = k + np.int64(((seed >> np.uint64(32)) * np.uint64(n_active - k)) >> np.uint64(32))
        order[k], order[other] = order[other], order[k]
    return seed


@jit
def coordinate_epoch(rows, ascent, part, kept):
    """Steps on the rows of a part in turn; return the largest violation, and how many rows stay in the order."""
    state, order, epsilon = ascent.state, part.order, ascent.epsilon
    largest = 0.0
    for k in range(part.first, part.last):
        if k + AHEAD < part.last:
            fetch_row(rows, order[k + AHEAD])
            fetch_early(state, np.int64(order[k + AHEAD]) * STATE_SIZE)
        i = order[k]
        cell = state[i]
        gradient = dot(rows, i, ascent.w) + ascent.b[0] - cell[TARGET] + cell[CURVATURE] * cell[DUAL]
        dual = optimal_dual(cell, gradient, epsilon)
        change = dual - cell[DUAL]
        if change != 0.0:
            largest = max(largest, -projected_gradient_slack(cell, gradient, epsilon))
            cell[DUAL] = dual
            add_scaled(rows, i, change, ascent.w)
            ascent.b[0] += ascent.intercept_step * change
        elif projected_gradient_slack(cell, gradient, epsilon) > part.shrinking_threshold:
            continue
        order[kept] = i
        kept += 1
    return largest, kept


@jit
def greedy_steps(rows, ascent, n_steps):
    """Steps on the dual variable with the greatest gain, for which all rows are evaluated; return the last gain."""
    state, epsilon = ascent.state, ascent.epsilon
    greatest = 0.0
    for _ in range(n_steps):
        greatest, chosen, change = 0.0, 0, 0.0
        for i in range(state.shape[0]):
            cell = state[i]
            gradient = dot(rows, i, ascent.w) + ascent.b[0] - cell[TARGET] + cell[CURVATURE] * cell[DUAL]
            move = optimal_dual(cell, gradient, epsilon) - cell[DUAL]
            absolute = epsilon * (abs(cell[DUAL] + move) - abs(cell[DUAL]))
            gain = -gradient * move - 0.5 * move * move / cell[STEP] - absolute
            if gain > greatest:
                greatest, chosen, change = gain, i, move
        if greatest == 0.0:
            break
        state[chosen, DUAL] += change
        add_scaled(rows, chosen, change, ascent.w)
        ascent.b[0] += ascent.intercept_step * change
    return greatest


@jit
def add_rows(rows, chosen, factors, w):
    """Add multiples of the chosen rows to w."""
    for k in range(chosen.size):
        add_scaled(rows, chosen[k], factors[k], w)


@jit
def unshrink(ascent, scores, shrinking_threshold, order):
    """Put the rows within the shrinking threshold into the order, given all scores; return how many they are."""
    n_active = 0
    for i in range(scores.size):
        cell = ascent.state[i]
        gradient = scores[i] - cell[TARGET] + cell[CURVATURE] * cell[DUAL]
        if (
            cell[LOWER] < cell[UPPER]
            and not projected_gradient_slack(cell, gradient, ascent.epsilon) > shrinking_threshold
        ):
            order[n_active] = i
            n_active += 1
    return n_active
