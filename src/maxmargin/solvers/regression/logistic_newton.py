"""Newton's method for logistic regression, with a line search.

After Lin, Weng, Keerthi, "Trust region Newton method for large-scale logistic regression", 2008, with a line search in
place of the trust region: the loss along a line needs the scores of the rows only. With many rows and few columns the
initial point is the solution of a subsample.
"""

import math
from collections.abc import Callable
from dataclasses import replace

import numpy as np

from maxmargin.data import Points
from maxmargin.data.blas import one_blas_thread
from maxmargin.engine import Block, Threads
from maxmargin.loops.logistic import derivatives_along
from maxmargin.loops.logistic_run import (
    COARSE_FORCING,
    DERIVATIVE_SHARE,
    FINE_FORCING,
    FIRST_REDUCTION,
    MAX_SEARCH_STEPS,
    NEAR_MINIMUM,
    narrowed,
)
from maxmargin.problems.logistic import LogisticProblem
from maxmargin.solvers.core import Monitor, Options, Result, Status, solver, stage
from maxmargin.solvers.core.hessian import HessianOperator, fill_scores, matrix_pays
from maxmargin.solvers.core.subsample import ROWS_PER_CLASS, STRIDE, SUBSAMPLE_TOL, subsample_rows
from maxmargin.solvers.regression import small_logistic
from maxmargin.solvers.regression.logistic import LogisticResult, LogisticRun, gap_to_reach, initial_result
from maxmargin.solvers.separability.quasi_complete_separation import (
    quasi_separation_by_linear_program,
    quasi_separation_near,
)

# The number of conjugate gradient steps that is expected.
EXPECTED_CONJUGATE_STEPS = 25
# Newton steps after which a run without a penalty on w is checked for quasi-complete separation, and again.
STEPS_PER_SEPARATION_TEST = 8
# Where a score changes by more than this in the last step, the iterates may diverge along a separating direction.
LARGE_CHANGE = 0.02


@solver()
def solve(
    problem: LogisticProblem, options: Options, monitor: Monitor, start: Result[float] | None = None
) -> LogisticResult:
    """Run until the relative gap is at most ``tol``, or a hyperplane separates where w is not penalised."""
    if problem.points.factor is not problem.points.matrix:
        problem = replace(problem, points=Points(problem.points.factor))
    with np.errstate(over="ignore", invalid="ignore"), one_blas_thread():
        exact = replace(options, tol=gap_to_reach(options.tol, problem))
        rows = problem.points.small_rows if problem.is_penalised and options.max_iter > 0 else None
        if rows is not None:
            # Small data are solved by one compiled call.
            best = initial_result(problem, start)
            status = small_logistic.run(problem, rows, exact, monitor, best)
            if status is None:
                return _run(problem, exact, monitor, best)
            best.status = status
            return best
        n_steps = 0
        sample = subsample(problem) if start is None else None
        if sample is not None:
            coarse = replace(options, tol=max(options.tol, SUBSAMPLE_TOL))
            part = _run(sample, coarse, monitor.quiet(is_stage=True), initial_result(sample, None))
            n_steps = part.n_iter
            if part.status is not Status.SEPARABLE:
                start = part
        best = initial_result(problem, start)
        best.n_iter = n_steps
        return _run(problem, exact, monitor, best)


def subsample(problem: LogisticProblem) -> LogisticProblem | None:
    """Return the problem of every sixteenth row, with C raised so that it has the same solution on average."""
    points = problem.points
    every = subsample_rows(points.matrix.shape, problem.weights, problem.signs, [STRIDE], ROWS_PER_CLASS)
    if every is None:
        return None
    signs, weights = problem.signs[every].copy(), problem.weights[every].copy()
    scale = float(problem.weights.sum()) / float(weights.sum())
    return replace(problem, points=Points(points.matrix[every]), signs=signs, weights=weights, C=scale * problem.C)


def _run(problem: LogisticProblem, options: Options, monitor: Monitor, best: LogisticResult) -> LogisticResult:
    with Threads(options.n_threads) as threads:
        best.status = NewtonRun(problem, options, monitor, threads, best).run()
    return best


class NewtonRun(LogisticRun):
    """Newton steps, each with a line search."""

    checkpointed = (*LogisticRun.checkpointed, "n_steps", "step", "step_b", "largest_change")

    # The last step, and the largest change of a score in it.
    n_steps, step, step_b, largest_change = 0, np.empty(0), 0.0, 0.0

    @stage
    def run(self) -> Status:
        """Make steps until there is a reason to stop."""
        while True:
            self.monitor.checkpoint(self)
            if self.options.max_iter > 0:
                # Without a single step the model is that of the start.
                self.minimise_intercept()
            status = self.evaluate("step")
            if self._may_diverge(status):
                # Numbers as they were given are more often multiples of each other than centred ones.
                step_b = self.centring.intercept_there(self.step, self.step_b)
                self.best.separating = quasi_separation_near(self.original, self.step, step_b)
                if self.best.separating is None and status is not None and not self.monitor.must_stop():
                    self.best.separating = quasi_separation_by_linear_program(self.original)
                status = status if self.best.separating is None else Status.SEPARABLE
            if status is not None:
                return status
            step, step_b = self._newton_step()
            if (status := self.monitor.check_limits()) is not None:
                # The step may have been broken off.
                return status
            self.step, self.step_b = step, step_b
            self._move(self.step, self.step_b)
            self.n_steps += 1
            self.best.n_iter += 1

    def _may_diverge(self, status: Status | None) -> bool:
        """Whether iterates may diverge along a separating direction: the last step was large, or there were many."""
        if self.problem.is_penalised or status is Status.SEPARABLE or self.n_steps == 0:
            return False
        at_end = status is not None and self.largest_change > LARGE_CHANGE
        return at_end or self.n_steps % STEPS_PER_SEPARATION_TEST == 0

    def _newton_step(self) -> tuple[np.ndarray, float]:
        problem = self.problem
        hessian = HessianOperator(
            self.engine,
            "curvatures",
            problem.loss_factor,
            problem.is_penalised,
            problem.fit_intercept,
            offset=self.offset,
            stopped=self.monitor.must_stop,
        )
        if matrix_pays(problem.points, EXPECTED_CONJUGATE_STEPS):
            step, step_b = hessian.solve_schur_direct(self.gradient, self.gradient_b)
        else:
            step, step_b = hessian.solve_schur_iteratively(self.gradient, self.gradient_b, self._forcing())
        return step, step_b - self._at_offset(step)

    def _at_offset(self, step: np.ndarray) -> float:
        """The difference of the intercept's steps with and without the offset."""
        return 0.0 if self.offset is None else float(self.offset @ step)

    def _forcing(self) -> float:
        """The share of the residual at which this step can be the last one."""
        wanted = math.sqrt(2.0 * self.options.tol * max(0.0, self.best.primal))
        return min(COARSE_FORCING, max(FINE_FORCING, 0.3 * wanted / max(float(np.linalg.norm(self.gradient)), 1e-300)))

    def _move(self, step: np.ndarray, step_b: float) -> None:
        """Make the step, of a length at which the derivative along it is small."""
        problem = self.problem
        at_start = float(self.gradient @ step) + self.gradient_b * (step_b + self._at_offset(step))
        self.engine.map(fill_scores, step, step_b, "changes")
        penalty = 1.0 if problem.is_penalised else 0.0
        own_derivative, own_curvature = penalty * float(self.w @ step), penalty * float(step @ step)

        def derivatives(t: float) -> tuple[float, float]:
            derivative, curvature = self.engine.sum(_derivatives_along, self.b, t)
            derivative = own_derivative + t * own_curvature - problem.loss_factor * float(derivative)
            return derivative, own_curvature + problem.loss_factor * float(curvature)

        t = _step_length(derivatives, at_start)
        self.w = self.w + t * step
        self.b += t * step_b
        self.largest_change = t * max(self.engine.map(_move_scores, t, t * step_b))


def _derivatives_along(block: Block[LogisticProblem], b: float, t: float) -> np.ndarray:
    return np.array(derivatives_along(block["signs"], block["weights"], block["scores"], b, block["changes"], t))


def _move_scores(block: Block[LogisticProblem], t: float, moved_b: float) -> float:
    """Move the scores, which are those without the intercept; return the largest change of a score at t = 1."""
    changes = block["changes"]
    largest = max(-float(changes.min(initial=0.0)), float(changes.max(initial=0.0)))
    block["scores"][:] += t * changes - moved_b
    return largest


def _step_length(derivatives: Callable[[float], tuple[float, float]], at_start: float) -> float:
    """Search where a convex function's derivative, ``at_start`` at zero, has fallen to a small share; begin at one.

    A derivative beyond the minimum counts as small only near the minimum: far out, where all losses are nearly linear,
    it is small because there is no curvature.
    """
    low, high, t, reduction = 0.0, math.inf, 1.0, FIRST_REDUCTION
    for number in range(MAX_SEARCH_STEPS):
        derivative, curvature = derivatives(t)
        if abs(derivative) <= DERIVATIVE_SHARE * abs(at_start) and derivative <= NEAR_MINIMUM * curvature * t:
            return t
        low, high, t, reduction = narrowed(low, high, t, reduction, derivative, curvature, number)
    return low
