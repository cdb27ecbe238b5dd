"""Newton's method for logistic regression: few steps, each a system of weighted rows.

After Lin, Weng, Keerthi, "Trust region Newton method for large-scale logistic regression", 2008, with a search along
the step in place of a trust region: the loss along a line needs the rows' scores only. Where rows are many and columns
few, the first plane is that of a sample.
"""

import math
from collections.abc import Callable
from dataclasses import replace
from itertools import count

import numpy as np
import scipy.sparse as sp

from maxmargin.data import Points, estimate_offsets
from maxmargin.data.blas import one_blas_thread
from maxmargin.engine.threads import ThreadEngine
from maxmargin.loops.logistic import along
from maxmargin.problems.logistic import LogisticProblem
from maxmargin.solvers.core import Monitor, Options, Status
from maxmargin.solvers.core.hessian import FASTER_BY_BLAS, LARGEST_DIRECT
from maxmargin.solvers.core.schur_complement import SchurComplement
from maxmargin.solvers.regression.logistic import LogisticPoint, LogisticRun, plane_at
from maxmargin.solvers.separability.quasi_complete_separation import (
    quasi_separation_by_linear_program,
    quasi_separation_near,
)

# One of so many rows goes into the sample, if that leaves enough of them for every column and of every class.
STRIDE = 16
ROWS_PER_COLUMN = 12
ROWS_PER_CLASS = 50
# A sample's plane is not nearer to that of all rows than this.
GAP_OF_SAMPLE = 1e-2
# Along a step the slope has to fall to this share of what it was.
SLOPE_SHARE = 0.1
SEARCH_STEPS = 30
# The lowest place is near where the local parabola has it within this share of the way, and a step of which nothing is
# known but that it is too long shrinks to this share at first.
NEAR, SHRINKING = 0.3, 0.3
# How many steps of conjugate gradients to expect, and how exact they are: a step that is far from the end need not be.
CONJUGATE_STEPS = 25
COARSE, FINE = 0.1, 1e-3
# Newton steps that have not ended after so many may run off to where there is no minimum.
SUSPICIOUS = 8
# Where scores move by this much in the last step, the plane is not about to come to rest.
FAR = 0.02


def solve(
    problem: LogisticProblem, options: Options, monitor: Monitor, start: LogisticPoint | None = None
) -> LogisticPoint:
    """Run until the relative gap is at most ``tol``, or a plane separates where the length of w has no price."""
    if problem.points.factor is not problem.points.matrix:
        problem = replace(problem, points=Points(problem.points.factor))
    with np.errstate(over="ignore", invalid="ignore"), one_blas_thread():
        n_steps = 0
        if start is None:
            start = zero_plane(problem)
            sample = subsample(problem)
            if sample is not None:
                coarse = replace(options, tol=max(options.tol, GAP_OF_SAMPLE))
                part = _run(sample, coarse, monitor.quiet(), zero_plane(sample))
                n_steps = part.n_iter
                if part.status is not Status.SEPARABLE:
                    start = plane_at(part.w, part.intercept)
        start.n_iter = n_steps
        # The gap that is proven counts every rounding: half of it is asked for.
        return _run(problem, replace(options, tol=0.5 * options.tol), monitor, start)


def zero_plane(problem: LogisticProblem) -> LogisticPoint:
    """Where runs begin."""
    return plane_at(np.zeros(problem.points.n_columns), 0.0)


def subsample(problem: LogisticProblem) -> LogisticProblem | None:
    """The problem of every sixteenth row, with C raised so that it has the same solution on average."""
    points = problem.points
    if points.n_rows < STRIDE * ROWS_PER_COLUMN * (points.n_columns + 1):
        return None
    every = slice(None, None, STRIDE)
    signs, weights = problem.signs[every].copy(), problem.weights[every].copy()
    if any(np.count_nonzero((signs == side) & (weights > 0.0)) < ROWS_PER_CLASS for side in (-1.0, 1.0)):
        return None
    scale = float(problem.weights.sum()) / float(weights.sum())
    return replace(problem, points=Points(points.matrix[every]), signs=signs, weights=weights, C=scale * problem.C)


def _run(problem: LogisticProblem, options: Options, monitor: Monitor, start: LogisticPoint) -> LogisticPoint:
    with ThreadEngine(problem.points.entries_per_row, options.n_threads) as blocks:
        place = estimate_offsets(problem.points) if problem.fit_intercept else None
        run = NewtonRun(problem, options, monitor, blocks, start, place)
        start.status = run.until_gap()
    return run.best


class NewtonRun(LogisticRun):
    """Newton steps, each with a search along it."""

    moved = 0.0

    def until_gap(self) -> Status:
        """Make steps until there is a reason to stop."""
        step, step_b = np.empty(0), 0.0
        for n_steps in count():
            self.balance()
            status = self.judge("step")
            if self._may_run_off(n_steps, status):
                self.best.separating = quasi_separation_near(self.problem, step, step_b)
                if self.best.separating is None and status is not None:
                    self.best.separating = quasi_separation_by_linear_program(self.problem)
                status = status if self.best.separating is None else Status.SEPARABLE
            if status is not None:
                return status
            step, step_b = self._newton_step()
            self._move(step, step_b)
            self.best.n_iter += 1
        raise AssertionError

    def _may_run_off(self, n_steps: int, status: Status | None) -> bool:
        """Whether scores still moved far in the last step, although the run ends or is long."""
        if self.problem.is_penalised or status is Status.SEPARABLE or n_steps == 0:
            return False
        return (status is not None and self.moved > FAR) or (n_steps % SUSPICIOUS == 0 and n_steps > 0)

    def _newton_step(self) -> tuple[np.ndarray, float]:
        problem = self.problem
        system = SchurComplement(
            problem.points,
            self.blocks,
            self.curvatures,
            problem.loss_factor,
            problem.is_penalised,
            problem.fit_intercept,
            self.place,
        )
        if self._matrix_pays():
            step, step_b = system.factorised(self.gradient, self.gradient_b)
        else:
            step, step_b = system.conjugate_gradients(self.gradient, self.gradient_b, self._forcing())
        return step, step_b - self._at_place(step)

    def _at_place(self, step: np.ndarray) -> float:
        """What is between the intercepts of a step, seen from the place and from zero."""
        return 0.0 if self.place is None else float(self.place @ step)

    def _matrix_pays(self) -> bool:
        """Whether the matrix is less work than conjugate gradients."""
        points, size = self.problem.points, self.w.size + 1
        if size > LARGEST_DIRECT:
            return False
        entries = points.entries_per_row
        per_row = 0.5 * entries * (entries if sp.issparse(points.matrix) else size / FASTER_BY_BLAS)
        return points.n_rows * per_row + size**3 / FASTER_BY_BLAS <= 4.0 * points.n_rows * entries * CONJUGATE_STEPS

    def _forcing(self) -> float:
        """How far the residual has to fall, so that this step can be the last one, but not further."""
        wanted = math.sqrt(2.0 * self.options.tol * max(0.0, self.best.primal))
        return min(COARSE, max(FINE, 0.3 * wanted / max(float(np.linalg.norm(self.gradient)), 1e-300)))

    def _move(self, step: np.ndarray, step_b: float) -> None:
        """Go along the step to where the slope has nearly vanished."""
        problem = self.problem
        at_start = float(self.gradient @ step) + self.gradient_b * (step_b + self._at_place(step))
        changes = np.empty_like(self.scores)
        self.fill_scores(step, changes)
        if step_b != 0.0:
            changes += step_b
        scores = self.scores + self.b
        penalty = 1.0 if problem.is_penalised else 0.0
        own_slope, own_bend = penalty * float(self.w @ step), penalty * float(step @ step)

        def slope_and_bend(t: float) -> tuple[float, float]:
            parts = self.blocks.each(
                scores.size,
                lambda first, last: along(first, last, problem.signs, problem.weights, scores, changes, t),
            )
            slope = own_slope + t * own_bend - problem.loss_factor * sum(part[0] for part in parts)
            return slope, own_bend + problem.loss_factor * sum(part[1] for part in parts)

        t = _flat_place(slope_and_bend, at_start)
        self.w = self.w + t * step
        self.b += t * step_b
        changes *= t
        self.moved = max(-float(changes.min(initial=0.0)), float(changes.max(initial=0.0)))
        if step_b != 0.0:
            changes -= t * step_b
        self.scores += changes


def _flat_place(slope_and_bend: Callable[[float], tuple[float, float]], at_start: float) -> float:
    """Where a convex function's slope, ``at_start`` at zero, has fallen to a small share; begins at one.

    A slope beyond the lowest place counts as small only where that place is near: far out, where all rows are either
    right or wrong for sure, the slope is small for its want of curvature alone.
    """
    low, high, t, shrinking = 0.0, math.inf, 1.0, SHRINKING
    for number in range(SEARCH_STEPS):
        slope, bend = slope_and_bend(t)
        if abs(slope) <= SLOPE_SHARE * abs(at_start) and slope <= NEAR * bend * t:
            return t
        low, high = (t, high) if slope < 0.0 else (low, t)
        new = t - slope / bend if bend > 0.0 else math.inf
        if math.isinf(high):
            t = min(new if new > low else 2.0 * low, 8.0 * t)
        elif low < new < high and (number % 2 == 0 or new <= 0.5 * (low + high)):
            t = new
        elif low > 0.0:
            t = math.sqrt(low) * math.sqrt(high)
        else:
            # Newton's steps alone would creep down where the slope falls exponentially.
            t, shrinking = shrinking * high, shrinking * shrinking
    return low
