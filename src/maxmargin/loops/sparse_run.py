"""Newton steps with an L1 penalty whose models are minimised only as far as pays: many of them in one compiled call.

The quadratic model of the losses is minimised by epochs of coordinate descent, which end at a violation of the KKT
conditions that is lowered from step to step: far from the solution one epoch is enough. Columns whose coefficients stay
zero are left out of a step, and of its epochs (Yuan, Ho, Lin, "An improved GLMNET for L1-regularized logistic
regression", 2012). How far a column has to be from its constraint for that depends on the number of columns, not of
rows: with weights the steps are those with repeated rows. The intercept is eliminated from the model. A run may be
broken off anywhere and goes on there.
"""

import math
from typing import NamedTuple

import numpy as np

from maxmargin.loops.exponential import exponential, log_of_one_plus
from maxmargin.loops.jit import inlined, jit, merged
from maxmargin.loops.lasso import best_coefficient
from maxmargin.loops.rows import add_scaled, add_weighted, dot, weighted_sums
from maxmargin.loops.termination import LIMIT, NO_PROGRESS, REACHED

# Places in ``values``: the sum of the losses, the intercept, its change in the model, the derivative and the curvature
# of the losses in it, what is being done and at which place, the columns of the step and of the epoch, the sum and the
# largest of the violations so far, the sum at the first step, the largest one of the last step and of the last epoch,
# the violation that models may leave as a share of the first, the epochs of the step, steps and visits of columns in
# all, and the violation that the present model may leave.
LOSS, INTERCEPT, DRIFT, DERIVATIVE, CURVATURE, DOING, PLACE, N_CHOSEN, N_ACTIVE = range(9)
SUM, LARGEST, FIRST_SUM, LAST_LARGEST, LAST_OF_EPOCH, SHARE, EPOCHS, STEPS, WORK, GOAL = range(9, 19)
N_SPARSE_VALUES = 19
# What is being done.
NOTHING, MEASURING, DESCENDING = 0.0, 1.0, 2.0
# A model that is minimised in one epoch lowers the violation that the next ones leave by this factor.
SHARE_FACTOR = 0.25
# Nor is a larger share of the step's own violation left.
FORCING = 0.1
# Armijo's rule: the share of the predicted decrease that a step must reach, and the most halvings.
SUFFICIENT_DECREASE, MOST_HALVINGS = 0.01, 30


class SparseState(NamedTuple):
    """A run between two calls.

    Attributes
    ----------
    w, new : ndarray of shape (d,)
        The coefficients, and those at which the model is being minimised.
    order : ndarray of shape (d,)
        The columns, first those of the step, of these first those of the epoch.
    columns : ndarray of shape (4, d)
        Minus the derivatives of the losses, their curvatures, and sum_i h_i x_ij and the weighted mean of every column.
    rows : ndarray of shape (6, n)
        Scores without intercept, their changes, the signed duals, curvatures h_i, derivatives of the model, losses.
    values : ndarray
        See the places above.
    """

    w: np.ndarray
    new: np.ndarray
    order: np.ndarray
    columns: np.ndarray
    rows: np.ndarray
    values: np.ndarray


class SparseTerms(NamedTuple):
    """What is minimised.

    Attributes
    ----------
    is_logistic : bool
        Else losses are squared hinges.
    has_intercept : bool
    signs, weights : ndarray of shape (n,)
        The weights contain C.
    least_curvature : float
        The least curvature of a row, as a share of its weight.
    l1, l2 : float
    """

    is_logistic: bool
    has_intercept: bool
    signs: np.ndarray
    weights: np.ndarray
    least_curvature: float
    l1: float
    l2: float


@jit
def sparse_steps(columns, terms, state, goal, most_epochs, n_steps, most_work):
    """Make steps until the violations have fallen to the share ``goal`` of the first, at most so many in all.

    Returns LIMIT after about ``most_work`` visits of columns, too, and NO_PROGRESS where a model is not minimised in
    ``most_epochs``.
    """
    values = state.values
    if values[DOING] == NOTHING:
        _evaluate(terms, state, 0.0)
        _begin_step(state)
    while values[WORK] < most_work:
        if values[DOING] == MEASURING:
            if not _measure(columns, terms, state, most_work):
                return LIMIT
            if values[FIRST_SUM] == 0.0:
                values[FIRST_SUM] = values[SUM]
            if values[SUM] <= goal * values[FIRST_SUM]:
                return REACHED
            if values[STEPS] >= n_steps:
                return LIMIT
            values[GOAL] = min(values[SHARE] * values[FIRST_SUM], FORCING * values[SUM])
            _begin_descent(terms, state)
        if not _descend(columns, terms, state, most_work):
            return LIMIT
        values[EPOCHS] += 1.0
        is_minimised = values[SUM] <= values[GOAL]
        if is_minimised and values[N_ACTIVE] < values[N_CHOSEN]:
            # Columns left out of the epochs may violate their conditions by now.
            values[N_ACTIVE], values[LAST_OF_EPOCH] = values[N_CHOSEN], math.inf
        elif is_minimised or values[EPOCHS] >= most_epochs:
            if not _make_step(columns, terms, state):
                return NO_PROGRESS
            if values[EPOCHS] == 1.0:
                values[SHARE] *= SHARE_FACTOR
            _begin_step(state)
            if not is_minimised:
                return NO_PROGRESS
            continue
        else:
            values[LAST_OF_EPOCH] = values[LARGEST]
        values[PLACE] = values[SUM] = values[LARGEST] = 0.0
    return LIMIT


@inlined
def violation_of(w, derivative, l1):
    """How far minus the derivative of the losses is from the subdifferential of the 1-norm."""
    if w > 0.0:
        return abs(derivative + l1)
    if w < 0.0:
        return abs(derivative - l1)
    return max(abs(derivative) - l1, 0.0)


@merged
def _begin_step(state):
    values = state.values
    values[LAST_LARGEST] = values[LARGEST] if values[STEPS] > 0.0 else math.inf
    values[DOING], values[PLACE], values[N_CHOSEN] = MEASURING, 0.0, state.order.size
    values[SUM] = values[LARGEST] = 0.0


@merged
def _begin_descent(terms, state):
    values = state.values
    # The largest violation of the step's columns is needed by the next step: it takes the place of the last one's.
    values[LAST_LARGEST] = values[LARGEST]
    values[DOING], values[PLACE], values[N_ACTIVE] = DESCENDING, 0.0, values[N_CHOSEN]
    values[SUM] = values[LARGEST] = values[EPOCHS] = 0.0
    values[LAST_OF_EPOCH] = math.inf
    duals, derivatives = state.rows[2], state.rows[4]
    for i in range(duals.size):
        derivatives[i] = -duals[i]
    values[DRIFT] = 0.0
    if terms.has_intercept and values[CURVATURE] > 0.0:
        values[DRIFT] = values[DERIVATIVE] / values[CURVATURE]
    for j in range(state.w.size):
        state.new[j] = state.w[j]


@merged
def _measure(columns, terms, state, most_work):
    """Compute the derivatives of the columns, and the curvatures of those of the step; return whether all are done."""
    values, w, order, duals, curvatures = state.values, state.w, state.order, state.rows[2], state.rows[3]
    derivatives, of_columns, totals, means = state.columns[0], state.columns[1], state.columns[2], state.columns[3]
    place, n_chosen = int(values[PLACE]), int(values[N_CHOSEN])
    sum_of_all, largest, work = values[SUM], values[LARGEST], values[WORK]
    room = terms.l1 - values[LAST_LARGEST] / order.size
    total = values[CURVATURE] if terms.has_intercept else 0.0
    while place < n_chosen and work < most_work:
        j = order[place]
        derivative = terms.l2 * w[j] - dot(columns, j, duals)
        derivatives[j] = derivative
        work += 1.0
        if w[j] == 0.0 and abs(derivative) < room:
            n_chosen -= 1
            order[place], order[n_chosen] = order[n_chosen], j
            continue
        violation = violation_of(w[j], derivative, terms.l1)
        sum_of_all += violation
        largest = max(largest, violation)
        linear, square = weighted_sums(columns, j, curvatures)
        totals[j] = linear if total > 0.0 else 0.0
        means[j] = linear / total if total > 0.0 else 0.0
        of_columns[j] = max(square - totals[j] * means[j], terms.least_curvature * square) + terms.l2
        work += 1.0
        place += 1
    values[PLACE], values[N_CHOSEN], values[WORK] = place, n_chosen, work
    values[SUM], values[LARGEST] = sum_of_all, largest
    return place == n_chosen


@merged
def _descend(columns, terms, state, most_work):
    """Make an epoch of the descent; return whether it is done."""
    values, w, order, curvatures, residuals = state.values, state.new, state.order, state.rows[3], state.rows[4]
    of_columns, totals, means = state.columns[1], state.columns[2], state.columns[3]
    place, n_active, drift = int(values[PLACE]), int(values[N_ACTIVE]), values[DRIFT]
    sum_of_all, largest, work = values[SUM], values[LARGEST], values[WORK]
    room = terms.l1 - values[LAST_OF_EPOCH] / order.size
    while place < n_active and work < most_work:
        j = order[place]
        derivative = dot(columns, j, residuals) + drift * totals[j] + terms.l2 * w[j]
        work += 1.0
        if w[j] == 0.0 and abs(derivative) < room:
            n_active -= 1
            order[place], order[n_active] = order[n_active], j
            continue
        violation = violation_of(w[j], derivative, terms.l1)
        sum_of_all += violation
        largest = max(largest, violation)
        if violation > 0.0 and of_columns[j] > 0.0:
            best = best_coefficient(of_columns[j] * w[j] - derivative, of_columns[j], terms.l1, False)
            change = best - w[j]
            if change != 0.0:
                add_weighted(columns, j, change, curvatures, residuals)
                drift -= change * means[j]
                w[j] = best
                work += 1.0
        place += 1
    values[PLACE], values[N_ACTIVE], values[DRIFT], values[WORK] = place, n_active, drift, work
    values[SUM], values[LARGEST] = sum_of_all, largest
    return place == n_active


@merged
def _make_step(columns, terms, state):
    """Make a step towards the model's minimiser, so long that the objective falls enough; return whether one does."""
    values, w, new, order = state.values, state.w, state.new, state.order
    scores, changes, duals = state.rows[0], state.rows[1], state.rows[2]
    for i in range(changes.size):
        changes[i] = values[DRIFT]
    predicted, before = 0.0, 0.0
    for k in range(int(values[N_CHOSEN])):
        j = order[k]
        if new[j] != w[j]:
            add_scaled(columns, j, new[j] - w[j], changes)
            predicted += terms.l1 * (abs(new[j]) - abs(w[j])) + terms.l2 * w[j] * (new[j] - w[j])
            before += terms.l1 * abs(w[j]) + 0.5 * terms.l2 * w[j] * w[j]
    for i in range(changes.size):
        predicted -= duals[i] * changes[i]
    loss, t = values[LOSS], 1.0
    for _ in range(MOST_HALVINGS):
        _evaluate(terms, state, t)
        change = values[LOSS] - loss - before
        for k in range(int(values[N_CHOSEN])):
            j = order[k]
            if new[j] != w[j]:
                moved = w[j] + t * (new[j] - w[j])
                change += terms.l1 * abs(moved) + 0.5 * terms.l2 * moved * moved
        if change <= SUFFICIENT_DECREASE * t * predicted:
            break
        t *= 0.5
    else:
        return False
    for i in range(scores.size):
        # The intercept is not part of the scores.
        scores[i] += t * (changes[i] - values[DRIFT])
    values[INTERCEPT] += t * values[DRIFT]
    for k in range(int(values[N_CHOSEN])):
        j = order[k]
        w[j] = new[j] if t == 1.0 else w[j] + t * (new[j] - w[j])
    values[STEPS] += 1.0
    return True


@jit
def _evaluate(terms, state, t):
    """Compute the losses, duals and curvatures at the length t of a step."""
    values, signs, weights = state.values, terms.signs, terms.weights
    scores, changes, duals, curvatures, losses = (
        state.rows[0],
        state.rows[1],
        state.rows[2],
        state.rows[3],
        state.rows[5],
    )
    b, least = values[INTERCEPT], terms.least_curvature
    # Loops of their own, which are vectorised.
    for i in range(signs.size):
        losses[i] = signs[i] * (scores[i] + b + t * changes[i])
    if terms.is_logistic:
        for i in range(signs.size):
            duals[i] = exponential(-abs(losses[i]))
        for i in range(signs.size):
            share = 1.0 / (1.0 + duals[i])
            curvatures[i] = max(duals[i] * share * share, least)
        for i in range(signs.size):
            margin, tail = losses[i], duals[i]
            losses[i] = log_of_one_plus(tail) + max(-margin, 0.0)
            share = 1.0 / (1.0 + tail)
            duals[i] = tail * share if margin > 0.0 else share
    else:
        for i in range(signs.size):
            slack = max(1.0 - losses[i], 0.0)
            losses[i], duals[i] = slack * slack, 2.0 * slack
            curvatures[i] = 2.0 if slack > 0.0 else least
    loss, derivative, curvature = 0.0, 0.0, 0.0
    for i in range(signs.size):
        loss += weights[i] * losses[i]
        duals[i] *= weights[i] * signs[i]
        curvatures[i] *= weights[i]
        derivative += duals[i]
        curvature += curvatures[i]
    values[LOSS], values[DERIVATIVE], values[CURVATURE] = loss, derivative, curvature
