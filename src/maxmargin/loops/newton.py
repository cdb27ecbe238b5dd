"""What the Newton solver asks of a block of rows: proximal duals and their sums, margins' changes, curvature.

Every function takes the rows first <= i < last of a block, so that blocks can run in threads, each into its own sums.
"""

from typing import NamedTuple

import numpy as np

from maxmargin.loops.jit import inlined, jit
from maxmargin.loops.rows import add_outer, add_scaled, add_squares, dot

# Places in the sums of a look. Of the duals above zero: their sum, what they gain, what their squares cost; then the
# same of those below; then what the rows lose, and the squared move of the duals.
ABOVE, GAIN_ABOVE, SQUARE_ABOVE, BELOW, GAIN_BELOW, SQUARE_BELOW, LOST, MOVED = range(8)
N_SUMS = 8


class Proximal(NamedTuple):
    """The proximal step of the duals: from where, and how far, each row sigma times its weight."""

    centers: np.ndarray
    sigma: float


class Travel(NamedTuple):
    """A step through the scores, and how much of it is made."""

    changes: np.ndarray
    length: float


@inlined
def upper_end(loss, i):
    """The largest dual of a row."""
    counted = loss.weights[i] > 0.0 and (not loss.one_sided or loss.targets[i] > 0.0)
    return loss.box_bound * loss.weights[i] if counted else 0.0


@inlined
def lower_end(loss, i):
    """The smallest dual of a row."""
    counted = loss.weights[i] > 0.0 and (not loss.one_sided or loss.targets[i] < 0.0)
    return -loss.box_bound * loss.weights[i] if counted else 0.0


@inlined
def proximal_dual(loss, proximal, i, center, score):
    """Return the dual that gains most at this score, near its centre, and whether nothing holds it."""
    sigma = proximal.sigma * loss.weights[i]
    dual = center + sigma * (loss.targets[i] - score)
    tube = sigma * loss.epsilon
    shrink = 1.0 / (1.0 + proximal.sigma * loss.curvature)
    if dual > tube:
        dual = (dual - tube) * shrink
        end = upper_end(loss, i)
        return (dual, True) if dual < end else (end, False)
    if dual < -tube:
        dual = (dual + tube) * shrink
        end = lower_end(loss, i)
        return (dual, True) if dual > end else (end, False)
    return 0.0, False


@jit
def see(rows, first, last, w, b, scores):
    """Compute the scores of a plane."""
    for i in range(first, last):
        scores[i] = dot(rows, i, w) + b


@jit
def look(rows, chosen, first, last, loss, proximal, travel, scores, duals, free, above, below, sums):
    """Make the step, take the proximal duals, and add up w of those above and below zero, gains and losses.

    Scores, duals and the like have one entry for each chosen row.
    """
    for k in range(first, last):
        i = chosen[k]
        if travel.length != 0.0:
            scores[k] += travel.length * travel.changes[k]
        weight, target, score = loss.weights[i], loss.targets[i], scores[k]
        dual, is_free = proximal_dual(loss, proximal, i, proximal.centers[k], score)
        duals[k] = dual
        free[k] = is_free
        if weight == 0.0:
            continue
        move = dual - proximal.centers[k]
        sums[MOVED] += move * move / (proximal.sigma * weight)
        residual = target - score
        if loss.one_sided:
            excess = residual * target
        else:
            excess = abs(residual) - loss.epsilon
        if excess > 0.0:
            sums[LOST] += weight * (excess if loss.curvature == 0.0 else excess * excess)
        if dual > 0.0:
            sums[ABOVE] += dual
            sums[GAIN_ABOVE] += dual * (target - loss.epsilon)
            sums[SQUARE_ABOVE] += dual * dual * loss.curvature / weight
            add_scaled(rows, i, dual, above)
        elif dual < 0.0:
            sums[BELOW] -= dual
            sums[GAIN_BELOW] += dual * (target + loss.epsilon)
            sums[SQUARE_BELOW] += dual * dual * loss.curvature / weight
            add_scaled(rows, i, dual, below)


@jit
def mark_movable(first, last, loss, proximal, scores, reach, movable):
    """Mark the rows whose dual is not the same for all scores up to ``reach`` away."""
    for i in range(first, last):
        least = proximal_dual(loss, proximal, i, proximal.centers[i], scores[i] + reach)[0]
        most = proximal_dual(loss, proximal, i, proximal.centers[i], scores[i] - reach)[0]
        movable[i] = least != most


@jit
def travel_along(rows, chosen, first, last, step, step_b, loss, proximal, scores, changes):
    """The changes of the scores along a step, and the sum of the duals at its end times them."""
    total = 0.0
    for k in range(first, last):
        i = chosen[k]
        change = dot(rows, i, step) + step_b
        changes[k] = change
        total += proximal_dual(loss, proximal, i, proximal.centers[k], scores[k] + change)[0] * change
    return total


@jit
def taken_by_duals(chosen, first, last, t, loss, proximal, scores, changes):
    """The sum of the duals at ``t`` times the changes of the scores: it falls as t grows."""
    total = 0.0
    for k in range(first, last):
        score = scores[k] + t * changes[k]
        total += proximal_dual(loss, proximal, chosen[k], proximal.centers[k], score)[0] * changes[k]
    return total


@jit
def update_gram(rows, chosen, weights, n_joining, gram):
    """Add the outer products of the first rows, which became free, and take away those of the others.

    Only the lower triangle is kept; the last row and column are the intercept's.
    """
    for k in range(chosen.size):
        weight = weights[chosen[k]]
        add_outer(rows, chosen[k], weight if k < n_joining else -weight, gram)


@jit
def hessian_product(rows, chosen, weights, direction, direction_b, image):
    """Add sum weights_i x_i (x_i·direction + direction_b) to ``image``, whose last entry is the intercept's."""
    last = image.size - 1
    image_of_w = image[:last]
    for i in chosen:
        factor = weights[i] * (dot(rows, i, direction) + direction_b)
        add_scaled(rows, i, factor, image_of_w)
        image[last] += factor


@jit
def hessian_diagonal(rows, chosen, weights, diagonal):
    """Add the diagonal of sum weights_i (x_i, 1)(x_i, 1)^T."""
    last = diagonal.size - 1
    of_w = diagonal[:last]
    for i in chosen:
        add_squares(rows, i, weights[i], of_w)
        diagonal[last] += weights[i]
