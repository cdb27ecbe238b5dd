"""A Newton step of all free duals of a kernel SVM at once.

SMO finds the duals that are at a bound, but needs very many steps to balance the free ones where their kernel matrix
is ill-conditioned, as it is for a large C. With g the derivatives of the dual objective in the free duals and K their
kernel matrix, the changes delta of the maximiser solve

    K delta + b 1 = g,   sum delta = 0

Duals that would leave their box are set to its end, and the others solve the system again. The dual objective is
concave between two feasible points, so that an exact line search makes the step an ascent.

Scheinberg, "An efficient implementation of an active set method for SVMs", 2006.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy.linalg import LinAlgError

from maxmargin.engine import Threads
from maxmargin.loops.smo import Duals, Segments, WorkingSets, add_kernel_rows, ascend_pairs, ascend_working_sets
from maxmargin.solvers.core.cholesky import ONE_CALL, positive_inverse
from maxmargin.solvers.kernel.base import LARGEST_IMBALANCE, VIOLATION_SHARE

# The most free duals: a factorisation of their kernel matrix takes some tenths of a second.
MOST_FREE = 2048
# Added to the diagonal of K, as a share of its largest entry and for every free dual: the rounding of kernel values.
ROUNDING = {np.dtype(np.float32): 6e-8, np.dtype(np.float64): 1e-13}
# How often duals are set to the end of their box before a step is given up.
MOST_SOLVES = 12
# New duals in a small working set, and free duals that it keeps: with 1024 of them a step takes three times as long,
# and few are saved (measured).
SMALL_SET, KEPT_IN_SMALL_SET = 96, 160
# Small sets are chosen within a large one where they are at most this share of it: else that takes more time than it
# saves.
SHARE_OF_SET = 0.25
# Steps of SMO on which a Newton step has to wait. SMO that converges well needs some ten for every free dual; the
# solves take as long as a number of steps that grows with the square of the number of free duals.
FEWEST_STEPS = 1000
STEPS_PER_FREE = 8
STEPS_PER_SQUARE = 1.0 / 16.0
# A Newton step that gains less than this share of the gain of the steps of SMO since the last one came too early.
WORTHWHILE = 0.01


class NewtonStep(NamedTuple):
    """New values of some duals.

    Attributes
    ----------
    places : positions of the duals
    beta : their new values
    changes : new values minus old ones
    """

    places: np.ndarray
    beta: np.ndarray
    changes: np.ndarray


def free_places(duals: Duals) -> np.ndarray:
    """Positions of the duals inside their box, and not at the kink at zero."""
    beta, _, lower, upper, _ = duals
    return np.flatnonzero((beta != 0.0) & (beta > lower) & (beta < upper))


class FreeSteps:
    """Newton steps between those of SMO: when the next one is due, and whether the last one paid.

    Parameters
    ----------
    n_threads : int
    stopped : callable
        Whether a limit of the run is reached.

    Attributes
    ----------
    patience : int
        How many times as long as usual the next one waits.
    since : int
        Steps of SMO since the last one.
    gained : float
        What these have added to the dual objective.
    """

    checkpointed = ("patience", "since", "gained")

    def __init__(self, n_threads: int, stopped: Callable[[], bool]) -> None:
        self.n_threads, self.stopped = n_threads, stopped
        self.patience, self.since, self.gained = 1, 0, 0.0

    def steps_left(self, duals: Duals) -> int:
        """Steps of SMO before the next Newton step, if as many duals stay free; zero where it is due."""
        n_free = min(free_places(duals).size, MOST_FREE)
        wait = FEWEST_STEPS + STEPS_PER_FREE * n_free + int(STEPS_PER_SQUARE * n_free**2)
        return max(0, self.patience * wait - self.since)

    def count(self, n_steps: int, duals: Duals, beta: np.ndarray, residuals: np.ndarray) -> None:
        """Count steps of SMO that began at these duals and residuals."""
        self.since += n_steps
        self.gained += gain_since(duals, beta, residuals)

    def ascend(self, gram: np.ndarray, duals: Duals) -> None:
        """Make a Newton step, in place, given the kernel matrix of all duals.

        It pays where it gains a share of what the steps of SMO since the last one gained: these took about as long, but
        gain less and less.
        """
        step = newton_step(gram, duals, self.n_threads, self.stopped)
        gain = 0.0
        if step is not None:
            beta, residuals = duals.beta.copy(), duals.residuals.copy()
            duals.beta[step.places] = step.beta
            add_kernel_rows(gram, step.places, -step.changes, duals.residuals, 0, duals.residuals.size)
            gain = gain_since(duals, beta, residuals)
        self.patience = 1 if gain > WORTHWHILE * self.gained else 2 * self.patience
        self.since, self.gained = 0, 0.0


def gain_since(duals: Duals, beta: np.ndarray, residuals: np.ndarray) -> float:
    """By how much the dual objective has risen since these duals and residuals."""
    of_kink = duals.epsilon * float(np.abs(duals.beta).sum() - np.abs(beta).sum())
    return 0.5 * float((duals.beta - beta) @ (residuals + duals.residuals)) - of_kink


def ascend_working_set(gram: np.ndarray, duals: Duals, tol: float, max_steps: int, newton: FreeSteps) -> int:
    """Make steps until the KKT violation is at most ``tol``; return their number.

    Pairs are chosen in small working sets within the large one, where it is much larger.
    """
    n_steps = 0
    while n_steps < max_steps:
        beta, residuals = duals.beta.copy(), duals.residuals.copy()
        most = min(max_steps - n_steps, max(FEWEST_STEPS, newton.steps_left(duals)))
        if min(KEPT_IN_SMALL_SET, free_places(duals).size) + SMALL_SET <= SHARE_OF_SET * duals.beta.size:
            sets = WorkingSets(SMALL_SET, KEPT_IN_SMALL_SET, VIOLATION_SHARE, most, most, tol, gap=-1.0, accepted=0.0)
            # Without a gap, the targets are not needed.
            made, violation, _ = ascend_working_sets(
                gram, Segments(0, duals.beta.size, 0), duals, duals.residuals, sets
            )
            ended = violation <= tol or made == 0
        else:
            made = ascend_pairs(gram, duals, tol, most)
            ended = made < most
        n_steps += made
        if ended or newton.stopped():
            break
        newton.count(made, duals, beta, residuals)
        if not newton.steps_left(duals):
            newton.ascend(gram, duals)
    return n_steps


def newton_step(gram: np.ndarray, duals: Duals, n_threads: int, stopped: Callable[[], bool]) -> NewtonStep | None:
    """The Newton step of the free duals; None where they are too many, or none of the face is an ascent."""
    places = free_places(duals)
    if not 2 <= places.size <= MOST_FREE:
        return None
    beta, epsilon = duals.beta[places], duals.epsilon
    lower, upper = duals.lower[places], duals.upper[places]
    if epsilon > 0.0:
        # Beyond zero the objective is another one.
        lower, upper = np.where(beta > 0.0, 0.0, lower), np.where(beta > 0.0, upper, 0.0)
    derivatives = duals.residuals[places] - epsilon * np.sign(beta)
    kernel = gram[np.ix_(places, places)].astype(np.float64)
    face = _Face(kernel, derivatives, lower - beta, upper - beta, ROUNDING[gram.dtype])
    with Threads(n_threads if places.size > ONE_CALL else 1) as threads:
        changes = face.maximiser(threads, stopped)
    if changes is None:
        return None
    derivative, curvature = float(derivatives @ changes), float(changes @ (kernel @ changes))
    if not derivative > 0.0:
        return None
    if derivative < curvature:
        changes *= derivative / curvature
        return NewtonStep(places, beta + changes, changes)
    # A bound is reached exactly, so that the dual counts as bounded.
    new = np.where(changes == lower - beta, lower, np.where(changes == upper - beta, upper, beta + changes))
    return NewtonStep(places, new, changes)


class _Face(NamedTuple):
    """Free duals: their kernel matrix and derivatives, the bounds of their changes, the rounding of kernel values."""

    kernel: np.ndarray
    derivatives: np.ndarray
    lowest: np.ndarray
    highest: np.ndarray
    rounding: float

    def maximiser(self, threads: Threads, stopped: Callable[[], bool]) -> np.ndarray | None:
        """Changes within their bounds that add up to zero, optimal but for those at a bound; None if not found."""
        size = self.derivatives.size
        ridge = self.rounding * size * float(self.kernel.diagonal().max())
        changes, inside = np.zeros(size), np.ones(size, dtype=bool)
        for _ in range(MOST_SOLVES):
            few, others = np.flatnonzero(inside), np.flatnonzero(~inside)
            if few.size < 2:
                return None
            system = self.kernel[np.ix_(few, few)]
            system.flat[:: few.size + 1] += ridge
            right = np.ones((few.size, 2))
            right[:, 0] = self.derivatives[few] - self.kernel[np.ix_(few, others)] @ changes[others]
            try:
                solution = positive_inverse(system, threads, stopped)(right)
            except LinAlgError:
                return None
            sums = solution.sum(axis=0)
            b = (sums[0] + changes[others].sum()) / sums[1]
            changes[few] = solution[:, 0] - b * solution[:, 1]
            # What rounding leaves of the sum, where the system is nearly singular.
            changes[few] -= changes.sum() / few.size
            if not np.isfinite(changes[few]).all():
                return None
            beyond = inside & ((changes < self.lowest) | (changes > self.highest))
            if not beyond.any():
                return changes if abs(changes.sum()) <= LARGEST_IMBALANCE * np.abs(changes).sum() else None
            changes[beyond] = np.clip(changes, self.lowest, self.highest)[beyond]
            inside &= ~beyond
        return None
