"""One pass of a perceptron, online or in a batch."""

import math
from typing import NamedTuple

import numpy as np

from maxmargin.data.rows import Rows
from maxmargin.loops.dispatch import Dispatched
from maxmargin.loops.jit import jit
from maxmargin.loops.rows import add_scaled, dot
from maxmargin.loops.screening import is_safe, note_look, note_update


class Examples(NamedTuple):
    """What a pass reads: the rows, their signs, and the step that an update on each row takes.

    ``intercept_step`` is 1.0 where the plane has an intercept (a feature that is always 1) and 0.0 where not.
    """

    rows: Rows
    signs: np.ndarray
    steps: np.ndarray
    intercept_step: float


class Plane(NamedTuple):
    """What a pass writes: the plane, and alpha, the sum of the steps taken on each row."""

    w: np.ndarray
    intercept: np.ndarray
    alpha: np.ndarray


class Mistakes(NamedTuple):
    """A violation is a mistake: y_i f(x_i) <= 0 (theory A1)."""

    unused: float = 0.0


class NearerThan(NamedTuple):
    """A violation is a mistake, or a point nearer to the plane than ``distance`` (theory A10).

    ``lengths`` are the lengths that rows are divided by (all ones, unless they are normalised), ``squared_norms``
    those of the points, ``squared_length[0]`` is ||w||² (with the intercept), kept along with w, and
    ``updates_left[0]`` counts down to the end of the round (A11): -1 once a violation was met at 0.
    """

    distance: float
    lengths: np.ndarray
    squared_norms: np.ndarray
    squared_length: np.ndarray
    updates_left: np.ndarray


class NoAverage(NamedTuple):
    """Keep the last plane only."""

    unused: float = 0.0


class RunningAverage(NamedTuple):
    """What must be subtracted from the last plane to get the average over all examples seen.

    ``seen[0]`` counts the examples before this pass's first one, ``since`` those after which averaging starts.
    """

    w: np.ndarray
    intercept: np.ndarray
    alpha: np.ndarray
    seen: np.ndarray
    since: int


def floor_of(rule, i):
    """The largest y_i f(x_i) that is a violation."""


def note_step(rule, i, step, margin):
    """Account for an update in the rule's own quantities."""


def is_exhausted(rule):
    """Whether no further update is allowed."""


def note_average(average, examples, i, change, position):
    """Account for an update in the average."""


def count_seen(average, count):
    """Account for the examples of a pass."""


_floor_of = Dispatched(floor_of)
_note_step = Dispatched(note_step)
_is_exhausted = Dispatched(is_exhausted)
_note_average = Dispatched(note_average)
_count_seen = Dispatched(count_seen)


@_floor_of.on(Mistakes)
def _(rule, i):
    return 0.0


@_note_step.on(Mistakes)
def _(rule, i, step, margin):
    pass


@_is_exhausted.on(Mistakes)
def _(rule):
    return False


@_floor_of.on(NearerThan)
def _(rule, i):
    # A point at exactly the distance is no violation; at distance 0 (w = 0, or on the plane) it is one.
    return max(0.0, np.nextafter(rule.distance * rule.lengths[i] * math.sqrt(rule.squared_length[0]), 0.0))


@_note_step.on(NearerThan)
def _(rule, i, step, margin):
    rule.squared_length[0] += 2.0 * step * margin + step * step * rule.squared_norms[i]
    rule.updates_left[0] -= 1


@_is_exhausted.on(NearerThan)
def _(rule):
    if rule.updates_left[0] > 0:
        return False
    rule.updates_left[0] = -1
    return True


@_note_average.on(NoAverage)
def _(average, examples, i, change, position):
    pass


@_count_seen.on(NoAverage)
def _(average, count):
    pass


@_count_seen.on(RunningAverage)
def _(average, count):
    average.seen[0] += count


@_note_average.on(RunningAverage)
def _(average, examples, i, change, position):
    before = max(0.0, average.seen[0] + position - average.since)
    add_scaled(examples.rows, i, before * change, average.w)
    average.intercept[0] += before * change * examples.intercept_step
    average.alpha[i] += before * abs(change)


@jit
def online_passes(examples, orders, rule, plane, looks, average):
    """Visit the rows in the order of each row of ``orders``, and update the plane at once on each violation.

    Ends after a pass without a violation, or at the rule's last update. Returns the number of passes begun and for
    each of them the updates, the sum of steps_i max(0, -y_i f(x_i)) as it was met, the rows looked at, and the sum over
    these of what their y_i f(x_i) exceeds the rule's floor by.
    """
    updates = np.zeros(orders.shape[0], np.int64)
    criterion = np.zeros(orders.shape[0])
    looked_at = np.zeros(orders.shape[0], np.int64)
    excess = np.zeros(orders.shape[0])
    n_passes = 0
    exhausted = False
    for number in range(orders.shape[0]):
        n_passes += 1
        # Sums in scalars, which stay in registers.
        n_updates, n_looks, loss, total = 0, 0, 0.0, 0.0
        for position in range(orders.shape[1]):
            i = orders[number, position]
            sign = examples.signs[i]
            floor = floor_of(rule, i)
            if is_safe(looks, i, sign, plane.intercept[0], floor):
                continue
            inner = sign * dot(examples.rows, i, plane.w)
            note_look(looks, i, sign, inner)
            margin = inner + sign * plane.intercept[0]
            n_looks += 1
            total += margin - floor
            if margin > floor:
                continue
            exhausted = is_exhausted(rule)
            if exhausted:
                break
            step = examples.steps[i]
            add_scaled(examples.rows, i, sign * step, plane.w)
            plane.intercept[0] += sign * step * examples.intercept_step
            plane.alpha[i] += step
            note_step(rule, i, step, margin)
            note_update(looks, i, sign, step)
            note_average(average, examples, i, sign * step, position)
            n_updates += 1
            loss -= step * min(margin, 0.0)
        updates[number], looked_at[number], criterion[number], excess[number] = n_updates, n_looks, loss, total
        count_seen(average, orders.shape[1])
        if n_updates == 0 or exhausted:
            break
    return n_passes, updates, criterion, looked_at, excess


@jit
def batch_pass(examples, order, plane, change):
    """Add up the updates of all mistakes of the plane as it stands, into ``change`` (theory A2).

    ``change`` has the intercept's part in its last place. Returns the number of mistakes and the sum of
    steps_i max(0, -y_i f(x_i)).
    """
    mistakes = 0
    criterion = 0.0
    change_of_w = change[:-1]
    for position in range(order.size):
        i = order[position]
        sign = examples.signs[i]
        margin = sign * (dot(examples.rows, i, plane.w) + plane.intercept[0])
        if margin > 0.0:
            continue
        step = examples.steps[i]
        add_scaled(examples.rows, i, sign * step, change_of_w)
        change[-1] += sign * step * examples.intercept_step
        plane.alpha[i] += step
        mistakes += 1
        criterion -= step * margin
    return mistakes, criterion
