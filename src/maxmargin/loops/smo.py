"""Sequential minimal optimisation: two duals at a time, on the line that keeps their sum (theory B10).

Fan, Chen, Lin, "Working set selection using second order information for training support vector machines", 2005
(WSS 2). Duals are signed, beta_i = y_i alpha_i, so that classification and regression are one loop: the tube's price
epsilon |beta| only bends the slope at zero, and a step ends there.
"""

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


@jit
def ascend_pairs(gram, residuals, beta, lower, upper, epsilon, tol, max_steps):
    """Steps on pairs of a block of duals, until no pair gains more than ``tol``; returns their number.

    ``residuals`` are t_i - f(x_i) without intercept; they and ``beta`` are changed in place.
    """
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
