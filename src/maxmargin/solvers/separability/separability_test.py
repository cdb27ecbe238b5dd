"""Separability test of a perceptron run: on inseparable data the updates never end, so a proof has to end it.

The test runs the Newton method of the hard margin, which takes as long as some dozens of epochs. So it runs only when
more work than that has gone into epochs, and again when twice as much has.
"""

import math

import numpy as np

from maxmargin.data import Dataset, centred_and_scaled
from maxmargin.problems.hard_margin import HardMarginProblem
from maxmargin.solvers.core import Monitor, Options, Status
from maxmargin.solvers.core.hessian import LARGEST_DIRECT
from maxmargin.solvers.linear import hard_margin
from maxmargin.solvers.separability import decision

# Epochs of the perceptron that take at least as long as the reading of the rows in a Newton step (measured).
EPOCHS_TO_READ = 2.0
# How much faster BLAS computes the Newton matrix than a loop over single entries would.
FASTER_BY_BLAS = 8.0
# Newton steps allowed at the first test: they decide most data.
FIRST_STEPS = 40
# The factor on the number of epochs from one test to the next.
NEXT_TEST = 2
# The hulls may meet where the computed half-distance of their points is at most this share of R. The certificate allows
# 1e-11 with all rounding errors counted: half of that leaves room for them.
MEETING_SHARE = 5e-12


class SeparabilityTest:
    """Whether a run can ever end without mistakes, decided in less time than its epochs have taken.

    Parameters
    ----------
    dataset : Dataset
    fit_intercept : bool

    Attributes
    ----------
    next_epoch : float
        The number of epochs after which the next test runs.
    witness : ndarray of shape (n,), or None
        Hull weights of the rows for which the hulls meet, once that was found.
    """

    checkpointed = ("next_epoch", "witness")

    def __init__(self, dataset: Dataset, fit_intercept: bool) -> None:
        self._problem = HardMarginProblem(dataset, fit_intercept)
        points = dataset.points
        entries = max(1.0, points.n_rows * points.entries_per_row)
        smaller = min(points.n_rows, points.n_columns)
        # Outer products of rows, and a factorisation.
        matrix = 0.5 * min(points.entries_per_row, points.n_rows) + smaller**3 / (6.0 * entries)
        self._epochs_per_step = EPOCHS_TO_READ + matrix / FASTER_BY_BLAS
        self.next_epoch: float = (
            math.inf if smaller > LARGEST_DIRECT else math.ceil(FIRST_STEPS * self._epochs_per_step)
        )
        self.witness: np.ndarray | None = None

    def check(self, n_epochs: int, monitor: Monitor) -> Status | None:
        """NOT_SEPARABLE where the hulls are known to meet, by ``witness``; STALLED where they are too near for that."""
        if n_epochs < self.next_epoch:
            return None
        self.next_epoch = NEXT_TEST * n_epochs
        options = Options(tol=1.0, max_iter=max(FIRST_STEPS, int(n_epochs / self._epochs_per_step)))
        found = hard_margin.solve(self._problem, options, monitor.quiet())
        if found.status is Status.SOLVED:
            self.next_epoch = math.inf
        if found.status is not Status.NOT_SEPARABLE or not self._hulls_are_near(found.beta):
            return None
        # Hulls that are only near prove nothing: a tiny margin may be between them.
        found = decision.decide(self._problem, found, options, monitor.quiet())
        if found.status is Status.NOT_SEPARABLE:
            self.witness = self._problem.hull_weights(found.beta)
            return Status.NOT_SEPARABLE
        # Updates for a margin of this share of R would take longer than anybody waits.
        return Status.STALLED

    def _hulls_are_near(self, beta: np.ndarray) -> bool:
        weights = self._problem.hull_weights(beta)
        # Distances do not change when all points are moved by the same vector, and near the origin they round less.
        placed = centred_and_scaled(self._problem.dataset.points, may_move=self._problem.fit_intercept)
        difference = placed.points.combination(weights * self._problem.dataset.signs)
        half_distance = (0.5 if self._problem.fit_intercept else 1.0) * float(np.linalg.norm(difference))
        return half_distance <= MEETING_SHARE * placed.points.largest_norm
