"""The end of an oscillation (theory A9): a perceptron that goes on making mistakes asks whether there is a plane.

The question is put to the Newton method of the hard margin, which costs as much as some dozens of passes. So it is put
only when more work than that has gone into passes, and again when twice as much has.
"""

import math
from dataclasses import replace

import numpy as np

from maxmargin.certificates import bracket_hard_margin, has_no_margin
from maxmargin.data import Dataset
from maxmargin.problems.hard_margin import HardMarginProblem
from maxmargin.solvers.core import Monitor, Options, Status
from maxmargin.solvers.core.hessian import LARGEST_DIRECT
from maxmargin.solvers.linear import hard_margin

# A Newton step reads the rows in order, which takes as long as so many passes of the perceptron, at most; and its
# matrix is made so much faster than one entry at a time.
PASSES_TO_READ = 2.0
FASTER_BY_BLAS = 8.0
# Most data are decided by so many steps; the first question allows them.
FIRST_STEPS = 40
LATER = 2


class SeparabilityTest:
    """Whether a run of passes can ever end without mistakes, asked at a cost below that of its passes.

    Parameters
    ----------
    dataset : Dataset
    fit_intercept : bool
    """

    def __init__(self, dataset: Dataset, fit_intercept: bool) -> None:
        self._problem = HardMarginProblem(dataset, fit_intercept)
        points = dataset.points
        entries = max(1.0, points.n_rows * points.entries_per_row)
        smaller = min(points.n_rows, points.n_columns)
        # Outer products of rows, and a factorisation.
        matrix = 0.5 * min(points.entries_per_row, points.n_rows) + smaller**3 / (6.0 * entries)
        self._passes_per_step = PASSES_TO_READ + matrix / FASTER_BY_BLAS
        self.next_pass: float = math.inf if smaller > LARGEST_DIRECT else math.ceil(FIRST_STEPS * self._passes_per_step)
        self.witness: np.ndarray | None = None

    def verdict(self, n_passes: int, monitor: Monitor) -> Status | None:
        """NOT_SEPARABLE where that is proven now; ``witness`` are then the duals whose hull points meet."""
        if n_passes < self.next_pass:
            return None
        self.next_pass = LATER * n_passes
        options = Options(tol=1.0, max_iter=max(FIRST_STEPS, int(n_passes / self._passes_per_step)))
        found = hard_margin.solve(self._problem, options, replace(monitor, on_step=None))
        if found.status is Status.SOLVED:
            self.next_pass = math.inf
        if found.status is not Status.NOT_SEPARABLE:
            return None
        if not has_no_margin(bracket_hard_margin(self._problem, found.w, found.intercept, found.beta)):
            return None
        self.witness = self._problem.hull_weights(found.beta)
        return Status.NOT_SEPARABLE
