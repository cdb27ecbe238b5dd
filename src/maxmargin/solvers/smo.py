"""The kernel support vector machine by sequential minimal optimisation on blocks of duals (theory B10).

The duals that violate the optimality conditions most, and half of those that did so before, make a block of some
hundred. Their kernel rows are made together through BLAS; within the block the pairs of the lecture are taken, by
second order information; then one pass over the block's kernel rows moves the scores of all points, in float64. So a
kernel row is read once for many steps.

Platt, "Fast training of support vector machines using sequential minimal optimization", 1998; Fan, Chen, Lin, 2005;
Joachims, "Making large-scale SVM learning practical", 1999 (larger working sets).
"""

import math
from dataclasses import dataclass

import numpy as np

from maxmargin.data.blas import one_blas_thread
from maxmargin.loops.smo import add_kernel_rows, ascend_pairs
from maxmargin.problems.kernel_svm import KernelSVMProblem
from maxmargin.solvers.first_point import best_intercept
from maxmargin.solvers.gap import GapPoint, GapSettings
from maxmargin.solvers.kernel_rows import KernelRows
from maxmargin.solvers.row_blocks import RowBlocks
from maxmargin.solvers.solution import Status
from maxmargin.solvers.watch import Watch

# The most duals in a block; all of them, where they are not many more.
BLOCK = 512
WHOLE = 1024
# A smaller block has no room for duals of the last one.
SMALLEST_TO_KEEP = 8
# Every so many blocks the duals that are firmly held are left out, where no more than this share of all is left; what
# is left is solved for at most so many blocks before all are looked at again.
BLOCKS_TO_SHRINK = 16
SHRUNK = 0.5
BLOCKS_OF_PART = 200
# Pairs within a block are taken until they gain no more than this share of what the worst pair of all did, or so many
# steps for every dual were made.
SHARE = 0.1
STEPS_PER_DUAL = 100
# Kernel values of single precision are enough for gaps above this; and are not worth it for so few rows.
FINE_GAP = 1e-4
FEW_ROWS = 2048
# Products of larger kernel values leave the range of single precision.
LARGEST_SINGLE = 1e15
# What a block's passes over the scores cost, for cutting them into pieces for threads.
ENTRIES_PER_SCORE = 256.0
# After so many blocks, and so many visits of every dual, without a better gap rounding is all that is left.
PATIENCE = 60
VISITS = 20.0


@dataclass(frozen=True)
class SMOSettings:
    """When to stop, and how to run: ``cache_size`` in megabytes."""

    gap: GapSettings
    cache_size: float = 200.0
    shrinking: bool = True


def solve(problem: KernelSVMProblem, settings: SMOSettings, watch: Watch) -> GapPoint:
    """Run until the relative gap is at most ``tol``. There is no w: the duals are the plane."""
    n_rows = problem.points.n_rows
    best = GapPoint(np.empty(0), 0.0, np.zeros(n_rows))
    with np.errstate(over="ignore", invalid="ignore"), one_blas_thread():
        blocks = RowBlocks(ENTRIES_PER_SCORE, settings.gap.n_threads)
        with blocks:
            SMORun(problem, settings, watch, best, blocks).until_gap()
    return best


class SMORun:
    """The state of a run: duals, and the scores of all points without intercept."""

    def __init__(
        self,
        problem: KernelSVMProblem,
        settings: SMOSettings,
        watch: Watch,
        best: GapPoint,
        blocks: RowBlocks,
    ) -> None:
        self.problem, self.settings, self.watch, self.best, self.blocks = problem, settings, watch, best, blocks
        n_rows = problem.points.n_rows
        largest = float(np.abs(problem.diagonal).max(initial=0.0))
        exact = settings.gap.tol < FINE_GAP or n_rows <= FEW_ROWS or largest > LARGEST_SINGLE
        self.dtype = np.float64 if exact else np.float32
        self.rows = self._no_rows()
        self.size = n_rows if n_rows <= min(WHOLE, self.rows.capacity) else min(BLOCK, self.rows.capacity)
        self.lower, self.upper = problem.losses.lowers(), problem.losses.uppers()
        self.beta, self.scores = np.zeros(n_rows), np.zeros(n_rows)
        self.block = np.empty(0, dtype=np.int64)
        self.violation = math.inf

    def until_gap(self) -> None:
        """Blocks until the gap is small, nothing moves any more, or a limit is hit."""
        best, stalled, n_blocks = self.best, 0, 0
        while True:
            before = best.relative_gap
            rise, fall = self._slopes()
            self.violation = float(rise.max(initial=-math.inf)) - float(fall.min(initial=math.inf))
            self._offer()
            status = best.why_stop(self.settings.gap, self.watch, "block")
            stalled = 0 if best.relative_gap < 0.99 * before else stalled + 1
            if status is None and (
                self.violation <= 0.0 or stalled >= max(PATIENCE, VISITS * self.beta.size / self.size)
            ):
                status = Status.STALLED
            if status is not None:
                best.status = status
                return
            n_blocks += 1
            if self.settings.shrinking and n_blocks % BLOCKS_TO_SHRINK == 0 and self._shrink(rise, fall):
                continue
            self._choose(rise, fall)
            self._ascend()

    def until_violation(self, goal: float) -> None:
        """Blocks until no pair gains more than ``goal``, or a limit is hit: for a part of the duals, without a gap."""
        for _ in range(BLOCKS_OF_PART):
            rise, fall = self._slopes()
            self.violation = float(rise.max(initial=-math.inf)) - float(fall.min(initial=math.inf))
            enough = self.violation <= goal or self.best.n_steps >= self.settings.gap.max_iter
            if enough or self.watch.must_stop() is not None:
                return
            self._choose(rise, fall)
            self._ascend()

    def _shrink(self, rise: np.ndarray, fall: np.ndarray) -> bool:
        """Go on with the duals that something may still draw away from where they are, if that leaves few of them."""
        at_top, at_bottom = np.isneginf(rise), np.isposinf(fall)
        held = (at_top & (fall > rise.max())) | (at_bottom & (rise < fall.min()))
        active = np.flatnonzero(~held)
        if not self.size < active.size <= SHRUNK * held.size:
            return False
        # Two caches would take more than what is allowed.
        del self.rows
        part = SMORun(self.problem.part(active), self.settings, self.watch, self.best, self.blocks)
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

    def _no_rows(self) -> KernelRows:
        return KernelRows(self.problem, self.settings.cache_size, self.blocks, self.dtype)

    def _slopes(self) -> tuple[np.ndarray, np.ndarray]:
        """What the dual's value gains when a dual rises, and loses when it falls; infinite at an end."""
        epsilon = self.problem.shape.epsilon
        residuals = self.problem.shape.targets - self.scores
        rise, fall = residuals.copy(), residuals
        if epsilon > 0.0:
            rise -= np.where(self.beta >= 0.0, epsilon, -epsilon)
            fall = residuals - np.where(self.beta > 0.0, epsilon, -epsilon)
        rise[self.beta >= self.upper] = -math.inf
        fall[self.beta <= self.lower] = math.inf
        return rise, fall

    def _offer(self) -> None:
        """Offer the plane and the duals as they are now: every step has kept them feasible."""
        problem, best = self.problem, self.best
        b = best_intercept(problem.losses, self.scores)
        primal = problem.primal_value(self.beta, self.scores, b)
        dual = problem.dual_value(self.beta, self.scores)
        # The plane is that of the duals, so that the two are kept together.
        if math.isinf(best.primal) or primal - dual <= best.primal - best.dual:
            best.primal, best.dual, best.intercept = primal, dual, b
            best.beta = self.beta.copy()

    def _choose(self, rise: np.ndarray, fall: np.ndarray) -> None:
        """Take the duals that violate most, and the newest of the last block."""
        n_rows = rise.size
        if self.size == n_rows:
            self.block = np.arange(n_rows)
            return
        half = self.size // 2 if self.block.size and self.size >= SMALLEST_TO_KEEP else self.size
        kept = self.block[: self.size - half]
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
        in_place = slots.size == self.beta.size and self.rows.stored.dtype == np.float64
        if in_place and np.array_equal(slots, block):
            gram = self.rows.stored
        else:
            gram = self.rows.stored[np.ix_(slots, block)].astype(np.float64)
        beta, before = self.beta[block], self.beta[block].copy()
        residuals = self.problem.shape.targets[block] - self.scores[block]
        tolerance = SHARE * self.violation if self.size < self.beta.size else 0.01 * self.violation
        self.best.n_steps += ascend_pairs(
            gram,
            residuals,
            beta,
            self.lower[block],
            self.upper[block],
            self.problem.shape.epsilon,
            tolerance,
            STEPS_PER_DUAL * block.size,
        )
        self.beta[block] = beta
        changes = beta - before
        moved = np.flatnonzero(changes)
        self.blocks.each(
            self.scores.size,
            lambda first, last: add_kernel_rows(
                self.rows.stored, slots[moved], changes[moved], first, last, self.scores
            ),
        )


def _largest(values: np.ndarray, count: int) -> np.ndarray:
    """Places of the largest values, the largest first; those at minus infinity do not count."""
    count = min(count, int(np.count_nonzero(values > -math.inf)))
    if count <= 0:
        return np.empty(0, dtype=np.int64)
    chosen = np.argpartition(-values, count - 1)[:count]
    return chosen[np.argsort(-values[chosen], kind="stable")]
