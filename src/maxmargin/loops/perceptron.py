"""Epochs of the perceptron, online or in a batch, and of the kernel perceptron."""

import math
from typing import NamedTuple

import numpy as np

from maxmargin.data.rows import Rows
from maxmargin.loops.dispatch import Dispatched
from maxmargin.loops.jit import jit
from maxmargin.loops.rows import add_scaled, dot, shrink
from maxmargin.loops.screening import is_safe, record_score, record_update

# A factor on all coefficients below this is multiplied into them.
SMALLEST_SCALE = 1e-9


class Examples(NamedTuple):
    """What an epoch reads: the rows, their signs, and the step that an update on each row takes.

    ``intercept_step`` is 1.0 with an intercept, which is the weight of a feature that is always 1, and 0.0 without.
    """

    rows: Rows
    signs: np.ndarray
    steps: np.ndarray
    intercept_step: float


class Coefficients(NamedTuple):
    """What an epoch writes: w, b, and alpha, the sum of the steps taken on each row."""

    w: np.ndarray
    intercept: np.ndarray
    alpha: np.ndarray


class Shrinkage(NamedTuple):
    """The penalty of a perceptron: what every row does to the coefficients.

    Attributes
    ----------
    factor : that on all coefficients
    step : how much the 1-norm takes of a coefficient at most
    alpha, l1_ratio : the penalty, and the share of the 1-norm in it
    taken : what the 1-norm has taken so far, one a coefficient, with its sign
    total : one number, the sum of all steps so far
    norms : the 1-norm and the squared norm of the coefficients after the last update, times the factors since
    adds_penalty : whether the loss of an epoch includes, for every row, the penalty of these norms, as scikit-learn's
    """

    factor: float
    step: float
    alpha: float
    l1_ratio: float
    taken: np.ndarray
    total: np.ndarray
    norms: np.ndarray
    adds_penalty: bool


class Mistakes(NamedTuple):
    """The perceptron's rule: a violation is a mistake, y_i f(x_i) <= 0."""

    unused: float = 0.0


class MarginViolations(NamedTuple):
    """The margin perceptron's rule: a violation is a mistake, or a point nearer to the hyperplane than ``distance``.

    ``lengths`` are the lengths that rows are divided by (all ones, unless they are normalised), ``squared_norms``
    those of the points, ``squared_length[0]`` is ||w||² (with the intercept), updated along with w, and
    ``updates_left[0]`` counts down to the limit of the round: -1 once a violation was met at 0.
    """

    distance: float
    lengths: np.ndarray
    squared_norms: np.ndarray
    squared_length: np.ndarray
    updates_left: np.ndarray


class NoAverage(NamedTuple):
    """Keep the last coefficients only."""

    unused: float = 0.0


class RunningAverage(NamedTuple):
    """What must be subtracted from the last coefficients to get their average over all examples seen.

    ``seen[0]`` counts the examples before this epoch's first one, ``since`` those after which averaging starts.
    """

    w: np.ndarray
    intercept: np.ndarray
    alpha: np.ndarray
    seen: np.ndarray
    since: int


def threshold_of(rule, i):
    """The largest y_i f(x_i) that is a violation."""


def record_step(rule, i, step, margin):
    """Account for an update in the rule's own quantities."""


def is_exhausted(rule):
    """Whether no further update is allowed."""


def update_average(average, examples, i, change, position):
    """Account for an update in the average."""


def count_seen(average, count):
    """Account for the examples of an epoch."""


_threshold_of = Dispatched(threshold_of)
_record_step = Dispatched(record_step)
_is_exhausted = Dispatched(is_exhausted)
_update_average = Dispatched(update_average)
_count_seen = Dispatched(count_seen)


@_threshold_of.on(Mistakes)
def _(rule, i):
    return 0.0


@_record_step.on(Mistakes)
def _(rule, i, step, margin):
    pass


@_is_exhausted.on(Mistakes)
def _(rule):
    return False


@_threshold_of.on(MarginViolations)
def _(rule, i):
    # A point at exactly the distance is no violation; at distance 0 (w = 0, or on the hyperplane) it is one.
    return max(0.0, np.nextafter(rule.distance * rule.lengths[i] * math.sqrt(rule.squared_length[0]), 0.0))


@_record_step.on(MarginViolations)
def _(rule, i, step, margin):
    rule.squared_length[0] += 2.0 * step * margin + step * step * rule.squared_norms[i]
    rule.updates_left[0] -= 1


@_is_exhausted.on(MarginViolations)
def _(rule):
    if rule.updates_left[0] > 0:
        return False
    rule.updates_left[0] = -1
    return True


@_update_average.on(NoAverage)
def _(average, examples, i, change, position):
    pass


@_count_seen.on(NoAverage)
def _(average, count):
    pass


@_count_seen.on(RunningAverage)
def _(average, count):
    average.seen[0] += count


@_update_average.on(RunningAverage)
def _(average, examples, i, change, position):
    before = max(0.0, average.seen[0] + position - average.since)
    add_scaled(examples.rows, i, before * change, average.w)
    average.intercept[0] += before * change * examples.intercept_step
    average.alpha[i] += before * abs(change)


@jit
def online_epochs(examples, orders, rule, coefficients, screening, average):
    """Run one epoch in the order of each row of ``orders``, updating at once on each violation.

    Ends after an epoch without a violation, or at the rule's last update. Returns the number of epochs begun and for
    each of them the updates, the sum of steps_i max(0, -y_i f(x_i)) at the time of evaluation, the rows evaluated, and
    the sum over these of y_i f(x_i) minus the rule's threshold.
    """
    updates = np.zeros(orders.shape[0], np.int64)
    online_loss = np.zeros(orders.shape[0])
    rows_evaluated = np.zeros(orders.shape[0], np.int64)
    excess = np.zeros(orders.shape[0])
    n_epochs = 0
    exhausted = False
    for number in range(orders.shape[0]):
        n_epochs += 1
        # Sums in scalars, which stay in registers.
        n_updates, n_evaluated, loss, total = 0, 0, 0.0, 0.0
        for position in range(orders.shape[1]):
            i = orders[number, position]
            sign = examples.signs[i]
            threshold = threshold_of(rule, i)
            if is_safe(screening, i, sign, coefficients.intercept[0], threshold):
                continue
            inner = sign * dot(examples.rows, i, coefficients.w)
            record_score(screening, i, sign, inner)
            margin = inner + sign * coefficients.intercept[0]
            n_evaluated += 1
            total += margin - threshold
            if margin > threshold:
                continue
            exhausted = is_exhausted(rule)
            if exhausted:
                break
            step = examples.steps[i]
            add_scaled(examples.rows, i, sign * step, coefficients.w)
            coefficients.intercept[0] += sign * step * examples.intercept_step
            coefficients.alpha[i] += step
            record_step(rule, i, step, margin)
            record_update(screening, i, sign, step)
            update_average(average, examples, i, sign * step, position)
            n_updates += 1
            loss -= step * min(margin, 0.0)
        updates[number], rows_evaluated[number] = n_updates, n_evaluated
        online_loss[number], excess[number] = loss, total
        count_seen(average, orders.shape[1])
        if n_updates == 0 or exhausted:
            break
    return n_epochs, updates, online_loss, rows_evaluated, excess


@jit
def penalised_epoch(examples, order, coefficients, shrinkage):
    """Run through the rows once; the coefficients shrink with every row, and change on each mistake.

    Returns the number of mistakes, and the sum of max(0, -y_i f(x_i)) at the time of evaluation, with the penalty.
    """
    w, norms = coefficients.w, shrinkage.norms
    mistakes, loss, scale = 0, 0.0, 1.0
    for position in range(order.size):
        i = order[position]
        sign = examples.signs[i]
        margin = sign * (scale * dot(examples.rows, i, w) + coefficients.intercept[0])
        loss -= min(margin, 0.0)
        if shrinkage.adds_penalty:
            l1_ratio = shrinkage.l1_ratio
            loss += shrinkage.alpha * (0.5 * (1.0 - l1_ratio) * norms[1] + l1_ratio * norms[0])
            norms[0] *= shrinkage.factor
            norms[1] *= shrinkage.factor * shrinkage.factor
        scale *= shrinkage.factor
        if scale < SMALLEST_SCALE:
            # Before its inverse overflows; a factor of zero sets all coefficients to zero.
            for j in range(w.size):
                w[j] *= scale
            scale = 1.0
        if margin <= 0.0:
            step = examples.steps[i]
            add_scaled(examples.rows, i, sign * step / scale, w)
            coefficients.intercept[0] += sign * step * examples.intercept_step
            coefficients.alpha[i] += step
            mistakes += 1
            if shrinkage.adds_penalty:
                norms[:] = 0.0
                for j in range(w.size):
                    norms[0] += scale * abs(w[j])
                    norms[1] += scale * scale * w[j] * w[j]
        if shrinkage.step > 0.0:
            shrinkage.total[0] += shrinkage.step
            shrink(examples.rows, i, scale, shrinkage.total[0], shrinkage.taken, w)
    if scale != 1.0:
        for j in range(w.size):
            w[j] *= scale
    return mistakes, loss


@jit
def batch_epoch(examples, order, coefficients, change):
    """Add up the updates of all mistakes of the current coefficients, into ``change``.

    ``change`` has the intercept's part in its last place. Returns the number of mistakes and the sum of
    steps_i max(0, -y_i f(x_i)).
    """
    mistakes = 0
    loss = 0.0
    change_of_w = change[:-1]
    for position in range(order.size):
        i = order[position]
        sign = examples.signs[i]
        margin = sign * (dot(examples.rows, i, coefficients.w) + coefficients.intercept[0])
        if margin > 0.0:
            continue
        step = examples.steps[i]
        add_scaled(examples.rows, i, sign * step, change_of_w)
        change[-1] += sign * step * examples.intercept_step
        coefficients.alpha[i] += step
        mistakes += 1
        loss -= step * margin
    return mistakes, loss


@jit
def criterion_sum(examples, order, coefficients):
    """Sum steps_i max(0, -y_i f(x_i)) over the rows of ``order``."""
    loss = 0.0
    for position in range(order.size):
        i = order[position]
        margin = examples.signs[i] * (dot(examples.rows, i, coefficients.w) + coefficients.intercept[0])
        loss -= examples.steps[i] * min(margin, 0.0)
    return loss


@jit
def kernel_block_epoch(gram, signs, steps, scores, intercept_step, alpha_change):
    """One block of an epoch of the kernel perceptron, given the Gram matrix of its rows and their scores before it.

    Adds the steps taken to ``alpha_change`` and updates the scores of the rows that follow in the block. Returns the
    number of updates and the sum of steps_i max(0, -y_i f(x_i)) at the time of evaluation.
    """
    updates = 0
    online_loss = 0.0
    for i in range(signs.size):
        margin = signs[i] * scores[i]
        if margin > 0.0:
            continue
        change = signs[i] * steps[i]
        alpha_change[i] += steps[i]
        for j in range(i + 1, signs.size):
            scores[j] += change * (gram[i, j] + intercept_step)
        updates += 1
        online_loss -= steps[i] * margin
    return updates, online_loss
