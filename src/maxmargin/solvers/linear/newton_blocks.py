"""What a block of rows computes for the Newton solver of linear support vector machines, and sums over blocks."""

import math
from collections.abc import Sequence

import numpy as np

from maxmargin.engine import Block, row_task
from maxmargin.loops.newton import (
    N_TOTALS,
    NEGATIVE,
    POSITIVE,
    DualSums,
    RowVectors,
    derivative_along_step,
    derivative_at_full_step,
    derivatives_along_step,
    evaluate,
    mark_working_set,
)
from maxmargin.problems.linear_svm import LinearSVMProblem
from maxmargin.solvers.core.hessian import fill_scores


def _vectors_of(block: Block[LinearSVMProblem], sigma: float) -> RowVectors:
    vectors = block.vectors
    return RowVectors(
        block.index,
        vectors["scores"],
        # Only a line search and what follows it read the changes.
        vectors.get("changes", vectors["scores"]),
        vectors["centers"],
        vectors["duals"],
        vectors["free"],
        sigma,
    )


def evaluate_block(block: Block[LinearSVMProblem], sigma: float, length: float) -> np.ndarray:
    """Move the scores by a length of the step, and compute the proximal duals there; return their sums."""
    problem = block.problem
    memory = np.zeros(N_TOTALS + 2 * problem.points.n_columns)
    sums = split_sums(memory, problem.points.n_columns)
    evaluate(problem.points.rows, problem.loss, _vectors_of(block, sigma), length, sums)
    return memory


def derivative_at_full_step_of_block(
    block: Block[LinearSVMProblem], sigma: float, step: np.ndarray, step_b: float
) -> float:
    problem = block.problem
    value: float = derivative_at_full_step(problem.points.rows, problem.loss, _vectors_of(block, sigma), step, step_b)
    return value


def derivatives_along_step_of_block(
    block: Block[LinearSVMProblem], sigma: float, lengths: Sequence[float]
) -> np.ndarray:
    vectors = _vectors_of(block, sigma)
    if len(lengths) == 1:
        return np.array([derivative_along_step(block.problem.loss, vectors, lengths[0])])
    order = np.argsort(lengths)
    totals = np.zeros(len(lengths))
    # Short steps, those up to 1, and longer ones.
    ordered = np.array(lengths)[order]
    cuts = np.unique(np.append(np.searchsorted(ordered, [0.0, 0.1, 1.0], side="right"), len(lengths)))
    derivatives_along_step(block.problem.loss, vectors, ordered, cuts, totals)
    return totals[np.argsort(order)]


@row_task
def mark_working_set_of_block(block: Block[LinearSVMProblem], sigma: float, radius: float) -> int:
    """Mark the rows whose duals move if scores change by up to ``radius``; return their number."""
    block["start"][:] = block["scores"]
    if math.isinf(radius):
        block["working_set"][:] = True
    else:
        mark_working_set(block.problem.loss, _vectors_of(block, sigma), radius, block["working_set"])
    return int(np.count_nonzero(block["working_set"]))


def rescore(block: Block[LinearSVMProblem], w: np.ndarray, b: float) -> float:
    """Compute all scores; return their largest change in the outer step."""
    fill_scores(block, w, b, "scores")
    return largest_change(block)


@row_task
def largest_change(block: Block[LinearSVMProblem]) -> float:
    """The largest change of a score in the outer step."""
    return float(np.abs(block["scores"] - block["start"]).max(initial=0.0))


@row_task
def sum_of_losses(block: Block[LinearSVMProblem]) -> float:
    """The sum of the losses, divided by C."""
    part = block.problem.part(block.rows)
    return float(part.losses(block["scores"]).sum()) / part.C


@row_task
def copy_vector(block: Block[LinearSVMProblem], source: str, target: str) -> None:
    block[target][:] = block[source]


@row_task
def keep_duals(block: Block[LinearSVMProblem], share: float, up: float, down: float) -> None:
    """Keep multiples of the positive and of the negative duals as dual incumbent, or as this share of it."""
    duals, best = block["duals"], block["best_duals"]
    if share == 1.0:
        np.multiply(duals, up, out=best)
        if down != up:
            np.multiply(duals, down, out=best, where=duals < 0.0)
    else:
        best *= 1.0 - share
        best += share * np.where(duals < 0.0, down, up) * duals


def split_sums(memory: np.ndarray, size: int) -> DualSums:
    """The sums that lie one after the other in an array."""
    return DualSums(memory[:N_TOTALS], memory[N_TOTALS : N_TOTALS + size], memory[N_TOTALS + size :])


def total_of(first: DualSums, second: DualSums) -> DualSums:
    """The sums over two sets of rows together."""
    return DualSums(*(a + b for a, b in zip(first, second, strict=True)))


def difference(whole: DualSums, part: DualSums) -> DualSums:
    """The sums over the rows that are not in the part."""
    return DualSums(*(a - b for a, b in zip(whole, part, strict=True)))


def sum_of_duals(sums: DualSums) -> float:
    """sum beta_i"""
    return float(sums.totals[POSITIVE] - sums.totals[NEGATIVE])
