"""Passes of the SVM's Newton solver over a block of rows: proximal duals and their sums, and the line search."""

from typing import NamedTuple

import numpy as np

from maxmargin.loops.jit import inlined, jit
from maxmargin.loops.rows import add_scaled, dot

# Places in ``DualSums.totals``. Of the positive duals: their sum, their linear and their quadratic dual terms; the same
# of the negative ones; the losses, and the squared distance of the duals from the proximal centres.
POSITIVE, LINEAR_POSITIVE, QUADRATIC_POSITIVE, NEGATIVE, LINEAR_NEGATIVE, QUADRATIC_NEGATIVE, LOSS, MOVED = range(8)
N_TOTALS = 8


class RowVectors(NamedTuple):
    """Some rows, all of them or a working set, with their vectors: every array has one entry a row.

    Attributes
    ----------
    rows : ndarray of uint32
        Places of the rows in the data.
    scores : ndarray
    changes : ndarray
        Changes of the scores along the current step.
    centers : ndarray
        Proximal centres: the duals from which the outer step starts.
    duals : ndarray
        Proximal duals at the scores.
    free : ndarray of bool
        Whether the dual lies strictly between the ends of its box and is not zero: the row is in the active set.
    sigma : float
        The proximal step size.
    """

    rows: np.ndarray
    scores: np.ndarray
    changes: np.ndarray
    centers: np.ndarray
    duals: np.ndarray
    free: np.ndarray
    sigma: float


class DualSums(NamedTuple):
    """Sums over rows: totals (see the places above), and w of the positive and of the negative duals."""

    totals: np.ndarray
    positive: np.ndarray
    negative: np.ndarray


@inlined
def upper_bound(loss, i):
    """The largest dual of a row."""
    counted = loss.weights[i] > 0.0 and (not loss.one_sided or loss.targets[i] > 0.0)
    return loss.box_bound * loss.weights[i] if counted else 0.0


@inlined
def lower_bound(loss, i):
    """The smallest dual of a row."""
    counted = loss.weights[i] > 0.0 and (not loss.one_sided or loss.targets[i] < 0.0)
    return -loss.box_bound * loss.weights[i] if counted else 0.0


@inlined
def proximal_dual(loss, sigma, i, center, score):
    """Return the proximal dual of a row at a score, and whether it is free."""
    step = sigma * loss.weights[i]
    dual = center + step * (loss.targets[i] - score)
    threshold = step * loss.epsilon
    shrink = 1.0 / (1.0 + sigma * loss.curvature)
    if dual > threshold:
        dual = (dual - threshold) * shrink
        end = upper_bound(loss, i)
        return (dual, True) if dual < end else (end, False)
    if dual < -threshold:
        dual = (dual + threshold) * shrink
        end = lower_bound(loss, i)
        return (dual, True) if dual > end else (end, False)
    return 0.0, False


@jit
def evaluate(X, loss, vectors, length, sums):
    """Move the scores by ``length`` times their changes, compute the proximal duals, and add to the sums."""
    totals = sums.totals
    for k in range(vectors.rows.size):
        i = vectors.rows[k]
        if length != 0.0:
            vectors.scores[k] += length * vectors.changes[k]
        weight, target, score = loss.weights[i], loss.targets[i], vectors.scores[k]
        dual, is_free = proximal_dual(loss, vectors.sigma, i, vectors.centers[k], score)
        vectors.duals[k] = dual
        vectors.free[k] = is_free
        if weight == 0.0:
            continue
        move, step = dual - vectors.centers[k], vectors.sigma * weight
        # The step of a tiny weight underflows, and the dual stays.
        if step > 0.0:
            totals[MOVED] += move * move / step
        residual = target - score
        if loss.one_sided:
            excess = residual * target
        else:
            excess = abs(residual) - loss.epsilon
        if excess > 0.0:
            totals[LOSS] += weight * (excess if loss.curvature == 0.0 else excess * excess)
        if dual > 0.0:
            totals[POSITIVE] += dual
            totals[LINEAR_POSITIVE] += dual * (target - loss.epsilon)
            totals[QUADRATIC_POSITIVE] += dual * dual * loss.curvature / weight
            add_scaled(X, i, dual, sums.positive)
        elif dual < 0.0:
            totals[NEGATIVE] -= dual
            totals[LINEAR_NEGATIVE] += dual * (target + loss.epsilon)
            totals[QUADRATIC_NEGATIVE] += dual * dual * loss.curvature / weight
            add_scaled(X, i, dual, sums.negative)


@jit
def mark_working_set(loss, vectors, radius, marks):
    """Mark the rows whose proximal dual is not constant over all scores up to ``radius`` away."""
    for k in range(vectors.rows.size):
        i, center, score = vectors.rows[k], vectors.centers[k], vectors.scores[k]
        least = proximal_dual(loss, vectors.sigma, i, center, score + radius)[0]
        most = proximal_dual(loss, vectors.sigma, i, center, score - radius)[0]
        marks[k] = least != most


@jit
def derivative_at_full_step(X, loss, vectors, step, step_b):
    """Compute the changes of the scores along a step; return the sum of the duals at its end times them."""
    total = 0.0
    for k in range(vectors.rows.size):
        i = vectors.rows[k]
        change = dot(X, i, step) + step_b
        vectors.changes[k] = change
        total += proximal_dual(loss, vectors.sigma, i, vectors.centers[k], vectors.scores[k] + change)[0] * change
    return total


@jit
def derivative_along_step(loss, vectors, t):
    """The sum of the duals at the length ``t`` times the changes of the scores; it falls as t grows."""
    total = 0.0
    for k in range(vectors.rows.size):
        score, change = vectors.scores[k] + t * vectors.changes[k], vectors.changes[k]
        total += proximal_dual(loss, vectors.sigma, vectors.rows[k], vectors.centers[k], score)[0] * change
    return total


@jit
def derivatives_along_step(loss, vectors, lengths, cuts, totals):
    """Add to ``totals`` these sums at many lengths, which increase; ``cuts`` divides them into groups.

    The dual of a row is linear in the length between two kinks. Where a group lies between them, which its
    smallest and largest values decide, two numbers stand for all of its lengths.
    """
    for j in range(cuts.size - 1):
        first, last = cuts[j], cuts[j + 1]
        begin, end = lengths[first], lengths[last - 1]
        constant, slope = 0.0, 0.0
        for k in range(vectors.rows.size):
            i, center, score, change = vectors.rows[k], vectors.centers[k], vectors.scores[k], vectors.changes[k]
            left, left_free = proximal_dual(loss, vectors.sigma, i, center, score + begin * change)
            right, right_free = proximal_dual(loss, vectors.sigma, i, center, score + end * change)
            if left_free == right_free and (left == right or (left_free and left * right > 0.0)):
                constant += left * change
                slope += (right - left) * change
            else:
                for m in range(first, last):
                    dual = proximal_dual(loss, vectors.sigma, i, center, score + lengths[m] * change)[0]
                    totals[m] += dual * change
        for m in range(first, last):
            share = (lengths[m] - begin) / (end - begin) if last - first > 1 else 0.0
            totals[m] += constant + share * slope
