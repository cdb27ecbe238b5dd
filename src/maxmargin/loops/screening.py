"""Safe screening: which rows an epoch of the perceptron need not evaluate.

An update on x_j with step c moves the score of x_i by c y_j x_i·x_j, which the Cauchy-Schwarz inequality bounds by
c ||x_i|| ||x_j||. A row whose margin exceeds all that the updates since its last evaluation can have taken from it is
still no violation, and the epoch may skip it: the sequence of updates stays the same.

The intercept's part of a move is known exactly. And where no entry of X is negative, x_i·x_j >= 0, so that an update
takes margin only from rows of the other sign.
"""

import math
from typing import NamedTuple

import numpy as np

from maxmargin.loops.dispatch import Dispatched


class NoScreening(NamedTuple):
    """Evaluate every row."""

    unused: float = 0.0


class SafeScreening(NamedTuple):
    """Evaluate only the rows that may have become a violation.

    ``safe_until[i]`` is y_i w·x_i at the last evaluation plus ||x_i|| times the path length at that time.
    ``path[0]`` and ``path[1]`` are the summed lengths of the updates that take margin from negative and positive rows.
    ``score_error`` times ||x_i|| ||w|| bounds the rounding error of a computed score (``length[0]`` bounds ||w||).
    """

    safe_until: np.ndarray
    norms: np.ndarray
    path: np.ndarray
    length: np.ndarray
    nonnegative: bool
    score_error: float


def is_safe(screening, i, sign, intercept, threshold):
    """Whether y_i f(x_i) > threshold is certain without an evaluation."""


def record_score(screening, i, sign, score):
    """Store y_i w·x_i, as it is now."""


def record_update(screening, i, sign, step):
    """Account for w += step y_i x_i."""


_is_safe = Dispatched(is_safe)
_record_score = Dispatched(record_score)
_record_update = Dispatched(record_update)


@_is_safe.on(NoScreening)
def _(screening, i, sign, intercept, threshold):
    return False


@_record_score.on(NoScreening)
def _(screening, i, sign, score):
    pass


@_record_update.on(NoScreening)
def _(screening, i, sign, step):
    pass


@_is_safe.on(SafeScreening)
def _(screening, i, sign, intercept, threshold):
    path = screening.path[1] if sign > 0.0 else screening.path[0]
    error = screening.score_error * screening.length[0]
    at_least = screening.safe_until[i] + sign * intercept - screening.norms[i] * (path + error)
    return at_least > threshold


@_record_score.on(SafeScreening)
def _(screening, i, sign, score):
    path = screening.path[1] if sign > 0.0 else screening.path[0]
    screening.safe_until[i] = score + screening.norms[i] * path


@_record_update.on(SafeScreening)
def _(screening, i, sign, step):
    # Storing w rounds it, which moves it by at most one unit of ||w||.
    moved = step * screening.norms[i] + screening.score_error * screening.length[0]
    if sign > 0.0:
        screening.path[0] += moved
        if not screening.nonnegative:
            screening.path[1] += moved
    else:
        screening.path[1] += moved
        if not screening.nonnegative:
            screening.path[0] += moved
    screening.length[0] += moved
    # The row's own margin is known: it grows by step ||x_i||², and this update's path takes nothing from it.
    if not screening.nonnegative:
        screening.safe_until[i] += screening.norms[i] * moved
    screening.safe_until[i] += (1.0 - 4.0 * screening.score_error) * step * screening.norms[i] * screening.norms[i]


def start_safe_screening(norms: np.ndarray, *, nonnegative: bool, longest_row: int, length: float) -> SafeScreening:
    """Begin with every row unsafe; ``length`` is ||w|| now."""
    # Two computed scores are compared through exact arithmetic: each is off by at most (k + 2) units.
    score_error = 4.0 * (longest_row + 4) * float(np.finfo(np.float64).eps)
    return SafeScreening(
        safe_until=np.full(norms.size, -math.inf),
        # Squares of entries below 1e-154 underflow: a norm that small is not known better than this.
        norms=norms * (1.0 + score_error) + 1e-150,
        path=np.zeros(2),
        length=np.array([length * (1.0 + score_error)]),
        nonnegative=nonnegative,
        score_error=score_error,
    )
