"""Whole runs of Newton's method for logistic regression on small dense data: steps and line searches in one call.

The algorithm is that of :mod:`maxmargin.solvers.regression.logistic_newton`. Of few columns every Hessian is computed
and factorised. Of more, it takes as long as a dozen products with the rows: the factor of an earlier Hessian is kept as
the preconditioner of conjugate gradients for as long as these converge in fewer (Nocedal, Wright, Numerical
Optimization, 2006, section 7.1).
"""

import math
from typing import NamedTuple

import numpy as np

from maxmargin.loops.cholesky import factorise, fill_gram, inner, solve_factorised
from maxmargin.loops.exponential import exponential
from maxmargin.loops.jit import jit, merged
from maxmargin.loops.termination import LIMIT, N_COUNTED, NO_PROGRESS, REACHED, StallRule, has_stalled

# Places in ``values`` after those of the stall rule: objective, gap, steps, the squared norm of the gradient, the
# derivative along the last step and its curvature, and whether the factor is to be computed anew.
PRIMAL, GAP, STEPS, SQUARE, ALONG, CURVATURE, IS_OLD = range(N_COUNTED, N_COUNTED + 7)
N_LOGISTIC_VALUES = N_COUNTED + 7

# A Hessian takes as long as one product with it for so many columns.
COLUMNS_PER_PRODUCT = 7
# For a smaller tolerance every Hessian is factorised: convergence is quadratic, and coefficients gain digits beyond it.
PRECISE_TOL = 1e-10
# The residual that conjugate gradients leave, as a share, is between these.
COARSE_FORCING, FINE_FORCING = 0.1, 1e-3
# The line search ends where the derivative has fallen to this share of its value at the start; a positive one counts as
# small only where the minimum of the local parabola is within a share of the way. The reduction is the first factor on
# a step length of which nothing is known but that it is too long.
DERIVATIVE_SHARE, NEAR_MINIMUM, FIRST_REDUCTION, MAX_SEARCH_STEPS = 0.1, 0.3, 0.3, 30
# The last Newton step for the intercept, relative to it: convergence is quadratic, and its square is a rounding error.
LAST_INTERCEPT_STEP, MAX_INTERCEPT_STEPS = 1e-8, 10
# A gap that is hardly smaller, or an objective that is lower in its last digits only, is no progress; the patience is
# in steps.
LAST_DIGITS = 1e-13
LOGISTIC_STALL_RULE = StallRule(patience=4.0, gap_factor=0.99, primal_factor=1.0 - LAST_DIGITS)


class LogisticState(NamedTuple):
    """A run between two calls.

    Attributes
    ----------
    w : ndarray of shape (m,)
        The iterate, with the intercept as its last entry.
    vectors : ndarray of shape (4, n)
        The scores, their changes along a step, the negative derivatives of the losses, and their curvatures.
    factor : ndarray of shape (m, m)
        Cholesky's factor of a Hessian.
    values : ndarray
        See the places above.
    """

    w: np.ndarray
    vectors: np.ndarray
    factor: np.ndarray
    values: np.ndarray


@jit
def logistic_steps(rows, signs, weights, C, n_penalised, state, tol, n_steps):
    """Make Newton steps to a relative gap of ``tol``, at most so many in all. Returns how the call ends.

    Parameters
    ----------
    rows : ndarray of shape (n, m)
        With a last column of ones where there is an intercept; ``n_penalised`` columns are penalised.
    signs, weights : ndarray of shape (n,)
    C : float
    n_penalised : int
    state : LogisticState
    tol, n_steps : float
    """
    w, vectors, factor, values = state.w, state.vectors, state.factor, state.values
    size, scores, changes = w.size, vectors[0], vectors[1]
    gradient, step = np.empty(size), np.empty(size)
    residual, conjugate, image = np.empty(size), np.empty(size), np.empty(size)
    _evaluate(signs, weights, C, n_penalised, state, step, 0.0)
    is_best_intercept = False
    while True:
        _set_gradient(rows, C, n_penalised, state, gradient)
        primal, gap = values[PRIMAL], values[GAP]
        if not (math.isfinite(primal) and math.isfinite(gap)):
            return NO_PROGRESS
        if gap <= tol * primal:
            if is_best_intercept or n_penalised == size:
                return REACHED
            # The dual point of the certificate has the best intercept for w, and its gap the gradient there.
            _minimise_intercept(signs, weights, C, n_penalised, state, step)
            is_best_intercept = True
            continue
        if has_stalled(values, gap, primal, primal - gap, values[STEPS], LOGISTIC_STALL_RULE):
            return NO_PROGRESS
        if values[STEPS] >= n_steps:
            return LIMIT
        if values[IS_OLD] == 1.0 or size < 2 * COLUMNS_PER_PRODUCT or tol < PRECISE_TOL:
            fill_gram(rows, vectors[3], factor)
            for i in range(size):
                for j in range(i + 1):
                    factor[i, j] *= C
                if i < n_penalised:
                    factor[i, i] += 1.0
            if not factorise(factor):
                return NO_PROGRESS
            for j in range(size):
                step[j] = -gradient[j]
            solve_factorised(factor, step)
            values[IS_OLD] = 0.0
        else:
            wanted = 0.3 * math.sqrt(2.0 * tol * primal) / math.sqrt(values[SQUARE])
            forcing = min(COARSE_FORCING, max(FINE_FORCING, wanted))
            vectors_of_step = gradient, step, residual, conjugate, image
            _solve_iteratively(rows, C, n_penalised, state, vectors_of_step, forcing)
        at_start = inner(gradient, step, size)
        if not at_start < 0.0:
            return NO_PROGRESS
        for i in range(scores.size):
            changes[i] = inner(rows[i], step, size)
        t = _line_search(signs, weights, C, n_penalised, state, step, at_start)
        for i in range(scores.size):
            scores[i] += t * changes[i]
        for j in range(size):
            w[j] += t * step[j]
        values[STEPS] += 1.0
        is_best_intercept = False


@jit
def _evaluate(signs, weights, C, n_penalised, state, step, t):
    """Compute objective, derivatives and curvatures at the length t of a step, and the derivative along it."""
    w, vectors, values = state.w, state.vectors, state.values
    scores, changes, derivatives, curvatures = vectors[0], vectors[1], vectors[2], vectors[3]
    # A loop of its own, which is vectorised.
    for i in range(signs.size):
        derivatives[i] = exponential(-abs(scores[i] + t * changes[i]))
    loss, along, curvature = 0.0, 0.0, 0.0
    for i in range(signs.size):
        margin, tail = signs[i] * (scores[i] + t * changes[i]), derivatives[i]
        share = 1.0 / (1.0 + tail)
        loss += weights[i] * (math.log1p(tail) + max(-margin, 0.0))
        derivatives[i] = weights[i] * signs[i] * (tail * share if margin > 0.0 else share)
        curvatures[i] = weights[i] * tail * share * share
        along += derivatives[i] * changes[i]
        curvature += curvatures[i] * changes[i] * changes[i]
    square, mixed, own = 0.0, 0.0, 0.0
    if t == 0.0:
        for j in range(n_penalised):
            square += w[j] * w[j]
    else:
        for j in range(n_penalised):
            square += (w[j] + t * step[j]) * (w[j] + t * step[j])
            mixed += (w[j] + t * step[j]) * step[j]
            own += step[j] * step[j]
    values[PRIMAL] = 0.5 * square + C * loss
    values[ALONG], values[CURVATURE] = mixed - C * along, own + C * curvature


@merged
def _set_gradient(rows, C, n_penalised, state, gradient):
    """Compute the gradient, and the gap: half its squared norm, and what a better intercept would gain."""
    w, derivatives, curvatures, values = state.w, state.vectors[2], state.vectors[3], state.values
    for j in range(w.size):
        gradient[j] = w[j] if j < n_penalised else 0.0
    for i in range(derivatives.size):
        row, scaled = rows[i], C * derivatives[i]
        for j in range(w.size):
            gradient[j] -= scaled * row[j]
    values[GAP] = 0.5 * inner(gradient, gradient, n_penalised)
    values[SQUARE] = 2.0 * values[GAP]
    if n_penalised < w.size:
        of_intercept, curvature = gradient[n_penalised] * gradient[n_penalised], 0.0
        for i in range(derivatives.size):
            curvature += C * curvatures[i]
        values[SQUARE] += of_intercept
        if of_intercept > 0.0:
            values[GAP] += of_intercept / curvature if curvature > 0.0 else math.inf


@merged
def _minimise_intercept(signs, weights, C, n_penalised, state, step):
    """Make Newton steps in the intercept, which is nearly the best one already."""
    w, scores, derivatives, curvatures = state.w, state.vectors[0], state.vectors[2], state.vectors[3]
    for _ in range(MAX_INTERCEPT_STEPS):
        derivative, curvature = 0.0, 0.0
        for i in range(scores.size):
            derivative += derivatives[i]
            curvature += curvatures[i]
        if not curvature > 0.0:
            return
        longest = 1.0 + abs(w[n_penalised])
        moved = min(max(derivative / curvature, -longest), longest)
        w[n_penalised] += moved
        for i in range(scores.size):
            scores[i] += moved
        _evaluate(signs, weights, C, n_penalised, state, step, 0.0)
        if abs(moved) <= LAST_INTERCEPT_STEP * longest:
            return


@merged
def _solve_iteratively(rows, C, n_penalised, state, vectors_of_step, forcing):
    """Conjugate gradients on H step = -gradient, preconditioned by the factor of an earlier Hessian.

    The compiled exception: all other systems are solved by :mod:`maxmargin.solvers.core.conjugate_gradients`.
    """
    gradient, step, residual, conjugate, image = vectors_of_step
    curvatures, factor, values, size = state.vectors[3], state.factor, state.values, gradient.size
    for j in range(size):
        step[j] = 0.0
        residual[j] = -gradient[j]
        image[j] = residual[j]
        conjugate[j] = 0.0
    goal = forcing * forcing * values[SQUARE]
    last, n_products = 0.0, size // COLUMNS_PER_PRODUCT
    values[IS_OLD] = 1.0
    for _ in range(n_products):
        solve_factorised(factor, image)
        product = inner(residual, image, size)
        share = product / last if last > 0.0 else 0.0
        last = product
        for j in range(size):
            conjugate[j] = image[j] + share * conjugate[j]
            image[j] = conjugate[j] if j < n_penalised else 0.0
        for i in range(curvatures.size):
            row = rows[i]
            scaled = C * curvatures[i] * inner(row, conjugate, size)
            for j in range(size):
                image[j] += scaled * row[j]
        curvature = inner(conjugate, image, size)
        if not curvature > 0.0:
            return
        length = product / curvature
        for j in range(size):
            step[j] += length * conjugate[j]
            residual[j] -= length * image[j]
            image[j] = residual[j]
        if inner(residual, residual, size) <= goal:
            values[IS_OLD] = 0.0
            return


def narrowed(
    low: float, high: float, t: float, reduction: float, derivative: float, curvature: float, number: int
) -> tuple[float, float, float, float]:
    """The interval of a search along a step after the derivatives at t, the next t, and the next reduction."""
    if derivative < 0.0:
        low = t
    else:
        high = t
    new = t - derivative / curvature if curvature > 0.0 else math.inf
    if high == math.inf:
        t = min(new if new > low else 2.0 * low, 8.0 * t)
    elif low < new < high and (number % 2 == 0 or new <= 0.5 * (low + high)):
        t = new
    elif low > 0.0:
        t = math.sqrt(low) * math.sqrt(high)
    else:
        # Newton steps alone would be slow where the derivative falls exponentially.
        t, reduction = reduction * high, reduction * reduction
    return low, high, t, reduction


# The same in compiled functions.
_narrowed = merged(narrowed)


@merged
def _line_search(signs, weights, C, n_penalised, state, step, at_start):
    """Search where the derivative along the step, ``at_start`` at zero, has fallen to a small share; begin at one."""
    values = state.values
    low, high, t, reduction = 0.0, math.inf, 1.0, FIRST_REDUCTION
    for number in range(MAX_SEARCH_STEPS):
        _evaluate(signs, weights, C, n_penalised, state, step, t)
        derivative, curvature = values[ALONG], values[CURVATURE]
        if abs(derivative) <= DERIVATIVE_SHARE * abs(at_start) and derivative <= NEAR_MINIMUM * curvature * t:
            return t
        low, high, t, reduction = _narrowed(low, high, t, reduction, derivative, curvature, number)
    _evaluate(signs, weights, C, n_penalised, state, step, low)
    return low
