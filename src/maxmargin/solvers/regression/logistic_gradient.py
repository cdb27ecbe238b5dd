"""Gradient descent for logistic regression, with a constant step size as in the lecture.

    w += eta sum_i y_i x_i / (1 + exp(y_i f(x_i))),   b likewise,

and with a finite C the gradient step of the whole objective. Where no step size is given, the intercept is minimised
after every step of w, and the step size is 1/L, where L bounds the curvature of the remaining function of w: then every
step lowers the objective. With gradient steps of its own, the intercept would converge slowly where C is small or
columns are far from zero.
"""

import math
from dataclasses import dataclass, replace

import numpy as np

from maxmargin.data import Points
from maxmargin.data.blas import one_blas_thread
from maxmargin.data.blocks import row_blocks
from maxmargin.data.points import squared_norms
from maxmargin.data.rows import is_sparse
from maxmargin.engine import Threads
from maxmargin.loops.logistic_run import LOGISTIC_STALL_RULE
from maxmargin.problems.logistic import LogisticProblem
from maxmargin.solvers.core import Monitor, Options, Result, Status, solver, stage
from maxmargin.solvers.core.hessian import fill_scores
from maxmargin.solvers.regression import logistic_newton
from maxmargin.solvers.regression.logistic import LogisticResult, LogisticRun, initial_result
from maxmargin.solvers.separability.quasi_complete_separation import quasi_separation_by_linear_program

# Steps after which a run without limits is checked once for quasi-complete separation, on which it would end late, and
# the most steps of Newton's method that this takes.
STEPS_BEFORE_CHECK, NEWTON_STEPS = 1000, 100


@dataclass(frozen=True)
class GradientOptions(Options):
    """Options of gradient descent.

    Attributes
    ----------
    step_size : float or None
        The size of the steps of w and b; None for a safe one, with the intercept minimised after every step.
    """

    step_size: float | None = None


@solver()
def solve(
    problem: LogisticProblem, options: Options, monitor: Monitor, start: Result[float] | None = None
) -> LogisticResult:
    """Make steps until the relative gap of the iterate is at most ``tol``.

    The history holds the objective of every iterate, whether it falls or not. The result is the incumbent, the iterate
    with the smallest objective; where some separate the classes and w is not penalised, the best one of these. A
    separating hyperplane ends a run only where it has neither ``max_iter`` nor ``max_time``: it would never end.
    """
    step_size = options.step_size if isinstance(options, GradientOptions) else None
    best = initial_result(problem, start)
    with np.errstate(over="ignore", invalid="ignore"), one_blas_thread(), Threads(options.n_threads) as threads:
        # While the derivative in the intercept is not zero, the gap is an estimate: half of it is required.
        halved = replace(options, tol=0.5 * options.tol)
        run = GradientRun(problem, halved, monitor, threads, best, centres=step_size is None)
        run.minimises_intercept = step_size is None
        run.step_size = safe_step_size(run.problem, run.offset) if step_size is None else step_size
        if run.is_limited:
            # The run is to show as many steps as were requested, however little they gain.
            run.stall_tests = run.stall_tests[:1]
        best.status = run.run()
        if math.isfinite(run.separating_value) and best.separating is not None:
            best.w, best.intercept = best.separating
        elif not problem.is_penalised and best.separating is None and not run.monitor.must_stop():
            best.separating = quasi_separation_by_linear_program(problem)
        if best.separating is not None and best.status is not Status.INTERRUPTED:
            best.status = Status.SEPARABLE
    return best


class GradientRun(LogisticRun):
    """Steps along the negative gradient, all of the same size."""

    checkpointed = (*LogisticRun.checkpointed, "separating_value")
    outcome = ("best", "separating_value")

    # With a given step size the objective may rise for some steps before it falls again.
    stall_rule = LOGISTIC_STALL_RULE._replace(patience=20.0)
    # On ill-conditioned data every step gains little: about the inverse of the condition number, as a share of the gap.
    slow_patience, slow_share = 500, 1e-2
    halving_patience = 20_000
    step_size: float
    # Whether the intercept is minimised after every step, and makes no gradient step.
    minimises_intercept: bool
    # The lowest objective of a separating iterate.
    separating_value = math.inf

    @stage
    def run(self) -> Status:
        """Make steps until there is a reason to stop."""
        while True:
            self.monitor.checkpoint(self)
            if self.minimises_intercept:
                self.minimise_intercept()
            status = self.evaluate("step")
            if status is not None:
                return status
            self.w = self.w - self.step_size * self.gradient
            if not self.minimises_intercept:
                self.b -= self.step_size * self.gradient_b
            self.engine.map(fill_scores, self.w, 0.0, "scores")
            self.best.n_iter += 1

    def check_termination(self, primal: float, dual: float, step: str, *, stalled: bool) -> Status | None:
        """Check whether to stop, and record the objective of the iterate, not that of the incumbent."""
        best = self.best
        iterate = Result(self.w, self.intercept, best.beta, primal, dual, best.n_iter, history=best.history)
        status = self.monitor.check_termination(iterate, self.options, step, stalled=stalled)
        if status is Status.SOLVED:
            best.w, best.intercept, best.primal, best.dual = self.w.copy(), iterate.intercept, primal, dual
        if self.separates() and primal < self.separating_value:
            self.separating_value = primal
            best.separating = self.w.copy(), iterate.intercept
        elif best.n_iter == STEPS_BEFORE_CHECK and not (self.is_limited or self.problem.is_penalised):
            best.separating = self._quasi_separation()
        if status in (None, Status.STALLED) and best.separating is not None and not self.is_limited:
            return Status.SEPARABLE
        return status

    def _quasi_separation(self) -> tuple[np.ndarray, float] | None:
        """Search for a quasi-completely separating hyperplane, along which Newton steps diverge in a few steps."""
        newton = logistic_newton.solve(
            self.original, replace(self.options, max_iter=NEWTON_STEPS), self.monitor.quiet()
        )
        return newton.separating

    @property
    def is_limited(self) -> bool:
        """Whether a number of steps or a time ends the run."""
        return math.isfinite(self.options.max_iter) or self.monitor.max_time is not None


def safe_step_size(problem: LogisticProblem, offset: np.ndarray | None) -> float:
    """Compute one over a bound on the curvature in w, where the intercept is always the best one.

    The curvature of a row's loss is a quarter at most, and the best intercept makes up for any offset of the rows.
    """
    bound = 0.25 * problem.loss_factor * largest_eigenvalue(problem.points, problem.weights, offset)
    bound += 1.0 if problem.is_penalised else 0.0
    return 1.0 / bound if 0.0 < bound < math.inf else 1.0


def largest_eigenvalue(points: Points, weights: np.ndarray, offset: np.ndarray | None) -> float:
    """Bound the largest eigenvalue of sum weights_i x_i x_i^T from above; the offset is subtracted from dense rows.

    The bound is the smaller one of the trace and of the largest row sum of the same matrix with absolute values.
    """
    trace, columns = 0.0, np.zeros(points.n_columns)
    for part in row_blocks(points.n_rows, points.entries_per_row):
        rows = points.matrix[part].astype(np.float64)
        if offset is not None and not is_sparse(rows):
            rows -= offset
        trace += float((weights[part] * squared_norms(rows)).sum())
        rows = abs(rows) if is_sparse(rows) else np.abs(rows)
        sums = weights[part] * np.asarray(rows.sum(axis=1)).ravel()
        columns += np.asarray(rows.T @ sums).ravel()
    return min(trace, float(columns.max(initial=0.0)))
