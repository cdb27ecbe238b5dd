"""Which rows a pass has to look at.

An update on x_j with step c moves the score of x_i by c y_j x_i·x_j, which Cauchy and Schwarz bound by
c ||x_i|| ||x_j||. A row whose margin exceeded all that the updates since its last look can have taken from it
is still no violation, and the pass may go on without reading it: the trajectory stays the same.

The intercept's part of a move is known exactly. And where no entry of X is negative, x_i·x_j >= 0, so an update
takes margin only from rows of the other sign.
"""

import math
from typing import NamedTuple

import numpy as np

from maxmargin.loops.dispatch import Dispatched


class NoScreening(NamedTuple):
    """Look at every row."""

    unused: float = 0.0


class SafeScreening(NamedTuple):
    """Look only at the rows that may have become a violation.

    ``safe_until[i]`` is y_i w·x_i at the last look plus ||x_i|| times the path travelled until then.
    ``path[0]`` and ``path[1]`` are the lengths travelled that take margin from negative and positive rows.
    ``doubt`` times ||x_i|| ||w|| bounds the rounding of a computed score (``length[0]`` bounds ||w||).
    """

    safe_until: np.ndarray
    norms: np.ndarray
    path: np.ndarray
    length: np.ndarray
    nonnegative: bool
    doubt: float


def is_safe(looks, i, sign, intercept, floor):
    """Whether y_i f(x_i) > floor without looking."""


def note_look(looks, i, sign, margin):
    """Remember y_i w·x_i, as it is now."""


def note_update(looks, i, sign, step):
    """Account for w += step y_i x_i."""


_is_safe = Dispatched(is_safe)
_note_look = Dispatched(note_look)
_note_update = Dispatched(note_update)


@_is_safe.on(NoScreening)
def _(looks, i, sign, intercept, floor):
    return False


@_note_look.on(NoScreening)
def _(looks, i, sign, margin):
    pass


@_note_update.on(NoScreening)
def _(looks, i, sign, step):
    pass


@_is_safe.on(SafeScreening)
def _(looks, i, sign, intercept, floor):
    path = looks.path[1] if sign > 0.0 else looks.path[0]
    at_least = looks.safe_until[i] + sign * intercept - looks.norms[i] * (path + looks.doubt * looks.length[0])
    return at_least > floor


@_note_look.on(SafeScreening)
def _(looks, i, sign, margin):
    path = looks.path[1] if sign > 0.0 else looks.path[0]
    looks.safe_until[i] = margin + looks.norms[i] * path


@_note_update.on(SafeScreening)
def _(looks, i, sign, step):
    # Writing w rounds it: that too is a move, of at most one unit of ||w||.
    moved = step * looks.norms[i] + looks.doubt * looks.length[0]
    if sign > 0.0:
        looks.path[0] += moved
        if not looks.nonnegative:
            looks.path[1] += moved
    else:
        looks.path[1] += moved
        if not looks.nonnegative:
            looks.path[0] += moved
    looks.length[0] += moved
    # The row's own margin is known: it grew by step ||x_i||², and its own path did not shrink it.
    if not looks.nonnegative:
        looks.safe_until[i] += looks.norms[i] * moved
    looks.safe_until[i] += (1.0 - 4.0 * looks.doubt) * step * looks.norms[i] * looks.norms[i]


def start_safe_screening(norms: np.ndarray, *, nonnegative: bool, longest_row: int, length: float) -> SafeScreening:
    """Begin with every row unsafe; ``length`` is ||w|| now."""
    # Two computed scores are compared through exact arithmetic: each is off by at most (k + 2) units.
    doubt = 4.0 * (longest_row + 4) * float(np.finfo(np.float64).eps)
    return SafeScreening(
        safe_until=np.full(norms.size, -math.inf),
        # Squares of entries below 1e-154 underflow: a norm that small is not known better than this.
        norms=norms * (1.0 + doubt) + 1e-150,
        path=np.zeros(2),
        length=np.array([length * (1.0 + doubt)]),
        nonnegative=nonnegative,
        doubt=doubt,
    )
