"""Dual coordinate ascent: one dual at a time to its best value (theory B9).

Hsieh, Chang, Lin, Keerthi, Sundararajan, "A dual coordinate descent method for large-scale linear SVM", 2008
(Algorithm 1, and shrinking as in its section 3.2); Ho, Lin, "Large-scale linear support vector regression", 2012.
"""

from typing import NamedTuple

import numpy as np

from maxmargin.loops.jit import inlined, jit
from maxmargin.loops.prefetch import fetch_early
from maxmargin.loops.rows import add_scaled, dot, fetch_row

# What is kept of a row lies in one cache line: its dual, target, lower and upper end, curvature, and 1/(Q_ii).
DUAL, TARGET, LOWER, UPPER, CURVATURE, STEP = range(6)
CELL = 8
# Rows are asked for this many visits before they are needed.
AHEAD = 3


class Ascent(NamedTuple):
    """What an ascent changes: cells of the rows, w, and the intercept, moved by ``give`` times every dual's change."""

    cells: np.ndarray
    w: np.ndarray
    b: np.ndarray
    give: float
    epsilon: float


class Visit(NamedTuple):
    """Rows to visit, the places of the next ones, and from which force on a row that is held at an end is dropped."""

    order: np.ndarray
    first: int
    last: int
    firm: float


@inlined
def best_dual(cell, gradient, epsilon):
    """The dual that gains most, given the slope of what all else costs."""
    dual = cell[DUAL] - (gradient + epsilon) * cell[STEP]
    if dual <= 0.0:
        dual = min(0.0, cell[DUAL] - (gradient - epsilon) * cell[STEP])
    return min(max(dual, cell[LOWER]), cell[UPPER])


@inlined
def force_of_end(cell, gradient, epsilon):
    """How firmly a dual is held where it is: the least slope away from there, against the ascent."""
    force = np.inf
    if cell[DUAL] < cell[UPPER]:
        force = min(force, gradient + (epsilon if cell[DUAL] >= 0.0 else -epsilon))
    if cell[DUAL] > cell[LOWER]:
        force = min(force, -gradient + (epsilon if cell[DUAL] <= 0.0 else -epsilon))
    return force


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
def visit(rows, ascent, visits, kept):
    """Visit rows in turn. Returns the largest force found, and how many rows are kept at the front of the order."""
    cells, order, epsilon = ascent.cells, visits.order, ascent.epsilon
    largest = 0.0
    for k in range(visits.first, visits.last):
        if k + AHEAD < visits.last:
            fetch_row(rows, order[k + AHEAD])
            fetch_early(cells, np.int64(order[k + AHEAD]) * CELL)
        i = order[k]
        cell = cells[i]
        gradient = dot(rows, i, ascent.w) + ascent.b[0] - cell[TARGET] + cell[CURVATURE] * cell[DUAL]
        dual = best_dual(cell, gradient, epsilon)
        change = dual - cell[DUAL]
        if change != 0.0:
            largest = max(largest, -force_of_end(cell, gradient, epsilon))
            cell[DUAL] = dual
            add_scaled(rows, i, change, ascent.w)
            ascent.b[0] += ascent.give * change
        elif force_of_end(cell, gradient, epsilon) > visits.firm:
            continue
        order[kept] = i
        kept += 1
    return largest, kept


@jit
def climb(rows, ascent, n_steps):
    """Steps on the dual whose gain is greatest, each found by a look at all rows. Returns the last gain."""
    cells, epsilon = ascent.cells, ascent.epsilon
    greatest = 0.0
    for _ in range(n_steps):
        greatest, chosen, change = 0.0, 0, 0.0
        for i in range(cells.shape[0]):
            cell = cells[i]
            gradient = dot(rows, i, ascent.w) + ascent.b[0] - cell[TARGET] + cell[CURVATURE] * cell[DUAL]
            move = best_dual(cell, gradient, epsilon) - cell[DUAL]
            tube = epsilon * (abs(cell[DUAL] + move) - abs(cell[DUAL]))
            gain = -gradient * move - 0.5 * move * move / cell[STEP] - tube
            if gain > greatest:
                greatest, chosen, change = gain, i, move
        if greatest == 0.0:
            break
        cells[chosen, DUAL] += change
        add_scaled(rows, chosen, change, ascent.w)
        ascent.b[0] += ascent.give * change
    return greatest


@jit
def wake(ascent, scores, firm, order):
    """Put the rows that are not firmly held into the order, given all scores; return how many they are."""
    n_active = 0
    for i in range(scores.size):
        cell = ascent.cells[i]
        gradient = scores[i] - cell[TARGET] + cell[CURVATURE] * cell[DUAL]
        if cell[LOWER] < cell[UPPER] and not force_of_end(cell, gradient, ascent.epsilon) > firm:
            order[n_active] = i
            n_active += 1
    return n_active
