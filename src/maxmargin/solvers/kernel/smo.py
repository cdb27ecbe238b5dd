"""Sequential minimal optimisation (SMO) of the kernel SVM's dual on large working sets.

A working set holds some hundred duals: those that violate the KKT conditions most, and half of the last set. Their
kernel rows are evaluated together by BLAS. Within the set, pairs are chosen by second-order information and optimised
one after the other. Then one pass over the set's kernel rows updates the scores of all points in float64, so that a
kernel row is read once for many steps.

Platt, "Fast training of support vector machines using sequential minimal optimization", 1998; Fan, Chen, Lin, "Working
set selection using second order information for training support vector machines", 2005; Joachims, "Making large-scale
SVM learning practical", 1999 (larger working sets, shrinking).
"""

import math

import numpy as np

from maxmargin.data.blas import one_blas_thread
from maxmargin.data.interruption import InterruptedPassError, ending_when
from maxmargin.engine.threads import RangeThreads
from maxmargin.loops.exponential import exponentiate
from maxmargin.loops.smo import Duals
from maxmargin.problems.kernel_svm import KernelProblem, KernelSVMProblem
from maxmargin.solvers.core import Monitor, Positions, Result, Status, solver, stage
from maxmargin.solvers.kernel import smo_full_matrix
from maxmargin.solvers.kernel.base import (
    VIOLATION_SHARE,
    SMOBase,
    SMOOptions,
    initial_result,
    patience_on_sets,
    stall_test,
)
from maxmargin.solvers.kernel.free_duals import FreeSteps, ascend_working_set
from maxmargin.solvers.kernel.kernel_cache import KernelCache, add_in_time
from maxmargin.solvers.kernel.kernel_matrix import WORK_PER_COLUMN, KernelMatrix

# The most duals in a working set, apart from free ones.
WORKING_SET = 1024
# Free duals stay in the working set, up to this number: else two sets in turn would undo each other's steps.
KEPT = 1536
# A smaller working set keeps no duals of the last one.
SMALLEST_TO_KEEP = 8
# Rows per row of the subsample that the start is solved on, and the fewest rows of one: most of the support is known
# before a kernel row of full length is evaluated.
ROWS_PER_SAMPLED = 8
SMALLEST_SAMPLE = 1024
# The KKT violation to which a subsample is solved; margins are 1.
SAMPLE_VIOLATION = 0.1
# Shrinking is tried after this number of working sets. It takes place where at most this share of the duals remains;
# these are optimised for at most this number of working sets before all gradients are computed again.
SETS_TO_SHRINK = 16
SHRUNK_SHARE = 0.5
SETS_WHILE_SHRUNK = 200
# The rows of the cache are kept meanwhile where they and the kernel matrix of the duals that remain take at most this
# share of ``cache_size``.
SHARE_OF_TWO_CACHES = 1.125
# The most steps on a working set, for every dual in it.
STEPS_PER_DUAL = 100


@solver()
def solve(
    problem: KernelSVMProblem, options: SMOOptions, monitor: Monitor, start: Result[float] | None = None
) -> Result[float]:
    """Run until the relative gap is at most ``tol``.

    ``start`` is where an earlier attempt ended. The result has no w: the duals are the coefficients.
    """
    if smo_full_matrix.fits(problem, options):
        return smo_full_matrix.solve(problem, options, monitor, start)
    best = initial_result(problem, start)
    engine = RangeThreads(WORK_PER_COLUMN, options.n_threads)
    with np.errstate(over="ignore", invalid="ignore"), one_blas_thread(), engine:
        try:
            with ending_when(monitor.must_stop):
                run = SMORun(problem, options, monitor, best, engine, None if start is None else start.beta)
        except InterruptedPassError:
            best.status = monitor.status_when_stopped()
            return best
        best.status = run.run()
    return best


class SMORun(SMOBase[KernelSVMProblem, float]):
    """A run that evaluates the kernel rows it needs.

    Parameters
    ----------
    problem, options, monitor, best :
        As for :class:`SMOBase`.
    engine : RangeThreads
    start : ndarray of shape (n,), optional
        Feasible duals to begin with, instead of those of a subsample.
    """

    checkpointed = (
        *("beta", "scores", "cache", "best", "stall", "n_sets"),
        Positions("working_set", "beta"),
    )
    outcome = ("best",)

    def __init__(
        self,
        problem: KernelSVMProblem,
        options: SMOOptions,
        monitor: Monitor,
        best: Result[float],
        engine: RangeThreads,
        start: np.ndarray | None = None,
    ) -> None:
        super().__init__(problem, options, monitor, best)
        self.start = start
        self.engine = engine
        self.cache = empty_cache(self.problem, self.options, self.engine)
        self.cache_rows_per_call = self.cache.matrix.rows_per_call
        self.size = max(2, min(WORKING_SET, self.cache.capacity // 2))
        self.working_set = np.empty(0, dtype=np.int64)
        self.stall = stall_test(problem, patience_on_sets(self.beta.size, self.size))
        self.n_sets = 0

    @stage
    def run(self) -> Status:
        """Optimise working sets until the termination test ends the run."""
        if self.n_sets == 0 and not self._begin():
            return self.monitor.status_when_stopped()
        while True:
            up, down = self.measured_gradients()
            status = self.check(self.stall, self.n_sets, can_move=self.violation > self.rounding)
            if status is not None:
                return status
            self.n_sets += 1
            shrinking_is_due = self.options.shrinking and self.n_sets % SETS_TO_SHRINK == 0
            if not (shrinking_is_due and self.shrink(up, down)):
                self.select_working_set(up, down)
                self.optimise_working_set()
            self.monitor.checkpoint(self)

    def _begin(self) -> bool:
        """Set the first duals and their scores; return whether there was time for those of an earlier attempt."""
        if self.start is None:
            self.start_from_sample()
            return True
        try:
            with ending_when(self.monitor.must_stop):
                self.start_from(self.start)
        except InterruptedPassError:
            return False
        return True

    def run_to_violation(self, goal: float) -> None:
        """Optimise working sets until the KKT violation is at most ``goal`` or a limit is reached; no gap is known."""
        for _ in range(SETS_WHILE_SHRUNK):
            up, down = self.measured_gradients()
            if self.violation <= goal or self.monitor.check_work(self.best.n_iter, self.options) is not None:
                return
            self.select_working_set(up, down)
            self.optimise_working_set()

    def start_from_sample(self) -> None:
        """Solve a subsample roughly, itself started from a subsample.

        Rows are drawn at random, with the number of rows as the seed: the same data have the same result.
        """
        n_rows = self.beta.size
        if n_rows < ROWS_PER_SAMPLED * SMALLEST_SAMPLE:
            return
        sample = np.sort(np.random.default_rng(n_rows).permutation(n_rows)[: n_rows // ROWS_PER_SAMPLED])
        part = SMORun(self.problem.part(sample), self.options, self.monitor, self.best, self.engine)
        part.start_from_sample()
        part.run_to_violation(SAMPLE_VIOLATION)
        if self.monitor.must_stop():
            return
        beta = part.beta
        del part
        support = np.flatnonzero(beta)
        self.beta[sample] = beta
        # The rows of the support go into the cache: the first working sets need them.
        if not add_in_time(self.cache, sample[support], beta[support], self.scores, self.size, self.monitor):
            # Scores of a part of the duals are of no use: the run ends where it started.
            self.beta[:], self.scores[:] = 0.0, 0.0

    def shrink(self, up: np.ndarray, down: np.ndarray) -> bool:
        """Optimise the duals that are not fixed at a bound alone, if these are few; return whether that was done.

        A dual is fixed at its bound where its gradient points outwards by more than that of any other dual.
        """
        at_upper, at_lower = np.isneginf(up), np.isposinf(down)
        fixed = (at_upper & (down > up.max())) | (at_lower & (up < down.min()))
        active = np.flatnonzero(~fixed)
        if not self.size < active.size <= SHRUNK_SHARE * fixed.size:
            return False
        second = np.dtype(self.cache.matrix.dtype).itemsize * active.size**2
        keep = self.cache.bytes_used + second <= SHARE_OF_TWO_CACHES * self.options.cache_size * 2**20
        if not keep:
            # Two caches would take more memory than is allowed.
            del self.cache
        part = SMORun(self.problem.part(active), self.options, self.monitor, self.best, self.engine)
        part.beta, part.scores = self.beta[active], self.scores[active]
        part.run_to_violation(VIOLATION_SHARE * self.violation)
        changes = part.beta - self.beta[active]
        moved = changes != 0.0
        scores = self._changed_scores(np.flatnonzero(fixed), active[moved], changes[moved])
        if scores is not None:
            self.beta[active], self.scores[active], self.scores[fixed] = part.beta, part.scores, scores
        del part.cache
        if not keep:
            self.cache = empty_cache(self.problem, self.options, self.engine)
        self.working_set = active[part.working_set]
        return True

    def _changed_scores(self, rows: np.ndarray, moved: np.ndarray, changes: np.ndarray) -> np.ndarray | None:
        """The scores of some rows after changes of other duals; None where the monitor has to stop before the end."""
        scores: np.ndarray = self.scores[rows]
        size = max(1, self.cache_rows_per_call * self.beta.size // max(1, moved.size))
        for first in range(0, rows.size, size):
            if self.monitor.must_stop():
                return None
            few = slice(first, first + size)
            scores[few] += self.problem.scores_of(rows[few], moved, changes, exponentiate)
        return scores

    def select_working_set(self, up: np.ndarray, down: np.ndarray) -> None:
        """Take the duals of the largest violation on either side, and free ones of the last working set first."""
        last = self.working_set
        half = self.size // 2 if last.size and self.size >= SMALLEST_TO_KEEP else self.size
        beta = self.beta[last]
        free = (beta != 0.0) & (self.lower[last] < beta) & (beta < self.upper[last])
        n_free = min(KEPT, self.cache.capacity - half, int(np.count_nonzero(free)))
        kept = np.concatenate([last[free], last[~free]])[: max(self.size - half, n_free)]
        up, down = up.copy(), down.copy()
        up[kept], down[kept] = -math.inf, math.inf
        rising = largest_places(up, half // 2)
        down[rising] = math.inf
        falling = largest_places(-down, half - rising.size)
        self.working_set = np.concatenate([rising, falling, kept])

    def optimise_working_set(self) -> None:
        """Optimise pairs of the working set, then update all scores."""
        gram, chosen, slots = self.cache.block(self.working_set, self.monitor)
        beta, before = self.beta[chosen], self.beta[chosen].copy()
        residuals = self.problem.loss.targets[chosen] - self.scores[chosen]
        duals = Duals(beta, residuals, self.lower[chosen], self.upper[chosen], self.problem.loss.epsilon)
        self.best.n_iter += ascend_working_set(
            gram,
            duals,
            self.goal_within(),
            STEPS_PER_DUAL * chosen.size,
            FreeSteps(self.options.n_threads, self.monitor.must_stop),
        )
        self.beta[chosen] = beta
        moved = np.flatnonzero(beta != before)
        self.cache.add_rows(slots[moved], (beta - before)[moved], self.scores)


def empty_cache(problem: KernelProblem, options: SMOOptions, engine: RangeThreads, at_least: int = 2) -> KernelCache:
    """A cache for the rows of a problem's kernel matrix, of ``at_least`` so many whatever the options."""
    matrix = KernelMatrix(problem.points, problem.kernel, options.dtype_for(problem), problem.rows, engine)
    return KernelCache(matrix, options.cache_size, at_least)


def largest_places(values: np.ndarray, count: int) -> np.ndarray:
    """Positions of the largest values, the largest first; values of minus infinity do not count."""
    count = min(count, int(np.count_nonzero(values > -math.inf)))
    if count <= 0:
        return np.empty(0, dtype=np.int64)
    chosen = np.argpartition(-values, count - 1)[:count]
    return chosen[np.argsort(-values[chosen], kind="stable")]
