"""Dual coordinate ascent: one dual variable at a time is set to its optimum, or beyond it by over-relaxation.

Hsieh, Chang, Lin, Keerthi, Sundararajan, "A dual coordinate descent method for large-scale linear SVM", 2008
(Algorithm 1, and shrinking as in its section 3.2); Mangasarian, Musicant, "Successive overrelaxation for support vector
machines", 1999; Ho, Lin, "Large-scale linear support vector regression", 2012.
"""

from typing import NamedTuple

import numpy as np

from maxmargin.loops.dispatch import Dispatched
from maxmargin.loops.jit import inlined, jit
from maxmargin.loops.newton import lower_bound, upper_bound
from maxmargin.loops.prefetch import fetch_early
from maxmargin.loops.rows import add_scaled, dot, fetch_row

# The state of a row lies in one cache line: dual, target, lower and upper bound, curvature, and 1/Q_ii.
DUAL, TARGET, LOWER, UPPER, CURVATURE, STEP = range(6)
STATE_SIZE = 8


class Hinge(NamedTuple):
    """The hinge loss: duals between zero and a bound, without terms of their own."""

    epsilon: float = 0.0


class PiecewiseLoss(NamedTuple):
    """A one- or two-sided loss, linear or squared, of residuals beyond epsilon."""

    epsilon: float


class Ascent(NamedTuple):
    """Per-row state, w, and the intercept, which moves by ``intercept_step`` times every dual's change."""

    state: np.ndarray
    w: np.ndarray
    b: np.ndarray
    intercept_step: float
    loss: Hinge | PiecewiseLoss


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
    relaxation : float
        Steps are this many times as long as those to the optimum of one dual, where the box allows it: below 2 the
        dual objective still rises. Only for losses without epsilon.
    """

    order: np.ndarray
    shuffled: bool
    most: int
    gap: float
    most_rows: int
    rows_per_call: int
    ahead: int
    relaxation: float


# Places in the progress of an epoch: the next row in the order, rows kept so far, active rows, the largest violation,
# the estimate of the gap, the shrinking threshold: a bounded dual whose projected-gradient slack exceeds it leaves the
# order; the number of duals that moved, and the sum of their violations.
NEXT, N_KEPT, N_ACTIVE, LARGEST, GAP, THRESHOLD, N_MOVED, VIOLATIONS = range(8)
N_PROGRESS = 8
# The shrinking threshold is the mean violation of an epoch's moves times this factor, and not above the largest one,
# which a few rows far from their optimum determine: with it alone epochs read up to 1.5 times as many rows (measured).
SHRINKING_FACTOR = 1.5
# Rows whose terms are summed before they are added to the sum of all.
ROWS_PER_SUM = 256


@inlined
def loss_of_row(state, i, residual, epsilon):
    """The loss of a row with this residual."""
    upper, lower, curvature = state[i, UPPER], state[i, LOWER], state[i, CURVATURE]
    above = max(0.0, residual - epsilon) if upper > 0.0 else 0.0
    below = max(0.0, -residual - epsilon) if lower < 0.0 else 0.0
    excess = above + below
    return 0.5 * excess * excess / curvature if curvature > 0.0 else max(upper, -lower) * excess


def smooth_gradient(loss, state, i, score):
    """The derivative of the dual objective's smooth part, negated."""


def optimal_dual(loss, state, i, gradient):
    """The optimum of one dual variable, given the smooth gradient."""


def projected_gradient_slack(loss, state, i, gradient):
    """Projected-gradient slack of a dual variable: positive at an optimal bound, minus the violation elsewhere."""


def gap_of_row(loss, state, i, gradient):
    """The term of a row in the duality gap: its loss, minus its residual times the dual, minus the dual's own terms."""


_smooth_gradient = Dispatched(smooth_gradient)
_optimal_dual = Dispatched(optimal_dual)
_projected_gradient_slack = Dispatched(projected_gradient_slack)
_gap_of_row = Dispatched(gap_of_row)


@_smooth_gradient.on(Hinge)
def _(loss, state, i, score):
    return score - state[i, TARGET]


@_smooth_gradient.on(PiecewiseLoss)
def _(loss, state, i, score):
    return score - state[i, TARGET] + state[i, CURVATURE] * state[i, DUAL]


@_optimal_dual.on(Hinge)
def _(loss, state, i, gradient):
    return min(max(state[i, DUAL] - gradient * state[i, STEP], state[i, LOWER]), state[i, UPPER])


@_optimal_dual.on(PiecewiseLoss)
def _(loss, state, i, gradient):
    dual = state[i, DUAL] - (gradient + loss.epsilon) * state[i, STEP]
    if dual <= 0.0:
        dual = min(0.0, state[i, DUAL] - (gradient - loss.epsilon) * state[i, STEP])
    return min(max(dual, state[i, LOWER]), state[i, UPPER])


@_projected_gradient_slack.on(Hinge)
def _(loss, state, i, gradient):
    slack = np.inf
    if state[i, DUAL] < state[i, UPPER]:
        slack = gradient
    if state[i, DUAL] > state[i, LOWER]:
        slack = min(slack, -gradient)
    return slack


@_projected_gradient_slack.on(PiecewiseLoss)
def _(loss, state, i, gradient):
    slack = np.inf
    if state[i, DUAL] < state[i, UPPER]:
        slack = min(slack, gradient + (loss.epsilon if state[i, DUAL] >= 0.0 else -loss.epsilon))
    if state[i, DUAL] > state[i, LOWER]:
        slack = min(slack, -gradient + (loss.epsilon if state[i, DUAL] <= 0.0 else -loss.epsilon))
    return slack


@_gap_of_row.on(Hinge)
def _(loss, state, i, gradient):
    return max(-gradient * state[i, UPPER], -gradient * state[i, LOWER]) + state[i, DUAL] * gradient


@_gap_of_row.on(PiecewiseLoss)
def _(loss, state, i, gradient):
    curvature, dual = state[i, CURVATURE], state[i, DUAL]
    residual = curvature * dual - gradient
    value = loss_of_row(state, i, residual, loss.epsilon)
    return value + loss.epsilon * abs(dual) + 0.5 * curvature * dual * dual - dual * residual


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
    rows' terms, each at the coefficients of its step; bounded duals that have left the order have none. Return the
    number of epochs completed, of rows evaluated, and the generator's next state.
    """
    state, order, loss, w = ascent.state, epochs.order, ascent.loss, ascent.w
    first, kept, n_active = int(progress[NEXT]), int(progress[N_KEPT]), int(progress[N_ACTIVE])
    largest, gap, threshold = progress[LARGEST], progress[GAP], progress[THRESHOLD]
    n_moved, violations = progress[N_MOVED], progress[VIOLATIONS]
    n_epochs, n_visited = 0, 0
    while True:
        if first == 0:
            largest, gap, n_moved, violations = 0.0, 0.0, 0.0, 0.0
            if epochs.shuffled:
                seed = shuffle(order, n_active, seed)
        last = min(n_active, first + epochs.rows_per_call - n_visited)
        for k in range(first, last):
            if k + epochs.ahead < last:
                fetch_row(rows, order[k + epochs.ahead])
                fetch_early(state, np.int64(order[k + epochs.ahead]) * STATE_SIZE)
            i = order[k]
            gradient = smooth_gradient(loss, state, i, dot(rows, i, w) + ascent.b[0])
            gap += gap_of_row(loss, state, i, gradient)
            dual = optimal_dual(loss, state, i, epochs.relaxation * gradient)
            change = dual - state[i, DUAL]
            if change != 0.0:
                violation = -projected_gradient_slack(loss, state, i, gradient)
                largest = max(largest, violation)
                violations += violation
                n_moved += 1.0
                state[i, DUAL] = dual
                add_scaled(rows, i, change, w)
                ascent.b[0] += ascent.intercept_step * change
            elif projected_gradient_slack(loss, state, i, gradient) > threshold:
                continue
            order[kept] = i
            kept += 1
        n_visited += last - first
        first = last
        if first < n_active:
            break
        n_epochs += 1
        n_active, first, kept = kept, 0, 0
        threshold = min(largest, SHRINKING_FACTOR * violations / n_moved) if largest > 0.0 else np.inf
        if largest == 0.0 or gap <= epochs.gap or n_epochs >= epochs.most:
            break
        if n_visited >= min(epochs.most_rows, epochs.rows_per_call):
            break
    progress[NEXT], progress[N_KEPT], progress[N_ACTIVE] = first, kept, n_active
    progress[LARGEST], progress[GAP], progress[THRESHOLD] = largest, gap, threshold
    progress[N_MOVED], progress[VIOLATIONS] = n_moved, violations
    return n_epochs, n_visited, seed


@jit
def greedy_steps(rows, ascent, n_steps):
    """Steps on the dual variable with the greatest gain, for which all rows are evaluated; return the last gain."""
    state, loss = ascent.state, ascent.loss
    greatest = 0.0
    for _ in range(n_steps):
        greatest, chosen, change = 0.0, 0, 0.0
        for i in range(state.shape[0]):
            gradient = smooth_gradient(loss, state, i, dot(rows, i, ascent.w) + ascent.b[0])
            move = optimal_dual(loss, state, i, gradient) - state[i, DUAL]
            absolute = loss.epsilon * (abs(state[i, DUAL] + move) - abs(state[i, DUAL]))
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
def fill_state(loss, beta, squared_norms, intercept_step, state):
    """Fill the rows' state, given the losses, signed duals and the squared norms of the rows."""
    for i in range(beta.size):
        weight = loss.weights[i]
        curvature = loss.curvature / weight if weight > 0.0 else 0.0
        state[i, DUAL], state[i, TARGET] = beta[i], loss.targets[i]
        state[i, LOWER], state[i, UPPER], state[i, CURVATURE] = lower_bound(loss, i), upper_bound(loss, i), curvature
        # A row of zeros has no curvature: a huge step takes its dual to the end that it tends to.
        state[i, STEP] = 1.0 / max(squared_norms[i] + intercept_step + curvature, 1e-150)


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
        gradient = smooth_gradient(ascent.loss, state, i, scores[i])
        if (
            state[i, LOWER] < state[i, UPPER]
            and not projected_gradient_slack(ascent.loss, state, i, gradient) > shrinking_threshold
        ):
            order[n_active] = i
            n_active += 1
    return n_active


@jit
def sums_of_terms(ascent, scores, multiple):
    """The sums over all rows of the losses, at a multiple of the coefficients with these scores, and dual terms."""
    state, epsilon = ascent.state, ascent.loss.epsilon
    losses, terms = 0.0, 0.0
    for first in range(0, scores.size, ROWS_PER_SUM):
        # Sums of short sums, whose rounding errors stay small.
        losses_here, terms_here = 0.0, 0.0
        for i in range(first, min(first + ROWS_PER_SUM, scores.size)):
            dual = state[i, DUAL]
            losses_here += loss_of_row(state, i, state[i, TARGET] - multiple * scores[i], epsilon)
            terms_here += state[i, TARGET] * dual - epsilon * abs(dual) - 0.5 * state[i, CURVATURE] * dual * dual
        losses += losses_here
        terms += terms_here
    return losses, terms


@inlined
def derivative_of_multiple(ascent, scores, square, multiple):
    """The derivative of the primal objective at a multiple of the coefficients, given their scores and squared norm."""
    state, epsilon = ascent.state, ascent.loss.epsilon
    total = multiple * square
    for i in range(scores.size):
        residual = state[i, TARGET] - multiple * scores[i]
        excess = max(0.0, residual - epsilon) - max(0.0, -residual - epsilon)
        if state[i, CURVATURE] > 0.0:
            excess /= state[i, CURVATURE]
        elif excess != 0.0:
            excess = np.inf if excess > 0.0 else -np.inf
        if excess != 0.0:
            total -= min(max(excess, state[i, LOWER]), state[i, UPPER]) * scores[i]
    return total


@jit
def best_multiple(ascent, scores, square, width, n_bisections):
    """About the multiple of the coefficients with the least primal objective: by bisection beside 1.

    ``square`` is the squared norm of w, with the intercept's penalty; ``width`` the width of the first bracket, which
    is widened a few times at most.
    """
    side = 1.0 if derivative_of_multiple(ascent, scores, square, 1.0) < 0.0 else -1.0
    near, far = 1.0, 1.0 + side * width
    for _ in range(n_bisections):
        if far <= 0.0 or side * derivative_of_multiple(ascent, scores, square, far) >= 0.0:
            break
        near, far = far, 1.0 + 4.0 * (far - 1.0)
    far = max(far, 0.0)
    for _ in range(n_bisections):
        middle = 0.5 * (near + far)
        if side * derivative_of_multiple(ascent, scores, square, middle) < 0.0:
            near = middle
        else:
            far = middle
    return 0.5 * (near + far)
