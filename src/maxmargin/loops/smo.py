"""Sequential minimal optimisation: two duals at a time, on the line that keeps their sum.

Fan, Chen, Lin, "Working set selection using second order information for training support vector machines", 2005
(WSS 2). Duals are signed, beta_i = y_i alpha_i, so that classification and regression are one loop: the term
epsilon |beta| of a regression has a kink at zero, and a step ends there.

"Up" and "down" are the directions of a dual: I_up holds the duals that may rise, I_low those that may fall.
"""

from typing import NamedTuple

import numpy as np

from maxmargin.loops.jit import inlined, jit, merged, reducing

# The curvature along a pair of points with the same feature vector is zero. This positive value, in the unit of small
# kernel values, makes its step so long that it ends at a bound.
SMALLEST_CURVATURE = 1e-12
# The smallest unit, whose inverse does not overflow.
SMALLEST_UNIT = 1e-280
# Rows and columns of a square whose transpose is copied at a time.
SQUARE = 32


@inlined
def derivative_up(beta, residual, epsilon):
    """Derivative of the dual objective where this dual rises."""
    return residual - epsilon if beta >= 0.0 else residual + epsilon


@inlined
def derivative_down(beta, residual, epsilon):
    """Derivative of the dual objective, in the rising direction, where this dual falls."""
    return residual - epsilon if beta > 0.0 else residual + epsilon


@inlined
def largest_step_up(beta, upper):
    """How far a dual can rise until its bound or the kink at zero."""
    return -beta if beta < 0.0 else upper - beta


@inlined
def largest_step_down(beta, lower):
    """How far a dual can fall until its bound or the kink at zero."""
    return beta if beta > 0.0 else beta - lower


class Duals(NamedTuple):
    """Signed duals with their bounds, and the residuals t_i - f(x_i) without intercept.

    Attributes
    ----------
    beta, residuals : ndarray, changed in place
    lower, upper : ndarray
    epsilon : of the epsilon-insensitive loss; 0 for classification
    """

    beta: np.ndarray
    residuals: np.ndarray
    lower: np.ndarray
    upper: np.ndarray
    epsilon: float


@reducing
def extremes(values, up_terms, down_terms):
    """The largest sum of a value and its up-term, where to look for it, and the smallest one with a down-term.

    Four quarters are read side by side: within a quarter every maximum has to wait for the last one. The place is the
    beginning of the first quarter with the largest sum.
    """
    size = values.size // 4
    first, second, third, fourth = (
        values[:size],
        values[size : 2 * size],
        values[2 * size : 3 * size],
        values[3 * size :],
    )
    up_1, up_2, up_3, up_4 = (
        up_terms[:size],
        up_terms[size : 2 * size],
        up_terms[2 * size : 3 * size],
        up_terms[3 * size :],
    )
    down_1, down_2 = down_terms[:size], down_terms[size : 2 * size]
    down_3, down_4 = down_terms[2 * size : 3 * size], down_terms[3 * size :]
    most_1, most_2, most_3, most_4 = -np.inf, -np.inf, -np.inf, -np.inf
    least_1, least_2, least_3, least_4 = np.inf, np.inf, np.inf, np.inf
    for k in range(size):
        most_1, least_1 = max(most_1, first[k] + up_1[k]), min(least_1, first[k] + down_1[k])
        most_2, least_2 = max(most_2, second[k] + up_2[k]), min(least_2, second[k] + down_2[k])
        most_3, least_3 = max(most_3, third[k] + up_3[k]), min(least_3, third[k] + down_3[k])
        most_4, least_4 = max(most_4, fourth[k] + up_4[k]), min(least_4, fourth[k] + down_4[k])
    for k in range(size, fourth.size):
        most_4, least_4 = max(most_4, fourth[k] + up_4[k]), min(least_4, fourth[k] + down_4[k])
    most = max(max(most_1, most_2), max(most_3, most_4))
    place = 0 if most == most_1 else (size if most == most_2 else (2 * size if most == most_3 else 3 * size))
    return most, place, min(min(least_1, least_2), min(least_3, least_4))


@reducing
def largest_place(values):
    """The place of the largest of values that are not negative; in quarters, as for ``extremes``."""
    size = values.size // 4
    first, second, third, fourth = (
        values[:size],
        values[size : 2 * size],
        values[2 * size : 3 * size],
        values[3 * size :],
    )
    most_1, most_2, most_3, most_4 = 0.0, 0.0, 0.0, 0.0
    for k in range(size):
        most_1, most_2 = max(most_1, first[k]), max(most_2, second[k])
        most_3, most_4 = max(most_3, third[k]), max(most_4, fourth[k])
    for k in range(size, fourth.size):
        most_4 = max(most_4, fourth[k])
    most = max(max(most_1, most_2), max(most_3, most_4))
    place = 0 if most == most_1 else (size if most == most_2 else (2 * size if most == most_3 else 3 * size))
    while values[place] != most:
        place += 1
    return place


@inlined
def unit_of(diagonal):
    """The unit of a working set's curvatures: the largest squared length where that is below one, else one."""
    largest = 0.0
    for k in range(diagonal.size):
        largest = max(largest, diagonal[k])
    return max(largest, SMALLEST_UNIT) if 0.0 < largest < 1.0 else 1.0


@reducing
def fill_gains(gains, most, residuals, down_terms, row, diagonal, own, inverse_unit):
    """Twice the gain of the dual objective where a dual of derivative ``most`` rises and another falls, at best.

    In the unit of curvatures: a divisor that is not seen to be positive would be checked, and the loop not vectorised.
    """
    for k in range(gains.size):
        difference = max(most - (residuals[k] + down_terms[k]), 0.0)
        curvature = max(inverse_unit * (own + diagonal[k] - 2.0 * row[k]), SMALLEST_CURVATURE)
        gains[k] = difference * difference / curvature


@inlined
def set_terms(duals, up_terms, down_terms, k):
    """Terms that turn a residual into the two derivatives; infinite where the dual is not in I_up or I_low."""
    beta, _, lower, upper, epsilon = duals
    up_terms[k] = derivative_up(beta[k], 0.0, epsilon) if beta[k] < upper[k] else -np.inf
    down_terms[k] = derivative_down(beta[k], 0.0, epsilon) if beta[k] > lower[k] else np.inf


@jit
def ascend_pairs(gram, duals, tol, max_steps):
    """Optimise pairs of a working set until its KKT violation is at most ``tol``; return the number of steps.

    ``gram`` is the kernel matrix of the working set.
    """
    beta, residuals, lower, upper, _ = duals
    size = beta.size
    # A copy of the diagonal, whose entries are far apart in memory.
    diagonal, up_terms, down_terms, gains = np.empty(size), np.empty(size), np.empty(size), np.empty(size)
    for k in range(size):
        diagonal[k] = gram[k, k]
        set_terms(duals, up_terms, down_terms, k)
    n_steps, unit = 0, unit_of(diagonal)
    while n_steps < max_steps:
        most, i, least = extremes(residuals, up_terms, down_terms)
        if not most - least > tol:
            break
        while residuals[i] + up_terms[i] != most:
            i += 1
        row = gram[i]
        fill_gains(gains, most, residuals, down_terms, row, diagonal, diagonal[i], 1.0 / unit)
        j = largest_place(gains)
        curvature = max(diagonal[i] + diagonal[j] - 2.0 * row[j], SMALLEST_CURVATURE * unit)
        step = (most - residuals[j] - down_terms[j]) / curvature
        step = min(step, min(largest_step_up(beta[i], upper[i]), largest_step_down(beta[j], lower[j])))
        if not step > 0.0:
            break
        # A bound is reached exactly, so that the dual counts as bounded.
        beta[i] = 0.0 if step == -beta[i] else (upper[i] if step == upper[i] - beta[i] else beta[i] + step)
        beta[j] = 0.0 if step == beta[j] else (lower[j] if step == beta[j] - lower[j] else beta[j] - step)
        other = gram[j]
        for k in range(size):
            residuals[k] -= step * (np.float64(row[k]) - np.float64(other[k]))
        set_terms(duals, up_terms, down_terms, i)
        set_terms(duals, up_terms, down_terms, j)
        n_steps += 1
    return n_steps


class WorkingSets(NamedTuple):
    """How a run chooses working sets, and when it ends.

    Attributes
    ----------
    size, kept : new duals in a working set, and free duals kept from the one before
    share : a working set is optimised until its KKT violation is this share of that of all duals
    most, max_steps : the largest number of working sets, and of steps on pairs
    violation : the KKT violation at which to end
    gap : the relative gap at which to end; negative where it is not measured
    accepted : the largest KKT violation with which the gap may end the run
    """

    size: int
    kept: int
    share: float
    most: int
    max_steps: int
    violation: float
    gap: float
    accepted: float


@jit
def gap_and_primal(duals, targets, b):
    """The duality gap of the duals and of their hyperplane with the intercept b, and the primal value.

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
    return gap, 0.5 * square + losses


@inlined
def relative_gap(duals, targets, b):
    """The duality gap as a share of the primal value."""
    gap, primal = gap_and_primal(duals, targets, b)
    return gap / primal if primal > 0.0 else 0.0


@inlined
def insert_largest(values, places, count, value, place):
    """Insert a value into the list of the largest ones, in descending order; return how many it holds."""
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


class Segments(NamedTuple):
    """Where the rows of a problem are in a kernel matrix: two stretches of neighbours, the second one perhaps empty.

    Attributes
    ----------
    first, n_first : where the first stretch begins, and its length
    second : where the second one begins
    """

    first: int
    n_first: int
    second: int


@inlined
def place_in(segments, k):
    """Position of a row of the problem in the kernel matrix."""
    return segments.first + k if k < segments.n_first else segments.second + k - segments.n_first


@inlined
def subtract_row(row, segments, factor, residuals):
    """Subtract a row of the kernel matrix, times a factor, from the residuals of a problem."""
    first, second = residuals[: segments.n_first], residuals[segments.n_first :]
    values = row[segments.first : segments.first + first.size]
    for k in range(first.size):
        first[k] -= factor * np.float64(values[k])
    others = row[segments.second : segments.second + second.size]
    for k in range(second.size):
        second[k] -= factor * np.float64(others[k])


@jit
def ascend_working_sets(gram, segments, duals, targets, sets):
    """Optimise working sets of the duals that violate the KKT conditions most, one after the other.

    Free duals stay in the working set: else two sets in turn would undo each other's steps. Return the number of
    steps, the KKT violation (max over I_up minus min over I_low of the derivatives) and the intercept in their middle.
    """
    beta, residuals, lower, upper, epsilon = duals
    half = max(1, sets.size // 2)
    largest_up, ups = np.empty(half), np.empty(half, dtype=np.int64)
    largest_down, downs = np.empty(half), np.empty(half, dtype=np.int64)
    taken = np.zeros(beta.size, dtype=np.bool_)
    n_steps, n_kept = 0, 0
    for k in range(beta.size):
        if n_kept < sets.kept and beta[k] != 0.0 and lower[k] < beta[k] < upper[k]:
            taken[k] = True
            n_kept += 1
    kept = np.flatnonzero(taken)
    violation, b = np.inf, 0.0
    for _ in range(sets.most):
        n_ups, n_downs, most, least = 0, 0, -np.inf, np.inf
        for k in range(beta.size):
            if beta[k] < upper[k]:
                derivative = derivative_up(beta[k], residuals[k], epsilon)
                most = max(most, derivative)
                if not taken[k]:
                    n_ups = insert_largest(largest_up, ups, n_ups, derivative, k)
        for k in range(n_ups):
            taken[ups[k]] = True
        for k in range(beta.size):
            if beta[k] > lower[k]:
                derivative = derivative_down(beta[k], residuals[k], epsilon)
                least = min(least, derivative)
                if not taken[k]:
                    n_downs = insert_largest(largest_down, downs, n_downs, -derivative, k)
        violation, b = most - least, 0.5 * (most + least)
        if violation <= sets.violation or n_steps >= sets.max_steps:
            break
        may_end = sets.gap >= 0.0 and violation <= sets.accepted
        if may_end and relative_gap(duals, targets, b) <= sets.gap:
            break
        places = np.concatenate((ups[:n_ups], downs[:n_downs], kept))
        columns = np.empty(places.size, dtype=np.int64)
        for k in range(places.size):
            columns[k] = place_in(segments, places[k])
        part = np.empty((places.size, places.size))
        for i in range(places.size):
            row = gram[columns[i]]
            for j in range(places.size):
                part[i, j] = row[columns[j]]
        before, after = beta[places], beta[places]
        inside = Duals(after, residuals[places], lower[places], upper[places], epsilon)
        made = ascend_pairs(part, inside, sets.share * violation, sets.max_steps - n_steps)
        if made == 0:
            break
        n_steps += made
        taken[places] = False
        n_kept = 0
        for k in range(places.size):
            place, change = places[k], after[k] - before[k]
            if change != 0.0:
                beta[place] = after[k]
                subtract_row(gram[columns[k]], segments, change, residuals)
            free = after[k] != 0.0 and lower[place] < after[k] < upper[place]
            if free and n_kept < sets.kept:
                places[n_kept] = place
                n_kept += 1
        kept = places[:n_kept].copy()
        taken[kept] = True
    return n_steps, violation, b


@merged
def _ascend_whole(gram, duals, targets, sets):
    """As ``ascend_working_sets``, where all duals are one working set; return the number of steps and the intercept."""
    beta, residuals, lower, upper, epsilon = duals
    n_steps, violation, b = 0, np.inf, 0.0
    for _ in range(sets.most):
        most, least = -np.inf, np.inf
        for k in range(beta.size):
            if beta[k] < upper[k]:
                most = max(most, derivative_up(beta[k], residuals[k], epsilon))
            if beta[k] > lower[k]:
                least = min(least, derivative_down(beta[k], residuals[k], epsilon))
        violation, b = most - least, 0.5 * (most + least)
        if violation <= sets.violation:
            break
        if violation <= sets.accepted and relative_gap(duals, targets, b) <= sets.gap:
            break
        made = ascend_pairs(gram, duals, sets.share * violation, sets.max_steps - n_steps)
        if made == 0:
            break
        n_steps += made
    return n_steps, violation, b


# Duals that are one working set; of more, working sets are chosen. A pair of classes with more rows has more duals.
MOST_IN_ONE_SET = 512
# Places in the values of a pair: its steps, the KKT violation, the intercept, the primal value and the gap.
STEPS, VIOLATION, INTERCEPT, PRIMAL, GAP = range(5)
N_VALUES = 5


@jit
def ascend_class_pairs(gram, cuts, bounds, betas, values, is_open, sets, first, last, most_work):
    """Solve the problems of pairs of classes one after the other, from ``first`` to ``last``; return the next pair.

    The rows of ``gram`` are sorted by class, and class k has those from ``cuts[k]`` to ``cuts[k + 1]``. ``bounds`` are
    the largest sizes of the rows' duals. ``betas`` holds the duals of the pairs (0, 1), (0, 2), ..., the rows of the
    first class before those of the second: those to begin with, then the solutions. Pairs that are not open are left
    as they are. The call ends after about ``most_work`` kernel values.
    """
    pair, place, work = 0, 0, 0.0
    for one in range(cuts.size - 2):
        for other in range(one + 1, cuts.size - 1):
            n_positive, n_negative = cuts[one + 1] - cuts[one], cuts[other + 1] - cuts[other]
            size = n_positive + n_negative
            if pair >= first:
                if pair == last or work > most_work:
                    return pair
                if is_open[pair]:
                    beta = betas[place : place + size]
                    work += _ascend_pair(gram, cuts[one], n_positive, cuts[other], bounds, beta, values[pair], sets)
            place += size
            pair += 1
    return pair


@merged
def _ascend_pair(gram, positive, n_positive, negative, bounds, beta, values, sets):
    """Solve the problem of two classes, whose rows begin at ``positive`` and ``negative``; return its work."""
    size = beta.size
    segments = Segments(positive, n_positive, negative)
    targets, lower, upper = np.ones(size), np.zeros(size), np.zeros(size)
    for i in range(size):
        place = place_in(segments, i)
        if i < n_positive:
            upper[i] = bounds[place]
        else:
            lower[i], targets[i] = -bounds[place], -1.0
    residuals = targets.copy()
    for i in range(size):
        if beta[i] != 0.0:
            subtract_row(gram[place_in(segments, i)], segments, beta[i], residuals)
    duals = Duals(beta, residuals, lower, upper, 0.0)
    if size > MOST_IN_ONE_SET:
        n_steps, violation, b = ascend_working_sets(gram, segments, duals, targets, sets)
    else:
        part = np.empty((size, size))
        for i in range(size):
            row = gram[place_in(segments, i)]
            for j in range(n_positive):
                part[i, j] = row[positive + j]
            for j in range(n_positive, size):
                part[i, j] = row[negative + j - n_positive]
        n_steps, violation, b = _ascend_whole(part, duals, targets, sets)
    values[STEPS] += n_steps
    values[VIOLATION], values[INTERCEPT] = violation, b
    values[GAP], values[PRIMAL] = gap_and_primal(duals, targets, b)
    return float(size) * (min(size, MOST_IN_ONE_SET) + n_steps)


@jit
def add_kernel_rows(stored, slots, coefficients, scores, first, last):
    """Add rows of a stored kernel matrix, times coefficients, to the scores of some columns, in float64.

    Four rows at a time, so that the scores are read and written a quarter as often.
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


@jit
def mirror_block(matrix, first_row, last_row, first_column, last_column):
    """Copy a block of a symmetric matrix to its mirrored place, in squares that stay in the cache."""
    for top in range(first_row, last_row, SQUARE):
        for left in range(first_column, last_column, SQUARE):
            for j in range(left, min(last_column, left + SQUARE)):
                target = matrix[j]
                for i in range(top, min(last_row, top + SQUARE)):
                    target[i] = matrix[i, j]


@jit
def gather_block(stored, slots, columns, order, block, first, last):
    """Copy some columns of stored rows of a kernel matrix to rows of a block; ``order`` sorts the columns.

    Rows are read from memory in ascending order, which the processor then fetches ahead.
    """
    for i in range(first, last):
        source, target = stored[slots[i]], block[i]
        for k in range(order.size):
            target[order[k]] = source[columns[order[k]]]
