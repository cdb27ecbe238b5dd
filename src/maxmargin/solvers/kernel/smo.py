"""The kernel support vector machine by sequential minimal optimisation on blocks of duals (theory B10).

The duals that violate the optimality conditions most, and half of those that did so before, make a block of some
hundred. Their kernel rows are made together through BLAS; within the block the pairs of the lecture are taken, by
second order information; then one pass over the block's kernel rows moves the scores of all points, in float64. So a
kernel row is read once for many steps.

Platt, "Fast training of support vector machines using sequential minimal optimization", 1998; Fan, Chen, Lin, 2005;
Joachims, "Making large-scale SVM learning practical", 1999 (larger working sets, shrinking).
"""

import math

import numpy as np

from maxmargin.data.blas import one_blas_thread
from maxmargin.engine.threads import ThreadEngine
from maxmargin.loops.smo import Duals, add_kernel_rows, ascend_pairs
from maxmargin.problems.kernel_svm import KernelSVMProblem
from maxmargin.solvers.core import Monitor, Result, Status
from maxmargin.solvers.kernel import smo_full_matrix as whole_smo
from maxmargin.solvers.kernel.base import SMOBase, SMOOptions, empty_point
from maxmargin.solvers.kernel.kernel_cache import KernelCache

# The most duals in a block.
BLOCK = 1024
# Duals between their ends stay in the block, up to so many: else those of two blocks in turn would undo each other's
# steps.
KEPT = 1536
# A smaller block has no room for duals of the last one.
SMALLEST_TO_KEEP = 8
# A run begins with one row of so many, down to no fewer rows than that: most of the support is then known before a
# kernel row of full length is made.
ROWS_PER_SAMPLED = 8
SMALLEST_SAMPLE = 1024
# A sample is solved until no pair gains more than this.
SAMPLE_VIOLATION = 0.1
# Every so many blocks the duals that are firmly held are left out, where no more than this share of all is left; what
# is left is solved for at most so many blocks before all are looked at again.
BLOCKS_TO_SHRINK = 16
SHRUNK = 0.5
BLOCKS_OF_PART = 200
# Pairs within a block are taken until they gain no more than this share of what the worst pair of all did, or so many
# steps for every dual were made.
SHARE = 0.1
STEPS_PER_DUAL = 100
# What a block's passes over the scores cost, for cutting them into pieces for threads.
ENTRIES_PER_SCORE = 64.0
# After so many blocks, and so many visits of every dual, without a better gap rounding is all that is left.
PATIENCE = 60
VISITS = 20.0


def solve(
    problem: KernelSVMProblem, options: SMOOptions, monitor: Monitor, before: Result[float] | None = None
) -> Result[float]:
    """Run until the relative gap is at most ``tol``. There is no w: the duals are the plane.

    ``before`` is where a run ended that is to be gone on with.
    """
    blocks = ThreadEngine(ENTRIES_PER_SCORE, options.n_threads)
    with np.errstate(over="ignore", invalid="ignore"), one_blas_thread(), blocks:
        if whole_smo.fits(problem.n_rows, options):
            rows = KernelCache(problem, options.cache_size, blocks, options.dtype_for(problem))
            rows.slots(np.arange(problem.n_rows))
            return whole_smo.solve(problem, rows.stored, options, monitor, before)
        best = empty_point(problem, before)
        SMORun(problem, options, monitor, best, blocks).until_gap(None if before is None else before.beta)
    return best


class SMORun(SMOBase):
    """A run that makes the kernel rows it needs."""

    def __init__(
        self,
        problem: KernelSVMProblem,
        options: SMOOptions,
        monitor: Monitor,
        best: Result[float],
        blocks: ThreadEngine,
    ) -> None:
        super().__init__(problem, options, monitor, best)
        self.blocks = blocks
        self.dtype = options.dtype_for(problem)
        self.rows = self._no_rows()
        self.size = max(2, min(BLOCK, self.rows.capacity // 2))
        self.block = np.empty(0, dtype=np.int64)
        self.violation = math.inf

    def until_gap(self, start: np.ndarray | None = None) -> None:
        """Blocks until the gap is small, nothing moves any more, or a limit is hit."""
        best, n_blocks = self.best, 0
        if start is None:
            self.begin_with_sample()
        else:
            self.begin_with(start)
        while True:
            rise, fall = self.slopes()
            self.violation = float(rise.max(initial=-math.inf)) - float(fall.min(initial=math.inf))
            self.offer()
            status = self.monitor.check_termination(best, self.options, "block")
            if status is None and (
                self.violation <= 0.0 or self.stalled >= max(PATIENCE, VISITS * self.beta.size / self.size)
            ):
                status = Status.STALLED
            if status is not None:
                best.status = status
                return
            n_blocks += 1
            if self.options.shrinking and n_blocks % BLOCKS_TO_SHRINK == 0 and self._shrink(rise, fall):
                continue
            self._choose(rise, fall)
            self._ascend()

    def until_violation(self, goal: float) -> None:
        """Blocks until no pair gains more than ``goal``, or a limit is hit: for a part of the duals, without a gap."""
        for _ in range(BLOCKS_OF_PART):
            rise, fall = self.slopes()
            self.violation = float(rise.max(initial=-math.inf)) - float(fall.min(initial=math.inf))
            enough = self.violation <= goal or self.best.n_iter >= self.options.max_iter
            if enough or self.monitor.check_limits() is not None:
                return
            self._choose(rise, fall)
            self._ascend()

    def begin_with_sample(self) -> None:
        """Solve for some rows roughly, chosen at random but always the same, after some of those."""
        n_rows = self.beta.size
        if n_rows < ROWS_PER_SAMPLED * SMALLEST_SAMPLE:
            return
        sample = np.sort(np.random.default_rng(n_rows).permutation(n_rows)[: n_rows // ROWS_PER_SAMPLED])
        part = SMORun(self.problem.part(sample), self.options, self.monitor, self.best, self.blocks)
        part.begin_with_sample()
        part.until_violation(SAMPLE_VIOLATION)
        beta = part.beta
        del part
        support = np.flatnonzero(beta)
        self.beta[sample] = beta
        # Rows that are made now are not made again later, if there is room for them.
        for first in range(0, support.size, self.size):
            few = support[first : first + self.size]
            self._move_scores(self.rows.slots(sample[few]), beta[few])

    def _shrink(self, rise: np.ndarray, fall: np.ndarray) -> bool:
        """Go on with the duals that something may still draw away from where they are, if that leaves few of them."""
        at_top, at_bottom = np.isneginf(rise), np.isposinf(fall)
        held = (at_top & (fall > rise.max())) | (at_bottom & (rise < fall.min()))
        active = np.flatnonzero(~held)
        if not self.size < active.size <= SHRUNK * held.size:
            return False
        # Two caches would take more than what is allowed.
        del self.rows
        part = SMORun(self.problem.part(active), self.options, self.monitor, self.best, self.blocks)
        part.beta, part.scores = self.beta[active], self.scores[active]
        part.until_violation(SHARE * self.violation)
        changes = part.beta - self.beta[active]
        self.beta[active], self.scores[active] = part.beta, part.scores
        moved = changes != 0.0
        self.scores[held] += self.problem.scores_of(np.flatnonzero(held), active[moved], changes[moved])
        del part.rows
        self.rows = self._no_rows()
        self.block = np.empty(0, dtype=np.int64)
        return True

    def _no_rows(self) -> KernelCache:
        return KernelCache(self.problem, self.options.cache_size, self.blocks, self.dtype)

    def _choose(self, rise: np.ndarray, fall: np.ndarray) -> None:
        """Take the duals that violate most, and the newest of the last block."""
        half = self.size // 2 if self.block.size and self.size >= SMALLEST_TO_KEEP else self.size
        beta = self.beta[self.block]
        between = (beta != 0.0) & (self.lower[self.block] < beta) & (beta < self.upper[self.block])
        last = np.concatenate([self.block[between], self.block[~between]])
        n_free = min(KEPT, self.rows.capacity - half, int(np.count_nonzero(between)))
        kept = last[: max(self.size - half, n_free)]
        rise, fall = rise.copy(), fall.copy()
        rise[kept], fall[kept] = -math.inf, math.inf
        most = _largest(rise, half // 2)
        fall[most] = math.inf
        least = _largest(-fall, half - most.size)
        self.block = np.concatenate([most, least, kept])

    def _ascend(self) -> None:
        """Take pairs within the block, then move all scores."""
        block = self.block
        slots = self.rows.slots(block)
        gram = self.rows.among(block)
        beta, before = self.beta[block], self.beta[block].copy()
        residuals = self.problem.loss.targets[block] - self.scores[block]
        duals = Duals(beta, residuals, self.lower[block], self.upper[block], self.problem.loss.epsilon)
        self.best.n_iter += ascend_pairs(gram, duals, SHARE * self.violation, STEPS_PER_DUAL * block.size)
        self.beta[block] = beta
        moved = np.flatnonzero(beta != before)
        self._move_scores(slots[moved], (beta - before)[moved])

    def _move_scores(self, slots: np.ndarray, changes: np.ndarray) -> None:
        self.blocks.each(
            self.scores.size,
            lambda first, last: add_kernel_rows(self.rows.stored, slots, changes, self.scores, first, last),
        )


def _largest(values: np.ndarray, count: int) -> np.ndarray:
    """Places of the largest values, the largest first; those at minus infinity do not count."""
    count = min(count, int(np.count_nonzero(values > -math.inf)))
    if count <= 0:
        return np.empty(0, dtype=np.int64)
    chosen = np.argpartition(-values, count - 1)[:count]
    return chosen[np.argsort(-values[chosen], kind="stable")]
