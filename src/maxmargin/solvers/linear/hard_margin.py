"""Hard margin, separability and nearest points of two convex hulls, by the Newton method of the soft margin at C = inf.

The primal and the dual value bracket the margin: a hyperplane of margin m has the value 1/(2 m²) when it is scaled to
y f >= 1, and duals whose hull points are 2 u apart have the value 1/(2 u²) at their best scale. So

    1/(2 upper²) = dual  <=  1/(2 gamma_opt²)  <=  primal = 1/(2 lower²).

Where the classes are not separable, the duals grow without bound, and their hull points meet.
"""

import math
from dataclasses import replace
from typing import ClassVar

import numpy as np
from scipy.linalg import qr

from maxmargin.data import Dataset, Points, as_dense, centred_and_scaled
from maxmargin.data.blas import one_blas_thread
from maxmargin.engine import Threads
from maxmargin.problems.hard_margin import HardMarginProblem
from maxmargin.solvers.core import Monitor, Options, Result, Status, solver, stage
from maxmargin.solvers.linear.initial_point import InitialPoint
from maxmargin.solvers.linear.newton import NewtonRun, engine_at

# Tiny margins make the Newton system nearly singular; where the support vectors have no more entries than this, the
# equations y f = 1 are solved by least squares.
ENTRIES_TO_POLISH = 1 << 22
# Many rows per column are solved on a growing working set: it begins with so many rows per column, and pays where there
# are this many times as many.
FIRST_ROWS_PER_COLUMN = 20
PARTS_TO_PAY = 4
# The gap to which working sets are solved, first and at last, and by how much a row must violate y f >= 1 to join.
ROUGH_GAP = 0.2
FINEST_GAP = 1e-9
VIOLATION = 1e-6
# With at most so many rows, and more columns, rows are written in an orthonormal basis of their span.
FEW_ROWS = 512
# Hulls whose nearest points are no farther apart than this, relative to R, count as meeting.
MEETING = 1e-12


@solver()
def solve(
    problem: HardMarginProblem, options: Options, monitor: Monitor, start: Result[float] | None = None
) -> Result[float]:
    """Run until the gap is at most ``tol`` (see ``options.gap_of_width``), or the hulls meet (NOT_SEPARABLE).

    With ``tol`` = 1 it ends with the first separating hyperplane. ``start`` holds signed duals to begin with.
    """
    placed = centred_and_scaled(problem.dataset.points, may_move=problem.fit_intercept)
    square = placed.scale * placed.scale
    points, basis = _in_few_columns(placed.points)
    own = HardMarginProblem(replace(problem.dataset, points=points), problem.fit_intercept)
    best = _empty_point(own)
    if start is not None:
        best.n_iter = start.n_iter
        best.history = [(seconds, primal / square, dual / square) for seconds, primal, dual in start.history]
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"), one_blas_thread():
        beta = None if start is None else start.beta / square
        if start is None and WorkingSetRun.pays(own):
            parts = WorkingSetRun(own, options, monitor, best)
            best.status, beta = parts.run(), parts.beta
        if best.status is Status.RUNNING:
            _solve_whole(own, options, monitor, best, beta)
        # f(x) = w·(scale (x - centre)) + b
        best.w = placed.scale * (best.w if basis is None else basis @ best.w)
        best.intercept -= float(best.w @ placed.centre)
        best.beta = square * best.beta
        best.primal, best.dual = square * best.primal, square * best.dual
        best.history = [(seconds, square * primal, square * dual) for seconds, primal, dual in best.history]
    return best


def _in_few_columns(points: Points) -> tuple[Points, np.ndarray | None]:
    """Few rows of many columns in an orthonormal basis of their span, in which w lies."""
    if not points.n_rows <= min(FEW_ROWS, points.n_columns // 2):
        return points, None
    matrix = points.matrix
    dense = as_dense(matrix).astype(np.float64)
    basis, triangle = qr(dense.T, mode="economic", check_finite=False)
    return Points(np.ascontiguousarray(triangle.T)), basis


def _empty_point(problem: HardMarginProblem) -> Result[float]:
    points = problem.dataset.points
    infeasibility_bound = 0.5 / (MEETING * (points.largest_norm or 1.0)) ** 2
    return Result(
        np.zeros(points.n_columns), 0.0, np.zeros(points.n_rows), dual=0.0, infeasibility_bound=infeasibility_bound
    )


def _solve_whole(
    problem: HardMarginProblem, options: Options, monitor: Monitor, best: Result[float], start: np.ndarray | None
) -> None:
    points = problem.dataset.points
    first = _initial_point(problem, start, 1.0 / (points.largest_norm or 1.0) ** 2)
    with Threads(options.n_threads) as threads:
        run = HardMarginRun(problem, options, monitor, first, best, threads)
        best.status = run.run()
        if best.status is Status.STALLED:
            run.polish()
    if np.isinf(best.primal):
        best.w, best.intercept = run.w, problem.best_margin(run.engine.vector("scores") - run.b)[1]


class WorkingSetRun:
    """Solve on a working set of rows, add the rows that violate y f >= 1, and so on.

    Hulls of some rows that meet are proof enough, and hull points of some rows bound the margin of all.

    Attributes
    ----------
    beta : ndarray of shape (n,) or None
        The duals of the last working set.
    """

    checkpointed = ("best", "in_part", "beta", "tol")
    outcome = ("best", "beta")

    def __init__(self, problem: HardMarginProblem, options: Options, monitor: Monitor, best: Result[float]) -> None:
        self.problem, self.options, self.monitor, self.best = problem, options, monitor, best
        points, signs = problem.dataset.points, problem.dataset.signs
        counted = np.flatnonzero(problem.counted)
        self.most_rows = counted.size / 2
        self.in_part = np.zeros(points.n_rows, dtype=bool)
        for side in (1.0, -1.0):
            own = counted[signs[counted] == side]
            self.in_part[own[:: max(1, own.size * 2 // self.first_size(problem))]] = True
        self.beta: np.ndarray | None = None
        # The gap to which the next working set is solved.
        self.tol = min(options.tol, ROUGH_GAP)

    @staticmethod
    def first_size(problem: HardMarginProblem) -> int:
        """Rows of the first working set."""
        number: int = FIRST_ROWS_PER_COLUMN * (problem.dataset.points.n_columns + 1)
        return number

    @classmethod
    def pays(cls, problem: HardMarginProblem) -> bool:
        """Whether there are many more rows than in the first working set."""
        return int(np.count_nonzero(problem.counted)) >= PARTS_TO_PAY * cls.first_size(problem)

    @stage
    def run(self) -> Status:
        """Solve working sets until the goal or a limit is reached; RUNNING where they become too large to pay."""
        problem, options, best = self.problem, self.options, self.best
        points, signs = problem.dataset.points, problem.dataset.signs
        while np.count_nonzero(self.in_part) <= self.most_rows:
            self.monitor.checkpoint(self)
            rows = np.flatnonzero(self.in_part)
            part = HardMarginProblem(Dataset(Points(points.matrix[rows]), signs[rows]), problem.fit_intercept)
            found = _empty_point(part)
            found.infeasibility_bound, found.n_iter = best.infeasibility_bound, best.n_iter
            start = None if self.beta is None else self.beta[rows]
            _solve_whole(part, replace(options, tol=self.tol), self.monitor.quiet(), found, start)
            self.beta = np.zeros(points.n_rows)
            self.beta[rows] = found.beta
            best.n_iter = found.n_iter
            if found.dual > best.dual:
                best.dual, best.beta = found.dual, self.beta
            scores = points.scores(found.w)
            margin, b = problem.best_margin(scores)
            if margin > rounding_of_scores(points, found.w, b):
                best.update_incumbent(value_of(found.w, margin), found.w / margin, b / margin)
            elif math.isinf(best.primal):
                best.w, best.intercept = found.w, b
            reached = self.monitor.check_termination(best, options, "working set")
            if reached is not None:
                return reached
            if found.status not in (Status.SOLVED, Status.STALLED):
                return found.status
            outside = signs * (scores + found.intercept) < 1.0 - VIOLATION
            outside &= ~self.in_part & (problem.counted > 0.0)
            if not outside.any():
                if self.tol <= FINEST_GAP:
                    break
                # No row violates the solution of the working set: it only has to become more exact.
                self.tol = max(FINEST_GAP, min(options.tol, 0.1 * self.tol))
            missing = np.flatnonzero(outside)
            if missing.size > 2 * rows.size:
                worst = np.argsort(signs[missing] * scores[missing], kind="stable")
                missing = missing[worst[: 2 * rows.size]]
            self.in_part[missing] = True
        return Status.RUNNING


def _initial_point(problem: HardMarginProblem, start: np.ndarray | None, sigma: float) -> InitialPoint:
    points = problem.dataset.points
    if start is None or not start.any():
        return InitialPoint(np.zeros(points.n_rows), np.zeros(points.n_columns), 0.0, np.zeros(points.n_rows), sigma)
    beta = problem.soft.feasible(start)
    w = points.combination(beta)
    scores = points.scores(w)
    b = problem.best_margin(scores)[1]
    return InitialPoint(beta, w, b, scores + b, max(sigma, float(np.abs(beta).max())))


class HardMarginRun(NewtonRun):
    """Newton steps at C = inf. The primal value is that of the margin at the best intercept."""

    outcome: ClassVar[tuple[str, ...]] = ("best", "w", "b", "engine.scores")

    def __init__(
        self,
        problem: HardMarginProblem,
        options: Options,
        monitor: Monitor,
        first: InitialPoint,
        best: Result[float],
        threads: Threads,
    ) -> None:
        super().__init__(engine_at(problem.soft, first, threads), options, monitor, first, best)
        self.hard = problem

    def update_primal_incumbent(self, total_loss: float = 0.0) -> None:  # noqa: ARG002
        """Offer (w, b), scaled so that the nearest points have y f = 1."""
        margin, b = self.hard.best_margin(self.engine.vector("scores") - self.b)
        if margin > rounding_of_scores(self.problem.points, self.w, b):
            self.best.update_incumbent(value_of(self.w, margin), self.w / margin, b / margin)

    def growth(self, inner: int) -> float:
        """Duals without an upper bound do not oscillate between bounds: few Newton steps allow a larger sigma."""
        return 16.0 if inner <= 3 else 6.0

    def polish(self) -> None:
        """Solve y f = 1 on the support vectors by least squares."""
        points, signs = self.problem.points, self.problem.loss.targets
        rows = np.flatnonzero(self.best.beta)
        if not 0 < rows.size * points.n_columns <= ENTRIES_TO_POLISH:
            return
        matrix = points.matrix[rows]
        matrix = as_dense(matrix).astype(np.float64)
        if self.hard.fit_intercept:
            matrix = np.column_stack([matrix, np.ones(rows.size)])
        result = np.linalg.lstsq(matrix, signs[rows], rcond=None)[0]
        self.w, self.b = result[: points.n_columns].copy(), 0.0
        self.engine.vector("scores")[:] = points.scores(self.w)
        self.update_primal_incumbent()
        self.best.status = self.monitor.status_at_end(self.best, self.options)


def value_of(w: np.ndarray, margin: float) -> float:
    """1/2 ||w||² of a hyperplane scaled so that its nearest points have y f = 1."""
    length = float(np.linalg.norm(w)) / margin
    return 0.5 * length * length


def rounding_of_scores(points: Points, w: np.ndarray, b: float) -> float:
    """A margin below this may be due to rounding alone."""
    sizes = points.largest_norm * float(np.linalg.norm(w)) + abs(b)
    return 2.0**-51 * (points.longest_row + 8) * sizes
