"""Whole runs of the SVM's Newton solver on small dense data: outer steps, Newton steps and line searches in one call.

The algorithm is that of :mod:`maxmargin.solvers.linear.newton`, without working sets. On a few thousand rows of a few
dozen columns a step takes some microseconds, and what calls it from Python would take most of the time.
"""

import math
from typing import NamedTuple

import numpy as np

from maxmargin.loops.cholesky import SMALLEST_PIVOT
from maxmargin.loops.jit import inlined, jit, merged
from maxmargin.loops.newton import (
    LINEAR_NEGATIVE,
    LINEAR_POSITIVE,
    LOSS,
    MOVED,
    N_TOTALS,
    NEGATIVE,
    POSITIVE,
    QUADRATIC_NEGATIVE,
    QUADRATIC_POSITIVE,
    DualSums,
    RowVectors,
    derivative_along_step,
    derivative_at_full_step,
    evaluate,
)
from maxmargin.loops.rows import add_outer
from maxmargin.loops.termination import LIMIT, N_COUNTED, NO_PROGRESS, REACHED, StallRule, has_stalled

# Places in ``NewtonState.values`` after those of the stall rule: the proximal step size, the incumbents' values, and
# the numbers of Newton steps, of those in the outer step, and of outer steps.
SIGMA, PRIMAL, DUAL, STEPS, INNER, OUTER = range(N_COUNTED, N_COUNTED + 6)
N_NEWTON_VALUES = N_COUNTED + 6

# The most Newton steps in an outer step, and those below which sigma grows.
INNER_STEPS, FEW_STEPS = 40, 15
# The gradient of an outer step that is small enough, beside the move of the duals.
GRADIENT_SHARE = 0.2
# A larger dual value counts as progress by this factor; the patience is in outer steps.
DUAL_FACTOR = 1.2
NEWTON_STALL_RULE = StallRule(patience=4.0, dual_factor=DUAL_FACTOR)


class NewtonState(NamedTuple):
    """A run between two calls; vectors over the columns have the intercept as their last entry.

    Attributes
    ----------
    w, best_w : ndarray of shape (d + 1,)
        The iterate and the incumbent.
    vectors : RowVectors
        All rows.
    best_duals : ndarray of shape (n,)
        The incumbent's duals.
    in_gram : ndarray of bool of shape (n,)
        Whether a row is in the Gram matrix.
    gram, factor : ndarray of shape (d + 1, d + 1)
        The sum of weights_i (x_i, 1)(x_i, 1)^T over the rows in it, lower triangle; and Cholesky's factor.
    values : ndarray
        See the places above.
    """

    w: np.ndarray
    best_w: np.ndarray
    vectors: RowVectors
    best_duals: np.ndarray
    in_gram: np.ndarray
    gram: np.ndarray
    factor: np.ndarray
    values: np.ndarray


@jit
def newton_steps(X, loss, C, rho, state, tol, n_steps, n_outer):
    """Run to a relative gap of ``tol``, at most for so many Newton steps in all and so many outer steps from now on.

    ``rho`` is the intercept's penalty: zero leaves it free, infinity holds it at zero. Returns how the call ends.
    """
    values, w, last = state.values, state.w, state.w.size - 1
    sums = DualSums(np.empty(N_TOTALS), np.empty(last), np.empty(last))
    gradient, step = np.empty(last + 1), np.empty(last + 1)
    last_outer, length = values[OUTER] + n_outer, 0.0
    known = state.vectors
    while True:
        sigma = values[SIGMA]
        vectors = RowVectors(known.rows, known.scores, known.changes, known.centers, known.duals, known.free, sigma)
        fill(sums.totals, 0.0)
        fill(sums.positive, 0.0)
        fill(sums.negative, 0.0)
        evaluate(X, loss, vectors, length, sums)
        length = 0.0
        square = _update_incumbents(loss, C, rho, state, sums, gradient)
        gap = (values[PRIMAL] - values[DUAL]) / values[PRIMAL] if values[PRIMAL] > 0.0 else 0.0
        if gap <= tol:
            return REACHED
        if values[STEPS] >= n_steps:
            return LIMIT
        is_small = math.sqrt(square) <= GRADIENT_SHARE * math.sqrt(sums.totals[MOVED])
        if values[INNER] >= INNER_STEPS or (values[INNER] > 0.0 and is_small):
            for i in range(vectors.rows.size):
                vectors.centers[i] = vectors.duals[i]
            _end_outer_step(values)
            if has_stalled(values, gap, values[PRIMAL], values[DUAL], values[OUTER], NEWTON_STALL_RULE):
                return NO_PROGRESS
            if values[OUTER] >= last_outer:
                return LIMIT
            continue
        _update_gram(X, loss, state)
        if not _solve(rho, sigma / (1.0 + sigma * loss.curvature), state, gradient, step):
            return NO_PROGRESS
        at_one = derivative_at_full_step(X, loss, vectors, step[:last], step[last])
        length = _line_search(loss, vectors, rho, w, step, gradient, at_one)
        for j in range(w.size):
            w[j] += length * step[j]
        values[STEPS] += 1.0
        values[INNER] += 1.0


@inlined
def fill(array, value):
    """Set all entries: an assignment to a slice takes far longer to compile."""
    for i in range(array.size):
        array[i] = value


@merged
def _end_outer_step(values):
    """Count the outer step, and choose the next proximal step size."""
    if values[INNER] < FEW_STEPS:
        values[SIGMA] *= 4.0
    elif values[INNER] >= INNER_STEPS:
        values[SIGMA] *= 0.5
    values[OUTER] += 1.0
    values[INNER] = 0.0


@merged
def _update_incumbents(loss, C, rho, state, sums, gradient):
    """Offer w, and the best multiple of the duals, made feasible; compute the gradient, return its squared length."""
    totals, w, values, last = sums.totals, state.w, state.values, state.w.size - 1
    above, below = totals[POSITIVE], totals[NEGATIVE]
    up = below / above if rho == 0.0 and above > below else 1.0
    down = above / below if rho == 0.0 and below > above else 1.0
    linear = up * totals[LINEAR_POSITIVE] + down * totals[LINEAR_NEGATIVE]
    square = up * up * totals[QUADRATIC_POSITIVE] + down * down * totals[QUADRATIC_NEGATIVE]
    primal, length = C * totals[LOSS], 0.0
    for j in range(last):
        feasible = up * sums.positive[j] + down * sums.negative[j]
        square += feasible * feasible
        primal += 0.5 * w[j] * w[j]
        gradient[j] = w[j] - (sums.positive[j] + sums.negative[j])
        length += gradient[j] * gradient[j]
    gradient[last] = 0.0 if math.isinf(rho) else rho * w[last] - (above - below)
    length += gradient[last] * gradient[last]
    if 0.0 < rho < math.inf:
        square += (above - below) * (above - below) / rho
        primal += 0.5 * rho * w[last] * w[last]
    if primal <= values[PRIMAL]:
        values[PRIMAL] = primal
        for j in range(w.size):
            state.best_w[j] = w[j]
    multiple = max(0.0, linear / square) if square > 0.0 else 1.0
    if loss.box_bound < math.inf:
        multiple = min(1.0, multiple)
    dual = multiple * linear - 0.5 * multiple * multiple * square
    if dual > values[DUAL]:
        values[DUAL] = dual
        up, down = multiple * up, multiple * down
        for i in range(state.best_duals.size):
            beta = state.vectors.duals[i]
            state.best_duals[i] = beta * (up if beta > 0.0 else down)
    return length


@merged
def _update_gram(X, loss, state):
    """Add the rows that became free to the Gram matrix, and take out those that ceased to be."""
    free, in_gram = state.vectors.free, state.in_gram
    n_free, n_changed = 0, 0
    for i in range(in_gram.size):
        n_free += free[i]
        n_changed += free[i] != in_gram[i]
    if 2 * n_changed > n_free:
        fill(state.gram.ravel(), 0.0)
        fill(in_gram, False)
    for i in range(in_gram.size):
        if free[i] != in_gram[i]:
            add_outer(X, i, loss.weights[i] if free[i] else -loss.weights[i], state.gram)
            in_gram[i] = free[i]


@merged
def _solve(rho, shrunk, state, gradient, step):
    """Solve (diag(1, rho) + shrunk gram) step = -gradient by Cholesky's factorisation; return whether it succeeds."""
    gram, factor, last = state.gram, state.factor, gradient.size - 1
    size = last if math.isinf(rho) else last + 1
    step[last] = 0.0
    for i in range(size):
        # Without free rows a free intercept has no curvature.
        diagonal = shrunk * gram[i, i] + (1.0 if i < last else rho + 1e-10 * (1.0 + shrunk))
        pivot, right = diagonal, -gradient[i]
        for j in range(i):
            entry = shrunk * gram[i, j]
            for k in range(j):
                entry -= factor[i, k] * factor[j, k]
            entry /= factor[j, j]
            factor[i, j] = entry
            pivot -= entry * entry
            right -= entry * step[j]
        if not pivot > SMALLEST_PIVOT * diagonal:
            return False
        factor[i, i] = math.sqrt(pivot)
        step[i] = right / factor[i, i]
    for i in range(size - 1, -1, -1):
        step[i] /= factor[i, i]
        for k in range(i):
            step[k] -= factor[i, k] * step[i]
    return True


@merged
def _line_search(loss, vectors, rho, w, step, gradient, total_at_one):
    """The length at which the derivative along the step, which increases, has nearly its root."""
    last = w.size - 1
    at_zero, linear, quadratic = gradient[last] * step[last], 0.0, 0.0
    for j in range(last):
        at_zero += gradient[j] * step[j]
        linear += w[j] * step[j]
        quadratic += step[j] * step[j]
    if 0.0 < rho < math.inf:
        linear += rho * w[last] * step[last]
        quadratic += rho * step[last] * step[last]
    at_one = linear + quadratic - total_at_one
    if at_zero >= 0.0 or abs(at_one) <= 0.1 * abs(at_zero):
        return 1.0
    low, high, value_low, value_high = 0.0, 1.0, at_zero, at_one
    t, n_evaluations = 1.0, 0
    while n_evaluations < 80:
        if value_high < 0.0 and high < 1e6:
            low, value_low = high, value_high
            high *= 2.0
            t = high
        elif not value_high > value_low:
            return high
        elif n_evaluations % 3 != 2:
            t = low - value_low * (high - low) / (value_high - value_low)
        else:
            t = 0.5 * (low + high)
        value = linear + t * quadratic - derivative_along_step(loss, vectors, t)
        n_evaluations += 1
        if abs(value) <= 0.05 * abs(at_zero):
            break
        if value > 0.0 or t == high:
            high, value_high = t, value
        else:
            low, value_low = t, value
    return t
