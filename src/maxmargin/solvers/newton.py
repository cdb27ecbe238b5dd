"""The linear support vector machine by a dual proximal-point method with semismooth Newton steps.

Outer step: with duals a and a step sigma, minimise the smooth, piecewise quadratic function of w and b

    Phi = 1/2||w||² + 1/sigma sum Moreau envelopes,   v_i = a_i + sigma (1 - y_i (w·x_i + b)),   p = proximal(v)
    gradient   (w, 0) - sum p_i y_i (x_i, 1)
    Hessian    diag(1, 0) + sigma sum slope_i (x_i, 1)(x_i, 1)^T     over the rows that no bound holds

by Newton steps with an exact line search (the derivative along a step is monotone and piecewise linear), then a <- p
and sigma <- larger. p is a dual point at every step, so the gap is known at every step.

Niu, Wang, Tang, Wang, Song, "A sparse semismooth Newton based augmented Lagrangian method for large-scale support
vector machines", 2019; Yan, Li, "An efficient augmented Lagrangian method for support vector machine", 2020.
"""

import math
from dataclasses import dataclass, field

import numpy as np
import scipy.sparse as sp
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from maxmargin.data.rows import Matrix
from maxmargin.loops.newton import Line, taken_by_duals
from maxmargin.problems.linear_svm import LinearSVMProblem
from maxmargin.solvers.solution import Status
from maxmargin.solvers.watch import StepReport, Watch

LARGEST_DIRECT = 4096
INNER_STEPS = 40


@dataclass(frozen=True)
class GapSettings:
    """When to stop: at this relative gap, or after this many Newton steps."""

    tol: float = 1e-4
    max_iter: float = 1000


@dataclass
class GapPoint:
    """A plane and duals, the best of each that a run met, and the history of (seconds, primal, dual)."""

    w: np.ndarray
    intercept: float
    alpha: np.ndarray
    primal: float = math.inf
    dual: float = -math.inf
    n_steps: int = 0
    status: Status = Status.STALLED
    history: list[tuple[float, float, float]] = field(default_factory=list)

    @property
    def relative_gap(self) -> float:
        """The gap between the best primal and the best dual value."""
        return (self.primal - self.dual) / self.primal if self.primal > 0.0 else 0.0


def solve(problem: LinearSVMProblem, settings: GapSettings, watch: Watch, start: np.ndarray | None = None) -> GapPoint:
    """Run until the relative gap is at most ``tol``; ``start`` are duals to begin with."""
    # Values whose squares overflow leave steps that lead nowhere; the best points met before stay, with their gap.
    with np.errstate(over="ignore", invalid="ignore"):
        run = NewtonRun(problem, settings, watch, start)
        run.until_gap()
    return run.best


class NewtonRun:
    """The state of a run: the plane (w, b), its margins, the duals a of the outer step, and the best points met."""

    def __init__(
        self, problem: LinearSVMProblem, settings: GapSettings, watch: Watch, start: np.ndarray | None
    ) -> None:
        self.problem, self.settings, self.watch = problem, settings, watch
        self.points, self.signs = problem.dataset.points, problem.dataset.signs
        self.duals, self.w = self._first_duals() if start is None else self._given_duals(start)
        self.b = 0.0
        self.margins = problem.margins(self.w, self.b)
        if problem.fit_intercept:
            self.b = best_intercept(self.margins, self.signs, problem.prices)
            self.margins += self.signs * self.b
        # A row of weight 2 must do what two rows do, so a row's own step is sigma times its weight.
        self.weights = problem.prices / problem.C
        mean_distance = float(self.weights @ np.abs(1.0 - self.margins)) / float(self.weights.sum())
        self.sigma = problem.C / max(1e-12, mean_distance)
        self._reported = 0
        self.best = GapPoint(self.w.copy(), self.b, self.duals.copy())

    def _given_duals(self, start: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        duals = self.problem.feasible(start)
        return duals, self.points.combination(duals * self.signs)

    def _first_duals(self) -> tuple[np.ndarray, np.ndarray]:
        """The best multiple of the duals that are the same in each class and balance the classes."""
        duals = self.problem.feasible(self.problem.prices)
        w = self.points.combination(duals * self.signs)
        square, total = float(np.square(w).sum()), float(duals.sum())
        multiple = min(1.0, total / square) if square > 0.0 else 1.0
        return multiple * duals, multiple * w

    def until_gap(self) -> None:
        """Outer steps until the gap is small, nothing moves any more, or a limit is hit."""
        stalled = 0
        while True:
            gap_before = self.best.relative_gap
            inner, status = self._minimise()
            if status is not None:
                self.best.status = status
                return
            stalled = stalled + 1 if self.best.relative_gap >= 0.9 * gap_before else 0
            if stalled >= 12:
                self.best.status = Status.STALLED
                return
            if inner < 15:
                self.sigma *= 4.0
            elif inner >= INNER_STEPS:
                self.sigma *= 0.5

    def _minimise(self) -> tuple[int, Status | None]:
        """Newton steps on Phi until its gradient is small beside the move of the duals."""
        sigmas = self.sigma * self.weights
        ends, factors = self.problem.loss.proximal_shape(sigmas, self.problem.prices)
        for inner in range(INNER_STEPS + 1):
            unclipped = self.duals + sigmas * (1.0 - self.margins)
            duals = factors * np.clip(unclipped, 0.0, ends)
            signed = duals * self.signs
            gradient = self.w - self.points.combination(signed)
            gradient_b = -float(signed.sum()) if self.problem.fit_intercept else 0.0
            status = self._note(duals, gradient)
            length = math.sqrt(np.square(gradient).sum() + gradient_b**2)
            moves = np.divide(np.square(duals - self.duals), sigmas, out=np.zeros_like(duals), where=sigmas > 0.0)
            moved = math.sqrt(moves.sum())
            if status is not None:
                return inner, status
            if inner == INNER_STEPS or (inner and length <= 0.2 * moved):
                self.duals = duals
                return inner, None
            free = np.flatnonzero((unclipped > 0.0) & (unclipped < ends))
            step, step_b = self._direction(free, (sigmas * factors)[free], gradient, gradient_b)
            self._move(step, step_b, unclipped, ends, factors)
        return INNER_STEPS, None

    def _note(self, duals: np.ndarray, gradient: np.ndarray) -> Status | None:
        """Keep the best primal and the best dual point met, and say why to stop, if there is reason to."""
        problem, best = self.problem, self.best
        primal = problem.primal_value(self.w, self.margins)
        if primal < best.primal:
            best.primal, best.w, best.intercept = primal, self.w.copy(), self.b
        feasible = problem.feasible(duals)
        w_of_duals = self.w - gradient
        if feasible is not duals and not np.array_equal(feasible, duals):
            w_of_duals = self.points.combination(feasible * self.signs)
        dual = problem.dual_value(feasible, w_of_duals)
        if dual > best.dual:
            best.dual, best.alpha = dual, feasible.copy()
        best.history.append((self.watch.seconds, best.primal, best.dual))
        if best.relative_gap <= self.settings.tol:
            return Status.SOLVED
        if best.n_steps >= self.settings.max_iter:
            return Status.ITERATION_LIMIT
        if best.n_steps == self._reported:
            return self.watch.must_stop()
        self._reported = best.n_steps
        return self.watch.report(
            lambda: StepReport(
                step="Newton step",
                number=best.n_steps,
                summary=f"gap {best.relative_gap:.3g}",
                result=lambda: (best.w, best.intercept, best.alpha),
            )
        )

    def _direction(
        self, free: np.ndarray, weights: np.ndarray, gradient: np.ndarray, gradient_b: float
    ) -> tuple[np.ndarray, float]:
        """Solve the Newton system, the intercept's row and column by elimination."""
        system = FreeRowsSystem(self.points.matrix, free, weights)
        step = -system.solve(gradient)
        if not self.problem.fit_intercept:
            return step, 0.0
        border = system.weighted_sum_of_rows()
        column = system.solve(border)
        curvature = max(float(weights.sum() - border @ column), 1e-10 * (1.0 + self.sigma))
        step_b = -(gradient_b + border @ step) / curvature
        return step - step_b * column, step_b

    def _move(
        self, step: np.ndarray, step_b: float, unclipped: np.ndarray, ends: np.ndarray, factors: np.ndarray
    ) -> None:
        change = self.signs * (self.points.scores(step) + step_b)
        t = root_along(
            Line(unclipped, self.sigma * self.weights * change, change, ends, factors),
            slopes=(float(self.w @ step), float(step @ step)),
        )
        self.w = self.w + t * step
        self.b += t * step_b
        self.margins = self.margins + t * change
        self.best.n_steps += 1


class FreeRowsSystem:
    """M = I + sum weights_i x_i x_i^T over the free rows, solved in the space of the columns or of the rows."""

    def __init__(self, matrix: Matrix, free: np.ndarray, weights: np.ndarray) -> None:
        rows = matrix[free].astype(np.float64, copy=False)
        root = np.sqrt(weights)
        self._rows = sp.diags_array(root) @ rows if sp.issparse(rows) else rows * root[:, None]
        self._root = root
        n_free, n_columns = rows.shape
        self._by_rows = n_free < n_columns
        self._factor = None
        if n_free and min(n_free, n_columns) <= LARGEST_DIRECT:
            product = self._rows @ self._rows.T if self._by_rows else self._rows.T @ self._rows
            product = product.toarray() if sp.issparse(product) else product
            product[np.diag_indices_from(product)] += 1.0
            self._factor = _factorised(product)

    def weighted_sum_of_rows(self) -> np.ndarray:
        """sum weights_i x_i"""
        return np.asarray(self._rows.T @ self._root)

    def solve(self, right: np.ndarray) -> np.ndarray:
        """M^-1 right"""
        if self._rows.shape[0] == 0:
            return right
        if self._factor is None:
            return self._conjugate_gradients(right)
        if self._by_rows:
            return right - self._rows.T @ cho_solve(self._factor, self._rows @ right)
        return cho_solve(self._factor, right)

    def _conjugate_gradients(self, right: np.ndarray) -> np.ndarray:
        solution, residual = np.zeros_like(right), right.copy()
        direction, square = residual.copy(), float(residual @ residual)
        goal = 1e-12 * square
        for _ in range(200):
            if square <= goal:
                break
            image = direction + self._rows.T @ (self._rows @ direction)
            step = square / float(direction @ image)
            solution += step * direction
            residual -= step * image
            square, before = float(residual @ residual), square
            direction = residual + (square / before) * direction
        return solution


def _factorised(matrix: np.ndarray) -> tuple[np.ndarray, bool] | None:
    """Cholesky; where rounding has made the matrix indefinite, with a little more on its diagonal, or None."""
    extra = 0.0
    for _ in range(12):
        try:
            return cho_factor(matrix + extra * np.eye(len(matrix)) if extra else matrix, check_finite=False)
        except LinAlgError:
            extra = max(10.0 * extra, 1e-12 * float(np.trace(matrix)))
    return None


def root_along(line: Line, *, slopes: tuple[float, float]) -> float:
    """Where Phi is smallest along a step: the root of its increasing, piecewise linear derivative."""

    def derivative(t: float) -> float:
        return slopes[0] + t * slopes[1] - taken_by_duals(t, line)

    at_zero, at_one = derivative(0.0), derivative(1.0)
    if at_zero >= 0.0 or abs(at_one) <= 0.1 * abs(at_zero):
        return 1.0
    low, high, slope_low, slope_high = 0.0, 1.0, at_zero, at_one
    while slope_high < 0.0 and high < 1e6:
        low, slope_low = high, slope_high
        high *= 2.0
        slope_high = derivative(high)
    t = high
    for k in range(60):
        if slope_high <= slope_low:
            return high
        t = low - slope_low * (high - low) / (slope_high - slope_low) if k % 3 != 2 else 0.5 * (low + high)
        slope = derivative(t)
        if abs(slope) <= 0.05 * abs(at_zero):
            break
        if slope > 0.0:
            high, slope_high = t, slope
        else:
            low, slope_low = t, slope
    return t


def best_intercept(margins: np.ndarray, signs: np.ndarray, C: np.ndarray) -> float:
    """The intercept with the smallest hinge loss for a given w, whose margins without intercept are given.

    The loss is convex and piecewise linear in b, with kinks where y_i f(x_i) = 1: the smallest is at a weighted median.
    """
    kinks = signs * (1.0 - margins)
    order = np.argsort(kinks)
    # Left of a positive row's kink its loss falls with slope -C; right of a negative row's it rises with slope C.
    slope = -float(C[signs > 0.0].sum()) + np.cumsum(C[order])
    return float(kinks[order[min(int(np.searchsorted(slope, 0.0)), order.size - 1)]])
