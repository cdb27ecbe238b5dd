"""SMO where the whole kernel matrix fits into memory: a few compiled calls, and Newton steps of the free duals."""

from dataclasses import replace

import numpy as np

from maxmargin.data.blas import one_blas_thread
from maxmargin.data.interruption import InterruptedPassError, ending_when
from maxmargin.engine.threads import RangeThreads
from maxmargin.loops.smo import Duals, Segments, WorkingSets, ascend_working_sets
from maxmargin.problems.kernel_svm import KernelProblem, KernelSVMProblem
from maxmargin.solvers.core import Monitor, Result, Status, solver, stage
from maxmargin.solvers.kernel.base import (
    VIOLATION_SHARE,
    SMOBase,
    SMOOptions,
    dtype_computed,
    initial_result,
    stall_test,
)
from maxmargin.solvers.kernel.free_duals import FEWEST_STEPS, KEPT_IN_SMALL_SET, SMALL_SET, FreeSteps
from maxmargin.solvers.kernel.kernel_matrix import WORK_PER_COLUMN, KernelMatrix

# The most rows, and the share of the cache that their kernel matrix may take.
MOST_ROWS = 4096
SHARE_OF_CACHE = 0.5
# Working sets, kernel rows that they may update, and steps on pairs between two termination tests: some tenths of a
# second.
SETS_PER_CHECK = 256
ROWS_PER_CHECK = 1 << 18
STEPS_PER_CHECK = 100_000
# The compiled loop stops at this share of ``tol``: its estimate of the gap differs from the measured one by rounding.
SAFETY = 0.99
# For C = inf the loop does not compute the gap: it stops whenever the KKT violation has fallen by this factor.
VIOLATION_FACTOR = 0.2
# Free duals of a system that is solved after the last step: its time is small beside that of the steps.
MOST_EXACT = 512
# Steps without progress after which the run has stalled, for every dual and in all.
PATIENCE_PER_DUAL, PATIENCE = 1000, 10_000


def fits(problem: KernelProblem, options: SMOOptions) -> bool:
    """Whether the kernel matrix is known, or may be stored in double precision."""
    n_rows = problem.n_rows
    return options.gram is not None or (
        n_rows <= MOST_ROWS and 8.0 * n_rows**2 <= SHARE_OF_CACHE * options.cache_size * 2**20
    )


@solver()
def solve(
    problem: KernelSVMProblem,
    options: SMOOptions,
    monitor: Monitor,
    start: Result[float] | None = None,
) -> Result[float]:
    """Evaluate the kernel matrix, unless the options hold it; run until the relative gap is at most ``tol``.

    ``start`` is where an earlier attempt ended. The result has no w: the duals are the coefficients.
    """
    with np.errstate(over="ignore", invalid="ignore"), one_blas_thread():
        gram = kernel_matrix(problem, options, monitor)
        run = FullMatrixRun(problem, options, monitor, start, gram)
        run.best.status = run.run()
        return run.best


def kernel_matrix(problem: KernelProblem, options: SMOOptions, monitor: Monitor) -> np.ndarray | None:
    """The kernel matrix; None where the monitor has to stop before it is complete."""
    if options.gram is not None:
        try:
            with ending_when(monitor.must_stop):
                return options.gram(problem)
        except InterruptedPassError:
            return None
    stored = options.dtype_for(problem)
    dtype = dtype_computed(problem.n_rows, stored)
    gram: np.ndarray = np.empty((problem.n_rows, problem.n_rows), dtype=dtype)
    with RangeThreads(WORK_PER_COLUMN, options.n_threads) as engine:
        matrix = KernelMatrix(problem.points, problem.kernel, dtype, problem.rows, engine)
        return gram.astype(stored, copy=False) if matrix.whole(gram, monitor) else None


def working_sets(n_rows: int, max_steps: float, violation: float, options: SMOOptions) -> WorkingSets:
    """How a call on a kernel matrix of so many rows chooses working sets; a negative ``tol`` requires no gap."""
    return WorkingSets(
        size=SMALL_SET,
        kept=KEPT_IN_SMALL_SET,
        share=VIOLATION_SHARE,
        most=min(SETS_PER_CHECK, ROWS_PER_CHECK // n_rows + 1),
        max_steps=int(min(STEPS_PER_CHECK, max_steps)),
        violation=violation,
        accepted=options.max_violation,
        gap=SAFETY * options.tol,
    )


class FullMatrixRun(SMOBase[KernelSVMProblem, float]):
    """A run on a stored kernel matrix, from zero or from the duals of an earlier attempt."""

    checkpointed = (
        *("beta", "scores", "residuals", "violation", "best", "stall"),
        *(f"newton.{name}" for name in FreeSteps.checkpointed),
    )
    outcome = ("best",)

    def __init__(
        self,
        problem: KernelSVMProblem,
        options: SMOOptions,
        monitor: Monitor,
        start: Result[float] | None,
        gram: np.ndarray | None,
    ) -> None:
        super().__init__(problem, options, monitor, initial_result(problem, start))
        self.gram, self.continues = gram, start is not None
        if start is not None and gram is not None:
            self.beta[:], self.scores[:] = start.beta, gram @ start.beta
        self.residuals = problem.loss.targets - self.scores
        self.newton = FreeSteps(options.n_threads, monitor.must_stop)
        self.stall = stall_test(problem, PATIENCE_PER_DUAL * self.beta.size + PATIENCE)

    @stage
    def run(self) -> Status:
        """Make steps until the termination test ends the run; without a matrix there is no time for any."""
        if self.gram is None and self.continues:
            return self.monitor.status_when_stopped()
        if self.gram is None:
            return self.check(self.stall, 0, can_move=True) or self.monitor.status_at_end(self.best, self.options)
        return self._make_steps(self.gram)

    def _make_steps(self, gram: np.ndarray) -> Status:
        problem, options, best, targets = self.problem, self.options, self.best, self.problem.loss.targets
        # Not before: a checkpoint replaces the arrays.
        duals = Duals(self.beta, self.residuals, self.lower, self.upper, problem.loss.epsilon)
        while True:
            goal = VIOLATION_FACTOR * min(self.violation, problem.initial_violation) if problem.hard else 0.0
            sets = working_sets(
                targets.size,
                min(max(FEWEST_STEPS, self.newton.steps_left(duals)), max(0, options.max_iter - best.n_iter)),
                max(self.rounding, goal),
                replace(options, tol=-1.0 if problem.hard else options.tol, max_violation=self.accepted_violation),
            )
            beta, residuals = self.beta.copy(), self.residuals.copy()
            n_steps, self.violation, _ = ascend_working_sets(gram, Segments(0, targets.size, 0), duals, targets, sets)
            best.n_iter += n_steps
            self.scores = targets - self.residuals
            # The duals may be at the goal already: multiplied by a factor, or after a Newton step, they violate less
            # than what it was set from. The next goal is a share of what they violate now.
            is_there = self.rounding < self.violation <= goal
            can_move = n_steps > 0 or is_there or best.n_iter >= options.max_iter
            status = self.check(self.stall, best.n_iter, can_move=can_move)
            if status is Status.SOLVED:
                self.solve_for_free_duals(gram)
            if status is not None:
                return status
            if problem.hard:
                # The test may have changed the duals by a factor.
                self.residuals[:] = targets - self.scores
            self.newton.count(n_steps, duals, beta, residuals)
            if not self.newton.steps_left(duals):
                self.newton.ascend(gram, duals)
            self.monitor.checkpoint(self)

    def solve_for_free_duals(self, gram: np.ndarray) -> None:
        """Solve for few free duals exactly, where no dual is at a bound but zero; keep them if the gap is smaller.

        With a C so large that it bounds nothing the objective is mostly ||w||²/2, and a small share of it allows scores
        to be off by much of a margin.
        """
        beta, violation = self.beta, self.violation
        bounded = (beta != 0.0) & ((beta == self.lower) | (beta == self.upper))
        if bounded.any() or np.count_nonzero(beta) > MOST_EXACT:
            return
        residuals = self.problem.loss.targets - self.scores
        duals = Duals(beta.copy(), residuals, self.lower, self.upper, self.problem.loss.epsilon)
        self.newton.ascend(gram, duals)
        self.beta, self.scores = duals.beta, self.problem.loss.targets - residuals
        self.measured_gradients()
        if self.violation <= max(violation, self.accepted_violation):
            self._update_incumbent(self._current())
