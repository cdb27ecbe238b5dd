"""The linear support vector machine on partitions: Newton steps in few rounds, from the solution of a subsample."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, replace
from typing import ClassVar

import numpy as np
import scipy.sparse as sp

from maxmargin.data.blas import one_blas_thread
from maxmargin.data.partitions import PartitionedPoints, PartitionedTask
from maxmargin.data.rows import Matrix
from maxmargin.engine import Answer, Block, Engine, row_task
from maxmargin.engine.dask import DaskEngine
from maxmargin.loops.newton import (
    LINEAR_NEGATIVE,
    LINEAR_POSITIVE,
    LOSS,
    QUADRATIC_NEGATIVE,
    QUADRATIC_POSITIVE,
    DualSums,
)
from maxmargin.loops.products import compute_scores
from maxmargin.problems.linear_svm import LinearSVMProblem, SVMLoss, balancing_factors
from maxmargin.problems.partitioned import PartitionedProblem
from maxmargin.solvers.core import Monitor, Options, Result, Status, solver
from maxmargin.solvers.core.hessian import LARGEST_DIRECT, combination, signed_gram, solve_positive
from maxmargin.solvers.core.subsample import FEWEST_ROWS_PER_COLUMN
from maxmargin.solvers.linear import newton
from maxmargin.solvers.linear.initial_point import StartingPoint
from maxmargin.solvers.linear.line_search import ENOUGH_AHEAD, LENGTHS, root_along, root_in_rounds
from maxmargin.solvers.linear.newton import (
    NEAR,
    NewtonRun,
    ProximalProblem,
    evaluate_block,
    largest_change,
    sum_of_duals,
    sum_of_losses,
)
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
# Far from the solution, where products with the Hessian cost rounds: the factor on the first proximal step size. The
# systems are then well-conditioned as long as much is left to do.
FIRST_SHARE_IN_ROUNDS = 0.1
# Where every product with the Hessian costs a round: the factor on sigma after an outer step all of whose systems were
# solved; it stays where they are too ill-conditioned for that. Larger ones took more rounds, as measured.
GROWTH_IN_ROUNDS = 1.5
# What a checkpoint holds of the incumbent: its duals are a vector of the engine.
OF_INCUMBENT = tuple(f"best.{one.name}" for one in fields(Result) if one.name != "beta")


@dataclass(frozen=True)
class Start:
    """Coefficients, and the first proximal step size; ``far`` from the solution where no subsample was solved."""

    w: np.ndarray
    b: float
    sigma: float
    far: bool = False


class PartitionedRun(NewtonRun):
    """A run whose vectors over the rows, and with them the incumbent's duals, belong to the engine."""

    checkpointed: ClassVar[tuple[str, ...]] = (
        *(name for name in NewtonRun.checkpointed if name != "best"),
        *("engine.best_duals", "best_duals_w", "best_duals_linear", "system.sends_rows", "system.systems.basis"),
        *OF_INCUMBENT,
    )
    outcome: ClassVar[tuple[str, ...]] = ("sigma", "engine.best_duals", *OF_INCUMBENT)

    engine: DaskEngine[LinearSVMProblem]
    _has_changes = False

    def __init__(
        self,
        engine: Engine[LinearSVMProblem],
        options: Options,
        monitor: Monitor,
        first: StartingPoint,
        best: Result[float],
    ) -> None:
        super().__init__(engine, options, monitor, first, best)
        # Of the incumbent's duals: their w, with the intercept's entry, and their linear term.
        self.best_duals_w, self.best_duals_linear = np.zeros(self.w.size + 1), 0.0

    def _allocate(self) -> None:
        # Numbers a row are dear: of the start only the size of the change is asked for, and the changes along a step of
        # all rows are there while such steps are made, as a subset is while steps are made on it.
        self.engine.allocate("start", dtype=np.float32)
        self.engine.allocate("duals", "best_duals")
        self.engine.allocate("free", "working_set", dtype=bool)

    def _take_all_rows(self) -> None:
        super()._take_all_rows()
        self.engine.allocate("changes")
        self._has_changes = True

    def _proximal_step(self, *, stalled: bool = False) -> tuple[int | None, Status | None]:
        self._has_changes = False
        found = super()._proximal_step(stalled=stalled)
        if self._has_changes:
            self.engine.drop("changes")
        elif found[1] is None:
            self.engine.drop_subset("working_set")
        return found

    @property
    def counts_rounds(self) -> bool:
        """Whether products with the Hessian, or all answers, cost rounds, so that these count and not the work."""
        return self.system.takes_rounds or self.system.is_far

    def growth(self, inner: int) -> float:
        """Sigma stays where products cost rounds, and systems are too ill-conditioned to be solved in few of them."""
        if self.system.takes_rounds:
            return GROWTH_IN_ROUNDS if self.system.all_solved or self.stall.idle else 1.0
        return super().growth(inner)

    def proximal_problem(self, engine: Engine[LinearSVMProblem]) -> "ProximalProblemInRounds":
        """The problem of an outer step over the duals of an engine's rows."""
        return ProximalProblemInRounds(self, engine)

    def takes_working_set(self, n_rows: int) -> bool:
        """A working set saves work, but no rounds."""
        return not self.counts_rounds and super().takes_working_set(n_rows)

    def ask_final_scores(self, *, all_moved: bool) -> Answer[list[float]]:
        """Where the steps have moved all scores, to compute them anew would cost a pass over the rows."""
        return self.engine.ask_all(largest_change) if all_moved else super().ask_final_scores(all_moved=all_moved)

    def share_of_new_duals(
        self, value: float, multiple: float, w: np.ndarray, linear: float, sums: DualSums
    ) -> tuple[float, float]:
        """The best convex combination of the dual incumbent and the new duals.

        Both lie in the box, and so does every combination; without quadratic terms its value is known without the rows.
        """
        if self.problem.loss.curvature > 0.0:
            return super().share_of_new_duals(value, multiple, w, linear, sums)
        of_intercept = sum_of_duals(sums) / math.sqrt(self.rho) if self.rho > 0.0 else 0.0
        best_w, best_linear = self.best_duals_w, self.best_duals_linear
        change, more = multiple * np.append(w, of_intercept) - best_w, multiple * linear - best_linear
        square = float(change @ change)
        slope = more - float(best_w @ change)
        share = min(1.0, max(0.0, slope / square)) if square > 0.0 else 0.0
        best_w, best_linear = best_w + share * change, best_linear + share * more
        value = best_linear - 0.5 * float(best_w @ best_w)
        if value > self.best.dual:
            self.best_duals_w, self.best_duals_linear = best_w, best_linear
        return share, value

    def proximal_gap(self, sums: DualSums) -> float:
        """The part of the gap of (w, b) and the proximal duals p that an outer step leaves, however exact it is.

        The gap is the sum of the rows' own gaps, loss + conjugate - p f(x), and of 1/2||w - X^T p||², which the Newton
        steps reduce: beyond the other part that is of no use.
        """
        totals, w = sums.totals, sums.positive + sums.negative
        losses = self.problem.C * float(totals[LOSS])
        dual_terms = float(totals[LINEAR_POSITIVE] + totals[LINEAR_NEGATIVE])
        quadratic = 0.5 * float(totals[QUADRATIC_POSITIVE] + totals[QUADRATIC_NEGATIVE])
        return losses + quadratic - dual_terms + float(self.w @ w) + self.b * sum_of_duals(sums)


class ProximalProblemInRounds(ProximalProblem):
    """The problem of an outer step where answers cost rounds: what the next step needs is asked for early."""

    run: PartitionedRun

    def __init__(self, run: PartitionedRun, engine: Engine[LinearSVMProblem]) -> None:
        super().__init__(run, engine)
        # The sums at the end of the full step, which come with the line search where rows are read from a disk: if the
        # step is taken as it is, that saves a pass.
        self.ahead: Answer[np.ndarray] | None = None

    def ask_sums(self) -> Answer[np.ndarray]:
        """The sums at the end of the full step may be known."""
        ahead, self.ahead = self.ahead, None
        if ahead is None or self.length != 1.0:
            return super().ask_sums()
        self.engine.do(_move_scores, writes=("scores",))
        return ahead

    def ask_about_active_set(self, *, afresh: bool) -> None:
        """Ask for the system's matrix, or images, or the free rows themselves, too."""
        super().ask_about_active_set(afresh=afresh)
        self.images = self.run.system.ask_images(self.engine)
        self.run.system.ask_rows(self.engine)
        may_be_narrowed = self.is_whole and self.is_new and math.isfinite(self.run.radius)
        if self.engine.asks_ahead or not may_be_narrowed:
            self.run.system.ask_gram(self.engine, afresh=afresh)

    def is_small(self, length: float, sums: DualSums) -> bool:
        """Where rounds count, steps end as soon as more of them would hardly reduce the gap."""
        if self.run.counts_rounds:
            return 0.5 * length * length <= self.run.proximal_gap(sums)
        return super().is_small(length, sums)

    def find_root(
        self,
        derivatives: Callable[[Sequence[float]], np.ndarray],
        derivative_at_zero: float,
        derivative_at_one: Callable[[], float],
    ) -> float:
        """Evaluate many lengths in a round; or, where rows are read but vectors are near, the end of the step."""
        if not self.engine.vectors_are_near:
            first = derivatives(LENGTHS) if self.engine.asks_ahead else None
            return root_in_rounds(derivatives, first, derivative_at_zero, derivative_at_one())
        self.ahead = self.engine.ask(_evaluate_ahead, self.sigma, writes=("duals", "free"))
        self.ask_about_active_set(afresh=False)
        return root_along(lambda t: float(derivatives((t,))[0]), derivative_at_zero, derivative_at_one(), ENOUGH_AHEAD)


@solver({"a linear support vector machine": lambda problem, _: isinstance(problem.problem, LinearSVMProblem)})
def solve(
    problem: PartitionedProblem, options: Options, monitor: Monitor, start: Result[float] | None = None
) -> Result[float]:
    """Run until the relative gap is at most ``tol``; the duals of the result are a handle of vectors on the partitions.

    ``start`` is the result of a run that this one continues.
    """
    svm, task = problem.problem, problem.task
    assert isinstance(svm, LinearSVMProblem)
    engine = DaskEngine(svm, task.local)
    engine.allocate("scores", "centers")
    with np.errstate(over="ignore", invalid="ignore"), one_blas_thread():
        first = _from_subsample(engine, task, options, monitor) if start is None else _continue(engine, start)
        run = PartitionedRun(engine, options, monitor, first, start or Result(first.w, first.b, np.empty(0)))
        if first.far and run.system.takes_rounds:
            run.sigma *= FIRST_SHARE_IN_ROUNDS
        best = run.best
        best.status = run.run()
        best.beta = engine["best_duals"].alone()  # type: ignore[assignment]
        if not math.isfinite(best.primal):
            best.w, best.intercept = np.zeros_like(best.w), 0.0
    best.intercept = problem.points.centring.intercept_there(best.w, best.intercept)
    return best


def _continue(engine: DaskEngine[LinearSVMProblem], start: Result[float]) -> Start:
    """Begin where another run has ended; its duals lie in partitions like the rows."""
    engine.set_chunks("centers", start.beta.chunks())  # type: ignore[attr-defined]
    points: object = engine.problem.points
    assert isinstance(points, PartitionedPoints)
    b = start.intercept = points.centring.intercept_here(start.w, start.intercept)
    return Start(start.w, b, NEAR * engine.problem.C / _typical_residual(engine, start.w, b))


def _from_subsample(
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


# Tasks on a partition.


def _evaluate_ahead(block: Block[LinearSVMProblem], sigma: float) -> np.ndarray:
    """Evaluate the end of the full step; the scores stay as they are."""
    at_end = Block(block.problem, block.index, {**block.vectors, "scores": block["scores"].copy()})
    return evaluate_block(at_end, sigma, 1.0)


@row_task
def _move_scores(block: Block[LinearSVMProblem]) -> None:
    """Move the scores by a full step."""
    block["scores"][:] += block["changes"]


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
