"""Dual steps of the multiclass SVM, one row and all its classes at a time.

Rows may be centred: with free intercepts that is the same problem, better conditioned. Sparse rows stay sparse, because
the centre enters only through the sums

    W = sum_i B_i x_i^T,    t = sum_i B_i:    the coefficients are W - t centre^T.

S. Keerthi, S. Sundararajan, K. Chang, C. Hsieh, C. Lin, "A sequential dual method for large scale multi-class linear
SVMs", KDD 2008.
"""

from typing import Any, NamedTuple

import numpy as np

from maxmargin.data.rows import DenseRows, SparseRows
from maxmargin.loops.dispatch import Dispatched
from maxmargin.loops.jit import inlined, jit
from maxmargin.loops.prefetch import fetch_early
from maxmargin.loops.rows import CACHE_LINE, fetch_row

# Rows are prefetched this many steps before they are needed.
AHEAD = 3
# A row whose duals did not change is skipped twice as long as before, up to this many epochs.
LONGEST_WAIT = 63
# Violations that are rounding errors of scores.
ROUNDING = 1e-14
# More than any score, less than infinity: reordered sums must not meet infinities.
HUGE = 1e300


class ClassRows(NamedTuple):
    """Rows with the classes that they belong to.

    Attributes
    ----------
    rows : DenseRows or SparseRows
    codes : ndarray of unsigned int
    box_bounds : ndarray, the upper bound of each row's own dual
    curvatures : ndarray, the change of scores per unit of a dual: ||x_i - centre||² plus the intercept step
    projections : ndarray, x_i·centre
    """

    rows: Any
    codes: np.ndarray
    box_bounds: np.ndarray
    curvatures: np.ndarray
    projections: np.ndarray


class ClassCoefficients(NamedTuple):
    """Coefficients of every class, w_m = W_m - t_m centre.

    Attributes
    ----------
    W : ndarray of shape (d, n_classes), so that the entries of all classes lie together
    totals : ndarray of shape (n_classes,), t
    intercepts : ndarray of shape (n_classes,)
    intercept_step : float, the change of an intercept per unit of a dual
    square : float, ||centre||²
    """

    W: np.ndarray
    totals: np.ndarray
    intercepts: np.ndarray
    intercept_step: float
    square: float


class RowWork(NamedTuple):
    """Work arrays of one row: an entry a class, or for changes one a class that changes."""

    scores: np.ndarray
    targets: np.ndarray
    changed: np.ndarray
    changes: np.ndarray


class Schedule(NamedTuple):
    """The epoch in which each row is due again, and for how many epochs it was skipped."""

    due: np.ndarray
    epochs: np.ndarray


def row_work(n_classes: int) -> RowWork:
    """Allocate the work arrays."""
    return RowWork(np.empty(n_classes), np.empty(n_classes), np.empty(n_classes, np.uint32), np.empty(n_classes))


def add_dots(rows, i, W, scores):
    """scores_m += x_i·w_m"""


def add_changes(rows, i, work, count, W):
    """w_m += change_m x_i for the first ``count`` of the changed classes"""


def fetch_example(examples, i, duals):
    """Prefetch a row and its duals."""


def violation(work, duals, own, bound):
    """How far the highest score is above the lowest one of a class whose dual could rise."""


def shortfall(work, own):
    """How far the highest score is above that of the own class."""


def common_shift(work, duals, own, bound):
    """The shift that, added to all targets and cut at the upper ends, gives duals that sum to zero."""


_add_dots = Dispatched(add_dots, fastmath=True)
_add_changes = Dispatched(add_changes)
_fetch_example = Dispatched(fetch_example)
_violation = Dispatched(violation, fastmath=True)
_shortfall = Dispatched(shortfall, fastmath=True)
_common_shift = Dispatched(common_shift, fastmath=True)


@_add_dots.on(DenseRows)
def _(rows, i, W, scores):
    x = rows.values[i]
    in_fours = x.size // 4 * 4
    # Four columns at a time: scores are then read and written a fourth as often.
    for j in range(0, in_fours, 4):
        x_0, x_1, x_2, x_3 = x[j], x[j + 1], x[j + 2], x[j + 3]
        w_0, w_1, w_2, w_3 = W[j], W[j + 1], W[j + 2], W[j + 3]
        for m in range(scores.size):
            scores[m] += x_0 * w_0[m] + x_1 * w_1[m] + x_2 * w_2[m] + x_3 * w_3[m]
    for j in range(in_fours, x.size):
        for m in range(scores.size):
            scores[m] += x[j] * W[j, m]


@_add_dots.on(SparseRows)
def _(rows, i, W, scores):
    x = rows.values[rows.offsets[i] : rows.offsets[i + 1]]
    columns = rows.columns[rows.offsets[i] : rows.offsets[i + 1]]
    in_fours = x.size // 4 * 4
    for k in range(0, in_fours, 4):
        x_0, x_1, x_2, x_3 = x[k], x[k + 1], x[k + 2], x[k + 3]
        w_0, w_1, w_2, w_3 = W[columns[k]], W[columns[k + 1]], W[columns[k + 2]], W[columns[k + 3]]
        for m in range(scores.size):
            scores[m] += x_0 * w_0[m] + x_1 * w_1[m] + x_2 * w_2[m] + x_3 * w_3[m]
    for k in range(in_fours, x.size):
        w_0 = W[columns[k]]
        for m in range(scores.size):
            scores[m] += x[k] * w_0[m]


@_add_changes.on(DenseRows)
def _(rows, i, work, count, W):
    for j in range(W.shape[0]):
        for q in range(count):
            W[j, work.changed[q]] += rows.values[i, j] * work.changes[q]


@_add_changes.on(SparseRows)
def _(rows, i, work, count, W):
    for k in range(rows.offsets[i], rows.offsets[i + 1]):
        target = W[rows.columns[k]]
        for q in range(count):
            target[work.changed[q]] += rows.values[k] * work.changes[q]


@_fetch_example.on(ClassRows)
def _(examples, i, duals):
    fetch_row(examples.rows, i)
    for m in range(0, duals.shape[1], CACHE_LINE // duals.itemsize):
        fetch_early(duals, np.int64(i) * duals.shape[1] + m)


@_violation.on(RowWork)
def _(work, duals, own, bound):
    highest, lowest = -HUGE, HUGE
    for m in range(duals.size):
        score = work.scores[m]
        highest = max(highest, score)
        lowest = min(lowest, score if duals[m] < 0.0 else HUGE)
    if duals[own] < bound:
        lowest = min(lowest, work.scores[own])
    return highest - lowest - ROUNDING * abs(highest)


@_shortfall.on(RowWork)
def _(work, own):
    highest = -HUGE
    for m in range(work.scores.size):
        highest = max(highest, work.scores[m])
    return highest - work.scores[own]


@_common_shift.on(RowWork)
def _(work, duals, own, bound):
    # The sum of the cut targets is concave and rises with the shift. Newton's method on it never passes the zero,
    # whichever classes it first takes for uncut: those of the row's last step, which are mostly right.
    targets = work.targets
    total, uncut = targets[own], 1.0
    for m in range(duals.size):
        total += targets[m] if duals[m] < 0.0 else 0.0
        uncut += 1.0 if duals[m] < 0.0 else 0.0
    shift = -total / uncut
    for _ in range(duals.size + 1):
        total, uncut = 0.0, 0.0
        for m in range(duals.size):
            shifted = targets[m] + shift
            total += shifted if shifted < 0.0 else 0.0
            uncut += 1.0 if shifted < 0.0 else 0.0
        shifted = targets[own] + shift
        if shifted < 0.0:
            total, uncut = total - shifted, uncut - 1.0
        total += min(shifted, bound)
        uncut += 1.0 if shifted < bound else 0.0
        rise = -total / max(uncut, 1.0)
        if rise <= ROUNDING * bound:
            break
        shift += rise
    return shift


@inlined
def compute_row_scores(examples, i, coefficients, work):
    """Compute a row's scores, less 1 for its own class: no other one should be higher."""
    projection = examples.projections[i]
    for m in range(work.scores.size):
        work.scores[m] = coefficients.intercepts[m] - projection * coefficients.totals[m]
    add_dots(examples.rows, i, coefficients.W, work.scores)
    work.scores[examples.codes[i]] -= 1.0


@inlined
def at_corner(duals, own, bound):
    """Whether a row has no dual, or all its bound on one class: small changes of w do not move them."""
    could_rise = 1 if duals[own] < bound else 0
    for m in range(duals.size):
        if duals[m] < 0.0:
            could_rise += 1
    return could_rise == 1


@inlined
def cut_targets(work, own, bound, shift):
    """Turn the shifted targets into duals; the own class gets minus the sum of the others, so that the sum is zero."""
    others = 0.0
    for m in range(work.targets.size):
        if m != own:
            work.targets[m] = min(work.targets[m] + shift, 0.0)
            others -= work.targets[m]
    if others > bound:
        factor = bound / others
        for m in range(work.targets.size):
            work.targets[m] *= factor
    work.targets[own] = min(others, bound)


@jit
def ascend(examples, due, coefficients, duals, schedule, work, epoch, relaxation):
    """Make an over-relaxed step on each due row; return how many duals moved."""
    n_classes = duals.shape[1]
    moved = 0
    for k in range(due.size):
        i = due[k]
        if k + AHEAD < due.size:
            fetch_example(examples, due[k + AHEAD], duals)
        own, bound, of_row = examples.codes[i], examples.box_bounds[i], duals[i]
        compute_row_scores(examples, i, coefficients, work)
        if violation(work, of_row, own, bound) <= 0.0:
            if at_corner(of_row, own, bound):
                schedule.epochs[i] = min(2 * schedule.epochs[i] + 1, LONGEST_WAIT)
                schedule.due[i] = epoch + 1 + schedule.epochs[i]
            continue
        schedule.epochs[i] = 0
        moved += 1
        length = relaxation / examples.curvatures[i]
        for m in range(n_classes):
            work.targets[m] = of_row[m] - length * work.scores[m]
        cut_targets(work, own, bound, common_shift(work, of_row, own, bound))
        intercept_change = coefficients.intercept_step + coefficients.square - examples.projections[i]
        count = 0
        for m in range(n_classes):
            if work.targets[m] != of_row[m]:
                work.changed[count] = m
                work.changes[count] = work.targets[m] - of_row[m]
                coefficients.totals[m] += work.changes[count]
                coefficients.intercepts[m] += intercept_change * work.changes[count]
                of_row[m] = work.targets[m]
                count += 1
        add_changes(examples.rows, i, work, count, coefficients.W)
    return moved


@jit
def total_loss(examples, first, last, coefficients, work):
    """The sum of the losses of the rows first <= i < last."""
    total = 0.0
    for i in range(first, last):
        compute_row_scores(examples, i, coefficients, work)
        total += examples.box_bounds[i] * shortfall(work, examples.codes[i])
    return total


@jit
def combine(rows, first, last, duals, work, W):
    """w_m += sum of B_im x_i over the rows first <= i < last"""
    for i in range(first, last):
        count = 0
        for m in range(duals.shape[1]):
            if duals[i, m] != 0.0:
                work.changed[count] = m
                work.changes[count] = duals[i, m]
                count += 1
        add_changes(rows, i, work, count, W)
