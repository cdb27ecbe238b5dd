"""Logistic regression, ridge regression and least squares on partitions, in few rounds.

Both regressions minimise 1/2||w||² + factor sum_i m_i loss_i(w·x_i + b) with a smooth loss. A Newton step takes one
round for the gradient, one for the matrix (or one a conjugate gradient step, where there are too many columns for a
matrix) and one for a line search, which evaluates many lengths at once. Least squares without a penalty is solved by
the QR decomposition of every partition: the factors R are merged over the tree of a sum.

Demmel, Grigori, Hoemmen, Langou, "Communication-optimal parallel and sequential QR and LU factorizations", 2012.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import ClassVar, Generic, NamedTuple, TypeVar

import numpy as np
import scipy.linalg as sl

from maxmargin.data import Points, as_dense, column_offsets
from maxmargin.data.blas import one_blas_thread
from maxmargin.data.points import HasPoints
from maxmargin.engine import Block, Engine
from maxmargin.engine.dask import DaskEngine
from maxmargin.loops.logistic import derivatives_along, evaluate_losses
from maxmargin.loops.logistic_run import COARSE_FORCING, FINE_FORCING, LOGISTIC_STALL_RULE
from maxmargin.problems.logistic import LogisticProblem
from maxmargin.problems.partitioned import ErrorSums, PartitionedProblem, column_sums
from maxmargin.problems.squared_errors import RidgeProblem, SquaredErrors
from maxmargin.solvers.core import Monitor, Options, Result, StallTest, Status, solver, stage
from maxmargin.solvers.core.hessian import GATHERED_ENTRIES, LARGEST_DIRECT, HessianOperator, combination, fill_scores
from maxmargin.solvers.linear.line_search import LENGTHS, root_in_rounds
from maxmargin.solvers.regression.least_squares import least_squares
from maxmargin.solvers.regression.logistic import LogisticResult
from maxmargin.solvers.regression.posterior import PosteriorResult, posterior_of

# The share of the residual that the one step of a quadratic objective leaves at least.
FINEST_FORCING = 1e-8
# Rows for every column that are decomposed at a time at least.
ROWS_PER_COLUMN = 8


ResultT = TypeVar("ResultT", bound=Result[float])


class SmoothLoss(NamedTuple):
    """The losses of a run, as tasks on a partition.

    Attributes
    ----------
    evaluate : callable
        Fills in the negative derivatives and the curvatures at the scores; returns the sums of loss, derivatives and
        curvatures.
    along : callable
        The sums of the negative derivatives along the changes, at many lengths.
    is_quadratic : bool
        Whether one exact Newton step is the solution.
    """

    evaluate: Callable[[Block[HasPoints]], np.ndarray]
    along: Callable[[Block[HasPoints], Sequence[float]], np.ndarray]
    is_quadratic: bool


@solver({"logistic regression with a finite C": lambda problem, _: problem.problem.is_penalised})
def solve_logistic(
    problem: PartitionedProblem,
    options: Options,
    monitor: Monitor,
    start: None = None,  # noqa: ARG001
) -> LogisticResult:
    """Run until the relative gap is at most ``tol``."""
    logistic = problem.problem
    assert isinstance(logistic, LogisticProblem)
    engine = DaskEngine(logistic, problem.task.local)
    best = LogisticResult(np.zeros(logistic.points.n_columns), 0.0, np.empty(0))
    run = SmoothRun(engine, LOGISTIC, logistic.loss_factor, logistic.fit_intercept, best, 1.0, options, monitor)
    return _of_data(problem, run.result())


@solver({"ridge regression": lambda problem, _: isinstance(problem.problem, RidgeProblem)})
def solve_ridge(
    problem: PartitionedProblem,
    options: Options,
    monitor: Monitor,
    start: None = None,  # noqa: ARG001
) -> Result[float]:
    """Run until the relative gap is at most ``tol``; least squares without a penalty is solved directly."""
    ridge = problem.problem
    assert isinstance(ridge, RidgeProblem)
    errors, lam = ridge.errors, ridge.lam
    engine = DaskEngine(errors, problem.task.local)
    if lam == 0.0:
        with one_blas_thread():
            return _of_data(problem, _least_squares(engine))
    best: Result[float] = Result(np.zeros(errors.points.n_columns), 0.0, np.empty(0))
    # The objective, divided by 2 lambda, is 1/2||w||² + 1/lambda sum m_i r_i²/2.
    run = SmoothRun(engine, SQUARES, 1.0 / lam, errors.has_intercept, best, 2.0 * lam, options, monitor)
    return _of_data(problem, run.result())


def _of_data(problem: PartitionedProblem, result: ResultT) -> ResultT:
    """The result with the intercept for the data, where the rows of the partitions are centred."""
    result.intercept = problem.points.centring.intercept_there(result.w, result.intercept)
    return result


@solver({"squared errors": lambda problem, _: isinstance(problem.problem, SquaredErrors)})
def solve_posterior(
    problem: PartitionedProblem,
    options: Options,  # noqa: ARG001
    monitor: Monitor,  # noqa: ARG001
    start: None = None,  # noqa: ARG001
) -> PosteriorResult:
    """The posterior of least squares, from the QR decomposition of all partitions."""
    errors = problem.problem
    assert isinstance(errors, SquaredErrors)
    engine = DaskEngine(errors, problem.task.local)
    with one_blas_thread():
        known, rows, targets = _reduced_rows(engine)
        result = posterior_of(known, rows, targets, known.points.n_rows, known.squares_of_targets)
    result.column_means = result.column_means + problem.points.centring.centre
    posterior: PosteriorResult = _of_data(problem, result)
    return posterior


class SmoothRun(Generic[ResultT]):
    """An iterate (w, b) of Newton's method; the engine has its scores, derivatives and curvatures.

    With the intercept that is best for w the negative derivatives are a dual point, and the gap is half the squared
    norm of the gradient. Gradients are those of w·(x - offset) + b: else the rest of the derivative in the intercept
    would be multiplied by the means of columns far from zero.

    Parameters
    ----------
    engine : Engine
    loss : SmoothLoss
    factor : float
        The factor on the losses beside 1/2||w||².
    has_intercept : bool
    best : Result
        The initial point, and the incumbent later.
    scale : float
        The objective of the result, divided by that of the run.
    options : Options
    monitor : Monitor
    """

    checkpointed: ClassVar[tuple[str, ...]] = ("w", "b", "length", "engine.scores", "engine.changes", "stall", "best")
    outcome: ClassVar[tuple[str, ...]] = ("best",)

    def __init__(
        self,
        engine: Engine[HasPoints],
        loss: SmoothLoss,
        factor: float,
        has_intercept: bool,
        best: ResultT,
        scale: float,
        options: Options,
        monitor: Monitor,
    ) -> None:
        # The certificate counts all rounding errors: half of the gap is required.
        self.options, self.monitor = replace(options, tol=0.5 * options.tol), monitor
        self.stall = StallTest(**LOGISTIC_STALL_RULE._asdict())
        self.engine, self.loss, self.factor, self.has_intercept = engine, loss, factor, has_intercept
        self.best, self.scale = best, scale
        self.w, self.b = best.w.copy(), best.intercept
        engine.allocate("scores", "changes", "derivatives", "curvatures")
        self.offset: np.ndarray | None = None
        if has_intercept:
            sums = engine.sum(column_sums)
            means, squares = np.split(sums[3:] / sums[0], 2)
            self.offset = column_offsets(means, squares)
            if loss.is_quadratic:
                # The best intercept of w = 0.
                self.b = float(sums[1] / sums[0])
        self.engine.do(fill_scores, self.w, self.b, "scores", writes=("scores",))
        self.length = 0.0

    def result(self) -> ResultT:
        """Run, and return the incumbent."""
        with np.errstate(over="ignore", invalid="ignore"), one_blas_thread():
            self.best.status = self.run()
        return self.best

    @stage
    def run(self) -> Status:
        """Make steps until there is a reason to stop."""
        while True:
            self.monitor.checkpoint(self)
            self.evaluate()
            stalled = self.stall.update(self.best, self.best.n_iter)
            status = self.monitor.check_termination(self.best, self.options, "step", stalled=stalled)
            if status is not None:
                return status
            self.line_search(*self.newton_step())
            self.best.n_iter += 1

    def evaluate(self) -> None:
        """Move the scores; compute objective, gradient and gap of the iterate, in one round."""
        if self.length:
            self.engine.do(_move_scores, self.length, writes=("scores",))
        sums = self.engine.ask(self.loss.evaluate, writes=("derivatives", "curvatures"))
        combined: np.ndarray = self.engine.sum(combination, "derivatives")
        loss, total, curvature = map(float, sums.value)
        if self.offset is not None:
            combined = combined - total * self.offset
        self.gradient = self.w - self.factor * combined
        self.gradient_b = -self.factor * total if self.has_intercept else 0.0
        primal = 0.5 * float(self.w @ self.w) + self.factor * loss
        gap = 0.5 * float(self.gradient @ self.gradient)
        if self.has_intercept and curvature > 0.0:
            gap += self.gradient_b**2 / (self.factor * curvature)
        primal, dual = self.scale * primal, self.scale * max(0.0, primal - gap)
        best = self.best
        if not primal - dual > best.primal - best.dual or primal < best.primal - (best.primal - best.dual):
            best.primal, best.dual, best.w, best.intercept = primal, dual, self.w.copy(), self.b

    def newton_step(self) -> tuple[np.ndarray, float]:
        """Solve the system of a step, by a matrix or by conjugate gradients."""
        hessian = HessianOperator(
            self.engine,
            "curvatures",
            self.factor,
            True,
            self.has_intercept,
            offset=self.offset,
            stopped=self.monitor.must_stop,
        )
        if self.w.size < LARGEST_DIRECT:
            step, step_b = hessian.solve_schur_direct(self.gradient, self.gradient_b)
        else:
            step, step_b = hessian.solve_schur_iteratively(self.gradient, self.gradient_b, self.forcing())
        return step, step_b if self.offset is None else step_b - float(self.offset @ step)

    def forcing(self) -> float:
        """The share of the residual at which this step can be the last one."""
        wanted = math.sqrt(2.0 * self.options.tol * max(0.0, self.best.primal) / self.scale)
        share = 0.3 * wanted / max(float(np.linalg.norm(self.gradient)), 1e-300)
        return min(COARSE_FORCING, max(FINEST_FORCING if self.loss.is_quadratic else FINE_FORCING, share))

    def line_search(self, step: np.ndarray, step_b: float) -> None:
        """Move (w, b) to about the minimum along the step, in one round or few."""
        at_offset = 0.0 if self.offset is None else float(self.offset @ step)
        at_zero = float(self.gradient @ step) + self.gradient_b * (step_b + at_offset)
        linear, quadratic = float(self.w @ step), float(step @ step)

        def derivatives(lengths: Sequence[float]) -> np.ndarray:
            return linear + np.array(lengths) * quadratic - self.factor * self.engine.sum(self.loss.along, lengths)

        self.engine.do(fill_scores, step, step_b, "changes", writes=("changes",))
        # Where rounds cost little beside the losses of many rows, a full step is tried first.
        ahead = self.engine.asks_ahead and not self.engine.vectors_are_near
        at_one, *others = derivatives((1.0, *LENGTHS) if ahead else (1.0,))
        self.length = root_in_rounds(derivatives, np.array(others) if ahead else None, at_zero, float(at_one))
        self.w = self.w + self.length * step
        self.b += self.length * step_b


# Tasks on a partition.


def _move_scores(block: Block[HasPoints], length: float) -> None:
    block["scores"][:] += length * block["changes"]


def _evaluate_logistic(block: Block[HasPoints]) -> np.ndarray:
    derivatives, curvatures = block["derivatives"], block["curvatures"]
    signs, weights = block["targets"], block["row_weights"]
    loss, _ = evaluate_losses(signs, weights, block["scores"], 0.0, derivatives, curvatures)
    return np.array([loss, derivatives.sum(), curvatures.sum()])


def _logistic_along(block: Block[HasPoints], lengths: Sequence[float]) -> np.ndarray:
    rows = block["targets"], block["row_weights"], block["scores"], 0.0, block["changes"]
    return np.array([derivatives_along(*rows, t)[0] for t in lengths])


def _evaluate_squares(block: Block[HasPoints]) -> np.ndarray:
    derivatives, weights = block["derivatives"], block["row_weights"]
    residuals = block["targets"] - block["scores"]
    np.multiply(weights, residuals, out=derivatives)
    block["curvatures"][:] = weights
    return np.array([0.5 * float(derivatives @ residuals), derivatives.sum(), weights.sum()])


def _squares_along(block: Block[HasPoints], lengths: Sequence[float]) -> np.ndarray:
    weighted = block["row_weights"] * block["changes"]
    at_zero, change = weighted @ (block["targets"] - block["scores"]), weighted @ block["changes"]
    found: np.ndarray = at_zero - np.array(lengths) * change
    return found


LOGISTIC = SmoothLoss(_evaluate_logistic, _logistic_along, is_quadratic=False)
SQUARES = SmoothLoss(_evaluate_squares, _squares_along, is_quadratic=True)


# Least squares.


class Triangle:
    """The factor R of the QR decomposition of some rows; a sum is that of the rows of both."""

    def __init__(self, rows: np.ndarray) -> None:
        factor = sl.qr(rows, mode="r", overwrite_a=True, check_finite=False)[0]
        self.factor = factor[: rows.shape[1]].copy()

    def __add__(self, other: "Triangle") -> "Triangle":
        return Triangle(np.vstack([self.factor, other.factor]))

    @property
    def nbytes(self) -> int:
        """The bytes of the factor."""
        return int(self.factor.nbytes)


def _triangle(block: Block[SquaredErrors], means: np.ndarray, target_mean: float) -> Triangle:
    """Decompose the rows (1, x_i - means, y_i - mean), times the roots of the weights; without intercept, without 1."""
    matrix, n_ones = block.problem.points.matrix, int(block.problem.has_intercept)
    n_rows, size = matrix.shape[0], matrix.shape[1] + n_ones + 1
    found = Triangle(np.zeros((1, size)))
    # Pieces much longer than R: every one of them is merged with it.
    step = max(ROWS_PER_COLUMN * size, GATHERED_ENTRIES // size)
    for first in range(0, n_rows, step):
        part = slice(first, min(first + step, n_rows))
        rows = np.ones((part.stop - first, size))
        rows[:, n_ones:-1] = as_dense(matrix[part])
        rows[:, n_ones:-1] -= means
        rows[:, -1] = block["targets"][part] - target_mean
        rows *= np.sqrt(block["row_weights"][part])[:, None]
        found = found + Triangle(rows)
    return found


def _reduced_rows(engine: DaskEngine[SquaredErrors]) -> tuple[ErrorSums, np.ndarray, np.ndarray]:
    """What is known of the columns, and few rows and targets with the same squared errors, up to a constant."""
    errors = engine.problem
    if errors.points.n_columns >= LARGEST_DIRECT:
        raise ValueError(
            f"X has {errors.points.n_columns} columns: least squares without a penalty takes fewer than "
            f"{LARGEST_DIRECT} of a Dask collection. Use Ridge with alpha above zero, or compute the collections first."
        )
    known = ErrorSums(errors.points, errors.has_intercept, engine.sum(column_sums))
    triangle = engine.sum(_triangle, known.column_means, known.target_mean).factor
    # The first row alone has a one: with the intercept that is best for w its error is zero.
    first = int(errors.has_intercept)
    return known, triangle[first:, first:-1].copy(), triangle[first:, -1].copy()


def _least_squares(engine: DaskEngine[SquaredErrors]) -> Result[float]:
    """The shortest minimiser without a penalty."""
    known, rows, targets = _reduced_rows(engine)
    w = least_squares(SquaredErrors(Points(rows), targets, None, False), bool)
    assert w is not None
    return Result(w, known.best_intercept(w), np.empty(0), n_iter=1, status=Status.SOLVED)
