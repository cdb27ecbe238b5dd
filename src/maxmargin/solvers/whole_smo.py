"""Sequential minimal optimisation where the whole kernel matrix fits into memory: a few compiled calls in all."""

import math

import numpy as np

from maxmargin.loops.smo import Blocks, Duals, ascend_blocks
from maxmargin.problems.kernel_svm import KernelSVMProblem
from maxmargin.solvers.gap import GapPoint
from maxmargin.solvers.kernel_ascent import KernelAscent, SMOSettings, empty_point
from maxmargin.solvers.solution import Status
from maxmargin.solvers.watch import Watch

# The most rows, and the share of the cache that their kernel matrix may take.
MOST_ROWS = 4096
SHARE_OF_CACHE = 0.5
# Duals in a block, blocks between two looks at the gap, and pairs in them.
BLOCK = 128
BLOCKS_PER_LOOK = 256
STEPS_PER_LOOK = 100_000
SHARE = 0.1
# The gap is looked at whenever the worst pair gains this share of what it did before, or less; near the end, which is
# where it gains this share of what it did at first, more often.
PROGRESS = 0.1
NEAR_END, PROGRESS_NEAR_END = 0.02, 0.3
# After so many looks without a better gap rounding is all that is left.
PATIENCE = 20


def fits(n_rows: int, settings: SMOSettings) -> bool:
    """Whether the kernel matrix of so many rows may be held as a whole, in double precision."""
    return n_rows <= MOST_ROWS and 8.0 * n_rows**2 <= SHARE_OF_CACHE * settings.cache_size * 2**20


def solve(problem: KernelSVMProblem, gram: np.ndarray, settings: SMOSettings, watch: Watch) -> GapPoint:
    """Run until the relative gap is at most ``tol``, given the kernel matrix of the problem's rows."""
    with np.errstate(over="ignore", invalid="ignore"):
        return _run(problem, gram, settings, watch)


def _run(problem: KernelSVMProblem, gram: np.ndarray, settings: SMOSettings, watch: Watch) -> GapPoint:
    best = empty_point(problem)
    run = KernelAscent(problem, settings, watch, best)
    rise, fall = run.slopes()
    violation = float(rise.max(initial=-math.inf)) - float(fall.min(initial=math.inf))
    near_end = NEAR_END * violation
    while True:
        run.offer()
        status = best.why_stop(settings.gap, watch, "block")
        if status is None and (violation <= 0.0 or run.stalled >= PATIENCE):
            status = Status.STALLED
        if status is not None:
            best.status = status
            return best
        residuals = problem.shape.targets - run.scores
        duals = Duals(run.beta, residuals, run.lower, run.upper, problem.shape.epsilon)
        most = int(min(STEPS_PER_LOOK, max(1, settings.gap.max_iter - best.n_steps)))
        goal = violation * (PROGRESS if violation > near_end else PROGRESS_NEAR_END)
        n_steps, violation = ascend_blocks(gram, duals, goal, Blocks(BLOCK, BLOCKS_PER_LOOK, most, SHARE))
        best.n_steps += n_steps
        run.scores = problem.shape.targets - residuals
        if n_steps == 0 and violation > 0.0:
            run.stalled = PATIENCE
