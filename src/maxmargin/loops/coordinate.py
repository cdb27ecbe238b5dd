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


class Ascent(NamedTuple):
    """Per-row state, w, and the intercept, which moves by ``intercept_step`` times every dual's change."""

    state: np.ndarray
    w: np.ndarray
    b: np.ndarray
    intercept_step: float
    epsilon: float


class Epochs(NamedTuple):
    """Epochs on the rows of ``order``, and where a call ends.

    Attributes
    ----------
    order : ndarray of uint32, changed in place
        The active rows are its first ones.
    shuffled : bool
        Whether every epoch has a random order of its own.
    most, gap, most_rows : int, float, int
        The call ends after this number of epochs, or after one whose estimate of the duality gap is at most ``gap``, or
        that completes this number of rows, or that changes no dual.
    rows_per_call : int
        It ends in the middle of an epoch after this number of rows.
    ahead : int
        Rows are prefetched this number of steps before they are needed.
    """

    order: np.ndarray
    shuffled: bool
    most: int
    gap: float
    most_rows: int
    rows_per_call: int
    ahead: int


# Places in the progress of an epoch: the next row in the order, rows kept so far, active rows, the largest violation,
# the estimate of the gap, and the shrinking threshold: a bounded dual whose projected-gradient slack exceeds it leaves
# the order.
NEXT, N_KEPT, N_ACTIVE, LARGEST, GAP, THRESHOLD = range(6)
N_PROGRESS = 6


@inlined
def optimal_dual(state, i, gradient, epsilon):
    """The optimum of one dual variable, given the derivative of the dual objective's smooth part."""
    dual = state[i, DUAL] - (gradient + epsilon) * state[i, STEP]
    if dual <= 0.0:
        dual = min(0.0, state[i, DUAL] - (gradient - epsilon) * state[i, STEP])
    return min(max(dual, state[i, LOWER]), state[i, UPPER])


@inlined
def projected_gradient_slack(state, i, gradient, epsilon):
    """Projected-gradient slack of a dual variable: positive at an optimal bound, minus the violation elsewhere."""
    slack = np.inf
    if state[i, DUAL] < state[i, UPPER]:
        slack = min(slack, gradient + (epsilon if state[i, DUAL] >= 0.0 else -epsilon))
    if state[i, DUAL] > state[i, LOWER]:
        slack = min(slack, -gradient + (epsilon if state[i, DUAL] <= 0.0 else -epsilon))
    return slack


@inlined
def gap_of_row(state, i, gradient, epsilon):
    """The term of a row in the duality gap: its loss, minus its residual times the dual, minus the dual's own terms."""
    curvature, dual = state[i, CURVATURE], state[i, DUAL]
    residual = curvature * dual - gradient
    above, below = max(0.0, residual - epsilon), max(0.0, -residual - epsilon)
    if curvature > 0.0:
        excess = (above if state[i, UPPER] > 0.0 else 0.0) + (below if state[i, LOWER] < 0.0 else 0.0)
        loss = 0.5 * excess * excess / curvature
    else:
        loss = state[i, UPPER] * above - state[i, LOWER] * below
    return loss + epsilon * abs(dual) + 0.5 * curvature * dual * dual - dual * residual


@inlined
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
def coordinate_epochs(rows, ascent, epochs, progress, seed):
    """Steps on the active rows in turn, epoch after epoch.

    ``progress`` says where the epoch stands, and is changed in place. The estimate of the duality gap is the sum of the
    rows' terms, each at the coefficients of its visit; bounded duals that have left the order have none. Return the
    number of epochs completed, of rows visited, and the generator's next state.
    """
    state, order, epsilon, w = ascent.state, epochs.order, ascent.epsilon, ascent.w
    first, kept, n_active = int(progress[NEXT]), int(progress[N_KEPT]), int(progress[N_ACTIVE])
    largest, gap, threshold = progress[LARGEST], progress[GAP], progress[THRESHOLD]
    n_epochs, n_visited = 0, 0
    while True:
        if first == 0:
            largest, gap = 0.0, 0.0
            if epochs.shuffled:
                seed = shuffle(order, n_active, seed)
        last = min(n_active, first + epochs.rows_per_call - n_visited)
        for k in range(first, last):
            if k + epochs.ahead < last:
                fetch_row(rows, order[k + epochs.ahead])
                fetch_early(state, np.int64(order[k + epochs.ahead]) * STATE_SIZE)
            i = order[k]
            gradient = dot(rows, i, w) + ascent.b[0] - state[i, TARGET] + state[i, CURVATURE] * state[i, DUAL]
            gap += gap_of_row(state, i, gradient, epsilon)
            dual = optimal_dual(state, i, gradient, epsilon)
            change = dual - state[i, DUAL]
            if change != 0.0:
                largest = max(largest, -projected_gradient_slack(state, i, gradient, epsilon))
                state[i, DUAL] = dual
                add_scaled(rows, i, change, w)
                ascent.b[0] += ascent.intercept_step * change
            elif projected_gradient_slack(state, i, gradient, epsilon) > threshold:
                continue
            order[kept] = i
            kept += 1
        n_visited += last - first
        first = last
        if first < n_active:
            break
        n_epochs += 1
        n_active, first, kept = kept, 0, 0
        threshold = largest if largest > 0.0 else np.inf
        if largest == 0.0 or gap <= epochs.gap or n_epochs >= epochs.most:
            break
        if n_visited >= min(epochs.most_rows, epochs.rows_per_call):
            break
    progress[NEXT], progress[N_KEPT], progress[N_ACTIVE] = first, kept, n_active
    progress[LARGEST], progress[GAP], progress[THRESHOLD] = largest, gap, threshold
    return n_epochs, n_visited, seed


@jit
def greedy_steps(rows, ascent, n_steps):
    """Steps on the dual variable with the greatest gain, for which all rows are evaluated; return the last gain."""
    state, epsilon = ascent.state, ascent.epsilon
    greatest = 0.0
    for _ in range(n_steps):
        greatest, chosen, change = 0.0, 0, 0.0
        for i in range(state.shape[0]):
            gradient = dot(rows, i, ascent.w) + ascent.b[0] - state[i, TARGET] + state[i, CURVATURE] * state[i, DUAL]
            move = optimal_dual(state, i, gradient, epsilon) - state[i, DUAL]
            absolute = epsilon * (abs(state[i, DUAL] + move) - abs(state[i, DUAL]))
            gain = -gradient * move - 0.5 * move * move / state[i, STEP] - absolute
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
    state, n_active = ascent.state, 0
    for i in range(scores.size):
        gradient = scores[i] - state[i, TARGET] + state[i, CURVATURE] * state[i, DUAL]
        if (
            state[i, LOWER] < state[i, UPPER]
            and not projected_gradient_slack(state, i, gradient, ascent.epsilon) > shrinking_threshold
        ):
            order[n_active] = i
            n_active += 1
    return n_active
