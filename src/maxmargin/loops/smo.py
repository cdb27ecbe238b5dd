"""Sequential minimal optimisation: two duals at a time, on the line that keeps their sum (theory B10).

Fan, Chen, Lin, "Working set selection using second order information for training support vector machines", 2005
(WSS 2). Duals are signed, beta_i = y_i alpha_i, so that classification and regression are one loop: the tube's price
epsilon |beta| only bends the slope at zero, and a step ends there.
"""

from typing import NamedTuple

import numpy as np

from maxmargin.loops.jit import inlined, jit, reducing

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


@reducing
def largest_sum(values, terms):
    """The largest sum of two entries; minus infinity if there is none."""
    most = -np.inf
    for k in range(values.size):
        most = max(most, values[k] + terms[k])
    return most


@reducing
def smallest_sum(values, terms):
    """The smallest sum of two entries; infinity if there is none."""
    least = np.inf
    for k in range(values.size):
        least = min(least, values[k] + terms[k])
    return least


@reducing
def largest(values):
    """The largest value, if it is not negative."""
    most = 0.0
    for k in range(values.size):
        most = max(most, values[k])
    return most


@reducing
def fill_gains(gains, most, residuals, to_fall, row, diagonal, own):
    """Twice what the dual's value gains when one dual rises, which gains ``most``, and another falls with it."""
    for k in range(gains.size):
        difference = max(most - (residuals[k] + to_fall[k]), 0.0)
        curvature = max(own + diagonal[k] - 2.0 * row[k], SMALLEST_CURVATURE)
        gains[k] = difference * difference / curvature


@inlined
def set_terms(duals, to_rise, to_fall, k):
    """What is to be added to a residual for the gain when its dual rises, and for the loss when it falls."""
    beta, _, lower, upper, epsilon = duals
    to_rise[k] = rising(beta[k], 0.0, epsilon) if beta[k] < upper[k] else -np.inf
    to_fall[k] = falling(beta[k], 0.0, epsilon) if beta[k] > lower[k] else np.inf


@jit
def ascend_pairs(gram, duals, tol, max_steps):
    """Steps on pairs of a block of duals, until no pair gains more than ``tol``; returns their number."""
    beta, residuals, lower, upper, _ = duals
    size = beta.size
    # Entries of the diagonal lie far apart from one another.
    diagonal, to_rise, to_fall, gains = np.empty(size), np.empty(size), np.empty(size), np.empty(size)
    for k in range(size):
        diagonal[k] = gram[k, k]
        set_terms(duals, to_rise, to_fall, k)
    n_steps = 0
    while n_steps < max_steps:
        most, least = largest_sum(residuals, to_rise), smallest_sum(residuals, to_fall)
        if not most - least > tol:
            break
        i = 0
        while residuals[i] + to_rise[i] != most:
            i += 1
        row = gram[i]
        fill_gains(gains, most, residuals, to_fall, row, diagonal, diagonal[i])
        best, j = largest(gains), 0
        while gains[j] != best:
            j += 1
        curvature = max(diagonal[i] + diagonal[j] - 2.0 * row[j], SMALLEST_CURVATURE)
        step = (most - residuals[j] - to_fall[j]) / curvature
        step = min(step, min(room_to_rise(beta[i], upper[i]), room_to_fall(beta[j], lower[j])))
        if not step > 0.0:
            break
        # An end is reached exactly, so that the dual counts as being there.
        beta[i] = 0.0 if step == -beta[i] else (upper[i] if step == upper[i] - beta[i] else beta[i] + step)
        beta[j] = 0.0 if step == beta[j] else (lower[j] if step == beta[j] - lower[j] else beta[j] - step)
        other = gram[j]
        for k in range(size):
            residuals[k] -= step * (row[k] - other[k])
        set_terms(duals, to_rise, to_fall, i)
        set_terms(duals, to_rise, to_fall, j)
        n_steps += 1
    return n_steps


class Blocks(NamedTuple):
    """How a run takes blocks, and when it ends.

    Attributes
    ----------
    size, kept : new duals in a block, and duals kept from before
    share : pairs of a block are taken until they gain no more than this share of what the worst pair of all does
    most, max_steps : the most blocks, and the most pairs
    violation : the gain of the worst pair of all at which to end
    gap : the relative gap at which to end; negative where it is not looked at
    """

    size: int
    kept: int
    share: float
    most: int
    max_steps: int
    violation: float
    gap: float


@jit
def relative_gap(duals, targets, b):
    """The gap between the values of the duals and of their plane with the intercept b, relative to the latter.

    sum beta = 0, so that the gap is sum loss(r) + epsilon |beta| - beta r with r = t - f - b.
    """
    beta, residuals, lower, upper, epsilon = duals
    gap, losses, square = 0.0, 0.0, 0.0
    for k in range(beta.size):
        residual = residuals[k] - b
        loss = upper[k] * max(0.0, residual - epsilon) - lower[k] * max(0.0, -residual - epsilon)
        losses += loss
        gap += loss + epsilon * abs(beta[k]) - beta[k] * residual
        square += beta[k] * (targets[k] - residuals[k])
    primal = 0.5 * square + losses
    return gap / primal if primal > 0.0 else 0.0


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
def ascend_blocks(gram, duals, targets, blocks):
    """Steps on pairs of the worst duals, block by block.

    Duals between their ends stay in the block: else those of two blocks in turn would undo each other's steps. Returns
    the number of steps, and what the worst pair gains.
    """
    beta, residuals, lower, upper, epsilon = duals
    half = max(1, blocks.size // 2)
    gains, rises = np.empty(half), np.empty(half, dtype=np.int64)
    losses, falls = np.empty(half), np.empty(half, dtype=np.int64)
    kept = np.empty(0, dtype=np.int64)
    taken = np.zeros(beta.size, dtype=np.bool_)
    n_steps = 0
    violation = np.inf
    for _ in range(blocks.most):
        n_rises, n_falls, most, least = 0, 0, -np.inf, np.inf
        for k in range(beta.size):
            if beta[k] < upper[k]:
                gain = rising(beta[k], residuals[k], epsilon)
                most = max(most, gain)
                if not taken[k]:
                    n_rises = insert_largest(gains, rises, n_rises, gain, k)
        for k in range(n_rises):
            taken[rises[k]] = True
        for k in range(beta.size):
            if beta[k] > lower[k]:
                loss = falling(beta[k], residuals[k], epsilon)
                least = min(least, loss)
                if not taken[k]:
                    n_falls = insert_largest(losses, falls, n_falls, -loss, k)
        violation = most - least
        if violation <= blocks.violation or n_steps >= blocks.max_steps:
            break
        if blocks.gap >= 0.0 and relative_gap(duals, targets, 0.5 * (most + least)) <= blocks.gap:
            break
        places = np.concatenate((rises[:n_rises], falls[:n_falls], kept))
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
        taken[places] = False
        n_kept = 0
        for k in range(places.size):
            place, change = places[k], after[k] - before[k]
            if change != 0.0:
                row = gram[place]
                beta[place] = after[k]
                for j in range(beta.size):
                    residuals[j] -= change * np.float64(row[j])
            between = after[k] != 0.0 and lower[place] < after[k] < upper[place]
            if between and n_kept < blocks.kept:
                places[n_kept] = place
                n_kept += 1
        kept = places[:n_kept].copy()
        taken[kept] = True
    return n_steps, violation


@jit
def add_kernel_rows(stored, slots, coefficients, scores, first, last):
    """Add rows of a stored kernel matrix, times coefficients, to the scores of some columns, in float64.

    Four rows at a time: the scores are then read and written a quarter as often.
    """
    sums = scores[first:last]
    in_fours = slots.size - slots.size % 4
    for k in range(0, in_fours, 4):
        row, second = stored[slots[k], first:last], stored[slots[k + 1], first:last]
        third, fourth = stored[slots[k + 2], first:last], stored[slots[k + 3], first:last]
        a, b, c, d = coefficients[k], coefficients[k + 1], coefficients[k + 2], coefficients[k + 3]
        for j in range(sums.size):
            sums[j] += a * np.float64(row[j]) + b * np.float64(second[j]) + c * np.float64(third[j]) + d * fourth[j]
    for k in range(in_fours, slots.size):
        row, a = stored[slots[k], first:last], coefficients[k]
        for j in range(sums.size):
            sums[j] += a * np.float64(row[j])


@jit
def store_block(values, slots, first, stored):
    """Copy a block of kernel values, one row a slot, into its columns."""
    for k in range(slots.size):
        source = values[k]
        target = stored[slots[k], first : first + source.size]
        for j in range(source.size):
            target[j] = source[j]
