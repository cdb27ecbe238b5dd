"""Sequential minimal optimisation where the whole kernel matrix fits into memory: a few compiled calls in all."""

import math

import numpy as np

from maxmargin.loops.smo import Blocks, Duals, ascend_blocks
from maxmargin.problems.kernel_svm import KernelSVMProblem
from maxmargin.solvers.core import Monitor, Result, Status
from maxmargin.solvers.kernel.base import SMOBase, SMOOptions, empty_point

# The most rows, and the share of the cache that their kernel matrix may take.
MOST_ROWS = 4096
SHARE_OF_CACHE = 0.5
# New duals in a block, duals kept from before, and the share of the worst pair's gain down to which pairs are taken.
BLOCK = 96
KEPT = 1024
SHARE = 0.1
# Blocks between two looks at clock and callbacks, and pairs in them.
BLOCKS_PER_LOOK = 256
STEPS_PER_LOOK = 100_000
# The loop's own estimate of the gap has to be this much better, so that rounding does not bring it back.
SAFETY = 0.99
# For C = inf the gap is looked at whenever the worst pair gains this share of what it did before, or less.
PROGRESS = 0.2
# After so many looks without a better gap rounding is all that is left.
PATIENCE = 20


def fits(n_rows: int, options: SMOOptions) -> bool:
    """Whether the kernel matrix of so many rows may be held as a whole, in double precision."""
    return n_rows <= MOST_ROWS and 8.0 * n_rows**2 <= SHARE_OF_CACHE * options.cache_size * 2**20


def solve(
    problem: KernelSVMProblem,
    gram: np.ndarray,
    options: SMOOptions,
    monitor: Monitor,
    before: Result[float] | None = None,
) -> Result[float]:
    """Run until the relative gap is at most ``tol``, given the kernel matrix of the problem's rows.

    ``before`` is where a run ended that is to be gone on with.
    """
    run = SMOBase(problem, options, monitor, empty_point(problem, before))
    with np.errstate(over="ignore", invalid="ignore"):
        if before is not None:
            run.beta[:], run.scores[:] = before.beta, gram @ before.beta
        return _until_gap(run, gram)


def _until_gap(run: SMOBase, gram: np.ndarray) -> Result[float]:
    problem, options, best, targets = run.problem, run.options, run.best, run.problem.loss.targets
    residuals = targets - run.scores
    duals = Duals(run.beta, residuals, run.lower, run.upper, problem.loss.epsilon)
    violation = math.inf
    while True:
        blocks = Blocks(
            size=BLOCK,
            kept=KEPT,
            share=SHARE,
            most=BLOCKS_PER_LOOK,
            max_steps=int(min(STEPS_PER_LOOK, max(1, options.max_iter - best.n_iter))),
            violation=PROGRESS * min(violation, 2.0 * float(np.abs(targets).max())) if problem.hard else 0.0,
            gap=-1.0 if problem.hard else SAFETY * options.tol,
        )
        n_steps, violation = ascend_blocks(gram, duals, targets, blocks)
        best.n_iter += n_steps
        run.scores = targets - residuals
        run.offer()
        status = run.monitor.check_termination(best, options, "block")
        if status is None and (n_steps == 0 or run.stalled >= PATIENCE):
            status = Status.STALLED
        if status is not None:
            best.status = status
            return best
