"""Gradient steps for logistic regression, as the lecture makes them (theory D1).

    w += eta sum_i y_i x_i / (1 + exp(y_i f(x_i))),   b likewise,

and with a finite C the step of the whole objective. A step of 1/L is safe where L bounds the curvature: then every step
lowers the objective.
"""

import math
from dataclasses import replace

import numpy as np
import scipy.sparse as sp

from maxmargin.data import Points
from maxmargin.data.blocks import row_blocks
from maxmargin.problems.logistic import LogisticProblem
from maxmargin.solvers.gap import GapSettings
from maxmargin.solvers.logistic_newton import zero_plane
from maxmargin.solvers.logistic_run import LogisticPoint, LogisticRun
from maxmargin.solvers.row_blocks import RowBlocks
from maxmargin.solvers.solution import Status
from maxmargin.solvers.watch import Watch
from maxmargin.solvers.weak_separation import separating_by_program


def solve(
    problem: LogisticProblem,
    settings: GapSettings,
    watch: Watch,
    start: LogisticPoint | None = None,
    step_size: float | None = None,
) -> LogisticPoint:
    """Make steps of ``step_size``, or of a safe size, until the relative gap is at most ``tol``."""
    best = start or zero_plane(problem)
    with (
        np.errstate(over="ignore", invalid="ignore"),
        RowBlocks(problem.points.entries_per_row, settings.n_threads) as blocks,
    ):
        # While the pulls do not balance, the gap is estimated only: half of it is asked for.
        run = GradientRun(problem, replace(settings, tol=0.5 * settings.tol), watch, blocks, best)
        run.step_size = safe_step(problem) if step_size is None else step_size
        best.status = run.until_gap()
        if not problem.is_penalised and best.separating is None:
            best.separating = separating_by_program(problem)
            best.status = best.status if best.separating is None else Status.SEPARABLE
    return best


def safe_step(problem: LogisticProblem) -> float:
    """One over a bound on the curvature: a row's loss bends by at most a quarter."""
    square = largest_square(problem.points, problem.weights, problem.fit_intercept)
    bound = (1.0 if problem.is_penalised else 0.0) + 0.25 * problem.price * square
    return 1.0 / bound if 0.0 < bound < math.inf else 1.0


def largest_square(points: Points, weights: np.ndarray, bordered: bool) -> float:
    """A bound on the largest eigenvalue of sum weights_i x_i x_i^T, with a one at each row's end where ``bordered``.

    It is the smaller one of the trace and of the largest sum of a row of the same matrix with absolute values.
    """
    border = 1.0 if bordered else 0.0
    trace = float(weights @ (points.squared_norms + border))
    columns, of_border = np.zeros(points.n_columns), 0.0
    for part in row_blocks(points.n_rows, points.entries_per_row):
        rows = abs(points.matrix[part]).astype(np.float64)
        sums = weights[part] * (np.asarray(rows.sum(axis=1)).ravel() + border)
        columns += np.asarray(rows.T @ sums).ravel() if sp.issparse(rows) else sums @ rows
        of_border += border * float(sums.sum())
    return min(trace, max(float(columns.max(initial=0.0)), of_border))


class GradientRun(LogisticRun):
    """One step after the other, all of one size."""

    step_size: float

    def until_gap(self) -> Status:
        """Make steps until there is a reason to stop."""
        while True:
            status = self.judge("step")
            if status is not None:
                return status
            self.w = self.w - self.step_size * self.gradient
            self.b -= self.step_size * self.gradient_b
            self.fill_scores(self.w, self.scores)
            self.best.n_steps += 1
