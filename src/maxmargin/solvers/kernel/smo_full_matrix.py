"""SMO where the whole kernel matrix fits into memory: a few compiled calls in all."""

import math

import numpy as np

from maxmargin.data.blas import one_blas_thread
from maxmargin.engine.threads import ThreadEngine
from maxmargin.loops.smo import Blocks, Duals, ascend_blocks
from maxmargin.problems.kernel_svm import KernelSVMProblem
from maxmargin.solvers.core import Monitor, Result
from maxmargin.solvers.kernel.base import SMOBase, SMOOptions, initial_result, stall_test
from maxmargin.solvers.kernel.kernel_matrix import ENTRIES_PER_COLUMN, KernelMatrix

# The most rows, and the share of the cache that their kernel matrix may take.
MOST_ROWS = 4096
SHARE_OF_CACHE = 0.5
# Duals that are new in a working set, and free duals kept from the one before.
WORKING_SET = 96
KEPT = 1024
# A working set is optimised until its KKT violation is this share of that of all duals.
VIOLATION_SHARE = 0.1
# Working sets, and steps on pairs, between two termination tests: some tenths of a second.
SETS_PER_CHECK = 256
STEPS_PER_CHECK = 100_000
# The compiled loop stops at this share of ``tol``: its estimate of the gap differs from the measured one by rounding.
SAFETY = 0.99
# For C = inf the loop does not know the gap: it stops whenever the KKT violation has fallen by this factor.
VIOLATION_FACTOR = 0.2
# Termination tests without progress after which only rounding is left.
PATIENCE = 20


def fits(n_rows: int, options: SMOOptions) -> bool:
    """Whether the kernel matrix of so many rows may be stored, in double precision."""
    return n_rows <= MOST_ROWS and 8.0 * n_rows**2 <= SHARE_OF_CACHE * options.cache_size * 2**20


def solve(
    problem: KernelSVMProblem,
    options: SMOOptions,
    monitor: Monitor,
    start: Result[float] | None = None,
    *,
    matrix: np.ndarray | None = None,
) -> Result[float]:
    """Run until the relative gap is at most ``tol``.

    Parameters
    ----------
    problem : KernelSVMProblem
    options : SMOOptions
    monitor : Monitor
    start : Result, optional
        Where an earlier attempt ended.
    matrix : ndarray of shape (n, n), optional
        The kernel matrix of the problem's rows, where it is known.

    Returns
    -------
    Result
        Without w: the duals are the coefficients.
    """
    run = SMOBase(problem, options, monitor, initial_result(problem, start))
    with np.errstate(over="ignore", invalid="ignore"), one_blas_thread():
        gram = _evaluated(problem, options) if matrix is None else matrix
        if start is not None:
            run.beta[:], run.scores[:] = start.beta, gram @ start.beta
        _run_to_gap(run, gram)
    return run.best


def _evaluated(problem: KernelSVMProblem, options: SMOOptions) -> np.ndarray:
    dtype, every_row = options.dtype_for(problem), np.arange(problem.n_rows)
    gram: np.ndarray = np.empty((problem.n_rows, problem.n_rows), dtype=dtype)
    with ThreadEngine(ENTRIES_PER_COLUMN, options.n_threads) as engine:
        KernelMatrix(problem.points, problem.kernel, dtype, problem.rows, engine).whole_rows(every_row, every_row, gram)
    return gram


def _run_to_gap(run: SMOBase, gram: np.ndarray) -> None:
    problem, options, best, targets = run.problem, run.options, run.best, run.problem.loss.targets
    residuals = targets - run.scores
    duals = Duals(run.beta, residuals, run.lower, run.upper, problem.loss.epsilon)
    violation, stall, status = math.inf, stall_test(PATIENCE), None
    while status is None:
        blocks = Blocks(
            size=WORKING_SET,
            kept=KEPT,
            share=VIOLATION_SHARE,
            most=SETS_PER_CHECK,
            max_steps=int(min(STEPS_PER_CHECK, max(1, options.max_iter - best.n_iter))),
            violation=VIOLATION_FACTOR * min(violation, 2.0 * float(np.abs(targets).max())) if problem.hard else 0.0,
            gap=-1.0 if problem.hard else SAFETY * options.tol,
        )
        n_steps, violation = ascend_blocks(gram, duals, targets, blocks)
        best.n_iter += n_steps
        run.scores = targets - residuals
        status = run.check(stall, can_move=n_steps > 0)
    best.status = status
