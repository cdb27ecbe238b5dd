"""Where the linear support vector machine on partitions begins: at duals, or at the solution of a part of the rows."""

import math
from dataclasses import dataclass, replace

import numpy as np
import scipy.sparse as sp

from maxmargin.data.partitions import PartitionedPoints, PartitionedTask
from maxmargin.data.rows import Matrix
from maxmargin.engine import Block, Engine, row_task
from maxmargin.engine.dask import DaskEngine
from maxmargin.loops.products import compute_scores
from maxmargin.problems.linear_svm import LinearSVMProblem, SVMLoss, balancing_factors
from maxmargin.solvers.core import Monitor, Options, Result
from maxmargin.solvers.core.hessian import LARGEST_DIRECT, combination, signed_gram, solve_positive
from maxmargin.solvers.core.subsample import FEWEST_ROWS_PER_COLUMN
from maxmargin.solvers.linear import newton
from maxmargin.solvers.linear.newton import SIGMA_FROM_DUALS
from maxmargin.solvers.linear.newton_blocks import sum_of_losses
from maxmargin.solvers.linear.subsample import (
    FEWEST_PER_CLASS,
    GAP_OF_SAMPLE,
    TRUSTED_ROWS,
    duals_at,
    first_sigma,
    problem_of_rows,
)

# The subsample has at most this share of the rows, and so many entries, 34 MB, however many rows there are, where it is
# collected.
LARGEST_SHARE, LARGEST_SAMPLE = 1 / 4, 1 << 22
# Where solutions of partitions are weighted by their Hessian matrices: the edges of losses are smoothed over so many
# times the width of the set of free duals, and the width at their mean is so many times theirs. As measured on covtype,
# with its rows in the order of the file, shuffled, and sorted by a column.
WIDER, WIDTH_OF_MEAN = 10.0, 0.3


@dataclass(frozen=True)
class Start:
    """Coefficients, and the first proximal step size; ``far`` from the solution where no subsample was solved."""

    w: np.ndarray
    b: float
    sigma: float
    far: bool = False


def continued(engine: DaskEngine[LinearSVMProblem], start: Result[float]) -> Start:
    """Begin where another run has ended; its duals lie in partitions like the rows."""
    engine.set_chunks("centers", start.beta.chunks())  # type: ignore[attr-defined]
    points: object = engine.problem.points
    assert isinstance(points, PartitionedPoints)
    b = start.intercept = points.centring.intercept_here(start.w, start.intercept)
    return Start(start.w, b, SIGMA_FROM_DUALS * engine.problem.C / _typical_residual(engine, start.w, b))


def from_subsample(
    engine: DaskEngine[LinearSVMProblem], task: PartitionedTask, options: Options, monitor: Monitor
) -> Start:
    """Begin at the solution of some rows, or at the best multiple of equal duals where rows are few."""
    points = task.points
    if LARGEST_SHARE * points.n_rows < FEWEST_ROWS_PER_COLUMN * (points.n_columns + 1):
        # The solution of few rows of many columns is no nearer than zero.
        found = None
    elif engine.may_collect_rows:
        found = _solution_of_subsample(engine, task, options, monitor)
    else:
        found = _mean_of_solutions(engine, task, options, monitor)
    if found is None:
        return _without_sample(engine, task)
    engine.do(_duals_there, writes=("centers",))
    return found


def _stride(points: PartitionedPoints, most: float) -> int:
    """One of so many rows goes into the subsample, which has at most so many."""
    wanted = TRUSTED_ROWS * (points.n_columns + 1)
    return math.ceil(points.n_rows / max(1.0, min(most, max(wanted, points.n_rows / 16))))


def _without_sample(engine: DaskEngine[LinearSVMProblem], task: PartitionedTask) -> Start:
    """Begin at the best multiple of equal duals, or of a regression at the mean of the targets."""
    problem = engine.problem
    if problem.loss.one_sided:
        w, b = _from_class_means(engine, task)
    else:
        w, b = np.zeros(problem.points.n_columns), task.mean_target if problem.has_free_intercept else 0.0
    return Start(w, b, problem.C / _typical_residual(engine, w, b), far=True)


def _from_class_means(engine: DaskEngine[LinearSVMProblem], task: PartitionedTask) -> tuple[np.ndarray, float]:
    """Begin at the best multiple of duals that are equal within a class; b is between the means of the classes."""
    problem = engine.problem
    up, down = balancing_factors(*task.sides) if problem.has_free_intercept else (1.0, 1.0)
    engine.do(_set_equal_duals, up, down, writes=("centers",))
    combined, sums = engine.ask(combination, "centers"), engine.ask(_sums_of_duals)
    w: np.ndarray = combined.value
    linear, quadratic = sums.value
    square = float(w @ w) + float(quadratic)
    multiple = min(1.0, float(linear) / square) if square > 0.0 else 1.0
    w = multiple * w
    engine.do(_scale_centers, multiple, writes=("centers",))
    engine.do(_set_scores, w, 0.0, writes=("scores",))
    above, below = engine.sum(_scores_of_classes) / np.maximum(np.finfo(float).tiny, task.sides)
    return w, -0.5 * float(above + below) if problem.has_free_intercept else 0.0


def _typical_residual(engine: Engine[LinearSVMProblem], w: np.ndarray, b: float) -> float:
    """Compute the scores; return the mean size of the residuals."""
    engine.do(_set_scores, w, b, writes=("scores",))
    total, residuals = engine.sum(_mean_residual)
    return max(1e-12, float(residuals / total))


def _solution_of_subsample(
    engine: DaskEngine[LinearSVMProblem], task: PartitionedTask, options: Options, monitor: Monitor
) -> Start | None:
    """The solution of every k-th row of all blocks, which are collected here; the scores are then those there."""
    problem, points = engine.problem, task.points
    stride = _stride(points, min(LARGEST_SHARE * points.n_rows, LARGEST_SAMPLE / max(1.0, points.entries_per_row)))
    rows, targets, weights = map(list, zip(*engine.map(_every_row, stride), strict=True))
    all_targets, all_weights = np.concatenate(targets), np.concatenate(weights)
    if min(sides_of(problem.loss, all_targets, all_weights)) < FEWEST_PER_CLASS:
        return None
    matrix = sp.csr_array(sp.vstack(rows, format="csr")) if points.is_sparse else _stacked(rows)
    sample = problem_of_rows(problem, matrix, all_targets, all_weights, task.total_weight)
    coarse = replace(options, tol=max(options.tol, GAP_OF_SAMPLE))
    found, width = newton.solve_sample(sample, coarse, monitor.quiet())
    engine.do(_set_scores, found.w, found.intercept, writes=("scores",))
    return Start(found.w, found.intercept, first_sigma(problem, width))


def _mean_of_solutions(
    engine: DaskEngine[LinearSVMProblem], task: PartitionedTask, options: Options, monitor: Monitor
) -> Start | None:
    """The mean of the solutions of every partition's own subsample, in one round: no row leaves its partition.

    Each is weighted by the Hessian matrix around it, so that partitions of different rows count in the directions which
    they determine; without matrices, where columns are many, by the number of its rows.

    Zhang, Duchi, Wainwright, "Communication-efficient algorithms for statistical optimization", 2013.
    """
    problem, size = engine.problem, engine.problem.points.n_columns + 1
    own = replace(options, tol=max(options.tol, GAP_OF_SAMPLE), n_threads=1)
    found = engine.sum(_solution_of_block, task.total_weight, own, monitor.seconds_left)
    if 2.0 * found[0] < task.total_weight:
        return None
    found /= found[0]
    mean = found[2 : 2 + size]
    if found.size > 2 + size:
        mean = solve_positive(found[2 + size :].reshape(size, size), mean)
    w, b = mean[:-1].copy(), float(mean[-1]) if problem.has_intercept else 0.0
    engine.do(_set_scores, w, b, writes=("scores",))
    value = 0.5 * float(w @ w) + problem.C * float(engine.sum(sum_of_losses))
    if not value < (problem.C * task.total_weight if problem.loss.one_sided else math.inf):
        # Not even better than zero: the partitions have nothing in common.
        return None
    return Start(w, b, first_sigma(problem, WIDTH_OF_MEAN * float(found[1])))


def _stacked(parts: list[np.ndarray]) -> np.ndarray:
    """Concatenate dense rows; every part is dropped as soon as it is copied, so that no two copies of all are there."""
    found = np.empty((sum(map(len, parts)), parts[0].shape[1]), dtype=np.result_type(*parts))
    parts.reverse()
    last = 0
    while parts:
        part = parts.pop()
        found[last : last + len(part)] = part
        last += len(part)
    return found


def sides_of(loss: SVMLoss, targets: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """The number of rows of each class that count, or of all in a regression."""
    counted = weights > 0.0
    sides = [counted & (targets > 0.0), counted & (targets < 0.0)] if loss.one_sided else [counted]
    return np.array([np.count_nonzero(side) for side in sides])


def _set_equal_duals(block: Block[LinearSVMProblem], up: float, down: float) -> None:
    loss = block.problem.loss
    block["centers"][:] = block.problem.C * loss.weights * np.where(loss.targets > 0.0, up, -down)


def _sums_of_duals(block: Block[LinearSVMProblem]) -> np.ndarray:
    """The sum of the sizes of the duals, and of their squares times the curvatures."""
    centers = block["centers"]
    return np.array([np.abs(centers).sum(), (block.problem.curvatures() * np.square(centers)).sum()])


def _scale_centers(block: Block[LinearSVMProblem], multiple: float) -> None:
    block["centers"][:] *= multiple


def _scores_of_classes(block: Block[LinearSVMProblem]) -> np.ndarray:
    """The weighted sums of the scores of the positive and of the negative rows."""
    loss, scores = block.problem.loss, block["scores"]
    weighted = loss.weights * scores
    return np.array([weighted.sum(where=loss.targets > 0.0), weighted.sum(where=loss.targets < 0.0)])


def _every_row(block: Block[LinearSVMProblem], stride: int) -> tuple[Matrix, np.ndarray, np.ndarray]:
    loss, points = block.problem.loss, block.problem.points
    every = slice(None, None, stride)
    return points.matrix[every].copy(), loss.targets[every].copy(), loss.weights[every].copy()


def _solution_of_block(
    block: Block[LinearSVMProblem], total_weight: float, options: Options, max_time: float | None
) -> np.ndarray:
    """The weight of a partition, and its products with the width, the coefficients v of some of its rows, or H v, and
    the Hessian matrix H.

    Zeros where the partition has too few rows of a class, or too few for its columns.
    """
    problem, size = block.problem, block.problem.points.n_columns + 1
    by_columns = size <= LARGEST_DIRECT
    found = np.zeros(2 + size + (size * size if by_columns else 0))
    n_rows = block.index.size
    stride = max(1, math.ceil(n_rows / max(TRUSTED_ROWS * size, n_rows / 16)))
    matrix, targets, weights = _every_row(block, stride)
    few = len(targets) < FEWEST_ROWS_PER_COLUMN * size
    if few or min(sides_of(problem.loss, targets, weights)) < FEWEST_PER_CLASS:
        return found
    sample = problem_of_rows(problem, matrix, targets, weights, total_weight)
    best, width = newton.solve_sample(sample, options, Monitor(max_time))
    coefficients = np.append(best.w, best.intercept)
    found[:2], found[2 : 2 + size] = (1.0, width), coefficients
    if by_columns:
        hessian = _hessian(sample, best, WIDER * width)
        found[2 : 2 + size], found[2 + size :] = hessian @ coefficients, hessian.ravel()
    found *= problem.loss.weights.sum()
    return found


def _hessian(problem: LinearSVMProblem, at: Result[float], width: float) -> np.ndarray:
    """The second derivatives of the objective in (w, b), with the edges of its losses smoothed over a width."""
    loss = problem.loss
    residuals = loss.targets - problem.scores(at.w, at.intercept)
    excess = (loss.targets * residuals if loss.one_sided else np.abs(residuals)) - loss.epsilon
    if loss.curvature > 0.0:
        second = np.where(excess > 0.0, loss.weights / loss.curvature, 0.0)
    else:
        second = np.where(np.abs(excess) < width, 0.5 * problem.C / max(1e-12, width) * loss.weights, 0.0)
    used = np.flatnonzero(second).astype(np.uint32)
    lower = np.tril(signed_gram(problem.points, used, second[used], None))
    hessian: np.ndarray = lower + np.tril(lower, -1).T
    hessian[np.diag_indices(len(hessian) - 1)] += 1.0
    # Nothing else holds an intercept without penalty, or one that is not there.
    hessian[-1, -1] += problem.intercept_penalty if 0.0 < problem.intercept_penalty < math.inf else 1.0
    return hessian


def _set_scores(block: Block[LinearSVMProblem], w: np.ndarray, b: float) -> None:
    compute_scores(block.problem.points.rows, block.index, w, b, block["scores"])


def _mean_residual(block: Block[LinearSVMProblem]) -> np.ndarray:
    """The weights, and their product with the sizes of the residuals."""
    weights = block.problem.loss.weights
    return np.array([weights.sum(), weights @ np.abs(block.problem.loss.targets - block["scores"])])


@row_task
def _duals_there(block: Block[LinearSVMProblem]) -> None:
    """The duals at the scores."""
    block["centers"][:] = duals_at(block.problem.part(block.rows), block["scores"])
