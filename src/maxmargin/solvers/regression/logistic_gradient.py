"""Gradient steps for logistic regression, as the lecture makes them (theory D1).

    w += eta sum_i y_i x_i / (1 + exp(y_i f(x_i))),   b likewise,

and with a finite C the step of the whole objective. Where the size of the steps is not given, the intercept is moved to
where it is best after each of them, and they are of size 1/L, where L bounds the curvature of what is left: then every
step lowers the objective. By steps of its own, the intercept would take long where C is small or columns are far from
zero.
"""

import math
from dataclasses import replace

import numpy as np
import scipy.sparse as sp

from maxmargin.data import Points, estimate_offsets
from maxmargin.data.blocks import row_blocks
from maxmargin.data.points import squared_norms
from maxmargin.engine.threads import ThreadEngine
from maxmargin.problems.logistic import LogisticProblem
from maxmargin.solvers.core import Monitor, Options, Status
from maxmargin.solvers.regression.logistic import LogisticPoint, LogisticRun
from maxmargin.solvers.regression.logistic_newton import zero_plane
from maxmargin.solvers.separability.quasi_complete_separation import quasi_separation_by_linear_program


def solve(
    problem: LogisticProblem,
    options: Options,
    monitor: Monitor,
    start: LogisticPoint | None = None,
    step_size: float | None = None,
) -> LogisticPoint:
    """Make steps of ``step_size``, or of a safe size, until the relative gap is at most ``tol``."""
    best = start or zero_plane(problem)
    with (
        np.errstate(over="ignore", invalid="ignore"),
        ThreadEngine(problem.points.entries_per_row, options.n_threads) as blocks,
    ):
        # While the pulls do not balance, the gap is estimated only: half of it is asked for.
        halved = replace(options, tol=0.5 * options.tol)
        place = estimate_offsets(problem.points) if problem.fit_intercept and step_size is None else None
        run = GradientRun(problem, halved, monitor, blocks, best, place)
        run.balances = step_size is None
        run.step_size = safe_step(problem, place) if step_size is None else step_size
        best.status = run.until_gap()
        if not problem.is_penalised and best.separating is None:
            best.separating = quasi_separation_by_linear_program(problem)
            best.status = best.status if best.separating is None else Status.SEPARABLE
    return best


def safe_step(problem: LogisticProblem, place: np.ndarray | None) -> float:
    """One over a bound on the curvature, where the intercept is always the best one.

    A row's loss bends by at most a quarter, and the best intercept lets the rows be seen from any place.
    """
    square = largest_square(problem.points, problem.weights, place)
    bound = (1.0 if problem.is_penalised else 0.0) + 0.25 * problem.loss_factor * square
    return 1.0 / bound if 0.0 < bound < math.inf else 1.0


def largest_square(points: Points, weights: np.ndarray, place: np.ndarray | None) -> float:
    """A bound on the largest eigenvalue of sum weights_i x_i x_i^T, with dense rows seen from the place.

    It is the smaller one of the trace and of the largest sum of a row of the same matrix with absolute values.
    """
    trace, columns = 0.0, np.zeros(points.n_columns)
    for part in row_blocks(points.n_rows, points.entries_per_row):
        rows = points.matrix[part].astype(np.float64)
        if place is not None and not sp.issparse(rows):
            rows -= place
        trace += float((weights[part] * squared_norms(rows)).sum())
        rows = abs(rows)
        sums = weights[part] * np.asarray(rows.sum(axis=1)).ravel()
        columns += np.asarray(rows.T @ sums).ravel()
    return min(trace, float(columns.max(initial=0.0)))


class GradientRun(LogisticRun):
    """One step after the other, all of one size."""

    step_size: float
    # Whether the intercept is moved to where it is best, and not by steps.
    balances: bool

    def until_gap(self) -> Status:
        """Make steps until there is a reason to stop."""
        while True:
            if self.balances:
                self.balance()
            status = self.judge("step")
            if status is not None:
                return status
            self.w = self.w - self.step_size * self.gradient
            if not self.balances:
                self.b -= self.step_size * self.gradient_b
            self.fill_scores(self.w, self.scores)
            self.best.n_iter += 1
