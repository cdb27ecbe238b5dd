"""Sequential minimal optimisation: two duals at a time, on the line that keeps their sum (theory B10).

Fan, Chen, Lin, "Working set selection using second order information for training support vector machines", 2005
(WSS 2). Duals are signed, beta_i = y_i alpha_i, so that classification and regression are one loop: the tube's price
epsilon |beta| only bends the slope at zero, and a step ends there.
"""

from typing import NamedTuple

import numpy as np

from maxmargin.loops.jit import inlined, jit

# A pair of points that the kernel cannot tell apart has no curvature between them: a huge step takes it to an end.
SMALLEST_CURVATURE = 1e-12


@inlined
def rising(beta, residual, epsilon):
    """What the dual's value gains when this dual rises."""
    return residual - epsilon if beta >= 0.0 else residual + epsilon


@inlined
def falling(beta, residual, epsilon):
    """What the dual's value loses when this dual falls."""
    return residual - epsilon if beta > 0.0 else residual + epsilon


@inlined
def room_to_rise(beta, upper):
    """How far a dual can rise without a bend of its slope."""
    return -beta if beta < 0.0 else upper - beta


@inlined
def room_to_fall(beta, lower):
    """How far a dual can fall without a bend of its slope."""
    return beta if beta > 0.0 else beta - lower


class Duals(NamedTuple):
    """Signed duals with their ends, and the residuals t_i - f(x_i) without intercept.

    Attributes
    ----------
    beta, residuals : ndarray, changed in place
    lower, upper : ndarray
    epsilon : half the width of the tube
    """

    beta: np.ndarray
    residuals: np.ndarray
    lower: np.ndarray
    upper: np.ndarray
    epsilon: float


@jit
def ascend_pairs(gram, duals, tol, max_steps):
    """Steps on pairs of a block of duals, until no pair gains more than ``tol``; returns their number."""
    beta, residuals, lower, upper, epsilon = duals
    size = beta.size
    n_steps = 0
    while n_steps < max_steps:
        most, i = -np.inf, -1
        for k in range(size):
            if beta[k] < upper[k]:
                gain = rising(beta[k], residuals[k], epsilon)
                if gain > most:
                    most, i = gain, k
        if i < 0:
            break
        least, best, j, slope, curvature = np.inf, 0.0, -1, 0.0, 1.0
        row = gram[i]
        own = row[i]
        for k in range(size):
            if beta[k] > lower[k]:
                loss = falling(beta[k], residuals[k], epsilon)
                least = min(least, loss)
                difference = most - loss
                if difference > 0.0:
                    bend = max(own + gram[k, k] - 2.0 * row[k], SMALLEST_CURVATURE)
                    gain = difference * difference / bend
                    if gain > best:
                        best, j, slope, curvature = gain, k, difference, bend
        if j < 0 or most - least <= tol:
            break
        step = min(slope / curvature, min(room_to_rise(beta[i], upper[i]), room_to_fall(beta[j], lower[j])))
        # An end is reached exactly, so that the dual counts as being there.
        beta[i] = 0.0 if step == -beta[i] else (upper[i] if step == upper[i] - beta[i] else beta[i] + step)
        beta[j] = 0.0 if step == beta[j] else (lower[j] if step == beta[j] - lower[j] else beta[j] - step)
        other = gram[j]
        for k in range(size):
            residuals[k] -= step * (row[k] - other[k])
        n_steps += 1
    return n_steps


class Blocks(NamedTuple):
    """How a run takes blocks: duals in one, the most blocks, the most pairs, and when a block is done with.

    Within a block, pairs are taken until they gain no more than ``share`` of what the worst pair of all did.
    """

    size: int
    most: int
    max_steps: int
    share: float


@inlined
def insert_largest(values, places, count, value, place):
    """Put a value into a list of the largest, sorted from the largest on; returns how many it holds."""
    k = count
    if k == values.size:
        if value <= values[k - 1]:
            return count
        k -= 1
    while k > 0 and values[k - 1] < value:
        values[k], places[k] = values[k - 1], places[k - 1]
        k -= 1
    values[k], places[k] = value, place
    return min(count + 1, values.size)


@jit
def ascend_blocks(gram, duals, goal, blocks):
    """Steps on pairs of the worst duals, block by block, until no pair of all gains more than ``goal``.

    Returns the number of steps, and what the worst pair gains.
    """
    beta, residuals, lower, upper, epsilon = duals
    half = max(1, blocks.size // 2)
    gains, rises = np.empty(half), np.empty(half, dtype=np.int64)
    losses, falls = np.empty(half), np.empty(half, dtype=np.int64)
    taken = np.zeros(beta.size, dtype=np.bool_)
    n_steps = 0
    violation = np.inf
    for _ in range(blocks.most):
        n_rises, n_falls, least = 0, 0, np.inf
        for k in range(beta.size):
            if beta[k] < upper[k]:
                n_rises = insert_largest(gains, rises, n_rises, rising(beta[k], residuals[k], epsilon), k)
        for k in range(n_rises):
            taken[rises[k]] = True
        for k in range(beta.size):
            if beta[k] > lower[k]:
                loss = falling(beta[k], residuals[k], epsilon)
                least = min(least, loss)
                if not taken[k]:
                    n_falls = insert_largest(losses, falls, n_falls, -loss, k)
        for k in range(n_rises):
            taken[rises[k]] = False
        violation = gains[0] - least if n_rises > 0 else -np.inf
        if violation <= goal or n_steps >= blocks.max_steps:
            break
        places = np.concatenate((rises[:n_rises], falls[:n_falls]))
        part = np.empty((places.size, places.size))
        for i in range(places.size):
            row = gram[places[i]]
            for j in range(places.size):
                part[i, j] = row[places[j]]
        before, after = beta[places], beta[places]
        inside = Duals(after, residuals[places], lower[places], upper[places], epsilon)
        made = ascend_pairs(part, inside, blocks.share * violation, blocks.max_steps - n_steps)
        if made == 0:
            break
        n_steps += made
        for k in range(places.size):
            change = after[k] - before[k]
            if change != 0.0:
                row = gram[places[k]]
                beta[places[k]] = after[k]
                for j in range(beta.size):
                    residuals[j] -= change * np.float64(row[j])
    return n_steps, violation


@jit
def add_kernel_rows(stored, slots, coefficients, first, last, scores):
    """Add rows of a stored kernel matrix, times coefficients, to the scores of some columns, in float64."""
    for k in range(slots.size):
        row, factor = stored[slots[k]], coefficients[k]
        for j in range(first, last):
            scores[j] += factor * np.float64(row[j])


@jit
def store_block(values, slots, first, stored):
    """Copy a block of kernel values, one row a slot, into its columns."""
    for k in range(slots.size):
        target, source = stored[slots[k]], values[k]
        for j in range(source.size):
            target[first + j] = source[j]
